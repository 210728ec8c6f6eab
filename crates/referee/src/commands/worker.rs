//! `referee worker`: counts tasks of perft jobs for a server, until a signal.

use std::fs;
use std::process;

use clap::Args;
use referee_perft::{TableError, limits};
use referee_telemetry::log::log_panics;
use referee_worker::{Worker, WorkerError, WorkerOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::connection::ServerArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::WORKER_ID_CHARS_MAX;

/// The command line of `referee worker`.
#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    #[command(flatten)]
    server: ServerArguments,
    /// How many threads count. Range: 1 to 1024. Default: one for each core.
    #[arg(
        long,
        short,
        env = "REFEREE_WORKER_THREADS",
        value_parser = clap::value_parser!(u16).range(1..=limits::THREADS_MAX as i64)
    )]
    threads: Option<u16>,
    /// The size of the hash table in MiB, which stays warm from task to task. Range: 1 to 1048576.
    /// Default: none.
    #[arg(long, value_name = "MIB", env = "REFEREE_WORKER_HASH")]
    hash: Option<usize>,
    /// The keys of the hash table: another number makes an independent proof.
    #[arg(
        long,
        value_name = "NUMBER",
        env = "REFEREE_WORKER_KEY_SET",
        default_value_t = 0
    )]
    key_set: u64,
    /// The name of the worker for people: printable ASCII without blanks, up to 128 characters.
    /// Default: the name of the machine and the number of the process.
    #[arg(
        long,
        value_name = "NAME",
        env = "REFEREE_WORKER_ID",
        value_parser = read_id
    )]
    id: Option<String>,
    /// Gives way to everything else on the machine.
    #[arg(long)]
    nice: bool,
}

impl WorkerArguments {
    /// Counts until a signal comes.
    pub(crate) fn run(self) -> Outcome {
        log_panics();
        let server = self.server.read()?;
        let worker = Worker::new(WorkerOptions {
            worker_id: self.id.unwrap_or_else(own_id),
            version: referee_record::VERSION.to_owned(),
            threads: self.threads.map_or(0, usize::from),
            hash_mib: self.hash,
            key_set: self.key_set,
            gives_way: self.nice,
        });
        let worker = worker.map_err(failure)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime =
            runtime.map_err(|error| Failure::Trouble(format!("cannot start: {error}")))?;
        let worked = runtime.block_on(async {
            let stop = CancellationToken::new();
            end_on_signal(stop.clone())?;
            tracing::info!(server = server.text(), "working");
            let worked = worker.run(server.connect_lazily(), server.identity(), stop);
            worked.await.map_err(failure)
        });
        // A call that does not end holds nobody up.
        runtime.shutdown_background();
        worked.map(|()| Exit::Fine)
    }
}

/// Says why a worker does not work.
fn failure(error: WorkerError) -> Failure {
    match error {
        WorkerError::Table(error @ TableError::Size(_)) => {
            Failure::Usage(format!("--hash (REFEREE_WORKER_HASH): {error}"))
        }
        error => Failure::Trouble(error.to_string()),
    }
}

/// Reads the name of a worker.
fn read_id(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if is_name && text.len() <= WORKER_ID_CHARS_MAX {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "expected are 1 to {WORKER_ID_CHARS_MAX} printable ASCII characters without blanks"
        ))
    }
}

/// Returns a name by which people find the process.
fn own_id() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut host: String = host.chars().filter(char::is_ascii_graphic).collect();
    host.truncate(WORKER_ID_CHARS_MAX / 2);
    if host.is_empty() {
        host.push_str("worker");
    }
    format!("{host}-{}", process::id())
}

/// Ends the work at SIGTERM or SIGINT; a second signal ends the process at once.
fn end_on_signal(stop: CancellationToken) -> Result<(), Failure> {
    let no_signal =
        |error: std::io::Error| Failure::Trouble(format!("cannot wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signal)?;
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            if stop.is_cancelled() {
                process::exit(Exit::Interrupted as i32);
            }
            tracing::info!(signal = name, "stopping");
            stop.cancel();
        }
    });
    Ok(())
}
