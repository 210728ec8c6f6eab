//! Whether the structure proves that a side can never mate, capture by capture.
//!
//! The closure of all moves forgets about time: it lets a man pass through a square whose owner
//! is captured only later, or not by the same line. Where it proves nothing, the time until the
//! first capture is looked at alone, in which every man that does not move bars the way. If there
//! is no mate, each capture that is possible then begins another such time, with one man less.

use referee_chess::rays::king_attacks;
use referee_chess::sliders::{Sliders, WithSliders, with_sliders};
use referee_chess::{Bitboard, Color, Position, Role, Square};

use crate::mating;
use crate::saturate::Saturation;

/// What an analysis of the structure found.
#[derive(Clone, Copy)]
pub(crate) struct Analysis {
    /// The side can never mate. `false` says nothing.
    pub(crate) is_unwinnable: bool,
    /// What it cost, in positions that a search could have visited meanwhile.
    pub(crate) nodes: u64,
}

/// Steps that count as one position of the search. They take longer, but save more.
pub(crate) const STEPS_PER_NODE: u32 = 32;

/// Looks for a proof that a side can never mate. None is found, too, where `steps` do not suffice;
/// a step takes some 30 nanoseconds. So many `captures` are looked at one by one.
///
/// The position must not be mate or stalemate already.
pub(crate) fn analyze(position: &Position, winner: Color, captures: u32, steps: u32) -> Analysis {
    struct Work<'a>(&'a Position, Color, u32, u32);
    impl WithSliders for Work<'_> {
        type Output = Analysis;
        fn run<S: Sliders>(self, sliders: S) -> Analysis {
            let Work(position, winner, captures, steps) = self;
            let Some(start) = Saturation::new(position, winner, steps) else {
                return Analysis {
                    is_unwinnable: false,
                    nodes: 1,
                };
            };
            let is_unwinnable = is_hopeless(&start, captures, sliders);
            let used = steps - start.steps.get();
            Analysis {
                is_unwinnable,
                nodes: u64::from(used / STEPS_PER_NODE) + 1,
            }
        }
    }
    with_sliders(Work(position, winner, captures, steps))
}

/// Returns whether the winner can mate in none of the positions that some sets describe, nor
/// later.
fn is_hopeless<S: Sliders>(start: &Saturation, captures: u32, sliders: S) -> bool {
    let mut whole = start.clone();
    let is_proven = whole.saturate(sliders) && !mating::is_possible(&whole, sliders);
    start.steps.set(whole.steps.get());
    is_proven || (captures > 0 && is_hopeless_by_captures(start, captures, sliders))
}

fn is_hopeless_by_captures<S: Sliders>(start: &Saturation, captures: u32, sliders: S) -> bool {
    let mut quiet = start.clone();
    quiet.is_quiet = true;
    let is_quiet_safe = quiet.saturate(sliders) && !mating::is_possible(&quiet, sliders);
    start.steps.set(quiet.steps.get());
    if !is_quiet_safe {
        return false;
    }
    let is_proven = |after: &Saturation| {
        after.steps.set(start.steps.get());
        let is_proven = is_hopeless(after, captures - 1, sliders);
        start.steps.set(after.steps.get());
        is_proven
    };
    (0..quiet.count).all(|taken| {
        let foe = quiet.men[taken];
        if quiet.has_last_man && foe.color == quiet.winner {
            // The winner would have nothing left.
            return true;
        }
        let king = if foe.color == quiet.winner {
            quiet.loser_king_entered
        } else {
            quiet.winner_king_entered
        };
        let by_king = king & foe.reach;
        if by_king.any() && !is_proven(&quiet.after_capture_by_king(taken, by_king)) {
            return false;
        }
        (0..quiet.count).all(|number| {
            let man = quiet.men[number];
            let squares = man.strikes & foe.reach;
            if man.color == foe.color || squares.is_empty() {
                return true;
            }
            if man.role == Role::Pawn && !man.is_promoted {
                if man.color == quiet.winner && (squares & Bitboard::BACK_RANKS).any() {
                    return false;
                }
                // Where a pawn stands decides which pawns are before it.
                return squares.into_iter().all(|square| {
                    is_proven(&quiet.after_capture(number, taken, Bitboard::of(square)))
                });
            }
            is_proven(&quiet.after_capture(number, taken, squares))
        })
    })
}

impl Saturation {
    /// Returns what is known after a man has captured another one on one of some squares.
    fn after_capture(&self, number: usize, taken: usize, squares: Bitboard) -> Saturation {
        let mut after = self.clone();
        let man = &mut after.men[number];
        man.reach = squares;
        if man.role == Role::Pawn && !man.is_promoted {
            man.is_at_home = false;
            man.is_promoted = (squares & Bitboard::BACK_RANKS).any();
            man.home = squares.into_iter().next().unwrap_or(man.home);
        }
        if man.color == self.winner {
            after.pairs = [[Bitboard::EMPTY; 64], self.pairs[0]];
        } else {
            after.pairs = [self.pairs[1], [Bitboard::EMPTY; 64]];
        }
        after.begin_anew(taken);
        after
    }

    /// Returns what is known after a king has captured a man on one of some squares.
    fn after_capture_by_king(&self, taken: usize, squares: Bitboard) -> Saturation {
        let mut after = self.clone();
        let mut pairs = [[Bitboard::EMPTY; 64]; 2];
        let is_winner = self.men[taken].color != self.winner;
        for index in 0..64u8 {
            let at = Square::from_low_bits(index);
            let kings = self.pairs[usize::from(!is_winner)][at.index()];
            if is_winner {
                for to in king_attacks(at) & squares {
                    pairs[1][to.index()] |= kings - king_attacks(to) - Bitboard::of(to);
                }
            } else {
                for king in kings {
                    let to = king_attacks(king) & squares;
                    pairs[0][at.index()] |= to - king_attacks(at) - Bitboard::of(at);
                }
            }
        }
        after.pairs = pairs;
        after.begin_anew(taken);
        after
    }

    /// Takes a man off, and forgets what can have happened so far, but not where the others are.
    fn begin_anew(&mut self, taken: usize) {
        self.count -= 1;
        self.men.swap(taken, self.count);
        for man in &mut self.men[..self.count] {
            man.start = man.reach;
            man.entered = Bitboard::EMPTY;
            man.strikes = Bitboard::EMPTY;
            man.is_capturable = false;
        }
        // A capture of the winner may be the mate itself.
        self.uncovered = self.pairs[1];
        self.winner_king_entered = Bitboard::EMPTY;
        self.loser_king_entered = Bitboard::EMPTY;
        self.can_wait = [false; 2];
        self.is_quiet = false;
        let winner = self.winner;
        let men = self.men().iter();
        self.has_last_man = men.filter(|man| man.color == winner).count() == 1;
    }
}
