//! What the other side can reply to a null move, and what changes that.

use referee_chess::rays::{king_attacks, knight_attacks, line, pawn_attacks};
use referee_chess::{Sliders, Square};

use super::critical::Critical;
use super::ours::{Lines, Ours, SLIDERS_MAX};
use crate::board::{Board, Side, Squares, ahead, bishop, bit, east, lowest, rook, size, west};
use crate::lines::beyond;

const A_FILE: u64 = 0x0101_0101_0101_0101;

/// What it does to their replies when a square is left.
#[derive(Clone, Copy, Default)]
pub(super) struct Vacated {
    /// By how much they grow.
    pub(super) gain: u64,
    /// The arrivals for which this does not hold.
    pub(super) except: u64,
    /// Pawns whose capture of our piece has been taken off already; `weight` is what it counts.
    pub(super) mutual: u64,
    pub(super) weight: u64,
}

/// What the other side has after a null move, and what bears on it.
pub(super) struct Replies {
    pub(super) occupied: u64,
    pub(super) them: u64,
    pub(super) their_pawns: u64,
    /// Their pawns that are not pinned.
    pub(super) free_pawns: u64,
    pub(super) count: u64,
    /// Their pieces that are not pinned, by the way they move.
    pub(super) diagonals: u64,
    pub(super) orthogonals: u64,
    pub(super) knights: u64,
    /// What the unpinned pawns attack to either side.
    pub(super) west: u64,
    pub(super) east: u64,
    /// The squares before their unpinned pawns.
    pub(super) front: u64,
    /// The squares two before those that could make a double step but for that square.
    pub(super) second_front: u64,
    /// What their unpinned sliding pieces attack.
    pub(super) lines: u64,
    /// Their rank of promotion.
    pub(super) last: u64,
    /// The single and the double steps of their unpinned pawns.
    pub(super) single: u64,
    pub(super) double: u64,
    /// All that they attack.
    pub(super) attacked: u64,
}

