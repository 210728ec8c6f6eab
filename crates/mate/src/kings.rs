//! Where the two kings can ever stand together.

use referee_chess::rays::{king_attacks, line};
use referee_chess::sliders::Sliders;
use referee_chess::{Bitboard, Role, Square};

use crate::saturate::{Saturation, attacks};

impl Saturation {
    /// Lets the kings move, and the other men in between.
    pub(crate) fn move_kings<S: Sliders>(&mut self, sliders: S) -> bool {
        let mut grown = false;
        loop {
            let before = self.pairs;
            self.move_winner_king(sliders);
            self.move_loser_king();
            if self.pairs == before {
                return grown;
            }
            grown = true;
        }
    }

    fn move_winner_king<S: Sliders>(&mut self, sliders: S) {
        let loser = !self.winner;
        let closed =
            self.derived.guarded[loser.index()] | self.derived.certain[self.winner.index()];
        for index in 0..64u8 {
            let from = Square::from_low_bits(index);
            let kings = self.pairs[0][from.index()];
            if kings.is_empty() {
                continue;
            }
            if self.can_wait[0] {
                self.pairs[1][from.index()] |= kings;
            }
            for to in king_attacks(from) - closed {
                let mut left = kings - king_attacks(to) - Bitboard::of(to);
                if left.is_empty() {
                    continue;
                }
                if self.is_quiet {
                    self.winner_king_entered |= Bitboard::of(to);
                    if self.derived.certain[loser.index()].contains(to) {
                        continue;
                    }
                }
                let uncovered = self.uncovered_by(from, left, sliders);
                self.uncovered[to.index()] |= uncovered;
                if !self.can_wait[1] {
                    left = self.drop_stalemates(to, left, uncovered);
                }
                if left.any() {
                    self.pairs[1][to.index()] |= left;
                    self.winner_king_entered |= Bitboard::of(to);
                }
            }
        }
    }

    /// Returns those squares of the loser's king on which it may come into check when the
    /// winner's king leaves a square.
    fn uncovered_by<S: Sliders>(&self, from: Square, kings: Bitboard, sliders: S) -> Bitboard {
        let certain = self.certain();
        let mut set = Bitboard::EMPTY;
        for man in &self.men[..self.count] {
            if man.color != self.winner || matches!(man.role, Role::Pawn | Role::Knight) {
                continue;
            }
            let lines = attacks(man.role, man.color, from, certain, sliders);
            let sources = man.reach & lines;
            if sources.any() {
                for king in kings & lines {
                    if (sources & line(king, from)).any() {
                        set |= Bitboard::of(king);
                    }
                }
            }
        }
        set
    }

    /// Drops the squares of the loser's king on which it is stalemated, now that the winner's
    /// king has come to `at`, and no other man of the loser can ever move.
    fn drop_stalemates(&self, at: Square, kings: Bitboard, uncovered: Bitboard) -> Bitboard {
        let closed = self.derived.guarded[self.winner.index()]
            | self.derived.certain[(!self.winner).index()]
            | king_attacks(at);
        let mut left = kings;
        for king in kings - uncovered {
            if (king_attacks(king) - closed).is_empty() {
                left = left - Bitboard::of(king);
            }
        }
        left
    }

    fn move_loser_king(&mut self) {
        let loser = !self.winner;
        let mut closed =
            self.derived.guarded[self.winner.index()] | self.derived.certain[loser.index()];
        if self.has_last_man {
            closed |= self.derived.certain[self.winner.index()];
        }
        let jailed =
            self.derived.guarded[loser.index()] | self.derived.certain[self.winner.index()];
        for index in 0..64u8 {
            let at = Square::from_low_bits(index);
            let kings = self.pairs[1][at.index()];
            if kings.is_empty() {
                continue;
            }
            if self.can_wait[1] {
                self.pairs[0][at.index()] |= kings;
            }
            let beside = kings.left() | kings.right();
            let row = kings | beside;
            let near = beside | row.up() | row.down();
            let mut to = near - closed - king_attacks(at) - Bitboard::of(at);
            if self.is_quiet {
                self.loser_king_entered |= to;
                to = to - self.derived.certain[self.winner.index()];
            }
            if !self.can_wait[0] {
                // The winner could not move at all, so the game would end without its mate.
                for king in to {
                    if (king_attacks(at) - jailed - king_attacks(king)).is_empty() {
                        to = to - Bitboard::of(king);
                    }
                }
            }
            self.pairs[0][at.index()] |= to;
            self.loser_king_entered |= to;
        }
    }
}
