//! What waits for an engine: questions with the way back for their answers.

mod work;

use crate::deadlines::{DueGame, Postponement};
use crate::error::{AppendError, CreateError, Fault};
use crate::games::{Append, Appended, Created, Deletion, GameKey, NewGame, Tombstone, Write};
use crate::identities::{IssueError, NewToken, TokenRow};
use crate::liveness::{Beat, Beaten};
use crate::pending::Pending;
use crate::questions::OpenQuestion;

pub(crate) use work::{
    HoldClaim, JobClaim, JobEnding, PlanEnding, ReportRefusal, SessionEnd, SweepTime, TaskAddition,
    TaskFold, WorkJob,
};

/// One write of a batch.
pub(crate) enum Job {
    Create(Pending<NewGame, Created, CreateError>),
    Append(Pending<Append, Appended, AppendError>),
    Delete(Pending<Deletion, Tombstone, AppendError>),
    Postpone(Pending<Postponement, (), AppendError>),
    ClaimDue(Pending<DueClaim, Vec<DueGame>, Fault>),
    ClaimQuestions(Pending<QuestionClaim, Vec<OpenQuestion>, Fault>),
    Settle(Pending<OpenQuestion, (), Fault>),
    Beat(Pending<Beat, Beaten, Fault>),
    SetBack(Pending<StepBack, Vec<i64>, Fault>),
    Work(WorkJob),
    IssueToken(Pending<NewToken, TokenRow, IssueError>),
    RevokeToken(Pending<Revocation, Option<TokenRow>, Fault>),
}

/// A claim on games that are due; see [`Deadlines::claim_due`](crate::Deadlines::claim_due).
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueClaim {
    pub(crate) now_us: i64,
    pub(crate) until_us: i64,
    pub(crate) hold_us: i64,
    pub(crate) limit: usize,
}

/// A claim on open questions; see
/// [`Questions::claim_questions`](crate::Questions::claim_questions).
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuestionClaim {
    pub(crate) now_us: i64,
    pub(crate) hold_us: i64,
    pub(crate) limit: usize,
}

/// A clock that was set back; see [`Liveness::set_back`](crate::Liveness::set_back).
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepBack {
    pub(crate) at_us: i64,
    pub(crate) step_max_us: i64,
}

/// A token that is to be revoked; see
/// [`Identities::revoke_token`](crate::Identities::revoke_token).
#[derive(Debug)]
pub(crate) struct Revocation {
    pub(crate) id: String,
    pub(crate) platform: Option<String>,
    pub(crate) at_us: i64,
}

/// The same expression for the question of every job.
macro_rules! each {
    ($job:expr, $pending:ident => $result:expr) => {
        match $job {
            Job::Create($pending) => $result,
            Job::Append($pending) => $result,
            Job::Delete($pending) => $result,
            Job::Postpone($pending) => $result,
            Job::ClaimDue($pending) => $result,
            Job::ClaimQuestions($pending) => $result,
            Job::Settle($pending) => $result,
            Job::Beat($pending) => $result,
            Job::SetBack($pending) => $result,
            Job::Work($pending) => $result,
            Job::IssueToken($pending) => $result,
            Job::RevokeToken($pending) => $result,
        }
    };
}

impl Job {
    /// Returns the game that the job writes to, where it is one.
    pub(crate) fn game(&self) -> Option<&GameKey> {
        match self {
            Self::Create(pending) => Some(&pending.question.key),
            Self::Append(pending) => Some(&pending.question.key),
            Self::Delete(pending) => Some(&pending.question.key),
            Self::Postpone(pending) => Some(&pending.question.key),
            Self::Settle(pending) => Some(&pending.question.key),
            Self::ClaimDue(_)
            | Self::ClaimQuestions(_)
            | Self::Beat(_)
            | Self::SetBack(_)
            | Self::Work(_)
            | Self::IssueToken(_)
            | Self::RevokeToken(_) => None,
        }
    }

    /// Says whether text is erased when the job is answered.
    pub(crate) fn erases(&self) -> bool {
        match self {
            Self::Append(pending) => matches!(
                pending.question.write,
                Write::Entry {
                    describes: Some(_),
                    ..
                }
            ),
            Self::Delete(_) => true,
            _ => false,
        }
    }

    /// Returns the bytes of the question, as the queue counts them.
    pub(crate) fn bytes(&self) -> usize {
        each!(self, pending => pending.bytes())
    }

    /// Sets the answer of a job that the engine could not do.
    pub(crate) fn fail(&mut self, fault: Fault) {
        each!(self, pending => pending.fail(fault));
    }

    /// Sends the answer.
    pub(crate) fn reply(self) {
        each!(self, pending => pending.reply());
    }
}
