//! The board that counting works on: 64 bytes, copied for each move.

use referee_chess::rays::{between, bishop_rays, knight_attacks, pawn_attacks, rook_rays};
use referee_chess::{Bitboard, Color, Position, Role, Sliders, Square};

/// The side that a function is compiled for.
pub(crate) trait Side: Copy {
    /// The other side.
    type Other: Side<Other = Self>;
    /// The color of the side.
    const COLOR: Color;
    /// Whether the side is White.
    const WHITE: bool;
    /// The rank on which pawns of this side arrive with a single step from their home rank.
    const THIRD: u64 = if Self::WHITE { 0xff << 16 } else { 0xff << 40 };
    /// The e-file on the rank where this side castles, and the corners beside it.
    const KING_HOME: u64 = 0x10 << Self::FIRST;
    /// See [`Side::KING_HOME`].
    const CORNERS: [u64; 2] = [1 << Self::FIRST, 0x80 << Self::FIRST];
    /// The number of the first square of the rank where this side castles.
    const FIRST: u32 = if Self::WHITE { 0 } else { 56 };
    /// The rank on which pawns of this side promote.
    const LAST: u64 = if Self::WHITE { 0xff << 56 } else { 0xff };
}

/// White moves.
#[derive(Clone, Copy)]
pub(crate) struct White;

/// Black moves.
#[derive(Clone, Copy)]
pub(crate) struct Black;

impl Side for White {
    type Other = Black;
    const COLOR: Color = Color::White;
    const WHITE: bool = true;
}

impl Side for Black {
    type Other = White;
    const COLOR: Color = Color::Black;
    const WHITE: bool = false;
}

const NOT_A: u64 = 0xfefe_fefe_fefe_fefe;
const NOT_H: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// One step ahead for the pawns of a side.
#[inline(always)]
pub(crate) fn ahead<C: Side>(set: u64) -> u64 {
    if C::WHITE { set << 8 } else { set >> 8 }
}

/// One step back for the pawns of a side.
#[inline(always)]
pub(crate) fn back<C: Side>(set: u64) -> u64 {
    if C::WHITE { set >> 8 } else { set << 8 }
}

/// What pawns attack towards the a-file.
#[inline(always)]
pub(crate) fn west<C: Side>(pawns: u64) -> u64 {
    ahead::<C>((pawns & NOT_A) >> 1)
}

/// What pawns attack towards the h-file.
#[inline(always)]
pub(crate) fn east<C: Side>(pawns: u64) -> u64 {
    ahead::<C>((pawns & NOT_H) << 1)
}

/// The lowest square of a set that is not empty.
#[inline(always)]
pub(crate) fn lowest(set: u64) -> Square {
    Square::from_low_bits(set.trailing_zeros() as u8)
}

#[inline(always)]
pub(crate) fn bit(square: Square) -> u64 {
    1 << square.index()
}

/// How many squares a set has.
#[inline(always)]
pub(crate) fn size(set: u64) -> u64 {
    u64::from(set.count_ones())
}

/// Whether a set has two squares or more.
#[inline(always)]
pub(crate) fn is_many(set: u64) -> bool {
    set & set.wrapping_sub(1) != 0
}

/// The squares of a set, lowest first. Unlike a closure, the body of a loop over them is always
/// part of the function around, and so is compiled for the same instructions.
#[derive(Clone, Copy)]
pub(crate) struct Squares(pub(crate) u64);

impl Iterator for Squares {
    type Item = Square;

    #[inline(always)]
    fn next(&mut self) -> Option<Square> {
        if self.0 == 0 {
            return None;
        }
        let square = lowest(self.0);
        self.0 &= self.0 - 1;
        Some(square)
    }
}

/// Does something with each square of a set, lowest first.
#[inline(always)]
pub(crate) fn each(mut set: u64, mut act: impl FnMut(Square)) {
    while set != 0 {
        act(lowest(set));
        set &= set - 1;
    }
}

#[inline(always)]
pub(crate) fn bishop<S: Sliders>(sliders: S, square: Square, occupied: u64) -> u64 {
    sliders.bishop(square, Bitboard(occupied)).0
}

#[inline(always)]
pub(crate) fn rook<S: Sliders>(sliders: S, square: Square, occupied: u64) -> u64 {
    sliders.rook(square, Bitboard(occupied)).0
}

