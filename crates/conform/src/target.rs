//! The referee that cases are put to.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::rules_service_client::RulesServiceClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::limits;

/// A referee, and how it is connected to.
#[derive(Clone, Debug)]
pub struct Target {
    text: String,
    endpoint: Endpoint,
    authorization: Authorization,
}

/// What gives every call the header `authorization`.
#[derive(Clone, Default)]
pub(crate) struct Authorization(Option<Arc<Header>>);

type Header = dyn Fn() -> Option<MetadataValue<Ascii>> + Send + Sync;

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Authorization")
            .field(&self.0.is_some())
            .finish()
    }
}

impl Interceptor for Authorization {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(header) = self.0.as_ref().and_then(|header| header()) {
            request.metadata_mut().insert("authorization", header);
        }
        Ok(request)
    }
}

impl Target {
    /// A referee at an address, which is named where something fails. Nothing is connected yet.
    ///
    /// ```
    /// use referee_conform::Target;
    /// use tonic::transport::Endpoint;
    ///
    /// let address = "http://127.0.0.1:50051";
    /// let target = Target::new(address, Endpoint::from_static(address));
    /// ```
    #[must_use]
    pub fn new(text: impl Into<String>, endpoint: Endpoint) -> Target {
        Target {
            text: text.into(),
            endpoint: endpoint.timeout(limits::CALL_TIMEOUT),
            authorization: Authorization::default(),
        }
    }

    /// The same referee, where every call says who makes it by the header `authorization`.
    /// `header` is asked before each call.
    #[must_use]
    pub fn with_authorization(
        self,
        header: Arc<dyn Fn() -> Option<MetadataValue<Ascii>> + Send + Sync>,
    ) -> Target {
        Target {
            authorization: Authorization(Some(header)),
            ..self
        }
    }
}

/// The clients that ask a referee.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    /// For games.
    pub(crate) games: GameServiceClient<InterceptedService<Channel, Authorization>>,
    /// For questions about the rules.
    pub(crate) rules: RulesServiceClient<InterceptedService<Channel, Authorization>>,
    /// What the answers to a case have cited so far.
    cited: Arc<Mutex<BTreeSet<String>>>,
}

impl Clients {
    /// Connects to a referee.
    pub(crate) async fn connect(target: &Target) -> Result<Clients, String> {
        let channel = target.endpoint.connect().await.map_err(|error| {
            let mut reason = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(error) = source {
                reason = format!("{reason}: {error}");
                source = error.source();
            }
            format!("{} cannot be reached: {reason}", target.text)
        })?;
        let authorization = || target.authorization.clone();
        Ok(Clients {
            games: GameServiceClient::with_interceptor(channel.clone(), authorization()),
            rules: RulesServiceClient::with_interceptor(channel, authorization()),
            cited: Arc::default(),
        })
    }

    /// Returns the same clients for another case, of which nothing is known.
    pub(crate) fn for_case(&self) -> Clients {
        Clients {
            cited: Arc::default(),
            ..self.clone()
        }
    }

    /// Remembers what an answer cites.
    pub(crate) fn note<'a>(&self, citations: impl IntoIterator<Item = &'a v1::Citation>) {
        let articles = citations
            .into_iter()
            .map(|citation| citation.article.clone());
        self.locked().extend(articles);
    }

    /// Returns what the answers have cited, each article once.
    pub(crate) fn cited(&self) -> Vec<String> {
        self.locked().iter().cloned().collect()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.cited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a position without a history.
pub(crate) fn position(fen: &str, moves: Vec<String>) -> v1::Position {
    v1::Position {
        base: Some(v1::position::Base::Fen(fen.to_owned())),
        moves,
        ..v1::Position::default()
    }
}
