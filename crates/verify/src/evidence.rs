//! The end of a game and the evidence of its rulings, held against the board of the oracle.

use referee_api::v1;
use referee_api::v1::evidence::Kind;
use referee_chess::mailbox::Mailbox;
use referee_chess::{Color, Piece, Role, Setup, Square};

use crate::board::{Board, read_uci};
use crate::limits::MATING_LINE_MOVES_MAX;

/// The occurrences for a claim of threefold repetition (9.2).
const THREEFOLD: usize = 3;
/// The occurrences that end a game (9.6.1).
const FIVEFOLD: usize = 5;
/// The half-moves for a claim of fifty moves (9.3).
const FIFTY_MOVES: u32 = 100;
/// The half-moves that end a game (9.6.2).
const SEVENTY_FIVE_MOVES: u32 = 150;

/// Checks what an entry says about its position; `is_new` is whether the outcome is of this entry.
pub(crate) fn check(board: &Board, event: &v1::GameEvent, is_new: bool, faults: &mut Vec<String>) {
    let outcome = event.outcome.clone().unwrap_or_default();
    let ruling = event.ruling.clone().unwrap_or_default();
    let mut evidence: Vec<&v1::Evidence> = ruling.evidence.iter().collect();
    if is_new {
        evidence.extend(&outcome.evidence);
        check_end(board, &outcome, faults);
    }
    for one in evidence {
        if let Err(text) = check_one(board, event, one) {
            faults.push(text);
        }
    }
    let goes_on = matches!(
        outcome.result(),
        v1::GameResult::Ongoing | v1::GameResult::Unspecified
    );
    // A move in breach of touch-move does not end the game by what it brings on the board (5.1.1,
    // 5.2.1).
    let breach_ply = event.conduct.as_ref().and_then(|it| it.breach_ply);
    let is_in_breach = breach_ply.is_some_and(|ply| ply + 1 == board.ply());
    let may_go_on = is_in_breach || board.is_irregular();
    if goes_on && !may_go_on && board.position().legal_moves().is_empty() {
        faults.push("the game goes on although the side to move has no legal move".into());
    }
}

/// Checks an end that the board alone can tell.
fn check_end(board: &Board, outcome: &v1::Outcome, faults: &mut Vec<String>) {
    use v1::Termination as End;
    let position = board.position();
    let repetitions = outcome.evidence.iter().find_map(|one| match &one.kind {
        Some(Kind::Repetition(found)) => Some(found.plies.len()),
        _ => None,
    });
    let moves = outcome.evidence.iter().find_map(|one| match &one.kind {
        Some(Kind::MoveCount(found)) => Some(found.halfmove_clock),
        _ => None,
    });
    let (is_so, result) = match outcome.termination() {
        End::Checkmate => {
            let winner = match position.turn() {
                Color::White => v1::GameResult::BlackWins,
                Color::Black => v1::GameResult::WhiteWins,
            };
            (position.is_checkmate(), Some(winner))
        }
        End::Stalemate => (position.is_stalemate(), Some(v1::GameResult::Draw)),
        End::Fivefold => (repetitions >= Some(FIVEFOLD), Some(v1::GameResult::Draw)),
        End::ThreefoldClaim | End::ThreefoldAuto => {
            (repetitions >= Some(THREEFOLD), Some(v1::GameResult::Draw))
        }
        End::SeventyFive => (
            moves >= Some(SEVENTY_FIVE_MOVES),
            Some(v1::GameResult::Draw),
        ),
        End::FiftyClaim | End::FiftyAuto => {
            (moves >= Some(FIFTY_MOVES), Some(v1::GameResult::Draw))
        }
        _ => (true, None),
    };
    let name = outcome.termination().as_str_name();
    if !is_so {
        faults.push(format!("{name} is not so on the board"));
    }
    if result.is_some_and(|result| result != outcome.result()) {
        let told = outcome.result().as_str_name();
        faults.push(format!("{name} cannot lead to {told}"));
    }
}

fn check_one(board: &Board, event: &v1::GameEvent, one: &v1::Evidence) -> Result<(), String> {
    match &one.kind {
        Some(Kind::Repetition(found)) => check_repetition(board, &found.plies),
        Some(Kind::MoveCount(found)) => check_count(board, event, found),
        Some(Kind::Check(found)) => check_check(board, found),
        Some(Kind::MatingLine(line)) => check_line(board, line),
        Some(Kind::NoMate(proof)) if proof.kind() == v1::no_mate_evidence::Kind::GameOver => {
            if board.position().legal_moves().is_empty() {
                Ok(())
            } else {
                Err("a proof says that the game is over on the board, and it is not".into())
            }
        }
        // Proofs and clocks are judged anew with the ruling; kinds that are unknown are skipped.
        _ => Ok(()),
    }
}

