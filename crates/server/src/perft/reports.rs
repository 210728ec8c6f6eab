//! What workers report: checked, taken once, and else compared.

use referee_api::v1::perft_failure::Kind;
use referee_api::worker::v1 as w;
use referee_api::worker::v1::Verdict;
use referee_perft::Task;
use referee_store::{
    Counting, Dispute, Lease, Reported, SessionToken, SplitPart, StoredTask, TaskReport,
};

use super::counts;
use super::failed::Failed;
use super::jobs::PerftJobs;
use crate::error::ServiceError;
use crate::limits;

/// A stretch of counts: the place of the first in the task, and the counts.
type Stretch = (usize, Vec<u128>);

/// Why a report cannot be right, or nothing where it can.
type Checked = Result<(Task, Vec<Stretch>), String>;

impl PerftJobs {
    /// Takes one result of a session, whose counter is named for the metrics.
    pub(crate) async fn take_result(
        &self,
        token: SessionToken,
        generator: &'static str,
        result: w::TaskResult,
    ) -> Result<w::ReportedTask, ServiceError> {
        let sent = result.lease.unwrap_or_default();
        let told = |verdict: Verdict, text: String| w::ReportedTask {
            lease: Some(sent),
            verdict: verdict.into(),
            text,
        };
        let lease = read_lease(&sent);
        let stored = self.store.tasks(&[lease]).await?;
        let Some(stored) = stored.into_iter().next() else {
            return Ok(told(Verdict::Unwanted, GONE.to_owned()));
        };
        let probes = i64::try_from(result.probes).unwrap_or(i64::MAX);
        let thread_us = result.thread_time.and_then(|time| {
            let seconds = time.seconds.checked_mul(1_000_000)?;
            seconds.checked_add(i64::from(time.nanos) / 1_000)
        });
        let parts = result.parts;
        let (checked, stored) = self
            .pool
            .run(move || (check(&stored, &parts), stored))
            .await?;
        let (task, stretches) = match checked {
            Ok(checked) => checked,
            Err(text) => {
                self.refuse(token, lease, &text).await?;
                return Ok(told(Verdict::Refused, text));
            }
        };
        let (counting, stretches) = self
            .pool
            .run(move || (build_counting(&task, &stretches), stretches))
            .await?;
        let is_split = matches!(counting, Counting::Split { .. });
        let report = TaskReport {
            token,
            lease,
            counting,
            probes,
            thread_us: thread_us.unwrap_or(0).max(0),
            now_us: self.clock.now_us(),
        };
        let reported = self.store.report(report).await?;
        if let Some(text) = self.compare(reported, &stored, &stretches).await? {
            let outcome = Failed::new(Kind::CountsDisagree, &text).outcome();
            self.dispute(lease.job, true, outcome, &text).await?;
            return Ok(told(Verdict::Disagrees, text));
        }
        if is_split {
            self.note_opened();
        }
        Ok(match reported {
            Reported::Accepted { .. } => {
                self.metrics.count_perft_nodes(generator, nodes(&stretches));
                // The last one of a job lets it be added up.
                self.due.notify_one();
                told(Verdict::Accepted, String::new())
            }
            Reported::Known => told(Verdict::Compared, String::new()),
            Reported::Late => told(Verdict::Compared, LATE.to_owned()),
            Reported::Unwanted => told(Verdict::Unwanted, GONE.to_owned()),
        })
    }

    /// Compares a report with what is known of the same task; says where they differ.
    async fn compare(
        &self,
        reported: Reported,
        stored: &StoredTask,
        stretches: &[Stretch],
    ) -> Result<Option<String>, ServiceError> {
        match reported {
            Reported::Accepted { has_late: true } => self.compare_late(stored, stretches).await,
            Reported::Known => self.compare_known(stored, stretches).await,
            Reported::Accepted { has_late: false } | Reported::Late | Reported::Unwanted => {
                Ok(None)
            }
        }
    }
    /// Notes a report that cannot be right; a task that gets too many of them ends its job.
    async fn refuse(
        &self,
        token: SessionToken,
        lease: Lease,
        text: &str,
    ) -> Result<(), ServiceError> {
        let refused = self.store.refuse_report(token, lease).await?;
        let (job, task) = (lease.job, lease.task);
        tracing::warn!(job, task, refused, why = text, "a report cannot be right");
        if refused >= limits::REPORTS_REFUSED_MAX {
            let text = format!("task {task} got {refused} reports that cannot be right: {text}");
            let outcome = Failed::new(Kind::ReportsRefused, &text).outcome();
            self.dispute(job, false, outcome, &text).await?;
        }
        self.note_opened();
        Ok(())
    }

    async fn dispute(
        &self,
        job: i64,
        disagrees: bool,
        outcome: Vec<u8>,
        text: &str,
    ) -> Result<(), ServiceError> {
        tracing::error!(job, why = text, "a job cannot go on");
        let dispute = Dispute {
            job,
            disagrees,
            outcome,
            now_us: self.clock.now_us(),
        };
        Ok(self.store.dispute(dispute).await?)
    }

