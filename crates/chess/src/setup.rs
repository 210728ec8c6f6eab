//! What a FEN can say, judged or not: a position before anyone has asked whether it can be played
//! from.

use crate::{Bitboard, Board, Color, Square};

/// Whether castling follows standard chess or Chess960 (FIDE Laws, guidelines II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CastlingMode {
    /// Kings start on the e-file and rooks in the corners; UCI writes castling as the move of
    /// the king.
    #[default]
    Standard,
    /// Kings and rooks start on any file; UCI writes castling as the king taking its own rook.
    Chess960,
}

/// A position as somebody describes it. Nothing about it is known to make sense;
/// [`Position::from_setup`](crate::Position::from_setup) judges it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setup {
    /// The pieces.
    pub board: Board,
    /// The side to move.
    pub turn: Color,
    /// The rooks that the right to castle belongs to.
    pub castling_rooks: Bitboard,
    /// The square that a pawn has just passed over with a double step.
    pub en_passant: Option<Square>,
    /// Moves of either side since the last capture or move of a pawn.
    pub halfmove_clock: u32,
    /// The number of the move, counted from 1, going up after each move of Black.
    pub fullmove_number: u32,
    /// The rules of castling.
    pub castling_mode: CastlingMode,
}

impl Setup {
    /// Returns a setup without pieces, White to move.
    #[must_use]
    pub const fn empty(castling_mode: CastlingMode) -> Setup {
        Setup {
            board: Board::empty(),
            turn: Color::White,
            castling_rooks: Bitboard::EMPTY,
            en_passant: None,
            halfmove_clock: 0,
            fullmove_number: 1,
            castling_mode,
        }
    }
}
