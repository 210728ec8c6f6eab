//! What is known of a job that is counted, read from what is stored of it.

use prost::Message as _;
use referee_api::v1;
use referee_chess::{CastlingMode, Position};
use referee_store::ClaimedJob;

use super::failed::Failed;
use super::root::read_root;

/// What is known of a job that is counted.
pub(super) struct JobRoot {
    pub(super) position: Position,
    pub(super) spec: v1::PerftJob,
    pub(super) plan: v1::PerftProgress,
}

impl JobRoot {
    /// Reads the job of a claim.
    pub(super) fn read(claimed: &ClaimedJob) -> Result<JobRoot, Failed> {
        let spec = v1::PerftJob::decode(&claimed.row.spec[..]);
        let spec = spec.map_err(|_| Failed::damaged("its description"))?;
        let position = read_root("position", spec.position.as_ref());
        let position = position.map_err(|_| Failed::damaged("its position"))?;
        let plan = v1::PerftProgress::decode(&claimed.row.plan[..]);
        let plan = plan.map_err(|_| Failed::damaged("its plan"))?;
        Ok(JobRoot {
            position,
            spec,
            plan,
        })
    }

    pub(super) fn mode(&self) -> CastlingMode {
        self.position.castling_mode()
    }

    /// How long one thread takes for a position on average, in seconds.
    pub(super) fn position_seconds(&self) -> f64 {
        self.plan.thread_seconds / (self.plan.positions as f64).max(1.0)
    }
}
