//! Chances: which positions are counted again, and what goes unseen.

/// Draws positions one after the other, so that in the end so many of so many are drawn, each
/// choice as likely as any other.
///
/// ```
/// use referee_perft::Draw;
///
/// let mut draw = Draw::new(100, 7);
/// // Numbers that nobody can foretell belong here.
/// let drawn = (0..100u64).filter(|n| draw.next(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).count();
/// assert_eq!(drawn, 7);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    left: u64,
    wanted: u64,
}

impl Draw {
    /// Draws `wanted` of `positions`, all of them where there are not so many.
    #[must_use]
    pub fn new(positions: u64, wanted: u64) -> Draw {
        Draw {
            left: positions,
            wanted: wanted.min(positions),
        }
    }

    /// Returns how many positions a share of some is, at least one where it is above 0.
    #[must_use]
    pub fn of_share(positions: u64, share: f64) -> Draw {
        // A conversion to whole numbers ends at the least and the greatest one.
        let wanted = (positions as f64 * share).ceil() as u64;
        Draw::new(positions, wanted)
    }

    /// Returns whether the next position is drawn, by a random number of which all values are as
    /// likely.
    pub fn next(&mut self, random: u64) -> bool {
        if self.left == 0 {
            return false;
        }
        // How far the number is into its range tells how far it is into what is left.
        let place = (u128::from(random) * u128::from(self.left)) >> 64;
        let is_drawn = place < u128::from(self.wanted);
        self.left -= 1;
        self.wanted -= u64::from(is_drawn);
        is_drawn
    }

    /// Returns how many are still to be drawn.
    #[must_use]
    pub fn wanted(&self) -> u64 {
        self.wanted
    }
}

/// Returns the chance that none of `wrong` positions is among `drawn` that were drawn of
/// `positions`: C(positions − wrong, drawn) / C(positions, drawn).
///
/// ```
/// use referee_perft::unseen;
///
/// assert_eq!(unseen(1_000, 100, 1), 0.9);
/// assert!((unseen(1_000, 100, 10) - 0.347).abs() < 0.001);
/// assert_eq!(unseen(1_000, 1_000, 1), 0.0);
/// ```
#[must_use]
pub fn unseen(positions: u64, drawn: u64, wrong: u64) -> f64 {
    let undrawn = positions.saturating_sub(drawn);
    if wrong > undrawn {
        return 0.0;
    }
    let chance = |taken: u64| (undrawn - taken) as f64 / (positions - taken) as f64;
    (0..wrong).map(chance).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of numbers for tests (SplitMix64).
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    #[test]
    fn every_position_is_drawn_as_often_as_any_other() {
        let (mut state, mut times) = (1, [0u32; 20]);
        for _ in 0..20_000 {
            let mut draw = Draw::of_share(20, 0.1);
            for time in &mut times {
                *time += u32::from(draw.next(random(&mut state)));
            }
            assert_eq!(draw.wanted(), 0);
        }
        // Each is drawn in a tenth of all; the deviation is 42.
        assert!(
            times.iter().all(|&it| it.abs_diff(2_000) < 220),
            "{times:?}"
        );
    }

    #[test]
    fn what_goes_unseen_is_what_happens() {
        let (positions, drawn, wrong) = (40, 6, 3);
        let (mut state, mut missed) = (7, 0u32);
        for _ in 0..20_000 {
            let mut draw = Draw::new(positions, drawn);
            let mut seen = false;
            for position in 0..positions {
                seen |= draw.next(random(&mut state)) && position < wrong;
            }
            missed += u32::from(!seen);
        }
        let expected = unseen(positions, drawn, wrong);
        let found = f64::from(missed) / 20_000.0;
        assert!((found - expected).abs() < 0.015, "{found} {expected}");
    }

    #[test]
    fn shares_have_ends() {
        let wanted = |positions, share| Draw::of_share(positions, share).wanted();
        assert_eq!((wanted(10, 0.0), wanted(10, 1.0)), (0, 10));
        assert_eq!((wanted(10, 0.01), wanted(0, 0.5)), (1, 0));
        assert_eq!((wanted(10, 2.0), wanted(10, f64::NAN)), (10, 0));
        assert_eq!((unseen(0, 0, 1), unseen(5, 0, 1)), (0.0, 1.0));
    }
}
