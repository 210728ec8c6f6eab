//! Counts values in buckets with bounds that do not change, for those who draw them.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many bounds a spread has.
const BOUNDS: usize = 16;

/// The bounds of times, in microseconds: powers of two from an eighth of a millisecond to four
/// seconds.
const TIMES_US: [u64; BOUNDS] = {
    let mut bounds = [0; BOUNDS];
    let mut index = 0;
    while index < BOUNDS {
        bounds[index] = 128 << index;
        index += 1;
    }
    bounds
};

/// The bounds of sizes: powers of two from one.
const SIZES: [u64; BOUNDS] = {
    let mut bounds = [0; BOUNDS];
    let mut index = 0;
    while index < BOUNDS {
        bounds[index] = 1 << index;
        index += 1;
    }
    bounds
};

/// How values are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spread {
    /// The upper bound of each bucket, in ascending order, with the number of values above the
    /// bound before and up to this one. What is above the last belongs to none.
    pub buckets: [(u64, u64); BOUNDS],
    /// The number of all values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
}

/// Counts values; many threads add to it.
#[derive(Debug)]
pub(crate) struct Spreading {
    bounds: &'static [u64; BOUNDS],
    counts: [AtomicU64; BOUNDS],
    count: AtomicU64,
    sum: AtomicU64,
}

impl Spreading {
    /// Of times in microseconds.
    pub(crate) fn of_times() -> Spreading {
        Spreading::of(&TIMES_US)
    }

    /// Of sizes.
    pub(crate) fn of_sizes() -> Spreading {
        Spreading::of(&SIZES)
    }

    fn of(bounds: &'static [u64; BOUNDS]) -> Spreading {
        Spreading {
            bounds,
            counts: Default::default(),
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
        }
    }

    /// Counts a value.
    pub(crate) fn add(&self, value: u64) {
        let index = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(index) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Returns how the values so far are spread.
    pub(crate) fn spread(&self) -> Spread {
        let mut buckets = self.bounds.map(|bound| (bound, 0));
        for ((_, into), count) in buckets.iter_mut().zip(&self.counts) {
            *into = count.load(Ordering::Relaxed);
        }
        Spread {
            buckets,
            count: self.count.load(Ordering::Relaxed),
            sum: self.sum.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_up_to_its_bound() {
        let sizes = Spreading::of_sizes();
        for value in [0, 1, 2, 3, 4, 5, 32_768, 32_769] {
            sizes.add(value);
        }
        let spread = sizes.spread();
        let counts = |bound| {
            spread
                .buckets
                .iter()
                .find(|(it, _)| *it == bound)
                .map(|it| it.1)
        };
        assert_eq!(
            [1, 2, 4, 8].map(counts),
            [Some(2), Some(1), Some(2), Some(1)]
        );
        assert_eq!(counts(32_768), Some(1));
        assert_eq!((spread.count, spread.sum), (8, 65_552));
        assert_eq!(TIMES_US[15], 4_194_304);
    }
}
