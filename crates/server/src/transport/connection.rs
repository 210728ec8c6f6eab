//! One connection, from its first byte to its end.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn, ready};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::body::Body;
use tower::Service;
use tower::util::Either;

use super::ledger::{Account, Place};
use super::metered::{HeldMessage, Received, Sent};
use super::tls::{ClientCertificate, VerifiedClient};
use super::web::WebOrigins;
use crate::access::Payer;
use crate::error::{EndedBy, ServiceError};
use crate::limits;

/// What every connection of HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

tokio::task_local! {
    /// What resets the stream that the running task serves.
    static RESET: CancellationToken;
}

/// The way that a call came by.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The account of the connection.
    pub(crate) account: Arc<Account>,
    /// Whose certificate the client showed, where it showed one.
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
    /// Whose account the bytes of the request go to, as soon as that is known.
    pub(crate) payer: Arc<OnceLock<Payer>>,
    /// Cancelled, the stream of the call is reset, and whatever waits in it is dropped.
    pub(crate) reset: CancellationToken,
}

/// What connections speak.
#[derive(Clone, Debug)]
pub(super) struct Protocols {
    http2: http2::Builder<Tasks>,
    http1: http1::Builder,
    /// The pages that may call. Without any nothing but HTTP/2 is spoken.
    web: Option<WebOrigins>,
}

impl Protocols {
    pub(super) fn new(web: Option<WebOrigins>) -> Protocols {
        Protocols {
            http2: http2(),
            http1: http1(),
            web,
        }
    }
}

impl Line {
    /// Waits until streams have to end, and says why; `stop` is that of the service.
    pub(crate) async fn ended(&self, stop: &CancellationToken) -> EndedBy {
        tokio::select! {
            () = stop.cancelled() => EndedBy::ShuttingDown,
            () = self.account.age().is_over() => EndedBy::ConnectionAge,
        }
    }
}

/// Serves a connection until it ends, has to give way to others, or the server stops and its calls
/// have ended. `stream` is what it looks like after any handshake below HTTP.
pub(super) async fn serve<I, S>(
    mut stream: I,
    client: Option<VerifiedClient>,
    place: Place,
    service: S,
    protocols: Arc<Protocols>,
    stop: CancellationToken,
) where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send,
{
    let account = Arc::clone(place.account());
    let begun = tokio::select! {
        begun = read_beginning(&mut stream) => begun,
        () = tokio::time::sleep(limits::PREFACE_TIMEOUT) => return,
        () = account.cut() => return,
        () = stop.cancelled() => return,
    };
    let certificate = client
        .as_ref()
        .map(|client| Arc::clone(client.certificate()));
    let metered = Metered {
        inner: service,
        account: Arc::clone(&account),
        certificate,
    };
    let calls = Calls {
        service: match &protocols.web {
            Some(web) => Either::Left(web.layer(metered)),
            None => Either::Right(metered),
        },
        account: Arc::clone(&account),
    };
    match begun {
        Some(Beginning::Http2) => {
            let stream = TokioIo::new(Begun::new(PREFACE.to_vec(), stream));
            let connection = protocols.http2.serve_connection(stream, calls);
            attend(connection, &account, client, &stop).await;
        }
        // The connection is closed where a stream would be reset: it has one call at a time.
        Some(Beginning::Other(before)) if protocols.web.is_some() => {
            let stream = TokioIo::new(Begun::new(before, stream));
            let connection = protocols.http1.serve_connection(stream, calls);
            let reset = CancellationToken::new();
            let attended = attend(connection, &account, client, &stop);
            tokio::select! {
                () = RESET.scope(reset.clone(), attended) => {}
                () = reset.cancelled() => {}
            }
        }
        _ => {}
    }
}

/// A connection that ends by itself when its calls have ended, after it was asked to.
trait Closing: Future<Output = hyper::Result<()>> {
    /// Asks it to.
    fn close(self: Pin<&mut Self>);
}

impl<I, S> Closing for http2::Connection<TokioIo<Begun<I>>, Calls<S>, Tasks>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Inner,
{
    fn close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, S> Closing for http1::Connection<TokioIo<Begun<I>>, Calls<S>>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Inner,
{
    fn close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Attends to a connection until its end.
async fn attend(
    connection: impl Closing,
    account: &Account,
    mut client: Option<VerifiedClient>,
    stop: &CancellationToken,
) {
    let mut void = pin!(async {
        match &mut client {
            Some(client) => client.until_void().await,
            None => pending().await,
        }
    });
    let mut connection = pin!(connection);
    let mut old = pin!(account.age().is_old());
    let mut past = pin!(account.age().is_past());
    let (mut is_closing, mut is_old) = (false, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection failed");
                }
                return;
            }
            () = account.cut() => return,
            () = &mut past, if is_old => return,
            () = &mut old, if !is_old => is_old = true,
            () = &mut void => {
                tracing::info!("a connection was closed: its client's certificate is good no more");
                return;
            }
            () = stop.cancelled(), if !is_closing => {}
            () = until_quiet(account), if !is_closing => {}
        }
        is_closing = true;
        connection.as_mut().close();
    }
}

/// Waits until no call has been open for as long as a connection may be quiet.
async fn until_quiet(account: &Account) {
    loop {
        let quiet = account.quiet_for().unwrap_or_default();
        let Some(left) = limits::CONNECTION_QUIET_MAX.checked_sub(quiet) else {
            return;
        };
        tokio::time::sleep(left.max(limits::CONNECTION_LOOK_INTERVAL)).await;
    }
}

/// How a connection begins.
#[derive(Debug, PartialEq, Eq)]
enum Beginning {
    /// With the preface of HTTP/2.
    Http2,
    /// With something else, of which these are the first bytes.
    Other(Vec<u8>),
}

