//! Games as their records on disk have them: found, read, kept in memory, and checked.
//!
//! What is given out is a pointer to what is on disk. A read waits for no write, and a copy is
//! shown only if the log of the store has not moved past it.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use referee_api::v1;
use referee_record::convert::stored::stored_event;
use referee_record::{FoldedGame, PendingWrite};
use referee_store::{
    AppendError, Created, Fault, GameKey, GameRow, Games, NewGame, PrivateText, StoredEntry,
};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::cache::GameCache;
use super::feed::{DELETED, Feeds, Interest, RecordedEvent};
use super::log::LogFollower;
use super::slot::{GameSlot, RecordedGame};
use crate::error::ServiceError;
use crate::limits;
use crate::pool::WorkPool;

/// The games that the service knows.
pub(crate) struct GameRegistry {
    games: Arc<dyn Games>,
    cache: Arc<GameCache>,
    feeds: Arc<Feeds>,
    log: LogFollower,
    pool: WorkPool,
    /// The places of reads that are long or many, which leave some to short questions.
    bulk: Semaphore,
}

impl GameRegistry {
    pub(crate) fn new(
        games: Arc<dyn Games>,
        cache: Arc<GameCache>,
        feeds: Arc<Feeds>,
        log: LogFollower,
        pool: WorkPool,
    ) -> GameRegistry {
        GameRegistry {
            games,
            cache,
            feeds,
            log,
            pool,
            bulk: Semaphore::new(limits::BULK_READS_AT_ONCE_MAX),
        }
    }

