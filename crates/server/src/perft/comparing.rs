//! Counts of the same positions by different credentials are compared, position by position.

use std::collections::BTreeMap;

use referee_chess::PositionKey;
use referee_perft::Task;
use referee_store::{Check, ClaimedJob, ComparedResult, Stretch, TaskKind, Uncompared};

use super::checking::Unchecked;
use super::counts;
use super::failed::Failed;
use super::jobs::PerftJobs;

/// What is accepted of positions, and whose it is.
type Accepted = BTreeMap<u64, (u128, String)>;

/// A position of which two counts differ.
#[derive(Debug)]
pub(super) struct Difference {
    /// Its number in the plan.
    pub(super) position: u64,
    pub(super) key: PositionKey,
    pub(super) rest: u32,
    /// Who has counted it, and what: first what is accepted.
    pub(super) sides: [(String, u128); 2],
}

impl PerftJobs {
    /// Compares all that is to be compared of a job, up to the first difference.
    pub(super) async fn compare_all(
        &self,
        claimed: &ClaimedJob,
    ) -> Result<Option<Difference>, Unchecked> {
        let job = claimed.claim.job;
        let mut after = (-1, i64::MIN);
        loop {
            let page = self.store.uncompared(job, after).await?;
            let Some(last) = page.last() else {
                return Ok(None);
            };
            after = (last.task.task, last.attempt);
            let (mut results, mut found) = (Vec::new(), None);
            for result in page {
                let accepted = match result.task.kind {
                    TaskKind::Recheck => self.read_accepted(&result).await?,
                    TaskKind::Count | TaskKind::Dispute => accepted_of(&result)?,
                };
                let compared = move || compare(&result, &accepted);
                let (compared, difference) = self.pool.run(compared).await??;
                results.push(compared);
                found = difference;
                if found.is_some() {
                    break;
                }
            }
            let check = Check::Compared { results };
            self.store.check_job(claimed.claim, check).await?;
            if found.is_some() || !self.hold(claimed).await? {
                return Ok(found);
            }
        }
    }

    /// Reads what is accepted of positions that were counted again.
    async fn read_accepted(&self, result: &Uncompared) -> Result<Accepted, Unchecked> {
        let numbers = read_numbers(&result.task.note)?;
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else {
            return Ok(Accepted::new());
        };
        let end = last.cast_signed() + 1;
        let mut accepted = Accepted::new();
        // The task in which the first one lies begins before it.
        let before = limits_before(first);
        let mut from = before.cast_signed();
        loop {
            let page = self.store.counted(Stretch {
                job: result.task.job,
                parent: None,
                first: from,
                end,
            });
            let page = page.await?;
            let Some(last) = page.last() else { break };
            from = last.first + 1;
            for task in page {
                let length = usize::try_from(task.positions).unwrap_or(0);
                let bytes = task.counts.as_deref().unwrap_or_default();
                let counts = counts::read(bytes, length);
                let counts = counts.ok_or_else(|| Failed::damaged("the counts of a task"))?;
                let begin = task.first.cast_unsigned();
                let inside = begin..begin + task.positions.cast_unsigned();
                for &number in numbers.iter().filter(|number| inside.contains(number)) {
                    let count = counts[(number - begin) as usize];
                    accepted.insert(number, (count, task.credential.clone()));
                }
            }
        }
        Ok(accepted)
    }
}

/// The lowest number that the first position of a task can have that another one belongs to.
fn limits_before(number: u64) -> u64 {
    number.saturating_sub(crate::limits::TASK_POSITIONS_MAX as u64 - 1)
}

/// What is accepted of the same task.
fn accepted_of(result: &Uncompared) -> Result<Accepted, Failed> {
    let task = &result.task;
    let length = usize::try_from(task.positions).unwrap_or(0);
    let bytes = task.counts.as_deref().unwrap_or_default();
    let counts = counts::read(bytes, length);
    let counts = counts.ok_or_else(|| Failed::damaged("the counts of a task"))?;
    let numbers = task.first.cast_unsigned()..;
    let counts = counts
        .into_iter()
        .map(|count| (count, task.credential.clone()));
    Ok(numbers.zip(counts).collect())
}

/// Compares the counts of a result with what is accepted of the same positions.
fn compare(
    result: &Uncompared,
    accepted: &Accepted,
) -> Result<(ComparedResult, Option<Difference>), Failed> {
    let stored = &result.task;
    let task = Task::from_bytes(stored.first.cast_unsigned(), stored.rest, &stored.bytes);
    let task = task.map_err(|error| Failed::damaged(&error.to_string()))?;
    let counts = counts::read(&result.counts, task.len());
    let counts = counts.ok_or_else(|| Failed::damaged("the counts of a task"))?;
    let numbers = match stored.kind {
        TaskKind::Recheck => read_numbers(&stored.note)?,
        TaskKind::Count | TaskKind::Dispute => {
            (task.first()..).take(task.len()).collect::<Vec<u64>>()
        }
    };
    if numbers.len() != task.len() {
        return Err(Failed::damaged("the numbers of positions"));
    }
    let (mut agreed, mut difference) = (0, None);
    for ((number, &key), count) in numbers.into_iter().zip(task.keys()).zip(counts) {
        let Some((known, credential)) = accepted.get(&number) else {
            return Err(Failed::damaged("a position that was counted again"));
        };
        if *known == count {
            agreed += 1;
        } else if difference.is_none() {
            difference = Some(Difference {
                position: number,
                key,
                rest: task.rest(),
                sides: [
                    (credential.clone(), *known),
                    (result.credential.clone(), count),
                ],
            });
        }
    }
    let compared = ComparedResult {
        task: stored.task,
        attempt: result.attempt,
        agreed,
        agrees: difference.is_none(),
    };
    Ok((compared, difference))
}

/// Writes the numbers of positions, which rise.
pub(super) fn write_numbers(numbers: &[u64]) -> Vec<u8> {
    let steps = numbers.iter().scan(0u64, |before, &number| {
        let step = number - *before;
        *before = number;
        Some(u128::from(step))
    });
    counts::write(&steps.collect::<Vec<_>>())
}

/// Reads the numbers of positions back.
fn read_numbers(bytes: &[u8]) -> Result<Vec<u64>, Failed> {
    let damaged = || Failed::damaged("the numbers of positions");
    let length = bytes.iter().filter(|&&byte| byte & 0x80 == 0).count();
    let steps = counts::read(bytes, length).ok_or_else(damaged)?;
    let mut number = 0u64;
    let mut numbers = Vec::with_capacity(length);
    for step in steps {
        let step = u64::try_from(step).map_err(|_| damaged())?;
        number = number.checked_add(step).ok_or_else(damaged)?;
        numbers.push(number);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were_written() {
        for numbers in [vec![], vec![0], vec![0, 1, 127, 128, 5_000_000, u64::MAX]] {
            assert_eq!(read_numbers(&write_numbers(&numbers)).ok(), Some(numbers));
        }
        assert!(read_numbers(&[0x80]).is_err());
        let beyond = counts::write(&[u128::from(u64::MAX), 1]);
        assert!(read_numbers(&beyond).is_err());
    }
}
