//! What is read of jobs, tasks and sessions.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::super::fault::damaged;
use super::{ACCEPTED, DELETED, EXPANDED, LATE, LEASED, NO_PARENT, OPEN};
use crate::limits::{COUNTED_TASKS_MAX, LEASES_PER_SESSION_MAX, PAGE_BYTES};
use crate::work::{
    JobCursor, JobKey, JobPage, JobProgress, JobRow, JobState, Lease, SessionRow, SessionToken,
    StoredTask, Stretch, WorkCensus,
};

/// What is read of a job, in the order of [`read_row`].
const JOB: &str = "SELECT job_id, platforms.name, perft_jobs.name, spec, state, plan, outcome, \
    create_us, start_us, end_us, keep_us, leases_expired, disagreements \
    FROM perft_jobs JOIN platforms USING (platform_id)";

fn read_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let state = row.get(4)?;
    Ok(JobRow {
        id: row.get(0)?,
        key: JobKey {
            platform: row.get(1)?,
            job: row.get(2)?,
        },
        spec: row.get(3)?,
        state: JobState::from_number(state)
            .ok_or_else(|| damaged(format_args!("a job has the state {state}")))?,
        plan: row.get(5)?,
        outcome: row.get(6)?,
        create_us: row.get(7)?,
        start_us: row.get(8)?,
        end_us: row.get(9)?,
        keep_us: row.get(10)?,
        leases_expired: row.get(11)?,
        disagreements: row.get(12)?,
    })
}

/// The number of a job.
pub(super) fn id(connection: &Connection, key: &JobKey) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT job_id FROM perft_jobs JOIN platforms USING (platform_id) \
             WHERE platforms.name = ?1 AND perft_jobs.name = ?2",
        )?
        .query_row([&key.platform, &key.job], |row| row.get(0))
        .optional()
}

/// A job that is there.
pub(super) fn row(connection: &Connection, id: i64) -> rusqlite::Result<JobRow> {
    connection
        .prepare_cached(&format!("{JOB} WHERE job_id = ?1"))?
        .query_row([id], read_row)
}

pub(super) fn job(connection: &Connection, key: &JobKey) -> rusqlite::Result<Option<JobRow>> {
    let id = id(connection, key)?;
    id.map(|id| row(connection, id)).transpose()
}

pub(super) fn job_by_id(connection: &Connection, id: i64) -> rusqlite::Result<Option<JobRow>> {
    connection
        .prepare_cached(&format!("{JOB} WHERE job_id = ?1 AND state < ?2"))?
        .query_row([id, DELETED], read_row)
        .optional()
}

pub(super) fn jobs(
    connection: &Connection,
    platform: &str,
    states: &[JobState],
    after: Option<JobCursor>,
    limit: usize,
) -> rusqlite::Result<JobPage> {
    let after = after.unwrap_or(JobCursor {
        create_us: i64::MAX,
        id: i64::MAX,
    });
    let mut statement = connection.prepare_cached(&format!(
        "{JOB} WHERE platforms.name = ?1 AND state < ?2 AND (create_us, job_id) < (?3, ?4) \
         ORDER BY create_us DESC, job_id DESC"
    ))?;
    let mut rows = statement.query(params![platform, DELETED, after.create_us, after.id])?;
    let mut page = JobPage {
        jobs: Vec::new(),
        next: None,
    };
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let job = read_row(row)?;
        if !states.is_empty() && !states.contains(&job.state) {
            continue;
        }
        if page.jobs.len() == limit || bytes >= PAGE_BYTES {
            page.next = page.jobs.last().map(|last| JobCursor {
                create_us: last.create_us,
                id: last.id,
            });
            break;
        }
        bytes += job.spec.len() + job.plan.len() + job.outcome.len();
        page.jobs.push(job);
    }
    Ok(page)
}

