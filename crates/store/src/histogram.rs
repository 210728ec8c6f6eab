//! Counts durations in buckets of constant relative width.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The buckets between two powers of two: a bucket is at most an eighth of its value wide.
const PARTS: usize = 8;

/// The powers of two of microseconds that are told apart; the last is twelve days.
const POWERS: usize = 40;

/// A histogram that many threads add to.
#[derive(Debug)]
pub(crate) struct Histogram {
    buckets: Box<[AtomicU64]>,
}

/// The distribution of a number of durations. Each is rounded up by at most an eighth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// How many there were.
    pub count: u64,
    /// Half of them were no longer than this.
    pub p50: Duration,
    /// 99 of 100 were no longer than this.
    pub p99: Duration,
    /// None was longer than this.
    pub max: Duration,
}

impl Histogram {
    /// Returns an empty histogram.
    pub(crate) fn new() -> Self {
        Self {
            buckets: (0..PARTS * POWERS).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Counts one duration.
    pub(crate) fn add(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let index = bucket(us).min(self.buckets.len() - 1);
        if let Some(bucket) = self.buckets.get(index) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the distribution so far.
    pub(crate) fn quantiles(&self) -> Quantiles {
        let counts: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| bucket.load(Ordering::Relaxed))
            .collect();
        let count: u64 = counts.iter().sum();
        let at = |rank: u64| {
            let mut below = 0;
            let reached = counts.iter().position(|bucket| {
                below += bucket;
                below >= rank
            });
            match reached {
                Some(index) if rank > 0 => Duration::from_micros(upper(index)),
                _ => Duration::ZERO,
            }
        };
        Quantiles {
            count,
            p50: at(count.div_ceil(2)),
            p99: at(count - count / 100),
            max: at(count),
        }
    }
}

/// Returns the bucket of a number of microseconds.
fn bucket(us: u64) -> usize {
    if us < PARTS as u64 {
        return us as usize;
    }
    let power = us.ilog2() as usize;
    let part = (us >> (power - 3)) as usize % PARTS;
    (power - 2) * PARTS + part
}

/// Returns the largest number of microseconds of a bucket.
fn upper(index: usize) -> u64 {
    let (power, part) = (index / PARTS, (index % PARTS) as u64);
    if power == 0 {
        return part;
    }
    ((PARTS as u64 + part + 1) << (power - 1)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_in_its_bucket() {
        let mut last = 0;
        for us in (0..5_000).chain((13..40).flat_map(|power| [(1 << power) - 1, 1 << power])) {
            let index = bucket(us);
            assert!(us <= upper(index), "{us}");
            assert!(index == 0 || us > upper(index - 1), "{us}");
            assert!(upper(index) - us <= us / 8, "{us} is rounded up too far");
            assert!(index >= last);
            last = index;
        }
    }

    #[test]
    fn quantiles_are_those_of_the_durations() {
        let histogram = Histogram::new();
        assert_eq!(histogram.quantiles(), Quantiles::default());
        for us in 1..=1_000 {
            histogram.add(Duration::from_micros(us));
        }
        let found = histogram.quantiles();
        assert_eq!(found.count, 1_000);
        for (found, us) in [(found.p50, 500), (found.p99, 990), (found.max, 1_000)] {
            let us = Duration::from_micros(us);
            assert!((us..=us + us / 8).contains(&found), "{found:?} for {us:?}");
        }
        histogram.add(Duration::MAX);
        assert_eq!(histogram.quantiles().count, 1_001);
    }
}
