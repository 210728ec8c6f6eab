//! Checks that end the game, or leave the winner with nothing to mate with.
//!
//! A line is followed only as long as the winner can still mate. So a man of the loser never gives
//! a check that mates the winner for certain, and the last man of the winner never gives one that
//! is answered by taking it.

use referee_chess::rays::{between, king_attacks, knight_attacks};
use referee_chess::sliders::Sliders;
use referee_chess::{Bitboard, Role, Square};

use crate::guards::guarded_by;
use crate::saturate::{Saturation, attacks};

impl Saturation {
    /// Returns whether a move of a man of the loser, which is no pawn, mates the winner wherever
    /// all other men stand. Only a king that can never move is mated for certain.
    pub(crate) fn mates_winner<S: Sliders>(
        &self,
        number: usize,
        from: Square,
        to: Square,
        sliders: S,
    ) -> bool {
        let Some(king) = self.derived.kings[0].only() else {
            return false;
        };
        // Whatever may stand somewhere may bar the check; the square that is left is empty now.
        let stood = (self.derived.stood - Bitboard::of(from)) | Bitboard::of(to);
        // What bars the way for the winner's men must stand there for certain.
        let barred = (self.derived.barred - Bitboard::of(from)) | Bitboard::of(to);
        let checkers = self.certain_checkers(number, to, king, stood, sliders);
        let mut checkers = checkers.into_iter();
        checkers.any(|checker| !self.can_answer(checker, king, barred, sliders))
            && self.holds(number, to, king, stood, sliders)
    }

    /// Returns the squares of the men of the loser that certainly give check after a move.
    fn certain_checkers<S: Sliders>(
        &self,
        number: usize,
        to: Square,
        king: Square,
        stood: Bitboard,
        sliders: S,
    ) -> Bitboard {
        let mut checkers = Bitboard::EMPTY;
        for (other, man) in self.men().iter().enumerate() {
            let at = if other == number {
                to
            } else if man.color != self.winner
                && man.is_certain()
                && let Some(at) = man.reach.only()
            {
                at
            } else {
                continue;
            };
            if attacks(man.role, man.color, at, stood, sliders).contains(king) {
                checkers |= Bitboard::of(at);
            }
        }
        checkers
    }

    /// Returns whether a man of the winner other than its king may take the man that gives check,
    /// or step in between.
    fn can_answer<S: Sliders>(
        &self,
        checker: Square,
        king: Square,
        barred: Bitboard,
        sliders: S,
    ) -> bool {
        let path = between(checker, king);
        self.men().iter().any(|man| {
            if man.color != self.winner {
                return false;
            }
            man.reach.into_iter().any(|at| {
                let seen = attacks(man.role, man.color, at, barred, sliders);
                if man.role != Role::Pawn {
                    return (seen & (path | Bitboard::of(checker))).any();
                }
                let step = Bitboard::of(at).forward(man.color);
                let steps = step | step.forward(man.color);
                seen.contains(checker) || (steps & path).any()
            })
        })
    }

    /// Returns whether the winner's king has no square to go to once a man of the loser has moved.
    fn holds<S: Sliders>(
        &self,
        number: usize,
        to: Square,
        king: Square,
        stood: Bitboard,
        sliders: S,
    ) -> bool {
        // The king shields no square behind it.
        let stood = stood - Bitboard::of(king);
        let mover = &self.men[number];
        let mut guarded = attacks(mover.role, mover.color, to, stood, sliders);
        if let Some(other) = self.derived.kings[1].only() {
            guarded |= king_attacks(other);
        }
        for (other, man) in self.men().iter().enumerate() {
            if other != number && man.color != self.winner {
                guarded |= guarded_by(man, stood, sliders);
            }
        }
        let own = self.derived.certain[self.winner.index()] - Bitboard::of(to);
        (king_attacks(king) - own - guarded).is_empty()
    }

    /// Returns whether the last man of the winner, on a square next to a king that can never move,
    /// gives a check that the loser can only answer by taking it, and surely can.
    pub(crate) fn loses_last_man<S: Sliders>(&self, number: usize, to: Square, sliders: S) -> bool {
        let man = &self.men[number];
        let Some(king) = self.derived.kings[1].only() else {
            return false;
        };
        let around = king_attacks(king);
        let is_near = match man.role {
            Role::Knight => knight_attacks(king).contains(to),
            _ => around.contains(to),
        };
        let occupied = Bitboard::of(king);
        if !is_near || !attacks(man.role, man.color, to, occupied, sliders).contains(king) {
            return false;
        }
        let mut closed = self.derived.certain[(!self.winner).index()] | Bitboard::of(to);
        if let Some(other) = self.derived.kings[0].only() {
            closed |= king_attacks(other);
        }
        if (around - closed).any() {
            return false;
        }
        let is_unprotected = (self.derived.kings[0] & king_attacks(to)).is_empty();
        (around.contains(to) && is_unprotected)
            || self.men().iter().any(|foe| {
                foe.color != self.winner
                    && foe.is_certain()
                    && !foe.reach.contains(to)
                    && guarded_by(foe, self.derived.stood, sliders).contains(to)
            })
    }
}
