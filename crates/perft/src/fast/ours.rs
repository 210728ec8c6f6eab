//! What the side to move attacks, found once for all its uses.

use referee_chess::rays::{king_attacks, knight_attacks};
use referee_chess::{Sliders, Square};

use crate::board::{Board, Kind, Side, bishop, each, east, lowest, rook, west};

/// So many sliding pieces of a side are dealt with, queens counted twice; boards with more are
/// counted move by move.
pub(super) const SLIDERS_MAX: usize = 16;

/// Our pieces and what they attack.
pub(super) struct Ours {
    pub(super) us: u64,
    pub(super) them: u64,
    pub(super) occupied: u64,
    bishops: u64,
    rooks: u64,
    queens: u64,
    /// What bishops, rooks and queens attack, in the order of [`Ours::each_slider`].
    attacks: [u64; SLIDERS_MAX],
    /// The squares that we attack at least once, and at least twice.
    pub(super) once: u64,
    pub(super) twice: u64,
}

impl Ours {
    #[inline(always)]
    pub(super) fn new<S: Sliders, C: Side>(sliders: S, board: &Board) -> Ours {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let occupied = us | them;
        let mut ours = Ours {
            us,
            them,
            occupied,
            bishops: board.diagonals & !board.orthogonals & us,
            rooks: board.orthogonals & !board.diagonals & us,
            queens: board.diagonals & board.orthogonals & us,
            attacks: [0; SLIDERS_MAX],
            once: king_attacks(lowest(board.kings & us)).0,
            twice: 0,
        };
        let pawns = board.pawns & us;
        ours.attack(west::<C>(pawns));
        ours.attack(east::<C>(pawns));
        each(board.knights & us, |from| {
            ours.attack(knight_attacks(from).0)
        });
        let mut index = 0;
        let mut keep = |ours: &mut Ours, set: u64| {
            ours.attacks[index & (SLIDERS_MAX - 1)] = set;
            index += 1;
            ours.attack(set);
        };
        each(ours.bishops, |from| {
            keep(&mut ours, bishop(sliders, from, occupied))
        });
        each(ours.rooks, |from| {
            keep(&mut ours, rook(sliders, from, occupied))
        });
        each(ours.queens, |from| {
            let set = bishop(sliders, from, occupied) | rook(sliders, from, occupied);
            keep(&mut ours, set);
        });
        ours
    }

    #[inline(always)]
    fn attack(&mut self, set: u64) {
        self.twice |= self.once & set;
        self.once |= set;
    }

    /// Visits each bishop, rook and queen with what it attacks.
    #[inline(always)]
    pub(super) fn each_slider(&self, mut visit: impl FnMut(Kind, Square, u64)) {
        let mut index = 0;
        let mut next = |kind: Kind, from: Square| {
            visit(kind, from, self.attacks[index & (SLIDERS_MAX - 1)]);
            index += 1;
        };
        each(self.bishops, |from| next(Kind::Bishop, from));
        each(self.rooks, |from| next(Kind::Rook, from));
        each(self.queens, |from| next(Kind::Queen, from));
    }
}
