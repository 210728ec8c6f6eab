//! A question with the way back for its answer.

use tokio::sync::oneshot;

use crate::error::Fault;
use crate::load::Permit;

/// A question that waits for its answer.
pub(crate) struct Pending<Q, A, E> {
    pub(crate) question: Q,
    /// The answer, kept back until the commit.
    pub(crate) answer: Option<Result<A, E>>,
    reply: oneshot::Sender<Result<A, E>>,
    /// Keeps the question within the bounds of the queue until it is answered.
    permit: Permit,
}

impl<Q, A, E> Pending<Q, A, E> {
    /// Returns a question, and where its answer goes.
    pub(crate) fn new(question: Q, reply: oneshot::Sender<Result<A, E>>, permit: Permit) -> Self {
        Self {
            question,
            answer: None,
            reply,
            permit,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.permit.bytes()
    }

    pub(crate) fn fail(&mut self, fault: Fault)
    where
        E: From<Fault>,
    {
        self.answer = Some(Err(fault.into()));
    }

    pub(crate) fn reply(self) {
        // Its room first: a caller that has its answer finds room for the next question.
        drop(self.permit);
        if let Some(answer) = self.answer {
            // A caller that stopped waiting is no fault: it can repeat its request.
            drop(self.reply.send(answer));
        }
    }
}
