//! Games and their records: the facet [`Games`], and what it takes and gives.

use std::borrow::Cow;

use crate::ack::{Ack, Read};
use crate::error::{AppendError, CreateError};
use crate::limits;

/// Creates games, appends to their records, and reads them.
///
/// A write is queued when the call returns, in the order of the calls; its future waits for the
/// disk. Two writes to one game are made in the order in which they were queued, never in one
/// batch. A caller that drops the future does not undo its write: repeating it with the same
/// request id tells what became of it.
pub trait Games: Send + Sync {
    /// Creates a game.
    ///
    /// The request id is looked up first, within the platform: with the same content hash the
    /// answer is [`Created::Existing`] and the game that the first request created, whatever
    /// name the repetition carries (see [`NewGame::content_hash`]).
    ///
    /// # Errors
    ///
    /// [`CreateError::RequestIdReused`] for a known request id with another content hash;
    /// [`CreateError::NameTaken`] for a new request id with the name of another game.
    fn create(&self, game: NewGame) -> Ack<Created, CreateError>;

    /// Appends an entry to a game, or keeps the answer of a refusal.
    ///
    /// The request is looked up first, then the sequence and the chain are compared: a
    /// repetition gets its first answer wherever the game is now.
    ///
    /// # Errors
    ///
    /// [`AppendError::Moved`] when the game is not where the write was judged, for refusals too;
    /// the other variants as they say.
    fn append(&self, append: Append) -> Ack<Appended, AppendError>;

    /// Deletes a game: its record, its requests, its text about persons. What is left of it is a
    /// [`Tombstone`] under its name, which stays taken. Nothing of the text is in the files of the
    /// store any more when the call is answered.
    ///
    /// The request id is looked up first, within the platform: a repetition gets the same answer.
    ///
    /// # Errors
    ///
    /// [`AppendError::Moved`] when the game is not where the deletion was decided;
    /// [`AppendError::Deleted`] when another request has deleted it; the other variants as they
    /// say.
    fn delete(&self, deletion: Deletion) -> Ack<Tombstone, AppendError>;

    /// Returns what is left of a game that was deleted, or none when there is such a game, or
    /// never was one.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn tombstone<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<Tombstone>>;

    /// Returns the answer that a request got in this game, or none when it never came or the game
    /// does not exist.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn answer<'a>(&'a self, key: &'a GameKey, request: &'a RequestKey) -> Read<'a, Option<Answer>>;

    /// Returns where a game stands, or none when it does not exist. Cheaper than
    /// [`game`](Self::game).
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn head<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameHead>>;

    /// Returns the game, or none when it does not exist.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn game<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameRow>>;

    /// Returns the entries of a game after `after_sequence`, in their order.
    ///
    /// At most `limit` entries, at most [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX), and no
    /// more once [`PAGE_BYTES`](crate::limits::PAGE_BYTES) are reached: a short page is not the
    /// end, an empty one is. A game that does not exist has no entries.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> Read<'a, Vec<StoredEntry>>;

    /// Returns the games of a platform that pass the filter, newest first, from after the cursor
    /// on, each with its last entry.
    ///
    /// At most `limit` games, at most [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX), and no
    /// more once [`PAGE_BYTES`](crate::limits::PAGE_BYTES) are reached or
    /// [`LIST_EXAMINED_MAX`](crate::limits::LIST_EXAMINED_MAX) games were looked at: the end is
    /// where [`GamePage::next`] is none.
    ///
    /// # Errors
    ///
    /// [`ReadError::Invalid`](crate::ReadError::Invalid) for a filter beyond its limits.
    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> Read<'a, GamePage>;

    /// Returns how many games of all platforms are in a state; counts no further than
    /// [`COUNTED_GAMES_MAX`](crate::limits::COUNTED_GAMES_MAX).
    ///
    /// # Errors
    ///
    /// [`Fault`](crate::Fault) when the store cannot read.
    fn count(&self, state: i32) -> Read<'_, u64>;
}

/// The name of a game: unique within its platform (the tenant).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GameKey {
    /// The platform that the game belongs to; `default` where there is one. Required.
    /// Limit: 128 bytes.
    pub platform: String,
    /// The name of the game within its platform. Required. Limit: 128 bytes.
    pub game: String,
}

impl GameKey {
    /// Returns the key of `game` within `platform`.
    pub fn new(platform: impl Into<String>, game: impl Into<String>) -> Self {
        Self {
            platform: platform.into(),
            game: game.into(),
        }
    }
}

/// The name of a request within its game.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey {
    /// Who chose the id: ids of different scopes do not meet. The store gives the number no
    /// meaning; the referee puts the seat here.
    pub scope: u8,
    /// The id, unique within the game and the scope. Required. Limit: 128 bytes.
    pub id: String,
}

