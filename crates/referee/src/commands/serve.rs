//! `referee serve`: binds the listener, opens the store, serves until a signal, drains, closes.

mod allowances;
mod listening;
mod observed;
mod own_worker;
mod settings;
mod shown;
mod signals;

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgMatches, Args};
use referee_record::RecordKey;
use referee_server::limits::{BACKUPS_MAX, CONNECTIONS_MAX};
use referee_server::{
    Access, MachineClock, OperatorToken, Reload, Server, ServerOptions, Subjects, Tls, WebOrigins,
};
use referee_store::{SqliteStore, Store};
use referee_telemetry::log::log_panics;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::environment::{self, Stranger};
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::{CLOSE_TIME_MAX, CLOSE_TIME_MIN, CLOSE_TIME_SHARE, DESCRIPTORS_KEPT};
use crate::printable::standard_output;
use allowances::AllowanceArguments;
use listening::ListenArguments;
use observed::ObservedArguments;
use own_worker::{OwnWorker, OwnWorkerArguments};
use settings::{check_store, read_folder, read_key, read_operator_token};
use signals::{EndTimes, Signals};

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
    /// How many seconds it serves on after SIGTERM, no longer ready, until whoever sends it calls
    /// has heard of that; SIGINT and a second signal end that time. Range: 0 to 600.
    #[arg(
        long,
        env = "REFEREE_DRAIN_DELAY_SECONDS",
        default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(0..=600)
    )]
    drain_delay_seconds: u64,
    /// After how many seconds a connection is asked to end, so that clients spread over servers
    /// again; each gets a tenth more or less by chance. Range: 1 to 86400. Default: never.
    #[arg(
        long,
        env = "REFEREE_CONNECTION_AGE_MAX_SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=86_400)
    )]
    connection_age_max_seconds: Option<u64>,
    /// How many seconds the calls of such a connection may go on; then streams end with the place
    /// from which to resume. Range: 0 to 3600.
    #[arg(
        long,
        env = "REFEREE_CONNECTION_AGE_GRACE_SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=3_600)
    )]
    connection_age_grace_seconds: u64,
    #[command(flatten)]
    observed: ObservedArguments,
    /// A file with the Ed25519 key that exported records are signed with: PKCS#8 in PEM, or the 32
    /// bytes of the secret in hexadecimal digits or base64. Default: records are not signed.
    #[arg(long, value_name = "FILE", env = "REFEREE_SIGNING_KEY")]
    signing_key: Option<PathBuf>,
    /// The folder that `referee store backup --server` writes copies of the store to. Default: none
    /// are made.
    #[arg(long, value_name = "FOLDER", env = "REFEREE_BACKUP_FOLDER", value_parser = read_folder)]
    backup_folder: Option<PathBuf>,
    /// How many copies stay in that folder: when another is complete, the oldest are removed.
    /// Range: 1 to 63. Default: all stay, up to 64.
    #[arg(
        long,
        value_name = "COPIES",
        env = "REFEREE_BACKUP_KEEP",
        requires = "backup_folder",
        value_parser = clap::value_parser!(u16).range(1..BACKUPS_MAX as i64)
    )]
    backup_keep: Option<u16>,
    /// Whether callers have to say who they are, by a token of `referee token issue`. Default:
    /// where other machines reach the address, but for `--insecure-listen`.
    #[arg(
        long,
        env = "REFEREE_REQUIRE_CREDENTIALS",
        value_parser = BoolishValueParser::new()
    )]
    require_credentials: bool,
    /// A file with the token of the first operator: one line of 32 to 256 printable characters,
    /// such as `openssl rand -base64 32` writes. Callers have to say who they are then.
    #[arg(long, value_name = "FILE", env = "REFEREE_OPERATOR_TOKEN_FILE")]
    operator_token_file: Option<PathBuf>,
    #[command(flatten)]
    allowances: AllowanceArguments,
    /// How many threads answer requests. Range: 1 to 256. Default: one for each processor.
    #[arg(long, short, env = "REFEREE_THREADS", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    #[command(flatten)]
    own_worker: OwnWorkerArguments,
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
    /// The addresses for workers, and the name that they come from.
    worker_addresses: Option<(Vec<SocketAddr>, String)>,
    access: Access,
    operator_token: Option<OperatorToken>,
    subjects: Option<Subjects>,
}

impl ServeArguments {
    /// Runs the service until a signal. `whole` is the command line of the program, and `matches`
    /// what was read by it; `log` is what is logged as the command line has it.
    pub(crate) fn run(self, mut whole: clap::Command, matches: &ArgMatches, log: &str) -> Outcome {
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
            self.run_until_signal(prepared, log)
                .map_err(Failure::Trouble)
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
        self.observed.read_filter().map_err(Failure::Trouble)?;
        let addresses = self.listen.addresses()?;
        let worker_addresses = self.listen.worker_addresses()?;
        let record_key = self.signing_key.as_deref().map(read_key).transpose();
        let operator = self.operator_token_file.as_deref();
        let operator = operator.map(read_operator_token).transpose();
        let operator_token = operator.map_err(Failure::Trouble)?;
        let subjects = self.listen.read_subjects()?;
        let is_required = self.require_credentials
            || operator_token.is_some()
            || subjects.is_some()
            || self.listen.wants_credentials(&addresses);
        let access = match is_required {
            true => Access::Credentials,
            false => Access::Open,
        };
        Ok(Prepared {
            access,
            operator_token,
            subjects,
            record_key: record_key.map_err(Failure::Trouble)?,
            tls: self.listen.read_tls()?,
            web,
            addresses,
            worker_addresses,
        })
    }

