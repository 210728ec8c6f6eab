//! Calls, counted as dashboards know them: a layer that looks at messages and, for the code, at the
//! trailers, since a stream that fails after some messages has a good head.
//!
//! The layer also opens the span of the call, in which everything is logged that the call brings
//! about.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;
use tower::{Layer, Service};
use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::counts::{CallCounts, Messages, MethodCounts};
use crate::trace::{Parent, SpanOfCall, Traces};

/// The code of a call that its caller gave up.
const CANCELED: u16 = 1;
/// The code of a call that ends without a code.
const UNKNOWN: u16 = 2;

/// Counts, times and traces calls.
pub struct CallLayer<B> {
    counts: Arc<CallCounts>,
    traces: Option<Traces>,
    received: fn(ReceivedBody<B>) -> B,
    sent: fn(SentBody<B>) -> B,
}

impl<B> Clone for CallLayer<B> {
    fn clone(&self) -> CallLayer<B> {
        CallLayer {
            counts: Arc::clone(&self.counts),
            traces: self.traces.clone(),
            ..*self
        }
    }
}

impl<B> CallLayer<B> {
    pub(crate) fn new(
        counts: Arc<CallCounts>,
        traces: Option<Traces>,
        received: fn(ReceivedBody<B>) -> B,
        sent: fn(SentBody<B>) -> B,
    ) -> CallLayer<B> {
        CallLayer {
            counts,
            traces,
            received,
            sent,
        }
    }
}

impl<S, B> Layer<S> for CallLayer<B> {
    type Service = Counted<S, B>;

    fn layer(&self, inner: S) -> Counted<S, B> {
        Counted {
            inner,
            layer: self.clone(),
        }
    }
}

/// See [`CallLayer`].
pub struct Counted<S, B> {
    inner: S,
    layer: CallLayer<B>,
}

impl<S: Clone, B> Clone for Counted<S, B> {
    fn clone(&self) -> Counted<S, B> {
        Counted {
            inner: self.inner.clone(),
            layer: self.layer.clone(),
        }
    }
}

impl<S, B> Service<Request<B>> for Counted<S, B>
where
    S: Service<Request<B>, Response = Response<B>>,
    S::Future: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let CallLayer {
            counts,
            traces,
            received,
            sent,
        } = self.layer.clone();
        let path = request.uri().path();
        let counts = counts.find(path);
        let parent = Parent::read(request.headers());
        let traced = traces.and_then(|traces| traces.begin_call(counts.name(), parent.as_ref()));
        let span = tracing::error_span!(
            "call",
            method = path,
            platform = Empty,
            principal = Empty,
            game = Empty,
            job = Empty,
            task = Empty,
            request_id = Empty,
            trace_id = Empty,
        );
        let trace_id = match (&traced, &parent) {
            (Some(traced), _) => Some(traced.trace_id()),
            (None, parent) => parent.as_ref().map(Parent::trace_id),
        };
        if let Some(trace_id) = trace_id {
            span.record("trace_id", trace_id);
        }
        let call = Call::begin(Arc::clone(&counts), span.clone(), traced);
        let request = request.map(|inner| {
            let messages = Messages::default();
            received(ReceivedBody {
                inner,
                counts,
                messages,
            })
        });
        let answer = {
            let _entered = span.enter();
            self.inner.call(request)
        };
        let answered = async move {
            let mut call = call;
            let response = answer.await?;
            // A status in the head means that there is nothing else.
            if let Some(code) = code_of(response.headers()) {
                call.end(code);
            }
            Ok(response.map(|inner| {
                let messages = Messages::default();
                sent(SentBody {
                    inner,
                    call,
                    messages,
                })
            }))
        };
        Box::pin(answered.instrument(span))
    }
}

/// Returns the status in headers or trailers.
fn code_of(headers: &HeaderMap) -> Option<u16> {
    let code = headers.get("grpc-status")?.to_str().ok()?;
    Some(code.parse().unwrap_or(UNKNOWN))
}

/// A call that goes on. Dropped before it ended, its caller has given it up.
struct Call {
    counts: Arc<MethodCounts>,
    span: Span,
    begun: Instant,
    traced: Option<SpanOfCall>,
    is_over: bool,
}

impl Call {
    fn begin(counts: Arc<MethodCounts>, span: Span, traced: Option<SpanOfCall>) -> Call {
        counts.started.inc();
        Call {
            counts,
            span,
            begun: Instant::now(),
            traced,
            is_over: false,
        }
    }

    /// Ends the call, if it has not ended.
    fn end(&mut self, code: u16) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.counts.handled(code).inc();
        let seconds = self.begun.elapsed().as_secs_f64();
        self.counts.seconds.observe(seconds);
        self.span
            .in_scope(|| tracing::debug!(code, seconds, "a call ended"));
        if let Some(traced) = self.traced.take() {
            traced.end(code);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end(CANCELED);
    }
}

/// The body of a request, whose messages are counted.
pub struct ReceivedBody<B> {
    inner: B,
    counts: Arc<MethodCounts>,
    messages: Messages,
}

impl<B: Body<Data = Bytes> + Unpin> Body for ReceivedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(context));
        if let Some(Ok(frame)) = &frame
            && let Some(bytes) = frame.data_ref()
        {
            let count = self.messages.advance(bytes);
            self.counts.received.inc_by(count);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The body of an answer, whose messages are counted, and with whose end the call ends.
pub struct SentBody<B> {
    inner: B,
    call: Call,
    messages: Messages,
}

impl<B: Body<Data = Bytes> + Unpin> Body for SentBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        let frame = ready!(Pin::new(&mut this.inner).poll_frame(context));
        match &frame {
            None | Some(Err(_)) => this.call.end(UNKNOWN),
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    let count = this.messages.advance(bytes);
                    this.call.counts.sent.inc_by(count);
                } else if let Some(trailers) = frame.trailers_ref() {
                    this.call.end(code_of(trailers).unwrap_or(UNKNOWN));
                }
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
