//! The calls of a worker, each of which is safe to repeat, and what their errors mean.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use referee_api::worker::v1::worker_service_client::WorkerServiceClient;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};
use tonic_types::StatusExt as _;

use crate::error::WorkerError;
use crate::limits::CALL_TIMEOUT;

/// Puts into every call who makes it.
#[derive(Clone)]
pub struct Identity(Arc<Identify>);

type Identify = dyn Fn(Request<()>) -> Result<Request<()>, Status> + Send + Sync;

impl Identity {
    /// Returns an identity that a function puts into a call.
    pub fn new(
        identify: impl Fn(Request<()>) -> Result<Request<()>, Status> + Send + Sync + 'static,
    ) -> Identity {
        Identity(Arc::new(identify))
    }
}

/// Returns the identity of those who need none.
#[must_use]
pub fn nobody() -> Identity {
    Identity::new(Ok)
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}

impl Interceptor for Identity {
    fn call(&mut self, request: Request<()>) -> Result<Request<()>, Status> {
        (self.0)(request)
    }
}

/// The services of a server for workers.
pub(crate) type Client = WorkerServiceClient<InterceptedService<Channel, Identity>>;

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It may do better a moment later.
    Passing(Status),
    /// The session is not there any more.
    SessionLost,
    /// It does no better by being repeated.
    Lasting(Status),
}

impl Failed {
    fn of(status: Status) -> Failed {
        let details = status.get_error_details();
        let reason = details.error_info().map_or("", |info| &info.reason);
        match (status.code(), reason) {
            (_, "SESSION_NOT_FOUND") => Failed::SessionLost,
            (Code::Unavailable | Code::DeadlineExceeded | Code::Aborted, _) => {
                Failed::Passing(status)
            }
            (Code::ResourceExhausted, reason) if reason != "MESSAGE_TOO_LARGE" => {
                Failed::Passing(status)
            }
            // None of the referee's: a connection that broke, a proxy.
            (Code::Unknown | Code::Internal | Code::Cancelled, "") => Failed::Passing(status),
            _ => Failed::Lasting(status),
        }
    }
}

/// Says why the server does not take a worker.
pub(crate) fn refused(status: &Status) -> WorkerError {
    let details = status.get_error_details();
    WorkerError::Refused {
        code: format!("{:?}", status.code()),
        reason: details
            .error_info()
            .map_or_else(String::new, |info| info.reason.clone()),
        text: status.message().to_owned(),
    }
}

/// Waits for the answer of a call, which may wait at the server for so long.
pub(crate) async fn answer<T>(
    call: impl Future<Output = Result<Response<T>, Status>>,
    wait: Duration,
) -> Result<T, Failed> {
    let patience = CALL_TIMEOUT + wait;
    match tokio::time::timeout(patience, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(Failed::of(status)),
        Err(_) => Err(Failed::Passing(Status::deadline_exceeded(format!(
            "no answer within {} s",
            patience.as_secs()
        )))),
    }
}
