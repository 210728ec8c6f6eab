//! Following a game: where it stands, every event after that in order, heartbeats in between, and
//! the end.
//!
//! A follower takes events by their numbers and is only woken by what happens, so it can neither
//! miss an event nor see one twice, however slowly it reads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_record::convert::ruling::write_outcome;
use referee_store::GameKey;

use super::feed::{DELETED, Interest, RecordedEvent};
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
    /// The game is over and everything has been sent, or it was deleted.
    End {
        /// The sequence of the last event that was sent.
        sequence: i64,
        /// How it ended; none where it was deleted.
        outcome: Option<Arc<v1::Outcome>>,
    },
}

/// How a caller wants to follow a game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// The event that the caller has; none begins with a snapshot.
    pub(crate) after: Option<i64>,
    /// How long nothing may be sent.
    pub(crate) heartbeat: Duration,
    /// How long corrections are waited for after the end.
    pub(crate) corrections: Duration,
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
    /// Ends at a time at which a heartbeat or the end may be due.
    wait: Sleep,
    corrections_us: i64,
    /// How the game ended and until when corrections are waited for, where it is over after the
    /// last event that was sent.
    end: Option<(Arc<v1::Outcome>, i64)>,
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
        wish: Wish,
    ) -> Result<Follower, ServiceError> {
        // The interest comes before the game is read, so that nothing falls in between.
        let interest = registry.follow(key);
        let game = registry.read(key).await?;
        let actual = game.folded.sequence;
        let sent = wish.after.unwrap_or(actual);
        if sent > actual {
            return Err(ServiceError::SequenceAhead {
                after: sent,
                actual,
            });
        }
        interest.feed.note(actual);
        let outcome = outcome_of(&game).filter(|_| sent == actual);
        let now_us = clock.now_us();
        let due_us = now_us.saturating_add(us(wish.heartbeat));
        let mut follower = Follower {
            wait: clock.sleep_until(due_us),
            registry,
            clock,
            interest,
            sent,
            waiting: VecDeque::new(),
            snapshot: wish.after.is_none().then_some(game),
            heartbeat_us: us(wish.heartbeat),
            due_us,
            corrections_us: us(wish.corrections),
            end: None,
        };
        follower.note_end(outcome);
        Ok(follower)
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
        if *self.interest.newest.borrow() == DELETED {
            return Ok(Some(Update::End {
                sequence: self.sent,
                outcome: None,
            }));
        }
        if let Some(snapshot) = self.snapshot.take() {
            return Ok(Some(Update::Snapshot(snapshot)));
        }
        if self.waiting.is_empty() && *self.interest.newest.borrow_and_update() > self.sent {
            let events = self.registry.events(&self.interest, self.sent).await?;
            self.waiting = events.into();
        }
        let Some(event) = self.waiting.pop_front() else {
            return Ok(self.end_at_hand());
        };
        self.sent = event.sequence;
        self.note_end(event.end.clone());
        Ok(Some(Update::Event(event)))
    }

    /// Notes how the game ended, where it is over after what is sent now.
    fn note_end(&mut self, outcome: Option<Arc<v1::Outcome>>) {
        self.end = outcome.map(|outcome| {
            let until_us = self.clock.now_us().saturating_add(self.corrections_us);
            (outcome, until_us)
        });
        if let Some((_, until_us)) = self.end {
            self.wait = self.clock.sleep_until(self.due_us.min(until_us));
        }
    }

    /// The end, where everything was sent and no correction can come or is waited for.
    fn end_at_hand(&self) -> Option<Update> {
        let (outcome, until_us) = self.end.as_ref()?;
        let is_due = outcome.confirmed || self.clock.now_us() >= *until_us;
        is_due.then(|| Update::End {
            sequence: self.sent,
            outcome: Some(Arc::clone(outcome)),
        })
    }

    /// The heartbeat, where it is due; events since the wait began have put it off.
    fn beat(&mut self, now_us: i64) -> Option<Update> {
        let is_due = now_us >= self.due_us;
        if is_due {
            self.due_us = now_us.saturating_add(self.heartbeat_us);
        }
        let until_us = self.end.as_ref().map_or(i64::MAX, |end| end.1);
        self.wait = self.clock.sleep_until(self.due_us.min(until_us));
        is_due.then_some(Update::Heartbeat {
            sequence: self.sent,
            now_us,
        })
    }
}

/// How a game ended, where it is over.
fn outcome_of(game: &RecordedGame) -> Option<Arc<v1::Outcome>> {
    let game = &game.folded.game;
    let outcome = game.outcome()?;
    let points = game.profile().parameters.points;
    Some(Arc::new(write_outcome(
        Some(outcome),
        points,
        game.keeper(),
    )))
}
