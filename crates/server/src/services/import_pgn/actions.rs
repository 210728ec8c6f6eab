//! What an imported game is played through with: every move as an action with what the text shows
//! of its time, and what ended the game.

use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::arbiter_decision::Kind as Decided;
use referee_chess::Color;
use referee_laws::{GameResult, Seat};
use referee_pgn::Game;
use referee_record::convert::InContract;
use referee_record::convert::action::{Submitted, read_action};
use referee_record::convert::time::write_ms;
use referee_review::TimedMove;

use super::super::imported::{clock_id, end_id, move_id};
use crate::error::ServiceError;

/// An action, as a message and as the rules know it.
pub(super) type Imported = (v1::Action, Submitted);

/// What the record says, as the reason of what the arbiter decides for it.
const SHOWN: &str = "The imported record shows this clock.";
const SAID: &str = "The imported record says so.";
/// What records call a game in which a player ran out of time.
const OUT_OF_TIME: [&str; 4] = ["time forfeit", "on time", "timeout", "time out"];

/// Returns every move as an action with the time that it took, and the clocks that are set.
pub(super) fn write_moves(game: &Game, moves: &[TimedMove]) -> Result<Vec<Imported>, ServiceError> {
    let mut actions = Vec::with_capacity(moves.len());
    for (index, mv) in moves.iter().enumerate() {
        let note = game.notes.get(index);
        let shows_elapsed = match (note.elapsed, mv.elapsed_ms) {
            (Some(told), Some(ms)) => told.as_millis() == u128::from(ms),
            _ => false,
        };
        let id = move_id(index, note.clock.is_some(), shows_elapsed);
        actions.push(import_move(id, mv)?);
        if let Some(left_ms) = mv.set_ms {
            actions.push(import_clock(index, mv.side, left_ms)?);
        }
    }
    Ok(actions)
}

/// Returns an action under an id of an import, as a message and as the rules know it.
fn imported(
    request_id: String,
    seat: Seat,
    kind: Kind,
    elapsed_ms: Option<u64>,
) -> Result<Imported, ServiceError> {
    let platform_time = elapsed_ms.map(|ms| v1::PlatformTime {
        kind: Some(v1::platform_time::Kind::Elapsed(write_ms(ms))),
    });
    let message = v1::Action {
        seat: seat.to_v1().into(),
        // It is read under an id that a caller could send.
        request_id: "import".to_owned(),
        kind: Some(kind),
        platform_time,
        ..v1::Action::default()
    };
    let submitted = read_action(&message)?;
    let message = v1::Action {
        request_id,
        ..message
    };
    Ok((message, submitted))
}

fn import_move(request_id: String, mv: &TimedMove) -> Result<Imported, ServiceError> {
    let kind = Kind::MakeMove(v1::MakeMove {
        r#move: mv.uci.to_string(),
        ..v1::MakeMove::default()
    });
    imported(request_id, Seat::Player(mv.side), kind, mv.elapsed_ms)
}

fn import_clock(index: usize, side: Color, left_ms: u64) -> Result<Imported, ServiceError> {
    let of = |color| (side == color).then(|| write_ms(left_ms));
    let decided = Decided::SetClocks(v1::SetClocks {
        white: of(Color::White),
        black: of(Color::Black),
    });
    let kind = decide(SHOWN, decided);
    imported(clock_id(index), Seat::Arbiter, kind, None)
}

fn decide(reason: &str, decided: Decided) -> Kind {
    Kind::ArbiterDecision(v1::ArbiterDecision {
        reason: reason.to_owned(),
        kind: Some(decided),
        ..v1::ArbiterDecision::default()
    })
}

/// Returns what can have ended a game with such a result, by what the tag `Termination` says of it
/// (PGN standard 9.8.1, and the words of the large servers): what tells most comes first. The last
/// one, a result that was signed, tells nothing but the result.
pub(super) fn write_ends(
    result: GameResult,
    termination: Option<&str>,
    on_move: Color,
) -> Result<Vec<Imported>, ServiceError> {
    let said = termination.unwrap_or_default().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let mut kinds = Vec::new();
    match result {
        GameResult::WinByForfeit(winner) => kinds.push(forfeit(!winner)),
        GameResult::BothForfeit => {
            let both = Decided::DeclareDoubleForfeit(v1::DeclareDoubleForfeit {});
            kinds.push(decide(SAID, both));
        }
        GameResult::BothLose | GameResult::Half(_) => kinds.extend(set_score(result)),
        GameResult::Win(winner) if has(&OUT_OF_TIME) => kinds.push(flag(!winner)),
        GameResult::Draw if has(&OUT_OF_TIME) => kinds.push(flag(on_move)),
        GameResult::Win(winner) if has(&["rules infraction"]) => kinds.push(lost(!winner)),
        GameResult::Win(_) | GameResult::Draw if has(&["adjudicat"]) => {
            kinds.extend(set_score(result));
        }
        _ => {}
    }
    kinds.push(Kind::SignResult(v1::SignResult {
        result: result.to_v1().into(),
    }));
    let ends = kinds.into_iter();
    ends.map(|kind| imported(end_id(), Seat::Arbiter, kind, None))
        .collect()
}

fn flag(side: Color) -> Kind {
    Kind::ReportFlag(v1::ReportFlag {
        side: side.to_v1().into(),
        ..v1::ReportFlag::default()
    })
}

fn forfeit(side: Color) -> Kind {
    let side = side.to_v1().into();
    decide(SAID, Decided::DeclareForfeit(v1::DeclareForfeit { side }))
}

fn lost(side: Color) -> Kind {
    let lost = v1::DeclareLost {
        side: side.to_v1().into(),
        opponent_score: v1::Score::One.into(),
        device_found: false,
    };
    decide(SAID, Decided::DeclareLost(lost))
}

fn set_score(result: GameResult) -> Option<Kind> {
    let (zero, half, one) = (v1::Score::Zero, v1::Score::Half, v1::Score::One);
    let (white, black) = match result {
        GameResult::Win(Color::White) => (one, zero),
        GameResult::Win(Color::Black) => (zero, one),
        GameResult::Draw => (half, half),
        GameResult::BothLose => (zero, zero),
        GameResult::Half(Color::White) => (half, zero),
        GameResult::Half(Color::Black) => (zero, half),
        _ => return None,
    };
    let score = v1::SetScore {
        white: white.into(),
        black: black.into(),
    };
    Some(decide(SAID, Decided::SetScore(score)))
}
