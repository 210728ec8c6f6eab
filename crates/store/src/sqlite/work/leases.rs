//! Tasks are leased, and leases kept.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};

use super::super::writer::Writer;
use super::{LEASED, OPEN};
use crate::limits::{
    EXPANDED_POSITIONS_MAX, LEASES_PER_SESSION_MAX, REPORTS_REFUSED_PER_SESSION_MAX,
};
use crate::work::{JobState, Lease, LeaseRequest, LeasedTask, Leases, Renewal, Renewed};

impl Writer {
    pub(super) fn lease(&self, request: &LeaseRequest) -> rusqlite::Result<Option<Leases>> {
        let session = self.find_session(request.token)?;
        let Some(session) = session.filter(|session| session.is_open) else {
            return Ok(None);
        };
        self.change(
            "UPDATE perft_sessions SET seen_us = ?2, asked_us = ?2, expires_us = ?3 \
             WHERE session_id = ?1",
            [session.id, request.now_us, request.expires_us],
        )?;
        let wanted = self.wanted_leases(session.id)?;
        let (held, mut leased): (Vec<LeasedTask>, Vec<LeasedTask>) = wanted
            .into_iter()
            .partition(|task| request.held.contains(&task.lease));
        let dropped = dropped(&request.held, &held);
        let room = LEASES_PER_SESSION_MAX.saturating_sub(held.len() + leased.len());
        let mut limit = request.limit.saturating_sub(leased.len()).min(room);
        if session.refused < REPORTS_REFUSED_PER_SESSION_MAX {
            let mut passed = HashSet::new();
            while limit > 0 {
                let Some(job) = self.next_job(&passed)? else {
                    break;
                };
                passed.insert(job);
                let new = self.lease_of_job(job, session.id, session.credential, limit)?;
                limit -= new.len();
                leased.extend(new);
            }
        }
        Ok(Some(Leases { leased, dropped }))
    }

    /// The job that is next to get a worker: the one with the fewest tasks leased.
    fn next_job(&self, passed: &HashSet<i64>) -> rusqlite::Result<Option<i64>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT job_id FROM perft_jobs j WHERE state = ?1 AND EXISTS \
             (SELECT 1 FROM perft_copies c WHERE c.job_id = j.job_id AND c.state = 0) ORDER BY \
             (SELECT count(*) FROM perft_copies c WHERE c.job_id = j.job_id AND c.state = 1), \
             job_id",
        )?;
        let mut rows = statement.query([JobState::Running as i64])?;
        while let Some(row) = rows.next()? {
            let job = row.get(0)?;
            if !passed.contains(&job) {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    fn lease_of_job(
        &self,
        job: i64,
        session: i64,
        credential: i64,
        limit: usize,
    ) -> rusqlite::Result<Vec<LeasedTask>> {
        let picked: Vec<(i64, i64)> = self
            .connection
            .prepare_cached(
                "SELECT task, min(copy) FROM perft_copies c WHERE job_id = ?1 AND state = 0 \
                 AND (only_credential_id IS NULL OR only_credential_id = ?2) \
                 AND NOT EXISTS (SELECT 1 FROM perft_copies o WHERE o.job_id = c.job_id \
                 AND o.task = c.task AND o.state IN (1, 2) AND o.credential_id = ?2) \
                 AND (kind = 0 OR NOT EXISTS (SELECT 1 FROM perft_barred b \
                 WHERE b.job_id = c.job_id AND b.task = c.task AND b.credential_id = ?2)) \
                 GROUP BY turn, task ORDER BY turn, task LIMIT ?3",
            )?
            .query_map(params![job, credential, limit as i64], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let mut update = self.connection.prepare_cached(
            "UPDATE perft_copies SET state = ?4, session_id = ?5, credential_id = ?6, \
             attempt = 1 + (SELECT max(o.attempt) FROM perft_copies o \
             WHERE o.job_id = ?1 AND o.task = ?2) \
             WHERE job_id = ?1 AND task = ?2 AND copy = ?3 AND state = ?7 \
             RETURNING attempt, cost",
        )?;
        let mut leased = Vec::new();
        for (task, copy) in picked {
            let values = [job, task, copy, LEASED, session, credential, OPEN];
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            if let Some((attempt, cost)) = update.query_row(values, read).optional()? {
                let lease = Lease { job, task, attempt };
                let can_split = false;
                leased.push(LeasedTask {
                    lease,
                    cost,
                    can_split,
                });
            }
        }
        Ok(leased)
    }

    pub(super) fn renew(&self, renewal: &Renewal) -> rusqlite::Result<Option<Renewed>> {
        let session = self.find_session(renewal.token)?;
        let Some(session) = session.filter(|session| session.is_open) else {
            return Ok(None);
        };
        self.change(
            "UPDATE perft_sessions SET seen_us = ?2, expires_us = ?3, nodes_per_second = ?4, \
             is_stopping = ?5 WHERE session_id = ?1",
            params![
                session.id,
                renewal.now_us,
                renewal.expires_us,
                renewal.nodes_per_second,
                renewal.is_stopping
            ],
        )?;
        let wanted = self.wanted_leases(session.id)?.into_iter();
        let held: Vec<LeasedTask> = wanted
            .filter(|task| renewal.held.contains(&task.lease))
            .collect();
        let dropped = dropped(&renewal.held, &held);
        Ok(Some(Renewed { held, dropped }))
    }

    /// What a session has leased of jobs that run; what it has of others is opened again, where
    /// nobody will lease it.
    fn wanted_leases(&self, session: i64) -> rusqlite::Result<Vec<LeasedTask>> {
        let leases: Vec<(LeasedTask, bool)> = self
            .connection
            .prepare_cached(
                "SELECT c.job_id, c.task, c.attempt, c.cost, coalesce(j.state = ?2, 0), \
                 c.kind = 0 AND NOT EXISTS (SELECT 1 FROM perft_copies o \
                 WHERE o.job_id = c.job_id AND o.task = c.task AND o.copy <> c.copy \
                 AND o.state <> 0) AND NOT (coalesce(j.is_whole, 0) \
                 AND c.positions <= ?4) \
                 FROM perft_copies c LEFT JOIN perft_jobs j USING (job_id) \
                 WHERE c.session_id = ?1 AND c.state = 1 ORDER BY c.job_id, c.task LIMIT ?3",
            )?
            .query_map(
                params![
                    session,
                    JobState::Running as i64,
                    LEASES_PER_SESSION_MAX as i64,
                    EXPANDED_POSITIONS_MAX as i64
                ],
                |row| {
                    let lease = Lease {
                        job: row.get(0)?,
                        task: row.get(1)?,
                        attempt: row.get(2)?,
                    };
                    let task = LeasedTask {
                        lease,
                        cost: row.get(3)?,
                        can_split: row.get(5)?,
                    };
                    Ok((task, row.get(4)?))
                },
            )?
            .collect::<rusqlite::Result<_>>()?;
        let mut wanted = Vec::new();
        for (task, is_wanted) in leases {
            if is_wanted {
                wanted.push(task);
            } else {
                self.take_back(session, task.lease)?;
            }
        }
        Ok(wanted)
    }
}

/// Of what a session says that it holds, what it does not.
fn dropped(said: &[Lease], held: &[LeasedTask]) -> Vec<Lease> {
    let is_held = |lease: &&Lease| !held.iter().any(|task| task.lease == **lease);
    said.iter().filter(is_held).copied().collect()
}
