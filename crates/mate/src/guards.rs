//! Squares that a side attacks for ever, by one man or by two that share squares.

use referee_chess::Bitboard;
use referee_chess::sliders::Sliders;

use crate::saturate::{Man, Saturation, attacks};

/// The greatest number of squares of a man that is minded as a guard.
const GUARD_MAX: u32 = 8;

/// The greatest number of squares of each of two men that guard together.
const PAIR_MAX: u32 = 4;

/// Returns the squares that a man attacks wherever it stands, and whatever else may stand on some
/// squares; none for a man that can be taken, or goes far.
pub(crate) fn guarded_by<S: Sliders>(man: &Man, stood: Bitboard, sliders: S) -> Bitboard {
    if man.is_capturable || man.is_promoted || man.reach.count() > GUARD_MAX {
        return Bitboard::EMPTY;
    }
    let mut common = Bitboard::FULL;
    for from in man.reach {
        common &= attacks(man.role, man.color, from, stood, sliders);
    }
    common
}

impl Saturation {
    /// Returns, by color, the squares that one or the other of two men attacks wherever they stand.
    /// Only men that share a square are tried: where one leaves it to the other, none of them may
    /// guard a square for ever, but both together do.
    pub(crate) fn guarded_by_pairs<S: Sliders>(
        &self,
        kings: Bitboard,
        sliders: S,
    ) -> [Bitboard; 2] {
        let mut guarded = [Bitboard::EMPTY; 2];
        let men = self.men();
        for (number, first) in men.iter().enumerate() {
            if !can_share(first) {
                continue;
            }
            for (other, second) in men.iter().enumerate().skip(number + 1) {
                let shares = (first.reach & second.reach).any();
                if !shares || second.color != first.color || !can_share(second) {
                    continue;
                }
                if !self.pay(2 * first.reach.count() * second.reach.count()) {
                    return guarded;
                }
                let rest = men.iter().enumerate();
                let rest = rest.filter(|&(index, _)| index != number && index != other);
                let stood = rest.fold(kings, |stood, (_, man)| stood | man.reach);
                guarded[first.color.index()] |= guarded_by_two(first, second, stood, sliders);
            }
        }
        guarded
    }
}

fn can_share(man: &Man) -> bool {
    !man.is_capturable && !man.is_promoted && man.reach.count() <= PAIR_MAX
}

/// Returns the squares that one of two men attacks wherever they stand, but never on one square.
fn guarded_by_two<S: Sliders>(first: &Man, second: &Man, stood: Bitboard, sliders: S) -> Bitboard {
    let mut common = Bitboard::FULL;
    for at in first.reach {
        for beside in second.reach - Bitboard::of(at) {
            let occupied = stood | Bitboard::of(at) | Bitboard::of(beside);
            common &= attacks(first.role, first.color, at, occupied, sliders)
                | attacks(second.role, second.color, beside, occupied, sliders);
        }
    }
    common
}
