//! What the side to move attacks, found once for all its uses.

use referee_chess::Sliders;
use referee_chess::rays::{king_attacks, knight_attacks};

use crate::board::{Board, Kind, Side, Squares, bishop, east, lowest, rook, west};

/// So many sliding pieces of a side are dealt with, queens counted twice; boards with more are
/// counted move by move.
pub(super) const SLIDERS_MAX: usize = 16;

/// What the sliding pieces of a side attack, piece by piece.
pub(super) type Lines = [u64; SLIDERS_MAX];

/// The kinds of our sliding pieces, in the order in which they are dealt with.
pub(super) const SLIDING: [Kind; 3] = [Kind::Bishop, Kind::Rook, Kind::Queen];

/// For each of them, all bits where such a piece moves along diagonals, and along orthogonals.
pub(super) const DIAGONAL: [u64; 3] = [!0, 0, !0];
/// See [`DIAGONAL`].
pub(super) const ORTHOGONAL: [u64; 3] = [0, !0, !0];

/// Our pieces and what they attack.
pub(super) struct Ours {
    pub(super) us: u64,
    pub(super) them: u64,
    pub(super) occupied: u64,
    /// Bishops, rooks and queens.
    pub(super) sliders: [u64; 3],
    /// The squares that we attack at least once, and at least twice.
    pub(super) once: u64,
    pub(super) twice: u64,
}

impl Ours {
    /// Looks at all our pieces. What the sliding ones attack goes to `lines`, in the order of
    /// `sliders`.
    #[inline(always)]
    pub(super) fn new<S: Sliders, C: Side>(sliders: S, board: &Board, lines: &mut Lines) -> Ours {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let occupied = us | them;
        let mut ours = Ours {
            us,
            them,
            occupied,
            sliders: [
                board.diagonals & !board.orthogonals & us,
                board.orthogonals & !board.diagonals & us,
                board.diagonals & board.orthogonals & us,
            ],
            once: king_attacks(lowest(board.kings & us)).0,
            twice: 0,
        };
        let pawns = board.pawns & us;
        ours.attack(west::<C>(pawns));
        ours.attack(east::<C>(pawns));
        for from in Squares(board.knights & us) {
            ours.attack(knight_attacks(from).0);
        }
        let mut index = 0;
        for from in Squares(ours.sliders[0]) {
            let set = bishop(sliders, from, occupied);
            lines[index & (SLIDERS_MAX - 1)] = set;
            index += 1;
            ours.attack(set);
        }
        for from in Squares(ours.sliders[1]) {
            let set = rook(sliders, from, occupied);
            lines[index & (SLIDERS_MAX - 1)] = set;
            index += 1;
            ours.attack(set);
        }
        for from in Squares(ours.sliders[2]) {
            let set = bishop(sliders, from, occupied) | rook(sliders, from, occupied);
            lines[index & (SLIDERS_MAX - 1)] = set;
            index += 1;
            ours.attack(set);
        }
        ours
    }

    #[inline(always)]
    fn attack(&mut self, set: u64) {
        self.twice |= self.once & set;
        self.once |= set;
    }
}
