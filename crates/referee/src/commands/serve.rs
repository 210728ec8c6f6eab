//! `referee serve`: binds the listener, opens the store, serves until a signal, drains, closes.

mod listening;
mod settings;
mod shown;
mod signals;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, Args};
use referee_record::RecordKey;
use referee_server::limits::CONNECTIONS_MAX;
use referee_server::{MachineClock, Reload, Server, ServerOptions, Tls, WebOrigins};
use referee_store::{SqliteStore, Store};
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::environment::{self, Stranger};
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::{CLOSE_TIME_MAX, CLOSE_TIME_MIN, CLOSE_TIME_SHARE, DESCRIPTORS_KEPT};
use crate::log::log_panics;
use crate::printable::standard_output;
use listening::ListenArguments;
use settings::{check_store, read_folder, read_key};
use signals::Signals;

/// The command line of `referee serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    listen: ListenArguments,
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
    /// Writes each setting, its value and where it comes from, and starts nothing.
    #[arg(long)]
    print_config: bool,
    /// Reads the settings and every file that they name, says what is wrong, and starts nothing.
    #[arg(long)]
    check_config: bool,
}

/// What a service begins with: everything that was read before a port is bound.
struct Prepared {
    record_key: Option<RecordKey>,
    tls: Option<Arc<Tls>>,
    web: Option<WebOrigins>,
    addresses: Vec<SocketAddr>,
}

impl ServeArguments {
    /// Runs the service until a signal. `whole` is the command line of the program, and `matches`
    /// what was read by it.
    pub(crate) fn run(self, mut whole: clap::Command, matches: &ArgMatches) -> Outcome {
        log_panics();
        warn_of_strangers(&whole);
        if self.print_config {
            whole.build();
            let (name, matches) = matches.subcommand().expect("a command was chosen");
            let command = whole.find_subcommand(name).expect("the command is known");
            shown::write(standard_output(false), command, matches).map_err(Failure::Output)?;
        }
        if self.is_asked_only() {
            // With --print-config alone nothing is read.
            let checked = self.check_config.then(|| self.prepare()).transpose();
            return checked.map(|_| Exit::Fine);
        }
        let outcome = self.prepare().and_then(|prepared| {
            raise_limits();
            self.run_until_signal(prepared).map_err(Failure::Trouble)
        });
        match outcome {
            Ok(()) => Ok(Exit::Fine),
            // What a service has to say is a line of its log.
            Err(Failure::Trouble(message)) => {
                tracing::error!("{message}");
                Ok(Exit::Trouble)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Whether nothing is to be started.
    fn is_asked_only(&self) -> bool {
        self.print_config || self.check_config
    }

    /// Reads every file that the settings name. Nothing is written and no port is bound.
    fn prepare(&self) -> Result<Prepared, Failure> {
        check_store(&self.store).map_err(|text| Failure::Usage(text.to_owned()))?;
        let web = self.listen.read_web()?;
        let addresses = self.listen.addresses()?;
        let record_key = self.signing_key.as_deref().map(read_key).transpose();
        Ok(Prepared {
            record_key: record_key.map_err(Failure::Trouble)?,
            tls: self.listen.read_tls()?,
            web,
            addresses,
        })
    }

    fn run_until_signal(self, prepared: Prepared) -> Result<(), String> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        if let Some(threads) = self.threads {
            builder.worker_threads(usize::from(threads));
        }
        let runtime = builder.enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
        let outcome = runtime.block_on(self.serve(prepared));
        // Whatever a thread still does there is nobody to wait for it.
        runtime.shutdown_background();
        outcome
    }

    async fn serve(self, prepared: Prepared) -> Result<(), String> {
        let signals = Signals::begin();
        let signals = signals.map_err(|error| format!("cannot wait for signals: {error}"))?;
        // A store is made only by a service that can begin.
        let listener = TcpListener::bind(&prepared.addresses[..]).await;
        let listener = listener
            .map_err(|error| format!("cannot listen on {}: {error}", self.listen.listen))?;
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
        let is_encrypted = prepared.tls.is_some();
        tracing::info!(%address, tls = is_encrypted, store = %path, "listening");
        if let Some(key) = &prepared.record_key {
            tracing::info!(key_id = %key.id(), public_key = %key.public_key(), "records are signed");
        }
        let (stop, reload) = (CancellationToken::new(), Reload::default());
        let drain_time = Duration::from_secs(self.drain_timeout_seconds);
        let has_files = is_encrypted.then(|| reload.clone());
        tokio::spawn(signals.obey(has_files, drain_time, stop.clone()));
        let close_time = (drain_time / CLOSE_TIME_SHARE).min(CLOSE_TIME_MAX);
        let options = ServerOptions {
            drain_timeout: drain_time - close_time,
            record_key: prepared.record_key,
            connections_max: connections_max(),
            backup_folder: self.backup_folder,
            tls: prepared.tls,
            web: prepared.web,
            reload,
            ..ServerOptions::default()
        };
        let server = Server::new(listener, Arc::clone(&store), clock, options);
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

/// Says which variables look like settings and are none.
fn warn_of_strangers(whole: &clap::Command) {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for Stranger { name, meant } in environment::strangers(names, &environment::known(whole)) {
        tracing::warn!(name, meant, "a variable is no setting, and is not obeyed");
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

/// Says on standard output where the service is to be reached, for scripts that start it.
fn announce(address: SocketAddr) {
    let mut out = std::io::stdout();
    // Nobody may be listening to standard output; that is no reason to stop.
    let _ = writeln!(out, "referee is listening on {address}").and_then(|()| out.flush());
}
