//! What became of a case.

/// One thing that is not as a case expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Where: a step of the case, or what is expected at its end.
    pub(crate) step: String,
    /// What the case expects.
    pub(crate) expected: String,
    /// What was answered.
    pub(crate) answered: String,
}

impl Failure {
    pub(crate) fn new(
        step: impl Into<String>,
        expected: impl Into<String>,
        answered: impl Into<String>,
    ) -> Failure {
        Failure {
            step: step.into(),
            expected: expected.into(),
            answered: answered.into(),
        }
    }
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything is as it expects.
    Passed,
    /// Something is not.
    Failed(Vec<Failure>),
    /// It cannot be played through the contract, for this reason.
    Skipped(&'static str),
}

impl Verdict {
    /// A case passes where nothing is wrong.
    pub(crate) fn of(wrong: Vec<Failure>) -> Verdict {
        if wrong.is_empty() {
            Verdict::Passed
        } else {
            Verdict::Failed(wrong)
        }
    }
}
