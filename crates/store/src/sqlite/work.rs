//! Work that is shared: the tables `perft_…`.
//!
//! Inputs are apart from what changes, so that a lease rewrites some bytes and no blob. Nothing is
//! counted up on a row that many write to. Every change of a copy names the attempt that it saw.

mod facet;
mod jobs;
mod leases;
mod look;
mod plan;
mod reports;
mod sessions;
mod sweep;

use rusqlite::OptionalExtension;

use super::query;
use super::writer::Writer;
use crate::job::WorkJob;

/// States of a copy of a task.
const OPEN: i64 = 0;
const LEASED: i64 = 1;
const DONE: i64 = 2;
const SPLIT: i64 = 3;
const EXPANDED: i64 = 4;

/// The parent of tasks of a plan.
const NO_PARENT: i64 = -1;

/// Verdicts on results: the counts are those of the task, or came too late for that.
const ACCEPTED: i64 = 1;
const LATE: i64 = 2;

/// The state of a job that was deleted, of which only tasks are left.
const DELETED: i64 = 7;

impl Writer {
    /// Does what one job asks for, and sets its answer.
    pub(super) fn work(&mut self, job: &mut WorkJob) -> rusqlite::Result<()> {
        match job {
            WorkJob::Create(it) => it.answer = Some(self.create_job(&it.question)?),
            WorkJob::Cancel(it) => it.answer = Some(Ok(self.cancel_job(&it.question)?)),
            WorkJob::Delete(it) => it.answer = Some(Ok(self.delete_job(&it.question)?)),
            WorkJob::Claim(it) => it.answer = Some(Ok(self.claim_job(it.question)?)),
            WorkJob::Hold(it) => it.answer = Some(Ok(self.hold_job(it.question)?)),
            WorkJob::Clear(it) => it.answer = Some(Ok(self.clear_tasks(it.question)?)),
            WorkJob::Add(it) => it.answer = Some(Ok(self.add_tasks(&it.question)?)),
            WorkJob::EndPlan(it) => it.answer = Some(Ok(self.end_plan(&it.question)?)),
            WorkJob::Fold(it) => it.answer = Some(Ok(self.fold_task(&it.question)?)),
            WorkJob::End(it) => it.answer = Some(Ok(self.end_job(&it.question)?)),
            WorkJob::OpenSession(it) => it.answer = Some(Ok(self.open_session(&it.question)?)),
            WorkJob::Lease(it) => it.answer = Some(Ok(self.lease(&it.question)?)),
            WorkJob::Renew(it) => it.answer = Some(Ok(self.renew(&it.question)?)),
            WorkJob::Report(it) => it.answer = Some(Ok(self.report(&it.question)?)),
            WorkJob::Refuse(it) => it.answer = Some(Ok(self.refuse_report(it.question)?)),
            WorkJob::Dispute(it) => it.answer = Some(Ok(self.dispute(&it.question)?)),
            WorkJob::CloseSession(it) => it.answer = Some(Ok(self.close_session(it.question)?)),
            WorkJob::Sweep(it) => it.answer = Some(Ok(self.sweep(it.question)?)),
        }
        Ok(())
    }

    /// The number of a platform, which is there afterwards.
    fn platform(&self, name: &str) -> rusqlite::Result<i64> {
        if let Some(id) = query::platform_id(&self.connection, name)? {
            return Ok(id);
        }
        let insert = "INSERT INTO platforms (name) VALUES (?1)";
        self.connection.prepare_cached(insert)?.insert([name])
    }

    /// The number of a credential, which is there afterwards.
    fn credential(&self, name: &str) -> rusqlite::Result<i64> {
        let find = "SELECT credential_id FROM perft_credentials WHERE name = ?1";
        let mut find = self.connection.prepare_cached(find)?;
        if let Some(id) = find.query_row([name], |row| row.get(0)).optional()? {
            return Ok(id);
        }
        let insert = "INSERT INTO perft_credentials (name) VALUES (?1)";
        self.connection.prepare_cached(insert)?.insert([name])
    }

    /// Runs a statement, and returns how many rows it has changed.
    fn change(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(values)
    }
}
