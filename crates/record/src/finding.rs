//! What the referee finds by itself, as the action that goes on record.

use referee_api::v1;
use referee_api::v1::referee_finding::Kind;
use referee_laws::{Action, Color, Decision, Intent, MateFinding, Seat};

use crate::convert::InContract;
use crate::convert::enums::can_mate_name;
use crate::convert::time::write_ms;

/// What the referee found by itself, to be recorded.
///
/// Its request id has a blank in it, so that no caller can send it, and names what was found, so
/// that the same thing is not recorded twice.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The request id.
    pub request_id: String,
    /// What was found, for the record.
    pub kind: Kind,
    /// What was found, for the rules.
    pub intent: Intent,
}

impl Finding {
    /// The flag of a side has fallen, to be recorded as the entry with a sequence.
    #[must_use]
    pub fn flag_fallen(side: Color, sequence: i64) -> Finding {
        Finding {
            request_id: format!("referee flag {sequence}"),
            kind: Kind::FlagFallen(side.to_v1().into()),
            intent: Intent::FlagFell { side },
        }
    }

    /// The service was down for so many milliseconds, to be recorded as the entry with a sequence.
    #[must_use]
    pub fn down_time(down_ms: u64, sequence: i64) -> Finding {
        Finding {
            request_id: format!("referee down {sequence}"),
            kind: Kind::DownTime(write_ms(down_ms)),
            intent: Intent::WasDown { down_ms },
        }
    }

    /// The time for corrections has passed, to be recorded as the entry with a sequence.
    #[must_use]
    pub fn confirmed(sequence: i64) -> Finding {
        Finding {
            request_id: format!("referee confirm {sequence}"),
            kind: Kind::Confirmed(v1::Confirm {}),
            intent: Intent::Decide(Decision::Confirm),
        }
    }

    /// It is known who can mate.
    #[must_use]
    pub fn mate_decided(found: MateFinding) -> Finding {
        Finding {
            request_id: format!("referee mate {}", found.ply),
            kind: Kind::MateDecided(v1::MateDecided {
                ply: found.ply,
                white: can_mate_name(&found.white).into(),
                black: can_mate_name(&found.black).into(),
                nodes: found.nodes,
            }),
            intent: Intent::MateDecided(found),
        }
    }

    /// Returns the finding as the action of the referee that it is, for the record and for the
    /// rules.
    #[must_use]
    pub fn into_action(self) -> (v1::Action, Action) {
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
