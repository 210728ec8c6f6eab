//! What all that has to do with perft jobs shares.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use referee_store::{ClaimedJob, JobEnd, JobState, Work};
use referee_telemetry::Metrics;
use tokio::sync::Notify;

use super::failed::Failed;
use crate::clock::{Clock, us};
use crate::limits;
use crate::pool::WorkPool;

/// What all that has to do with perft jobs shares.
pub(crate) struct PerftJobs {
    pub(crate) store: Arc<dyn Work>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
    /// Where reports are checked and tasks are read.
    pub(super) pool: WorkPool,
    /// Where plans are sorted.
    pub(super) spill_folder: PathBuf,
    /// Told where a job may be there to plan or to add up.
    pub(crate) due: Notify,
    /// Told where a task may be open.
    pub(super) opened: Notify,
    /// How many workers wait for a task here.
    pub(super) waiting: AtomicUsize,
}

impl PerftJobs {
    pub(crate) fn new(
        store: Arc<dyn Work>,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        spill_folder: PathBuf,
    ) -> PerftJobs {
        let jobs = PerftJobs {
            store,
            clock,
            metrics,
            pool: WorkPool::new(
                limits::PERFT_CHECKS_AT_ONCE_MAX,
                limits::PERFT_CHECKS_WAITING_MAX,
            ),
            spill_folder,
            due: Notify::new(),
            opened: Notify::new(),
            waiting: AtomicUsize::new(0),
        };
        jobs.begin_series();
        jobs
    }

    /// Wakes who waits for tasks.
    pub(super) fn note_opened(&self) {
        self.opened.notify_waiters();
    }

    /// When a session runs out that gives a sign now.
    pub(super) fn expires_us(&self, now_us: i64) -> i64 {
        now_us.saturating_add(us(limits::SESSION_TIME))
    }

    /// Ends a job that failed.
    pub(super) async fn fail(&self, claimed: &ClaimedJob, failed: Failed) {
        let name = &claimed.row.key.job;
        tracing::warn!(job = name, why = failed.0.text, "a job failed");
        self.end(claimed, JobState::Failed, failed.outcome()).await;
    }

    pub(super) async fn end(&self, claimed: &ClaimedJob, state: JobState, outcome: Vec<u8>) {
        let end = JobEnd {
            state,
            outcome,
            now_us: self.clock.now_us(),
        };
        if let Err(error) = self.store.end_job(claimed.claim, end).await {
            let name = &claimed.row.key.job;
            tracing::warn!(job = name, %error, "a job could not be ended now");
        }
    }

    /// Ends sessions that ran out, forgets what is old, takes out what nobody needs; returns
    /// whether there is more to do at once.
    pub(crate) async fn sweep(&self) -> bool {
        let now_us = self.clock.now_us();
        let forget_before_us = now_us.saturating_sub(us(limits::SESSION_KEPT));
        match self.store.sweep(now_us, forget_before_us).await {
            Ok(swept) => {
                if swept.sessions > 0 {
                    let (sessions, leases) = (swept.sessions, swept.leases);
                    tracing::info!(sessions, leases, "sessions of workers ran out");
                    self.note_opened();
                }
                swept.more
            }
            Err(error) => {
                tracing::debug!(%error, "sessions of workers could not be looked at");
                false
            }
        }
    }
}

/// Counts somebody as waiting for as long as it lives.
pub(super) struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    pub(super) fn begin(count: &'a AtomicUsize) -> Waits<'a> {
        count.fetch_add(1, Ordering::Relaxed);
        Waits(count)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns seconds as a duration, whatever the number.
pub(super) fn seconds(seconds: f64) -> Duration {
    let most = 1e9;
    Duration::from_secs_f64(if seconds.is_finite() {
        seconds.clamp(0.0, most)
    } else {
        most
    })
}