/// A kind of piece that a function is compiled for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pawn,
    Knight,
    Bishop,
    Rook,
    Queen,
    King,
}

/// The pieces of a position, and the rights to castle. Queens are among the bishops and among the
/// rooks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(align(64))]
pub(crate) struct Board {
    pub(crate) colors: [u64; 2],
    pub(crate) pawns: u64,
    pub(crate) knights: u64,
    pub(crate) diagonals: u64,
    pub(crate) orthogonals: u64,
    pub(crate) kings: u64,
    /// The rooks of both sides that may castle.
    pub(crate) castling: u64,
}

impl Board {
    /// Takes the board over from a position, and the square of a possible capture en passant as
    /// a set.
    pub(crate) fn new(position: &Position) -> (Board, u64) {
        let board = position.board();
        let role = |role| board.role(role).0;
        let queens = role(Role::Queen);
        let own = Board {
            colors: [board.color(Color::White).0, board.color(Color::Black).0],
            pawns: role(Role::Pawn),
            knights: role(Role::Knight),
            diagonals: role(Role::Bishop) | queens,
            orthogonals: role(Role::Rook) | queens,
            kings: role(Role::King),
            castling: position.castling_rooks().0,
        };
        (own, position.en_passant().map_or(0, bit))
    }

    #[inline(always)]
    pub(crate) fn of<C: Side>(&self) -> u64 {
        self.colors[C::COLOR.index()]
    }

    /// The pieces that give check to a side, and its pieces that are pinned to the king.
    #[inline(always)]
    pub(crate) fn checks_and_pins<C: Side>(&self, king: Square) -> (u64, u64) {
        let (us, them) = (self.of::<C>(), self.of::<C::Other>());
        let mut checkers = (knight_attacks(king).0 & self.knights
            | pawn_attacks(C::COLOR, king).0 & self.pawns)
            & them;
        let snipers =
            (rook_rays(king).0 & self.orthogonals | bishop_rays(king).0 & self.diagonals) & them;
        let mut pinned = 0;
        for sniper in Squares(snipers) {
            let shield = between(king, sniper).0 & (us | them);
            if shield == 0 {
                checkers |= bit(sniper);
            } else if !is_many(shield) {
                pinned |= shield & us;
            }
        }
        (checkers, pinned)
    }

    /// The board after a piece of a known kind has gone from one square to another, and has
    /// taken what stood there.
    #[inline(always)]
    pub(crate) fn after<C: Side>(&self, kind: Kind, from: u64, to: u64) -> Board {
        let mut next = self.without::<C>(to);
        let both = from | to;
        next.castling &= !both;
        next.colors[C::COLOR.index()] ^= both;
        match kind {
            Kind::Pawn => next.pawns ^= both,
            Kind::Knight => next.knights ^= both,
            Kind::Bishop => next.diagonals ^= both,
            Kind::Rook => next.orthogonals ^= both,
            Kind::Queen => {
                next.diagonals ^= both;
                next.orthogonals ^= both;
            }
            Kind::King => {
                next.kings ^= both;
                next.castling &= !self.of::<C>();
            }
        }
        next
    }

    /// The board after a bishop, a rook or a queen has moved. `diagonal` and `orthogonal` have all
    /// bits where the piece moves that way, and none elsewhere.
    #[inline(always)]
    pub(crate) fn after_slide<C: Side>(
        &self,
        diagonal: u64,
        orthogonal: u64,
        from: u64,
        to: u64,
    ) -> Board {
        let mut next = self.without::<C>(to);
        let both = from | to;
        next.castling &= !both;
        next.colors[C::COLOR.index()] ^= both;
        next.diagonals ^= both & diagonal;
        next.orthogonals ^= both & orthogonal;
        next
    }

    /// The board without what the other side has on a square. No side moves onto its own pieces,
    /// so that clearing the square for both colors would do as well.
    #[inline(always)]
    fn without<C: Side>(&self, square: u64) -> Board {
        let keep = !square;
        let mut colors = self.colors;
        colors[C::Other::COLOR.index()] &= keep;
        // Field by field: a copy that is changed afterwards would be read again before the
        // processor has it in memory.
        Board {
            colors,
            pawns: self.pawns & keep,
            knights: self.knights & keep,
            diagonals: self.diagonals & keep,
            orthogonals: self.orthogonals & keep,
            kings: self.kings,
            castling: self.castling,
        }
    }

