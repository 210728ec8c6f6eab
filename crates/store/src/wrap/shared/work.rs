//! The facet of shared work of a store behind an `Arc`.

use std::sync::Arc;

use crate::ack::{Ack, Read};
use crate::error::Fault;
use crate::store::Store;
use crate::work::{
    Claim, ClaimedJob, Dispute, Fold, JobCursor, JobEnd, JobError, JobKey, JobPage, JobProgress,
    JobRow, JobState, Lease, LeaseRequest, Leases, NewJob, NewSession, NewTask, PlannedJob,
    Renewal, Renewed, Reported, SessionRow, SessionToken, StoredTask, Stretch, Swept, TaskReport,
    Unfinished, Work, WorkCensus,
};

impl<S: Store + ?Sized> Work for Arc<S> {
    fn create_job(&self, job: NewJob) -> Ack<JobRow, JobError> {
        (**self).create_job(job)
    }

    fn cancel_job(&self, key: JobKey, now_us: i64) -> Ack<Option<JobRow>, Fault> {
        (**self).cancel_job(key, now_us)
    }

    fn delete_job(&self, key: JobKey) -> Ack<Result<(), Unfinished>, Fault> {
        (**self).delete_job(key)
    }

    fn claim_job(&self, now_us: i64, hold_us: i64) -> Ack<Option<ClaimedJob>, Fault> {
        (**self).claim_job(now_us, hold_us)
    }

    fn hold_job(&self, claim: Claim, until_us: i64) -> Ack<bool, Fault> {
        (**self).hold_job(claim, until_us)
    }

    fn clear_tasks(&self, claim: Claim) -> Ack<Option<bool>, Fault> {
        (**self).clear_tasks(claim)
    }

    fn add_tasks(&self, claim: Claim, tasks: Vec<NewTask>) -> Ack<bool, Fault> {
        (**self).add_tasks(claim, tasks)
    }

    fn end_plan(&self, claim: Claim, planned: PlannedJob) -> Ack<bool, Fault> {
        (**self).end_plan(claim, planned)
    }

    fn fold_task(&self, claim: Claim, fold: Fold) -> Ack<bool, Fault> {
        (**self).fold_task(claim, fold)
    }

    fn end_job(&self, claim: Claim, end: JobEnd) -> Ack<bool, Fault> {
        (**self).end_job(claim, end)
    }

    fn open_session(&self, session: NewSession) -> Ack<bool, Fault> {
        (**self).open_session(session)
    }

    fn lease(&self, request: LeaseRequest) -> Ack<Option<Leases>, Fault> {
        (**self).lease(request)
    }

    fn renew(&self, renewal: Renewal) -> Ack<Option<Renewed>, Fault> {
        (**self).renew(renewal)
    }

    fn report(&self, report: TaskReport) -> Ack<Reported, Fault> {
        (**self).report(report)
    }

    fn refuse_report(&self, token: SessionToken, lease: Lease) -> Ack<i64, Fault> {
        (**self).refuse_report(token, lease)
    }

    fn dispute(&self, dispute: Dispute) -> Ack<(), Fault> {
        (**self).dispute(dispute)
    }

    fn close_session(&self, token: SessionToken, now_us: i64) -> Ack<bool, Fault> {
        (**self).close_session(token, now_us)
    }

    fn sweep(&self, now_us: i64, forget_before_us: i64) -> Ack<Swept, Fault> {
        (**self).sweep(now_us, forget_before_us)
    }

    fn job<'a>(&'a self, key: &'a JobKey) -> Read<'a, Option<JobRow>> {
        (**self).job(key)
    }

    fn job_by_id(&self, job: i64) -> Read<'_, Option<JobRow>> {
        (**self).job_by_id(job)
    }

    fn jobs<'a>(
        &'a self,
        platform: &'a str,
        states: &'a [JobState],
        after: Option<JobCursor>,
        limit: usize,
    ) -> Read<'a, JobPage> {
        (**self).jobs(platform, states, after, limit)
    }

    fn progress(&self, job: i64) -> Read<'_, JobProgress> {
        (**self).progress(job)
    }

    fn tasks<'a>(&'a self, leases: &'a [Lease]) -> Read<'a, Vec<StoredTask>> {
        (**self).tasks(leases)
    }

    fn counted(&self, stretch: Stretch) -> Read<'_, Vec<StoredTask>> {
        (**self).counted(stretch)
    }

    fn expanded(&self, job: i64) -> Read<'_, Option<StoredTask>> {
        (**self).expanded(job)
    }

    fn late_counts(&self, job: i64, task: i64) -> Read<'_, Vec<Vec<u8>>> {
        (**self).late_counts(job, task)
    }

    fn session<'a>(&'a self, token: &'a SessionToken) -> Read<'a, Option<SessionRow>> {
        (**self).session(token)
    }

    fn sessions(&self, job: i64, limit: usize) -> Read<'_, Vec<SessionRow>> {
        (**self).sessions(job, limit)
    }

    fn work_census(&self, now_us: i64) -> Read<'_, WorkCensus> {
        (**self).work_census(now_us)
    }
}
