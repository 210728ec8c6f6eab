//! From the rules to the contract: rulings, outcomes, and what a position means.

use referee_api::v1;
use referee_laws::{Adjudication, Bound, Evidence, Keeper, Outcome, Points, Ruling};

use super::citation::write_citation;
use super::enums::{InContract, can_mate_name, write_optional};
use super::evidence::write_evidence;
use super::position::{write_illegal_move, write_piece};

fn write_all_evidence(evidence: &[Evidence], keeper: Keeper) -> Vec<v1::Evidence> {
    let evidence = evidence.iter();
    evidence.map(|one| write_evidence(one, keeper)).collect()
}

/// Writes the end of a game, or that there is none; the points are those of a scoring, the times
/// those of who keeps the time of the game.
#[must_use]
pub fn write_outcome(outcome: Option<&Outcome>, points: Points, keeper: Keeper) -> v1::Outcome {
    let Some(outcome) = outcome else {
        return v1::Outcome {
            result: v1::GameResult::Ongoing.into(),
            ..v1::Outcome::default()
        };
    };
    let half_points = outcome.result.half_points(points);
    v1::Outcome {
        result: outcome.result.to_v1().into(),
        termination: outcome.termination.to_v1().into(),
        citations: outcome.citations.iter().map(write_citation).collect(),
        evidence: write_all_evidence(&outcome.evidence, keeper),
        provisional: outcome.provisional,
        text: outcome.text.clone(),
        white_half_points: half_points.map(|(white, _)| white),
        black_half_points: half_points.map(|(_, black)| black),
        confirmed: outcome.confirmed,
    }
}

/// Writes what the referee says to an action; the times are those of who keeps the time of the
/// game.
#[must_use]
pub fn write_ruling(ruling: &Ruling, keeper: Keeper) -> v1::Ruling {
    v1::Ruling {
        verdict: ruling.verdict.to_v1().into(),
        reason: write_optional(ruling.reason).into(),
        improper: ruling.improper,
        illegal_move: ruling.illegal_move.as_ref().map(write_illegal_move),
        citations: ruling.citations.iter().map(write_citation).collect(),
        evidence: write_all_evidence(&ruling.evidence, keeper),
        provisional: ruling.provisional,
        text: ruling.text.clone(),
    }
}

/// Writes what a position and its history mean for the game.
#[must_use]
pub fn write_adjudication(found: &Adjudication, points: Points) -> v1::Adjudication {
    v1::Adjudication {
        // What a position decides by itself names no time.
        outcome: Some(write_outcome(
            found.outcome.as_ref(),
            points,
            Keeper::Platform,
        )),
        check: !found.checkers.is_empty(),
        checkers: found.checkers.iter().map(write_piece).collect(),
        repetitions: found.repetition_plies.len() as u32,
        repetition_plies: found.repetition_plies.clone(),
        halfmove_clock: found.halfmove_clock,
        available_claims: found
            .available_claims
            .iter()
            .map(|available| v1::AvailableClaim {
                claim: available.claim.to_v1().into(),
                intended_move: available
                    .intended
                    .map(|mv| mv.to_string())
                    .unwrap_or_default(),
            })
            .collect(),
        white_can_mate: can_mate_name(&found.white_can_mate).into(),
        black_can_mate: can_mate_name(&found.black_can_mate).into(),
    }
}

/// Writes what binds the side to move.
#[must_use]
pub fn write_bound(bound: Option<Bound>) -> Option<v1::BoundMove> {
    use v1::bound_move::Kind;
    let kind = match bound? {
        Bound::Move(mv) => Kind::Move(mv.to_string()),
        Bound::Piece(square) => Kind::Square(square.to_string()),
    };
    Some(v1::BoundMove { kind: Some(kind) })
}
