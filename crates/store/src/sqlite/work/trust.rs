//! What is read of counts that are compared, and of their worth.

use rusqlite::{Connection, params};

use super::look::{TASK, read_page, read_task};
use super::{ACCEPTED, LATE, OBSOLETE, SECOND};
use crate::limits::{NEEDS_LOOKED_AT_MAX, PAGE_BYTES};
use crate::work::{CredentialTrust, JobTrust, StoredTask, TaskKind, Uncompared};

pub(super) fn undrawn(
    connection: &Connection,
    job: i64,
    first: i64,
) -> rusqlite::Result<Vec<StoredTask>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {TASK} FROM perft_inputs i JOIN perft_results r ON r.job_id = i.job_id \
         AND r.task = i.task AND r.verdict = ?3 WHERE i.job_id = ?1 AND i.first >= ?2 \
         AND i.kind = 0 AND r.settled = 0 AND r.settled <> 1 ORDER BY i.first"
    ))?;
    read_page(statement.query([job, first, ACCEPTED])?)
}

pub(super) fn uncompared(
    connection: &Connection,
    job: i64,
    (task, attempt): (i64, i64),
) -> rusqlite::Result<Vec<Uncompared>> {
    // What counts again is accepted as what it is; any other is compared with what was accepted.
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {TASK}, u.counts, c.name, u.attempt FROM perft_results u \
         JOIN perft_inputs i ON i.job_id = u.job_id AND i.task = u.task \
         JOIN perft_credentials c ON c.credential_id = u.credential_id \
         JOIN perft_results r ON r.job_id = u.job_id AND r.task = u.task AND r.verdict = ?4 \
         WHERE u.job_id = ?1 AND u.settled <> 1 AND (u.task, u.attempt) > (?2, ?3) \
         AND ((i.kind = ?5 AND u.verdict = ?4) OR (i.kind = 0 AND u.verdict IN (?6, ?7))) \
         ORDER BY u.task, u.attempt"
    ))?;
    let mut rows = statement.query([
        job,
        task,
        attempt,
        ACCEPTED,
        TaskKind::Recheck as i64,
        SECOND,
        LATE,
    ])?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let found = Uncompared {
            task: read_task(row)?,
            counts: row.get(13)?,
            credential: row.get(14)?,
            attempt: row.get(15)?,
        };
        bytes += found.task.bytes.len() + 2 * found.counts.len();
        page.push(found);
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Ok(page)
}

pub(super) fn dispute_tasks(
    connection: &Connection,
    job: i64,
) -> rusqlite::Result<Vec<StoredTask>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {TASK} FROM perft_inputs i LEFT JOIN perft_results r ON r.job_id = i.job_id \
         AND r.task = i.task AND r.verdict = ?2 WHERE i.job_id = ?1 AND i.kind = ?3 \
         ORDER BY i.task DESC"
    ))?;
    read_page(statement.query([job, ACCEPTED, TaskKind::Dispute as i64])?)
}

pub(super) fn trust(connection: &Connection, job: i64) -> rusqlite::Result<JobTrust> {
    let disputes = connection
        .prepare_cached(
            "SELECT bytes, is_settled FROM perft_disputes WHERE job_id = ?1 ORDER BY dispute",
        )?
        .query_map([job], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let (probes, undrawn) = connection
        .prepare_cached(
            "SELECT (SELECT total(probes) FROM perft_results WHERE job_id = ?1 AND verdict = ?2), \
             (SELECT coalesce(sum(i.positions), 0) FROM perft_results r JOIN perft_inputs i \
             USING (job_id, task) WHERE r.job_id = ?1 AND r.verdict = ?2 AND r.settled = 0 \
             AND r.settled <> 1 AND i.kind = 0)",
        )?
        .query_row([job, ACCEPTED], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rechecked = connection
        .prepare_cached(
            "SELECT coalesce(sum(i.positions), 0) FROM perft_inputs i JOIN perft_results r \
             USING (job_id, task) WHERE i.job_id = ?1 AND i.kind = ?2 AND r.verdict = ?3 \
             AND r.settled = 1",
        )?
        .query_row([job, TaskKind::Recheck as i64, ACCEPTED], |row| row.get(0))?;
    Ok(JobTrust {
        credentials: credentials(connection, job)?,
        probes,
        undrawn,
        rechecked,
        needed: needed(connection, job)?,
        disputes,
    })
}

/// What is known of each credential that has to do with a job.
fn credentials(connection: &Connection, job: i64) -> rusqlite::Result<Vec<CredentialTrust>> {
    connection
        .prepare_cached(
            "WITH checked AS (SELECT b.credential_id AS id, sum(i.positions) AS rechecked, \
             sum(r.agreed) AS agreed FROM perft_barred b \
             JOIN perft_inputs i USING (job_id, task) JOIN perft_results r USING (job_id, task) \
             WHERE b.job_id = ?1 AND i.kind = ?2 AND r.verdict IN (?3, ?4) AND r.settled > 0 \
             GROUP BY b.credential_id), \
             done AS (SELECT credential_id AS id, sum(positions) AS positions FROM perft_copies \
             WHERE job_id = ?1 AND state = 2 AND kind = 0 GROUP BY credential_id), \
             known AS (SELECT id FROM checked UNION SELECT id FROM done \
             UNION SELECT credential_id FROM perft_shut_out WHERE job_id = ?1) \
             SELECT c.name, coalesce(d.positions, 0), coalesce(k.rechecked, 0), \
             coalesce(k.agreed, 0), coalesce(s.reason, '') FROM known n \
             JOIN perft_credentials c ON c.credential_id = n.id \
             LEFT JOIN done d ON d.id = n.id LEFT JOIN checked k ON k.id = n.id \
             LEFT JOIN perft_shut_out s ON s.credential_id = n.id ORDER BY c.name",
        )?
        .query_map(
            params![job, TaskKind::Recheck as i64, ACCEPTED, OBSOLETE],
            |row| {
                Ok(CredentialTrust {
                    credential: row.get(0)?,
                    positions: row.get(1)?,
                    rechecked: row.get(2)?,
                    agreed: row.get(3)?,
                    shut_out: row.get(4)?,
                })
            },
        )?
        .collect()
}

/// How many credentials more than those with open sessions are needed for what is open: of each
/// task as many as there are copies open, none of which has to do with it.
fn needed(connection: &Connection, job: i64) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "WITH present AS MATERIALIZED (SELECT DISTINCT credential_id AS id FROM perft_sessions \
             WHERE is_open = 1 AND credential_id NOT IN \
             (SELECT credential_id FROM perft_shut_out)), \
             wanted AS MATERIALIZED (SELECT task, count(*) AS copies FROM (SELECT task FROM \
             perft_copies WHERE job_id = ?1 AND state = 0 AND only_credential_id IS NULL \
             ORDER BY turn, task LIMIT ?2) GROUP BY task) \
             SELECT coalesce(max(copies - (SELECT count(*) FROM present p WHERE NOT EXISTS \
             (SELECT 1 FROM perft_copies o WHERE o.job_id = ?1 AND o.task = w.task \
             AND o.state IN (1, 2) AND o.credential_id = p.id) AND NOT EXISTS \
             (SELECT 1 FROM perft_barred b WHERE b.job_id = ?1 AND b.task = w.task \
             AND b.credential_id = p.id))), 0) FROM wanted w",
        )?
        .query_row(params![job, NEEDS_LOOKED_AT_MAX as i64], |row| {
            Ok(row.get::<_, i64>(0)?.max(0))
        })
}
