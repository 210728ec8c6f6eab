//! What the service does by itself. Every job has one shape: a future that runs until its token is
//! cancelled, finishes what it has begun, and is joined.

mod adjudicator;
mod census;
mod flags;
mod heartbeat;
mod log;
mod perft;
pub(crate) mod readiness;
mod walk;

use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use referee_store::Store;
use referee_telemetry::Metrics;

use crate::games::Games;
use crate::perft::PerftJobs;

/// The jobs of a service.
pub(crate) struct Background {
    tasks: TaskTracker,
    /// Dropped, it stops the jobs as well; then nobody waits for them.
    stop: DropGuard,
    heartbeat: heartbeat::Thread,
}

impl Background {
    /// Starts all jobs.
    ///
    /// # Errors
    ///
    /// Where the system has no thread for the signs of life.
    pub(crate) fn start(
        games: &Arc<Games>,
        perft: &Arc<PerftJobs>,
        store: Arc<dyn Store>,
        metrics: &Arc<Metrics>,
    ) -> std::io::Result<Background> {
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(flags::run(Arc::clone(games), stop.clone()));
        tasks.spawn(log::run(Arc::clone(games), stop.clone()));
        let questions = Arc::clone(&store);
        tasks.spawn(adjudicator::run(Arc::clone(games), questions, stop.clone()));
        let census = census::run(Arc::clone(&store), Arc::clone(metrics), stop.clone());
        tasks.spawn(census);
        let (registry, damaged) = (Arc::clone(&games.registry), Arc::clone(metrics));
        tasks.spawn(walk::run(registry, store, damaged, stop.clone()));
        tasks.spawn(perft::advance(Arc::clone(perft), stop.clone()));
        tasks.spawn(perft::sweep(Arc::clone(perft), stop.clone()));
        tasks.spawn(perft::census(Arc::clone(perft), stop.clone()));
        tasks.close();
        let heartbeat = heartbeat::Thread::start(Arc::clone(&games.heartbeat), stop.clone())?;
        Ok(Background {
            tasks,
            stop: stop.drop_guard(),
            heartbeat,
        })
    }

    /// Stops all jobs, and waits until they have ended.
    pub(crate) async fn stop(self) {
        self.stop.disarm().cancel();
        self.tasks.wait().await;
        self.heartbeat.join().await;
    }
}
