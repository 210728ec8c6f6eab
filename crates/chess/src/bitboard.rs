//! Sets of squares in 64 bits.

use core::fmt;
use core::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not, Sub};

use crate::{Color, File, Rank, Square};

/// A set of squares: bit 0 is `a1`, bit 1 is `b1`, bit 63 is `h8`.
///
/// ```
/// use referee_chess::{Bitboard, Square};
///
/// let center = Bitboard(0x0000_0018_1800_0000);
/// let squares: Vec<String> = center.into_iter().map(|square| square.to_string()).collect();
/// assert_eq!(squares, ["d4", "e4", "d5", "e5"]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bitboard(pub u64);

impl Bitboard {
    /// No square.
    pub const EMPTY: Bitboard = Bitboard(0);
    /// Every square.
    pub const FULL: Bitboard = Bitboard(!0);
    /// The first and the eighth rank.
    pub const BACK_RANKS: Bitboard = Bitboard(0xff00_0000_0000_00ff);
    /// The light squares, `h1` among them.
    pub const LIGHT: Bitboard = Bitboard(0x55aa_55aa_55aa_55aa);
    /// The dark squares, `a1` among them.
    pub const DARK: Bitboard = Bitboard(0xaa55_aa55_aa55_aa55);

    const NOT_A: u64 = 0xfefe_fefe_fefe_fefe;
    const NOT_H: u64 = 0x7f7f_7f7f_7f7f_7f7f;

    /// Returns the set of one square.
    #[inline]
    #[must_use]
    pub const fn of(square: Square) -> Bitboard {
        Bitboard(1 << square.index())
    }

    /// Returns the squares of a file.
    #[inline]
    #[must_use]
    pub const fn file(file: File) -> Bitboard {
        Bitboard(0x0101_0101_0101_0101 << file.index())
    }

    /// Returns the squares of a rank.
    #[inline]
    #[must_use]
    pub const fn rank(rank: Rank) -> Bitboard {
        Bitboard(0xff << (rank.index() * 8))
    }

    /// Returns whether the set has no square.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set has a square in it.
    #[inline]
    #[must_use]
    pub const fn any(self) -> bool {
        self.0 != 0
    }

    /// Returns whether the set has more than one square.
    #[inline]
    #[must_use]
    pub const fn more_than_one(self) -> bool {
        self.0 & self.0.wrapping_sub(1) != 0
    }

    /// Returns how many squares the set has, 0 to 64.
    #[inline]
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns whether a square is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, square: Square) -> bool {
        self.0 >> square.index() & 1 != 0
    }

    /// Returns whether the two sets share no square.
    #[inline]
    #[must_use]
    pub const fn is_disjoint(self, other: Bitboard) -> bool {
        self.0 & other.0 == 0
    }

    /// Returns the lowest square of the set, or `None` where it is empty.
    #[inline]
    #[must_use]
    pub const fn first(self) -> Option<Square> {
        if self.0 == 0 {
            None
        } else {
            Some(Square::from_low_bits(self.0.trailing_zeros() as u8))
        }
    }

    /// Returns the only square of the set, or `None` where it has none or several.
    #[inline]
    #[must_use]
    pub const fn only(self) -> Option<Square> {
        if self.more_than_one() {
            None
        } else {
            self.first()
        }
    }

    /// Returns the set with every square moved one rank up, as White sees it.
    #[inline]
    #[must_use]
    pub const fn up(self) -> Bitboard {
        Bitboard(self.0 << 8)
    }

    /// Returns the set with every square moved one rank down, as White sees it.
    #[inline]
    #[must_use]
    pub const fn down(self) -> Bitboard {
        Bitboard(self.0 >> 8)
    }

    /// Returns the set with every square moved one rank forward for a side.
    #[inline]
    #[must_use]
    pub const fn forward(self, color: Color) -> Bitboard {
        match color {
            Color::White => self.up(),
            Color::Black => self.down(),
        }
    }

    /// Returns the set with every square moved one file towards `a`.
    #[inline]
    #[must_use]
    pub const fn left(self) -> Bitboard {
        Bitboard((self.0 & Self::NOT_A) >> 1)
    }

    /// Returns the set with every square moved one file towards `h`.
    #[inline]
    #[must_use]
    pub const fn right(self) -> Bitboard {
        Bitboard((self.0 & Self::NOT_H) << 1)
    }

    /// Returns every subset of the set, the empty one first and the set itself last.
    ///
    /// A set of n squares has 2 to the power of n subsets.
    pub fn subsets(self) -> impl Iterator<Item = Bitboard> {
        let mut next = Some(0u64);
        core::iter::from_fn(move || {
            let subset = next?;
            let following = subset.wrapping_sub(self.0) & self.0;
            next = (following != 0).then_some(following);
            Some(Bitboard(subset))
        })
    }
}

/// The squares of a set, lowest first.
#[derive(Clone, Debug)]
pub struct Squares(u64);

impl Iterator for Squares {
    type Item = Square;

    #[inline]
    fn next(&mut self) -> Option<Square> {
        let square = Bitboard(self.0).first()?;
        self.0 &= self.0.wrapping_sub(1);
        Some(square)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = self.0.count_ones() as usize;
        (count, Some(count))
    }
}

impl ExactSizeIterator for Squares {}

impl IntoIterator for Bitboard {
    type Item = Square;
    type IntoIter = Squares;

    #[inline]
    fn into_iter(self) -> Squares {
        Squares(self.0)
    }
}

impl FromIterator<Square> for Bitboard {
    fn from_iter<T: IntoIterator<Item = Square>>(squares: T) -> Bitboard {
        squares
            .into_iter()
            .fold(Bitboard::EMPTY, |set, square| set | Bitboard::of(square))
    }
}

impl From<Square> for Bitboard {
    fn from(square: Square) -> Bitboard {
        Bitboard::of(square)
    }
}

macro_rules! set_operator {
    ($operator:ident, $function:ident, $assign:ident, $assign_function:ident, $symbol:tt) => {
        impl $operator for Bitboard {
            type Output = Bitboard;

            #[inline]
            fn $function(self, other: Bitboard) -> Bitboard {
                Bitboard(self.0 $symbol other.0)
            }
        }

        impl $assign for Bitboard {
            #[inline]
            fn $assign_function(&mut self, other: Bitboard) {
                self.0 = self.0 $symbol other.0;
            }
        }
    };
}

set_operator!(BitAnd, bitand, BitAndAssign, bitand_assign, &);
set_operator!(BitOr, bitor, BitOrAssign, bitor_assign, |);
set_operator!(BitXor, bitxor, BitXorAssign, bitxor_assign, ^);

impl Sub for Bitboard {
    type Output = Bitboard;

    /// Returns the squares of the first set that are not in the second.
    #[inline]
    fn sub(self, other: Bitboard) -> Bitboard {
        Bitboard(self.0 & !other.0)
    }
}

impl Not for Bitboard {
    type Output = Bitboard;

    #[inline]
    fn not(self) -> Bitboard {
        Bitboard(!self.0)
    }
}

impl fmt::Debug for Bitboard {
    /// Draws the set, the eighth rank first, `X` for a square that is in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rank in (0..8).rev() {
            writeln!(f)?;
            for file in 0..8 {
                let square = Square::from_low_bits(rank * 8 + file);
                f.write_str(if self.contains(square) { " X" } else { " ." })?;
            }
        }
        Ok(())
    }
}
