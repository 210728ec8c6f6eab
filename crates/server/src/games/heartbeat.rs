//! The signs of life of this process: time without any process that gives one is down time, in
//! which the clocks of games stand still.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
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
    beating: tokio::sync::Mutex<()>,
    /// Whether the process has said that it stops; it does not come back.
    stopping: AtomicBool,
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
    /// was down time.
    ///
    /// # Errors
    ///
    /// Where the store does not take it, or cannot read.
    pub(crate) async fn begin(
        liveness: Arc<dyn Liveness>,
        clock: Arc<dyn Clock>,
        replica: ReplicaId,
    ) -> Result<Heartbeat, ServiceError> {
        let heartbeat = Heartbeat {
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

    /// Makes sure that a silence of the process until now is on record, so that nobody is charged
    /// for it.
    ///
    /// # Errors
    ///
    /// Where the store does not take the sign of life, or cannot read.
    pub(crate) async fn note_silence(&self) -> Result<(), ServiceError> {
        if self.is_silent() {
            let _one_at_a_time = self.beating.lock().await;
            if self.is_silent() {
                self.beat(false).await?;
            }
        }
        Ok(())
    }

    /// Gives a sign of life; the last one of a process that stops says so.
    ///
    /// # Errors
    ///
    /// Where the store does not take it, or cannot read.
    pub(crate) async fn beat(&self, stopping: bool) -> Result<(), ServiceError> {
        // While it drains it may still look at clocks, and must not seem alive by that: the next
        // process would take the time since then for one in which somebody was there.
        let stopping = self.stopping.fetch_or(stopping, Ordering::AcqRel) || stopping;
        let at_us = self.clock.now_us();
        let beaten = self.liveness.beat(Beat {
            replica: self.replica,
            at_us,
            silence_max_us: us(limits::PROCESS_SILENCE_MAX),
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

    fn is_silent(&self) -> bool {
        let last_us = self.last_us.load(Ordering::Acquire);
        let silence_us = self.clock.now_us().saturating_sub(last_us);
        Duration::from_micros(u64::try_from(silence_us).unwrap_or_default())
            > limits::PROCESS_SILENCE_MAX
    }
}
