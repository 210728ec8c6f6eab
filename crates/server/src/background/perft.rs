//! Perft jobs are planned and added up, what time brings to sessions of workers is done, and what
//! is left is shown to those who watch the service.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::perft::PerftJobs;

/// Plans jobs and adds them up until the service stops, one at a time.
pub(super) async fn advance(jobs: Arc<PerftJobs>, stop: CancellationToken) {
    loop {
        while !stop.is_cancelled() && jobs.advance(&stop).await {}
        tokio::select! {
            () = stop.cancelled() => return,
            () = jobs.due.notified() => {}
            () = tokio::time::sleep(limits::PERFT_LOOK_INTERVAL) => {}
        }
    }
}

/// Looks after sessions and what is not needed any more until the service stops.
pub(super) async fn sweep(jobs: Arc<PerftJobs>, stop: CancellationToken) {
    loop {
        // Little by little, so that moves do not wait for it.
        let more = jobs.sweep().await;
        let pause = match more {
            true => limits::SWEEP_PAUSE,
            false => limits::SWEEP_INTERVAL,
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Shows how much is left and who works on it until the service stops.
pub(super) async fn census(jobs: Arc<PerftJobs>, stop: CancellationToken) {
    loop {
        jobs.take_census().await;
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(limits::PERFT_CENSUS_INTERVAL) => {}
        }
    }
}