impl Replies {
    /// Counts the replies to a null move. What their unpinned bishops, rooks and queens attack
    /// goes to `lines`, in the order of `diagonals`, then `orthogonals`.
    #[inline(always)]
    pub(super) fn new<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        ours: &Ours,
        critical: &Critical,
        lines: &mut Lines,
    ) -> Replies {
        let (them, occupied) = (ours.them, ours.occupied);
        let free = them & !critical.pinned;
        let pawns = board.pawns & free;
        let their_pawns = board.pawns & them;
        let king = lowest(board.kings & them);
        let single = ahead::<C::Other>(pawns) & !occupied;
        let at_home = <C::Other>::THIRD & ahead::<C::Other>(pawns);
        let mut replies = Replies {
            occupied,
            them,
            their_pawns,
            free_pawns: pawns,
            count: critical.king_moves,
            diagonals: board.diagonals & free,
            orthogonals: board.orthogonals & free,
            knights: board.knights & free,
            west: west::<C::Other>(pawns),
            east: east::<C::Other>(pawns),
            front: ahead::<C::Other>(pawns),
            second_front: ahead::<C::Other>(at_home & !occupied),
            lines: 0,
            last: <C::Other>::LAST,
            single,
            double: ahead::<C::Other>(single & <C::Other>::THIRD) & !occupied,
            attacked: king_attacks(king).0
                | west::<C::Other>(their_pawns)
                | east::<C::Other>(their_pawns),
        };
        replies.count_pieces(sliders, board, critical.pinned, lines);
        replies.count_pawns();
        if critical.pinned != 0 {
            replies.count_pinned::<S, C>(sliders, board, critical.pinned, king);
        }
        replies
    }

    #[inline(always)]
    fn count_pieces<S: Sliders>(
        &mut self,
        sliders: S,
        board: &Board,
        pinned: u64,
        lines: &mut Lines,
    ) {
        let (them, occupied) = (self.them, self.occupied);
        for from in Squares(self.knights) {
            let attacks = knight_attacks(from).0;
            self.attacked |= attacks;
            self.count += size(attacks & !them);
        }
        for from in Squares(board.knights & pinned) {
            self.attacked |= knight_attacks(from).0;
        }
        let mut index = 0;
        for from in Squares(self.diagonals) {
            let attacks = bishop(sliders, from, occupied);
            lines[index & (SLIDERS_MAX - 1)] = attacks;
            index += 1;
            self.lines |= attacks;
            self.count += size(attacks & !them);
        }
        for from in Squares(self.orthogonals) {
            let attacks = rook(sliders, from, occupied);
            lines[index & (SLIDERS_MAX - 1)] = attacks;
            index += 1;
            self.lines |= attacks;
            self.count += size(attacks & !them);
        }
        self.attacked |= self.lines;
    }

    #[inline(always)]
    fn count_pawns(&mut self) {
        let us = self.occupied ^ self.them;
        let last = us & self.last;
        self.count += size(self.single)
            + size(self.double)
            + size(self.west & us)
            + size(self.east & us)
            + 3 * (size(self.single & self.last) + size(self.west & last) + size(self.east & last));
    }

    #[inline(always)]
    fn count_pinned<S: Sliders, C: Side>(
        &mut self,
        sliders: S,
        board: &Board,
        pinned: u64,
        king: Square,
    ) {
        for from in Squares(pinned) {
            let on_line = line(king, from).0 & !self.them;
            let set = bit(from);
            if set & board.pawns != 0 {
                let us = self.occupied ^ self.them;
                self.count += count_pawn_moves::<C::Other>(set, self.occupied, us, on_line);
            }
            if set & board.diagonals != 0 {
                let attacks = bishop(sliders, from, self.occupied);
                self.attacked |= attacks;
                self.count += size(attacks & on_line);
            }
            if set & board.orthogonals != 0 {
                let attacks = rook(sliders, from, self.occupied);
                self.attacked |= attacks;
                self.count += size(attacks & on_line);
            }
        }
    }

    /// Squares which it changes something to leave.
    #[inline(always)]
    pub(super) fn sensitive(&self) -> u64 {
        self.west | self.east | self.front | self.second_front | self.lines
    }

    /// What it does to their replies when a square is left.
    #[inline(always)]
    pub(super) fn vacate<S: Sliders, C: Side>(&self, sliders: S, from: Square) -> Vacated {
        let left = bit(from);
        let weight = if left & self.last != 0 { 4 } else { 1 };
        let mut gain = 0u64;
        let mut except = 0;
        let mut mutual = 0;
        if left & (self.west | self.east) != 0 {
            let captures = size(left & self.west) + size(left & self.east);
            gain = gain.wrapping_sub(weight * captures);
            mutual = pawn_attacks(C::COLOR, from).0 & self.free_pawns;
        }
        if left & (self.front | self.second_front) != 0 {
            if left & self.front != 0 {
                gain = gain.wrapping_add(weight);
                let beyond = ahead::<C::Other>(left & <C::Other>::THIRD);
                gain = gain.wrapping_add(size(beyond & !self.occupied));
            } else {
                gain = gain.wrapping_add(1);
            }
            except |= A_FILE << (from.index() & 7);
        }
        if left & self.lines != 0 {
            let opened = self.occupied ^ left;
            for slider in Squares(bishop(sliders, from, self.occupied) & self.diagonals) {
                let more = bishop(sliders, slider, opened) & beyond(slider, from);
                gain = gain.wrapping_add(size(more & !self.them));
                except |= line(slider, from).0;
            }
            for slider in Squares(rook(sliders, from, self.occupied) & self.orthogonals) {
                let more = rook(sliders, slider, opened) & beyond(slider, from);
                gain = gain.wrapping_add(size(more & !self.them));
                except |= line(slider, from).0;
            }
        }
        Vacated {
            gain,
            except,
            mutual,
            weight,
        }
    }

    /// By how much their replies grow when the piece on a square is taken.
    #[inline(always)]
    pub(super) fn capture<S: Sliders, C: Side>(
        &self,
        sliders: S,
        board: &Board,
        taken: Square,
    ) -> u64 {
        let set = bit(taken);
        let weight = if set & self.last != 0 { 4 } else { 1 };
        let as_knight = knight_attacks(taken).0;
        let mut gain = size(as_knight & self.knights)
            + weight * (size(set & self.west) + size(set & self.east));
        if set & self.lines != 0 {
            gain += size(bishop(sliders, taken, self.occupied) & self.diagonals)
                + size(rook(sliders, taken, self.occupied) & self.orthogonals);
        }
        if set & self.their_pawns != 0 {
            let us = self.occupied ^ self.them;
            let moves = count_pawn_moves::<C::Other>(set, self.occupied, us, !0);
            return gain.wrapping_sub(moves);
        }
        let mut to = 0;
        if set & board.knights != 0 {
            to = as_knight;
        }
        if set & board.diagonals != 0 {
            to |= bishop(sliders, taken, self.occupied);
        }
        if set & board.orthogonals != 0 {
            to |= rook(sliders, taken, self.occupied);
        }
        gain.wrapping_sub(size(to & !self.them))
    }
}

/// The number of moves that some pawns have to the squares of `goal`, without en passant.
#[inline(always)]
fn count_pawn_moves<C: Side>(pawns: u64, occupied: u64, them: u64, goal: u64) -> u64 {
    let single = ahead::<C>(pawns) & !occupied;
    let double = ahead::<C>(single & C::THIRD) & !occupied & goal;
    let single = single & goal;
    let west = west::<C>(pawns) & them & goal;
    let east = east::<C>(pawns) & them & goal;
    let last = C::LAST;
    size(single)
        + size(double)
        + size(west)
        + size(east)
        + 3 * (size(single & last) + size(west & last) + size(east & last))
}
