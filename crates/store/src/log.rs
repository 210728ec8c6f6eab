//! The log of all creations and entries in the order of commits: the facet [`Log`], and its cursor.

use std::fmt;
use std::str::FromStr;

use tokio::sync::watch;

use crate::ack::Read;
use crate::error::{InvalidField, Problem};
use crate::games::{GameKey, StoredEntry, Tombstone};
use crate::limits::LOG_CURSOR_BYTES_MAX;

/// Follows what is committed, by this process and by others.
pub trait Log: Send + Sync {
    /// Returns the cursor after the newest commit that can be read now, of all platforms. Cheap
    /// enough to be asked for many times a second.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn newest(&self) -> Read<'_, LogCursor>;

    /// Returns the key of the store, of 32 random bytes, by which cursors and whatever else tells
    /// how much there is can be covered from those whom it does not concern. It never changes, and
    /// copies of the store have the same.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn cover_key(&self) -> Read<'_, Vec<u8>>;

    /// Returns which games of all platforms got entries or were deleted after a cursor, in the
    /// order of commits, without the bytes of the entries: what copies of games are checked with.
    ///
    /// At most `limit` changes, at most [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX). Where
    /// nothing is newer the page is empty, and its cursor is [`newest`](Self::newest) as of then.
    ///
    /// # Errors
    ///
    /// [`ReadError::Invalid`](crate::ReadError::Invalid) for a cursor that this store never gave.
    fn changes<'a>(&'a self, after: &'a LogCursor, limit: usize) -> Read<'a, ChangePage>;

    /// Returns the creations of the games of a platform that have all of some labels, and their
    /// entries, after a cursor, in the order of commits. Which labels a game has counts when it is
    /// read; entries that describe a game and deletions are there whatever its labels are. Of a
    /// game that was deleted nothing is there but that.
    ///
    /// Nothing ever appears before a cursor that was given already: a watcher that goes on from
    /// [`TailPage::next`], or from [`TailEntry::cursor`] after less than a page, misses nothing.
    /// Pages are bounded as in [`Games::entries`](crate::Games::entries).
    ///
    /// # Errors
    ///
    /// [`ReadError::Invalid`](crate::ReadError::Invalid) for a cursor that this store never gave,
    /// one beyond its newest commit among them, and for too many labels.
    fn tail<'a>(
        &'a self,
        platform: &'a str,
        labels: &'a [(String, String)],
        after: &'a LogCursor,
        limit: usize,
    ) -> Read<'a, TailPage>;

    /// Returns a signal that changes after this process has committed entries, from now on, no
    /// later than their answers: the time to read on. The number has no other meaning. The sender
    /// is gone when the store is closed.
    fn moved(&self) -> watch::Receiver<u64>;
}

/// A place in the log: everything before it was seen, everything after it was not.
///
/// Its text is opaque: only the store that gave it can order it. It stays good when the store is
/// closed and opened again, and when entries are deleted.
///
/// # Examples
///
/// ```
/// use referee_store::LogCursor;
///
/// let start = LogCursor::start();
/// assert_eq!(start.to_string().parse(), Ok(start));
/// assert!("two words".parse::<LogCursor>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogCursor(String);

impl LogCursor {
    /// Returns the cursor before the first entry.
    pub fn start() -> Self {
        Self("0".to_owned())
    }

    /// Returns the cursor with this text, which the engine made.
    pub(crate) fn of(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for the engine that made it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns the error for a text that no engine made.
    pub(crate) fn malformed() -> InvalidField {
        InvalidField {
            field: "cursor",
            problem: Problem::Malformed,
        }
    }
}

impl Default for LogCursor {
    fn default() -> Self {
        Self::start()
    }
}

impl fmt::Display for LogCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for LogCursor {
    type Err = InvalidField;

    /// Takes a text back that [`Display`](fmt::Display) gave: visible ASCII, at most
    /// [`LOG_CURSOR_BYTES_MAX`] bytes. Whether a store gave it shows when it is used.
    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let fits = (1..=LOG_CURSOR_BYTES_MAX).contains(&text.len());
        if fits && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Self::malformed())
        }
    }
}

/// A game that got an entry or was deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The game.
    pub key: GameKey,
    /// The sequence of the entry; none where the game was deleted.
    pub sequence: Option<i64>,
}

/// One page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// The changes, in the order of commits.
    pub changes: Vec<Change>,
    /// Read on from here.
    pub next: LogCursor,
}

/// One entry of the log of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailEntry {
    /// The game of the entry.
    pub key: GameKey,
    /// The labels of the game, sorted by key.
    pub labels: Vec<(String, String)>,
    /// The entry. The creation of a game is its entry 0, with the genesis for its bytes; a deletion
    /// is one without bytes.
    pub entry: StoredEntry,
    /// What is left of the game, where this is its deletion.
    pub deleted: Option<Tombstone>,
    /// The place in the log after this entry.
    pub cursor: LogCursor,
}

/// One page of the log of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailPage {
    /// The entries, in the order of commits.
    pub entries: Vec<TailEntry>,
    /// Read on from here. It moves on even where `entries` is empty, past the entries of other
    /// platforms and of games with other labels.
    pub next: LogCursor,
}
