//! The clock of the service, as a value: what stamps arrivals and what background work waits by.
//!
//! Nothing else in the product reads a clock. [`MachineClock`] is the one that counts time;
//! [`ManualClock`] stands still until a test moves it, so that a test of hours takes no time and
//! gives the same result on every machine.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::limits;

/// A wait that ends at a time of a [`Clock`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells the time in microseconds since 1970-01-01T00:00:00Z, never earlier than it did before.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The time in microseconds since 1970-01-01T00:00:00Z.
    fn now_us(&self) -> i64;

    /// Waits until the clock shows at least `at_us`. Dropping the wait is safe.
    fn sleep_until(&self, at_us: i64) -> Sleep;

    /// Waits for a duration of this clock.
    fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.now_us().saturating_add(us(duration)))
    }
}

/// The clock of the machine: monotonic, set by the time of day once, when it is made.
///
/// The time of day may be set back while the service runs, and the clock of the service does not
/// follow. It begins no earlier than the last sign of life in the store, as far as that is
/// believable (see `MachineClock::after`).
#[derive(Debug)]
pub struct MachineClock {
    start: tokio::time::Instant,
    start_us: i64,
}

impl MachineClock {
    /// A clock that begins with the time of day, but not before `last_us`, the last sign of life
    /// of a process before, in microseconds since 1970.
    ///
    /// A machine whose clock was set back a little, by at most an hour, goes on from `last_us`; one
    /// that is further behind is believed, since then the last sign of life was wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use referee_server::{Clock, MachineClock};
    ///
    /// let clock = MachineClock::after(None);
    /// let early = clock.now_us();
    /// assert!(clock.now_us() >= early);
    /// ```
    #[must_use]
    pub fn after(last_us: Option<i64>) -> MachineClock {
        MachineClock {
            start: tokio::time::Instant::now(),
            start_us: start_us(machine_us(), last_us),
        }
    }
}

impl Clock for MachineClock {
    fn now_us(&self) -> i64 {
        self.start_us.saturating_add(us(self.start.elapsed()))
    }

    fn sleep_until(&self, at_us: i64) -> Sleep {
        let wait_us = at_us.saturating_sub(self.start_us);
        let at = self.start + Duration::from_micros(u64::try_from(wait_us).unwrap_or_default());
        Box::pin(tokio::time::sleep_until(at))
    }
}

/// A clock that stands still until it is moved.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use referee_server::{Clock, ManualClock};
///
/// let clock = ManualClock::at_us(1_700_000_000_000_000);
/// clock.advance(Duration::from_millis(2));
/// assert_eq!(clock.now_us(), 1_700_000_000_002_000);
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock {
    now_us: Arc<watch::Sender<i64>>,
}

impl ManualClock {
    /// A clock that shows `now_us`, in microseconds since 1970.
    #[must_use]
    pub fn at_us(now_us: i64) -> ManualClock {
        let (now_us, _) = watch::channel(now_us);
        ManualClock {
            now_us: Arc::new(now_us),
        }
    }

    /// Moves the clock on, and wakes who waits for a time that it now shows.
    pub fn advance(&self, duration: Duration) {
        self.now_us
            .send_modify(|now_us| *now_us = now_us.saturating_add(us(duration)));
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> i64 {
        *self.now_us.borrow()
    }

    fn sleep_until(&self, at_us: i64) -> Sleep {
        let mut now_us = self.now_us.subscribe();
        // The clock may be gone before the time: then nobody can wait for the end of the wait.
        let clock = Arc::clone(&self.now_us);
        Box::pin(async move {
            let _clock = clock;
            let _ = now_us.wait_for(|&now_us| now_us >= at_us).await;
        })
    }
}

/// When the clock of the service begins: with that of the machine, unless that was set back since
/// the last sign of life.
fn start_us(machine_us: i64, last_us: Option<i64>) -> i64 {
    let Some(last_us) = last_us.filter(|&last_us| last_us > machine_us) else {
        return machine_us;
    };
    let ahead_us = last_us.saturating_sub(machine_us);
    if ahead_us <= us(limits::CLOCK_STEP_MAX) {
        tracing::warn!(
            ahead_us,
            "the clock of the machine was set back, and is not followed"
        );
        return last_us;
    }
    tracing::error!(
        ahead_us,
        "the clock of the machine is far behind the last sign of life, and is believed"
    );
    machine_us
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the time of day is read"
)]
fn machine_us() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .map_or(0, us)
}

/// A duration in microseconds.
pub(crate) fn us(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_a_little_is_not_followed() {
        let hour_us = us(limits::CLOCK_STEP_MAX);
        for (machine_us, last_us, expected) in [
            (10, None, 10),
            (10, Some(7), 10),
            (10, Some(10), 10),
            (10, Some(12), 12),
            (10, Some(10 + hour_us), 10 + hour_us),
            (10, Some(11 + hour_us), 10),
        ] {
            assert_eq!(start_us(machine_us, last_us), expected, "{last_us:?}");
        }
    }

    #[tokio::test]
    async fn a_wait_ends_when_the_clock_is_moved_far_enough_and_not_before() {
        let clock = ManualClock::at_us(0);
        let mut wait = tokio::spawn(clock.sleep(Duration::from_micros(10)));
        clock.advance(Duration::from_micros(9));
        assert!(!is_done(&mut wait).await);
        clock.advance(Duration::from_micros(1));
        assert!(is_done(&mut wait).await);
    }

    async fn is_done(wait: &mut tokio::task::JoinHandle<()>) -> bool {
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        wait.is_finished()
    }
}
