//! From a judgment to what is answered and what is stored.

use prost::Message;
use referee_api::v1;
use referee_chess::{Position, UciMove};
use referee_laws::{Game, Judgment};
use referee_store::Write;

use crate::clocks::write_line;
use crate::desk::{Live, state};
use crate::standing::write_standing;
use crate::status::ApiError;
use crate::timekeeper::deadline_us;
use crate::view;

/// A judgment, laid down.
pub(crate) struct LaidDown {
    /// What is answered.
    pub(crate) response: v1::SubmitActionResponse,
    /// What is to be stored.
    pub(crate) write: Write,
    /// The game after it, where it leaves a trace.
    pub(crate) after: Option<Game>,
}

/// Lays down a judgment as the answer and as what is to be stored.
///
/// An entry that does not fit the game that it was judged on is never stored.
pub(crate) fn lay_down(
    live: &Live,
    message: &v1::Action,
    judgment: Judgment,
    arrival_us: i64,
) -> Result<LaidDown, ApiError> {
    let ruling = view::ruling(&judgment.ruling);
    let Some(entry) = judgment.entry else {
        let sequence = live.sequence;
        let response = v1::SubmitActionResponse {
            ruling: Some(ruling),
            event: None,
            sequence,
        };
        let answer = response.encode_to_vec();
        return Ok(LaidDown {
            response,
            write: Write::Refusal { answer },
            after: None,
        });
    };
    let effects = entry.effects;
    let mut after = live.game.clone();
    let mut before = live.game.history();
    let reinstated;
    if let Some(ply) = effects.reinstated {
        let mut history = before.clone();
        history.reinstate(ply);
        reinstated = history;
        before = &reinstated;
    }
    let played = effects
        .played
        .map(|uci| played_move(before.position(), uci));
    after
        .apply(&effects)
        .map_err(|error| ApiError::InvariantBroken {
            what: format!("an entry does not fit the game that it was judged on: {error}"),
        })?;
    let sequence = live.sequence + 1;
    let time_us = arrival_us.max(live.update_time_us);
    let history = after.history();
    let points = after.profile().parameters.points;
    let event = v1::GameEvent {
        sequence,
        event_time: Some(view::timestamp(time_us)),
        action: Some(message.clone()),
        ruling: Some(ruling.clone()),
        r#move: played,
        fen: after.position().to_string(),
        ply: history.ply(),
        repetitions: history.repetitions(),
        halfmove_clock: history.halfmove_clock(),
        draw_offer: view::seat(after.standing().draw_offer).into(),
        outcome: Some(view::outcome(after.outcome(), points)),
        judged_by: Some(v1::Judge {
            referee_version: env!("CARGO_PKG_VERSION").to_owned(),
            edition: after.profile().edition.to_owned(),
        }),
        bound_move: view::bound_move(after.standing().bound),
        standing: Some(write_standing(&after)),
        ledger: effects.ledger.iter().map(write_line).collect(),
        move_illegal: effects.is_illegal,
        reinstated_ply: effects.reinstated,
    };
    let write = Write::Entry {
        bytes: event.encode_to_vec(),
        state: state(&after, sequence).into(),
        update_time_us: time_us,
        deadline_us: deadline_us(&after),
    };
    let response = v1::SubmitActionResponse {
        ruling: Some(ruling),
        event: Some(event),
        sequence,
    };
    Ok(LaidDown {
        response,
        write,
        after: Some(after),
    })
}

/// The move of an event in all its forms; an illegal one that stands has only one.
fn played_move(position: &Position, uci: UciMove) -> v1::Move {
    match position.find_uci(uci) {
        Some(mv) => view::legal_move(position, mv),
        None => v1::Move {
            uci: uci.to_string(),
            ..v1::Move::default()
        },
    }
}
