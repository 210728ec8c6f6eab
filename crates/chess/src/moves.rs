//! Moves in two bytes, and lists of them.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;

use crate::{Role, Square};

/// What a move does besides taking a piece from one square to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MoveKind {
    /// Nothing else; it may capture.
    Ordinary,
    /// A pawn steps two squares (FIDE Laws 3.7.2).
    DoubleStep,
    /// The king castles with its rook (3.8.2); the move goes from the king to the rook.
    Castle,
    /// A pawn takes a pawn that it passes (3.7.3.1).
    EnPassant,
    /// A pawn becomes another piece (3.7.3.3).
    Promotion(Role),
}

/// A move that is legal in the position that it was made for.
///
/// Castling goes from the square of the king to the square of its own rook, in standard chess
/// and in Chess960 alike, so that two moves are never written the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move(u16);

impl Move {
    const DOUBLE_STEP: u16 = 1;
    const CASTLE: u16 = 2;
    const EN_PASSANT: u16 = 3;
    /// Promotions have this bit; the lowest two name the piece, 0 for a knight to 3 for a queen.
    const PROMOTION: u16 = 4;

    /// Puts a move together. Whether it is legal is for [`Position`](crate::Position) to say.
    #[inline]
    #[must_use]
    pub const fn new(from: Square, to: Square, kind: MoveKind) -> Move {
        let code = match kind {
            MoveKind::Ordinary => 0,
            MoveKind::DoubleStep => Self::DOUBLE_STEP,
            MoveKind::Castle => Self::CASTLE,
            MoveKind::EnPassant => Self::EN_PASSANT,
            MoveKind::Promotion(Role::Knight) => Self::PROMOTION,
            MoveKind::Promotion(Role::Bishop) => Self::PROMOTION | 1,
            MoveKind::Promotion(Role::Rook) => Self::PROMOTION | 2,
            MoveKind::Promotion(_) => Self::PROMOTION | 3,
        };
        Move(from.index() as u16 | (to.index() as u16) << 6 | code << 12)
    }

    /// Returns the square that the piece leaves; for castling, that of the king.
    #[inline]
    #[must_use]
    pub const fn from(self) -> Square {
        Square::from_low_bits(self.0 as u8)
    }

    /// Returns the square that the piece reaches; for castling, that of the rook.
    #[inline]
    #[must_use]
    pub const fn to(self) -> Square {
        Square::from_low_bits((self.0 >> 6) as u8)
    }

    /// Returns what the move does besides going from one square to another.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> MoveKind {
        match self.0 >> 12 {
            0 => MoveKind::Ordinary,
            Self::DOUBLE_STEP => MoveKind::DoubleStep,
            Self::CASTLE => MoveKind::Castle,
            Self::EN_PASSANT => MoveKind::EnPassant,
            4 => MoveKind::Promotion(Role::Knight),
            5 => MoveKind::Promotion(Role::Bishop),
            6 => MoveKind::Promotion(Role::Rook),
            _ => MoveKind::Promotion(Role::Queen),
        }
    }

    /// Returns the piece that a pawn becomes, or `None` where none promotes.
    #[must_use]
    pub const fn promotion(self) -> Option<Role> {
        match self.kind() {
            MoveKind::Promotion(role) => Some(role),
            _ => None,
        }
    }

    /// Returns whether the move castles.
    #[inline]
    #[must_use]
    pub const fn is_castle(self) -> bool {
        self.0 >> 12 == Self::CASTLE
    }
}

impl fmt::Debug for Move {
    /// Writes the move as UCI does in Chess960.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from(), self.to())?;
        match self.promotion() {
            Some(role) => write!(f, "{}", role.to_char()),
            None => Ok(()),
        }
    }
}

/// The moves of one position, without room on the heap.
pub struct MoveList {
    length: usize,
    moves: [MaybeUninit<Move>; MoveList::CAPACITY],
}

impl MoveList {
    /// More moves than any position has, impossible ones included: a square is reached along at
    /// most 8 lines and by at most 8 knights, and each of the 8 squares of the last rank by at
    /// most 3 pawns in 4 ways.
    pub const CAPACITY: usize = 64 * 16 + 8 * 3 * 4;

    #[inline]
    pub(crate) fn new() -> MoveList {
        MoveList {
            length: 0,
            moves: [const { MaybeUninit::uninit() }; MoveList::CAPACITY],
        }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, mv: Move) {
        debug_assert!(self.length < Self::CAPACITY);
        // SAFETY: the capacity is above what any position has (see `CAPACITY`), and each position
        // has its own list, filled once. Checking each push costs a tenth of listing.
        unsafe { self.moves.get_unchecked_mut(self.length).write(mv) };
        self.length += 1;
    }

    /// Returns the moves as a slice.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Move] {
        // SAFETY: the first `length` elements have been written by `push`.
        unsafe { core::slice::from_raw_parts(self.moves.as_ptr().cast::<Move>(), self.length) }
    }
}

impl Deref for MoveList {
    type Target = [Move];

    #[inline]
    fn deref(&self) -> &[Move] {
        self.as_slice()
    }
}

impl<'a> IntoIterator for &'a MoveList {
    type Item = Move;
    type IntoIter = core::iter::Copied<core::slice::Iter<'a, Move>>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter().copied()
    }
}

impl fmt::Debug for MoveList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
