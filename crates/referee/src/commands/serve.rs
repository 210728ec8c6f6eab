//! `referee serve`: binds the listener, opens the store, serves until a signal, drains, closes.

mod settings;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use referee_record::RecordKey;
use referee_server::{MachineClock, Server, ServerOptions};
use referee_store::{SqliteStore, Store};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Failure, Outcome};
use settings::{check_store, read_folder, read_key, read_listen};

/// The command line of `referee serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The address to listen on, by number or by name; port 0 picks a free one.
    #[arg(
        long,
        short,
        value_name = "HOST:PORT",
        env = "REFEREE_LISTEN",
        default_value = "127.0.0.1:50051",
        value_parser = read_listen
    )]
    listen: String,
    /// The file that games are kept in; it is created where it is missing.
    #[arg(
        long,
        short,
        value_name = "FILE",
        env = "REFEREE_STORE",
        default_value = "referee.db"
    )]
    store: PathBuf,
    /// How many seconds open calls and streams may go on after SIGTERM. Range: 0 to 600.
    #[arg(
        long,
        env = "REFEREE_DRAIN_TIMEOUT_SECONDS",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(0..=600)
    )]
    drain_timeout_seconds: u64,
    /// A file with the Ed25519 key that exported records are signed with: PKCS#8 in PEM, or the 32
    /// bytes of the secret in hexadecimal digits or base64. Default: records are not signed.
    #[arg(long, value_name = "FILE", env = "REFEREE_SIGNING_KEY")]
    signing_key: Option<PathBuf>,
    /// The folder that `referee store backup --server` writes copies of the store to. Default: none
    /// are made.
    #[arg(long, value_name = "FOLDER", env = "REFEREE_BACKUP_FOLDER", value_parser = read_folder)]
    backup_folder: Option<PathBuf>,
    /// How many threads answer requests. Range: 1 to 256. Default: one for each processor.
    #[arg(long, short, env = "REFEREE_THREADS", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

impl ServeArguments {
    /// Runs the service until a signal.
    pub(crate) fn run(self) -> Outcome {
        let record_key = self.signing_key.as_deref().map(read_key).transpose();
        let record_key = record_key.map_err(Failure::Trouble)?;
        check_store(&self.store).map_err(|text| Failure::Usage(text.to_owned()))?;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        if let Some(threads) = self.threads {
            builder.worker_threads(usize::from(threads));
        }
        let outcome = match builder.enable_all().build() {
            Ok(runtime) => runtime.block_on(self.run_until_signal(record_key)),
            Err(error) => Err(format!("cannot start threads: {error}")),
        };
        match outcome {
            Ok(()) => Ok(Exit::Fine),
            // What a service has to say is a line of its log.
            Err(message) => {
                tracing::error!("{message}");
                Ok(Exit::Trouble)
            }
        }
    }

    async fn run_until_signal(self, record_key: Option<RecordKey>) -> Result<(), String> {
        let no_signal = |error| format!("cannot wait for signals: {error}");
        let mut terminate = signal(SignalKind::terminate()).map_err(no_signal)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signal)?;
        // A store is made only by a service that can begin.
        let listener = TcpListener::bind(&self.listen)
            .await
            .map_err(|error| format!("cannot listen on {}: {error}", self.listen))?;
        let path = self.store.display().to_string();
        // Opening migrates and recovers, which blocks.
        let open = tokio::task::spawn_blocking(move || SqliteStore::open(&self.store));
        let store = open
            .await
            .map_err(|error| error.to_string())?
            .map_err(|e| e.to_string())?;
        let store: Arc<dyn Store> = Arc::new(store);
        let last_us = store.last_beat().await.map_err(|error| error.to_string())?;
        let clock = Arc::new(MachineClock::after(last_us));
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        announce(address);
        tracing::info!(%address, store = %path, "listening");
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "draining");
            stopping.cancel();
        });
        if let Some(key) = &record_key {
            tracing::info!(key_id = %key.id(), public_key = %key.public_key(), "records are signed");
        }
        let options = ServerOptions {
            drain_timeout: Duration::from_secs(self.drain_timeout_seconds),
            record_key,
            backup_folder: self.backup_folder,
            ..ServerOptions::default()
        };
        let server = Server::new(listener, Arc::clone(&store), clock, options);
        let served = server.run(stop).await;
        store
            .close()
            .await
            .map_err(|error| format!("cannot close the store: {error}"))?;
        served.map_err(|error| match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })?;
        tracing::info!("stopped");
        Ok(())
    }
}

/// Says on standard output where the service is to be reached, for scripts that start it.
fn announce(address: SocketAddr) {
    let mut out = std::io::stdout();
    // Nobody may be listening to standard output; that is no reason to stop.
    let _ = writeln!(out, "referee is listening on {address}").and_then(|()| out.flush());
}
