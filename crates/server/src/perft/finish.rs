//! The end of a job: its counts are added up once, when all are there.

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::perft_failure::Kind;
use referee_perft::{Summation, Task, Total, TotalError};
use referee_store::{ClaimedJob, JobState, StoredTask, Stretch};

use super::counts;
use super::failed::Failed;
use super::jobs::PerftJobs;
use super::root::read_root;
use crate::clock::us;
use crate::error::ServiceError;
use crate::limits;

impl PerftJobs {
    /// Adds a job up, and ends it.
    pub(super) async fn finish(&self, claimed: &ClaimedJob) {
        let name = &claimed.row.key.job;
        match self.fold(claimed).await {
            Ok(Ok(())) => {}
            Ok(Err(failed)) => return self.fail(claimed, failed).await,
            Err(error) => {
                return tracing::warn!(job = name, %error, "a job could not be added up now");
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
        let Ok(spec) = v1::PerftJob::decode(&claimed.row.spec[..]) else {
            return Ok(Err(Failed::damaged("its description")));
        };
        let Ok(root) = read_root("position", spec.position.as_ref()) else {
            return Ok(Err(Failed::damaged("its position")));
        };
        let Ok(plan) = v1::PerftProgress::decode(&claimed.row.plan[..]) else {
            return Ok(Err(Failed::damaged("its plan")));
        };
        let mut summation = Summation::new(&root, spec.depth);
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
            let until_us = self.clock.now_us().saturating_add(us(limits::PERFT_CLAIM));
            self.store.hold_job(claimed.claim, until_us).await?;
            let added = move || add_page(summation, &page);
            summation = match self.pool.run(added).await? {
                Ok(summation) => summation,
                Err(failed) => return Ok(Err(failed)),
            };
        }
        let total = summation.finish(plan.positions.cast_unsigned());
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
    let spec = v1::PerftJob::decode(&claimed.row.spec[..]);
    let spec = spec.map_err(|_| Failed::damaged("its description"))?;
    let root = read_root("position", spec.position.as_ref());
    let root = root.map_err(|_| Failed::damaged("its position"))?;
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
