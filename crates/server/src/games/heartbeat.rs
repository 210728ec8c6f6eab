//! The signs of life of this process: time without any process that gives one is down time, in
//! which the clocks of games stand still.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use referee_store::{Beat, DownSpan, Liveness, ReplicaId};

use crate::clock::{Clock, us};
use crate::error::ServiceError;
use crate::limits;

/// Gives signs of life, and knows the newest span of down time.
pub(crate) struct Heartbeat {
    liveness: Arc<dyn Liveness>,
    clock: Arc<dyn Clock>,
    replica: ReplicaId,
    /// The last sign of life of this process that is on disk, in microseconds since 1970.
    last_us: AtomicI64,
    /// The number of the newest span of down time, whichever process found it.
    newest_span: AtomicI64,
    /// When that span ended, in microseconds since 1970.
    newest_end_us: AtomicI64,
    /// When the process was last seen to have its turn, and how long it had worked until then.
    seen: Mutex<Seen>,
    /// By how much the clock ran ahead before each step back, the newest first.
    steps_us: Vec<i64>,
    beating: tokio::sync::Mutex<()>,
    /// Whether the process has said that it stops; it does not come back.
    stopping: AtomicBool,
}

/// A moment at which the process had its turn.
#[derive(Clone, Copy, Debug)]
struct Seen {
    now_us: i64,
    busy_us: i64,
}

impl Seen {
    fn look(clock: &dyn Clock) -> Seen {
        Seen {
            now_us: clock.now_us(),
            busy_us: clock.busy_us(),
        }
    }
}

impl fmt::Debug for Heartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heartbeat")
            .field("replica", &self.replica)
            .finish_non_exhaustive()
    }
}

impl Heartbeat {
    /// Gives the first sign of life: where no other process is alive, the time since the last one
    /// was down time. Where the clock ran ahead before, what it has left is moved back first.
    ///
    /// # Errors
    ///
    /// Where the store does not take it, or cannot read.
    pub(crate) async fn begin(
        liveness: Arc<dyn Liveness>,
        clock: Arc<dyn Clock>,
        replica: ReplicaId,
    ) -> Result<Heartbeat, ServiceError> {
        let step_max_us = us(limits::CLOCK_STEP_MAX);
        let steps_us = liveness.set_back(clock.now_us(), step_max_us).await?;
        let heartbeat = Heartbeat {
            seen: Mutex::new(Seen::look(&*clock)),
            steps_us,
            liveness,
            clock,
            replica,
            last_us: AtomicI64::new(i64::MIN),
            newest_span: AtomicI64::new(0),
            newest_end_us: AtomicI64::new(0),
            beating: tokio::sync::Mutex::default(),
            stopping: AtomicBool::new(false),
        };
        heartbeat.beat(false).await?;
        Ok(heartbeat)
    }

    /// When the newest span of down time ended, in microseconds since 1970; 0 where there never
    /// was one. A clock that runs since then or later stood still in none.
    pub(crate) fn newest_end_us(&self) -> i64 {
        self.newest_end_us.load(Ordering::Acquire)
    }

    /// By how much the time line of a game is ahead of the service, in microseconds, by the time of
    /// its last event: more than nothing only where that is of days when the clock ran ahead. Such
    /// a game goes on where it was, and none of its time is lost or given away.
    pub(crate) fn ahead_us(&self, event_us: i64) -> i64 {
        let Some(&most_us) = self.steps_us.last() else {
            return 0;
        };
        let now_us = self.clock.now_us();
        if event_us <= now_us {
            return 0;
        }
        let reaches = |step_us: &i64| now_us.saturating_add(*step_us) >= event_us;
        let mut steps_us = self.steps_us.iter().copied();
        steps_us.find(reaches).unwrap_or(most_us)
    }

    /// Makes sure that a silence of the process until now is on record, so that nobody is charged
    /// for it.
    ///
    /// # Errors
    ///
    /// Where the store does not take the sign of life, or cannot read.
    pub(crate) async fn note_silence(&self) -> Result<(), ServiceError> {
        if self.is_silent() || self.stall().is_some() {
            let _one_at_a_time = self.beating.lock().await;
            if self.is_silent() || self.stall().is_some() {
                self.beat_in_turn(false).await?;
            }
        }
        Ok(())
    }

    /// Looks whether the process stood still since the last look, and puts that on record.
    ///
    /// # Errors
    ///
    /// Where the store does not take the sign of life, or cannot read.
    pub(crate) async fn look(&self) -> Result<(), ServiceError> {
        if self.stall().is_some() {
            self.note_silence().await?;
        }
        *self.seen() = Seen::look(&*self.clock);
        Ok(())
    }

