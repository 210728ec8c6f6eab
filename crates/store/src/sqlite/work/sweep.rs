//! What time brings.

use rusqlite::{OptionalExtension, params};

use super::super::writer::Writer;
use super::{DELETED, LEASED, OPEN, VOID};
use crate::job::SweepTime;
use crate::limits::{SESSIONS_SWEPT_MAX, TASKS_CLEARED_MAX};
use crate::work::{JobState, Swept};

impl Writer {
    pub(super) fn sweep(&self, time: SweepTime) -> rusqlite::Result<Swept> {
        let mut swept = self.end_sessions(time.now_us)?;
        swept.overdue = self.drop_overdue(time.now_us)?;
        self.change(
            "DELETE FROM perft_sessions WHERE session_id IN (SELECT session_id FROM perft_sessions \
             WHERE is_open = 0 AND expires_us < ?1 LIMIT ?2)",
            params![time.forget_before_us, SESSIONS_SWEPT_MAX as i64],
        )?;
        self.change(
            "UPDATE perft_jobs SET state = ?1, name = NULL, request_id = NULL \
             WHERE state IN (?2, ?3, ?4) AND end_us + keep_us <= ?5",
            params![
                DELETED,
                JobState::Succeeded as i64,
                JobState::Failed as i64,
                JobState::Cancelled as i64,
                time.now_us
            ],
        )?;
        swept.more |= self.take_out_unwanted()?;
        Ok(swept)
    }

    /// Ends sessions that ran out.
    fn end_sessions(&self, now_us: i64) -> rusqlite::Result<Swept> {
        let sessions: Vec<i64> = self
            .connection
            .prepare_cached(
                "SELECT session_id FROM perft_sessions WHERE is_open = 1 AND expires_us <= ?1 \
                 ORDER BY expires_us LIMIT ?2",
            )?
            .query_map(params![now_us, SESSIONS_SWEPT_MAX as i64], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let mut swept = Swept {
            sessions: sessions.len(),
            more: sessions.len() == SESSIONS_SWEPT_MAX,
            ..Swept::default()
        };
        for session in sessions {
            for job in self.end_session(session, now_us)? {
                swept.leases += 1;
                self.change(
                    "UPDATE perft_jobs SET leases_expired = leases_expired + 1 WHERE job_id = ?1",
                    [job],
                )?;
            }
        }
        Ok(swept)
    }

    /// Gives up tasks that nobody counted in the time that there was; returns how many.
    fn drop_overdue(&self, now_us: i64) -> rusqlite::Result<usize> {
        let jobs: Vec<i64> = self
            .connection
            .prepare_cached(
                "UPDATE perft_copies SET state = ?2, session_id = NULL, credential_id = NULL \
                 WHERE deadline_us <= ?1 AND state IN (?3, ?4) RETURNING job_id",
            )?
            .query_map([now_us, VOID, OPEN, LEASED], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for &job in &jobs {
            self.note_counted(job)?;
        }
        Ok(jobs.len())
    }

    /// Takes out some tasks of a job that needs them no more; returns whether there may be more.
    fn take_out_unwanted(&self) -> rusqlite::Result<bool> {
        let found: Option<(i64, i64)> = self
            .connection
            .prepare_cached(
                "SELECT job_id, state FROM perft_jobs \
                 WHERE state = ?3 OR (state IN (?1, ?2) AND tasks > 0) LIMIT 1",
            )?
            .query_row(
                [JobState::Failed as i64, JobState::Cancelled as i64, DELETED],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let Some((job, state)) = found else {
            return Ok(false);
        };
        if !self.take_out_tasks(job, TASKS_CLEARED_MAX)? {
            let sql = "DELETE FROM perft_disputes WHERE job_id = ?1";
            self.change(sql, [job])?;
            let sql = if state == DELETED {
                "DELETE FROM perft_jobs WHERE job_id = ?1"
            } else {
                "UPDATE perft_jobs SET tasks = 0, splits = 0 WHERE job_id = ?1"
            };
            self.change(sql, [job])?;
        }
        Ok(true)
    }
}
