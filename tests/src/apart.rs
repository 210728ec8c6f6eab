//! A store that keeps quiet about the commits of others: what a second process on the same store
//! sees of it. It can also lose answers, as a connection does that breaks behind a write.

mod identities;
mod work;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use referee_store::{
    Ack, Answer, Append, AppendError, Appended, BackUpError, BackedUp, Beat, Beaten, ChangePage,
    Course, CreateError, Created, Deadlines, Deletion, DownSpan, DueGame, Fault, GameHead, GameKey,
    GamePage, GameRow, Games, ListCursor, ListFilter, Liveness, Log, LogCursor, NewGame,
    OpenQuestion, Postponement, Questions, Read, Ready, RequestKey, Store, StoreStats, StoredEntry,
    TailPage, Tombstone, Upkeep, VerifyCursor, VerifyPage,
};
use tokio::sync::watch;

/// One server's view of a store that it shares with another server of the same process.
///
/// Everything goes through, but [`Log::moved`] signals the commits of this server only: those of
/// the other are found in the log or not at all. It also counts what the server reads, and when
/// its last sign of life was on disk.
pub struct Apart {
    store: Arc<dyn Store>,
    moved: watch::Sender<u64>,
    last_beat_us: Arc<AtomicI64>,
    reads: Mutex<HashMap<String, u64>>,
    loses: AtomicBool,
}

impl Apart {
    /// Returns a view of a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Apart {
        Apart {
            store,
            moved: watch::channel(0).0,
            last_beat_us: Arc::new(AtomicI64::new(i64::MIN)),
            reads: Mutex::default(),
            loses: AtomicBool::new(false),
        }
    }

    /// Loses the answers to what this server appends from now on, or no longer: it is appended,
    /// and the server is told that nobody knows.
    pub fn lose_answers(&self, loses: bool) {
        self.loses.store(loses, Ordering::Release);
    }

    /// Returns the last sign of life of this server that is on disk, in microseconds since 1970;
    /// the least number before the first.
    #[must_use]
    pub fn last_beat_us(&self) -> i64 {
        self.last_beat_us.load(Ordering::Acquire)
    }

    /// Returns how often this server has read the record of a game, or a part of it.
    #[must_use]
    pub fn reads_of(&self, game: &str) -> u64 {
        self.reads().get(game).copied().unwrap_or_default()
    }

    fn count(&self, key: &GameKey) {
        *self.reads().entry(key.game.clone()).or_default() += 1;
    }

    fn reads(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Games for Apart {
    fn create(&self, game: NewGame) -> Ack<Created, CreateError> {
        let (created, moved) = (self.store.create(game), self.moved.clone());
        Box::pin(async move {
            let created = created.await;
            if matches!(created, Ok(Created::New(_))) {
                moved.send_modify(|number| *number += 1);
            }
            created
        })
    }

    fn append(&self, append: Append) -> Ack<Appended, AppendError> {
        let (appended, moved) = (self.store.append(append), self.moved.clone());
        let loses = self.loses.load(Ordering::Acquire);
        Box::pin(async move {
            let appended = appended.await;
            if loses {
                return Err(Fault::Unknown.into());
            }
            if matches!(appended, Ok(Appended::Stored { .. })) {
                moved.send_modify(|number| *number += 1);
            }
            appended
        })
    }

    fn delete(&self, deletion: Deletion) -> Ack<Tombstone, AppendError> {
        let (deleted, moved) = (self.store.delete(deletion), self.moved.clone());
        Box::pin(async move {
            let deleted = deleted.await;
            if deleted.is_ok() {
                moved.send_modify(|number| *number += 1);
            }
            deleted
        })
    }

    fn tombstone<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<Tombstone>> {
        self.store.tombstone(key)
    }

    fn answer<'a>(&'a self, key: &'a GameKey, request: &'a RequestKey) -> Read<'a, Option<Answer>> {
        self.store.answer(key, request)
    }

    fn head<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameHead>> {
        self.store.head(key)
    }

    fn game<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameRow>> {
        self.count(key);
        self.store.game(key)
    }

    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> Read<'a, Vec<StoredEntry>> {
        self.count(key);
        self.store.entries(key, after_sequence, limit)
    }

    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> Read<'a, GamePage> {
        self.store.list(platform, filter, after, limit)
    }

    fn count(&self, state: i32) -> Read<'_, u64> {
        self.store.count(state)
    }
}

impl Log for Apart {
    fn newest(&self) -> Read<'_, LogCursor> {
        self.store.newest()
    }

    fn cover_key(&self) -> Read<'_, Vec<u8>> {
        self.store.cover_key()
    }

    fn changes<'a>(&'a self, after: &'a LogCursor, limit: usize) -> Read<'a, ChangePage> {
        self.store.changes(after, limit)
    }

    fn tail<'a>(
        &'a self,
        platform: &'a str,
        labels: &'a [(String, String)],
        after: &'a LogCursor,
        limit: usize,
    ) -> Read<'a, TailPage> {
        self.store.tail(platform, labels, after, limit)
    }

    fn moved(&self) -> watch::Receiver<u64> {
        self.moved.subscribe()
    }
}

impl Deadlines for Apart {
    fn claim_due(
        &self,
        now_us: i64,
        until_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<DueGame>, Fault> {
        self.store.claim_due(now_us, until_us, hold_us, limit)
    }

    fn postpone(&self, postponement: Postponement) -> Ack<(), AppendError> {
        self.store.postpone(postponement)
    }
}

impl Liveness for Apart {
    fn beat(&self, beat: Beat) -> Ack<Beaten, Fault> {
        let (beaten, last_beat_us) = (self.store.beat(beat), Arc::clone(&self.last_beat_us));
        Box::pin(async move {
            let beaten = beaten.await?;
            last_beat_us.fetch_max(beat.at_us, Ordering::AcqRel);
            Ok(beaten)
        })
    }

    fn set_back(&self, at_us: i64, step_max_us: i64) -> Ack<Vec<i64>, Fault> {
        self.store.set_back(at_us, step_max_us)
    }

    fn last_beat(&self) -> Read<'_, Option<i64>> {
        self.store.last_beat()
    }

    fn down_spans(&self, ended_after_us: i64, limit: usize) -> Read<'_, Vec<DownSpan>> {
        self.store.down_spans(ended_after_us, limit)
    }
}

impl Questions for Apart {
    fn claim_questions(
        &self,
        now_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<OpenQuestion>, Fault> {
        self.store.claim_questions(now_us, hold_us, limit)
    }

    fn settle_question(&self, key: GameKey, sequence: i64) -> Ack<(), Fault> {
        self.store.settle_question(key, sequence)
    }
}

impl Upkeep for Apart {
    fn back_up(&self, target: PathBuf, course: Arc<Course>) -> Ack<BackedUp, BackUpError> {
        self.store.back_up(target, course)
    }

    fn verify<'a>(&'a self, from: &'a VerifyCursor, course: Arc<Course>) -> Read<'a, VerifyPage> {
        self.store.verify(from, course)
    }
}

impl Store for Apart {
    fn ready(&self) -> Read<'_, Ready> {
        self.store.ready()
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    fn close(&self) -> Ack<(), Fault> {
        self.store.close()
    }
}
