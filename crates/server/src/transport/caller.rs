//! Who calls: put there by one layer, for every call, before any service sees it. The same layer
//! opens the span of the call, in which everything is logged that the call brings about.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use referee_store::GameKey;
use tower::{Layer, Service};
use tracing::Instrument;
use tracing::field::Empty;
use tracing::instrument::Instrumented;

use crate::error::ServiceError;

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The platform (tenant) whose games the caller acts on.
    platform: Arc<str>,
    /// Who the caller is: an opaque id, which goes on record with what the caller does.
    principal: Arc<str>,
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
    everybody: Caller,
}

impl CallerLayer {
    /// Everybody acts on one platform.
    pub(crate) fn open(platform: &str) -> CallerLayer {
        CallerLayer {
            everybody: Caller {
                platform: platform.into(),
                principal: ANYBODY.into(),
            },
        }
    }
}

impl<S> Layer<S> for CallerLayer {
    type Service = Called<S>;

    fn layer(&self, inner: S) -> Called<S> {
        Called {
            inner,
            everybody: self.everybody.clone(),
        }
    }
}

/// See [`CallerLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Called<S> {
    inner: S,
    everybody: Caller,
}

impl<S, B> Service<Request<B>> for Called<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Instrumented<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let caller = self.everybody.clone();
        let span = tracing::info_span!(
            "call",
            method = request.uri().path(),
            platform = caller.platform(),
            game = Empty,
            request_id = Empty,
        );
        request.extensions_mut().insert(caller);
        let _entered = span.enter();
        self.inner.call(request).instrument(span.clone())
    }
}