    /// Compares a report with what was accepted of the same positions; says where they differ.
    async fn compare_known(
        &self,
        stored: &StoredTask,
        stretches: &[Stretch],
    ) -> Result<Option<String>, ServiceError> {
        let (first, end) = (stored.first, stored.first + stored.positions);
        let known = self.store.counted(stored.job, first, end).await?;
        for task in known {
            let bytes = task.counts.as_deref().unwrap_or_default();
            let length = usize::try_from(task.positions).unwrap_or(0);
            let accepted = counts::read(bytes, length)
                .ok_or_else(|| ServiceError::damaged("the counts of a task"))?;
            let begin = usize::try_from(task.first - first).unwrap_or(0);
            if let Some(text) = differ(stored, (begin, &accepted), stretches) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// Compares an accepted report with those of earlier leases.
    async fn compare_late(
        &self,
        stored: &StoredTask,
        stretches: &[Stretch],
    ) -> Result<Option<String>, ServiceError> {
        let length = usize::try_from(stored.positions).unwrap_or(0);
        for bytes in self.store.late_counts(stored.job, stored.task).await? {
            let late = counts::read(&bytes, length)
                .ok_or_else(|| ServiceError::damaged("the counts of a task"))?;
            if let Some(text) = differ(stored, (0, &late), stretches) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

/// What is said of a task that is not wanted.
const GONE: &str = "the job is over or deleted, or there is no such task";

/// What is said of a count that came too late.
const LATE: &str =
    "the task was leased to another worker since; the counts are kept to be compared";

/// Reads a lease.
pub(crate) fn read_lease(lease: &w::Lease) -> Lease {
    Lease {
        job: i64::try_from(lease.job).unwrap_or(-1),
        task: lease.task.into(),
        attempt: lease.attempt.into(),
    }
}

/// Checks that counts can be right.
fn check(stored: &StoredTask, parts: &[w::CountedPart]) -> Checked {
    let first = stored.first.cast_unsigned();
    let task = Task::from_bytes(first, stored.rest, &stored.bytes);
    let task = task.map_err(|error| error.to_string())?;
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut free = 0;
    for part in parts {
        let begin = part.first as usize;
        let (low, high) = (&part.counts, &part.counts_high);
        if !high.is_empty() && high.len() != low.len() {
            return Err(format!(
                "{} low halves of counts and {} high ones were reported",
                low.len(),
                high.len()
            ));
        }
        if begin < free || begin.saturating_add(low.len()) > task.len() || low.is_empty() {
            return Err(format!(
                "the task has {} positions, and {} counts were reported from position {begin} on",
                task.len(),
                low.len()
            ));
        }
        let high = high.iter().copied().chain(std::iter::repeat(0));
        let counts: Vec<u128> = low
            .iter()
            .zip(high)
            .map(|(&low, high)| u128::from(high) << 64 | u128::from(low))
            .collect();
        free = begin + counts.len();
        let checked = task.part(begin..free).check(&counts);
        checked.map_err(|error| error.to_string())?;
        match stretches.last_mut() {
            Some((from, before)) if *from + before.len() == begin => before.extend(counts),
            _ => stretches.push((begin, counts)),
        }
    }
    // A task in many pieces would become as many tasks.
    while stretches.len() > limits::SPLIT_PARTS_MAX {
        let shortest = stretches
            .iter()
            .enumerate()
            .min_by_key(|(_, it)| it.1.len());
        let Some((index, _)) = shortest else { break };
        stretches.remove(index);
    }
    Ok((task, stretches))
}

/// The paths of all positions that were counted, each once.
fn nodes(stretches: &[Stretch]) -> f64 {
    let counts = stretches.iter().flat_map(|(_, counts)| counts);
    counts.map(|&count| count as f64).sum()
}

/// What is stored of counts: of a whole task, or of parts that it is replaced by.
fn build_counting(task: &Task, stretches: &[Stretch]) -> Counting {
    if let [(0, counts)] = stretches
        && counts.len() == task.len()
    {
        return Counting::Whole {
            counts: counts::write(counts),
        };
    }
    let mut parts = Vec::new();
    let mut add = |range: std::ops::Range<usize>, counts: Option<&[u128]>| {
        if range.is_empty() {
            return;
        }
        let part = task.part(range);
        let share = part.cost() as f64 / (task.cost() as f64).max(1.0);
        parts.push(SplitPart {
            first: part.first().cast_signed(),
            positions: part.len() as i64,
            cost_per_mille: (share * 1_000.0) as i64,
            bytes: part.to_bytes(),
            counts: counts.map(counts::write),
        });
    };
    let mut at = 0;
    for (begin, counts) in stretches {
        add(at..*begin, None);
        at = begin + counts.len();
        add(*begin..at, Some(counts));
    }
    add(at..task.len(), None);
    Counting::Split { parts }
}

/// Says where counts of the same positions differ.
fn differ(
    stored: &StoredTask,
    (begin, accepted): (usize, &[u128]),
    stretches: &[Stretch],
) -> Option<String> {
    for (from, counts) in stretches {
        for (place, &count) in (*from..).zip(counts) {
            let known = place.checked_sub(begin).and_then(|at| accepted.get(at));
            if let Some(&known) = known.filter(|&&known| known != count) {
                let position = stored.first + place as i64;
                return Some(format!(
                    "position {position} has {count} paths by this report and {known} by another"
                ));
            }
        }
    }
    None
}
