//! What is written to the store and what is read from it.

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
    /// The key of `game` within `platform`.
    pub fn new(platform: impl Into<String>, game: impl Into<String>) -> Self {
        Self {
            platform: platform.into(),
            game: game.into(),
        }
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
    /// The state of the game in a summary, for filters; its meaning is the caller's.
    pub state: i32,
    /// Labels, immutable, sorted by key, each key once. Limits: 32 labels, keys of 64 and values
    /// of 256 bytes.
    pub labels: Vec<(String, String)>,
    /// The time of creation, in microseconds since 1970-01-01T00:00:00Z.
    pub create_time_us: i64,
    /// When the game is due if nothing happens in it before, in microseconds since
    /// 1970-01-01T00:00:00Z; see [`Store::due`](crate::Store::due).
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
    /// The game, new or not.
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
    /// The description that the game was created with.
    pub genesis: Vec<u8>,
    /// The state that the last entry set, or the creation.
    pub state: i32,
    /// The labels that the game was created with, sorted by key.
    pub labels: Vec<(String, String)>,
    /// The sequence of the last entry; 0 before the first.
    pub sequence: i64,
    /// The time of creation, in microseconds since 1970-01-01T00:00:00Z.
    pub create_time_us: i64,
    /// The time of the last entry, or of the creation before the first.
    pub update_time_us: i64,
    /// The link of the last entry, or of the genesis before the first; see [`crate::chain`].
    pub chain_head: [u8; 32],
}

/// One write to a game, judged on the state after the entry `expected_sequence`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The game.
    pub key: GameKey,
    /// The sequence of the last entry when the request was judged. A refusal is checked too: a
    /// refusal that was judged on a stale state must be judged again.
    pub expected_sequence: i64,
    /// Identifies the request, within the game. Required. Limit: 128 bytes. Entries that the
    /// referee makes by itself have ids of a form that no caller can send.
    pub request_id: String,
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
        /// The state of the game after this entry, for filters.
        state: i32,
        /// The time of the entry, in microseconds since 1970-01-01T00:00:00Z.
        update_time_us: i64,
        /// When the game is due if nothing more happens in it, in microseconds since
        /// 1970-01-01T00:00:00Z; see [`Store::due`](crate::Store::due).
        deadline_us: Option<i64>,
    },
    /// A refusal: its answer is kept for repetitions; the game and its sequence stay as they are.
    Refusal {
        /// The answer, opaque to the store. Limit: 64 KiB.
        answer: Vec<u8>,
    },
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
    /// The position of the entry among all entries of the store, in the order of commits.
    /// Positions grow; they may have gaps.
    pub position: i64,
    /// The entry as it was appended.
    pub bytes: Vec<u8>,
    /// The link of the entry; see [`crate::chain`].
    pub chain: [u8; 32],
}

/// One entry of the log of all games.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailEntry {
    /// The game of the entry.
    pub key: GameKey,
    /// The entry.
    pub entry: StoredEntry,
}

/// One page of the log of all games.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailPage {
    /// The entries, in the order of commits.
    pub entries: Vec<TailEntry>,
    /// Read on after this position. Where `entries` is empty, it is the position that was asked
    /// for, and there is nothing newer yet.
    pub after_position: i64,
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

/// A game that may be due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueGame {
    /// The name of the game.
    pub key: GameKey,
    /// A time at or before the deadline that the game has, in microseconds since
    /// 1970-01-01T00:00:00Z.
    pub due_us: i64,
}

/// The deadline of a game that [`Store::due`](crate::Store::due) named before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postponement {
    /// The name of the game.
    pub key: GameKey,
    /// The sequence of the last entry when the deadline was found.
    pub expected_sequence: i64,
    /// The deadline, in microseconds since 1970-01-01T00:00:00Z; none where the game has none.
    pub deadline_us: Option<i64>,
}

/// A sign of life of the processes that serve the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// When it was given, in microseconds since 1970-01-01T00:00:00Z.
    pub at_us: i64,
    /// How much later than the one before it may be, in microseconds, and still follow it.
    pub silence_max_us: i64,
}

/// A span of time without a sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DownSpan {
    /// The last sign of life before it, in microseconds since 1970-01-01T00:00:00Z.
    pub from_us: i64,
    /// The first one after it, in microseconds since 1970-01-01T00:00:00Z.
    pub to_us: i64,
}
