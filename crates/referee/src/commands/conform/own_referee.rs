//! A referee of our own, in this process, that cases are put to.

use std::sync::Arc;
use std::time::Duration;

use referee_server::{MachineClock, ServeError, Server, ServerOptions};
use referee_store::{SqliteStore, Store};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::limits::OWN_DRAIN_TIMEOUT;

/// A referee in this process, with games that are forgotten.
pub(super) struct OwnReferee {
    address: String,
    stop: CancellationToken,
    served: JoinHandle<Result<(), ServeError>>,
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
        let stop = CancellationToken::new();
        let options = ServerOptions {
            drain_timeout: OWN_DRAIN_TIMEOUT,
            ..ServerOptions::default()
        };
        let clock = Arc::new(MachineClock::after(None));
        let server = Server::new(listener, Arc::clone(&store), clock, options);
        let served = tokio::spawn(server.run(stop.clone()));
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
        self.stop.cancel();
        let patience = OWN_DRAIN_TIMEOUT + Duration::from_secs(1);
        // What it says at its end changes nothing about the cases.
        let _ = tokio::time::timeout(patience, self.served).await;
        let _ = self.store.close().await;
    }
}
