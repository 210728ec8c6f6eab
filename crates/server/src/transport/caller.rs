//! Who calls: put there by one layer, for every call, before any service sees it. The span of the
//! call is open by then, and names the caller from there on.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use referee_store::GameKey;
use tower::{Layer, Service};

use super::connection::Line;
use crate::error::ServiceError;

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The platform (tenant) whose games the caller acts on.
    platform: Arc<str>,
    /// Who the caller is: an opaque id, which goes on record with what the caller does.
    principal: Arc<str>,
    /// The way that the call came by.
    line: Line,
}

/// The principal of every caller, as long as nobody has to say who they are.
const ANYBODY: &str = "anonymous";

impl Caller {
    /// Who made a call.
    ///
    /// # Errors
    ///
    /// [`ServiceError::InvariantBroken`] where a service runs without the layer.
    pub(crate) fn of<T>(request: &tonic::Request<T>) -> Result<Caller, ServiceError> {
        let caller = request.extensions().get::<Caller>();
        caller
            .cloned()
            .ok_or_else(|| ServiceError::InvariantBroken {
                what: "a call without a caller".into(),
            })
    }

    /// The platform that the caller acts on.
    pub(crate) fn platform(&self) -> &str {
        &self.platform
    }

    /// Who the caller is, for the record.
    pub(crate) fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    /// The way that the call came by.
    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    /// The key of a game of the caller's platform. The span of the call names the game from here
    /// on.
    pub(crate) fn key(&self, game: String) -> GameKey {
        tracing::Span::current().record("game", &game);
        GameKey {
            platform: self.platform().to_owned(),
            game,
        }
    }
}

/// Names the caller of every call: as long as nobody has to say who they are, one and the same.
#[derive(Clone, Debug)]
pub(crate) struct CallerLayer {
    platform: Arc<str>,
    principal: Arc<str>,
}

impl CallerLayer {
    /// Everybody acts on one platform.
    pub(crate) fn open(platform: &str) -> CallerLayer {
        CallerLayer {
            platform: platform.into(),
            principal: ANYBODY.into(),
        }
    }
}

impl<S> Layer<S> for CallerLayer {
    type Service = Called<S>;

    fn layer(&self, inner: S) -> Called<S> {
        Called {
            inner,
            everybody: self.clone(),
        }
    }
}

/// See [`CallerLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Called<S> {
    inner: S,
    everybody: CallerLayer,
}

impl<S, B> Service<Request<B>> for Called<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let CallerLayer {
            platform,
            principal,
        } = self.everybody.clone();
        let span = tracing::Span::current();
        span.record("platform", &*platform);
        span.record("principal", &*principal);
        if let Some(line) = request.extensions().get::<Line>().cloned() {
            request.extensions_mut().insert(Caller {
                platform,
                principal,
                line,
            });
        }
        self.inner.call(request)
    }
}
