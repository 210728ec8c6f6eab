//! Following a game: where it stands, every event after that in order, heartbeats in between.
//!
//! A follower takes events by their numbers and is only woken by what happens, so it can neither
//! miss an event nor see one twice, however slowly it reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use referee_store::GameKey;

use super::feed::{Interest, RecordedEvent};
use super::registry::GameRegistry;
use super::slot::RecordedGame;
use crate::clock::{Clock, Sleep, us};
use crate::error::ServiceError;

/// What a follower sends next.
pub(crate) enum Update {
    /// Where the game stands.
    Snapshot(Arc<RecordedGame>),
    /// The next event.
    Event(RecordedEvent),
    /// Nothing has happened.
    Heartbeat {
        /// The sequence of the last event that was sent.
        sequence: i64,
        /// The time of the service, in microseconds since 1970.
        now_us: i64,
    },
    /// The game is over and everything has been sent.
    End,
}

/// Follows one game.
pub(crate) struct Follower {
    registry: Arc<GameRegistry>,
    clock: Arc<dyn Clock>,
    interest: Interest,
    /// The sequence of the last event that was sent.
    sent: i64,
    waiting: VecDeque<RecordedEvent>,
    snapshot: Option<Arc<RecordedGame>>,
    heartbeat_us: i64,
    /// When the next heartbeat is due, in microseconds since 1970.
    due_us: i64,
    /// Ends at a time at which a heartbeat may be due.
    wait: Sleep,
    is_over: bool,
}

impl Follower {
    /// Begins to follow a game: with a snapshot, or after an event that the caller has.
    ///
    /// # Errors
    ///
    /// [`ServiceError::GameNotFound`], [`ServiceError::SequenceAhead`], and where the store
    /// cannot read.
    pub(crate) async fn begin(
        registry: Arc<GameRegistry>,
        clock: Arc<dyn Clock>,
        key: &GameKey,
        after: Option<i64>,
        heartbeat: Duration,
    ) -> Result<Follower, ServiceError> {
        // The interest comes before the game is read, so that nothing falls in between.
        let interest = registry.follow(key);
        let game = registry.read(key).await?;
        let actual = game.folded.sequence;
        let sent = after.unwrap_or(actual);
        if sent > actual {
            return Err(ServiceError::SequenceAhead {
                after: sent,
                actual,
            });
        }
        interest.feed.note(actual);
        let is_over = sent == actual && game.folded.game.outcome().is_some();
        let due_us = clock.now_us().saturating_add(us(heartbeat));
        Ok(Follower {
            wait: clock.sleep_until(due_us),
            registry,
            clock,
            interest,
            sent,
            waiting: VecDeque::new(),
            snapshot: after.is_none().then_some(game),
            heartbeat_us: us(heartbeat),
            due_us,
            is_over,
        })
    }

    /// Returns the sequence of the last event that was sent.
    pub(crate) fn sent(&self) -> i64 {
        self.sent
    }

    /// Returns whether the snapshot has still to be sent.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Waits for the next thing to send. Dropping the wait loses nothing.
    ///
    /// # Errors
    ///
    /// Where the store cannot read.
    pub(crate) async fn next(&mut self) -> Result<Update, ServiceError> {
        loop {
            if let Some(update) = self.at_hand().await? {
                self.due_us = self.clock.now_us().saturating_add(self.heartbeat_us);
                return Ok(update);
            }
            tokio::select! {
                changed = self.interest.newest.changed() => {
                    if changed.is_err() {
                        // The feed lives as long as the interest in it.
                        return Err(ServiceError::InvariantBroken {
                            what: "a feed ended before its follower".into(),
                        });
                    }
                }
                () = &mut self.wait => {
                    let now_us = self.clock.now_us();
                    if let Some(update) = self.beat(now_us) {
                        return Ok(update);
                    }
                }
            }
        }
    }

    /// Returns what can be sent without waiting.
    ///
    /// # Errors
    ///
    /// Where the store cannot read.
    pub(crate) async fn at_hand(&mut self) -> Result<Option<Update>, ServiceError> {
        if let Some(snapshot) = self.snapshot.take() {
            return Ok(Some(Update::Snapshot(snapshot)));
        }
        if self.is_over {
            return Ok(Some(Update::End));
        }
        if self.waiting.is_empty() && *self.interest.newest.borrow_and_update() > self.sent {
            let events = self.registry.events(&self.interest, self.sent).await?;
            self.waiting = events.into();
        }
        let Some(event) = self.waiting.pop_front() else {
            return Ok(None);
        };
        self.sent = event.sequence;
        self.is_over = event.is_end;
        Ok(Some(Update::Event(event)))
    }

    /// The heartbeat, where it is due; events since the wait began have put it off.
    fn beat(&mut self, now_us: i64) -> Option<Update> {
        let is_due = now_us >= self.due_us;
        if is_due {
            self.due_us = now_us.saturating_add(self.heartbeat_us);
        }
        self.wait = self.clock.sleep_until(self.due_us);
        is_due.then_some(Update::Heartbeat {
            sequence: self.sent,
            now_us,
        })
    }
}