    /// Waits until the next look is due.
    pub(crate) async fn wait_to_look(&self) {
        self.clock.sleep(limits::PROCESS_LOOK_INTERVAL).await;
    }

    /// Gives a sign of life; the last one of a process that stops says so.
    ///
    /// # Errors
    ///
    /// Where the store does not take it, or cannot read.
    pub(crate) async fn beat(&self, stopping: bool) -> Result<(), ServiceError> {
        let _one_at_a_time = self.beating.lock().await;
        self.beat_in_turn(stopping).await
    }

    /// Gives a sign of life, and one of before where the process stood still in between.
    async fn beat_in_turn(&self, stopping: bool) -> Result<(), ServiceError> {
        // While it drains it may still look at clocks, and must not seem alive by that: the next
        // process would take the time since then for one in which somebody was there.
        let stopping = self.stopping.fetch_or(stopping, Ordering::AcqRel) || stopping;
        let at_us = self.clock.now_us();
        let silence_max_us = us(limits::PROCESS_SILENCE_MAX);
        match self.stall() {
            None => self.give(at_us, silence_max_us, stopping).await,
            Some(still_us) => {
                // It lived until then, and is silent since.
                let until_us = at_us.saturating_sub(still_us);
                self.give(until_us, silence_max_us, stopping).await?;
                self.give(at_us, still_us - 1, stopping).await?;
                // Last: whoever asks before waits until it is on record.
                *self.seen() = Seen::look(&*self.clock);
                Ok(())
            }
        }
    }

    /// How long the process provably stood still since it was last seen to have its turn, in
    /// microseconds, where that counts: by so much it is late, less the time for which any of its
    /// threads worked meanwhile.
    fn stall(&self) -> Option<i64> {
        let least_us = us(limits::PROCESS_STALL_MIN);
        let seen = *self.seen();
        let passed_us = self.clock.now_us().saturating_sub(seen.now_us);
        let late_us = passed_us.saturating_sub(us(limits::PROCESS_LOOK_INTERVAL));
        if late_us < least_us {
            return None;
        }
        let worked_us = self.clock.busy_us().saturating_sub(seen.busy_us);
        let still_us = late_us.saturating_sub(worked_us);
        (still_us >= least_us).then_some(still_us)
    }

    /// What stands under the lock is one assignment.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a sign of life of a time.
    async fn give(
        &self,
        at_us: i64,
        silence_max_us: i64,
        stopping: bool,
    ) -> Result<(), ServiceError> {
        let beaten = self.liveness.beat(Beat {
            replica: self.replica,
            at_us,
            silence_max_us,
            stopping,
        });
        let beaten = beaten.await?;
        if let Some(span) = beaten.found {
            let down_ms = (span.to_us - span.from_us) / 1_000;
            tracing::warn!(
                down_ms,
                "clocks stood still while there was no sign of life"
            );
        }
        // The span first: who sees that the process is alive again must see it, too.
        if beaten.newest_span > self.newest_span.load(Ordering::Acquire) {
            let end_us = match beaten.found {
                Some(span) if span.id == beaten.newest_span => span.to_us,
                _ => self.read_newest_end().await?,
            };
            self.newest_end_us.fetch_max(end_us, Ordering::AcqRel);
            self.newest_span
                .fetch_max(beaten.newest_span, Ordering::AcqRel);
        }
        self.last_us.fetch_max(at_us, Ordering::AcqRel);
        Ok(())
    }

    /// Reads when the newest span ended, which another process has found.
    async fn read_newest_end(&self) -> Result<i64, ServiceError> {
        let mut end_us = self.newest_end_us();
        loop {
            let limit = limits::DOWN_SPANS_READ_MAX;
            let spans: Vec<DownSpan> = self.liveness.down_spans(end_us, limit).await?;
            let Some(last) = spans.last() else {
                return Ok(end_us);
            };
            end_us = last.to_us;
        }
    }

    /// Waits until the next sign of life is due.
    pub(crate) async fn wait(&self) {
        self.clock.sleep(limits::PROCESS_HEARTBEAT_INTERVAL).await;
    }

    /// Whether no sign of life of this process is on disk for longer than it may be silent.
    pub(crate) fn is_silent(&self) -> bool {
        let last_us = self.last_us.load(Ordering::Acquire);
        let silence_us = self.clock.now_us().saturating_sub(last_us);
        Duration::from_micros(u64::try_from(silence_us).unwrap_or_default())
            > limits::PROCESS_SILENCE_MAX
    }
}
