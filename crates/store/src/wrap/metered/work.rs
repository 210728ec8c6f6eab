//! The facet of shared work of a store that counts.

use crate::ack::{Ack, Read};
use crate::error::Fault;
use crate::store::Store;
use crate::work::{
    Claim, ClaimedJob, Dispute, Fold, JobCursor, JobEnd, JobError, JobKey, JobPage, JobProgress,
    JobRow, JobState, Lease, LeaseRequest, Leases, NewJob, NewSession, NewTask, PlannedJob,
    Renewal, Renewed, Reported, SessionRow, SessionToken, StoredTask, Stretch, Swept, TaskReport,
    Unfinished, Work, WorkCensus,
};

use super::{MayBeFault, Metered, Method};

impl MayBeFault for JobError {
    fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(_))
    }
}

impl<S: Store> Work for Metered<S> {
    fn create_job(&self, job: NewJob) -> Ack<JobRow, JobError> {
        self.write(Method::CreateJob, self.store.create_job(job))
    }

    fn cancel_job(&self, key: JobKey, now_us: i64) -> Ack<Option<JobRow>, Fault> {
        self.write(Method::CancelJob, self.store.cancel_job(key, now_us))
    }

    fn delete_job(&self, key: JobKey) -> Ack<Result<(), Unfinished>, Fault> {
        self.write(Method::DeleteJob, self.store.delete_job(key))
    }

    fn claim_job(&self, now_us: i64, hold_us: i64) -> Ack<Option<ClaimedJob>, Fault> {
        self.write(Method::ClaimJob, self.store.claim_job(now_us, hold_us))
    }

    fn hold_job(&self, claim: Claim, until_us: i64) -> Ack<bool, Fault> {
        self.write(Method::HoldJob, self.store.hold_job(claim, until_us))
    }

    fn clear_tasks(&self, claim: Claim) -> Ack<Option<bool>, Fault> {
        self.write(Method::ClearTasks, self.store.clear_tasks(claim))
    }

    fn add_tasks(&self, claim: Claim, tasks: Vec<NewTask>) -> Ack<bool, Fault> {
        self.write(Method::AddTasks, self.store.add_tasks(claim, tasks))
    }

    fn end_plan(&self, claim: Claim, planned: PlannedJob) -> Ack<bool, Fault> {
        self.write(Method::EndPlan, self.store.end_plan(claim, planned))
    }

    fn fold_task(&self, claim: Claim, fold: Fold) -> Ack<bool, Fault> {
        self.write(Method::FoldTask, self.store.fold_task(claim, fold))
    }

    fn end_job(&self, claim: Claim, end: JobEnd) -> Ack<bool, Fault> {
        self.write(Method::EndJob, self.store.end_job(claim, end))
    }

    fn open_session(&self, session: NewSession) -> Ack<bool, Fault> {
        self.write(Method::OpenSession, self.store.open_session(session))
    }

    fn lease(&self, request: LeaseRequest) -> Ack<Option<Leases>, Fault> {
        self.write(Method::Lease, self.store.lease(request))
    }

    fn renew(&self, renewal: Renewal) -> Ack<Option<Renewed>, Fault> {
        self.write(Method::Renew, self.store.renew(renewal))
    }

    fn report(&self, report: TaskReport) -> Ack<Reported, Fault> {
        self.write(Method::Report, self.store.report(report))
    }

    fn refuse_report(&self, token: SessionToken, lease: Lease) -> Ack<i64, Fault> {
        self.write(Method::RefuseReport, self.store.refuse_report(token, lease))
    }

    fn dispute(&self, dispute: Dispute) -> Ack<(), Fault> {
        self.write(Method::Dispute, self.store.dispute(dispute))
    }

    fn close_session(&self, token: SessionToken, now_us: i64) -> Ack<bool, Fault> {
        self.write(
            Method::CloseSession,
            self.store.close_session(token, now_us),
        )
    }

    fn sweep(&self, now_us: i64, forget_before_us: i64) -> Ack<Swept, Fault> {
        self.write(Method::Sweep, self.store.sweep(now_us, forget_before_us))
    }

    fn job<'a>(&'a self, key: &'a JobKey) -> Read<'a, Option<JobRow>> {
        let read = self.store.job(key);
        self.read(Method::Job, read)
    }

    fn job_by_id(&self, job: i64) -> Read<'_, Option<JobRow>> {
        let read = self.store.job_by_id(job);
        self.read(Method::JobById, read)
    }

    fn jobs<'a>(
        &'a self,
        platform: &'a str,
        states: &'a [JobState],
        after: Option<JobCursor>,
        limit: usize,
    ) -> Read<'a, JobPage> {
        let read = self.store.jobs(platform, states, after, limit);
        self.read(Method::Jobs, read)
    }

    fn progress(&self, job: i64) -> Read<'_, JobProgress> {
        let read = self.store.progress(job);
        self.read(Method::Progress, read)
    }

    fn tasks<'a>(&'a self, leases: &'a [Lease]) -> Read<'a, Vec<StoredTask>> {
        let read = self.store.tasks(leases);
        self.read(Method::Tasks, read)
    }

    fn counted(&self, stretch: Stretch) -> Read<'_, Vec<StoredTask>> {
        let read = self.store.counted(stretch);
        self.read(Method::Counted, read)
    }

    fn expanded(&self, job: i64) -> Read<'_, Option<StoredTask>> {
        let read = self.store.expanded(job);
        self.read(Method::Expanded, read)
    }

    fn late_counts(&self, job: i64, task: i64) -> Read<'_, Vec<Vec<u8>>> {
        let read = self.store.late_counts(job, task);
        self.read(Method::LateCounts, read)
    }

    fn session<'a>(&'a self, token: &'a SessionToken) -> Read<'a, Option<SessionRow>> {
        let read = self.store.session(token);
        self.read(Method::Session, read)
    }

    fn sessions(&self, job: i64, limit: usize) -> Read<'_, Vec<SessionRow>> {
        let read = self.store.sessions(job, limit);
        self.read(Method::Sessions, read)
    }

    fn work_census(&self, now_us: i64) -> Read<'_, WorkCensus> {
        let read = self.store.work_census(now_us);
        self.read(Method::WorkCensus, read)
    }
}
