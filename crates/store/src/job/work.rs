//! What waits for an engine of the facet of shared work.

use crate::error::Fault;
use crate::pending::Pending;
use crate::work::{
    Claim, ClaimedJob, Dispute, Fold, JobEnd, JobError, JobKey, JobRow, Lease, LeaseRequest,
    Leases, NewJob, NewSession, NewTask, PlannedJob, Renewal, Renewed, Reported, SessionToken,
    Swept, TaskReport, Unfinished,
};

/// One write of shared work.
pub(crate) enum WorkJob {
    Create(Pending<NewJob, JobRow, JobError>),
    Cancel(Pending<(JobKey, i64), Option<JobRow>, Fault>),
    Delete(Pending<JobKey, Result<(), Unfinished>, Fault>),
    Claim(Pending<JobClaim, Option<ClaimedJob>, Fault>),
    Hold(Pending<HoldClaim, bool, Fault>),
    Clear(Pending<Claim, Option<bool>, Fault>),
    Add(Pending<TaskAddition, bool, Fault>),
    EndPlan(Pending<PlanEnding, bool, Fault>),
    Fold(Pending<TaskFold, bool, Fault>),
    End(Pending<JobEnding, bool, Fault>),
    OpenSession(Pending<NewSession, bool, Fault>),
    Lease(Pending<LeaseRequest, Option<Leases>, Fault>),
    Renew(Pending<Renewal, Option<Renewed>, Fault>),
    Report(Pending<TaskReport, Reported, Fault>),
    Refuse(Pending<ReportRefusal, i64, Fault>),
    Dispute(Pending<Dispute, (), Fault>),
    CloseSession(Pending<SessionEnd, bool, Fault>),
    Sweep(Pending<SweepTime, Swept, Fault>),
}

/// A claim on a job that is to be planned or added up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobClaim {
    pub(crate) now_us: i64,
    pub(crate) hold_us: i64,
}

/// A claim that is held for longer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HoldClaim {
    pub(crate) claim: Claim,
    pub(crate) until_us: i64,
}

/// Tasks that are added.
#[derive(Debug)]
pub(crate) struct TaskAddition {
    pub(crate) claim: Claim,
    pub(crate) tasks: Vec<NewTask>,
}

/// A plan that is at its end.
#[derive(Debug)]
pub(crate) struct PlanEnding {
    pub(crate) claim: Claim,
    pub(crate) planned: PlannedJob,
}

/// The counts of a task that its children come to.
#[derive(Debug)]
pub(crate) struct TaskFold {
    pub(crate) claim: Claim,
    pub(crate) fold: Fold,
}

/// A job that ends.
#[derive(Debug)]
pub(crate) struct JobEnding {
    pub(crate) claim: Claim,
    pub(crate) end: JobEnd,
}

/// A report that cannot be right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportRefusal {
    pub(crate) token: SessionToken,
    pub(crate) lease: Lease,
}

/// A session that ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionEnd {
    pub(crate) token: SessionToken,
    pub(crate) now_us: i64,
}

/// What time it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SweepTime {
    pub(crate) now_us: i64,
    pub(crate) forget_before_us: i64,
}

/// The same expression for the question of every write.
macro_rules! each {
    ($job:expr, $pending:ident => $result:expr) => {
        match $job {
            WorkJob::Create($pending) => $result,
            WorkJob::Cancel($pending) => $result,
            WorkJob::Delete($pending) => $result,
            WorkJob::Claim($pending) => $result,
            WorkJob::Hold($pending) => $result,
            WorkJob::Clear($pending) => $result,
            WorkJob::Add($pending) => $result,
            WorkJob::EndPlan($pending) => $result,
            WorkJob::Fold($pending) => $result,
            WorkJob::End($pending) => $result,
            WorkJob::OpenSession($pending) => $result,
            WorkJob::Lease($pending) => $result,
            WorkJob::Renew($pending) => $result,
            WorkJob::Report($pending) => $result,
            WorkJob::Refuse($pending) => $result,
            WorkJob::Dispute($pending) => $result,
            WorkJob::CloseSession($pending) => $result,
            WorkJob::Sweep($pending) => $result,
        }
    };
}

impl WorkJob {
    pub(crate) fn bytes(&self) -> usize {
        each!(self, pending => pending.bytes())
    }

    pub(super) fn fail(&mut self, fault: Fault) {
        each!(self, pending => pending.fail(fault));
    }

    pub(super) fn reply(self) {
        each!(self, pending => pending.reply());
    }
}
