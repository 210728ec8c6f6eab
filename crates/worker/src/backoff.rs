//! How long to wait before another attempt.

use std::time::Duration;

use crate::limits::{BACKOFF_FIRST, BACKOFF_MAX};

/// Waits by chance, out of a span that doubles with each attempt: a fleet that has lost its server
/// does not come back all at once.
#[derive(Debug)]
pub(crate) struct Backoff {
    span: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Backoff {
        Backoff {
            span: BACKOFF_FIRST,
        }
    }

    /// Returns the next wait, from the shortest one to all of the span.
    pub(crate) fn next(&mut self) -> Duration {
        let span = self.span;
        self.span = (span * 2).min(BACKOFF_MAX);
        let chance = f64::from(uuid::Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
        BACKOFF_FIRST + (span - BACKOFF_FIRST).mul_f64(chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_drawn_from_a_span_that_grows_to_a_limit() {
        let mut longest = Duration::ZERO;
        let mut sum = Duration::ZERO;
        for _ in 0..50 {
            let mut backoff = Backoff::new();
            let waits: Vec<Duration> = (0..20).map(|_| backoff.next()).collect();
            let within = |wait: &Duration| (BACKOFF_FIRST..=BACKOFF_MAX).contains(wait);
            assert!(waits.iter().all(within), "{waits:?}");
            assert!(waits[1] <= BACKOFF_FIRST * 2);
            longest = longest.max(waits[19]);
            sum += waits[19];
        }
        assert!(longest > BACKOFF_MAX / 2, "{longest:?}");
        // Full jitter: the mean is about half of the longest.
        assert!(sum / 50 < BACKOFF_MAX * 3 / 4, "{sum:?}");
    }
}
