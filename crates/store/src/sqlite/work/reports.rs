//! Reports are taken, kept to be compared, or refused.

use rusqlite::{OptionalExtension, params};

use super::super::writer::Writer;
use super::sessions::Found;
use super::{ACCEPTED, DONE, EXPANDED, LATE, LEASED, OPEN, SPLIT};
use crate::job::{ReportRefusal, TaskFold};
use crate::work::{Counting, JobState, NewTask, Reported, SplitPart, TaskReport};

/// The copy of a task that a report is about.
struct Copy {
    state: i64,
    attempt: i64,
    cost: f64,
    rest: u32,
    parent: i64,
    is_of_session: bool,
}

impl Writer {
    pub(super) fn report(&self, report: &TaskReport) -> rusqlite::Result<Reported> {
        let lease = report.lease;
        let (Some(session), Some(copy)) =
            (self.find_session(report.token)?, self.find_copy(report)?)
        else {
            return Ok(Reported::Unwanted);
        };
        let is_known = match copy.state {
            DONE | SPLIT => true,
            // The children are known, the task is not yet.
            EXPANDED => matches!(report.counting, Counting::Children { .. }),
            _ => false,
        };
        if is_known {
            return Ok(Reported::Known);
        }
        let is_running = self
            .connection
            .prepare_cached("SELECT 1 FROM perft_jobs WHERE job_id = ?1 AND state = ?2")?
            .exists([lease.job, JobState::Running as i64])?;
        if !is_running || lease.attempt > copy.attempt {
            return Ok(Reported::Unwanted);
        }
        // One that lost its lease is as good as long as nobody else has got it.
        let is_current = lease.attempt == copy.attempt
            && copy.state != EXPANDED
            && (copy.is_of_session || copy.state == OPEN);
        if !is_current {
            if let Counting::Whole { counts } = &report.counting {
                self.insert_result(report, &session, LATE, lease.task, counts)?;
            }
            return Ok(Reported::Late);
        }
        match &report.counting {
            Counting::Whole { counts } => {
                self.settle_copy(report, &session, DONE)?;
                self.insert_result(report, &session, ACCEPTED, lease.task, counts)?;
                self.change(
                    "UPDATE perft_sessions SET tasks_done = tasks_done + 1 WHERE session_id = ?1",
                    [session.id],
                )?;
            }
            Counting::Split { parts }
                if matches!(&parts[..], [] | [SplitPart { counts: None, .. }]) =>
            {
                self.settle_copy(report, &session, OPEN)?;
            }
            Counting::Split { parts } => {
                self.settle_copy(report, &session, SPLIT)?;
                self.replace(report, &session, &copy, parts)?;
            }
            Counting::Children { rest, parts } => {
                self.settle_copy(report, &session, EXPANDED)?;
                let copy = Copy {
                    rest: *rest,
                    parent: lease.task,
                    ..copy
                };
                self.replace(report, &session, &copy, parts)?;
            }
        }
        self.note_counted(lease.job)?;
        let has_late = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM perft_results WHERE job_id = ?1 AND task = ?2 AND verdict = ?3",
            )?
            .exists([lease.job, lease.task, LATE])?;
        Ok(Reported::Accepted { has_late })
    }

    fn find_copy(&self, report: &TaskReport) -> rusqlite::Result<Option<Copy>> {
        let lease = report.lease;
        self.connection
            .prepare_cached(
                "SELECT c.state, c.attempt, c.cost, i.rest, i.parent, \
                 coalesce(s.token = ?3, 0) \
                 FROM perft_copies c JOIN perft_inputs i USING (job_id, task) \
                 LEFT JOIN perft_sessions s USING (session_id) \
                 WHERE c.job_id = ?1 AND c.task = ?2 AND c.copy = 0",
            )?
            .query_row(params![lease.job, lease.task, report.token.0], |row| {
                Ok(Copy {
                    state: row.get(0)?,
                    attempt: row.get(1)?,
                    cost: row.get(2)?,
                    rest: row.get(3)?,
                    parent: row.get(4)?,
                    is_of_session: row.get(5)?,
                })
            })
            .optional()
    }

    /// Brings the copy of a task to a state by the attempt that is reported.
    fn settle_copy(
        &self,
        report: &TaskReport,
        session: &Found,
        state: i64,
    ) -> rusqlite::Result<()> {
        let lease = report.lease;
        let credential = (state == DONE).then_some(session.credential);
        self.change(
            "UPDATE perft_copies SET state = ?4, session_id = NULL, credential_id = ?5 \
             WHERE job_id = ?1 AND task = ?2 AND copy = 0 AND attempt = ?3 AND state IN (?6, ?7)",
            params![
                lease.job,
                lease.task,
                lease.attempt,
                state,
                credential,
                OPEN,
                LEASED
            ],
        )?;
        Ok(())
    }

    /// Keeps counts. What an attempt has reported first stands.
    fn insert_result(
        &self,
        report: &TaskReport,
        session: &Found,
        verdict: i64,
        task: i64,
        counts: &[u8],
    ) -> rusqlite::Result<()> {
        self.change(
            "INSERT INTO perft_results (job_id, task, attempt, credential_id, session_id, verdict, \
             probes, thread_us, received_us, counts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
             ?10) ON CONFLICT DO NOTHING",
            params![
                report.lease.job,
                task,
                report.lease.attempt,
                session.credential,
                session.id,
                verdict,
                report.probes,
                report.thread_us,
                report.now_us,
                counts,
            ],
        )?;
        Ok(())
    }

    /// Replaces a task by parts, of which some are counted and the others open: by its own ones, or
    /// by those of its children, whose copy and task are given as `copy` then.
    fn replace(
        &self,
        report: &TaskReport,
        session: &Found,
        copy: &Copy,
        parts: &[SplitPart],
    ) -> rusqlite::Result<()> {
        let job = report.lease.job;
        self.change(
            "UPDATE perft_jobs SET splits = splits + 1 WHERE job_id = ?1",
            [job],
        )?;
        let first = self.number_tasks(job, parts.len())?;
        for (number, part) in (first..).zip(parts) {
            let task = NewTask {
                first: part.first,
                positions: part.positions,
                rest: copy.rest,
                cost: copy.cost * part.cost_per_mille as f64 / 1_000.0,
                is_urgent: true,
                bytes: part.bytes.clone(),
            };
            self.insert_task((job, copy.parent), number, &task)?;
            let Some(counts) = &part.counts else { continue };
            self.change(
                "UPDATE perft_copies SET state = ?3, credential_id = ?4, attempt = ?5 \
                 WHERE job_id = ?1 AND task = ?2",
                [job, number, DONE, session.credential, report.lease.attempt],
            )?;
            self.insert_result(report, session, ACCEPTED, number, counts)?;
        }
        Ok(())
    }

    pub(super) fn fold_task(&self, folded: &TaskFold) -> rusqlite::Result<bool> {
        let TaskFold { claim, fold } = folded;
        if !self.is_claimed(*claim, JobState::Counted)? {
            return Ok(false);
        }
        // A number of its own, since the attempt that was replaced may have a late result.
        let attempt: Option<i64> = self
            .connection
            .prepare_cached(
                "UPDATE perft_copies SET state = ?3, attempt = attempt + 1 \
                 WHERE job_id = ?1 AND task = ?2 AND copy = 0 AND state = ?4 RETURNING attempt",
            )?
            .query_row([claim.job, fold.task, DONE, EXPANDED], |row| row.get(0))
            .optional()?;
        let Some(attempt) = attempt else {
            return Ok(true);
        };
        // Nobody who reports has an empty name, and no session the number 0.
        let credential = self.credential("")?;
        self.change(
            "INSERT INTO perft_results (job_id, task, attempt, credential_id, session_id, verdict, \
             probes, thread_us, received_us, counts) VALUES (?1, ?2, ?3, ?4, 0, ?5, 0, 0, ?6, ?7)",
            params![
                claim.job,
                fold.task,
                attempt,
                credential,
                ACCEPTED,
                fold.now_us,
                fold.counts
            ],
        )?;
        Ok(true)
    }

    pub(super) fn refuse_report(&self, refusal: ReportRefusal) -> rusqlite::Result<i64> {
        let ReportRefusal { token, lease } = refusal;
        let Some(session) = self.find_session(token)? else {
            return Ok(0);
        };
        if !self.take_back(session.id, lease)? {
            return Ok(0);
        }
        self.change(
            "UPDATE perft_sessions SET refused = refused + 1 WHERE session_id = ?1",
            [session.id],
        )?;
        self.connection
            .prepare_cached(
                "UPDATE perft_copies SET refused = refused + 1 \
                 WHERE job_id = ?1 AND task = ?2 AND copy = 0 RETURNING refused",
            )?
            .query_row([lease.job, lease.task], |row| row.get(0))
    }
}