    /// Waits for a turn to read what is long, or what many ask for at once: pages of records and of
    /// lists. Who asks one question does not wait behind them.
    ///
    /// # Errors
    ///
    /// [`ServiceError::ShuttingDown`] where there are no turns any more.
    pub(crate) async fn bulk_turn(&self) -> Result<SemaphorePermit<'_>, ServiceError> {
        let turn = self.bulk.acquire().await;
        turn.map_err(|_| ServiceError::ShuttingDown)
    }

    /// The records themselves.
    pub(crate) fn records(&self) -> &dyn Games {
        &*self.games
    }

    /// What follows the log of the store.
    pub(crate) fn log(&self) -> &LogFollower {
        &self.log
    }

    /// Waits until somebody watches a game after nobody watched any.
    pub(crate) async fn watching_begins(&self) {
        self.feeds.begun().await;
    }

    /// Whether anybody watches any game.
    pub(crate) fn is_watched(&self) -> bool {
        !self.feeds.is_empty() || self.log.is_followed()
    }

    /// Creates a game, or finds the one that the same request created. A repetition gets the game
    /// as it was created, whatever has happened since, but for text that was erased.
    pub(crate) async fn create(
        &self,
        new: NewGame,
        folded: FoldedGame,
    ) -> Result<v1::Game, ServiceError> {
        let (key, request_id) = (new.key.clone(), new.request_id.clone());
        let text = new.private.clone();
        let created = self.games.create(new).await;
        let created =
            created.map_err(|error| ServiceError::from_create(error, &key, &request_id))?;
        match created {
            Created::New(row) => {
                let view = folded.view();
                let chain = row.chain_head;
                let slot = self.cache.place(&key);
                slot.replace(Arc::new(RecordedGame { folded, chain }));
                self.cache.keep(&slot);
                Ok(view)
            }
            Created::Existing(row) => {
                if describes_otherwise(&row, text.as_ref()) {
                    return Err(ServiceError::RequestIdReused { request_id });
                }
                let begun = FoldedGame::begin(&row.whole_genesis(), row.create_time_us)?;
                Ok(begun.view())
            }
        }
    }

    /// Returns a game as its record on disk has it at the time of the call or later.
    ///
    /// # Errors
    ///
    /// [`ServiceError::GameNotFound`], and where the store cannot read or the record is damaged.
    pub(crate) async fn read(&self, key: &GameKey) -> Result<Arc<RecordedGame>, ServiceError> {
        let slot = self.place(key);
        self.read_newest(&slot).await
    }

    /// Returns a game as its record on disk has it at the time of the call or later, without
    /// keeping it: who reads all games needs none of them again.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub(crate) async fn read_once(&self, key: &GameKey) -> Result<Arc<RecordedGame>, ServiceError> {
        self.log.catch_up().await?;
        let slot = self.place(key);
        if let Some(copy) = slot.copy() {
            return Ok(copy);
        }
        let read = self.read_whole(&slot).await?;
        read.ok_or_else(|| ServiceError::damaged("the chain of its entries is broken"))
    }

    /// Returns the game of a place as its record has it at the time of the call or later.
    pub(crate) async fn read_newest(
        &self,
        slot: &Arc<GameSlot>,
    ) -> Result<Arc<RecordedGame>, ServiceError> {
        self.log.catch_up().await?;
        self.read_known(slot).await
    }

    /// Returns the game of a place as far as the log has been followed. What is appended to it is
    /// checked by the store, so that a writer need not look first.
    pub(crate) async fn read_known(
        &self,
        slot: &Arc<GameSlot>,
    ) -> Result<Arc<RecordedGame>, ServiceError> {
        if let Some(copy) = slot.copy() {
            return Ok(copy);
        }
        let _one_at_a_time = slot.reading.lock().await;
        for _ in 0..limits::READ_ATTEMPTS_MAX {
            if let Some(copy) = slot.copy() {
                return Ok(copy);
            }
            let (old, named) = slot.old_copy();
            let is_whole = old.is_none();
            let copy = match old {
                Some(old) => self.read_newer(&slot.key, &old).await?,
                None => self.read_whole(slot).await?,
            };
            match copy {
                Some(copy) if slot.settle(&copy, named) => {
                    self.cache.keep(slot);
                    return Ok(copy);
                }
                // The log has moved on meanwhile.
                Some(_) => {}
                None if is_whole => {
                    return Err(ServiceError::damaged("the chain of its entries is broken"));
                }
                // What is in memory is of a record that is no more.
                None => slot.forget(),
            }
        }
        Err(ServiceError::overloaded())
    }

    /// Forgets the copy of a game, so that the next read finds what is on disk.
    pub(crate) fn forget(&self, key: &GameKey) {
        self.cache.place(key).forget();
    }

    /// The place of a game in memory.
    pub(crate) fn place(&self, key: &GameKey) -> Arc<GameSlot> {
        self.cache.place(key)
    }

    /// Puts a game in its place after its new entries are on disk, and wakes those who follow it.
    pub(crate) fn go_on(
        &self,
        slot: &Arc<GameSlot>,
        game: RecordedGame,
        events: impl IntoIterator<Item = RecordedEvent>,
    ) {
        slot.replace(Arc::new(game));
        self.cache.keep(slot);
        let mut events = events.into_iter().peekable();
        if events.peek().is_some()
            && let Some(feed) = self.feeds.of(&slot.key)
        {
            feed.push(events);
        }
    }

    /// Drops a game that was deleted, and tells those who follow it.
    pub(crate) fn end(&self, slot: &Arc<GameSlot>) {
        slot.end();
        self.cache.drop_place(slot);
        self.note(&slot.key, DELETED);
    }

    /// Why there is no game of this name.
    pub(crate) async fn missing(&self, key: &GameKey) -> ServiceError {
        match self.games.tombstone(key).await {
            Ok(Some(tombstone)) => ServiceError::deleted(key, tombstone),
            Ok(None) => ServiceError::not_found(key),
            Err(error) => error.into(),
        }
    }

    /// Why the store has not taken a write to a game; `request` is the id of the request and the
    /// sequence that it was judged on.
    pub(crate) async fn refused(
        &self,
        error: AppendError,
        slot: &Arc<GameSlot>,
        request: (&str, i64),
    ) -> ServiceError {
        match error {
            AppendError::Deleted => {
                self.end(slot);
                return self.missing(&slot.key).await;
            }
            AppendError::Fault(Fault::Unknown | Fault::Closed) => slot.forget(),
            _ => {}
        }
        ServiceError::from_append(error, &slot.key, request)
    }

    /// What those who follow a game are sent of an event that is to be stored: its stored bytes,
    /// or, where text about persons is kept beside them, the two as one message. None where nobody
    /// follows the game, or nothing is an event.
    pub(crate) fn sent(
        &self,
        key: &GameKey,
        event: Option<&v1::GameEvent>,
        write: &PendingWrite,
    ) -> Option<RecordedEvent> {
        let is_entry = matches!(write, PendingWrite::Entry { .. });
        let (event, _) = event.filter(|_| is_entry).zip(self.feeds.of(key))?;
        Some(sent_of(event, write))
    }

    /// Wakes those who follow a game for a sequence that is on disk, whoever wrote it.
    pub(crate) fn note(&self, key: &GameKey, sequence: i64) {
        if let Some(feed) = self.feeds.of(key) {
            feed.note(sequence);
        }
    }

    /// Begins to follow a game.
    pub(crate) fn follow(&self, key: &GameKey) -> Interest {
        self.feeds.follow(key)
    }

    /// Reads the events of a game after a sequence for all who follow it: from the ring where it
    /// has them, or else from the record.
    pub(crate) async fn events(
        &self,
        interest: &Interest,
        after: i64,
    ) -> Result<Vec<RecordedEvent>, ServiceError> {
        let feed = &interest.feed;
        let events = feed.after(after);
        if !events.is_empty() {
            return Ok(events);
        }
        let _one_at_a_time = feed.reading.lock().await;
        let events = feed.after(after);
        if !events.is_empty() {
            return Ok(events);
        }
        let limit = limits::FEED_EVENTS_MAX;
        let turn = self.bulk_turn().await?;
        let entries = self.games.entries(&interest.key, after, limit).await?;
        drop(turn);
        let events = entries
            .into_iter()
            .map(recorded_event)
            .collect::<Result<Vec<_>, _>>()?;
        feed.fill(&events);
        Ok(events)
    }

    /// Reads what a record has beyond a copy; none where the copy is not of that record.
    async fn read_newer(
        &self,
        key: &GameKey,
        old: &Arc<RecordedGame>,
    ) -> Result<Option<Arc<RecordedGame>>, ServiceError> {
        let head = self.games.head(key).await?;
        let Some(head) = head else {
            return Err(self.missing(key).await);
        };
        if head.sequence < old.folded.sequence {
            return Ok(None);
        }
        if head.sequence == old.folded.sequence {
            return Ok((head.chain == old.chain).then(|| Arc::clone(old)));
        }
        let begun = RecordedGame {
            folded: old.folded.clone(),
            chain: old.chain,
        };
        self.read_on(key, begun, head.sequence).await
    }

    /// Reads a whole record.
    async fn read_whole(
        &self,
        slot: &Arc<GameSlot>,
    ) -> Result<Option<Arc<RecordedGame>>, ServiceError> {
        let Some(row) = self.games.game(&slot.key).await? else {
            self.cache.drop_place(slot);
            return Err(self.missing(&slot.key).await);
        };
        let sequence = row.sequence;
        let is_long = row.genesis.len() > limits::GENESIS_BYTES_INLINE_MAX;
        let begin = move || {
            let folded = FoldedGame::begin(&row.whole_genesis(), row.create_time_us)?;
            let chain = referee_store::chain::genesis(&row.key, &row.genesis);
            Ok::<_, ServiceError>(RecordedGame { folded, chain })
        };
        let begun = self.pool.run_where(is_long, begin).await??;
        self.read_on(&slot.key, begun, sequence).await
    }

    /// Reads the entries of a record up to a sequence at least; none where they do not follow.
    async fn read_on(
        &self,
        key: &GameKey,
        begun: RecordedGame,
        sequence: i64,
    ) -> Result<Option<Arc<RecordedGame>>, ServiceError> {
        let RecordedGame {
            mut folded,
            mut chain,
        } = begun;
        while folded.sequence < sequence {
            let limit = limits::FOLD_ENTRIES_READ_MAX;
            let entries = self.games.entries(key, folded.sequence, limit).await?;
            if entries.is_empty() {
                return Ok(None);
            }
            for entry in &entries {
                chain = referee_store::chain::next(&chain, &entry.bytes);
                if chain != entry.chain {
                    return Ok(None);
                }
            }
            folded = self.apply(folded, entries).await?;
        }
        Ok(Some(Arc::new(RecordedGame { folded, chain })))
    }

    /// Applies entries to a game, away from the threads that answer where there are many.
    async fn apply(
        &self,
        mut folded: FoldedGame,
        entries: Vec<StoredEntry>,
    ) -> Result<FoldedGame, ServiceError> {
        let is_long = entries.len() > limits::FOLD_ENTRIES_INLINE_MAX;
        let fold = move || {
            for entry in &entries {
                let event = stored_event(&entry.whole())?;
                folded.apply(&event)?;
            }
            Ok(folded)
        };
        self.pool.run_where(is_long, fold).await?
    }
}

