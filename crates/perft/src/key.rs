//! Positions as their exact keys: 32 bytes that tell all about a position but its counters, and
//! that can be read back.
//!
//! Each square has a code of three bits, one in each of the first three words: 1 to 6 for the
//! kinds of pieces, 0 where it is empty. Code 7 is a rook that may castle where it stands on the
//! first or eighth rank, and a pawn that can be taken en passant on the fourth or fifth. The last
//! word has the color; an empty square has that of the side to move.

use core::fmt;

use referee_chess::{
    Bitboard, CastlingMode, Color, Piece, Position, PositionError, PositionKey, Role, Setup,
    Square, Tolerance,
};

use crate::board::Board;

/// The length of a key as bytes.
pub const KEY_LENGTH: usize = 32;

const BACK_RANKS: u64 = Bitboard::BACK_RANKS.0;
const MIDDLE_RANKS: u64 = 0x0000_00ff_ff00_0000;

/// A key is that of no position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The pieces cannot be played from.
    Position(PositionError),
    /// No position has just this key: empty squares tell both sides to move or there is none,
    /// or a mark stands where nothing can castle or be taken en passant.
    NotExact,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Position(error) => write!(f, "the key is that of no position: {error}"),
            Self::NotExact => f.write_str("the key is not the one that a position has"),
        }
    }
}

impl core::error::Error for KeyError {}

/// Returns a key as bytes. The order of bytes is the order of keys.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::{key_from_bytes, key_to_bytes};
///
/// let key = Position::startpos().exact_key();
/// assert_eq!(key_from_bytes(key_to_bytes(key)), key);
/// ```
#[must_use]
pub fn key_to_bytes(key: PositionKey) -> [u8; KEY_LENGTH] {
    let mut bytes = [0; KEY_LENGTH];
    for (part, word) in bytes.chunks_exact_mut(8).zip(key.0) {
        part.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// Returns the key that some bytes are. Whether it is one of a position is asked by
/// [`read_key`] only.
#[must_use]
pub fn key_from_bytes(bytes: [u8; KEY_LENGTH]) -> PositionKey {
    let mut words = [0; 4];
    for (word, part) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*part);
    }
    PositionKey(words)
}

/// Returns the position that has a key, with counters as at the start of a game. It need not be
/// one that can arise in play, like any position to count in.
///
/// ```
/// use referee_chess::{CastlingMode, Position};
/// use referee_perft::read_key;
///
/// let start = Position::startpos();
/// assert_eq!(read_key(start.exact_key(), CastlingMode::Standard), Ok(start));
/// ```
///
/// # Errors
///
/// Where no position has the key.
pub fn read_key(key: PositionKey, mode: CastlingMode) -> Result<Position, KeyError> {
    let planes = key.0;
    let marked = planes[0] & planes[1] & planes[2];
    let occupied = planes[0] | planes[1] | planes[2];
    let is_black = !occupied & planes[3] != 0;
    let mut setup = Setup::empty(mode);
    setup.turn = if is_black { Color::Black } else { Color::White };
    let white = Bitboard(planes[3]);
    for square in Bitboard(occupied) {
        let code = [2, 1, 0].into_iter().fold(0, |code, plane| {
            code << 1 | (planes[plane] >> square.index() & 1) as usize
        });
        let role = match code {
            7 if Bitboard::BACK_RANKS.contains(square) => Role::Rook,
            7 => Role::Pawn,
            code => Role::ALL[code - 1],
        };
        let color = if white.contains(square) {
            Color::White
        } else {
            Color::Black
        };
        setup.board.put(square, Piece { color, role });
    }
    setup.castling_rooks = Bitboard(marked & BACK_RANKS);
    setup.en_passant = Bitboard(marked & MIDDLE_RANKS)
        .first()
        .map(|pawn| Square::from_low_bits(pawn.index() as u8 ^ 8));
    let position =
        Position::from_setup_with(&setup, Tolerance::PERFT).map_err(KeyError::Position)?;
    // A full board does not tell who is to move.
    if occupied == u64::MAX || position.exact_key() != key {
        return Err(KeyError::NotExact);
    }
    Ok(position)
}

/// Returns the board that counting works on, the square of a capture en passant as a set, and the
/// side to move. Of a key that is that of no position, something that makes no sense.
#[inline]
pub(crate) fn unpack(key: PositionKey) -> (Board, u64, Color) {
    let [low, middle, high, color] = key.0;
    let occupied = low | middle | high;
    let is_black = !occupied & color != 0;
    let white = color & occupied;
    let marked = low & middle & high;
    let castling = marked & BACK_RANKS;
    let passed = marked & MIDDLE_RANKS;
    let queens = low & high & !middle;
    let board = Board {
        colors: [white, occupied ^ white],
        pawns: low & !middle & !high | passed,
        knights: middle & !low & !high,
        diagonals: low & middle & !high | queens,
        orthogonals: high & !low & !middle | castling | queens,
        kings: middle & high & !low,
        castling,
    };
    // The fourth rank is passed over by way of the third, the fifth by way of the sixth.
    let en_passant = (passed & 0xff00_0000) >> 8 | (passed & 0x00ff_0000_0000) << 8;
    let turn = if is_black { Color::Black } else { Color::White };
    (board, en_passant, turn)
}

/// Returns the key of a board. `en_passant` is there only where the capture is legal.
#[inline(always)]
pub(crate) fn pack(board: &Board, en_passant: u64, white_to_move: bool) -> PositionKey {
    let passed = (en_passant & 0x00ff_0000) << 8 | (en_passant & 0xff00_0000_0000) >> 8;
    let marked = board.castling | passed;
    let bishops = board.diagonals & !board.orthogonals;
    PositionKey([
        board.pawns | board.diagonals | marked,
        board.knights | bishops | board.kings | marked,
        board.orthogonals | board.kings | marked,
        if white_to_move {
            board.colors[0]
        } else {
            !board.colors[1]
        },
    ])
}
