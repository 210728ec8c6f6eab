//! Work that is shared: jobs cut into tasks, and sessions that lease them: the facet [`Work`].
//!
//! The store knows nothing of what is counted: a job is described by bytes, a task is bytes, and so
//! are its counts. What it holds is who may do what when: a job is planned and added up by one
//! process at a time, who names a fence; a task is leased under a number of the attempt, and is
//! counted by the attempt that holds it; what anybody else says of it is kept to be compared.

mod jobs;
mod leases;

use crate::ack::{Ack, Read};
use crate::error::Fault;

pub use jobs::{
    Claim, ClaimedJob, Fold, JobCursor, JobEnd, JobError, JobKey, JobPage, JobProgress, JobRow,
    JobState, NewJob, NewTask, PlannedJob, StoredTask, Stretch, Unfinished, WorkCensus,
};
pub use leases::{
    Counting, Dispute, Lease, LeaseRequest, LeasedTask, Leases, NewSession, Renewal, Renewed,
    Reported, SessionRow, SessionToken, SplitPart, Swept, TaskReport,
};

/// Keeps jobs, their tasks and the sessions that count them. Times are in microseconds since
/// 1970-01-01T00:00:00Z and come from the caller; they only ever decide when something is tried
/// again.
pub trait Work: Send + Sync {
    /// Creates a job, or finds the one that the same request created.
    ///
    /// # Errors
    ///
    /// [`JobError`] where the name is taken, the request id came with other content, or the
    /// platform has as many jobs as it may.
    fn create_job(&self, job: NewJob) -> Ack<JobRow, JobError>;

    /// Cancels a job and returns it as it is then; one that is over stays as it is. `None` where
    /// there is no such job.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn cancel_job(&self, key: JobKey, now_us: i64) -> Ack<Option<JobRow>, Fault>;

    /// Deletes a job that is over; its name is free again. Nothing happens where there is no such
    /// job. Its tasks go little by little, with [`sweep`](Self::sweep).
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write. The answer has [`Unfinished`] where the job is not
    /// over.
    fn delete_job(&self, key: JobKey) -> Ack<Result<(), Unfinished>, Fault>;

    /// Claims a job that is to be planned or added up, the longest waiting first: until
    /// `now_us + hold_us` nobody else gets it.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn claim_job(&self, now_us: i64, hold_us: i64) -> Ack<Option<ClaimedJob>, Fault>;

    /// Holds a claim until `until_us`; false where it is not good any more, as for every method
    /// that takes one: somebody else has the job, or it is over.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn hold_job(&self, claim: Claim, until_us: i64) -> Ack<bool, Fault>;

    /// Takes out tasks of an earlier plan that was not brought to its end, some at a time; `None`
    /// where the claim is not good any more, else whether there are more.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn clear_tasks(&self, claim: Claim) -> Ack<Option<bool>, Fault>;

    /// Adds tasks to a job that is planned: at most
    /// [`TASKS_BYTES_MAX`](crate::limits::TASKS_BYTES_MAX) in one go, unless it is a single one, so
    /// that other writes do not wait long.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn add_tasks(&self, claim: Claim, tasks: Vec<NewTask>) -> Ack<bool, Fault>;

    /// Lets a job run that is planned.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn end_plan(&self, claim: Claim, planned: PlannedJob) -> Ack<bool, Fault>;

    /// Takes the counts of a task that was replaced by children of its positions, once all of them
    /// are counted; nothing happens to a task that has its counts. See [`Counting::Children`].
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn fold_task(&self, claim: Claim, fold: Fold) -> Ack<bool, Fault>;

    /// Ends a job that is claimed.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn end_job(&self, claim: Claim, end: JobEnd) -> Ack<bool, Fault>;

    /// Opens a session; false where there are as many as there may be.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn open_session(&self, session: NewSession) -> Ack<bool, Fault>;

    /// Leases tasks to a session, and tells what it has leased beside what it says that it holds.
    /// `None` where there is no such session any more.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn lease(&self, request: LeaseRequest) -> Ack<Option<Leases>, Fault>;

    /// Keeps a session with its leases. `None` where there is no such session any more.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn renew(&self, renewal: Renewal) -> Ack<Option<Renewed>, Fault>;

    /// Takes a report that was found to be possible. Counts and the end of the lease are one
    /// transaction.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn report(&self, report: TaskReport) -> Ack<Reported, Fault>;

    /// Opens a task again whose report cannot be right, and returns how many such reports it has
    /// had by now; 0 where the lease is not that of the session.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn refuse_report(&self, token: SessionToken, lease: Lease) -> Ack<i64, Fault>;

    /// Notes that two reports disagree, or that a job cannot go on for another reason that the
    /// dispute gives: it fails, unless it is over.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn dispute(&self, dispute: Dispute) -> Ack<(), Fault>;

    /// Ends a session and opens again what it has leased; false where there is no such session.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn close_session(&self, token: SessionToken, now_us: i64) -> Ack<bool, Fault>;

    /// Does what time brings, some of it at a time: ends sessions that ran out and opens again what
    /// they had leased, forgets sessions that ended before `forget_before_us`, deletes jobs whose
    /// time to be kept is over, and takes out what nobody can ask for any more.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn sweep(&self, now_us: i64, forget_before_us: i64) -> Ack<Swept, Fault>;

    /// Returns a job by its name.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn job<'a>(&'a self, key: &'a JobKey) -> Read<'a, Option<JobRow>>;

    /// Returns a job by its number, whatever its platform.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn job_by_id(&self, job: i64) -> Read<'_, Option<JobRow>>;

    /// Lists the jobs of a platform in some states, all where none is named, newest first.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn jobs<'a>(
        &'a self,
        platform: &'a str,
        states: &'a [JobState],
        after: Option<JobCursor>,
        limit: usize,
    ) -> Read<'a, JobPage>;

    /// Returns how far a job is.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn progress(&self, job: i64) -> Read<'_, JobProgress>;

    /// Returns tasks of jobs as they were added, those that are there.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn tasks<'a>(&'a self, leases: &'a [Lease]) -> Read<'a, Vec<StoredTask>>;

    /// Returns the tasks of a stretch that were accepted, in the order of their positions; a page
    /// of them.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn counted(&self, stretch: Stretch) -> Read<'_, Vec<StoredTask>>;

    /// Returns a task of a job that was replaced by children of its positions and has no counts
    /// yet: one whose children are no such tasks. `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn expanded(&self, job: i64) -> Read<'_, Option<StoredTask>>;

    /// Returns the counts of a task that came too late to be accepted.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn late_counts(&self, job: i64, task: i64) -> Read<'_, Vec<Vec<u8>>>;

    /// Returns a session that is open, or that ended not long ago.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn session<'a>(&'a self, token: &'a SessionToken) -> Read<'a, Option<SessionRow>>;

    /// Returns open sessions: those that hold tasks of a job first, then those that hold none.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn sessions(&self, job: i64, limit: usize) -> Read<'_, Vec<SessionRow>>;

    /// Returns what is left to do in all jobs of all platforms that run, and by how many sessions;
    /// counted up to [`COUNTED_TASKS_MAX`](crate::limits::COUNTED_TASKS_MAX) open tasks and as many
    /// leased ones.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn work_census(&self, now_us: i64) -> Read<'_, WorkCensus>;
}