/// Whether a game was created with another description, as far as that is kept.
fn describes_otherwise(row: &GameRow, text: Option<&PrivateText>) -> bool {
    let first = row.description.as_ref();
    let first = first.filter(|description| description.sequence == 0);
    first.is_some_and(|first| text.is_none_or(|text| text.bytes != first.text.bytes))
}

/// Makes a stored entry ready to be sent.
fn recorded_event(entry: StoredEntry) -> Result<RecordedEvent, ServiceError> {
    let event = stored_event(&entry.whole())?;
    Ok(RecordedEvent::of(&event, sent_bytes(entry, &event)))
}

/// An event that is to be stored, as those who follow its game are sent it.
pub(crate) fn sent_of(event: &v1::GameEvent, write: &PendingWrite) -> RecordedEvent {
    let bytes = match write {
        PendingWrite::Entry {
            bytes,
            private: None,
            ..
        } => Bytes::copy_from_slice(bytes),
        _ => event.encode_to_vec().into(),
    };
    RecordedEvent::of(event, bytes)
}

/// The bytes in which an event is sent: those that it is stored in, unless text about persons is
/// kept beside them. Both are then written as one message: not every reader takes two that stand
/// one behind the other for one.
pub(crate) fn sent_bytes(entry: StoredEntry, event: &v1::GameEvent) -> Bytes {
    match entry.private {
        None => entry.bytes.into(),
        Some(_) => event.encode_to_vec().into(),
    }
}
