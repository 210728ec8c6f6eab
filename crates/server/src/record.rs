//! What is stored of a game, and the way back from it: the genesis and the events as bytes of the
//! contract's own messages.

use prost::Message;
use referee_api::v1;
use referee_chess::{Color, Piece, Role, Square};
use referee_laws::{
    Bound, Citation, Effects, Evidence, Game, GameResult, NoMate, NoMateKind, Outcome, Profile,
    Termination,
};

use crate::fields::Fields;
use crate::profile_fields::read_profile;
use crate::read::read_start;
use crate::status::ApiError;

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
    fields
        .finish()
        .map_err(|_| damaged("the rule profile of the genesis"))?;
    let start = read_start(
        "initial_position",
        position,
        profile.variant.castling_mode(),
    )
    .map_err(|_| damaged("the position of the genesis"))?;
    let outcome = read_outcome(message.outcome.as_ref())?;
    let game = Game::restore(profile, &start, outcome)
        .map_err(|error| damaged(&format!("the moves of the genesis: {error}")))?;
    Ok((message, game))
}

/// Reads a stored event.
pub(crate) fn read_event(bytes: &[u8]) -> Result<v1::GameEvent, ApiError> {
    v1::GameEvent::decode(bytes).map_err(|error| damaged(&error.to_string()))
}

/// Reads what an event does to its game.
pub(crate) fn read_effects(event: &v1::GameEvent) -> Result<Effects, ApiError> {
    let played = match &event.r#move {
        None => None,
        Some(mv) => Some(
            mv.uci
                .parse()
                .map_err(|_| damaged("the move of an event"))?,
        ),
    };
    Ok(Effects {
        played,
        draw_offer: match event.draw_offer() {
            v1::Seat::White => Some(Color::White),
            v1::Seat::Black => Some(Color::Black),
            _ => None,
        },
        bound: read_bound(event.bound_move.as_ref())?,
        outcome: read_outcome(event.outcome.as_ref())?,
    })
}

fn read_bound(message: Option<&v1::BoundMove>) -> Result<Option<Bound>, ApiError> {
    use v1::bound_move::Kind;
    let wrong = |_| damaged("what binds the side to move");
    Ok(match message.and_then(|bound| bound.kind.as_ref()) {
        None => None,
        Some(Kind::Move(text)) => Some(Bound::Move(text.parse().map_err(wrong)?)),
        Some(Kind::Square(text)) => Some(Bound::Piece(
            text.parse().map_err(|_| damaged("the square that binds"))?,
        )),
    })
}

fn read_outcome(message: Option<&v1::Outcome>) -> Result<Option<Outcome>, ApiError> {
    let Some(message) = message else {
        return Ok(None);
    };
    let result = match message.result() {
        v1::GameResult::Ongoing => return Ok(None),
        v1::GameResult::WhiteWins => GameResult::Win(Color::White),
        v1::GameResult::BlackWins => GameResult::Win(Color::Black),
        v1::GameResult::Draw => GameResult::Draw,
        _ => return Err(damaged("the result of an outcome")),
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
    Ok(match message {
        v1::Termination::Checkmate => Termination::Checkmate,
        v1::Termination::Stalemate => Termination::Stalemate,
        v1::Termination::DeadPosition => Termination::DeadPosition,
        v1::Termination::Resignation => Termination::Resignation,
        v1::Termination::ResignationNoMate => Termination::ResignationNoMate,
        v1::Termination::Agreement => Termination::Agreement,
        v1::Termination::ThreefoldClaim => Termination::ThreefoldClaim,
        v1::Termination::ThreefoldAuto => Termination::ThreefoldAutomatic,
        v1::Termination::Fivefold => Termination::Fivefold,
        v1::Termination::FiftyClaim => Termination::FiftyClaim,
        v1::Termination::FiftyAuto => Termination::FiftyAutomatic,
        v1::Termination::SeventyFive => Termination::SeventyFive,
        _ => return Err(damaged("the termination of an outcome")),
    })
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
            kind: match no_mate.kind() {
                v1::no_mate_evidence::Kind::Material => NoMateKind::Material,
                v1::no_mate_evidence::Kind::Unspecified => {
                    return Err(damaged("the kind of a proof"));
                }
            },
            text: no_mate.text.clone(),
        }),
    })
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
    let role = match message.role() {
        v1::Role::Pawn => Role::Pawn,
        v1::Role::Knight => Role::Knight,
        v1::Role::Bishop => Role::Bishop,
        v1::Role::Rook => Role::Rook,
        v1::Role::Queen => Role::Queen,
        v1::Role::King => Role::King,
        v1::Role::Unspecified => return Err(damaged("a piece")),
    };
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
