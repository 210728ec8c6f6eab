//! The clock of the service, as a value: what stamps arrivals and what background work waits by.
//!
//! Nothing else in the product reads a clock. [`MachineClock`] is the one that counts time;
//! [`ManualClock`] stands still until a test moves it, so that a test of hours takes no time and
//! gives the same result on every machine.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;

use crate::limits;

/// A wait that ends at a time of a [`Clock`].
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Tells the time in microseconds since 1970-01-01T00:00:00Z, never earlier than it did before.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The time in microseconds since 1970-01-01T00:00:00Z.
    fn now_us(&self) -> i64;

    /// How long threads of this process have worked so far, in microseconds, all added up: it does
    /// not grow while the process stands still.
    fn busy_us(&self) -> i64;

    /// Waits until the clock shows at least `at_us`. Dropping the wait is safe.
    fn sleep_until(&self, at_us: i64) -> Sleep;

    /// Waits for a duration of this clock.
    fn sleep(&self, duration: Duration) -> Sleep {
        self.sleep_until(self.now_us().saturating_add(us(duration)))
    }
}

/// The clock of the machine: monotonic, set by the time of day once, when it is made.
///
/// The time of day may be set while the service runs, and the clock of the service does not follow.
/// It goes on while the machine sleeps, so that such a time is seen to have passed. It begins no
/// earlier than the last sign of life in the store, as far as that is believable (see
/// `MachineClock::after`).
#[derive(Clone, Copy, Debug)]
pub struct MachineClock {
    /// What the machine had counted when the clock was made.
    start_counted_us: i64,
    start_us: i64,
}

impl MachineClock {
    /// A clock that begins with the time of day, but not before `last_us`, the last sign of life
    /// of a process before, in microseconds since 1970.
    ///
    /// A machine whose clock was set back a little, by at most 10 minutes, goes on from `last_us`;
    /// one that is further behind is believed, since then the last sign of life was wrong. What
    /// that has left in the store is moved back when the service begins.
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
            start_counted_us: counted_us(COUNTER),
            start_us: start_us(machine_us(), last_us),
        }
    }
}

impl Clock for MachineClock {
    fn now_us(&self) -> i64 {
        let passed_us = counted_us(COUNTER).saturating_sub(self.start_counted_us);
        self.start_us.saturating_add(passed_us)
    }

    fn busy_us(&self) -> i64 {
        counted_us(ClockId::ProcessCPUTime)
    }

    fn sleep_until(&self, at_us: i64) -> Sleep {
        let clock = *self;
        Box::pin(async move {
            loop {
                let left_us = u64::try_from(at_us.saturating_sub(clock.now_us()));
                match left_us {
                    Ok(left_us) if left_us > 0 => {
                        // Timers stand still while the machine sleeps.
                        let left = Duration::from_micros(left_us);
                        tokio::time::sleep(left.min(limits::CLOCK_LOOK_INTERVAL)).await;
                    }
                    _ => return,
                }
            }
        })
    }
}

/// What counts the time that passes, also while the machine sleeps.
#[cfg(any(target_os = "linux", target_os = "android"))]
const COUNTER: ClockId = ClockId::Boottime;
/// What counts the time that passes.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const COUNTER: ClockId = ClockId::Monotonic;

/// Reads a counter of the machine, in microseconds.
fn counted_us(counter: ClockId) -> i64 {
    let counted = clock_gettime(counter);
    counted
        .tv_sec
        .saturating_mul(1_000_000)
        .saturating_add(counted.tv_nsec / 1_000)
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
    /// How long the process stood still so far.
    still_us: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that shows `now_us`, in microseconds since 1970.
    #[must_use]
    pub fn at_us(now_us: i64) -> ManualClock {
        let (now_us, _) = watch::channel(now_us);
        ManualClock {
            now_us: Arc::new(now_us),
            still_us: Arc::default(),
        }
    }

    /// Moves the clock on by a time in which the process got no turn, and wakes as
    /// [`advance`](Self::advance) does, by which the process always works.
    pub fn stand_still(&self, duration: Duration) {
        self.still_us.fetch_add(us(duration), Ordering::AcqRel);
        self.advance(duration);
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

    fn busy_us(&self) -> i64 {
        self.now_us()
            .saturating_sub(self.still_us.load(Ordering::Acquire))
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
        let most_us = us(limits::CLOCK_STEP_MAX);
        for (machine_us, last_us, expected) in [
            (10, None, 10),
            (10, Some(7), 10),
            (10, Some(10), 10),
            (10, Some(12), 12),
            (10, Some(10 + most_us), 10 + most_us),
            (10, Some(11 + most_us), 10),
        ] {
            assert_eq!(start_us(machine_us, last_us), expected, "{last_us:?}");
        }
    }

    #[test]
    fn a_process_that_stands_still_does_not_work() {
        let clock = ManualClock::at_us(5);
        clock.advance(Duration::from_micros(3));
        let busy_us = clock.busy_us();
        clock.stand_still(Duration::from_micros(4));
        assert_eq!((clock.now_us(), clock.busy_us()), (12, busy_us));
        let clock = MachineClock::after(None);
        let (now_us, busy_us) = (clock.now_us(), clock.busy_us());
        assert!(clock.now_us() >= now_us && clock.busy_us() >= busy_us && busy_us > 0);
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
