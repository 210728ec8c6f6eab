//! The trait that every engine implements, made of facets.

use std::time::Duration;

use crate::ack::{Ack, Read};
use crate::deadlines::Deadlines;
use crate::error::Fault;
use crate::games::Games;
use crate::identities::Identities;
use crate::liveness::Liveness;
use crate::log::Log;
use crate::questions::Questions;
use crate::spread::Spread;
use crate::upkeep::Upkeep;
use crate::work::Work;

/// Durable records of games, with everything about them that must survive a process.
///
/// Each part of a program takes the facet that it needs: `Arc<dyn Store>` becomes
/// `Arc<dyn Games>` by itself.
pub trait Store:
    Games + Log + Deadlines + Liveness + Questions + Work + Identities + Upkeep + 'static
{
    /// Returns whether the store can be used now. It asks the engine.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot even read.
    fn ready(&self) -> Read<'_, Ready>;

    /// Returns what the store is doing. It waits for nothing.
    fn stats(&self) -> StoreStats;

    /// Closes the store: writes that wait are still made and answered, later ones get
    /// [`Fault::Closed`]. The future ends when everything is on disk and the files are released;
    /// closing again is no mistake.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the last cleaning up failed; acknowledged writes are durable all the same.
    fn close(&self) -> Ack<(), Fault>;
}

/// What a store can do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It reads and, as far as it knows, writes.
    Writable,
    /// It reads, and its last attempt to write failed.
    ReadsOnly {
        /// What was wrong with the last attempt.
        fault: Fault,
    },
}

/// What a store is doing and has done since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// The writes that wait, or are being written.
    pub writes_waiting: usize,
    /// The bytes of payload of these writes.
    pub bytes_waiting: usize,
    /// The reads that wait, or run.
    pub reads_waiting: usize,
    /// The batches that were committed.
    pub batches: u64,
    /// The writes that were answered after a commit, whatever their answer was.
    pub writes: u64,
    /// The writes that got a fault instead.
    pub failed: u64,
    /// The median time that a batch takes, of all batches so far; rounded up by at most an
    /// eighth.
    pub commit_p50: Duration,
    /// The time within which 99 of 100 batches end; rounded up by at most an eighth.
    pub commit_p99: Duration,
    /// How long the batches took, in microseconds.
    pub commit_times_us: Spread,
    /// How many writes the batches had.
    pub batch_sizes: Spread,
}
