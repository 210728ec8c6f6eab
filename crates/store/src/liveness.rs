//! Signs of life of the processes that serve the store: the facet [`Liveness`].

use std::fmt;

use crate::ack::{Ack, Read};
use crate::error::Fault;

/// Keeps signs of life, and finds the spans in which nobody gave one.
pub trait Liveness: Send + Sync {
    /// Keeps a sign of life of one replica, and the span without one before it where there was
    /// such a span.
    ///
    /// The last sign of life is the latest of all replicas. A span is found where the beat comes
    /// more than [`Beat::silence_max_us`] after it; and where the beat is the first of its
    /// replica and no other replica is alive, however short the time since the last one was: a
    /// process that starts alone was down until now. A replica is alive when its last beat is no
    /// older than that and did not say that it stops. A beat that is not later than the last sign
    /// of life finds nothing.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn beat(&self, beat: Beat) -> Ack<Beaten, Fault>;

    /// Moves signs of life and spans back where the last sign of life is more than `step_max_us`
    /// after `at_us`, in microseconds since 1970-01-01T00:00:00Z: the clock that gave them ran
    /// ahead. From then on the last one is of `at_us`; spans that end later come as much earlier,
    /// and every game with a deadline is due.
    ///
    /// Returns by how much clocks ran ahead, for every step so far, the newest first: times of
    /// games from before a step are that much later than those that follow it. A step is added to
    /// those before it. At most [`CLOCK_STEPS_MAX`](crate::limits::CLOCK_STEPS_MAX), the newest.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn set_back(&self, at_us: i64, step_max_us: i64) -> Ack<Vec<i64>, Fault>;

    /// Returns the last sign of life of all replicas, in microseconds since
    /// 1970-01-01T00:00:00Z; none before the first.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn last_beat(&self) -> Read<'_, Option<i64>>;

    /// Returns the spans that ended after `ended_after_us`, in microseconds since
    /// 1970-01-01T00:00:00Z, oldest first. At most `limit`, at most
    /// [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX).
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn down_spans(&self, ended_after_us: i64, limit: usize) -> Read<'_, Vec<DownSpan>>;
}

/// One life of one process: drawn at random when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplicaId(pub u128);

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// Who gives it.
    pub replica: ReplicaId,
    /// When it was given, in microseconds since 1970-01-01T00:00:00Z.
    pub at_us: i64,
    /// How much later than the last one it may be, in microseconds, and still follow it.
    pub silence_max_us: i64,
    /// Whether it is the last one of its replica.
    pub stopping: bool,
}

/// The answer to a [`Beat`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beaten {
    /// The number of the newest span that the store knows, whoever found it; 0 where there is
    /// none.
    pub newest_span: i64,
    /// The span that this beat found.
    pub found: Option<DownSpan>,
}

/// A span of time without a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownSpan {
    /// The number of the span: 1, 2, 3… in the order in which spans were found and of time.
    pub id: i64,
    /// The last sign of life before it, in microseconds since 1970-01-01T00:00:00Z.
    pub from_us: i64,
    /// The first one after it, in microseconds since 1970-01-01T00:00:00Z.
    pub to_us: i64,
}
