//! Who watches a game: its newest events as they are stored, read once for all that follow it.
//!
//! A feed lives as long as somebody follows its game, whether the game is in the cache or not. It
//! holds the newest events in a ring; who is further behind reads the record.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use referee_api::v1;
use referee_store::GameKey;
use tokio::sync::{Notify, watch};

use crate::limits;

/// The sequence that stands for the end of a game that was deleted: nothing comes after it.
pub(crate) const DELETED: i64 = i64::MAX;

/// An event as it is on disk, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedEvent {
    pub(crate) sequence: i64,
    /// The contract's `GameEvent`: the stored bytes, with the text about persons that belongs to
    /// them.
    pub(crate) bytes: Bytes,
    /// How the game ended, where it is over after the event.
    pub(crate) end: Option<Arc<v1::Outcome>>,
}

impl RecordedEvent {
    /// An event with the bytes that it is stored in.
    pub(crate) fn of(event: &v1::GameEvent, bytes: Bytes) -> RecordedEvent {
        let outcome = event.outcome.as_ref();
        let end = outcome.filter(|outcome| outcome.result() != v1::GameResult::Ongoing);
        RecordedEvent {
            sequence: event.sequence,
            bytes,
            end: end.cloned().map(Arc::new),
        }
    }
}

/// The newest events of one game.
#[derive(Debug)]
pub(crate) struct Feed {
    /// The newest sequence of the game that is known to be on disk; followers wait for it.
    newest: watch::Sender<i64>,
    ring: Mutex<Ring>,
    /// Held while the record is read, so that all followers read it once.
    pub(crate) reading: tokio::sync::Mutex<()>,
}

/// Events without a gap, oldest first.
#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<RecordedEvent>,
    bytes: usize,
}

impl Feed {
    fn new() -> Feed {
        Feed {
            newest: watch::channel(0).0,
            ring: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
        }
    }

    /// Wakes followers for what is on disk up to a sequence.
    pub(crate) fn note(&self, sequence: i64) {
        self.newest.send_if_modified(|newest| {
            let is_newer = sequence > *newest;
            *newest = sequence.max(*newest);
            is_newer
        });
    }

    /// Adds events that are on disk, in their order, and wakes followers.
    pub(crate) fn push(&self, events: impl IntoIterator<Item = RecordedEvent>) {
        let mut last = 0;
        {
            let mut ring = self.ring();
            for event in events {
                last = event.sequence;
                ring.push(event);
            }
        }
        self.note(last);
    }

    /// Adds events that were read from the record, in their order. Those that reach back further
    /// than the ring take its place, so that all who are as far behind find them there; what is
    /// far behind is of no use to the others.
    pub(crate) fn fill(&self, events: &[RecordedEvent]) {
        let (Some(first), Some(last)) = (events.first(), events.last()) else {
            return;
        };
        if last.sequence < self.newest() {
            return;
        }
        self.ring().make_way(first.sequence, last.sequence);
        self.push(events.iter().cloned());
    }

    /// The events after a sequence, where the ring has all of them that it should have; none where
    /// the record has to be read.
    pub(crate) fn after(&self, sequence: i64) -> Vec<RecordedEvent> {
        let ring = self.ring();
        let Some(first) = ring.events.front().map(|event| event.sequence) else {
            return Vec::new();
        };
        let Ok(skipped) = usize::try_from(sequence + 1 - first) else {
            return Vec::new();
        };
        ring.events.iter().skip(skipped).cloned().collect()
    }

