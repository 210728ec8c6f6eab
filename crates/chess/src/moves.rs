//! Moves in two bytes, and lists of them.

use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Deref;

use crate::{Bitboard, Role, Square};

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
    /// The square that is left has the lowest six bits, the one that is reached the next six, and
    /// the kind the highest four.
    const TO_SHIFT: u32 = 6;
    const KIND_SHIFT: u32 = 12;
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
        let squares = from.index() as u16 | (to.index() as u16) << Self::TO_SHIFT;
        Move(squares | code << Self::KIND_SHIFT)
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
        Square::from_low_bits((self.0 >> Self::TO_SHIFT) as u8)
    }

    /// Returns what the move does besides going from one square to another.
    #[inline]
    #[must_use]
    pub const fn kind(self) -> MoveKind {
        match self.0 >> Self::KIND_SHIFT {
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
        self.0 >> Self::KIND_SHIFT == Self::CASTLE
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
///
/// [`Position::legal_moves`](crate::Position::legal_moves) returns one; to use the same one again
/// for many positions, which spares copying a kilobyte each time, there is
/// [`Position::list_legal_moves`](crate::Position::list_legal_moves).
pub struct MoveList {
    length: usize,
    moves: [MaybeUninit<Move>; MoveList::CAPACITY],
}

impl MoveList {
    /// More moves than any position has, even with any number of pieces.
    ///
    /// A square is reached from at most 8 sides and by at most 8 knights, and a piece other than
    /// a knight goes to at most 27 squares. So `q` such pieces and `n` knights have at most
    /// `min(27q, 8t) + min(8n, 8t)` moves to the `t = 64 - q - n` squares that they do not stand
    /// on, which is at most 446; at most 24 promotions count fourfold, and castling adds 2. In
    /// play, 218 is the most that is known. Above all that there is room for the greatest set, so
    /// that `Writer::push_set` has to look only once whether a set fits.
    pub const CAPACITY: usize = 446 + 3 * 24 + 2 + Self::ROOM;

    /// Room for the greatest set, and for what is written beyond it.
    const ROOM: usize = 64 + 3;

    /// Returns a list without moves.
    #[inline]
    #[must_use]
    pub fn new() -> MoveList {
        MoveList {
            length: 0,
            moves: [const { MaybeUninit::uninit() }; MoveList::CAPACITY],
        }
    }

    /// Removes all moves.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Returns the moves as a slice.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[Move] {
        // SAFETY: the first `length` elements have been written, by a `Writer`.
        unsafe { core::slice::from_raw_parts(self.moves.as_ptr().cast::<Move>(), self.length) }
    }
}

/// Fills a list. The length is kept apart from the list, so that it can stay in a register.
pub(crate) struct Writer<'a> {
    list: &'a mut MoveList,
    length: usize,
}

impl<'a> Writer<'a> {
    /// Begins with an empty list.
    #[inline(always)]
    pub(crate) fn new(list: &'a mut MoveList) -> Writer<'a> {
        Writer { list, length: 0 }
    }

    /// Adds the moves from one square to each of others.
    #[inline(always)]
    pub(crate) fn push_piece(&mut self, from: Square, to: Bitboard, kind: MoveKind) {
        let base = Move::new(from, Square::from_low_bits(0), kind);
        self.push_set(to, 1 << Move::TO_SHIFT, u64::from(base.0));
    }

    /// Adds the moves to each of some squares from the square that is `step` lower.
    #[inline(always)]
    pub(crate) fn push_steps(&mut self, to: Bitboard, step: i8, kind: MoveKind) {
        let base = Move::new(Square::from_low_bits(0), Square::from_low_bits(0), kind);
        let base = u64::from(base.0).wrapping_add_signed(-i64::from(step));
        self.push_set(to, 1 + (1 << Move::TO_SHIFT), base);
    }

    /// Adds for each square the move whose bits are `base` plus `factor` times the number of the
    /// square. Nothing is added to a list that has no room for a full set; only positions into
    /// which moves were forced that are not legal could fill it that far.
    ///
    /// Four moves are made at a time, as one number with 16 bits for each, since the processor
    /// guesses badly how many squares a set has. What is written beyond the set is written over by
    /// the next one. The bits of a move never run over into those of the next: where the set has
    /// no square any more, its number counts as 64, and `65 * 64` still fits in 13 bits.
    #[inline(always)]
    fn push_set(&mut self, squares: Bitboard, factor: u64, base: u64) {
        if squares.is_empty() || self.length > MoveList::CAPACITY - MoveList::ROOM {
            return;
        }
        let base = base.wrapping_mul(0x0001_0001_0001_0001);
        let mut rest = squares.0;
        let mut at = self.length;
        while rest != 0 {
            let mut four = 0;
            for lane in 0..4 {
                four |= u64::from(rest.trailing_zeros()) << (16 * lane);
                rest &= rest.wrapping_sub(1);
            }
            let four = four.wrapping_mul(factor).wrapping_add(base);
            for lane in 0..4 {
                let mv = Move((four >> (16 * lane)) as u16);
                // SAFETY: there was room for 67 moves; a set has 64 squares at most, and at most
                // 3 moves are written beyond it. Checking each move costs a tenth of listing.
                unsafe { self.list.moves.get_unchecked_mut(at + lane).write(mv) };
            }
            at += 4;
        }
        self.length += squares.count() as usize;
    }

    /// Ends with the list filled.
    #[inline(always)]
    pub(crate) fn finish(self) {
        self.list.length = self.length;
    }
}

impl Default for MoveList {
    /// Returns a list without moves.
    fn default() -> MoveList {
        MoveList::new()
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
