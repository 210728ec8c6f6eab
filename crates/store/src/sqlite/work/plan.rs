//! The tasks of a job that is planned.

use rusqlite::params;

use super::super::writer::Writer;
use super::{NO_PARENT, OPEN};
use crate::job::{PlanEnding, TaskAddition};
use crate::limits::TASKS_CLEARED_MAX;
use crate::work::{Claim, JobState, NewTask};

impl Writer {
    pub(super) fn clear_tasks(&self, claim: Claim) -> rusqlite::Result<Option<bool>> {
        if !self.is_claimed(claim, JobState::Planning)? {
            return Ok(None);
        }
        let more = self.take_out_tasks(claim.job, TASKS_CLEARED_MAX)?;
        if !more {
            let sql = "UPDATE perft_jobs SET tasks = 0, splits = 0 WHERE job_id = ?1";
            self.change(sql, [claim.job])?;
        }
        Ok(Some(more))
    }

    /// Takes out some tasks of a job with all that belongs to them; returns whether there are more.
    pub(super) fn take_out_tasks(&self, job: i64, limit: usize) -> rusqlite::Result<bool> {
        // Numbers have no gaps, so that a range of them is about as many rows.
        let first: Option<i64> = self
            .connection
            .prepare_cached("SELECT min(task) FROM perft_inputs WHERE job_id = ?1")?
            .query_row([job], |row| row.get(0))?;
        let Some(first) = first else { return Ok(false) };
        let end = first.saturating_add(limit as i64);
        for table in ["perft_inputs", "perft_copies", "perft_results"] {
            let sql = format!("DELETE FROM {table} WHERE job_id = ?1 AND task < ?2");
            self.change(&sql, [job, end])?;
        }
        let mut left = self
            .connection
            .prepare_cached("SELECT 1 FROM perft_inputs WHERE job_id = ?1")?;
        left.exists([job])
    }

    pub(super) fn add_tasks(&self, addition: &TaskAddition) -> rusqlite::Result<bool> {
        let TaskAddition { claim, tasks } = addition;
        if !self.is_claimed(*claim, JobState::Planning)? {
            return Ok(false);
        }
        let first = self.number_tasks(claim.job, tasks.len())?;
        for (number, task) in (first..).zip(tasks) {
            self.insert_task((claim.job, NO_PARENT), number, task)?;
        }
        Ok(true)
    }

    /// Takes numbers for so many tasks, and returns the first of them.
    pub(super) fn number_tasks(&self, job: i64, count: usize) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached(
                "UPDATE perft_jobs SET tasks = tasks + ?2 WHERE job_id = ?1 RETURNING tasks - ?2",
            )?
            .query_row([job, count as i64], |row| row.get(0))
    }

    /// Inserts a task of a job, and of a parent in it, with one copy that is open.
    pub(super) fn insert_task(
        &self,
        (job, parent): (i64, i64),
        number: i64,
        task: &NewTask,
    ) -> rusqlite::Result<()> {
        self.change(
            "INSERT INTO perft_inputs (job_id, task, parent, first, positions, rest, bytes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                job,
                number,
                parent,
                task.first,
                task.positions,
                task.rest,
                task.bytes
            ],
        )?;
        self.change(
            "INSERT INTO perft_copies (job_id, task, copy, state, turn, cost) \
             VALUES (?1, ?2, 0, ?3, ?4, ?5)",
            params![job, number, OPEN, i64::from(!task.is_urgent), task.cost],
        )?;
        Ok(())
    }

    pub(super) fn end_plan(&self, ending: &PlanEnding) -> rusqlite::Result<bool> {
        let PlanEnding { claim, planned } = ending;
        let ended = self.change(
            "UPDATE perft_jobs SET state = ?3, plan = ?4, start_us = ?5, fence = fence + 1 \
             WHERE job_id = ?1 AND fence = ?2 AND state = ?6",
            params![
                claim.job,
                claim.fence,
                JobState::Running as i64,
                planned.plan,
                planned.now_us,
                JobState::Planning as i64,
            ],
        )?;
        if ended > 0 {
            // A tree in which every path ends before has no tasks at all.
            self.note_counted(claim.job)?;
        }
        Ok(ended > 0)
    }
}
