//! Evidence between the contract and the rules: what a ruling or an outcome rests on.

use referee_api::v1;
use referee_chess::Color;
use referee_laws::{ClockReading, Evidence, Keeper, NoMate, NoMateKind};

use super::enums::InContract;
use super::position::{stored_piece, stored_square, write_piece};
use super::time::{stored_ms, stored_time, write_ms, write_time};
use crate::error::Error;

/// Writes why a side cannot mate.
#[must_use]
pub fn write_no_mate(proof: &NoMate) -> v1::NoMateEvidence {
    v1::NoMateEvidence {
        side: proof.side.to_v1().into(),
        kind: proof.kind.to_v1().into(),
        text: proof.text.clone(),
    }
}

/// Writes a piece of evidence; its times are those of who keeps the time of the game.
#[must_use]
pub fn write_evidence(evidence: &Evidence, keeper: Keeper) -> v1::Evidence {
    use v1::evidence::Kind;
    let kind = match evidence {
        Evidence::Repetition(plies) => Kind::Repetition(v1::RepetitionEvidence {
            plies: plies.clone(),
        }),
        Evidence::MoveCount {
            halfmove_clock,
            last_reset_ply,
        } => Kind::MoveCount(v1::MoveCountEvidence {
            halfmove_clock: *halfmove_clock,
            last_reset_ply: *last_reset_ply,
        }),
        Evidence::Check { king, attackers } => Kind::Check(v1::CheckEvidence {
            king_square: king.to_string(),
            attackers: attackers.iter().map(write_piece).collect(),
        }),
        Evidence::NoMate(proof) => Kind::NoMate(write_no_mate(proof)),
        Evidence::MatingLine { side, moves } => Kind::MatingLine(v1::MatingLineEvidence {
            side: side.to_v1().into(),
            moves: moves.iter().map(ToString::to_string).collect(),
        }),
        Evidence::Clock(reading) => Kind::Clock(v1::ClockEvidence {
            side: reading.side.to_v1().into(),
            received_time: Some(write_time(reading.received, keeper)),
            deadline_time: reading.deadline.map(|time| write_time(time, keeper)),
            left: reading.left_ms.map(write_ms),
            elapsed: Some(write_ms(reading.elapsed_ms)),
        }),
    };
    v1::Evidence { kind: Some(kind) }
}

/// Reads a piece of evidence from a record.
///
/// # Errors
///
/// Where this program could not have written it.
pub fn stored_evidence(message: &v1::Evidence) -> Result<Evidence, Error> {
    use v1::evidence::Kind;
    let kind = message
        .kind
        .as_ref()
        .ok_or_else(|| Error::damaged("a kind of evidence"))?;
    Ok(match kind {
        Kind::Repetition(repetition) => Evidence::Repetition(repetition.plies.clone()),
        Kind::MoveCount(count) => Evidence::MoveCount {
            halfmove_clock: count.halfmove_clock,
            last_reset_ply: count.last_reset_ply,
        },
        Kind::Check(check) => Evidence::Check {
            king: stored_square(&check.king_square)?,
            attackers: check
                .attackers
                .iter()
                .map(stored_piece)
                .collect::<Result<_, _>>()?,
        },
        Kind::NoMate(no_mate) => Evidence::NoMate(NoMate {
            side: stored_side(no_mate.side())?,
            kind: NoMateKind::from_v1(no_mate.kind())
                .ok_or_else(|| Error::damaged("the kind of a proof"))?,
            text: no_mate.text.clone(),
        }),
        Kind::MatingLine(line) => Evidence::MatingLine {
            side: stored_side(line.side())?,
            moves: line
                .moves
                .iter()
                .map(|text| text.parse().map_err(|_| Error::damaged("a mating line")))
                .collect::<Result<_, _>>()?,
        },
        Kind::Clock(clock) => Evidence::Clock(ClockReading {
            side: stored_side(clock.side())?,
            received: stored_time(clock.received_time)?.unwrap_or_default(),
            deadline: stored_time(clock.deadline_time)?,
            left_ms: stored_ms(clock.left)?,
            elapsed_ms: stored_ms(clock.elapsed)?.unwrap_or_default(),
        }),
    })
}

fn stored_side(message: v1::Color) -> Result<Color, Error> {
    Color::from_v1(message).ok_or_else(|| Error::damaged("a color"))
}
