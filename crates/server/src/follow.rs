//! Following a game: where it stands, every event after that in order, heartbeats in between.
//!
//! A follower reads events from the record by their numbers and is only woken by what happens in
//! the game, so it can neither miss an event nor see one twice, however slowly it reads.

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_record::Fields;
use referee_record::convert::time::write_us;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::desk::Desk;
use crate::limits;
use crate::status::ApiError;

/// The number of events that a follower reads at once.
const EVENTS_READ_MAX: usize = 256;

/// What a follower has to tell next.
pub(crate) enum News {
    /// Where the game stands.
    Snapshot(Box<v1::Game>),
    /// The next event.
    Event(Box<v1::GameEvent>),
    /// Nothing has happened.
    Heartbeat(v1::Heartbeat),
    /// The game is over and everything has been told.
    End,
}

/// Follows one game.
pub(crate) struct Follower {
    desk: Arc<Desk>,
    id: String,
    /// The sequence of the last event that was told.
    told: i64,
    waiting: std::collections::VecDeque<v1::GameEvent>,
    snapshot: Option<Box<v1::Game>>,
    sequence: watch::Receiver<i64>,
    heartbeat: Duration,
    due: Instant,
    is_over: bool,
}

impl Follower {
    /// Begins to follow a game: with a snapshot, or after an event that the caller has.
    pub(crate) async fn begin(
        desk: Arc<Desk>,
        id: String,
        after: Option<i64>,
        heartbeat: Duration,
    ) -> Result<Follower, ApiError> {
        // The waking signal is taken before the game is read, so that nothing falls in between.
        let sequence = desk.sequence(&id);
        let live = desk.read(&id).await?;
        let actual = live.sequence;
        let told = after.unwrap_or(actual);
        if told > actual {
            return Err(ApiError::SequenceAhead {
                after: told,
                actual,
            });
        }
        let snapshot = after.is_none().then(|| Box::new(live.view()));
        let is_over = told == actual && live.game.outcome().is_some();
        let due = Instant::now() + heartbeat;
        let waiting = std::collections::VecDeque::new();
        Ok(Follower {
            desk,
            id,
            told,
            waiting,
            snapshot,
            sequence,
            heartbeat,
            due,
            is_over,
        })
    }

    /// Returns the sequence of the last event that was told.
    pub(crate) fn told(&self) -> i64 {
        self.told
    }

    /// Returns whether the snapshot has still to be told.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Waits for the next thing to tell. Dropping the wait loses nothing.
    pub(crate) async fn next(&mut self) -> Result<News, ApiError> {
        loop {
            if let Some(news) = self.at_hand().await? {
                self.due = Instant::now() + self.heartbeat;
                return Ok(news);
            }
            tokio::select! {
                // A cell that was dropped from memory changes no more, so the wait is bounded by
                // the heartbeat, after which the record is asked again.
                changed = self.sequence.changed() => {
                    if changed.is_err() {
                        self.sequence = self.desk.sequence(&self.id);
                    }
                }
                () = tokio::time::sleep_until(self.due) => {
                    self.due = Instant::now() + self.heartbeat;
                    self.sequence = self.desk.sequence(&self.id);
                    if let Some(news) = self.at_hand().await? {
                        return Ok(news);
                    }
                    return Ok(News::Heartbeat(v1::Heartbeat {
                        sequence: self.told,
                        server_time: Some(write_us(self.desk.now_us())),
                    }));
                }
            }
        }
    }

    /// Returns what can be told without waiting.
    pub(crate) async fn at_hand(&mut self) -> Result<Option<News>, ApiError> {
        if let Some(snapshot) = self.snapshot.take() {
            return Ok(Some(News::Snapshot(snapshot)));
        }
        if self.is_over {
            return Ok(Some(News::End));
        }
        if self.waiting.is_empty() {
            self.sequence.borrow_and_update();
            self.waiting = self
                .desk
                .events(&self.id, self.told, EVENTS_READ_MAX)
                .await?
                .into();
        }
        let Some(event) = self.waiting.pop_front() else {
            return Ok(None);
        };
        self.told = event.sequence;
        self.is_over = ends_game(&event);
        Ok(Some(News::Event(Box::new(event))))
    }
}

fn ends_game(event: &v1::GameEvent) -> bool {
    event
        .outcome
        .as_ref()
        .is_some_and(|outcome| outcome.result() != v1::GameResult::Ongoing)
}

/// Reads how long a stream may be silent.
pub(crate) fn read_heartbeat(
    fields: &mut Fields,
    field: &str,
    interval: Option<prost_types::Duration>,
) -> Duration {
    let range = (limits::HEARTBEAT_MIN, limits::HEARTBEAT_MAX);
    fields.duration(field, interval, limits::HEARTBEAT_DEFAULT, range)
}
