//! Claims of a draw by repetition or by fifty moves: whether they hold, and which could be made.

use referee_chess::{Move, MoveKind, UciMove};

use crate::action::ClaimKind;
use crate::counts::{CaptureCount, FIFTY_MOVES, THREEFOLD, fifty_count, last_progress};
use crate::history::History;
use crate::outcome::Evidence;
use crate::profile::{DrawRule, FiftyReset, Profile};

/// A draw that the side to move can claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvailableClaim {
    /// What can be claimed.
    pub claim: ClaimKind,
    /// The move to announce; `None` where the position on the board is enough.
    pub intended: Option<UciMove>,
}

/// What is counted for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The occurrences of a position (9.2).
    Threefold,
    /// The moves without a capture or a pawn move (9.3).
    Fifty,
}

impl Counted {
    /// Returns the claim that it is for.
    pub(crate) const fn claim(self) -> ClaimKind {
        match self {
            Counted::Threefold => ClaimKind::Threefold,
            Counted::Fifty => ClaimKind::Fifty,
        }
    }

    /// Returns the rule of a profile for it.
    pub(crate) const fn rule(self, profile: &Profile) -> DrawRule {
        match self {
            Counted::Threefold => profile.parameters.threefold,
            Counted::Fifty => profile.parameters.fifty,
        }
    }
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
    captures: CaptureCount,
    profile: &Profile,
    counted: Counted,
    intended: Option<Move>,
) -> ClaimFinding {
    match counted {
        Counted::Threefold => {
            let (article, plies) = match intended {
                None => ("9.2.2", history.repetition_plies()),
                Some(mv) => ("9.2.1", history.repetition_plies_after(mv)),
            };
            ClaimFinding {
                holds: plies.len() as u32 >= THREEFOLD,
                article,
                evidence: Evidence::Repetition(plies),
            }
        }
        Counted::Fifty => {
            let reset = profile.parameters.fifty_reset;
            let last = last_progress(history, profile);
            let count = fifty_count(history, captures, profile);
            let (article, halfmove_clock, last_reset_ply) = match intended {
                None => ("9.3.2", count, last),
                Some(mv) if resets(history, reset, mv) => ("9.3.1", 0, history.ply() + 1),
                Some(_) => ("9.3.1", count + 1, last),
            };
            ClaimFinding {
                holds: halfmove_clock >= FIFTY_MOVES,
                article,
                evidence: Evidence::MoveCount {
                    halfmove_clock,
                    last_reset_ply,
                },
            }
        }
    }
}

/// Whether a legal move begins the count of fifty moves anew.
fn resets(history: &History, reset: FiftyReset, mv: Move) -> bool {
    let position = history.position();
    match reset {
        FiftyReset::PawnOrCapture => position.after_unchecked(mv).halfmove_clock() == 0,
        FiftyReset::Capture => {
            mv.kind() == MoveKind::EnPassant
                || (mv.kind() != MoveKind::Castle && position.board().occupied().contains(mv.to()))
        }
    }
}

/// Returns the draws that the side to move can claim: on the board first, then with a move.
pub(crate) fn available_claims(
    history: &History,
    captures: CaptureCount,
    profile: &Profile,
) -> Vec<AvailableClaim> {
    let mut claims = Vec::new();
    let holds = |counted, intended| match (counted, intended) {
        (Counted::Threefold, None) => history.repetitions() >= THREEFOLD,
        (Counted::Threefold, Some(mv)) => history.repetitions_after(mv) >= THREEFOLD,
        _ => examine_claim(history, captures, profile, counted, intended).holds,
    };
    for counted in [Counted::Threefold, Counted::Fifty] {
        if !matches!(
            counted.rule(profile),
            DrawRule::Claim | DrawRule::ClaimByEither
        ) {
            continue;
        }
        let claim = counted.claim();
        if holds(counted, None) {
            claims.push(AvailableClaim {
                claim,
                intended: None,
            });
        }
        if profile.parameters.claim_with_intended_move
            && may_hold_with_a_move(history, captures, profile, counted)
        {
            let position = history.position();
            let mut with_moves: Vec<AvailableClaim> = position
                .legal_moves()
                .into_iter()
                .filter(|&mv| holds(counted, Some(mv)))
                .map(|mv| AvailableClaim {
                    claim,
                    intended: Some(position.uci(mv)),
                })
                .collect();
            with_moves.sort_by_cached_key(|claim| claim.intended.map(|mv| mv.to_string()));
            claims.extend(with_moves);
        }
    }
    claims.sort_by_key(|claim| claim.intended.is_some());
    claims
}

/// Whether it is worth looking at every move for a claim.
fn may_hold_with_a_move(
    history: &History,
    captures: CaptureCount,
    profile: &Profile,
    counted: Counted,
) -> bool {
    match counted {
        Counted::Threefold => history.can_move_repeat(),
        Counted::Fifty => fifty_count(history, captures, profile) + 1 >= FIFTY_MOVES,
    }
}
