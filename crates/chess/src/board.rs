//! Which piece stands on which square, and nothing else.

use core::fmt;

use crate::rays::{king_attacks, knight_attacks, pawn_attacks};
use crate::{Bitboard, Color, Piece, Role, Sliders, Square};

/// The placement of pieces: a set of squares for each color and for each kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Board {
    colors: [Bitboard; 2],
    roles: [Bitboard; 6],
}

impl Board {
    /// Returns a board without pieces.
    #[must_use]
    pub const fn empty() -> Board {
        Board {
            colors: [Bitboard::EMPTY; 2],
            roles: [Bitboard::EMPTY; 6],
        }
    }

    /// Returns the squares of the pieces of a side.
    #[inline]
    #[must_use]
    pub fn color(&self, color: Color) -> Bitboard {
        self.colors[color.index()]
    }

    /// Returns the squares of the pieces of a kind, of both sides.
    #[inline]
    #[must_use]
    pub fn role(&self, role: Role) -> Bitboard {
        self.roles[role.index()]
    }

    /// Returns the squares of the pieces of one side and kind.
    #[inline]
    #[must_use]
    pub fn pieces(&self, color: Color, role: Role) -> Bitboard {
        self.colors[color.index()] & self.roles[role.index()]
    }

    /// Returns the squares that are occupied.
    #[inline]
    #[must_use]
    pub fn occupied(&self) -> Bitboard {
        self.colors[0] | self.colors[1]
    }

    /// Returns the square of the king of a side; where there are several, the lowest; `None`
    /// where there is none.
    #[inline]
    #[must_use]
    pub fn king(&self, color: Color) -> Option<Square> {
        self.pieces(color, Role::King).first()
    }

    /// Returns the kind of the piece on a square, or `None` where it is empty.
    #[inline]
    #[must_use]
    pub fn role_at(&self, square: Square) -> Option<Role> {
        Role::ALL
            .into_iter()
            .find(|role| self.roles[role.index()].contains(square))
    }

    /// Returns the color of the piece on a square, or `None` where it is empty.
    #[inline]
    #[must_use]
    pub fn color_at(&self, square: Square) -> Option<Color> {
        Color::ALL
            .into_iter()
            .find(|color| self.colors[color.index()].contains(square))
    }

    /// Returns the piece on a square, or `None` where it is empty.
    #[must_use]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        Some(Piece {
            color: self.color_at(square)?,
            role: self.role_at(square)?,
        })
    }

    /// Puts a piece on a square, in place of what stood there.
    pub fn put(&mut self, square: Square, piece: Piece) {
        self.take(square);
        self.toggle(piece.color, piece.role, Bitboard::of(square));
    }

    /// Takes the piece off a square, and returns it.
    pub fn take(&mut self, square: Square) -> Option<Piece> {
        let piece = self.piece_at(square)?;
        self.toggle(piece.color, piece.role, Bitboard::of(square));
        Some(piece)
    }

    /// Flips whether pieces of one side and kind stand on some squares.
    #[inline]
    pub(crate) fn toggle(&mut self, color: Color, role: Role, squares: Bitboard) {
        self.colors[color.index()] ^= squares;
        self.roles[role.index()] ^= squares;
    }

    /// Returns the pieces of a side that attack a square, were the occupied squares the given
    /// ones. An attack counts even from a pinned piece (FIDE Laws 3.1.3).
    #[inline]
    pub fn attackers<S: Sliders>(
        &self,
        sliders: S,
        square: Square,
        by: Color,
        occupied: Bitboard,
    ) -> Bitboard {
        let queens = self.role(Role::Queen);
        let attackers = (knight_attacks(square) & self.role(Role::Knight))
            | (king_attacks(square) & self.role(Role::King))
            | (pawn_attacks(!by, square) & self.role(Role::Pawn))
            | (sliders.rook(square, occupied) & (self.role(Role::Rook) | queens))
            | (sliders.bishop(square, occupied) & (self.role(Role::Bishop) | queens));
        attackers & self.color(by)
    }

    /// Returns every occupied square with its piece, `a1` first.
    pub fn iter(&self) -> impl Iterator<Item = (Square, Piece)> + '_ {
        self.occupied()
            .into_iter()
            .filter_map(|square| Some((square, self.piece_at(square)?)))
    }
}

impl fmt::Display for Board {
    /// Writes the first field of a FEN.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rank in (0..8).rev() {
            let mut empty = 0;
            for file in 0..8 {
                match self.piece_at(Square::from_low_bits(rank * 8 + file)) {
                    None => empty += 1,
                    Some(piece) => {
                        if empty > 0 {
                            write!(f, "{empty}")?;
                        }
                        empty = 0;
                        write!(f, "{}", piece.to_char())?;
                    }
                }
            }
            if empty > 0 {
                write!(f, "{empty}")?;
            }
            if rank > 0 {
                f.write_str("/")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Board({self})")
    }
}