    /// The newest sequence that is known to be on disk.
    pub(crate) fn newest(&self) -> i64 {
        *self.newest.borrow()
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // Every change is a call on a queue that does not fail halfway.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// Empties the ring where events from one sequence to another have all of it and more.
    fn make_way(&mut self, first: i64, last: i64) {
        let (front, back) = (self.events.front(), self.events.back());
        let reaches_back = front.is_some_and(|event| first < event.sequence);
        if reaches_back && back.is_some_and(|event| event.sequence <= last) {
            self.events.clear();
            self.bytes = 0;
        }
    }

    /// Adds the next event; one that is there is left out, and after a gap the ring begins again.
    fn push(&mut self, event: RecordedEvent) {
        if let Some(last) = self.events.back().map(|event| event.sequence) {
            if event.sequence <= last {
                return;
            }
            if event.sequence > last + 1 {
                self.events.clear();
                self.bytes = 0;
            }
        }
        self.bytes += event.bytes.len();
        self.events.push_back(event);
        while self.events.len() > limits::FEED_EVENTS_MAX
            || self.events.len() > 1 && self.bytes > limits::FEED_BYTES_MAX
        {
            let Some(oldest) = self.events.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes.len();
        }
    }
}

/// The feeds of all games that somebody follows.
#[derive(Debug, Default)]
pub(crate) struct Feeds {
    feeds: Mutex<HashMap<GameKey, (Arc<Feed>, usize)>>,
    /// Told when somebody follows a game after nobody followed any.
    begun: Notify,
}

impl Feeds {
    /// Begins to follow a game, until the interest is dropped.
    pub(crate) fn follow(self: &Arc<Self>, key: &GameKey) -> Interest {
        let mut feeds = self.feeds();
        if feeds.is_empty() {
            self.begun.notify_one();
        }
        let (feed, followers) = feeds
            .entry(key.clone())
            .or_insert_with(|| (Arc::new(Feed::new()), 0));
        *followers += 1;
        Interest {
            feeds: Arc::clone(self),
            key: key.clone(),
            newest: feed.newest.subscribe(),
            feed: Arc::clone(feed),
        }
    }

    /// The feed of a game, where somebody follows it.
    pub(crate) fn of(&self, key: &GameKey) -> Option<Arc<Feed>> {
        self.feeds().get(key).map(|(feed, _)| Arc::clone(feed))
    }

    /// Waits until somebody follows a game after nobody followed any.
    pub(crate) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// Whether anybody follows any game.
    pub(crate) fn is_empty(&self) -> bool {
        self.feeds().is_empty()
    }

    fn feeds(&self) -> MutexGuard<'_, HashMap<GameKey, (Arc<Feed>, usize)>> {
        // Every change is a call on a map that does not fail halfway.
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The interest of one follower in one game.
#[derive(Debug)]
pub(crate) struct Interest {
    feeds: Arc<Feeds>,
    pub(crate) key: GameKey,
    pub(crate) feed: Arc<Feed>,
    /// The newest sequence that is known to be on disk.
    pub(crate) newest: watch::Receiver<i64>,
}

impl Drop for Interest {
    fn drop(&mut self) {
        let mut feeds = self.feeds.feeds();
        if let Some((_, followers)) = feeds.get_mut(&self.key) {
            *followers -= 1;
            if *followers == 0 {
                feeds.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(sequence: i64) -> RecordedEvent {
        RecordedEvent {
            sequence,
            bytes: Bytes::from(vec![0; 100]),
            end: None,
        }
    }

    fn sequences(feed: &Feed, after: i64) -> Vec<i64> {
        feed.after(after)
            .iter()
            .map(|event| event.sequence)
            .collect()
    }

    #[test]
    fn a_feed_has_no_gap_and_says_nothing_of_what_it_does_not_have() {
        let feed = Feed::new();
        assert!(sequences(&feed, 0).is_empty());
        feed.push((5..8).map(event));
        assert!(sequences(&feed, 3).is_empty(), "4 has to be read");
        assert_eq!(sequences(&feed, 4), [5, 6, 7]);
        assert_eq!(sequences(&feed, 6), [7]);
        assert!(sequences(&feed, 7).is_empty());
        // What another process wrote in between has to be read.
        feed.push([event(7), event(9)]);
        assert!(sequences(&feed, 7).is_empty());
        assert_eq!(sequences(&feed, 8), [9]);
        assert_eq!(*feed.newest.borrow(), 9);
    }

    #[test]
    fn a_feed_is_bounded_in_events_and_bytes() {
        let feed = Feed::new();
        feed.push((1..10_000).map(event));
        assert_eq!(feed.ring().events.len(), limits::FEED_EVENTS_MAX);
        let large = |sequence| RecordedEvent {
            bytes: Bytes::from(vec![0; limits::FEED_BYTES_MAX]),
            ..event(sequence)
        };
        feed.push((10_000..10_010).map(large));
        assert_eq!(feed.ring().events.len(), 1);
        assert_eq!(feed.ring().bytes, limits::FEED_BYTES_MAX);
    }

    #[test]
    fn a_feed_goes_with_its_last_follower() {
        let feeds = Arc::new(Feeds::default());
        let key = GameKey::new("p", "g");
        let (one, two) = (feeds.follow(&key), feeds.follow(&key));
        assert!(Arc::ptr_eq(&one.feed, &two.feed));
        drop(one);
        assert!(feeds.of(&key).is_some());
        drop(two);
        assert!(feeds.of(&key).is_none() && feeds.is_empty());
    }
}
