//! Requests that the transport turns away before a service sees them: they get the statuses and
//! details of the contract, too.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Request, Response};
use tonic::{Code, Status};
use tower::{Layer, Service};

use crate::error::ServiceError;
use crate::limits::{CALL_TIMEOUT, MESSAGE_BYTES_MAX};

/// Rewrites the statuses of messages that could not be read, and ends calls whose time is over.
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
    C: Default,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let time = call_time(request.headers());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let Ok(answer) = tokio::time::timeout(time, answer).await else {
                let late: Response<()> = Status::from(ServiceError::DeadlineExceeded).into_http();
                let mut response = Response::new(C::default());
                *response.headers_mut() = late.headers().clone();
                return Ok(response);
            };
            let mut response = answer?;
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

/// Returns how long a call may take to its answer, or to the head of a stream: what the caller
/// gives it or what the server does, whichever is less.
fn call_time(headers: &HeaderMap) -> Duration {
    let asked = headers.get("grpc-timeout").and_then(read_timeout);
    asked.unwrap_or(CALL_TIMEOUT).min(CALL_TIMEOUT)
}

/// Reads the time that a caller gives a call: at most eight digits and a unit.
fn read_timeout(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 3_600),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Returns what the contract says to a status that the transport made of a message that it could
/// not read; `None` for every other status.
fn translate(status: &Status) -> Option<ServiceError> {
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

/// Returns why the next message of a stream could not be read.
pub(crate) fn read_fault(status: &Status) -> ServiceError {
    match status.code() {
        // What the transport refuses by the limits of the service carries its details.
        Code::ResourceExhausted if !status.details().is_empty() => ServiceError::overloaded(),
        Code::DeadlineExceeded => ServiceError::DeadlineExceeded,
        _ => translate(status).unwrap_or(ServiceError::MalformedMessage {
            reason: status.message().to_owned(),
        }),
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

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt as _;

    use super::*;

    /// A service that never answers.
    struct Silent;

    impl Service<Request<()>> for Silent {
        type Response = Response<String>;
        type Error = std::convert::Infallible;
        type Future = std::future::Pending<Result<Self::Response, Self::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            std::future::pending()
        }
    }

    #[tokio::test]
    async fn a_call_whose_time_is_over_says_so() {
        let mut silent = TransportErrorLayer.layer(Silent);
        let request = Request::post("/").header("grpc-timeout", "20m").body(());
        let answer = silent.call(request.expect("a request")).await;
        let answer = answer.expect("an answer");
        let status = Status::from_header_map(answer.headers()).expect("a status");
        assert_eq!(status.code(), Code::DeadlineExceeded);
        let details = status.get_error_details();
        let info = details.error_info().expect("a reason");
        assert_eq!(info.reason, "DEADLINE_EXCEEDED");
    }

    #[test]
    fn the_shorter_time_counts() {
        let time = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", HeaderValue::from_static(text));
            call_time(&headers)
        };
        assert_eq!(time("5S"), Duration::from_secs(5));
        assert_eq!(time("100m"), Duration::from_millis(100));
        assert_eq!(time("99999999H"), CALL_TIMEOUT);
        assert_eq!(time("0n"), Duration::ZERO);
        for wrong in ["", "5", "S", "5 S", "-5S", "123456789S", "5s"] {
            assert_eq!(time(wrong), CALL_TIMEOUT, "{wrong}");
        }
    }
}
