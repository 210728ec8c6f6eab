//! From the contract to the rules: reading positions of requests.

use referee_api::v1;
use referee_chess::{CastlingMode, FenIssue, MoveError, Position, PositionIssue, chess960};
use referee_laws::{Game, GameError, Profile, Start, Variant};

use crate::fields::Fields;
use crate::limits;
use crate::status::ApiError;

/// Reads the variant that is played: unspecified means standard chess, except for a position that
/// is named by its Chess960 number.
pub(crate) fn read_variant(
    field: &str,
    number: i32,
    position: Option<&v1::Position>,
    fields: &mut Fields,
) -> Variant {
    let by_number = position.is_some_and(|position| {
        matches!(position.base, Some(v1::position::Base::Chess960Number(_)))
    });
    match fields.choice(field, number) {
        v1::Variant::Unspecified if by_number => Variant::Chess960,
        v1::Variant::Unspecified => Variant::Standard,
        v1::Variant::Standard => {
            if by_number {
                fields.refuse(
                    field,
                    "a position named by its Chess960 number is played as Chess960; leave the \
                     variant out or choose VARIANT_CHESS960",
                );
            }
            Variant::Standard
        }
        v1::Variant::Chess960 => Variant::Chess960,
    }
}

/// Reads a position and the moves that lead on from it, without playing them.
pub(crate) fn read_start(
    field: &str,
    message: Option<&v1::Position>,
    mode: CastlingMode,
) -> Result<Start, ApiError> {
    let Some(message) = message else {
        return Ok(Start {
            base: read_base(field, None, mode)?,
            ..Start::default()
        });
    };
    let mut fields = Fields::default();
    let moves = format!("{field}.moves");
    fields.count(
        &moves,
        "moves",
        message.moves.len(),
        limits::HISTORY_MOVES_MAX,
    );
    if let Some(long) = message
        .moves
        .iter()
        .find(|text| text.len() > limits::MOVE_BYTES_MAX)
    {
        fields.length(&moves, long, limits::MOVE_BYTES_MAX);
    }
    fields.finish()?;
    let base = read_base(field, message.base.as_ref(), mode)?;
    Ok(Start {
        base,
        moves: message.moves.clone(),
        ..Start::default()
    })
}

fn read_base(
    field: &str,
    base: Option<&v1::position::Base>,
    mode: CastlingMode,
) -> Result<Position, ApiError> {
    match base {
        None => Ok(chess960::startpos(518, mode).unwrap_or_default()),
        Some(v1::position::Base::Chess960Number(number)) => {
            chess960::startpos(*number, CastlingMode::Chess960).ok_or_else(|| {
                ApiError::field(format!("{field}.chess960_number"), "must be from 0 to 959")
            })
        }
        Some(v1::position::Base::Fen(fen)) => {
            let field = format!("{field}.fen");
            let mut fields = Fields::default();
            fields.length(&field, fen, limits::FEN_BYTES_MAX);
            fields.finish()?;
            Position::from_fen(fen, mode).map_err(|error| ApiError::InvalidPosition {
                field,
                issues: issue_names(&error.issues),
                description: error.to_string(),
            })
        }
    }
}

/// Returns the names of issues in the contract, each once.
fn issue_names(issues: &[FenIssue]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for name in issues.iter().map(issue_name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the name of an issue in the contract.
fn issue_name(issue: &FenIssue) -> &'static str {
    use v1::PositionIssue as Name;
    let name = match issue {
        FenIssue::Text { .. } => Name::Unreadable,
        FenIssue::Position(issue) => match issue {
            PositionIssue::MissingKing(_) => Name::MissingKing,
            PositionIssue::TooManyKings(_) => Name::TooManyKings,
            PositionIssue::PawnOnBackRank(_) => Name::PawnOnBackRank,
            PositionIssue::CastlingRights(_) => Name::CastlingRights,
            PositionIssue::EnPassantSquare(_) => Name::EnPassantSquare,
            PositionIssue::OpponentInCheck => Name::OpponentInCheck,
            PositionIssue::ImpossibleCheck(_) => Name::ImpossibleCheck,
            PositionIssue::TooMuchMaterial(_) => Name::TooMuchMaterial,
            PositionIssue::Counter => Name::Counter,
        },
    };
    name.as_str_name().trim_start_matches("POSITION_ISSUE_")
}

/// Reads a position with its history, as a game that has not been stored.
pub(crate) fn read_game(
    field: &str,
    message: Option<&v1::Position>,
    profile: Profile,
) -> Result<Game, ApiError> {
    let start = read_start(field, message, profile.variant.castling_mode())?;
    Game::new(profile, &start).map_err(|error| from_game_error(field, &start, &error))
}

/// Returns the error of a history that cannot be played.
pub(crate) fn from_game_error(field: &str, start: &Start, error: &GameError) -> ApiError {
    let (ply, reason) = match error {
        GameError::IllegalMove { ply, error } => (*ply, reason_of(error)),
        GameError::MoveAfterEnd { ply, .. } => (*ply, v1::IllegalReason::GameOver),
        GameError::TooManyMoves(_) => {
            return ApiError::field(format!("{field}.moves"), error.to_string());
        }
        GameError::Clock(_) => return ApiError::field("game.setup", error.to_string()),
    };
    let text = start.moves.get(ply as usize).cloned().unwrap_or_default();
    ApiError::IllegalHistory {
        field: format!("{field}.moves[{ply}]"),
        ply,
        text,
        reason: reason.as_str_name().trim_start_matches("ILLEGAL_REASON_"),
        description: error.to_string(),
    }
}

/// Returns why a text is no legal move, in terms of the contract.
pub(crate) fn reason_of(error: &MoveError) -> v1::IllegalReason {
    use referee_chess::IllegalReason as Reason;
    match error {
        MoveError::Unreadable(_) => v1::IllegalReason::Unreadable,
        MoveError::Ambiguous { .. } => v1::IllegalReason::Ambiguous,
        MoveError::Illegal(illegal) => match illegal.reason {
            Reason::EmptySquare => v1::IllegalReason::EmptySquare,
            Reason::OpponentPiece => v1::IllegalReason::OpponentPiece,
            Reason::PieceMovement => v1::IllegalReason::PieceMovement,
            Reason::PathBlocked => v1::IllegalReason::PathBlocked,
            Reason::OwnPiece => v1::IllegalReason::OwnPiece,
            Reason::NoEnPassant => v1::IllegalReason::NoEnPassant,
            Reason::CastlingRightLost => v1::IllegalReason::CastlingRightLost,
            Reason::CastlingInCheck => v1::IllegalReason::CastlingInCheck,
            Reason::CastlingThroughCheck => v1::IllegalReason::CastlingThroughCheck,
            Reason::PromotionMissing => v1::IllegalReason::PromotionMissing,
            Reason::PromotionInvalid => v1::IllegalReason::PromotionInvalid,
            Reason::KingIntoCheck => v1::IllegalReason::KingIntoCheck,
            Reason::CheckRemains => v1::IllegalReason::CheckRemains,
            Reason::KingExposed => v1::IllegalReason::KingExposed,
        },
    }
}
