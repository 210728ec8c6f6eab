//! Steps of checking a job that is counted.

use rusqlite::params;

use super::super::writer::Writer;
use super::{ACCEPTED, DONE, EXPANDED, LATE, OBSOLETE, OPEN, REJECTED, SECOND, VOID};
use crate::job::JobCheck;
use crate::work::{Check, ComparedResult, JobState, NewCheck, TaskKind};

impl Writer {
    pub(super) fn check_job(&self, step: &JobCheck) -> rusqlite::Result<bool> {
        let JobCheck { claim, check } = step;
        if !self.is_claimed(*claim, JobState::Counted)? {
            return Ok(false);
        }
        let job = claim.job;
        match check {
            Check::Draw { tasks, checks } => {
                for &task in tasks {
                    self.change(
                        "UPDATE perft_results SET settled = 1 \
                         WHERE job_id = ?1 AND task = ?2 AND verdict = ?3",
                        [job, task, ACCEPTED],
                    )?;
                }
                self.insert_checks(job, checks)?;
            }
            Check::Compared { results } => {
                for result in results {
                    self.note_compared(job, result)?;
                }
            }
            Check::Dispute {
                number,
                bytes,
                checks,
                is_settled,
            } => {
                self.put_dispute(job, *number, bytes, *is_settled)?;
                self.insert_checks(job, checks)?;
            }
            Check::ShutOut {
                out,
                dispute,
                now_us,
            } => {
                if let Some((number, bytes)) = dispute {
                    self.put_dispute(job, *number, bytes, true)?;
                }
                for (credential, reason) in out {
                    self.shut_credential_out(job, credential, reason, *now_us)?;
                }
                self.resume(job)?;
            }
            Check::Resume => self.resume(job)?,
        }
        Ok(true)
    }

    fn note_compared(&self, job: i64, result: &ComparedResult) -> rusqlite::Result<()> {
        self.change(
            "UPDATE perft_results SET settled = ?4, agreed = ?5 \
             WHERE job_id = ?1 AND task = ?2 AND attempt = ?3",
            [
                job,
                result.task,
                result.attempt,
                if result.agrees { 1 } else { 2 },
                result.agreed,
            ],
        )?;
        Ok(())
    }

    fn put_dispute(
        &self,
        job: i64,
        number: i64,
        bytes: &[u8],
        is_settled: bool,
    ) -> rusqlite::Result<()> {
        self.change(
            "INSERT INTO perft_disputes (job_id, dispute, is_settled, bytes) \
             VALUES (?1, ?2, ?3, ?4) ON CONFLICT (job_id, dispute) \
             DO UPDATE SET is_settled = excluded.is_settled, bytes = excluded.bytes",
            params![job, number, is_settled, bytes],
        )?;
        Ok(())
    }

