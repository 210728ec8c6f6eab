//! What a position and its history mean for the game: ends that need no claim, claims, counts.

use referee_chess::{Color, Move, Piece, Position, Square, UciMove};

use crate::action::DrawClaim;
use crate::dead::{CanMate, can_mate};
use crate::history::History;
use crate::outcome::{Evidence, Outcome, Termination};
use crate::profile::{DrawRule, Profile};

/// Half-moves without a capture or a pawn move that make a claim of fifty moves correct (9.3).
const FIFTY_MOVES: u32 = 100;
/// Half-moves without a capture or a pawn move that end the game (9.6.2).
const SEVENTY_FIVE_MOVES: u32 = 150;
/// Occurrences of a position that make a claim correct (9.2).
const THREEFOLD: u32 = 3;
/// Occurrences of a position that end the game (9.6.1).
const FIVEFOLD: u32 = 5;

/// A draw that the side to move can claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableClaim {
    /// What can be claimed.
    pub claim: DrawClaim,
    /// The move to announce; `None` where the position on the board is enough.
    pub intended: Option<UciMove>,
}

/// What a position and its history mean for the game.
#[derive(Clone, Debug)]
pub struct Adjudication {
    /// The end that needs no claim and no clock, or `None` where the game goes on.
    pub outcome: Option<Outcome>,
    /// The pieces that give check.
    pub checkers: Vec<(Square, Piece)>,
    /// The plies at which the position stood, oldest first; the last is now.
    pub repetition_plies: Vec<u32>,
    /// The number of half-moves since the last capture or pawn move.
    pub halfmove_clock: u32,
    /// The draws that the side to move can claim now: on the board first, then with a move.
    pub available_claims: Vec<AvailableClaim>,
    /// Whether White can still mate.
    pub white_can_mate: CanMate,
    /// Whether Black can still mate.
    pub black_can_mate: CanMate,
}

impl Adjudication {
    /// Judges the position on the board.
    #[must_use]
    pub fn of(history: &History, profile: &Profile) -> Adjudication {
        let position = history.position();
        let outcome = end_on_board(history, profile);
        let available_claims = if outcome.is_some() {
            Vec::new()
        } else {
            available_claims(history, profile)
        };
        Adjudication {
            outcome,
            checkers: pieces_on(position, position.checkers()),
            repetition_plies: history.repetition_plies(),
            halfmove_clock: history.halfmove_clock(),
            available_claims,
            white_can_mate: can_mate(position, Color::White),
            black_can_mate: can_mate(position, Color::Black),
        }
    }
}

/// Returns the end of the game that the position on the board and its history bring about without
/// a claim and without the clock, or `None` where the game goes on.
///
/// The order is that of the Laws: mate before all draws (5.1.1, 9.6.2), then stalemate, the dead
/// position and the counts, of which only the reported reason depends on the order.
pub(crate) fn end_on_board(history: &History, profile: &Profile) -> Option<Outcome> {
    let position = history.position();
    if !position.has_legal_moves() {
        return Some(end_without_moves(position));
    }
    end_by_draw(history, profile)
}

fn end_without_moves(position: &Position) -> Outcome {
    if position.is_check() {
        Outcome::checkmate(!position.turn(), check_evidence(position))
    } else {
        Outcome::draw(Termination::Stalemate, "5.2.1")
    }
}

/// The ends of [`end_on_board`] other than mate and stalemate.
pub(crate) fn end_by_draw(history: &History, profile: &Profile) -> Option<Outcome> {
    let parameters = &profile.parameters;
    if let Some(outcome) = end_by_dead_position(history.position()) {
        return Some(outcome);
    }
    // Fewer than four half-moves cannot bring a position back, nor fifty moves be completed.
    if history.halfmove_clock() >= 4 {
        let repetitions = history.repetitions();
        if repetitions >= FIVEFOLD && parameters.fivefold {
            return Some(by_repetition(history, Termination::Fivefold, "9.6.1"));
        }
        if repetitions >= THREEFOLD && parameters.threefold == DrawRule::Automatic {
            return Some(by_repetition(
                history,
                Termination::ThreefoldAutomatic,
                "9.2.2",
            ));
        }
    }
    let clock = history.halfmove_clock();
    if clock >= SEVENTY_FIVE_MOVES && parameters.seventy_five {
        return Some(by_count(history, Termination::SeventyFive, "9.6.2"));
    }
    if clock >= FIFTY_MOVES && parameters.fifty == DrawRule::Automatic {
        return Some(by_count(history, Termination::FiftyAutomatic, "9.3.2"));
    }
    None
}

