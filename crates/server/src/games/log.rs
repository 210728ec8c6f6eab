//! What other writers have committed: the log of the store, compared with what is in memory.
//!
//! A copy in memory is good as long as the log has not moved past it. Before a copy is shown, the
//! newest commit of the store is compared with what has been followed so far, which is a look into
//! memory on an embedded store; where the two differ, the changes in between are read, once for
//! all that wait. The same reading wakes those who watch.

use std::sync::{Arc, Mutex, PoisonError};

use referee_store::{Log, LogCursor};

use super::cache::GameCache;
use super::feed::Feeds;
use crate::error::ServiceError;
use crate::limits;

/// Follows the log of the store.
pub(crate) struct LogFollower {
    log: Arc<dyn Log>,
    cache: Arc<GameCache>,
    feeds: Arc<Feeds>,
    /// Up to where the log has been followed.
    seen: Mutex<LogCursor>,
    /// Held while changes are read.
    reading: tokio::sync::Mutex<()>,
}

impl LogFollower {
    /// Begins at the newest commit: nothing is in memory yet.
    ///
    /// # Errors
    ///
    /// Where the store cannot read.
    pub(crate) async fn begin(
        log: Arc<dyn Log>,
        cache: Arc<GameCache>,
        feeds: Arc<Feeds>,
    ) -> Result<LogFollower, ServiceError> {
        let newest = log.newest().await?;
        Ok(LogFollower {
            log,
            cache,
            feeds,
            seen: Mutex::new(newest),
            reading: tokio::sync::Mutex::default(),
        })
    }

    /// Takes note of everything that was committed before the call.
    ///
    /// # Errors
    ///
    /// Where the store cannot read.
    pub(crate) async fn catch_up(&self) -> Result<(), ServiceError> {
        let newest = self.log.newest().await?;
        if newest == self.seen() {
            return Ok(());
        }
        let _one_at_a_time = self.reading.lock().await;
        loop {
            let seen = self.seen();
            if seen == newest {
                // Another caller has read as far while this one waited.
                return Ok(());
            }
            let page = self
                .log
                .changes(&seen, limits::LOG_CHANGES_READ_MAX)
                .await?;
            let is_last = page.changes.len() < limits::LOG_CHANGES_READ_MAX;
            for change in page.changes {
                self.cache.note(&change.key, change.sequence);
                if let Some(feed) = self.feeds.of(&change.key) {
                    feed.note(change.sequence);
                }
            }
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = page.next;
            if is_last {
                return Ok(());
            }
        }
    }

    /// Something was committed by this process.
    pub(crate) fn moved(&self) -> tokio::sync::watch::Receiver<u64> {
        self.log.moved()
    }

    fn seen(&self) -> LogCursor {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
