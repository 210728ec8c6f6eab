//! The clock of the service, and its signs of life in the store: time without them is down time.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this is the clock of the service"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use referee_store::{Beat, Store};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::desk::Desk;
use crate::limits;
use crate::status::ApiError;
use crate::stream::stopped;

/// The clock of the service, and when it last gave a sign of life.
///
/// The offset between the monotonic clock and the time of day is measured once, at the start, so
/// that the clock never goes backwards, however the machine's is set meanwhile.
#[derive(Debug)]
pub(crate) struct Pulse {
    start: Instant,
    start_us: i64,
    /// The last sign of life that is on disk.
    last_us: AtomicI64,
    /// The spans of down time that this process has found, its own start among them.
    down_spans: AtomicU64,
    beating: tokio::sync::Mutex<()>,
}

impl Pulse {
    /// Begins: the time since the last sign of life of the process before was down time.
    pub(crate) async fn begin(store: &dyn Store) -> Result<Pulse, ApiError> {
        let last_us = store.heartbeat().await?;
        let pulse = Pulse {
            start: Instant::now(),
            start_us: start_us(machine_us(), last_us),
            last_us: AtomicI64::new(i64::MIN),
            down_spans: AtomicU64::new(1),
            beating: tokio::sync::Mutex::new(()),
        };
        pulse.give(store, Duration::ZERO).await?;
        Ok(pulse)
    }

    /// The time of the service in microseconds since 1970, never earlier than it was before.
    pub(crate) fn now_us(&self) -> i64 {
        self.start_us.saturating_add(us(self.start.elapsed()))
    }

    /// How many spans of down time are known. It grows with each.
    pub(crate) fn down_spans(&self) -> u64 {
        self.down_spans.load(Ordering::Acquire)
    }

    /// Makes sure that a silence of the process until now is on record, so that nobody is charged
    /// for it.
    pub(crate) async fn note_silence(&self, store: &dyn Store) -> Result<(), ApiError> {
        let is_silent = || {
            let last_us = self.last_us.load(Ordering::Acquire);
            self.now_us().saturating_sub(last_us) > us(limits::PULSE_SILENCE_MAX)
        };
        if is_silent() {
            self.give(store, limits::PULSE_SILENCE_MAX).await?;
        }
        Ok(())
    }

    async fn give(&self, store: &dyn Store, silence_max: Duration) -> Result<(), ApiError> {
        let _one_at_a_time = self.beating.lock().await;
        let beat = Beat {
            at_us: self.now_us(),
            silence_max_us: us(silence_max),
        };
        if let Some(span) = store.beat(beat).await? {
            let down_ms = (span.to_us - span.from_us) / 1_000;
            tracing::warn!(
                down_ms,
                "clocks stood still while there was no sign of life"
            );
            self.down_spans.fetch_add(1, Ordering::AcqRel);
        }
        self.last_us.store(beat.at_us, Ordering::Release);
        Ok(())
    }
}

/// Gives signs of life until the service stops, and a last one then.
pub(crate) async fn beat(desk: Arc<Desk>, mut is_stopping: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(limits::PULSE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_last = tokio::select! {
            _ = ticks.tick() => false,
            () = stopped(&mut is_stopping) => true,
        };
        let given = desk.pulse.give(desk.store(), limits::PULSE_SILENCE_MAX);
        if let Err(error) = given.await {
            tracing::error!(?error, "the sign of life could not be stored");
        }
        if is_last {
            return;
        }
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

fn machine_us() -> i64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
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
}
