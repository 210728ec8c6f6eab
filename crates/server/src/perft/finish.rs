//! The end of a job: its counts are added up once, when all are there.

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::perft_failure::Kind;
use referee_perft::{Summation, Task, Total, TotalError};
use referee_store::{ClaimedJob, JobState, StoredTask, Stretch};

use super::checking::{Checking, Unchecked};
use super::counts;
use super::failed::Failed;
use super::job_root::JobRoot;
use super::jobs::PerftJobs;
use crate::error::ServiceError;

impl PerftJobs {
    /// Checks a job, adds it up, and ends it; or lets it go on where more is to be counted.
    pub(super) async fn finish(&self, claimed: &ClaimedJob) {
        let name = &claimed.row.key.job;
        match self.fold(claimed).await {
            Ok(Ok(())) => {}
            Ok(Err(failed)) => return self.fail(claimed, failed).await,
            Err(error) => {
                return tracing::warn!(job = name, %error, "a job could not be added up now");
            }
        }
        match self.check(claimed).await {
            Ok(Checking::Sound) => {}
            Ok(Checking::GoesOn) => return,
            Err(Unchecked::Failed(failed)) => return self.fail(claimed, failed).await,
            Err(Unchecked::Service(error)) => {
                return tracing::warn!(job = name, %error, "a job could not be checked now");
            }
        }
        let total = match self.add_up(claimed).await {
            Ok(Ok(total)) => total,
            Ok(Err(failed)) => return self.fail(claimed, failed).await,
            Err(error) => {
                return tracing::warn!(job = name, %error, "a job could not be added up now");
            }
        };
        let outcome = match outcome(claimed, &total) {
            Ok(outcome) => outcome,
            Err(failed) => return self.fail(claimed, failed).await,
        };
        tracing::info!(job = name, nodes = %total.nodes, "a job is done");
        self.end(claimed, JobState::Succeeded, outcome).await;
    }

    /// Adds up what was accepted, task by task in their order.
    async fn add_up(&self, claimed: &ClaimedJob) -> Result<Result<Total, Failed>, ServiceError> {
        let root = match JobRoot::read(claimed) {
            Ok(root) => root,
            Err(failed) => return Ok(Err(failed)),
        };
        let mut summation = Summation::new(&root.position, root.spec.depth);
        let mut first = 0;
        loop {
            let job = claimed.claim.job;
            let page = self.store.counted(Stretch {
                job,
                parent: None,
                first,
                end: i64::MAX,
            });
            let page = page.await?;
            let Some(last) = page.last() else { break };
            first = last.first + last.positions.max(1);
            self.hold(claimed).await?;
            let added = move || add_page(summation, &page);
            summation = match self.pool.run(added).await? {
                Ok(summation) => summation,
                Err(failed) => return Ok(Err(failed)),
            };
        }
        let total = summation.finish(root.plan.positions.cast_unsigned());
        Ok(total.map_err(|error| failed_total(&error)))
    }
}

fn add_page(mut summation: Summation, page: &[StoredTask]) -> Result<Summation, Failed> {
    for stored in page {
        let first = stored.first.cast_unsigned();
        let task = Task::from_bytes(first, stored.rest, &stored.bytes);
        let task = task.map_err(|error| Failed::damaged(&error.to_string()))?;
        let bytes = stored.counts.as_deref().unwrap_or_default();
        let counts = counts::read(bytes, task.len());
        let counts = counts.ok_or_else(|| Failed::damaged("the counts of a task"))?;
        let added = summation.add(&task, &counts);
        added.map_err(|error| failed_total(&error))?;
    }
    Ok(summation)
}

fn failed_total(error: &TotalError) -> Failed {
    match error {
        TotalError::TooMany => Failed::new(Kind::TooManyPaths, error),
        error => Failed::damaged(&error.to_string()),
    }
}

/// What is stored of a job that succeeded.
fn outcome(claimed: &ClaimedJob, total: &Total) -> Result<Vec<u8>, Failed> {
    let root = JobRoot::read(claimed)?.position;
    let divide = total.divide.iter().map(|&(mv, nodes)| v1::DivideEntry {
        r#move: root.uci(mv).to_string(),
        nodes: nodes.to_string(),
    });
    let job = v1::PerftJob {
        nodes: total.nodes.to_string(),
        divide: divide.collect(),
        ..v1::PerftJob::default()
    };
    Ok(job.encode_to_vec())
}
