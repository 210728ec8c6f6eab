//! The referee that cases are put to.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::rules_service_client::RulesServiceClient;
use tonic::transport::{Channel, Endpoint};

use crate::limits;

/// The address of a referee.
#[derive(Clone, Debug)]
pub struct Target {
    text: String,
    endpoint: Endpoint,
}

/// A text is no address of a referee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError {
    text: String,
    reason: String,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TargetError { text, reason } = self;
        write!(f, "'{text}' is no address of a referee: {reason}")
    }
}

impl std::error::Error for TargetError {}

impl Target {
    /// Reads an address, such as `http://127.0.0.1:50051`. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// Where it is no `http` address.
    ///
    /// ```
    /// use referee_conform::Target;
    ///
    /// let error = Target::parse("referee:1").expect_err("the scheme is missing");
    /// assert!(error.to_string().contains("write http://HOST:PORT"));
    /// ```
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        let error = |reason: String| TargetError {
            text: text.to_owned(),
            reason,
        };
        if !text.starts_with("http://") {
            return Err(error("write http://HOST:PORT".to_owned()));
        }
        let endpoint = Endpoint::from_shared(text.to_owned());
        let endpoint = endpoint.map_err(|cause| error(cause.to_string()))?;
        Ok(Target {
            text: text.to_owned(),
            endpoint: endpoint
                .connect_timeout(limits::CONNECT_TIMEOUT)
                .timeout(limits::CALL_TIMEOUT),
        })
    }
}

/// The clients that ask a referee.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    /// For games.
    pub(crate) games: GameServiceClient<Channel>,
    /// For questions about the rules.
    pub(crate) rules: RulesServiceClient<Channel>,
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
        Ok(Clients {
            games: GameServiceClient::new(channel.clone()),
            rules: RulesServiceClient::new(channel),
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
