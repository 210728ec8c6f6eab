//! Following all games of a platform: what is created and every event, in the order of commits,
//! from a cursor.
//!
//! What is told is read from the log of the store, page by page, and only then: who reads slowly
//! has one page in memory, and nothing can be missed or come twice.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use referee_store::{LogCursor, ReadError, TailEntry};
use tokio::sync::watch;

use super::registry::GameRegistry;
use crate::clock::{Clock, Sleep, us};
use crate::error::ServiceError;
use crate::limits;

/// Which games are followed.
#[derive(Clone, Debug)]
pub(crate) struct WatchedGames {
    pub(crate) platform: String,
    /// What a game must have.
    pub(crate) labels: Vec<(String, String)>,
}

/// What is sent next.
pub(crate) enum LogUpdate {
    /// A creation or an event.
    Entry(Box<TailEntry>),
    /// Everything before a place was sent.
    Checkpoint {
        /// The time of the service, in microseconds since 1970.
        now_us: i64,
    },
}

/// Follows all games of a platform.
pub(crate) struct LogTail {
    registry: Arc<GameRegistry>,
    clock: Arc<dyn Clock>,
    games: WatchedGames,
    /// The place after what was sent.
    cursor: LogCursor,
    waiting: VecDeque<TailEntry>,
    /// The place after what waits.
    next: LogCursor,
    /// Moves when something was committed.
    newest: watch::Receiver<LogCursor>,
    heartbeat_us: i64,
    /// When the next checkpoint is due, in microseconds since 1970.
    due_us: i64,
    /// Ends at a time at which a checkpoint may be due.
    wait: Sleep,
}

impl LogTail {
    /// Begins after a cursor: the empty one is before everything, none is now. The first thing to
    /// send is a checkpoint.
    ///
    /// # Errors
    ///
    /// [`ServiceError::CursorLost`], and where the store cannot read.
    pub(crate) async fn begin(
        registry: Arc<GameRegistry>,
        clock: Arc<dyn Clock>,
        games: WatchedGames,
        after: Option<String>,
        heartbeat: Duration,
    ) -> Result<LogTail, ServiceError> {
        // The interest comes first, so that nothing falls in between.
        let newest = registry.log().follow();
        let cursor = match after.as_deref() {
            None => registry.log().log().newest().await?,
            Some("") => LogCursor::start(),
            Some(text) => text.parse().map_err(|_| lost(text))?,
        };
        let due_us = clock.now_us();
        let mut tail = LogTail {
            wait: clock.sleep_until(due_us),
            registry,
            clock,
            games,
            next: cursor.clone(),
            cursor,
            waiting: VecDeque::new(),
            newest,
            heartbeat_us: us(heartbeat),
            due_us,
        };
        // A cursor that is not known is told at once.
        tail.read().await?;
        Ok(tail)
    }

    /// Returns the place after everything that was handed out.
    pub(crate) fn cursor(&self) -> &LogCursor {
        &self.cursor
    }

    /// Waits for the next thing to send.
    ///
    /// # Errors
    ///
    /// Where the store cannot read.
    pub(crate) async fn next(&mut self) -> Result<LogUpdate, ServiceError> {
        loop {
            let now_us = self.clock.now_us();
            if now_us >= self.due_us {
                return Ok(self.checkpoint(now_us));
            }
            if let Some(entry) = self.waiting.pop_front() {
                self.cursor = entry.cursor.clone();
                self.due_us = now_us.saturating_add(self.heartbeat_us);
                return Ok(LogUpdate::Entry(Box::new(entry)));
            }
            self.cursor = self.next.clone();
            self.newest.mark_unchanged();
            if self.read().await? {
                continue;
            }
            tokio::select! {
                changed = self.newest.changed() => {
                    if changed.is_err() {
                        return Err(ServiceError::ShuttingDown);
                    }
                }
                () = &mut self.wait => self.wait = self.clock.sleep_until(self.due_us),
            }
        }
    }

    fn checkpoint(&mut self, now_us: i64) -> LogUpdate {
        self.due_us = now_us.saturating_add(self.heartbeat_us);
        self.wait = self.clock.sleep_until(self.due_us);
        LogUpdate::Checkpoint { now_us }
    }

    /// Reads the next page; says whether the log goes on after it.
    async fn read(&mut self) -> Result<bool, ServiceError> {
        let limit = limits::WATCHED_ENTRIES_READ_MAX;
        let WatchedGames { platform, labels } = &self.games;
        let turn = self.registry.bulk_turn().await?;
        let log = self.registry.log().log();
        let page = log.tail(platform, labels, &self.next, limit).await;
        let page = page.map_err(|error| match error {
            ReadError::Invalid(_) => lost(&self.next.to_string()),
            ReadError::Fault(fault) => fault.into(),
        })?;
        drop(turn);
        let goes_on = page.next != self.next;
        self.next = page.next;
        self.waiting = page.entries.into();
        Ok(goes_on)
    }
}

fn lost(cursor: &str) -> ServiceError {
    ServiceError::CursorLost {
        after: cursor.to_owned(),
    }
}
