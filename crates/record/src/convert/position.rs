//! Positions and moves between the contract and the rules.

use referee_api::v1;
use referee_chess::{
    Bitboard, CastlingMode, Color, FenError, FenIssue, Move, MoveError, MoveKind, Piece, Position,
    Role, Square, chess960,
};
use referee_laws::{Citation, Game, GameError, Profile, Start, Variant};

use super::citation::write_citation;
use super::enums::{InContract, issue_name};
use crate::error::Error;
use crate::fields::Fields;
use crate::limits;

/// Reads the variant that is played from a position: unspecified means standard chess, except for
/// a position that is named by its Chess960 number.
pub fn read_variant(field: &str, position: Option<&v1::Position>, fields: &mut Fields) -> Variant {
    let Some(position) = position else {
        return Variant::Standard;
    };
    let by_number = matches!(position.base, Some(v1::position::Base::Chess960Number(_)));
    let field = &format!("{field}.variant");
    match Variant::from_v1(fields.choice(field, position.variant)) {
        None if by_number => Variant::Chess960,
        None => Variant::Standard,
        Some(Variant::Standard) => {
            if by_number {
                fields.refuse(
                    field,
                    "a position named by its Chess960 number is played as Chess960; leave the \
                     variant out or choose VARIANT_CHESS960",
                );
            }
            Variant::Standard
        }
        Some(Variant::Chess960) => Variant::Chess960,
    }
}

/// Reads a position and the moves that lead on from it, without playing them.
///
/// # Errors
///
/// Where a field is wrong, or the position cannot be played from.
pub fn read_start(
    field: &str,
    message: Option<&v1::Position>,
    mode: CastlingMode,
) -> Result<Start, Error> {
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
) -> Result<Position, Error> {
    match base {
        None => Ok(chess960::startpos(518, mode).unwrap_or_default()),
        Some(v1::position::Base::Chess960Number(number)) => {
            chess960::startpos(*number, CastlingMode::Chess960).ok_or_else(|| {
                Error::field(format!("{field}.chess960_number"), "must be from 0 to 959")
            })
        }
        Some(v1::position::Base::Fen(fen)) => {
            let field = format!("{field}.fen");
            let mut fields = Fields::default();
            fields.length(&field, fen, limits::FEN_BYTES_MAX);
            fields.finish()?;
            Position::from_fen(fen, mode).map_err(|error| from_fen_error(field, &error))
        }
    }
}

/// Returns the error of a FEN that cannot be read or played from.
#[must_use]
pub fn from_fen_error(field: String, error: &FenError) -> Error {
    Error::InvalidPosition {
        field,
        issues: issue_names(&error.issues),
        description: error.to_string(),
    }
}

