//! Jobs as they are shown.

use std::collections::BTreeSet;

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::perft_job::State;
use referee_api::v1::perft_worker::IdleReason;
use referee_api::worker::v1 as w;
use referee_record::Fields;
use referee_record::convert::time::{write_duration, write_us};
use referee_store::limits::REPORTS_REFUSED_PER_SESSION_MAX;
use referee_store::{JobProgress, JobRow, JobState, JobTrust, SessionRow};

use super::jobs::{PerftJobs, seconds};
use super::trust::{self, counts_twice};
use crate::clock::us;
use crate::error::ServiceError;
use crate::limits;

/// What the resource name of a job begins with.
const COLLECTION: &str = "perftJobs/";

/// Returns the resource name of a job.
pub(crate) fn job_name(id: &str) -> String {
    format!("{COLLECTION}{id}")
}

/// Reads the resource name of a job, and returns its id.
///
/// # Errors
///
/// Where it is no such name.
pub(crate) fn read_job_name(field: &str, name: &str) -> Result<String, ServiceError> {
    let mut fields = Fields::default();
    if name.is_empty() {
        fields.refuse(field, "is required");
    }
    fields.length(field, name, limits::PERFT_JOB_NAME_BYTES_MAX);
    let id = name.strip_prefix(COLLECTION).filter(|id| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !id.is_empty() && id.bytes().all(is_letter)
    });
    if id.is_none() {
        let text = "must be the resource name of a job, such as perftJobs/start-9";
        fields.refuse(field, text);
    }
    fields.finish()?;
    Ok(id.unwrap_or_default().to_owned())
}

impl PerftJobs {
    /// Shows a job with how far it is and who works on it.
    pub(crate) async fn view(&self, row: &JobRow) -> Result<v1::PerftJob, ServiceError> {
        let mut job = summary(row)?;
        job.divide = read(&row.outcome)?.divide;
        let mut progress = self.store.progress(row.id).await?;
        let is_trusted = counts_twice(&job);
        let trust = match is_trusted || row.state == JobState::Succeeded {
            true => Some(self.store.trust(row.id).await?),
            false => None,
        };
        let sessions = if row.state.is_over() {
            Vec::new()
        } else {
            let limit = limits::PERFT_WORKERS_SHOWN_MAX;
            self.store.sessions(row.id, limit).await?
        };
        let now_us = self.clock.now_us();
        if job.redundancy > 1 {
            // All copies of a task cost what it costs.
            progress.cost_left /= f64::from(job.redundancy);
        }
        let mut shown = show_progress(row, progress, &sessions, now_us)?;
        if let Some(trust) = &trust {
            job.trust = Some(trust::show(row, &job, shown.positions, trust)?);
            if !row.state.is_over() {
                let needed = needed(&job, trust, &sessions);
                shown.credentials_needed = i32::try_from(needed).unwrap_or(i32::MAX);
            }
        }
        let wants_other = shown.credentials_needed > 0;
        job.progress = Some(shown);
        let is_open = progress.tasks_open > 0;
        let workers = sessions.iter();
        let workers = workers.map(|session| show_worker(session, (is_open, wants_other), now_us));
        job.workers = workers.collect::<Result<_, _>>()?;
        Ok(job)
    }
}

/// How many more credentials a job needs: for what is open, and for what is to come.
fn needed(job: &v1::PerftJob, trust: &JobTrust, sessions: &[SessionRow]) -> i64 {
    let present: BTreeSet<&str> = sessions.iter().map(|it| it.credential.as_str()).collect();
    let wanted = match job.recheck_share > 0.0 {
        true => 2,
        false => i64::from(job.redundancy),
    };
    // What has counted already may be away.
    let known = trust.credentials.iter().filter(|it| it.shut_out.is_empty());
    let known = known.map(|it| it.credential.as_str());
    let all = present.into_iter().chain(known).collect::<BTreeSet<_>>();
    trust.needed.max(wanted - all.len() as i64)
}

fn read(outcome: &[u8]) -> Result<v1::PerftJob, ServiceError> {
    v1::PerftJob::decode(outcome).map_err(|_| ServiceError::damaged("the outcome of a job"))
}

