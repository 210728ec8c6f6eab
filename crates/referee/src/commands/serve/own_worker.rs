//! The worker in the process of the service, so that a service alone completes a perft job: it asks
//! the services like any other worker, over connections that no network carries.

use std::num::NonZero;
use std::thread;

use clap::Args;
use referee_server::Inside;
use referee_worker::{Worker, WorkerOptions, nobody};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::limits::OWN_WORKER_END_MAX;

/// The part of the command line about it.
#[derive(Debug, Args)]
pub(super) struct OwnWorkerArguments {
    /// How many threads of the service count perft jobs, while nothing else wants the processor; 0
    /// for none. Range: 0 to 1024. Default: one fewer than there are processors, but one at least.
    #[arg(
        long,
        value_name = "THREADS",
        env = "REFEREE_SERVE_PERFT_THREADS",
        value_parser = clap::value_parser!(u16).range(0..=referee_perft::limits::THREADS_MAX as i64)
    )]
    perft_threads: Option<u16>,
    /// The size of the hash table of these threads in MiB. Range: 1 to 1048576. Default: none.
    #[arg(
        long,
        value_name = "MIB",
        env = "REFEREE_SERVE_PERFT_HASH",
        value_parser = clap::value_parser!(u64)
            .range(1..=referee_perft::limits::HASH_MIB_MAX as u64)
    )]
    perft_hash: Option<u64>,
}

/// A worker that runs.
pub(super) struct OwnWorker {
    stop: CancellationToken,
    works: JoinHandle<()>,
}

impl OwnWorkerArguments {
    /// Starts the threads that count, if there are to be any.
    pub(super) fn prepare(&self) -> Result<Option<Worker>, String> {
        let threads = self.perft_threads.map_or_else(spare_threads, usize::from);
        if threads == 0 {
            return Ok(None);
        }
        let hash = self.perft_hash.and_then(|mib| usize::try_from(mib).ok());
        let worker = Worker::new(WorkerOptions {
            worker_id: format!("inside-{}", std::process::id()),
            version: referee_record::VERSION.to_owned(),
            threads,
            hash_mib: hash,
            key_set: 0,
            gives_way: true,
        });
        worker.map(Some).map_err(|error| {
            format!("--perft-threads, --perft-hash: no worker in this process: {error}")
        })
    }
}

/// Returns for how many threads there are processors that the service can do without.
fn spare_threads() -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let most = referee_perft::limits::THREADS_MAX;
    processors.saturating_sub(1).clamp(1, most)
}

impl OwnWorker {
    /// Lets a worker work for the server of this process.
    pub(super) fn start(worker: Worker, inside: &Inside) -> OwnWorker {
        let stop = CancellationToken::new();
        let works = worker.run(inside.channel(), nobody(), stop.clone());
        let works = tokio::spawn(async move {
            if let Err(error) = works.await {
                tracing::error!(%error, "the worker in this process does not work");
            }
        });
        OwnWorker { stop, works }
    }

    /// Lets it report what is whole and give the rest back, but does not wait for that for long.
    pub(super) async fn end(self) {
        self.stop.cancel();
        if timeout(OWN_WORKER_END_MAX, self.works).await.is_err() {
            tracing::debug!("the worker in this process had no time to give its tasks back");
        }
    }
}