impl RequestKey {
    /// The scope of the requests of a platform, in all of its games: those of updates.
    pub const PLATFORM: u8 = 0;

    /// Returns the key of the request `id` within `scope`.
    pub fn new(scope: u8, id: impl Into<String>) -> Self {
        Self {
            scope,
            id: id.into(),
        }
    }
}

/// Text about persons that belongs to a genesis or an entry. It is kept apart from the bytes that
/// are hashed, and erased where it lies: the file keeps none of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateText {
    /// Random bytes, erased with the text: without them nobody can try out what a hash of the
    /// text that is kept elsewhere may be of.
    pub salt: [u8; limits::SALT_BYTES],
    /// The text, opaque to the store. Limit: 1 MiB.
    pub bytes: Vec<u8>,
}

/// How a game is described: the text about persons of its genesis, or of the newest entry that
/// describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The sequence of that entry; 0 for the genesis.
    pub sequence: i64,
    /// The text.
    pub text: PrivateText,
}

/// Returns bytes with the text about persons that belongs to them behind them. Messages of
/// Protocol Buffers are read as one where they stand one behind the other.
pub fn whole<'a>(bytes: &'a [u8], text: Option<&PrivateText>) -> Cow<'a, [u8]> {
    match text {
        None => Cow::Borrowed(bytes),
        Some(text) => Cow::Owned([bytes, &text.bytes].concat()),
    }
}

/// A game to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGame {
    /// The name of the game.
    pub key: GameKey,
    /// Identifies the request, within the platform. Required. Limit: 128 bytes.
    pub request_id: String,
    /// The hash of what the caller asked for. It covers the name of the game if and only if the
    /// caller chose the name: a repetition of a request without a name then finds its first
    /// game, whatever name was drawn for the repetition.
    pub content_hash: [u8; 32],
    /// The immutable description of the game, opaque to the store. Limit: 1 MiB.
    pub genesis: Vec<u8>,
    /// The text about persons that describes the game.
    pub private: Option<PrivateText>,
    /// The state of the game in a summary, for filters; its meaning is the caller's.
    pub state: i32,
    /// Labels, sorted by key, each key once. Limits: 32 labels, keys of 64 and values
    /// of 256 bytes.
    pub labels: Vec<(String, String)>,
    /// The time of creation, in microseconds since 1970-01-01T00:00:00Z.
    pub create_time_us: i64,
    /// When the game is due if nothing happens in it before, in microseconds since
    /// 1970-01-01T00:00:00Z; see [`Deadlines::claim_due`](crate::Deadlines::claim_due).
    pub deadline_us: Option<i64>,
}

/// The answer to a creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// The game is new.
    New(GameRow),
    /// The same request with the same content had created this game before.
    Existing(GameRow),
}

impl Created {
    /// Returns the game, new or not.
    pub fn into_row(self) -> GameRow {
        match self {
            Self::New(row) | Self::Existing(row) => row,
        }
    }
}

/// One game as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameRow {
    /// The name of the game.
    pub key: GameKey,
    /// What the game was created with.
    pub genesis: Vec<u8>,
    /// How it is described.
    pub description: Option<Description>,
    /// The state that the last entry set, or the creation.
    pub state: i32,
    /// The labels of the game, sorted by key.
    pub labels: Vec<(String, String)>,
    /// The sequence of the last entry; 0 before the first.
    pub sequence: i64,
    /// The time of creation, in microseconds since 1970-01-01T00:00:00Z.
    pub create_time_us: i64,
    /// The time of the last entry, or of the creation before the first.
    pub update_time_us: i64,
    /// The link of the last entry, or of the genesis before the first; see [`crate::chain`].
    pub chain_head: [u8; 32],
    /// The last entry; none before the first.
    pub last_entry: Option<StoredEntry>,
}

impl GameRow {
    /// Returns the genesis with the text about persons that belongs to it, where it is kept.
    pub fn whole_genesis(&self) -> Cow<'_, [u8]> {
        let first = self.description.as_ref();
        let first = first.filter(|description| description.sequence == 0);
        whole(&self.genesis, first.map(|description| &description.text))
    }
}

/// Where a game stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GameHead {
    /// The sequence of the last entry; 0 before the first.
    pub sequence: i64,
    /// The link of the last entry, or of the genesis before the first; see [`crate::chain`].
    pub chain: [u8; 32],
    /// The state that the last entry set, or the creation.
    pub state: i32,
}

/// One write to a game, judged on the state after the entry `expected_sequence`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The game.
    pub key: GameKey,
    /// The sequence of the last entry when the request was judged. A refusal is checked too: a
    /// refusal that was judged on a stale state must be judged again.
    pub expected_sequence: i64,
    /// The link of that entry, or of the genesis: a copy that has lost entries, or has some that
    /// the store has not, is told apart from the record even at the same sequence.
    pub previous: [u8; 32],
    /// Identifies the request, within the game. Entries that the referee makes by itself have
    /// keys that no caller can send.
    pub request: RequestKey,
    /// The hash of what the caller asked for.
    pub content_hash: [u8; 32],
    /// What is written.
    pub write: Write,
}

