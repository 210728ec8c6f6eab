//! What workers report: checked, taken once, and else compared.

use referee_api::v1::perft_failure::Kind;
use referee_api::worker::v1 as w;
use referee_api::worker::v1::Verdict;
use referee_perft::Task;
use referee_perft::limits::EXPANDED_POSITIONS_MAX;
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

/// What a report has counts of.
struct Subject {
    task: Task,
    /// The task whose children they are; `None` where they are of the plan.
    parent: Option<i64>,
    /// Whether a task is replaced by it.
    is_children: bool,
}

/// What a report has counts of, and the counts; or why it cannot be right.
type Checked = Result<(Subject, Vec<Stretch>), String>;

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
        let (parts, is_children) = (result.parts, result.children);
        let checked = self.pool.run(move || {
            let (subject, stretches) = check(&stored, &parts, is_children)?;
            let counting = build_counting(&subject, &stretches, lease.attempt);
            Ok::<_, String>((subject, stretches, counting))
        });
        let (subject, stretches, counting) = match checked.await? {
            Ok(checked) => checked,
            Err(text) => {
                self.refuse(token, lease, &text).await?;
                return Ok(told(Verdict::Refused, text));
            }
        };
        let is_split = !matches!(counting, Counting::Whole { .. });
        let report = TaskReport {
            token,
            lease,
            counting,
            probes,
            thread_us: thread_us.unwrap_or(0).max(0),
            now_us: self.clock.now_us(),
        };
        let reported = self.store.report(report).await?;
        if let Some(text) = self.compare(reported, lease, &subject, &stretches).await? {
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
        lease: Lease,
        subject: &Subject,
        stretches: &[Stretch],
    ) -> Result<Option<String>, ServiceError> {
        match reported {
            // What is late of a task is compared with its children when these are folded.
            Reported::Accepted { has_late: true } if !subject.is_children => {
                self.compare_late(lease, subject, stretches).await
            }
            Reported::Accepted { .. } => Ok(None),
            Reported::Known => self.compare_known(lease.job, subject, stretches).await,
            Reported::Late | Reported::Unwanted => Ok(None),
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
        job: i64,
        subject: &Subject,
        stretches: &[Stretch],
    ) -> Result<Option<String>, ServiceError> {
        let first = subject.task.first().cast_signed();
        let known = self.store.counted(referee_store::Stretch {
            job,
            parent: subject.parent,
            first,
            end: first + subject.task.len() as i64,
        });
        for task in known.await? {
            let bytes = task.counts.as_deref().unwrap_or_default();
            let length = usize::try_from(task.positions).unwrap_or(0);
            let accepted = counts::read(bytes, length)
                .ok_or_else(|| ServiceError::damaged("the counts of a task"))?;
            let begin = usize::try_from(task.first - first).unwrap_or(0);
            if let Some(text) = differ(first, (begin, &accepted), stretches) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// Compares an accepted report with those of earlier leases.
    async fn compare_late(
        &self,
        lease: Lease,
        subject: &Subject,
        stretches: &[Stretch],
    ) -> Result<Option<String>, ServiceError> {
        let first = subject.task.first().cast_signed();
        for bytes in self.store.late_counts(lease.job, lease.task).await? {
            let late = counts::read(&bytes, subject.task.len())
                .ok_or_else(|| ServiceError::damaged("the counts of a task"))?;
            if let Some(text) = differ(first, (0, &late), stretches) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

/// What is said of a task that is not wanted.
const GONE: &str = "the job is over or deleted, or there is no such task";

/// What is said of a count that came too late.
const LATE: &str = "the task was leased to another worker since, or replaced by tasks of its \
                    children; whole counts are kept to be compared";

/// Reads a lease.
pub(crate) fn read_lease(lease: &w::Lease) -> Lease {
    Lease {
        job: i64::try_from(lease.job).unwrap_or(-1),
        task: lease.task.into(),
        attempt: lease.attempt.into(),
    }
}

/// Reads what a report has counts of.
fn read_subject(stored: &StoredTask, is_children: bool) -> Result<Subject, String> {
    let first = stored.first.cast_unsigned();
    let task = Task::from_bytes(first, stored.rest, &stored.bytes);
    let task = task.map_err(|error| error.to_string())?;
    if !is_children {
        return Ok(Subject {
            task,
            parent: stored.parent,
            is_children,
        });
    }
    let most = EXPANDED_POSITIONS_MAX;
    if task.len() > most {
        let positions = task.len();
        return Err(format!(
            "counts of children were reported, and the task has {positions} positions, above {most}"
        ));
    }
    let children = task.children();
    let task = children.ok_or("counts of children were reported, and the task has no ply left")?;
    Ok(Subject {
        task,
        parent: Some(stored.task),
        is_children,
    })
}

/// Checks that counts can be right.
fn check(stored: &StoredTask, parts: &[w::CountedPart], is_children: bool) -> Checked {
    let subject = read_subject(stored, is_children)?;
    let task = &subject.task;
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
    Ok((subject, stretches))
}

/// The paths of all positions that were counted, each once.
fn nodes(stretches: &[Stretch]) -> f64 {
    let counts = stretches.iter().flat_map(|(_, counts)| counts);
    counts.map(|&count| count as f64).sum()
}

/// What is stored of counts: of a whole task, or of parts that it is replaced by.
fn build_counting(subject: &Subject, stretches: &[Stretch], attempt: i64) -> Counting {
    let task = &subject.task;
    if let [(0, counts)] = stretches
        && counts.len() == task.len()
        && !subject.is_children
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
    if stretches.is_empty() && !subject.is_children && attempt >= limits::WHOLE_ATTEMPTS_MAX {
        // Nobody may have the time for all of it.
        at = task.len() / 2;
        add(0..at, None);
    }
    for (begin, counts) in stretches {
        add(at..*begin, None);
        at = begin + counts.len();
        add(*begin..at, Some(counts));
    }
    add(at..task.len(), None);
    if subject.is_children {
        let rest = task.rest();
        return Counting::Children { rest, parts };
    }
    Counting::Split { parts }
}

/// Says where counts of the same positions differ.
fn differ(
    first: i64,
    (begin, accepted): (usize, &[u128]),
    stretches: &[Stretch],
) -> Option<String> {
    for (from, counts) in stretches {
        for (place, &count) in (*from..).zip(counts) {
            let known = place.checked_sub(begin).and_then(|at| accepted.get(at));
            if let Some(&known) = known.filter(|&&known| known != count) {
                let position = first + place as i64;
                return Some(format!(
                    "position {position} has {count} paths by this report and {known} by another"
                ));
            }
        }
    }
    None
}
