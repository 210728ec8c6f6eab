//! Where our moves can change their checks, pins, steps of the king and castling.

use referee_chess::rays::{
    between, bishop_rays, king_attacks, knight_attacks, pawn_attacks, rook_rays,
};
use referee_chess::{Sliders, Square};

use super::ours::{DIAGONAL, Lines, ORTHOGONAL, Ours, SLIDERS_MAX};
use crate::board::{
    Board, Kind, Side, Squares, bishop, bit, east, is_many, lowest, rook, size, west,
};

/// Where our moves can change their checks, pins, steps of the king and castling.
pub(super) struct Critical {
    /// Pieces that shield a line, on either side of which something matters.
    pub(super) origins: u64,
    /// Squares on which a piece blocks a line that matters, or bars castling.
    pub(super) arrivals: u64,
    /// Squares on which a piece that attacks `zone` may block a second attack on it.
    pub(super) second: u64,
    /// The squares that their king may step to or cross, as far as their own pieces go.
    pub(super) zone: u64,
    /// Those of them that we attack exactly once.
    pub(super) sole: u64,
    /// Squares from which a piece gives check or pins.
    pub(super) strikes: Reach,
    /// Squares from which a piece attacks a square of the zone that is safe so far.
    pub(super) guards: Reach,
    /// Their pieces that are pinned.
    pub(super) pinned: u64,
    /// The squares of the zone that their king may step to.
    steps: u64,
    /// The squares that we attack at least once, and at least twice.
    pub(super) once: u64,
    pub(super) twice: u64,
    /// The squares that their king crosses when it castles to either side, all where it cannot.
    crossed: [u64; 2],
    /// How many of their replies are steps of the king and castlings.
    pub(super) king_moves: u64,
}

