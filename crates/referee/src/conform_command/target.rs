//! The referee that cases are put to: one that is given, or one of our own in this process.

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_server::{ErrorDetails, ServeOptions, serve};
use referee_store::{SqliteStore, Store};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use super::limits;

/// A referee that answers, and the clients that ask it.
#[derive(Clone, Debug)]
pub(super) struct Clients {
    /// For games.
    pub(super) games: GameServiceClient<Channel>,
    /// For questions about the rules.
    pub(super) rules: RulesServiceClient<Channel>,
}

impl Clients {
    /// Connects to a referee.
    pub(super) async fn connect(target: &str) -> Result<Clients, String> {
        let endpoint = endpoint(target)?;
        let channel = endpoint.connect().await.map_err(|error| {
            let mut reason = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(error) = source {
                reason = format!("{reason}: {error}");
                source = error.source();
            }
            format!("{target} cannot be reached: {reason}")
        })?;
        Ok(Clients {
            games: GameServiceClient::new(channel.clone()),
            rules: RulesServiceClient::new(channel),
        })
    }
}

/// Reads the address of a referee.
pub(super) fn endpoint(target: &str) -> Result<Endpoint, String> {
    if !target.starts_with("http://") {
        return Err(format!(
            "--target is '{target}', which is no address of a referee; write http://HOST:PORT"
        ));
    }
    let endpoint = Endpoint::from_shared(target.to_owned());
    let endpoint = endpoint.map_err(|error| {
        format!("--target is '{target}', which is no address of a referee: {error}")
    })?;
    Ok(endpoint
        .connect_timeout(limits::CONNECT_TIMEOUT)
        .timeout(limits::CALL_TIMEOUT))
}

/// A referee in this process, with games that are forgotten.
pub(super) struct OwnReferee {
    address: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), referee_server::ServeError>>,
    store: Arc<dyn Store>,
    /// Where the store is; removed at the end.
    _folder: tempfile::TempDir,
}

impl OwnReferee {
    /// Starts a referee on a free port of this machine.
    pub(super) async fn start() -> Result<OwnReferee, String> {
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("cannot {what}: {error}");
        let folder = tempfile::tempdir();
        let folder = folder.map_err(|error| failed("make a folder for the store", &error))?;
        let file = folder.path().join("referee.db");
        // Opening writes, which blocks.
        let store = tokio::task::spawn_blocking(move || SqliteStore::open(file)).await;
        let store = store
            .map_err(|error| failed("open a store", &error))?
            .map_err(|error| failed("open a store", &error))?;
        let store: Arc<dyn Store> = Arc::new(store);
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| failed("listen on this machine", &error))?;
        let address = listener.local_addr();
        let address = address.map_err(|error| failed("listen on this machine", &error))?;
        let (stop, stopped) = oneshot::channel::<()>();
        let options = ServeOptions {
            drain_timeout: limits::DRAIN_TIMEOUT,
            ..ServeOptions::default()
        };
        let signal = async {
            // A sender that is gone says the same.
            let _ = stopped.await;
        };
        let served = tokio::spawn(serve(listener, Arc::clone(&store), options, signal));
        Ok(OwnReferee {
            address: format!("http://{address}"),
            stop,
            served,
            store,
            _folder: folder,
        })
    }

    /// Returns the address for clients.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Stops the referee and forgets its games.
    pub(super) async fn stop(self) {
        let _ = self.stop.send(());
        let patience = limits::DRAIN_TIMEOUT + Duration::from_secs(1);
        // What it says at its end changes nothing about the cases.
        let _ = tokio::time::timeout(patience, self.served).await;
        let _ = self.store.close().await;
    }
}

/// Returns the reason that an error of the referee carries; empty where it carries none.
pub(super) fn reason_of(status: &Status) -> String {
    ErrorDetails::read(status).reason
}

/// Whether an error names a field.
pub(super) fn names_field(status: &Status, field: &str) -> bool {
    let fields = ErrorDetails::read(status).fields;
    fields.iter().any(|named| named == field)
}

/// Says an error in one line.
pub(super) fn words_of(status: &Status) -> String {
    let code = format!("{:?}", status.code());
    let reason = reason_of(status);
    format!("error {code} {reason}: {}", status.message())
}

/// Returns a position without a history.
pub(super) fn position(fen: &str, moves: Vec<String>) -> v1::Position {
    v1::Position {
        base: Some(v1::position::Base::Fen(fen.to_owned())),
        moves,
    }
}
