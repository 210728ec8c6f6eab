//! What is stored of a game, and the way back from it: the genesis and the events as bytes of the
//! contract's own messages.

use prost::Message;
use referee_api::v1;
use referee_chess::{Color, Piece, Square};
use referee_laws::{
    Citation, ClockReading, Effects, Evidence, Game, NoMate, NoMateKind, Outcome, Profile, Sides,
    Start, Termination, Timing,
};

use crate::clocks::{read_timing, stored_line, stored_ms, stored_time};
use crate::fields::Fields;
use crate::profile_fields::read_profile;
use crate::read::read_start;
use crate::standing::{stored_role, stored_standing};
use crate::status::ApiError;
use crate::view::{no_mate_kind, read_result, termination};

/// Reads the genesis of a game, and begins the game as it was recorded.
pub(crate) fn read_genesis(bytes: &[u8]) -> Result<(v1::Game, Game), ApiError> {
    let message = v1::Game::decode(bytes).map_err(|error| damaged(&error.to_string()))?;
    let mut fields = Fields::default();
    let stored = message.rule_profile.clone().unwrap_or_default();
    // The parameters in force are stored, so a profile that changes later changes no old game.
    let resolved = v1::RuleProfile {
        overrides: stored.parameters,
        ..stored
    };
    let position = message.initial_position.as_ref();
    let profile: Profile = read_profile("rule_profile", Some(&resolved), position, &mut fields);
    let settings = message.clock_settings.as_ref();
    let setup = message.setup.as_ref();
    let timing = read_timing("game", settings, setup, &profile, &mut fields);
    fields
        .finish()
        .map_err(|_| damaged("the rule profile or the clocks of the genesis"))?;
    let start = read_start(
        "initial_position",
        position,
        profile.variant.castling_mode(),
    )
    .map_err(|_| damaged("the position of the genesis"))?;
    let start = taken_over(start, timing, setup);
    let outcome = read_outcome(message.outcome.as_ref())?;
    let game = Game::restore(profile, &start, outcome)
        .map_err(|error| damaged(&format!("the moves of the genesis: {error}")))?;
    Ok((message, game))
}

/// Adds to a start what had happened before, where the game is taken over from elsewhere.
pub(crate) fn taken_over(start: Start, timing: Timing, setup: Option<&v1::Setup>) -> Start {
    let setup = setup.cloned().unwrap_or_default();
    Start {
        timing,
        illegal_moves: Sides {
            white: setup.white_illegal_moves,
            black: setup.black_illegal_moves,
        },
        plies_without_capture: setup.plies_without_capture,
        ..start
    }
}

/// Reads a stored event.
pub(crate) fn read_event(bytes: &[u8]) -> Result<v1::GameEvent, ApiError> {
    v1::GameEvent::decode(bytes).map_err(|error| damaged(&error.to_string()))
}

/// Reads what an event does to its game.
pub(crate) fn read_effects(event: &v1::GameEvent, game: &Game) -> Result<Effects, ApiError> {
    let played = match &event.r#move {
        None => None,
        Some(mv) => Some(
            mv.uci
                .parse()
                .map_err(|_| damaged("the move of an event"))?,
        ),
    };
    Ok(Effects {
        reinstated: event.reinstated_ply,
        played,
        is_illegal: event.move_illegal,
        standing: stored_standing(event, game.standing())?,
        ledger: event
            .ledger
            .iter()
            .map(stored_line)
            .collect::<Result<_, _>>()?,
        outcome: read_outcome(event.outcome.as_ref())?,
    })
}

fn read_outcome(message: Option<&v1::Outcome>) -> Result<Option<Outcome>, ApiError> {
    let Some(message) = message else {
        return Ok(None);
    };
    let Some(result) = read_result(message.result()) else {
        return Ok(None);
    };
    Ok(Some(Outcome {
        result,
        termination: read_termination(message.termination())?,
        citations: message.citations.iter().map(read_citation).collect(),
        evidence: message
            .evidence
            .iter()
            .map(read_evidence)
            .collect::<Result<_, _>>()?,
        provisional: message.provisional,
        text: message.text.clone(),
    }))
}

fn read_termination(message: v1::Termination) -> Result<Termination, ApiError> {
    Termination::ALL
        .into_iter()
        .find(|&known| termination(known) == message)
        .ok_or_else(|| damaged("the termination of an outcome"))
}

fn read_citation(message: &v1::Citation) -> Citation {
    Citation {
        edition: message.edition.clone().into(),
        article: message.article.clone().into(),
        text: message.text.clone().into(),
    }
}

fn read_evidence(message: &v1::Evidence) -> Result<Evidence, ApiError> {
    use v1::evidence::Kind;
    let kind = message
        .kind
        .as_ref()
        .ok_or_else(|| damaged("a kind of evidence"))?;
    Ok(match kind {
        Kind::Repetition(repetition) => Evidence::Repetition(repetition.plies.clone()),
        Kind::MoveCount(count) => Evidence::MoveCount {
            halfmove_clock: count.halfmove_clock,
            last_reset_ply: count.last_reset_ply,
        },
        Kind::Check(check) => Evidence::Check {
            king: read_square(&check.king_square)?,
            attackers: check
                .attackers
                .iter()
                .map(read_piece)
                .collect::<Result<_, _>>()?,
        },
        Kind::NoMate(no_mate) => Evidence::NoMate(NoMate {
            side: read_color(no_mate.side())?,
            kind: read_no_mate_kind(no_mate.kind())?,
            text: no_mate.text.clone(),
        }),
        Kind::MatingLine(line) => Evidence::MatingLine {
            side: read_color(line.side())?,
            moves: line
                .moves
                .iter()
                .map(|text| text.parse().map_err(|_| damaged("a mating line")))
                .collect::<Result<_, _>>()?,
        },
        Kind::Clock(clock) => Evidence::Clock(ClockReading {
            side: read_color(clock.side())?,
            received: stored_time(clock.received)?.unwrap_or_default(),
            deadline: stored_time(clock.deadline)?,
            left_ms: stored_ms(clock.left)?,
            elapsed_ms: stored_ms(clock.elapsed)?.unwrap_or_default(),
        }),
    })
}

fn read_no_mate_kind(message: v1::no_mate_evidence::Kind) -> Result<NoMateKind, ApiError> {
    [
        NoMateKind::Material,
        NoMateKind::GameOver,
        NoMateKind::ForcedLine,
        NoMateKind::BlockedStructure,
        NoMateKind::ExhaustedSearch,
        NoMateKind::MoveCount,
        NoMateKind::Table,
    ]
    .into_iter()
    .find(|&kind| no_mate_kind(kind) == message)
    .ok_or_else(|| damaged("the kind of a proof"))
}

fn read_square(text: &str) -> Result<Square, ApiError> {
    text.parse().map_err(|_| damaged("a square"))
}

fn read_color(message: v1::Color) -> Result<Color, ApiError> {
    match message {
        v1::Color::White => Ok(Color::White),
        v1::Color::Black => Ok(Color::Black),
        v1::Color::Unspecified => Err(damaged("a color")),
    }
}

fn read_piece(message: &v1::PieceOnSquare) -> Result<(Square, Piece), ApiError> {
    let role = stored_role(message.role()).ok_or_else(|| damaged("a piece"))?;
    Ok((
        read_square(&message.square)?,
        Piece {
            color: read_color(message.color())?,
            role,
        },
    ))
}

/// The error of a record that this program wrote and cannot read back.
pub(crate) fn damaged(what: &str) -> ApiError {
    ApiError::InvariantBroken {
        what: format!("the stored record cannot be read: {what}"),
    }
}
