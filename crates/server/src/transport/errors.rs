//! Requests that the transport turns away before a service sees them: they get the statuses and
//! details of the contract, too.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::{Code, Status};
use tower::{Layer, Service};

use crate::error::ServiceError;
use crate::limits::MESSAGE_BYTES_MAX;

/// Rewrites the statuses of messages that could not be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransportErrorLayer;

impl<S> Layer<S> for TransportErrorLayer {
    type Service = TransportError<S>;

    fn layer(&self, inner: S) -> TransportError<S> {
        TransportError { inner }
    }
}

/// See [`TransportErrorLayer`].
#[derive(Clone, Debug)]
pub(crate) struct TransportError<S> {
    inner: S,
}

impl<S, B, C> Service<Request<B>> for TransportError<S>
where
    S: Service<Request<B>, Response = Response<C>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut response = answer.await?;
            // A status in the headers means that there is no message, so nothing else is lost.
            if let Some(status) = Status::from_header_map(response.headers())
                && let Some(error) = translate(&status)
            {
                let rewritten: Response<()> = Status::from(error).into_http();
                *response.headers_mut() = rewritten.headers().clone();
            }
            Ok(response)
        })
    }
}

/// Returns what the contract says to a status that the transport made of a message that it could
/// not read; `None` for every other status.
pub(crate) fn translate(status: &Status) -> Option<ServiceError> {
    // Statuses of our own carry details.
    if !status.details().is_empty() {
        return None;
    }
    let message = status.message();
    match status.code() {
        Code::OutOfRange if message.contains("message length too large") => {
            Some(ServiceError::MessageTooLarge {
                limit: MESSAGE_BYTES_MAX,
            })
        }
        Code::ResourceExhausted if message.contains("size limit") => {
            Some(ServiceError::MessageTooLarge {
                limit: MESSAGE_BYTES_MAX,
            })
        }
        Code::Internal | Code::Unimplemented if is_unreadable(message) => {
            Some(ServiceError::MalformedMessage {
                reason: message.to_owned(),
            })
        }
        _ => None,
    }
}

/// Whether the transport's words say that the bytes of a request could not be read.
fn is_unreadable(message: &str) -> bool {
    const WORDS: [&str; 7] = [
        "decode Protobuf",
        "decompress",
        "compression flag",
        "compressed-flag",
        "Unexpected EOF",
        "Missing request message",
        "Unexpected compression",
    ];
    WORDS.iter().any(|words| message.contains(words))
}