/// Reads what a connection begins with, and stops at the first byte that is not of HTTP/2; `None`
/// where the connection ends before.
async fn read_beginning(stream: &mut (impl AsyncRead + Unpin)) -> Option<Beginning> {
    let mut bytes = [0; PREFACE.len()];
    let mut len = 0;
    while len < bytes.len() {
        let read = stream.read(&mut bytes[len..]).await.ok()?;
        len += read;
        if read == 0 {
            return None;
        }
        if !PREFACE.starts_with(&bytes[..len]) {
            return Some(Beginning::Other(bytes[..len].to_vec()));
        }
    }
    Some(Beginning::Http2)
}

/// A stream of which the beginning was read already.
struct Begun<I> {
    before: Bytes,
    stream: I,
}

impl<I> Begun<I> {
    fn new(before: Vec<u8>, stream: I) -> Begun<I> {
        Begun {
            before: before.into(),
            stream,
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Begun<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let len = self.before.len().min(buffer.remaining());
        buffer.put_slice(&self.before.split_to(len));
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Begun<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

/// What answers the calls of a connection.
trait Inner:
    Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static
{
}

impl<S> Inner for S where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static
{
}

/// The calls of one connection.
struct Calls<S> {
    service: S,
    account: Arc<Account>,
}

impl<S: Inner> hyper::service::Service<Request<Incoming>> for Calls<S> {
    type Response = Response<Sent>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Sent>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut service = self.service.clone();
        let account = Arc::clone(&self.account);
        let call = account.call();
        Box::pin(async move {
            poll_fn(|context| service.poll_ready(context)).await?;
            let response = service.call(request).await?;
            Ok(response.map(|body| Sent::new(body, account, call)))
        })
    }
}

/// Holds what requests take in the account of their connection, and says by which line they came.
#[derive(Clone)]
struct Metered<S> {
    inner: S,
    account: Arc<Account>,
    certificate: Option<Arc<ClientCertificate>>,
}

impl<S, B> Service<Request<B>> for Metered<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
    B: HttpBody<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(pending) = self.account.begin_call() else {
            let refused = Status::from(ServiceError::overloaded()).into_http();
            return Box::pin(ready(Ok(refused)));
        };
        let held = HeldMessage::default();
        let payer = Arc::<OnceLock<Payer>>::default();
        let mut request = request
            .map(|body| Received::new(body, Arc::clone(&self.account), held.clone()))
            .map(|body| Body::new(body.paid_by(Arc::clone(&payer))));
        request.extensions_mut().insert(Line {
            account: Arc::clone(&self.account),
            certificate: self.certificate.clone(),
            payer,
            reset: RESET.try_with(CancellationToken::clone).unwrap_or_default(),
        });
        let response = self.inner.call(request);
        Box::pin(async move {
            let response = response.await?;
            drop((held, pending));
            Ok(response)
        })
    }
}

/// Runs the tasks of a connection, one for each stream, each of which can be reset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tasks;

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        let reset = CancellationToken::new();
        tokio::spawn(RESET.scope(reset.clone(), async move {
            tokio::select! {
                biased;
                () = task => {}
                () = reset.cancelled() => {}
            }
        }));
    }
}

/// How connections speak HTTP/2. What is not named here is at its default, since that is bounded:
/// the size of headers (16 KiB), of frames (16 KiB), and of their table (4 KiB).
fn http2() -> http2::Builder<Tasks> {
    let mut http = http2::Builder::new(Tasks);
    http.timer(TokioTimer::new())
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(limits::STREAM_UNSENT_BYTES_MAX)
        .max_concurrent_streams(limits::CONCURRENT_STREAMS_MAX)
        .max_header_list_size(limits::HEADER_LIST_BYTES_MAX)
        .max_pending_accept_reset_streams(limits::RESETS_PENDING_MAX)
        .max_local_error_reset_streams(limits::RESETS_FOR_ERRORS_MAX)
        .keep_alive_interval(limits::KEEPALIVE_INTERVAL)
        .keep_alive_timeout(limits::KEEPALIVE_TIMEOUT);
    http
}

/// How connections speak HTTP/1.1, where browsers may call.
fn http1() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits::PREFACE_TIMEOUT)
        .max_buf_size(limits::HTTP_1_BUFFER_BYTES_MAX)
        .max_header_size(limits::HEADER_LIST_BYTES_MAX as usize);
    http
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_begins_wrong_is_known_at_its_first_wrong_byte() {
        let good: &[u8] = PREFACE;
        let begun = read_beginning(&mut &good[..]).await;
        assert_eq!(begun, Some(Beginning::Http2));
        for cut in [&good[..0], &good[..23]] {
            assert_eq!(read_beginning(&mut &cut[..]).await, None);
        }
        for wrong in [&b"GET / HTTP/1.1"[..], b"PRI * HTTP/1.0"] {
            let begun = read_beginning(&mut &wrong[..]).await;
            assert_eq!(begun, Some(Beginning::Other(wrong.to_vec())));
        }
        let (mut client, mut server) = tokio::io::duplex(64);
        tokio::io::AsyncWriteExt::write_all(&mut client, b"G")
            .await
            .expect("there is room");
        let begun = read_beginning(&mut server).await;
        let other = Beginning::Other(b"G".to_vec());
        assert_eq!(begun, Some(other), "it waits for no more");
    }

    #[tokio::test]
    async fn what_was_read_already_comes_first() {
        let mut begun = Begun::new(PREFACE.to_vec(), &b" and more"[..]);
        let mut text = String::new();
        begun.read_to_string(&mut text).await.expect("it reads");
        assert_eq!(text, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n and more");
    }
}