/// Returns the names of issues in the contract, each once.
fn issue_names(issues: &[FenIssue]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for issue in issues {
        let name = match issue {
            FenIssue::Text { .. } => v1::PositionIssue::Unreadable,
            FenIssue::Position(issue) => issue_name(issue),
        };
        let name = name.as_str_name().trim_start_matches("POSITION_ISSUE_");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Reads a position with its history, as a game that has not been stored. The history may have gone
/// on after a draw.
///
/// # Errors
///
/// Where a field is wrong, the position cannot be played from, or a move is not legal.
pub fn read_game(
    field: &str,
    message: Option<&v1::Position>,
    profile: Profile,
) -> Result<Game, Error> {
    let start = read_start(field, message, profile.variant.castling_mode())?;
    Game::of_moves(profile, &start).map_err(|error| from_game_error(field, &start, &error))
}

/// Returns the error of a history that cannot be played.
#[must_use]
pub fn from_game_error(field: &str, start: &Start, error: &GameError) -> Error {
    let (ply, reason) = match error {
        GameError::IllegalMove { ply, error } => (*ply, reason_of(error)),
        GameError::MoveAfterEnd { ply, .. } => (*ply, v1::IllegalReason::GameOver),
        GameError::TooManyMoves(_) => {
            return Error::field(format!("{field}.moves"), error.to_string());
        }
        GameError::Clock(_) => return Error::field("game.setup", error.to_string()),
    };
    let text = start.moves.get(ply as usize).cloned().unwrap_or_default();
    Error::IllegalHistory {
        field: format!("{field}.moves[{ply}]"),
        ply,
        text,
        reason: reason.as_str_name().trim_start_matches("ILLEGAL_REASON_"),
        description: error.to_string(),
    }
}

/// Returns why a text is no legal move, in terms of the contract.
fn reason_of(error: &MoveError) -> v1::IllegalReason {
    match error {
        MoveError::Unreadable(_) => v1::IllegalReason::Unreadable,
        MoveError::Ambiguous { .. } => v1::IllegalReason::Ambiguous,
        MoveError::Illegal(illegal) => illegal.reason.to_v1(),
    }
}

/// Writes a legal move of a position, in all its forms.
#[must_use]
pub fn write_move(position: &Position, mv: Move) -> v1::Move {
    v1::Move {
        uci: position.uci(mv).to_string(),
        san: position.san(mv).to_string(),
        traits: traits(position, mv).into_iter().map(Into::into).collect(),
    }
}

fn traits(position: &Position, mv: Move) -> Vec<v1::MoveTrait> {
    let mut traits = Vec::new();
    let after = position.after_unchecked(mv);
    let kind = mv.kind();
    let captures = kind == MoveKind::EnPassant
        || (kind != MoveKind::Castle && position.board().color(!position.turn()).contains(mv.to()));
    let checkers = after.checkers();
    // The piece that moved is, after castling, the king or the rook.
    let moved = match kind {
        MoveKind::Castle => {
            after.board().color(position.turn()) - position.board().color(position.turn())
        }
        _ => Bitboard::of(mv.to()),
    };
    let found = [
        (captures, v1::MoveTrait::Capture),
        (kind == MoveKind::EnPassant, v1::MoveTrait::EnPassant),
        (kind == MoveKind::Castle, v1::MoveTrait::Castle),
        (
            matches!(kind, MoveKind::Promotion(_)),
            v1::MoveTrait::Promotion,
        ),
        (checkers.any(), v1::MoveTrait::Check),
        ((checkers - moved).any(), v1::MoveTrait::DiscoveredCheck),
        (checkers.more_than_one(), v1::MoveTrait::DoubleCheck),
        (
            checkers.any() && !after.has_legal_moves(),
            v1::MoveTrait::Checkmate,
        ),
        (after.halfmove_clock() == 0, v1::MoveTrait::Zeroing),
    ];
    traits.extend(
        found
            .into_iter()
            .filter_map(|(holds, name)| holds.then_some(name)),
    );
    traits
}

/// Writes why a text is no legal move.
#[must_use]
pub fn write_illegal_move(error: &MoveError) -> v1::IllegalMove {
    let mut message = v1::IllegalMove {
        reason: reason_of(error).into(),
        text: sentence(&error.to_string()),
        ..v1::IllegalMove::default()
    };
    match error {
        MoveError::Unreadable(_) => {}
        MoveError::Ambiguous { candidates } => {
            message.candidates = candidates.iter().map(ToString::to_string).collect();
        }
        MoveError::Illegal(illegal) => {
            message.pieces = illegal.pieces.iter().map(write_piece).collect();
            message.squares = illegal
                .squares
                .into_iter()
                .map(|at| at.to_string())
                .collect();
            message.citation = Some(write_citation(&Citation::of(illegal.article())));
        }
    }
    message
}

/// The text as a sentence: a capital letter in front, a dot behind.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        None => String::new(),
        Some(first) => format!("{}{}.", first.to_uppercase(), chars.as_str()),
    }
}

/// Writes a piece and where it stands.
#[must_use]
pub fn write_piece(&(square, piece): &(Square, Piece)) -> v1::PieceOnSquare {
    v1::PieceOnSquare {
        color: piece.color.to_v1().into(),
        kind: piece.role.to_v1().into(),
        square: square.to_string(),
    }
}

/// Reads a piece and where it stands from a record.
pub(crate) fn stored_piece(message: &v1::PieceOnSquare) -> Result<(Square, Piece), Error> {
    let role = Role::from_v1(message.kind()).ok_or_else(|| Error::damaged("a piece"))?;
    let color = Color::from_v1(message.color()).ok_or_else(|| Error::damaged("a color"))?;
    Ok((stored_square(&message.square)?, Piece { color, role }))
}

/// Reads the name of a square from a record.
pub(crate) fn stored_square(name: &str) -> Result<Square, Error> {
    name.parse().map_err(|_| Error::damaged("a square"))
}
