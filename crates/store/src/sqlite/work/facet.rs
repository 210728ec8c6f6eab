//! The facet of shared work of the embedded engine.

use crate::ack::{Ack, Read};
use crate::error::Fault;
use crate::job::{
    HoldClaim, Job, JobClaim, JobEnding, PlanEnding, ReportRefusal, SessionEnd, SweepTime,
    TaskAddition, TaskFold, WorkJob,
};
use crate::work::{
    Claim, ClaimedJob, Dispute, Fold, JobCursor, JobEnd, JobError, JobKey, JobPage, JobProgress,
    JobRow, JobState, Lease, LeaseRequest, Leases, NewJob, NewSession, NewTask, PlannedJob,
    Renewal, Renewed, Reported, SessionRow, SessionToken, StoredTask, Stretch, Swept, TaskReport,
    Unfinished, Work, WorkCensus,
};
use crate::{check, limits};

use super::super::SqliteStore;
use super::look;

/// What a write costs in the queue.
const FIXED: usize = check::FIXED_BYTES;

impl Work for SqliteStore {
    fn create_job(&self, job: NewJob) -> Ack<JobRow, JobError> {
        if let Err(invalid) = check::new_job(&job) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        let bytes = job.spec.len() + FIXED;
        self.committer
            .write(job, bytes, |it| Job::Work(WorkJob::Create(it)))
    }

    fn cancel_job(&self, key: JobKey, now_us: i64) -> Ack<Option<JobRow>, Fault> {
        let bytes = FIXED;
        self.committer
            .write((key, now_us), bytes, |it| Job::Work(WorkJob::Cancel(it)))
    }

    fn delete_job(&self, key: JobKey) -> Ack<Result<(), Unfinished>, Fault> {
        let bytes = FIXED;
        self.committer
            .write(key, bytes, |it| Job::Work(WorkJob::Delete(it)))
    }

    fn claim_job(&self, now_us: i64, hold_us: i64) -> Ack<Option<ClaimedJob>, Fault> {
        let bytes = FIXED;
        self.committer
            .write(JobClaim { now_us, hold_us }, bytes, |it| {
                Job::Work(WorkJob::Claim(it))
            })
    }

    fn hold_job(&self, claim: Claim, until_us: i64) -> Ack<bool, Fault> {
        let bytes = FIXED;
        self.committer
            .write(HoldClaim { claim, until_us }, bytes, |it| {
                Job::Work(WorkJob::Hold(it))
            })
    }

    fn clear_tasks(&self, claim: Claim) -> Ack<Option<bool>, Fault> {
        let bytes = FIXED;
        self.committer
            .write(claim, bytes, |it| Job::Work(WorkJob::Clear(it)))
    }

    fn add_tasks(&self, claim: Claim, tasks: Vec<NewTask>) -> Ack<bool, Fault> {
        if let Err(invalid) = check::new_tasks(&tasks) {
            return Box::pin(std::future::ready(Err(refused(&invalid))));
        }
        let bytes = limits::TASKS_BYTES_MAX;
        self.committer
            .write(TaskAddition { claim, tasks }, bytes, |it| {
                Job::Work(WorkJob::Add(it))
            })
    }

    fn end_plan(&self, claim: Claim, planned: PlannedJob) -> Ack<bool, Fault> {
        let bytes = planned.plan.len() + FIXED;
        self.committer
            .write(PlanEnding { claim, planned }, bytes, |it| {
                Job::Work(WorkJob::EndPlan(it))
            })
    }

    fn fold_task(&self, claim: Claim, fold: Fold) -> Ack<bool, Fault> {
        let bytes = fold.counts.len() + FIXED;
        self.committer.write(TaskFold { claim, fold }, bytes, |it| {
            Job::Work(WorkJob::Fold(it))
        })
    }

    fn end_job(&self, claim: Claim, end: JobEnd) -> Ack<bool, Fault> {
        let bytes = end.outcome.len() + FIXED;
        self.committer.write(JobEnding { claim, end }, bytes, |it| {
            Job::Work(WorkJob::End(it))
        })
    }

    fn open_session(&self, session: NewSession) -> Ack<bool, Fault> {
        if let Err(invalid) = check::new_session(&session) {
            return Box::pin(std::future::ready(Err(refused(&invalid))));
        }
        let bytes = session.worker.len() + FIXED;
        self.committer
            .write(session, bytes, |it| Job::Work(WorkJob::OpenSession(it)))
    }