/// What an [`Append`] writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// The next entry of the record.
    Entry {
        /// The entry, opaque to the store. Limit: 256 KiB.
        bytes: Vec<u8>,
        /// The text about persons that belongs to the entry.
        private: Option<PrivateText>,
        /// The labels of the game from now on, sorted by key, where the entry describes it: then
        /// what described the game before is erased, and the request id is one of the platform.
        describes: Option<Vec<(String, String)>>,
        /// The state of the game after this entry, for filters.
        state: i32,
        /// The time of the entry, in microseconds since 1970-01-01T00:00:00Z.
        update_time_us: i64,
        /// When the game is due if nothing more happens in it, in microseconds since
        /// 1970-01-01T00:00:00Z; see [`Deadlines::claim_due`](crate::Deadlines::claim_due).
        deadline_us: Option<i64>,
        /// Whether the entry leaves a question; see
        /// [`Questions::claim_questions`](crate::Questions::claim_questions).
        asks: bool,
    },
    /// A refusal: its answer is kept for repetitions; the game and its sequence stay as they are.
    Refusal {
        /// The answer, opaque to the store. Limit: 64 KiB.
        answer: Vec<u8>,
    },
}

/// The end of a game that nobody needs any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The game.
    pub key: GameKey,
    /// Identifies the request, within the platform. Required. Limit: 128 bytes.
    pub request_id: String,
    /// The sequence of the last entry when it was decided that the game can go.
    pub expected_sequence: i64,
    /// The link of that entry, or of the genesis.
    pub previous: [u8; 32],
    /// The time of the deletion, in microseconds since 1970-01-01T00:00:00Z.
    pub delete_time_us: i64,
}

/// What is left of a game that was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// When it was deleted, in microseconds since 1970-01-01T00:00:00Z.
    pub delete_time_us: i64,
}

/// The answer to an [`Append`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// The write is new and durable.
    Stored {
        /// The sequence of the entry; for a refusal the sequence at which it was refused.
        sequence: i64,
        /// The position of the entry in the order of commits; for a refusal 0.
        position: i64,
        /// The link of the entry; for a refusal the head that it left unchanged.
        chain: [u8; 32],
    },
    /// The same request with the same content came before; this was its answer.
    Repeated(Answer),
}

/// The first answer that a request got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The hash of what the caller asked for.
    pub content_hash: [u8; 32],
    /// The sequence of the entry; for a refusal the sequence at which it was refused.
    pub sequence: i64,
    /// What was stored.
    pub body: AnswerBody,
    /// The text about persons that belongs to the entry, where it is kept.
    pub private: Option<PrivateText>,
}

/// What an [`Answer`] was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerBody {
    /// The bytes of the entry.
    Entry(Vec<u8>),
    /// The bytes of the refusal's answer.
    Refusal(Vec<u8>),
}

/// One entry of a game's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// The number of the entry in its game: 1, 2, 3…
    pub sequence: i64,
    /// The position of the entry among the entries that are ordered with it. Positions grow in
    /// the order of commits; they may have gaps, and none is used twice.
    pub position: i64,
    /// The entry as it was appended.
    pub bytes: Vec<u8>,
    /// The link of the entry; see [`crate::chain`].
    pub chain: [u8; 32],
    /// The text about persons that belongs to the entry, where it is kept.
    pub private: Option<PrivateText>,
}

impl StoredEntry {
    /// Returns the entry with the text about persons that belongs to it, where it is kept.
    pub fn whole(&self) -> Cow<'_, [u8]> {
        whole(&self.bytes, self.private.as_ref())
    }
}

/// Which games a list shows. The default shows all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Games in one of these states; empty means any. Limit: 16.
    pub states: Vec<i32>,
    /// Games that have all of these labels. Limit: 8.
    pub labels: Vec<(String, String)>,
    /// Games created at this time or later, in microseconds since 1970-01-01T00:00:00Z.
    pub min_create_time_us: Option<i64>,
    /// Games created at this time or earlier, in microseconds since 1970-01-01T00:00:00Z.
    pub max_create_time_us: Option<i64>,
}

/// Where the next page of a list goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCursor {
    /// The creation time of the last game that was examined.
    pub create_time_us: i64,
    /// The store's own number of that game, which orders games of the same time.
    pub id: i64,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GamePage {
    /// The games, newest first. May be shorter than asked for, even empty, before the end.
    pub games: Vec<GameRow>,
    /// Where the next page goes on; none at the end.
    pub next: Option<ListCursor>,
}