    fn insert_checks(&self, job: i64, checks: &[NewCheck]) -> rusqlite::Result<()> {
        let first = self.number_tasks(job, checks.len())?;
        for (number, check) in (first..).zip(checks) {
            let only = check.only.as_deref();
            let only = only.map(|name| self.credential(name)).transpose()?;
            self.change(
                "INSERT INTO perft_inputs (job_id, task, first, positions, rest, bytes, kind, \
                 note) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    job,
                    number,
                    check.first,
                    check.positions,
                    check.rest,
                    check.bytes,
                    check.kind as i64,
                    check.note
                ],
            )?;
            // A dispute keeps a whole job waiting.
            let turn = match check.kind {
                TaskKind::Dispute => -1,
                TaskKind::Count | TaskKind::Recheck => 0,
            };
            self.change(
                "INSERT INTO perft_copies (job_id, task, copy, state, turn, cost, kind, \
                 positions, only_credential_id, deadline_us) \
                 VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    job,
                    number,
                    OPEN,
                    turn,
                    check.cost,
                    check.kind as i64,
                    check.positions,
                    only,
                    check.deadline_us
                ],
            )?;
            for name in &check.barred {
                self.change(
                    "INSERT OR IGNORE INTO perft_barred (job_id, task, credential_id) \
                     VALUES (?1, ?2, ?3)",
                    [job, number, self.credential(name)?],
                )?;
            }
        }
        Ok(())
    }

    /// Lets a job that is counted run again, where anything of it is open.
    fn resume(&self, job: i64) -> rusqlite::Result<()> {
        self.change(
            "UPDATE perft_jobs SET state = ?2, fence = fence + 1, held_until_us = 0 \
             WHERE job_id = ?1 AND state = ?3 AND EXISTS \
             (SELECT 1 FROM perft_copies c WHERE c.job_id = ?1 AND c.state = 0)",
            [job, JobState::Running as i64, JobState::Counted as i64],
        )?;
        Ok(())
    }

    /// Shuts a credential out: see [`Check::ShutOut`].
    fn shut_credential_out(
        &self,
        job: i64,
        name: &str,
        reason: &str,
        now_us: i64,
    ) -> rusqlite::Result<()> {
        let credential = self.credential(name)?;
        self.change(
            "INSERT OR IGNORE INTO perft_shut_out (credential_id, job_id, reason, time_us) \
             VALUES (?1, ?2, ?3, ?4)",
            params![credential, job, reason, now_us],
        )?;
        let sessions: Vec<i64> = self
            .connection
            .prepare_cached(
                "SELECT session_id FROM perft_sessions WHERE is_open = 1 AND credential_id = ?1",
            )?
            .query_map([credential], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for session in sessions {
            self.end_session(session, now_us)?;
        }
        let jobs: Vec<(i64, i64)> = self
            .connection
            .prepare_cached("SELECT job_id, state FROM perft_jobs WHERE state IN (?1, ?2, ?3)")?
            .query_map(
                [
                    JobState::Running as i64,
                    JobState::Counted as i64,
                    JobState::Succeeded as i64,
                ],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?
            .collect::<rusqlite::Result<_>>()?;
        for (job, state) in jobs {
            if state == JobState::Succeeded as i64 {
                self.doubt(job, credential)?;
            } else {
                self.void(job, credential)?;
                self.resume(job)?;
            }
        }
        Ok(())
    }

    /// A job that is over rests on counts of somebody who was shut out.
    fn doubt(&self, job: i64, credential: i64) -> rusqlite::Result<()> {
        self.change(
            "UPDATE perft_jobs SET disagreements = disagreements + 1 \
             WHERE job_id = ?1 AND EXISTS (SELECT 1 FROM perft_copies c \
             WHERE c.job_id = ?1 AND c.credential_id = ?2 AND c.kind = 0 AND c.state = 2)",
            [job, credential],
        )?;
        Ok(())
    }

    /// Opens again what a credential has counted of a job, and gives up what its counts were
    /// compared with.
    fn void(&self, job: i64, credential: i64) -> rusqlite::Result<()> {
        let barred = "SELECT task FROM perft_barred WHERE job_id = ?1 AND credential_id = ?2";
        self.change(
            &format!(
                "UPDATE perft_results SET verdict = ?3 WHERE job_id = ?1 AND verdict = ?4 \
                 AND task IN ({barred})"
            ),
            [job, credential, OBSOLETE, ACCEPTED],
        )?;
        self.change(
            &format!(
                "UPDATE perft_copies SET state = ?3, session_id = NULL, credential_id = NULL \
                 WHERE job_id = ?1 AND kind > 0 AND task IN ({barred})"
            ),
            [job, credential, VOID],
        )?;
        self.change(
            "UPDATE perft_copies SET state = ?3, session_id = NULL, credential_id = NULL \
             WHERE job_id = ?1 AND kind = ?4 AND only_credential_id = ?2",
            [job, credential, VOID, TaskKind::Dispute as i64],
        )?;
        // What was compared with these counts is compared with those that come.
        self.change(
            "UPDATE perft_results SET settled = 0, agreed = 0 \
             WHERE job_id = ?1 AND verdict IN (?3, ?4) AND EXISTS (SELECT 1 FROM perft_results v \
             WHERE v.job_id = ?1 AND v.task = perft_results.task AND v.credential_id = ?2 \
             AND v.verdict = ?5)",
            [job, credential, SECOND, LATE, ACCEPTED],
        )?;
        // What children came to is found again when all of them have counts again.
        self.change(
            "UPDATE perft_copies SET state = ?2 WHERE job_id = ?1 AND state = ?3 AND task IN \
             (SELECT task FROM perft_results WHERE job_id = ?1 AND session_id = 0)",
            [job, EXPANDED, DONE],
        )?;
        let folded = "DELETE FROM perft_results WHERE job_id = ?1 AND session_id = 0";
        self.change(folded, [job])?;
        self.change(
            "UPDATE perft_results SET verdict = ?3 \
             WHERE job_id = ?1 AND credential_id = ?2 AND verdict IN (?4, ?5, ?6)",
            [job, credential, REJECTED, ACCEPTED, LATE, SECOND],
        )?;
        self.change(
            "UPDATE perft_copies SET state = ?3, turn = 0, session_id = NULL, \
             credential_id = NULL WHERE job_id = ?1 AND credential_id = ?2 AND state = ?4",
            [job, credential, OPEN, DONE],
        )?;
        Ok(())
    }
}
