//! Where our moves can change their checks, pins, steps of the king and castling.

use referee_chess::rays::{
    between, bishop_rays, king_attacks, knight_attacks, pawn_attacks, rook_rays,
};
use referee_chess::{Sliders, Square};

use super::ours::Ours;
use crate::board::{
    Board, Kind, Side, bishop, bit, castle_targets, each, east, is_many, lowest, rook, size, west,
};

/// Where our moves can change their checks, pins, steps of the king and castling.
#[derive(Default)]
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
    /// The squares of the zone that their king may step to, and those that we attack at least
    /// once and at least twice.
    pub(super) steps: u64,
    pub(super) once: u64,
    pub(super) twice: u64,
    /// How many of their replies are steps of the king and castlings.
    pub(super) king_moves: u64,
}

impl Critical {
    /// Looks at everything around their king.
    #[inline(always)]
    pub(super) fn new<S: Sliders, C: Side>(sliders: S, board: &Board, ours: &Ours) -> Critical {
        let them = ours.them;
        let king = lowest(board.kings & them);
        let steps = king_attacks(king).0 & !them;
        let mut critical = Critical {
            zone: steps,
            steps,
            once: ours.once,
            twice: ours.twice,
            arrivals: king_attacks(king).0 & them & !ours.twice,
            ..Critical::default()
        };
        critical.find_pins(board, ours, king);
        critical.king_moves = size(steps & !ours.once);
        critical.find_castling(board, ours, king);
        critical.sole = critical.zone & ours.once & !ours.twice;
        critical.find_strikes::<S, C>(sliders, ours, king);
        critical.find_guards::<S, C>(sliders, ours);
        critical.find_lines(ours);
        critical
    }

    #[inline(always)]
    fn find_pins(&mut self, board: &Board, ours: &Ours, king: Square) {
        let snipers = (rook_rays(king).0 & board.orthogonals
            | bishop_rays(king).0 & board.diagonals)
            & ours.us;
        each(snipers, |sniper| {
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
        });
    }

    #[inline(always)]
    fn find_castling(&mut self, board: &Board, ours: &Ours, king: Square) {
        each(board.castling & ours.them, |castler| {
            let path = between(king, castler).0;
            if path & ours.them == 0 {
                let (king_to, _) = castle_targets(king, castler);
                self.zone |= between(king, king_to).0 | bit(king_to);
                self.arrivals |= path | bit(castler);
                self.origins |= path & ours.us;
                let can = can_castle_usually(king, castler, ours.occupied, ours.once);
                self.king_moves += u64::from(can);
            }
        });
    }

    /// Where a piece checks their king, or pins the first of their pieces that shields it.
    #[inline(always)]
    fn find_strikes<S: Sliders, C: Side>(&mut self, sliders: S, ours: &Ours, king: Square) {
        let occupied = ours.occupied;
        let diagonal_shield = bishop(sliders, king, occupied) & ours.them;
        let orthogonal_shield = rook(sliders, king, occupied) & ours.them;
        self.strikes = Reach {
            knights: knight_attacks(king).0,
            bishops: bishop(sliders, king, occupied & !diagonal_shield),
            rooks: rook(sliders, king, occupied & !orthogonal_shield),
            pawns: pawn_attacks(<C::Other>::COLOR, king).0,
            kings: 0,
        };
    }

    #[inline(always)]
    fn find_guards<S: Sliders, C: Side>(&mut self, sliders: S, ours: &Ours) {
        let safe = self.zone & !ours.once;
        self.guards.pawns = west::<C::Other>(safe) | east::<C::Other>(safe);
        each(safe, |square| {
            self.guards.knights |= knight_attacks(square).0;
            self.guards.kings |= king_attacks(square).0;
            self.guards.bishops |= bishop(sliders, square, ours.occupied);
            self.guards.rooks |= rook(sliders, square, ours.occupied);
        });
    }

    /// What opens and closes the lines of our sliding pieces around their king.
    #[inline(always)]
    fn find_lines(&mut self, ours: &Ours) {
        ours.each_slider(|kind, from, attacks| {
            let rays = match kind {
                Kind::Bishop => bishop_rays(from).0,
                Kind::Rook => rook_rays(from).0,
                _ => bishop_rays(from).0 | rook_rays(from).0,
            };
            each(attacks & self.zone, |square| {
                if bit(square) & self.sole != 0 {
                    self.arrivals |= between(from, square).0;
                } else {
                    self.second |= between(from, square).0;
                }
            });
            // A square that is attacked twice already stays so when a line to it opens.
            each(rays & self.zone & !ours.twice & !attacks, |square| {
                let shield = between(from, square).0 & ours.occupied;
                if !is_many(shield) {
                    self.origins |= shield & ours.us;
                }
            });
        });
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
}

/// Whether nothing bars castling of a king on the e-file with a rook in the corner (FIDE Laws
/// 3.8.2.2). No piece stands behind that rook.
#[inline(always)]
pub(super) fn can_castle_usually(
    king: Square,
    castler: Square,
    occupied: u64,
    attacked: u64,
) -> bool {
    let (king_to, _) = castle_targets(king, castler);
    let crossed = between(king, king_to).0 | bit(king_to);
    between(king, castler).0 & occupied == 0 && crossed & attacked == 0
}
