//! Reports are taken, kept to be compared, or refused.

use rusqlite::{OptionalExtension, params};

use super::super::writer::Writer;
use super::sessions::Found;
use super::{ACCEPTED, DONE, EXPANDED, LATE, LEASED, OPEN, SECOND, SPLIT, VOID};
use crate::job::{ReportRefusal, TaskFold};
use crate::work::{Counting, JobState, NewTask, Reported, SplitPart, TaskKind, TaskReport};

/// A copy of a task that a report is about.
struct Copy {
    copy: i64,
    state: i64,
    attempt: i64,
    cost: f64,
    rest: u32,
    parent: i64,
    kind: i64,
    credential: Option<i64>,
    is_of_session: bool,
}

impl Copy {
    /// Whether nothing more is to be counted of it.
    fn is_settled(&self) -> bool {
        !matches!(self.state, OPEN | LEASED | EXPANDED)
    }
}

impl Writer {
    pub(super) fn report(&self, report: &TaskReport) -> rusqlite::Result<Reported> {
        let lease = report.lease;
        let Some(session) = self.find_session(report.token)? else {
            return Ok(Reported::Unwanted);
        };
        let copies = self.find_copies(report)?;
        let copy = copies.iter().find(|copy| copy.attempt == lease.attempt);
        if copies.is_empty() || self.shut_out(session.credential)?.is_some() {
            return Ok(Reported::Unwanted);
        }
        if copy.is_some_and(|copy| copy.state == VOID) {
            return Ok(Reported::Unwanted);
        }
        // The children are known, the task is not yet.
        let is_expanded = copies.iter().any(|copy| copy.state == EXPANDED);
        if is_expanded && matches!(report.counting, Counting::Children { .. }) {
            return Ok(Reported::Known);
        }
        if copy.map_or(copies.iter().all(Copy::is_settled), Copy::is_settled) {
            self.keep_other(report, &session)?;
            return Ok(Reported::Known);
        }
        let is_running = self
            .connection
            .prepare_cached("SELECT 1 FROM perft_jobs WHERE job_id = ?1 AND state = ?2")?
            .exists([lease.job, JobState::Running as i64])?;
        let newest = copies.iter().map(|copy| copy.attempt).max();
        if !is_running || Some(lease.attempt) > newest {
            return Ok(Reported::Unwanted);
        }
        // One that lost its lease is as good as long as nobody else has got it, and its credential
        // has no other copy of the task.
        let has_other = |copy: &Copy| {
            copies.iter().any(|other| {
                other.copy != copy.copy
                    && matches!(other.state, LEASED | DONE)
                    && other.credential == Some(session.credential)
            })
        };
        let current = copy.filter(|copy| {
            copy.state != EXPANDED
                && (copy.is_of_session || (copy.state == OPEN && !has_other(copy)))
        });
        let Some(copy) = current else {
            if let Counting::Whole { counts } = &report.counting {
                self.insert_result(report, &session, LATE, lease.task, counts)?;
            }
            return Ok(Reported::Late);
        };
        self.take(report, &session, copy, &copies)?;
        self.note_counted(lease.job)?;
        let has_late = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM perft_results WHERE job_id = ?1 AND task = ?2 AND verdict = ?3",
            )?
            .exists([lease.job, lease.task, LATE])?;
        Ok(Reported::Accepted { has_late })
    }

    /// Takes what was reported of a copy by the attempt that holds it.
    fn take(
        &self,
        report: &TaskReport,
        session: &Found,
        copy: &Copy,
        copies: &[Copy],
    ) -> rusqlite::Result<()> {
        let lease = report.lease;
        match &report.counting {
            Counting::Whole { counts } => {
                self.settle_copy(report, session, DONE)?;
                let verdict = self.next_verdict(lease.job, lease.task)?;
                self.insert_result(report, session, verdict, lease.task, counts)?;
                self.change(
                    "UPDATE perft_sessions SET tasks_done = tasks_done + 1 WHERE session_id = ?1",
                    [session.id],
                )?;
                Ok(())
            }
            // What others count as a whole, or have counted, stays whole.
            _ if copy.kind != TaskKind::Count as i64
                || copies
                    .iter()
                    .any(|it| it.copy != copy.copy && it.state != OPEN) =>
            {
                self.settle_copy(report, session, OPEN)
            }
            Counting::Split { parts }
                if matches!(&parts[..], [] | [SplitPart { counts: None, .. }]) =>
            {
                self.settle_copy(report, session, OPEN)
            }
            Counting::Split { parts } => {
                self.change(
                    "UPDATE perft_copies SET state = ?3, session_id = NULL, credential_id = NULL \
                     WHERE job_id = ?1 AND task = ?2",
                    [lease.job, lease.task, SPLIT],
                )?;
                let copies = self.copies(lease.job)?;
                self.replace(report, session, (copy, copies), parts)
            }
            // Of what is counted twice it is known who has counted each position.
            Counting::Children { .. } if self.is_whole(lease.job)? => {
                self.settle_copy(report, session, OPEN)
            }
            Counting::Children { rest, parts } => {
                self.settle_copy(report, session, EXPANDED)?;
                let copy = Copy {
                    rest: *rest,
                    parent: lease.task,
                    ..*copy
                };
                self.replace(report, session, (&copy, 1), parts)
            }
        }
    }

    /// The verdict on the next count of a task.
    fn next_verdict(&self, job: i64, task: i64) -> rusqlite::Result<i64> {
        let is_accepted = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM perft_results WHERE job_id = ?1 AND task = ?2 AND verdict = ?3",
            )?
            .exists([job, task, ACCEPTED])?;
        Ok(if is_accepted { SECOND } else { ACCEPTED })
    }

    /// Keeps a count of a task that is counted, where it differs: it is compared before the job
    /// ends. An attempt that has counted otherwise before is kept under its number below 0.
    fn keep_other(&self, report: &TaskReport, session: &Found) -> rusqlite::Result<()> {
        let (Counting::Whole { counts }, lease) = (&report.counting, report.lease) else {
            return Ok(());
        };
        let differs = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM perft_results r JOIN perft_jobs j USING (job_id) \
                 WHERE r.job_id = ?1 AND task = ?2 AND verdict = ?3 AND counts <> ?4 \
                 AND j.state <= ?5",
            )?
            .exists(params![
                lease.job,
                lease.task,
                ACCEPTED,
                counts,
                JobState::Counted as i64
            ])?;
        if !differs {
            return Ok(());
        }
        let is_first = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM perft_results WHERE job_id = ?1 AND task = ?2 AND attempt = ?3",
            )?
            .exists([lease.job, lease.task, lease.attempt])?;
        let mut kept = report.clone();
        if is_first {
            kept.lease.attempt = -lease.attempt;
        }
        self.insert_result(&kept, session, LATE, lease.task, counts)
    }

    fn find_copies(&self, report: &TaskReport) -> rusqlite::Result<Vec<Copy>> {
        let lease = report.lease;
        self.connection
            .prepare_cached(
                "SELECT c.state, c.attempt, c.cost, i.rest, coalesce(s.token = ?3, 0), c.copy, \
                 c.kind, c.credential_id, i.parent FROM perft_copies c JOIN perft_inputs i \
                 USING (job_id, task) LEFT JOIN perft_sessions s USING (session_id) \
                 WHERE c.job_id = ?1 AND c.task = ?2",
            )?
            .query_map(params![lease.job, lease.task, report.token.0], |row| {
                Ok(Copy {
                    state: row.get(0)?,
                    attempt: row.get(1)?,
                    cost: row.get(2)?,
                    rest: row.get(3)?,
                    is_of_session: row.get(4)?,
                    copy: row.get(5)?,
                    kind: row.get(6)?,
                    credential: row.get(7)?,
                    parent: row.get(8)?,
                })
            })?
            .collect()
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
             WHERE job_id = ?1 AND task = ?2 AND attempt = ?3 AND state IN (?6, ?7)",
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
        (copy, copies): (&Copy, i64),
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
            self.insert_task((job, copy.parent), number, &task, copies)?;
            let Some(counts) = &part.counts else { continue };
            self.change(
                "UPDATE perft_copies SET state = ?3, credential_id = ?4, attempt = ?5 \
                 WHERE job_id = ?1 AND task = ?2 AND copy = 0",
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
                 WHERE job_id = ?1 AND task = ?2 AND attempt = ?3 RETURNING refused",
            )?
            .query_row([lease.job, lease.task, lease.attempt], |row| row.get(0))
    }
}
