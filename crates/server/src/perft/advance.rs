//! What jobs wait for, one after the other.

use referee_store::JobState;
use tokio_util::sync::CancellationToken;

use super::jobs::PerftJobs;
use super::plan;
use crate::clock::us;
use crate::limits;

impl PerftJobs {
    /// Does what a job waits for, if there is one: plans it, or adds it up. Returns whether there
    /// was one.
    pub(crate) async fn advance(&self, stop: &CancellationToken) -> bool {
        let now_us = self.clock.now_us();
        let claimed = self.store.claim_job(now_us, us(limits::PERFT_CLAIM)).await;
        let claimed = match claimed {
            Ok(Some(claimed)) => claimed,
            Ok(None) => return false,
            Err(error) => {
                tracing::debug!(%error, "no job could be claimed");
                return false;
            }
        };
        if claimed.row.state == JobState::Planning {
            plan::run(self, &claimed, stop).await;
        } else {
            self.finish(&claimed).await;
        }
        true
    }
}
