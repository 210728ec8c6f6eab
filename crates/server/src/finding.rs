//! What the referee finds by itself, as the action that goes on record.

use referee_api::v1;
use referee_laws::{Action, Intent, Seat};

/// What the referee found by itself, to be recorded.
#[derive(Debug)]
pub(crate) struct Finding {
    /// A request id that no caller can send.
    pub(crate) request_id: String,
    /// What was found, for the record.
    pub(crate) kind: v1::referee_finding::Kind,
    /// What was found, for the rules.
    pub(crate) intent: Intent,
}

impl Finding {
    /// Returns the finding as the action of the referee that it is.
    pub(crate) fn into_action(self) -> (v1::Action, Action) {
        let message = v1::Action {
            seat: v1::Seat::Referee.into(),
            request_id: self.request_id,
            kind: Some(v1::action::Kind::RefereeFinding(v1::RefereeFinding {
                kind: Some(self.kind),
            })),
            ..v1::Action::default()
        };
        let action = Action {
            seat: Seat::Referee,
            intent: self.intent,
        };
        (message, action)
    }
}
