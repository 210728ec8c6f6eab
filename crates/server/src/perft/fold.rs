//! Tasks that were replaced by children of their positions get the counts that these come to.

use referee_api::v1::perft_failure::Kind;
use referee_perft::{Folding, Task, TotalError};
use referee_store::{ClaimedJob, Fold, StoredTask, Stretch};

use super::counts;
use super::failed::Failed;
use super::jobs::PerftJobs;
use crate::clock::us;
use crate::error::ServiceError;
use crate::limits;

impl PerftJobs {
    /// Gives all tasks of a job their counts; those first whose children have theirs.
    pub(super) async fn fold(
        &self,
        claimed: &ClaimedJob,
    ) -> Result<Result<(), Failed>, ServiceError> {
        while let Some(stored) = self.store.expanded(claimed.claim.job).await? {
            let counts = match self.fold_task(claimed, &stored).await? {
                Ok(counts) => counts,
                Err(failed) => return Ok(Err(failed)),
            };
            if let Err(failed) = self.check_late(&stored, &counts).await? {
                return Ok(Err(failed));
            }
            let fold = Fold {
                task: stored.task,
                counts: counts::write(&counts),
                now_us: self.clock.now_us(),
            };
            if !self.store.fold_task(claimed.claim, fold).await? {
                // Somebody else has the job, and adds it up.
                return Err(ServiceError::StoreUnavailable {
                    reason: "another process adds the job up",
                });
            }
        }
        Ok(Ok(()))
    }

    /// Adds up the children of a task, all of which are counted.
    async fn fold_task(
        &self,
        claimed: &ClaimedJob,
        stored: &StoredTask,
    ) -> Result<Result<Vec<u128>, Failed>, ServiceError> {
        let begun = stored.clone();
        let begun = self.pool.run(move || begin(&begun)).await?;
        let mut folding = match begun {
            Ok(folding) => folding,
            Err(failed) => return Ok(Err(failed)),
        };
        loop {
            let page = self.store.counted(Stretch {
                job: stored.job,
                parent: Some(stored.task),
                first: folding.next().cast_signed(),
                end: i64::MAX,
            });
            let page = page.await?;
            if page.is_empty() {
                break;
            }
            let until_us = self.clock.now_us().saturating_add(us(limits::PERFT_CLAIM));
            self.store.hold_job(claimed.claim, until_us).await?;
            folding = match self.pool.run(move || add_page(folding, &page)).await? {
                Ok(folding) => folding,
                Err(failed) => return Ok(Err(failed)),
            };
        }
        Ok(folding.finish().map_err(|error| failed_fold(&error)))
    }

    /// Compares the counts of a task with those that came of it after it was replaced.
    async fn check_late(
        &self,
        stored: &StoredTask,
        counts: &[u128],
    ) -> Result<Result<(), Failed>, ServiceError> {
        for bytes in self.store.late_counts(stored.job, stored.task).await? {
            let Some(late) = counts::read(&bytes, counts.len()) else {
                return Ok(Err(Failed::damaged("the counts of a task")));
            };
            for (position, (one, other)) in (stored.first..).zip(counts.iter().zip(&late)) {
                if one != other {
                    let text = format!(
                        "position {position} has {one} paths by its children and {other} by a \
                         report of its own"
                    );
                    return Ok(Err(Failed::new(Kind::CountsDisagree, &text)));
                }
            }
        }
        Ok(Ok(()))
    }
}

fn begin(stored: &StoredTask) -> Result<Folding, Failed> {
    let first = stored.first.cast_unsigned();
    let task = Task::from_bytes(first, stored.rest, &stored.bytes);
    let task = task.map_err(|error| Failed::damaged(&error.to_string()))?;
    Folding::new(&task).ok_or_else(|| Failed::damaged("a task that has no children"))
}

fn add_page(mut folding: Folding, page: &[StoredTask]) -> Result<Folding, Failed> {
    for stored in page {
        let first = stored.first.cast_unsigned();
        let part = Task::from_bytes(first, stored.rest, &stored.bytes);
        let part = part.map_err(|error| Failed::damaged(&error.to_string()))?;
        let bytes = stored.counts.as_deref().unwrap_or_default();
        let counts = counts::read(bytes, part.len());
        let counts = counts.ok_or_else(|| Failed::damaged("the counts of a task"))?;
        let added = folding.add(&part, &counts);
        added.map_err(|error| failed_fold(&error))?;
    }
    Ok(folding)
}

fn failed_fold(error: &TotalError) -> Failed {
    match error {
        TotalError::TooMany => Failed::new(Kind::TooManyPaths, error),
        error => Failed::damaged(&error.to_string()),
    }
}