    /// The board after a pawn has promoted. The kings are no piece to promote to, nor is a pawn.
    #[inline(always)]
    pub(crate) fn after_promotion<C: Side>(&self, from: u64, to: u64, kind: Kind) -> Board {
        let mut next = self.without::<C>(to);
        next.castling &= !to;
        next.colors[C::COLOR.index()] ^= from | to;
        next.pawns ^= from;
        match kind {
            Kind::Knight => next.knights |= to,
            Kind::Bishop => next.diagonals |= to,
            Kind::Rook => next.orthogonals |= to,
            _ => {
                next.diagonals |= to;
                next.orthogonals |= to;
            }
        }
        next
    }

    /// The board after a pawn has taken en passant.
    #[inline(always)]
    pub(crate) fn after_en_passant<C: Side>(&self, from: u64, to: u64) -> Board {
        let taken = back::<C>(to);
        let mut next = *self;
        next.colors[C::COLOR.index()] ^= from | to;
        next.colors[C::Other::COLOR.index()] ^= taken;
        next.pawns ^= from | to | taken;
        next
    }

    /// The board after castling. King and rook may pass through or exchange squares in Chess960.
    #[inline(always)]
    pub(crate) fn after_castling<C: Side>(&self, king: Square, rook: Square) -> Board {
        let (king_to, rook_to) = castle_targets(king, rook);
        let kings = bit(king) ^ bit(king_to);
        let rooks = bit(rook) ^ bit(rook_to);
        let mut next = *self;
        next.colors[C::COLOR.index()] ^= kings ^ rooks;
        next.kings ^= kings;
        next.orthogonals ^= rooks;
        next.castling &= !self.of::<C>();
        next
    }
}

/// Where king and rook end when they castle (FIDE Laws 3.8.2, guidelines II.3.2).
#[inline(always)]
pub(crate) fn castle_targets(king: Square, rook: Square) -> (Square, Square) {
    let rank = king.index() as u8 & 56;
    if rook > king {
        (
            Square::from_low_bits(rank + 6),
            Square::from_low_bits(rank + 5),
        )
    } else {
        (
            Square::from_low_bits(rank + 2),
            Square::from_low_bits(rank + 3),
        )
    }
}

/// Whether nothing bars castling with a rook (FIDE Laws 3.8.2.2). The king is known not to be in
/// check; `attacked` is what the other side attacks, through the king as well.
#[inline(always)]
pub(crate) fn can_castle<S: Sliders, C: Side>(
    sliders: S,
    board: &Board,
    king: Square,
    castler: Square,
    attacked: u64,
) -> bool {
    let (king_to, rook_to) = castle_targets(king, castler);
    let king_path = between(king, king_to).0 | bit(king_to);
    let rook_path = between(castler, rook_to).0 | bit(rook_to);
    let (us, them) = (board.of::<C>(), board.of::<C::Other>());
    let others = (us | them) ^ bit(king) ^ bit(castler);
    if (king_path | rook_path) & others != 0 || king_path & attacked != 0 {
        return false;
    }
    // The rook may have shielded the square of arrival, which happens in Chess960 only.
    rook(sliders, king_to, others | bit(rook_to)) & them & board.orthogonals == 0
}

/// Whether a capture en passant leaves the king in check (FIDE Laws 3.9.2). Two pawns leave their
/// squares, so pins do not tell.
#[inline(always)]
pub(crate) fn is_en_passant_safe<S: Sliders, C: Side>(
    sliders: S,
    board: &Board,
    king: Square,
    from: u64,
    to: u64,
    checkers: u64,
) -> bool {
    let taken = back::<C>(to);
    let (us, them) = (board.of::<C>(), board.of::<C::Other>());
    let occupied = (us | them) ^ from ^ taken ^ to;
    let leapers = checkers & (board.pawns | board.knights) & !taken;
    leapers == 0
        && rook(sliders, king, occupied) & them & board.orthogonals == 0
        && bishop(sliders, king, occupied) & them & board.diagonals == 0
}
