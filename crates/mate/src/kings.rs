//! Where the two kings can ever stand together.

use referee_chess::rays::{king_attacks, line, pawn_attacks};
use referee_chess::sliders::Sliders;
use referee_chess::{Bitboard, Color, Role, Square};

use crate::guards::guarded_by;
use crate::saturate::{Man, Saturation, attacks};

/// What a side guards while the king of the other one, which has no other move, stands on a
/// square; looked up once for each.
struct Guards([Option<Bitboard>; 64]);

impl Default for Guards {
    fn default() -> Guards {
        Guards([None; 64])
    }
}

impl Guards {
    fn with(&mut self, king: Square, look_up: impl FnOnce() -> Bitboard) -> Bitboard {
        *self.0[king.index()].get_or_insert_with(look_up)
    }
}

impl Saturation {
    /// Lets the kings move, and the other men in between.
    pub(crate) fn move_kings<S: Sliders>(&mut self, sliders: S) -> bool {
        let before = self.pairs;
        let mut frozen = [0, 1].map(|side| self.is_frozen(side, sliders).then(Guards::default));
        // Each pair is looked at once: what follows from several follows from each of them.
        let mut done = [[Bitboard::EMPTY; 64]; 2];
        // By side, the squares of the winner's king where there may be new pairs.
        let mut open = [Bitboard::FULL; 2];
        while let Some(at) = (open[0] | open[1]).first() {
            for side in 0..2 {
                open[side] = open[side] - Bitboard::of(at);
                let kings = self.pairs[side][at.index()] - done[side][at.index()];
                if kings.is_empty() {
                    continue;
                }
                done[side][at.index()] |= kings;
                if self.can_wait[side] {
                    self.pairs[1 - side][at.index()] |= kings;
                    open[1 - side] |= Bitboard::of(at);
                }
                if side == 0 {
                    open[1] |= self.move_winner_king(at, kings, frozen[1].as_mut(), sliders);
                } else {
                    self.move_loser_king(at, kings, frozen[0].as_mut(), sliders);
                    open[0] |= Bitboard::of(at);
                }
            }
        }
        self.pairs != before
    }

    /// Moves the winner's king from a square, while that of the loser is on one of several.
    /// Returns where it can come to.
    fn move_winner_king<S: Sliders>(
        &mut self,
        from: Square,
        kings: Bitboard,
        mut frozen: Option<&mut Guards>,
        sliders: S,
    ) -> Bitboard {
        let loser = !self.winner;
        let closed =
            self.derived.guarded[loser.index()] | self.derived.certain[self.winner.index()];
        let ways = king_attacks(from) - closed;
        let mut entered = Bitboard::EMPTY;
        if ways.is_empty() {
            return entered;
        }
        let uncovered_here = self.uncovered_by(from, kings, sliders);
        for to in ways {
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
            let uncovered = uncovered_here & left;
            self.uncovered[to.index()] |= uncovered;
            if let Some(guards) = &mut frozen {
                let guarded = guards.with(to, || self.guarded_with(self.winner, to, sliders));
                left = self.drop_stalemates(to, left, uncovered, guarded);
            }
            if left.any() {
                self.pairs[1][to.index()] |= left;
                entered |= Bitboard::of(to);
            }
        }
        self.winner_king_entered |= entered;
        entered
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
    /// king has come to `at`, and no other man of the loser can move, even so.
    fn drop_stalemates(
        &self,
        at: Square,
        kings: Bitboard,
        uncovered: Bitboard,
        guarded: Bitboard,
    ) -> Bitboard {
        let closed = guarded | self.derived.certain[(!self.winner).index()] | king_attacks(at);
        let mut left = kings;
        for king in kings - uncovered {
            if (king_attacks(king) - closed).is_empty() {
                left = left - Bitboard::of(king);
            }
        }
        left
    }

    /// Moves the loser's king from one of several squares, while that of the winner is on another.
    fn move_loser_king<S: Sliders>(
        &mut self,
        at: Square,
        kings: Bitboard,
        mut frozen: Option<&mut Guards>,
        sliders: S,
    ) {
        let loser = !self.winner;
        let mut closed =
            self.derived.guarded[self.winner.index()] | self.derived.certain[loser.index()];
        if self.has_last_man {
            closed |= self.derived.certain[self.winner.index()];
        }
        let beside = kings.left() | kings.right();
        let row = kings | beside;
        let near = beside | row.up() | row.down();
        let mut to = near - closed - king_attacks(at) - Bitboard::of(at);
        if self.is_quiet {
            self.loser_king_entered |= to;
            to = to - self.derived.certain[self.winner.index()];
        }
        if let Some(guards) = &mut frozen {
            // The winner could not move at all, so the game would end without its mate.
            for king in to {
                let guarded = guards.with(king, || self.guarded_with(loser, king, sliders));
                let jailed = guarded | self.derived.certain[self.winner.index()];
                if (king_attacks(at) - jailed - king_attacks(king)).is_empty() {
                    to = to - Bitboard::of(king);
                }
            }
        }
        self.pairs[0][at.index()] |= to;
        self.loser_king_entered |= to;
    }

    /// Returns the squares that a side guards for ever, while a king stands on one more square.
    fn guarded_with<S: Sliders>(&self, color: Color, king: Square, sliders: S) -> Bitboard {
        let derived = &self.derived;
        if (derived.kings[0] | derived.kings[1]).contains(king) {
            return derived.guarded[color.index()];
        }
        let stood = derived.stood | Bitboard::of(king);
        let men = self.men().iter().filter(|man| man.color == color);
        men.fold(Bitboard::EMPTY, |guarded, man| {
            guarded | guarded_by(man, stood, sliders)
        })
    }

    /// Returns whether no man of a side but its king, the winner's side first, could move even if
    /// the other king left its square, and whatever the move would lead to.
    ///
    /// That no man has ever moved is not enough: it may be barred by a king that stays where it is
    /// only because each of its moves is taken to be stalemate.
    fn is_frozen<S: Sliders>(&self, side: usize, sliders: S) -> bool {
        if self.can_wait[side] {
            return false;
        }
        let color = if side == 0 { self.winner } else { !self.winner };
        let kings = self.derived.kings[side];
        let king = kings.only().map_or(Bitboard::EMPTY, Bitboard::of);
        let barred = self.certain() | king;
        // The winner's last man must not be taken.
        let spares_last = self.has_last_man && side == 1;
        let mut closed = self.derived.certain[color.index()] | king;
        if spares_last {
            closed |= self.derived.certain[self.winner.index()];
        }
        let can_step = |man: &Man, from| {
            if man.role != Role::Pawn {
                let to = attacks(man.role, color, from, barred, sliders);
                return (to - closed).any();
            }
            let steps = Bitboard::of(from).forward(color) - barred;
            let taken = pawn_attacks(color, from) & self.derived.haunts[(!color).index()];
            steps.any() || (taken.any() && !spares_last)
        };
        self.men()
            .iter()
            .filter(|man| man.color == color)
            .all(|man| !man.is_promoted && !man.reach.into_iter().any(|from| can_step(man, from)))
    }
}