pub(super) fn progress(connection: &Connection, job: i64) -> rusqlite::Result<JobProgress> {
    let tasks = connection
        .prepare_cached("SELECT tasks - splits FROM perft_jobs WHERE job_id = ?1")?
        .query_row([job], |row| row.get(0))
        .optional()?;
    let in_state = |state: i64| -> rusqlite::Result<(i64, f64)> {
        connection
            .prepare_cached(&format!(
                "SELECT count(*), total(cost) FROM perft_copies \
                 WHERE job_id = ?1 AND state = {state}"
            ))?
            .query_row([job], |row| Ok((row.get(0)?, row.get(1)?)))
    };
    let (tasks_open, open) = in_state(OPEN)?;
    let (tasks_leased, leased) = in_state(LEASED)?;
    Ok(JobProgress {
        tasks: tasks.unwrap_or(0),
        tasks_open,
        tasks_leased,
        cost_left: open + leased,
    })
}

pub(super) fn census(connection: &Connection, now_us: i64) -> rusqlite::Result<WorkCensus> {
    let sessions = connection
        .prepare_cached(
            "SELECT count(*) FROM perft_sessions WHERE is_open = 1 AND expires_us > ?1",
        )?
        .query_row([now_us], |row| row.get(0))?;
    let in_state = |state: i64| -> rusqlite::Result<(i64, f64)> {
        // The jobs first: there are few that run, and each finds its tasks in an index.
        connection
            .prepare_cached(&format!(
                "SELECT count(*), total(cost) FROM (SELECT c.cost FROM perft_jobs j \
                 CROSS JOIN perft_copies c ON c.job_id = j.job_id \
                 WHERE j.state = ?1 AND c.state = {state} LIMIT ?2)"
            ))?
            .query_row([JobState::Running as i64, COUNTED_TASKS_MAX], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
    };
    let (open, open_cost) = in_state(OPEN)?;
    let (leased, leased_cost) = in_state(LEASED)?;
    Ok(WorkCensus {
        sessions,
        tasks: open + leased,
        cost_left: open_cost + leased_cost,
    })
}

/// What is read of a task, in the order of [`read_task`].
const TASK: &str = "SELECT i.job_id, i.task, i.first, i.positions, i.rest, i.bytes, r.counts, \
    coalesce(r.probes, 0), i.parent FROM perft_inputs i";

fn read_task(row: &Row<'_>) -> rusqlite::Result<StoredTask> {
    Ok(StoredTask {
        job: row.get(0)?,
        task: row.get(1)?,
        first: row.get(2)?,
        positions: row.get(3)?,
        rest: row.get(4)?,
        bytes: row.get(5)?,
        counts: row.get(6)?,
        probes: row.get(7)?,
        parent: Some(row.get(8)?).filter(|&parent| parent != NO_PARENT),
    })
}

pub(super) fn tasks(
    connection: &Connection,
    leases: &[Lease],
) -> rusqlite::Result<Vec<StoredTask>> {
    let mut statement = connection.prepare_cached(&format!(
        "{TASK} LEFT JOIN perft_results r ON r.job_id = i.job_id AND r.task = i.task \
         AND r.verdict = ?3 WHERE i.job_id = ?1 AND i.task = ?2"
    ))?;
    let mut found = Vec::new();
    for lease in leases.iter().take(LEASES_PER_SESSION_MAX) {
        let task = statement.query_row([lease.job, lease.task, ACCEPTED], read_task);
        found.extend(task.optional()?);
    }
    Ok(found)
}

pub(super) fn counted(
    connection: &Connection,
    stretch: Stretch,
) -> rusqlite::Result<Vec<StoredTask>> {
    let mut statement = connection.prepare_cached(&format!(
        "{TASK} JOIN perft_results r ON r.job_id = i.job_id AND r.task = i.task \
         AND r.verdict = ?5 WHERE i.job_id = ?1 AND i.parent = ?2 AND i.first >= ?3 \
         AND i.first < ?4 ORDER BY i.first"
    ))?;
    let parent = stretch.parent.unwrap_or(NO_PARENT);
    let values = [stretch.job, parent, stretch.first, stretch.end, ACCEPTED];
    let mut rows = statement.query(values)?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let task = read_task(row)?;
        bytes += task.bytes.len() + task.counts.as_ref().map_or(0, Vec::len);
        page.push(task);
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Ok(page)
}

pub(super) fn expanded(connection: &Connection, job: i64) -> rusqlite::Result<Option<StoredTask>> {
    // Children have higher numbers than what they replaced.
    connection
        .prepare_cached(&format!(
            "{TASK} LEFT JOIN perft_results r ON r.job_id = i.job_id AND r.task = i.task \
             AND r.verdict = ?2 WHERE i.job_id = ?1 AND i.task = (SELECT max(task) \
             FROM perft_copies WHERE job_id = ?1 AND state = {EXPANDED})"
        ))?
        .query_row([job, ACCEPTED], read_task)
        .optional()
}

pub(super) fn late_counts(
    connection: &Connection,
    job: i64,
    task: i64,
) -> rusqlite::Result<Vec<Vec<u8>>> {
    connection
        .prepare_cached(
            "SELECT counts FROM perft_results WHERE job_id = ?1 AND task = ?2 AND verdict = ?3 \
             ORDER BY attempt LIMIT ?4",
        )?
        .query_map(
            params![job, task, LATE, LEASES_PER_SESSION_MAX as i64],
            |row| row.get(0),
        )?
        .collect()
}

/// What is read of a session, in the order of [`read_session`].
const SESSION: &str = "SELECT c.name, worker, is_open, is_stopping, seen_us, asked_us, \
    nodes_per_second, tasks_done, refused, session_id \
    FROM perft_sessions s JOIN perft_credentials c USING (credential_id)";

fn read_session(row: &Row<'_>) -> rusqlite::Result<(i64, SessionRow)> {
    let session = SessionRow {
        credential: row.get(0)?,
        worker: row.get(1)?,
        is_open: row.get(2)?,
        is_stopping: row.get(3)?,
        seen_us: row.get(4)?,
        asked_us: row.get(5)?,
        nodes_per_second: row.get(6)?,
        tasks_done: row.get(7)?,
        refused: row.get(8)?,
        tasks: Vec::new(),
        other_tasks: 0,
    };
    Ok((row.get(9)?, session))
}

pub(super) fn session(
    connection: &Connection,
    token: &SessionToken,
) -> rusqlite::Result<Option<SessionRow>> {
    let found = connection
        .prepare_cached(&format!("{SESSION} WHERE token = ?1"))?
        .query_row([token.0], read_session)
        .optional()?;
    Ok(found.map(|(_, session)| session))
}

pub(super) fn sessions(
    connection: &Connection,
    job: i64,
    limit: usize,
) -> rusqlite::Result<Vec<SessionRow>> {
    // Those that work for others only are left out.
    let mut statement = connection.prepare_cached(&format!(
        "{SESSION} WHERE is_open = 1 AND (session_id IN \
         (SELECT session_id FROM perft_copies WHERE job_id = ?1 AND state = 1) OR NOT EXISTS \
         (SELECT 1 FROM perft_copies WHERE session_id = s.session_id AND state = 1)) \
         ORDER BY session_id IN \
         (SELECT session_id FROM perft_copies WHERE job_id = ?1 AND state = 1) DESC, session_id \
         LIMIT ?2"
    ))?;
    let found: Vec<(i64, SessionRow)> = statement
        .query_map(params![job, limit as i64], read_session)?
        .collect::<rusqlite::Result<_>>()?;
    let mut held = connection.prepare_cached(
        "SELECT job_id, task FROM perft_copies WHERE session_id = ?1 AND state = 1 \
         ORDER BY job_id, task LIMIT ?2",
    )?;
    let mut sessions = Vec::new();
    for (id, mut session) in found {
        let limit = LEASES_PER_SESSION_MAX as i64;
        let mut rows = held.query(params![id, limit])?;
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>(0)? == job {
                session.tasks.push(row.get(1)?);
            } else {
                session.other_tasks += 1;
            }
        }
        sessions.push(session);
    }
    Ok(sessions)
}