    fn run_until_signal(self, prepared: Prepared, log: &str) -> Result<(), String> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        if let Some(threads) = self.threads {
            builder.worker_threads(usize::from(threads));
        }
        let runtime = builder.enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start threads: {error}"))?;
        let outcome = runtime.block_on(self.serve(prepared, log));
        // Whatever a thread still does there is nobody to wait for it.
        runtime.shutdown_background();
        outcome
    }

    async fn serve(self, prepared: Prepared, log: &str) -> Result<(), String> {
        let signals = Signals::begin();
        let signals = signals.map_err(|error| format!("cannot wait for signals: {error}"))?;
        // A store is made only by a service that can begin.
        let own_worker = self.own_worker.prepare()?;
        let (listener, worker_listener) = self.bind_all(&prepared).await?;
        let telemetry = self.observed.begin()?;
        // It is there while the store is being opened, which may take time, and until the end.
        let ended = CancellationToken::new();
        let _ends = ended.clone().drop_guard();
        self.observed.serve(&telemetry, ended).await?;
        let path = self.store.display().to_string();
        let sort_folder = folder_of(&self.store);
        let store = open_store(self.store).await?;
        let last_us = store.last_beat().await.map_err(|error| error.to_string())?;
        let clock = Arc::new(MachineClock::after(last_us));
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        announce("referee is listening on", address);
        let is_encrypted = prepared.tls.is_some();
        tracing::info!(%address, tls = is_encrypted, store = %path, "listening");
        announce_workers(worker_listener.as_ref());
        if let Some(key) = &prepared.record_key {
            tracing::info!(key_id = %key.id(), public_key = %key.public_key(), "records are signed");
        }
        let (ends, stop) = (CancellationToken::new(), CancellationToken::new());
        let hurry = CancellationToken::new();
        let drain_time = Duration::from_secs(self.drain_timeout_seconds);
        let times = EndTimes {
            delay: Duration::from_secs(self.drain_delay_seconds),
            drain: drain_time,
        };
        let reload = Reload::default();
        let (files, observed, log) = (reload.clone(), self.observed, log.to_owned());
        let read_again = move || {
            observed.reload_filter(&log);
            files.ask();
        };
        tokio::spawn(signals.obey(ends.clone(), hurry.clone(), times, read_again));
        let close_time = (drain_time / CLOSE_TIME_SHARE).min(CLOSE_TIME_MAX);
        let options = ServerOptions {
            drain_timeout: drain_time - close_time,
            record_key: prepared.record_key,
            connections_max: connections_max(),
            backup_folder: self.backup_folder,
            backup_keep: self.backup_keep.map(usize::from),
            sort_folder,
            drain_delay: times.delay,
            hurry,
            connection_age_max: self.connection_age_max_seconds.map(Duration::from_secs),
            connection_age_grace: Duration::from_secs(self.connection_age_grace_seconds),
            telemetry: telemetry.clone(),
            tls: prepared.tls,
            web: prepared.web,
            access: prepared.access,
            operator_token: prepared.operator_token,
            subjects: prepared.subjects,
            allowances: self.allowances.read(),
            reload,
            ..ServerOptions::default()
        };
        let server = Server::new(listener, Arc::clone(&store), clock, options)
            .with_worker_listener(worker_listener);
        let own_worker = own_worker.map(|worker| OwnWorker::start(worker, &server.inside()));
        tokio::spawn(end_in_order(ends, own_worker, stop.clone()));
        let served = server.run(stop).await;
        close_store(&*store, close_time.max(CLOSE_TIME_MIN)).await?;
        telemetry.end();
        served.map_err(|error| with_source(&error))?;
        tracing::info!("stopped");
        Ok(())
    }

    /// Binds the port of the service, and that of workers, if they have one of their own.
    async fn bind_all(
        &self,
        prepared: &Prepared,
    ) -> Result<(TcpListener, Option<TcpListener>), String> {
        let listener = bind(&prepared.addresses, &self.listen.listen).await?;
        let worker_listener = match &prepared.worker_addresses {
            Some((addresses, name)) => Some(bind(addresses, name).await?),
            None => None,
        };
        Ok((listener, worker_listener))
    }
}

async fn close_store(store: &dyn Store, time: Duration) -> Result<(), String> {
    match tokio::time::timeout(time, store.close()).await {
        Ok(closed) => closed.map_err(|error| format!("cannot close the store: {error}")),
        Err(_) => {
            // What was answered is on disk.
            tracing::warn!("the store was not closed in time; the next start repairs it");
            Ok(())
        }
    }
}

/// Returns an error in words, with what brought it about.
fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
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

async fn bind(addresses: &[SocketAddr], name: &str) -> Result<TcpListener, String> {
    let bound = TcpListener::bind(addresses).await;
    bound.map_err(|error| format!("cannot listen on {name}: {error}"))
}

/// Returns the folder that a file is in.
fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Opens the store, which migrates and recovers, and so blocks.
async fn open_store(path: PathBuf) -> Result<Arc<dyn Store>, String> {
    let open = tokio::task::spawn_blocking(move || SqliteStore::open(&path));
    let opened = open.await.map_err(|error| error.to_string())?;
    let store = opened.map_err(|error| error.to_string())?;
    Ok(Arc::new(store))
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
