//! The facet of shared work of a store whose disk fails.

use crate::ack::{Ack, Read};
use crate::error::Fault;
use crate::store::Store;
use crate::work::{
    Claim, ClaimedJob, Dispute, Fold, JobCursor, JobEnd, JobError, JobKey, JobPage, JobProgress,
    JobRow, JobState, Lease, LeaseRequest, Leases, NewJob, NewSession, NewTask, PlannedJob,
    Renewal, Renewed, Reported, SessionRow, SessionToken, StoredTask, Stretch, Swept, TaskReport,
    Unfinished, Work, WorkCensus,
};

use super::Faulty;

impl<S: Store> Work for Faulty<S> {
    fn create_job(&self, job: NewJob) -> Ack<JobRow, JobError> {
        self.write(move |store| store.create_job(job))
    }

    fn cancel_job(&self, key: JobKey, now_us: i64) -> Ack<Option<JobRow>, Fault> {
        self.write(move |store| store.cancel_job(key, now_us))
    }

    fn delete_job(&self, key: JobKey) -> Ack<Result<(), Unfinished>, Fault> {
        self.write(move |store| store.delete_job(key))
    }

    fn claim_job(&self, now_us: i64, hold_us: i64) -> Ack<Option<ClaimedJob>, Fault> {
        self.write(move |store| store.claim_job(now_us, hold_us))
    }

    fn hold_job(&self, claim: Claim, until_us: i64) -> Ack<bool, Fault> {
        self.write(move |store| store.hold_job(claim, until_us))
    }

    fn clear_tasks(&self, claim: Claim) -> Ack<Option<bool>, Fault> {
        self.write(move |store| store.clear_tasks(claim))
    }

    fn add_tasks(&self, claim: Claim, tasks: Vec<NewTask>) -> Ack<bool, Fault> {
        self.write(move |store| store.add_tasks(claim, tasks))
    }

    fn end_plan(&self, claim: Claim, planned: PlannedJob) -> Ack<bool, Fault> {
        self.write(move |store| store.end_plan(claim, planned))
    }

    fn fold_task(&self, claim: Claim, fold: Fold) -> Ack<bool, Fault> {
        self.write(move |store| store.fold_task(claim, fold))
    }

    fn end_job(&self, claim: Claim, end: JobEnd) -> Ack<bool, Fault> {
        self.write(move |store| store.end_job(claim, end))
    }

    fn open_session(&self, session: NewSession) -> Ack<bool, Fault> {
        self.write(move |store| store.open_session(session))
    }

    fn lease(&self, request: LeaseRequest) -> Ack<Option<Leases>, Fault> {
        self.write(move |store| store.lease(request))
    }

    fn renew(&self, renewal: Renewal) -> Ack<Option<Renewed>, Fault> {
        self.write(move |store| store.renew(renewal))
    }

    fn report(&self, report: TaskReport) -> Ack<Reported, Fault> {
        self.write(move |store| store.report(report))
    }

    fn refuse_report(&self, token: SessionToken, lease: Lease) -> Ack<i64, Fault> {
        self.write(move |store| store.refuse_report(token, lease))
    }

    fn dispute(&self, dispute: Dispute) -> Ack<(), Fault> {
        self.write(move |store| store.dispute(dispute))
    }

    fn close_session(&self, token: SessionToken, now_us: i64) -> Ack<bool, Fault> {
        self.write(move |store| store.close_session(token, now_us))
    }

    fn sweep(&self, now_us: i64, forget_before_us: i64) -> Ack<Swept, Fault> {
        self.write(move |store| store.sweep(now_us, forget_before_us))
    }

    fn job<'a>(&'a self, key: &'a JobKey) -> Read<'a, Option<JobRow>> {
        self.store.job(key)
    }

    fn job_by_id(&self, job: i64) -> Read<'_, Option<JobRow>> {
        self.store.job_by_id(job)
    }

    fn jobs<'a>(
        &'a self,
        platform: &'a str,
        states: &'a [JobState],
        after: Option<JobCursor>,
        limit: usize,
    ) -> Read<'a, JobPage> {
        self.store.jobs(platform, states, after, limit)
    }

    fn progress(&self, job: i64) -> Read<'_, JobProgress> {
        self.store.progress(job)
    }

    fn tasks<'a>(&'a self, leases: &'a [Lease]) -> Read<'a, Vec<StoredTask>> {
        self.store.tasks(leases)
    }

    fn counted(&self, stretch: Stretch) -> Read<'_, Vec<StoredTask>> {
        self.store.counted(stretch)
    }

    fn expanded(&self, job: i64) -> Read<'_, Option<StoredTask>> {
        self.store.expanded(job)
    }

    fn late_counts(&self, job: i64, task: i64) -> Read<'_, Vec<Vec<u8>>> {
        self.store.late_counts(job, task)
    }

    fn session<'a>(&'a self, token: &'a SessionToken) -> Read<'a, Option<SessionRow>> {
        self.store.session(token)
    }

    fn sessions(&self, job: i64, limit: usize) -> Read<'_, Vec<SessionRow>> {
        self.store.sessions(job, limit)
    }

    fn work_census(&self, now_us: i64) -> Read<'_, WorkCensus> {
        self.store.work_census(now_us)
    }
}