/// The plies must be of one position: that on the board, or one that a move leads to.
fn check_repetition(board: &Board, plies: &[u32]) -> Result<(), String> {
    let wrong = || {
        Err(format!(
            "the position did not stand at all of the plies {plies:?}"
        ))
    };
    let Some((&last, earlier)) = plies.split_last() else {
        return Err("a repetition without plies".into());
    };
    if !plies.is_sorted_by(|one, other| one < other) {
        return Err(format!(
            "the plies {plies:?} of a repetition are not in order"
        ));
    }
    let is_intended = last == board.ply() + 1;
    if !is_intended && last != board.ply() {
        return Err(format!(
            "the repetition {plies:?} does not end at the position on the board"
        ));
    }
    let first = earlier.first().copied().unwrap_or(last);
    if !earlier.iter().all(|&ply| board.is_same(first, ply)) {
        return wrong();
    }
    if is_intended {
        return if earlier.is_empty() || board.can_move_to(first) {
            Ok(())
        } else {
            wrong()
        };
    }
    if !board.is_same(first, last) || plies.len() != board.repetitions() as usize {
        return wrong();
    }
    Ok(())
}

/// The count must be that on the board, or with one more move.
fn check_count(
    board: &Board,
    event: &v1::GameEvent,
    found: &v1::MoveCountEvidence,
) -> Result<(), String> {
    let count = board.setup().halfmove_clock;
    let told = (found.halfmove_clock, found.last_reset_ply);
    let on_board = (count, board.last_reset_ply());
    let is_intended = matches!(
        event.action.as_ref().and_then(|action| action.kind.as_ref()),
        Some(v1::action::Kind::MakeClaim(claim)) if !claim.intended_move.is_empty()
    );
    let is_so = if board.counts_captures() {
        // What was counted before the game began is not known here, so it may be more.
        told.1 <= board.ply() + 1
    } else if is_intended {
        told == (count + 1, on_board.1) || told == (0, board.ply() + 1)
    } else {
        told == on_board
    };
    if is_so {
        Ok(())
    } else {
        Err(format!(
            "a count says {} half-moves since ply {}, the board says {count} since ply {}",
            told.0, told.1, on_board.1
        ))
    }
}

fn check_check(board: &Board, found: &v1::CheckEvidence) -> Result<(), String> {
    let position = board.position();
    let us = position.turn();
    let king = Piece {
        color: us,
        role: Role::King,
    };
    let at: Option<Square> = found.king_square.parse().ok();
    let Some(at) = at.filter(|&at| position.piece_at(at) == Some(king)) else {
        return Err(format!(
            "there is no king in check on {:?}",
            found.king_square
        ));
    };
    let told: Vec<&str> = found
        .attackers
        .iter()
        .map(|man| man.square.as_str())
        .collect();
    let attackers: Vec<String> = Square::all()
        .filter(|&from| position.piece_at(from).is_some_and(|man| man.color != us))
        .filter(|&from| attacks(board.setup(), from, at))
        .map(|from| from.to_string())
        .collect();
    if told != attackers {
        return Err(format!(
            "check is said to come from {told:?}, but comes from {attackers:?}"
        ));
    }
    Ok(())
}

/// Whether the man on one square attacks another: whether it is attacked when all other men of
/// that color are men of the other, who stand in the way all the same.
fn attacks(setup: &Setup, from: Square, to: Square) -> bool {
    let Some(attacker) = setup.board.piece_at(from) else {
        return false;
    };
    let mut alone = setup.clone();
    for square in Square::all().filter(|&square| square != from) {
        let man = setup.board.piece_at(square);
        if man.is_some_and(|man| man.color == attacker.color) {
            alone.board.take(square);
            alone.board.put(
                square,
                Piece {
                    color: !attacker.color,
                    role: Role::Knight,
                },
            );
        }
    }
    Mailbox::from(&alone).is_attacked(to, attacker.color)
}

/// The line must be legal from the position on the board and end in mate.
fn check_line(board: &Board, line: &v1::MatingLineEvidence) -> Result<(), String> {
    if line.moves.len() > MATING_LINE_MOVES_MAX {
        return Err("a mating line is longer than any game".into());
    }
    let (mut position, mut setup) = (board.position().clone(), board.setup().clone());
    for text in &line.moves {
        let mv = read_uci(&position, &setup, text)?;
        if !position.is_legal(mv) {
            return Err(format!("the move {text:?} of a mating line is not legal"));
        }
        position = position.after_unchecked(mv);
        setup = position.to_setup();
    }
    let winner = match position.turn() {
        Color::White => v1::Color::Black,
        Color::Black => v1::Color::White,
    };
    if !position.is_checkmate() || line.side() != winner {
        return Err(format!(
            "a mating line of {} moves does not end in mate by {}",
            line.moves.len(),
            line.side().as_str_name()
        ));
    }
    Ok(())
}