    fn lease(&self, request: LeaseRequest) -> Ack<Option<Leases>, Fault> {
        let bytes = FIXED;
        self.committer
            .write(request, bytes, |it| Job::Work(WorkJob::Lease(it)))
    }

    fn renew(&self, renewal: Renewal) -> Ack<Option<Renewed>, Fault> {
        let bytes = FIXED;
        self.committer
            .write(renewal, bytes, |it| Job::Work(WorkJob::Renew(it)))
    }

    fn report(&self, report: TaskReport) -> Ack<Reported, Fault> {
        if let Err(invalid) = check::report(&report) {
            return Box::pin(std::future::ready(Err(refused(&invalid))));
        }
        let bytes = check::report_bytes(&report);
        self.committer
            .write(report, bytes, |it| Job::Work(WorkJob::Report(it)))
    }

    fn refuse_report(&self, token: SessionToken, lease: Lease) -> Ack<i64, Fault> {
        let bytes = FIXED;
        self.committer
            .write(ReportRefusal { token, lease }, bytes, |it| {
                Job::Work(WorkJob::Refuse(it))
            })
    }

    fn dispute(&self, dispute: Dispute) -> Ack<(), Fault> {
        let bytes = dispute.outcome.len() + FIXED;
        self.committer
            .write(dispute, bytes, |it| Job::Work(WorkJob::Dispute(it)))
    }

    fn close_session(&self, token: SessionToken, now_us: i64) -> Ack<bool, Fault> {
        let bytes = FIXED;
        self.committer
            .write(SessionEnd { token, now_us }, bytes, |it| {
                Job::Work(WorkJob::CloseSession(it))
            })
    }

    fn sweep(&self, now_us: i64, forget_before_us: i64) -> Ack<Swept, Fault> {
        let bytes = FIXED;
        self.committer.write(
            SweepTime {
                now_us,
                forget_before_us,
            },
            bytes,
            |it| Job::Work(WorkJob::Sweep(it)),
        )
    }

    fn job<'a>(&'a self, key: &'a JobKey) -> Read<'a, Option<JobRow>> {
        let key = key.clone();
        self.readers
            .read(move |connection| look::job(connection, &key))
    }

    fn job_by_id(&self, job: i64) -> Read<'_, Option<JobRow>> {
        self.readers
            .read(move |connection| look::job_by_id(connection, job))
    }

    fn jobs<'a>(
        &'a self,
        platform: &'a str,
        states: &'a [JobState],
        after: Option<JobCursor>,
        limit: usize,
    ) -> Read<'a, JobPage> {
        let (platform, states) = (platform.to_owned(), states.to_vec());
        let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
        self.readers
            .read(move |connection| look::jobs(connection, &platform, &states, after, limit))
    }

    fn progress(&self, job: i64) -> Read<'_, JobProgress> {
        self.readers
            .read(move |connection| look::progress(connection, job))
    }

    fn tasks<'a>(&'a self, leases: &'a [Lease]) -> Read<'a, Vec<StoredTask>> {
        let leases = leases.to_vec();
        self.readers
            .read(move |connection| look::tasks(connection, &leases))
    }

    fn counted(&self, stretch: Stretch) -> Read<'_, Vec<StoredTask>> {
        self.readers
            .read(move |connection| look::counted(connection, stretch))
    }

    fn expanded(&self, job: i64) -> Read<'_, Option<StoredTask>> {
        self.readers
            .read(move |connection| look::expanded(connection, job))
    }

    fn late_counts(&self, job: i64, task: i64) -> Read<'_, Vec<Vec<u8>>> {
        self.readers
            .read(move |connection| look::late_counts(connection, job, task))
    }

    fn session<'a>(&'a self, token: &'a SessionToken) -> Read<'a, Option<SessionRow>> {
        let token = *token;
        self.readers
            .read(move |connection| look::session(connection, &token))
    }

    fn sessions(&self, job: i64, limit: usize) -> Read<'_, Vec<SessionRow>> {
        let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
        self.readers
            .read(move |connection| look::sessions(connection, job, limit))
    }

    fn work_census(&self, now_us: i64) -> Read<'_, WorkCensus> {
        self.readers
            .read(move |connection| look::census(connection, now_us))
    }
}

/// The fault of a write that is out of its bounds, which its caller keeps to.
fn refused(invalid: &crate::error::InvalidField) -> Fault {
    Fault::Unavailable {
        reason: invalid.to_string(),
    }
}
