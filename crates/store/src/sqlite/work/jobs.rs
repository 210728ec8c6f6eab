//! Jobs are created, cancelled, deleted, claimed and ended.

use rusqlite::{OptionalExtension, params};

use super::super::writer::Writer;
use super::DELETED;
use super::look;
use crate::job::{HoldClaim, JobClaim, JobEnding};
use crate::work::{
    Claim, ClaimedJob, Dispute, JobError, JobKey, JobRow, JobState, NewJob, Unfinished,
};

impl Writer {
    pub(super) fn create_job(&self, job: &NewJob) -> rusqlite::Result<Result<JobRow, JobError>> {
        let platform = self.platform(&job.key.platform)?;
        let repeated = self
            .connection
            .prepare_cached(
                "SELECT job_id, content_hash FROM perft_jobs \
                 WHERE platform_id = ?1 AND request_id = ?2",
            )?
            .query_row(params![platform, job.request_id], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?))
            })
            .optional()?;
        if let Some((id, hash)) = repeated {
            if hash != job.content_hash {
                return Ok(Err(JobError::RequestIdReused));
            }
            return Ok(Ok(look::row(&self.connection, id)?));
        }
        let is_taken = self
            .connection
            .prepare_cached("SELECT 1 FROM perft_jobs WHERE platform_id = ?1 AND name = ?2")?
            .exists(params![platform, job.key.job])?;
        if is_taken {
            return Ok(Err(JobError::NameTaken));
        }
        let count = |last: JobState| -> rusqlite::Result<i64> {
            self.connection
                .prepare_cached(
                    "SELECT count(*) FROM perft_jobs WHERE platform_id = ?1 AND state <= ?2",
                )?
                .query_row(params![platform, last as i64], |row| row.get(0))
        };
        if count(JobState::Counted)? >= job.under_way_max as i64 {
            let limit = job.under_way_max;
            return Ok(Err(JobError::TooManyUnderWay { limit }));
        }
        if count(JobState::Cancelled)? >= job.jobs_max as i64 {
            let limit = job.jobs_max;
            return Ok(Err(JobError::TooMany { limit }));
        }
        let id = self
            .connection
            .prepare_cached(
                "INSERT INTO perft_jobs (platform_id, name, request_id, content_hash, spec, state, \
                 create_us, keep_us, copies, is_whole) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .insert(params![
                platform,
                job.key.job,
                job.request_id,
                job.content_hash,
                job.spec,
                JobState::Planning as i64,
                job.create_us,
                job.keep_us,
                job.copies,
                job.is_whole,
            ])?;
        Ok(Ok(look::row(&self.connection, id)?))
    }

    pub(super) fn cancel_job(
        &self,
        (key, now_us): &(JobKey, i64),
    ) -> rusqlite::Result<Option<JobRow>> {
        let Some(id) = look::id(&self.connection, key)? else {
            return Ok(None);
        };
        self.change(
            "UPDATE perft_jobs SET state = ?2, end_us = ?3, fence = fence + 1 \
             WHERE job_id = ?1 AND state <= ?4",
            params![
                id,
                JobState::Cancelled as i64,
                now_us,
                JobState::Counted as i64
            ],
        )?;
        look::row(&self.connection, id).map(Some)
    }

    pub(super) fn delete_job(&self, key: &JobKey) -> rusqlite::Result<Result<(), Unfinished>> {
        let Some(id) = look::id(&self.connection, key)? else {
            return Ok(Ok(()));
        };
        let deleted = self.change(
            "UPDATE perft_jobs SET state = ?2, name = NULL, request_id = NULL \
             WHERE job_id = ?1 AND state > ?3",
            params![id, DELETED, JobState::Counted as i64],
        )?;
        Ok(if deleted == 0 {
            Err(Unfinished)
        } else {
            Ok(())
        })
    }

    pub(super) fn claim_job(&self, claim: JobClaim) -> rusqlite::Result<Option<ClaimedJob>> {
        let found: Option<i64> = self
            .connection
            .prepare_cached(
                "SELECT job_id FROM perft_jobs \
                 WHERE state IN (?1, ?2) AND held_until_us <= ?3 ORDER BY job_id LIMIT 1",
            )?
            .query_row(
                params![
                    JobState::Planning as i64,
                    JobState::Counted as i64,
                    claim.now_us
                ],
                |row| row.get(0),
            )
            .optional()?;
        let Some(job) = found else { return Ok(None) };
        let until_us = claim.now_us.saturating_add(claim.hold_us);
        let fence = self
            .connection
            .prepare_cached(
                "UPDATE perft_jobs SET fence = fence + 1, held_until_us = ?2 WHERE job_id = ?1 \
                 RETURNING fence",
            )?
            .query_row([job, until_us], |row| row.get(0))?;
        let row = look::row(&self.connection, job)?;
        let claim = Claim { job, fence };
        Ok(Some(ClaimedJob { claim, row }))
    }

    pub(super) fn hold_job(&self, hold: HoldClaim) -> rusqlite::Result<bool> {
        let HoldClaim { claim, until_us } = hold;
        let held = self.change(
            "UPDATE perft_jobs SET held_until_us = ?3 WHERE job_id = ?1 AND fence = ?2",
            [claim.job, claim.fence, until_us],
        )?;
        Ok(held > 0)
    }

    /// Whether a job is claimed as one says, and in a state.
    pub(super) fn is_claimed(&self, claim: Claim, state: JobState) -> rusqlite::Result<bool> {
        self.connection
            .prepare_cached(
                "SELECT 1 FROM perft_jobs WHERE job_id = ?1 AND fence = ?2 AND state = ?3",
            )?
            .exists([claim.job, claim.fence, state as i64])
    }

    pub(super) fn end_job(&self, ending: &JobEnding) -> rusqlite::Result<bool> {
        let JobEnding { claim, end } = ending;
        let ended = self.change(
            "UPDATE perft_jobs SET state = ?3, outcome = ?4, end_us = ?5 \
             WHERE job_id = ?1 AND fence = ?2 AND state IN (?6, ?7)",
            params![
                claim.job,
                claim.fence,
                end.state as i64,
                end.outcome,
                end.now_us,
                JobState::Planning as i64,
                JobState::Counted as i64,
            ],
        )?;
        Ok(ended > 0)
    }

    pub(super) fn dispute(&self, dispute: &Dispute) -> rusqlite::Result<()> {
        self.change(
            "UPDATE perft_jobs SET disagreements = disagreements + ?2 WHERE job_id = ?1",
            [dispute.job, i64::from(dispute.disagrees)],
        )?;
        self.change(
            "UPDATE perft_jobs SET state = ?2, outcome = ?3, end_us = ?4, fence = fence + 1 \
             WHERE job_id = ?1 AND state <= ?5",
            params![
                dispute.job,
                JobState::Failed as i64,
                dispute.outcome,
                dispute.now_us,
                JobState::Counted as i64
            ],
        )?;
        Ok(())
    }

    /// Marks a job as counted where nothing of it is open or leased.
    pub(super) fn note_counted(&self, job: i64) -> rusqlite::Result<()> {
        let mut is_left = self.connection.prepare_cached(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM perft_copies WHERE job_id = ?1 AND state = 0) \
             OR EXISTS (SELECT 1 FROM perft_copies WHERE job_id = ?1 AND state = 1)",
        )?;
        if !is_left.exists([job])? {
            self.change(
                "UPDATE perft_jobs SET state = ?2, held_until_us = 0 \
                 WHERE job_id = ?1 AND state = ?3",
                [job, JobState::Counted as i64, JobState::Running as i64],
            )?;
        }
        Ok(())
    }
}