fn end_by_dead_position(position: &Position) -> Option<Outcome> {
    let white = can_mate(position, Color::White).no_mate()?;
    let black = can_mate(position, Color::Black).no_mate()?;
    let draw = Outcome::draw(Termination::DeadPosition, "5.2.2");
    Some(
        draw.with(Evidence::NoMate(white))
            .with(Evidence::NoMate(black)),
    )
}

fn by_repetition(history: &History, termination: Termination, article: &'static str) -> Outcome {
    let evidence = Evidence::Repetition(history.repetition_plies());
    Outcome::draw(termination, article)
        .citing("9.2.3")
        .with(evidence)
}

fn by_count(history: &History, termination: Termination, article: &'static str) -> Outcome {
    Outcome::draw(termination, article).with(count_evidence(history))
}

pub(crate) fn count_evidence(history: &History) -> Evidence {
    Evidence::MoveCount {
        halfmove_clock: history.halfmove_clock(),
        last_reset_ply: history.last_reset_ply(),
    }
}

fn check_evidence(position: &Position) -> Evidence {
    Evidence::Check {
        king: position.king(position.turn()),
        attackers: pieces_on(position, position.checkers()),
    }
}

fn pieces_on(position: &Position, squares: referee_chess::Bitboard) -> Vec<(Square, Piece)> {
    squares
        .into_iter()
        .filter_map(|square| Some((square, position.board().piece_at(square)?)))
        .collect()
}

/// Whether a claim holds, and what shows it either way.
pub(crate) struct ClaimFinding {
    pub(crate) holds: bool,
    pub(crate) article: &'static str,
    pub(crate) evidence: Evidence,
}

/// Looks at a claim of the side to move: of the position on the board, or of the one after an
/// announced legal move.
pub(crate) fn examine_claim(
    history: &History,
    claim: DrawClaim,
    intended: Option<Move>,
) -> ClaimFinding {
    match (claim, intended) {
        (DrawClaim::Threefold, None) => {
            let plies = history.repetition_plies();
            ClaimFinding {
                holds: plies.len() as u32 >= THREEFOLD,
                article: "9.2.2",
                evidence: Evidence::Repetition(plies),
            }
        }
        (DrawClaim::Threefold, Some(mv)) => {
            let plies = history.repetition_plies_after(mv);
            ClaimFinding {
                holds: plies.len() as u32 >= THREEFOLD,
                article: "9.2.1",
                evidence: Evidence::Repetition(plies),
            }
        }
        (DrawClaim::Fifty, None) => ClaimFinding {
            holds: history.halfmove_clock() >= FIFTY_MOVES,
            article: "9.3.2",
            evidence: count_evidence(history),
        },
        (DrawClaim::Fifty, Some(mv)) => {
            let clock = history.position().after_unchecked(mv).halfmove_clock();
            let last_reset_ply = if clock == 0 {
                history.ply() + 1
            } else {
                history.last_reset_ply()
            };
            ClaimFinding {
                holds: clock >= FIFTY_MOVES,
                article: "9.3.1",
                evidence: Evidence::MoveCount {
                    halfmove_clock: clock,
                    last_reset_ply,
                },
            }
        }
    }
}

fn available_claims(history: &History, profile: &Profile) -> Vec<AvailableClaim> {
    let mut claims = Vec::new();
    let parameters = &profile.parameters;
    for (claim, rule) in [
        (DrawClaim::Threefold, parameters.threefold),
        (DrawClaim::Fifty, parameters.fifty),
    ] {
        if rule == DrawRule::Claim {
            if examine_claim(history, claim, None).holds {
                claims.push(AvailableClaim {
                    claim,
                    intended: None,
                });
            }
            if may_hold_with_a_move(history, claim) {
                claims.extend(with_moves(history, claim));
            }
        }
    }
    claims.sort_by_key(|claim| claim.intended.is_some());
    claims
}

/// Whether it is worth looking at every move for a claim.
fn may_hold_with_a_move(history: &History, claim: DrawClaim) -> bool {
    match claim {
        DrawClaim::Threefold => history.can_move_repeat(),
        DrawClaim::Fifty => history.halfmove_clock() + 1 >= FIFTY_MOVES,
    }
}

fn with_moves(history: &History, claim: DrawClaim) -> Vec<AvailableClaim> {
    let position = history.position();
    let mut claims: Vec<AvailableClaim> = position
        .legal_moves()
        .into_iter()
        .filter(|&mv| examine_claim(history, claim, Some(mv)).holds)
        .map(|mv| AvailableClaim {
            claim,
            intended: Some(position.uci(mv)),
        })
        .collect();
    claims.sort_by_cached_key(|claim| claim.intended.map(|mv| mv.to_string()));
    claims
}
