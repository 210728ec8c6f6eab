//! What waits for the writer: questions with the way back for their answers.

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::error::{AppendError, CreateError, Fault};
use crate::record::{Append, Appended, Beat, Created, DownSpan, NewGame, Postponement};

/// What callers send to the writer.
pub(super) enum Command {
    /// Write to a game, or create one.
    Write(Box<Job>),
    /// Finish what waits, release the files, and say so.
    Close(oneshot::Sender<Result<(), Fault>>),
}

/// One write of a batch.
pub(super) enum Job {
    Create(Pending<NewGame, Created, CreateError>),
    Append(Pending<Append, Appended, AppendError>),
    Postpone(Pending<Postponement, (), AppendError>),
    Beat(Pending<Beat, Option<DownSpan>, Fault>),
}

/// A question that waits for its answer.
pub(super) struct Pending<Q, A, E> {
    pub(super) question: Q,
    /// The answer, kept back until the commit.
    pub(super) answer: Option<Result<A, E>>,
    reply: oneshot::Sender<Result<A, E>>,
    /// Keeps the bytes of the question within the bounds of the queue until it is answered.
    permit: OwnedSemaphorePermit,
}

impl Job {
    /// The bytes of the question, as the queue counts them.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Create(pending) => pending.permit.num_permits(),
            Self::Append(pending) => pending.permit.num_permits(),
            Self::Postpone(pending) => pending.permit.num_permits(),
            Self::Beat(pending) => pending.permit.num_permits(),
        }
    }

    /// Sets the answer of a job that the engine could not do.
    pub(super) fn fail(&mut self, reason: &str) {
        match self {
            Self::Create(pending) => pending.fail(reason),
            Self::Append(pending) => pending.fail(reason),
            Self::Postpone(pending) => pending.fail(reason),
            Self::Beat(pending) => pending.fail(reason),
        }
    }

    /// Sends the answer.
    pub(super) fn reply(self) {
        match self {
            Self::Create(pending) => pending.reply(),
            Self::Append(pending) => pending.reply(),
            Self::Postpone(pending) => pending.reply(),
            Self::Beat(pending) => pending.reply(),
        }
    }
}

impl<Q, A, E: From<Fault>> Pending<Q, A, E> {
    /// A question and where its answer goes.
    pub(super) fn new(
        question: Q,
        reply: oneshot::Sender<Result<A, E>>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            question,
            answer: None,
            reply,
            permit,
        }
    }

    fn fail(&mut self, reason: &str) {
        self.answer = Some(Err(Fault::Failed {
            reason: reason.to_owned(),
        }
        .into()));
    }

    fn reply(self) {
        if let Some(answer) = self.answer {
            // A caller that stopped waiting is no fault: it can repeat its request.
            drop(self.reply.send(answer));
        }
    }
}