/// Shows a job as a list has it.
pub(crate) fn summary(row: &JobRow) -> Result<v1::PerftJob, ServiceError> {
    let spec = v1::PerftJob::decode(&row.spec[..])
        .map_err(|_| ServiceError::damaged("the description of a job"))?;
    let outcome = read(&row.outcome)?;
    let state = match row.state {
        JobState::Planning => State::Planning,
        JobState::Running | JobState::Counted => State::Running,
        JobState::Succeeded => State::Succeeded,
        JobState::Failed => State::Failed,
        JobState::Cancelled => State::Cancelled,
    };
    Ok(v1::PerftJob {
        name: job_name(&row.key.job),
        state: state.into(),
        failure: outcome.failure,
        nodes: outcome.nodes,
        create_time: Some(write_us(row.create_us)),
        start_time: row.start_us.map(write_us),
        end_time: row.end_us.map(write_us),
        disagreements: i32::try_from(row.disagreements).unwrap_or(i32::MAX),
        ..spec
    })
}

fn show_progress(
    row: &JobRow,
    progress: JobProgress,
    sessions: &[SessionRow],
    now_us: i64,
) -> Result<v1::PerftProgress, ServiceError> {
    let plan = v1::PerftProgress::decode(&row.plan[..])
        .map_err(|_| ServiceError::damaged("the plan of a job"))?;
    let is_done = row.state == JobState::Succeeded;
    let total = plan.thread_seconds;
    let left = progress.cost_left.min(total);
    let share = match row.state {
        JobState::Succeeded | JobState::Counted => 1.0,
        JobState::Planning => 0.0,
        _ if total > 0.0 => 1.0 - left / total,
        _ => 0.0,
    };
    let at_work = sessions.iter().filter(|session| !session.tasks.is_empty());
    let pace: f64 = at_work.map(|session| session.nodes_per_second).sum();
    let remaining = (row.state == JobState::Running)
        .then(|| remaining(row, (share, left), sessions, now_us))
        .flatten();
    let is_planned = row.state != JobState::Planning;
    let tasks = if is_planned { progress.tasks } else { 0 };
    Ok(v1::PerftProgress {
        tasks,
        tasks_done: if is_planned {
            tasks - progress.tasks_open - progress.tasks_leased
        } else {
            0
        },
        tasks_held: progress.tasks_leased,
        share: if is_done { 1.0 } else { share },
        leases_expired: row.leases_expired,
        nodes_per_second: pace,
        remaining: remaining.map(|time| write_duration(seconds(time))),
        ..plan
    })
}

/// How many seconds a job may still take: as it went so far, and before that is known by the
/// threads that work on it.
fn remaining(
    row: &JobRow,
    (share, left): (f64, f64),
    sessions: &[SessionRow],
    now_us: i64,
) -> Option<f64> {
    let elapsed = now_us.saturating_sub(row.start_us?) as f64 / 1e6;
    if share > limits::PERFT_SHARE_TOLD_MIN {
        return Some(elapsed * (1.0 - share) / share);
    }
    let at_work = sessions.iter().filter(|session| !session.tasks.is_empty());
    let threads: u32 = at_work.map(|session| worker_of(session).threads).sum();
    (threads > 0).then(|| left / f64::from(threads))
}

fn worker_of(session: &SessionRow) -> w::OpenSessionRequest {
    w::OpenSessionRequest::decode(&session.worker[..]).unwrap_or_default()
}

fn show_worker(
    session: &SessionRow,
    (is_open, wants_other): (bool, bool),
    now_us: i64,
) -> Result<v1::PerftWorker, ServiceError> {
    let worker = w::OpenSessionRequest::decode(&session.worker[..])
        .map_err(|_| ServiceError::damaged("the description of a worker"))?;
    let has_tasks = !session.tasks.is_empty() || session.other_tasks > 0;
    let asks = now_us.saturating_sub(session.asked_us) <= us(limits::SESSION_TIME);
    let idle_reason = if has_tasks {
        IdleReason::Unspecified
    } else if session.is_stopping {
        IdleReason::Stopping
    } else if session.refused >= REPORTS_REFUSED_PER_SESSION_MAX {
        IdleReason::ReportsRefused
    } else if is_open && !asks {
        IdleReason::NotAsking
    } else if is_open && wants_other {
        IdleReason::OtherCredential
    } else {
        IdleReason::NoOpenTask
    };
    Ok(v1::PerftWorker {
        worker_id: worker.worker_id,
        threads: worker.threads.cast_signed(),
        hash_mib: worker.hash_mib.cast_signed(),
        generator: worker.generator,
        version: worker.version,
        tasks: session.tasks.clone(),
        other_tasks: i32::try_from(session.other_tasks).unwrap_or(i32::MAX),
        nodes_per_second: session.nodes_per_second,
        tasks_done: session.tasks_done,
        seen_time: Some(write_us(session.seen_us)),
        idle_reason: idle_reason.into(),
        credential: session.credential.clone(),
    })
}