impl Critical {
    /// Looks at everything around their king. `lines` is what our sliding pieces attack.
    #[inline(always)]
    pub(super) fn new<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        ours: &Ours,
        lines: &Lines,
    ) -> Critical {
        let them = ours.them;
        let king = lowest(board.kings & them);
        let steps = king_attacks(king).0 & !them;
        let mut critical = Critical {
            origins: 0,
            arrivals: king_attacks(king).0 & them & !ours.twice,
            second: 0,
            zone: steps,
            sole: 0,
            strikes: strikes::<S, C>(sliders, ours, king),
            guards: Reach::default(),
            pinned: 0,
            steps,
            once: ours.once,
            twice: ours.twice,
            crossed: [!0; 2],
            king_moves: 0,
        };
        critical.find_pins(board, ours, king);
        critical.find_castling(board, ours, king);
        critical.king_moves = critical.king_moves(ours.once);
        critical.sole = critical.zone & ours.once & !ours.twice;
        critical.find_guards::<S, C>(sliders, ours);
        critical.find_lines(ours, lines);
        critical
    }

    /// How many steps and castlings their king has while we attack some squares.
    #[inline(always)]
    pub(super) fn king_moves(&self, attacked: u64) -> u64 {
        size(self.steps & !attacked)
            + u64::from(self.crossed[0] & attacked == 0)
            + u64::from(self.crossed[1] & attacked == 0)
    }

    #[inline(always)]
    fn find_pins(&mut self, board: &Board, ours: &Ours, king: Square) {
        let snipers = (rook_rays(king).0 & board.orthogonals
            | bishop_rays(king).0 & board.diagonals)
            & ours.us;
        for sniper in Squares(snipers) {
            let path = between(king, sniper).0;
            let shield = path & ours.occupied;
            let own = shield & ours.us;
            if !is_many(shield) {
                if own != 0 {
                    // Leaving discovers a check.
                    self.origins |= own;
                } else {
                    self.pinned |= shield;
                    self.origins |= bit(sniper);
                    self.arrivals |= path;
                }
            } else if own != 0 && own != shield && size(shield) == 2 {
                // Leaving pins the other one.
                self.origins |= own;
            }
        }
    }

    /// Looks at castling of a king on the e-file with rooks in the corners, behind which no piece
    /// stands (FIDE Laws 3.8.2.2).
    #[inline(always)]
    fn find_castling(&mut self, board: &Board, ours: &Ours, king: Square) {
        for castler in Squares(board.castling & ours.them) {
            let path = between(king, castler).0;
            if path & ours.them == 0 {
                let side = usize::from(castler > king);
                let king_set = bit(king);
                let crossed = if side == 0 {
                    king_set >> 1 | king_set >> 2
                } else {
                    king_set << 1 | king_set << 2
                };
                self.zone |= crossed;
                self.arrivals |= path | bit(castler);
                self.origins |= path & ours.us;
                if path & ours.us == 0 {
                    self.crossed[side] = crossed;
                }
            }
        }
    }

    #[inline(always)]
    fn find_guards<S: Sliders, C: Side>(&mut self, sliders: S, ours: &Ours) {
        let safe = self.zone & !ours.once;
        self.guards.pawns = west::<C::Other>(safe) | east::<C::Other>(safe);
        for square in Squares(safe) {
            self.guards.knights |= knight_attacks(square).0;
            self.guards.kings |= king_attacks(square).0;
            self.guards.bishops |= bishop(sliders, square, ours.occupied);
            self.guards.rooks |= rook(sliders, square, ours.occupied);
        }
    }

    /// What opens and closes the lines of our sliding pieces around their king.
    #[inline(always)]
    fn find_lines(&mut self, ours: &Ours, lines: &Lines) {
        if self.zone == 0 {
            return;
        }
        let mut index = 0;
        for kind in 0..3 {
            for from in Squares(ours.sliders[kind]) {
                let attacks = lines[index & (SLIDERS_MAX - 1)];
                index += 1;
                let rays =
                    bishop_rays(from).0 & DIAGONAL[kind] | rook_rays(from).0 & ORTHOGONAL[kind];
                // A square that is attacked twice already stays so when a line to it opens.
                for square in Squares(self.zone & (attacks | rays & !ours.twice)) {
                    let path = between(from, square).0;
                    let shield = path & ours.occupied;
                    if shield != 0 {
                        let alone = if is_many(shield) { 0 } else { shield };
                        self.origins |= alone & ours.us;
                    } else if bit(square) & self.sole != 0 {
                        self.arrivals |= path;
                    } else {
                        self.second |= path;
                    }
                }
            }
        }
    }
}

/// Where a piece checks their king, or pins the first of their pieces that shields it.
#[inline(always)]
fn strikes<S: Sliders, C: Side>(sliders: S, ours: &Ours, king: Square) -> Reach {
    let occupied = ours.occupied;
    let diagonal_shield = bishop(sliders, king, occupied) & ours.them;
    let orthogonal_shield = rook(sliders, king, occupied) & ours.them;
    Reach {
        knights: knight_attacks(king).0,
        bishops: bishop(sliders, king, occupied & !diagonal_shield),
        rooks: rook(sliders, king, occupied & !orthogonal_shield),
        pawns: pawn_attacks(<C::Other>::COLOR, king).0,
        kings: 0,
    }
}

/// Squares from which pieces act on something, by kind.
#[derive(Default)]
pub(super) struct Reach {
    pub(super) knights: u64,
    pub(super) bishops: u64,
    pub(super) rooks: u64,
    pub(super) pawns: u64,
    pub(super) kings: u64,
}

impl Reach {
    #[inline(always)]
    pub(super) fn of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Pawn => self.pawns,
            Kind::Knight => self.knights,
            Kind::Bishop => self.bishops,
            Kind::Rook => self.rooks,
            Kind::Queen => self.bishops | self.rooks,
            Kind::King => self.kings,
        }
    }

    /// The same for bishops, rooks and queens.
    #[inline(always)]
    pub(super) fn sliding(&self) -> [u64; 3] {
        [self.bishops, self.rooks, self.bishops | self.rooks]
    }
}
