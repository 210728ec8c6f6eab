//! A job that is counted is checked before it is added up: what was counted twice is compared, what
//! differs is settled, and what is to be counted again is drawn.

use referee_store::{Check, ClaimedJob, Fault, ReadError};

use super::failed::Failed;
use super::job_root::JobRoot;
use super::jobs::PerftJobs;
use crate::clock::us;
use crate::error::ServiceError;
use crate::limits;

/// What checking came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checking {
    /// All that is to be compared agrees.
    Sound,
    /// More is to be counted.
    GoesOn,
}

/// Why a job cannot be checked.
pub(super) enum Unchecked {
    /// It is given up.
    Failed(Failed),
    /// It cannot be done now.
    Service(ServiceError),
}

impl From<Failed> for Unchecked {
    fn from(failed: Failed) -> Unchecked {
        Unchecked::Failed(failed)
    }
}

impl From<ServiceError> for Unchecked {
    fn from(error: ServiceError) -> Unchecked {
        Unchecked::Service(error)
    }
}

impl From<Fault> for Unchecked {
    fn from(fault: Fault) -> Unchecked {
        Unchecked::Service(fault.into())
    }
}

impl From<ReadError> for Unchecked {
    fn from(error: ReadError) -> Unchecked {
        Unchecked::Service(error.into())
    }
}

impl PerftJobs {
    /// Checks a job that is counted, as far as that goes without workers.
    pub(super) async fn check(&self, claimed: &ClaimedJob) -> Result<Checking, Unchecked> {
        if !self.knows_credentials {
            return Ok(Checking::Sound);
        }
        let root = JobRoot::read(claimed)?;
        loop {
            let trust = self.store.trust(claimed.claim.job).await?;
            let number = trust.disputes.len() as i64;
            let open = trust
                .disputes
                .iter()
                .position(|(_, is_settled)| !is_settled);
            if let Some(open) = open {
                self.go_on_disputing(claimed, &root, open as i64, &trust)
                    .await?;
            } else if let Some(difference) = self.compare_all(claimed).await? {
                self.open_dispute(claimed, &root, number, difference)
                    .await?;
            } else if !self.draw_rechecks(claimed, &root, &trust).await? {
                return Ok(Checking::Sound);
            }
            self.store.check_job(claimed.claim, Check::Resume).await?;
            // Where something is open the job runs again, and the claim is over.
            if !self.hold(claimed).await? {
                self.note_opened();
                return Ok(Checking::GoesOn);
            }
        }
    }

    /// Holds the claim of a job for longer; false where it is over.
    pub(super) async fn hold(&self, claimed: &ClaimedJob) -> Result<bool, Fault> {
        let until_us = self.clock.now_us().saturating_add(us(limits::PERFT_CLAIM));
        self.store.hold_job(claimed.claim, until_us).await
    }
}
