//! The position at the root of a tree, as requests have it.

use referee_api::v1;
use referee_chess::{CastlingMode, Position, chess960};
use referee_laws::{GameError, Start};
use referee_perft::read_position;
use referee_record::Fields;
use referee_record::convert::position::{from_fen_error, from_game_error, read_variant};

use crate::error::ServiceError;
use crate::limits;

/// Reads the root of a tree: any position with a king of each side in which the side that is not
/// to move is not in check, and moves that lead on from it.
///
/// # Errors
///
/// Where a field is wrong, the position cannot be counted from, or a move is not legal.
pub(crate) fn read_root(
    field: &str,
    message: Option<&v1::Position>,
) -> Result<Position, ServiceError> {
    let mut fields = Fields::default();
    let mode = read_variant(field, message, &mut fields).castling_mode();
    let Some(message) = message else {
        return Ok(Position::startpos());
    };
    let texts = format!("{field}.moves");
    let moves = &message.moves;
    fields.count(&texts, "moves", moves.len(), limits::HISTORY_MOVES_MAX);
    let is_long = |text: &&String| text.len() > limits::MOVE_BYTES_MAX;
    if let Some(long) = moves.iter().find(is_long) {
        fields.length(&texts, long, limits::MOVE_BYTES_MAX);
    }
    fields.finish()?;
    let mut position = read_base(field, message.base.as_ref(), mode)?;
    for (ply, text) in (0..).zip(moves) {
        let mv = position.read_move(text).map_err(|error| {
            let start = Start {
                moves: moves.clone(),
                ..Start::default()
            };
            from_game_error(field, &start, &GameError::IllegalMove { ply, error })
        })?;
        position.play_unchecked(mv);
    }
    Ok(position)
}

fn read_base(
    field: &str,
    base: Option<&v1::position::Base>,
    mode: CastlingMode,
) -> Result<Position, ServiceError> {
    match base {
        None => Ok(chess960::startpos(518, mode).unwrap_or_default()),
        Some(v1::position::Base::Chess960Number(number)) => {
            let start = chess960::startpos(*number, CastlingMode::Chess960);
            start.ok_or_else(|| {
                let field = format!("{field}.chess960_number");
                ServiceError::field(field, "must be from 0 to 959")
            })
        }
        Some(v1::position::Base::Fen(fen)) => {
            let field = format!("{field}.fen");
            let mut fields = Fields::default();
            fields.length(&field, fen, limits::FEN_BYTES_MAX);
            fields.finish()?;
            let read = read_position(fen, mode);
            Ok(read.map_err(|error| from_fen_error(field, &error))?)
        }
    }
}
