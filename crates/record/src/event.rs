//! From a judgment to what is answered and what is to be stored.

use prost::Message;
use referee_api::v1;
use referee_chess::{Position, UciMove};
use referee_laws::{Effects, Game, Judgment, LedgerLine};

use crate::convert::clocks::write_line;
use crate::convert::conduct::write_conduct;
use crate::convert::position::write_move;
use crate::convert::ruling::{write_bound, write_outcome, write_ruling};
use crate::convert::time::write_us;
use crate::error::Error;
use crate::folded::{FoldedGame, state, write_offer};
use crate::judge::write_judge;
use crate::personal::{Private, Salt, split};

/// A judgment, as it is answered and stored.
#[derive(Clone, Debug)]
pub struct PendingEvent {
    /// What is answered, once it is stored.
    pub response: v1::SubmitActionResponse,
    /// What is to be stored.
    pub write: PendingWrite,
    /// The game after it, where it leaves a trace.
    pub after: Option<FoldedGame>,
}

/// What is to be stored of a judgment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingWrite {
    /// The next entry of the record.
    Entry {
        /// The event, without text about persons.
        bytes: Vec<u8>,
        /// That text, where there is any.
        private: Option<Private>,
        /// The stage of the game after it.
        state: v1::game::State,
        /// When it happened, in microseconds since 1970.
        update_time_us: i64,
        /// When the game is due if nothing happens before; see [`FoldedGame::deadline_us`].
        deadline_us: Option<i64>,
        /// Whether who can mate is to be looked into, which takes longer than a ruling may.
        asks: bool,
    },
    /// No entry: the answer alone, for repetitions of the request.
    Refusal {
        /// The response.
        answer: Vec<u8>,
    },
}

/// Returns the judgment on an action as the answer and as what is to be stored. The action arrived
/// so many microseconds after the beginning of 1970, and came from a principal, which is empty
/// where the referee acts by itself. A salt is drawn where text about persons is to be kept.
///
/// # Errors
///
/// [`Error::Misjudged`] where its entry does not fit the game that it was judged on.
pub fn build_event(
    folded: &FoldedGame,
    message: &v1::Action,
    judgment: Judgment,
    arrival_us: i64,
    principal: &str,
    salt: impl FnOnce() -> Salt,
) -> Result<PendingEvent, Error> {
    let ruling = write_ruling(&judgment.ruling, folded.game.keeper());
    let Some(entry) = judgment.entry else {
        return Ok(refusal(folded.sequence, ruling));
    };
    let effects = entry.effects;
    let played = write_played(&folded.game, &effects);
    let mut game = folded.game.clone();
    game.apply(&effects).map_err(|error| Error::Misjudged {
        what: error.to_string(),
    })?;
    let after = FoldedGame {
        genesis: folded.genesis.clone(),
        game,
        sequence: folded.sequence + 1,
        update_time_us: arrival_us.max(folded.update_time_us),
    };
    let mut event = v1::GameEvent {
        action: Some(message.clone()),
        ruling: Some(ruling),
        r#move: played,
        ledger: write_ledger(&after.game, &effects.ledger),
        move_illegal: effects.is_illegal,
        reinstated_ply: effects.reinstated,
        principal: principal.to_owned(),
        ..write_after(&after)
    };
    let (bytes, private) = split(&mut event, salt);
    let write = PendingWrite::Entry {
        bytes,
        private,
        state: state(&after.game, after.sequence),
        update_time_us: after.update_time_us,
        deadline_us: after.deadline_us(),
        asks: after.game.asks_about_mate(),
    };
    Ok(PendingEvent {
        response: answer_of(event),
        write,
        after: Some(after),
    })
}

fn write_ledger(game: &Game, ledger: &[LedgerLine]) -> Vec<v1::LedgerLine> {
    let lines = ledger.iter();
    lines.map(|line| write_line(line, game.keeper())).collect()
}

/// Returns the answer to the action of an event.
#[must_use]
pub fn answer_of(event: v1::GameEvent) -> v1::SubmitActionResponse {
    v1::SubmitActionResponse {
        ruling: event.ruling.clone(),
        sequence: event.sequence,
        event: Some(event),
    }
}

fn refusal(sequence: i64, ruling: v1::Ruling) -> PendingEvent {
    let response = v1::SubmitActionResponse {
        ruling: Some(ruling),
        event: None,
        sequence,
    };
    let answer = response.encode_to_vec();
    PendingEvent {
        response,
        write: PendingWrite::Refusal { answer },
        after: None,
    }
}

/// Writes what an event tells of the game after it.
pub(crate) fn write_after(after: &FoldedGame) -> v1::GameEvent {
    let game = &after.game;
    let history = game.history();
    let points = game.profile().parameters.points;
    v1::GameEvent {
        sequence: after.sequence,
        event_time: Some(write_us(after.update_time_us)),
        fen: game.position().to_string(),
        ply: history.ply(),
        repetitions: history.repetitions(),
        halfmove_clock: history.halfmove_clock(),
        draw_offer: write_offer(game).into(),
        outcome: Some(write_outcome(game.outcome(), points, game.keeper())),
        judged_by: Some(write_judge(game.profile())),
        bound_move: write_bound(game.conduct().bound),
        conduct: Some(write_conduct(game)),
        ..v1::GameEvent::default()
    }
}

/// Writes the move that effects play, in the position that they play it in.
fn write_played(before: &Game, effects: &Effects) -> Option<v1::Move> {
    let uci = effects.played?;
    let history = before.history();
    Some(match effects.reinstated {
        None => write_any_move(history.position(), uci),
        Some(ply) => {
            let mut history = history.clone();
            history.reinstate(ply);
            write_any_move(history.position(), uci)
        }
    })
}

/// Writes a move in all its forms; an illegal one that stands has only one.
fn write_any_move(position: &Position, uci: UciMove) -> v1::Move {
    match position.find_uci(uci) {
        Some(mv) => write_move(position, mv),
        None => v1::Move {
            uci: uci.to_string(),
            ..v1::Move::default()
        },
    }
}
