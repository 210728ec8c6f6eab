//! `referee serve`: binds the listener, opens the store, serves until a signal, drains, closes.

mod own_worker;
mod settings;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use referee_record::RecordKey;
use referee_server::limits::CONNECTIONS_MAX;
use referee_server::{MachineClock, Server, ServerOptions};
use referee_store::{SqliteStore, Store};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Failure, Outcome};
use crate::limits::{
    CLOSE_TIME_MAX, CLOSE_TIME_MIN, CLOSE_TIME_SHARE, DESCRIPTORS_KEPT, END_GRACE,
};
use crate::log::{self, log_panics};
use own_worker::{OwnWorker, OwnWorkerArguments};
use settings::{check_store, read_folder, read_key, read_listen};

/// The signal of a file that may not grow (Linux and BSD alike).
const SIGXFSZ: i32 = 25;

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
    /// The address to listen on for workers; then the other one does not serve them. Default: they
    /// come by the same.
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "REFEREE_WORKER_LISTEN",
        value_parser = read_listen
    )]
    worker_listen: Option<String>,
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
    #[command(flatten)]
    own_worker: OwnWorkerArguments,
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
        log_panics();
        raise_limits();
        let outcome = match builder.enable_all().build() {
            Ok(runtime) => {
                let outcome = runtime.block_on(self.run_until_signal(record_key));
                // Whatever a thread still does there is nobody to wait for it.
                runtime.shutdown_background();
                outcome
            }
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
        let mut hangup = signal(SignalKind::hangup()).map_err(no_signal)?;
        // A file that may not grow is an error of the store, and no end.
        let _too_large = signal(SignalKind::from_raw(SIGXFSZ)).map_err(no_signal)?;
        let own_worker = self.own_worker.prepare()?;
        // A store is made only by a service that can begin.
        let listener = bind(&self.listen).await?;
        let worker_listener = bind_or_none(self.worker_listen.as_deref()).await?;
        let path = self.store.display().to_string();
        let sort_folder = folder_of(&self.store);
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
        announce("referee is listening on", address);
        tracing::info!(%address, store = %path, "listening");
        announce_workers(worker_listener.as_ref());
        let (ends, stop) = (CancellationToken::new(), CancellationToken::new());
        let stopping = ends.clone();
        let drain_time = Duration::from_secs(self.drain_timeout_seconds);
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
                _ = hangup.recv() => "SIGHUP",
            };
            tracing::info!(signal = name, "draining");
            end_at_last(drain_time + END_GRACE);
            stopping.cancel();
        });
        if let Some(key) = &record_key {
            tracing::info!(key_id = %key.id(), public_key = %key.public_key(), "records are signed");
        }
        let close_time = (drain_time / CLOSE_TIME_SHARE).min(CLOSE_TIME_MAX);
        let options = ServerOptions {
            drain_timeout: drain_time - close_time,
            record_key,
            connections_max: connections_max(),
            backup_folder: self.backup_folder,
            sort_folder,
            ..ServerOptions::default()
        };
        let server = Server::new(listener, Arc::clone(&store), clock, options)
            .with_worker_listener(worker_listener);
        let own_worker = own_worker.map(|worker| OwnWorker::start(worker, &server.inside()));
        tokio::spawn(end_in_order(ends, own_worker, stop.clone()));
        let served = server.run(stop).await;
        match tokio::time::timeout(close_time.max(CLOSE_TIME_MIN), store.close()).await {
            Ok(closed) => closed.map_err(|error| format!("cannot close the store: {error}"))?,
            // What was answered is on disk.
            Err(_) => tracing::warn!("the store was not closed in time; the next start repairs it"),
        }
        served.map_err(|error| match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        })?;
        tracing::info!("stopped");
        Ok(())
    }
}

/// Lets the worker give back what it holds, as long as it is answered, and then stops the server.
async fn end_in_order(
    ends: CancellationToken,
    own_worker: Option<OwnWorker>,
    stop: CancellationToken,
) {
    ends.cancelled().await;
    if let Some(worker) = own_worker {
        worker.end().await;
    }
    stop.cancel();
}

async fn bind_or_none(address: Option<&str>) -> Result<Option<TcpListener>, String> {
    match address {
        Some(address) => bind(address).await.map(Some),
        None => Ok(None),
    }
}

async fn bind(address: &str) -> Result<TcpListener, String> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// Returns the folder that a file is in.
fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Lets the process have as many descriptors as the system allows, and makes files that only their
/// owner can read.
fn raise_limits() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Where the system says no, there are fewer connections.
    let _ = setrlimit(Resource::Nofile, raised);
    umask(Mode::RWXG | Mode::RWXO);
}

/// Returns for how many connections there are descriptors.
fn connections_max() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // Where there are very few, some connections are better than none.
    let left = descriptors
        .saturating_sub(DESCRIPTORS_KEPT)
        .max(descriptors / 4);
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    left.clamp(1, CONNECTIONS_MAX)
}

/// Ends the process after some time, whatever still runs: threads that answer may be at work, and
/// a disk may not come back. What was answered is on disk.
fn end_at_last(time: Duration) {
    let ends = std::thread::Builder::new()
        .name("end".into())
        .spawn(move || {
            let (_nobody, never) = std::sync::mpsc::channel::<()>();
            let _ = never.recv_timeout(time);
            tracing::warn!("ended at the drain deadline, with work that did not stop");
            log::finish();
            std::process::exit(0);
        });
    if let Err(error) = ends {
        tracing::warn!(%error, "no thread to end the process in time");
    }
}

/// Says on standard output where the service is to be reached, for scripts that start it.
fn announce(what: &str, address: SocketAddr) {
    let mut out = std::io::stdout();
    // Nobody may be listening to standard output; that is no reason to stop.
    let _ = writeln!(out, "{what} {address}").and_then(|()| out.flush());
}

/// Says where workers are listened to, if by a listener of their own.
fn announce_workers(listener: Option<&TcpListener>) {
    if let Some(address) = listener.and_then(|listener| listener.local_addr().ok()) {
        announce("workers are listened to on", address);
        tracing::info!(%address, "listening for workers");
    }
}
