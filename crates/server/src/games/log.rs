//! What other writers have committed: the log of the store, compared with what is in memory.
//!
//! A copy in memory is good as long as the log has not moved past it. Before a copy is shown, the
//! newest commit of the store is compared with what has been followed so far, which is a look into
//! memory on an embedded store; where the two differ, the changes in between are read, once for
//! all that wait. The same reading wakes those who watch.

use std::sync::Arc;

use referee_store::{Change, Log, LogCursor};
use tokio::sync::watch;

use super::cache::GameCache;
use super::feed::{DELETED, Feeds};
use crate::error::ServiceError;
use crate::limits;

/// Follows the log of the store.
pub(crate) struct LogFollower {
    log: Arc<dyn Log>,
    cache: Arc<GameCache>,
    feeds: Arc<Feeds>,
    /// Up to where the log has been followed; who follows all games of a platform waits for it.
    seen: watch::Sender<LogCursor>,
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
            seen: watch::channel(newest).0,
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
            for Change { key, sequence } in page.changes {
                match sequence {
                    Some(sequence) => self.cache.note(&key, sequence),
                    None => self.cache.end(&key),
                }
                if let Some(feed) = self.feeds.of(&key) {
                    feed.note(sequence.unwrap_or(DELETED));
                }
            }
            self.seen.send_replace(page.next);
            if is_last {
                return Ok(());
            }
        }
    }

    /// Something was committed by this process.
    pub(crate) fn moved(&self) -> watch::Receiver<u64> {
        self.log.moved()
    }

    /// The log itself.
    pub(crate) fn log(&self) -> &dyn Log {
        &*self.log
    }

    /// A signal that the log has moved on, whoever has written.
    pub(crate) fn follow(&self) -> watch::Receiver<LogCursor> {
        self.seen.subscribe()
    }

    /// Whether anybody follows all games of a platform.
    pub(crate) fn is_followed(&self) -> bool {
        self.seen.receiver_count() > 0
    }

    fn seen(&self) -> LogCursor {
        self.seen.borrow().clone()
    }
}
