//! What a report asks about, and how an answer is held against it.

use referee_api::v1;
use serde_json::Value;
use tonic::{Code, Status};

use crate::error_details::{reason_of, words_of};
use crate::fields::{CaseError, Fields};
use crate::target::position;
use crate::verdict::Failure;

/// What a report asks about and expects, whatever its kind.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) fen: String,
    pub(super) variant: v1::Variant,
    pub(super) moves: Vec<String>,
    /// The text of a record; empty in any other report.
    pub(super) record: Vec<u8>,
    pub(super) input: Value,
    pub(super) expected: Value,
}

impl Question {
    pub(super) fn input(&self) -> Fields<'_> {
        Fields::new("input", &self.input).expect("it was an object when it was read")
    }

    pub(super) fn expected(&self) -> Fields<'_> {
        Fields::new("expect", &self.expected).expect("it was an object when it was read")
    }

    pub(super) fn expects(&self, name: &str) -> bool {
        self.expected.get(name) == Some(&Value::Bool(true))
    }

    /// Returns the position before the moves of the question, or after the first of them.
    pub(super) fn position_after(&self, plies: usize) -> v1::Position {
        self.position(
            &self.fen,
            self.moves[..plies.min(self.moves.len())].to_vec(),
        )
    }

    /// Returns a position of the variant of the question.
    pub(super) fn position(&self, fen: &str, moves: Vec<String>) -> v1::Position {
        v1::Position {
            variant: self.variant.into(),
            ..position(fen, moves)
        }
    }
}

/// What is not as a report expects.
pub(super) type Judged = Result<Vec<Failure>, Unfit>;

/// Why a report could not be compared.
pub(super) enum Unfit {
    /// The referee did not answer the question.
    Failure(Failure),
    /// The report makes no sense.
    Case(CaseError),
}

impl From<Failure> for Unfit {
    fn from(failure: Failure) -> Unfit {
        Unfit::Failure(failure)
    }
}

impl From<CaseError> for Unfit {
    fn from(error: CaseError) -> Unfit {
        Unfit::Case(error)
    }
}

/// An error where an answer was expected.
pub(super) fn no_answer(step: &str, status: &Status) -> Unfit {
    Unfit::Failure(Failure::new(step, "an answer", words_of(status)))
}

/// Whether an error refuses a position or a history, and nothing worse has happened.
pub(super) fn is_refusal(status: &Status) -> bool {
    let reasons = [
        "INVALID_POSITION",
        "ILLEGAL_HISTORY",
        "INVALID_FIELD",
        "LIMIT_EXCEEDED",
    ];
    status.code() == Code::InvalidArgument && reasons.contains(&reason_of(status).as_str())
}
