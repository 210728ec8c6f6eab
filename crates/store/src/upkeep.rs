//! Copying a store and verifying it, while it is used: the facet [`Upkeep`].

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::ack::{Ack, Read};
use crate::games::GameKey;
use crate::limits;

/// Copies the store, and verifies what is in it. Both see what is on disk, wait for no write, and
/// no write waits for them.
pub trait Upkeep: Send + Sync {
    /// Copies the store as it stands when the copy begins into a new file, a store itself.
    ///
    /// The file is complete and on disk when the call is answered, and before there is none: it
    /// grows under another name in the same folder, which begins with a dot and ends with
    /// `.part`. What was erased from the store is not in the copy. Memory is bounded whatever the
    /// size of the store; the write-ahead log grows by what is written meanwhile.
    ///
    /// # Errors
    ///
    /// [`BackUpError`], and then there is no new file.
    fn back_up(&self, target: PathBuf, course: Arc<Course>) -> Ack<BackedUp, BackUpError>;

    /// Verifies the part of the store that begins at a cursor: first the file, with its indexes;
    /// then each game, with its chain, counts, head, runs, requests, labels, deadline and
    /// question; then what belongs to no game.
    ///
    /// A page has at most [`VERIFY_ENTRIES_MAX`](limits::VERIFY_ENTRIES_MAX) entries and
    /// [`FINDINGS_MAX`](limits::FINDINGS_MAX) findings; the end is where [`VerifyPage::next`] is
    /// none. Each page is read in one transaction, so that what is written meanwhile is no fault.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read. What is damaged is a finding,
    /// and no error.
    fn verify<'a>(&'a self, from: &'a VerifyCursor, course: Arc<Course>) -> Read<'a, VerifyPage>;
}

/// How far a long piece of work has come, how much it rests, and whether it goes on.
#[derive(Debug, Default)]
pub struct Course {
    rest: u32,
    done: AtomicU64,
    total: AtomicU64,
    stopped: AtomicBool,
}

impl Course {
    /// The course of work that rests, after each while, `rest` times as long as that while.
    #[must_use]
    pub fn resting(rest: u32) -> Course {
        Course {
            rest,
            ..Course::default()
        }
    }

    /// Stops the work as soon as it looks.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Says whether the work has been stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The bytes that are done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The bytes that there are to do, as far as is known: 0 before the beginning.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    pub(crate) fn rest_after(&self, work: Duration) -> Duration {
        work.saturating_mul(self.rest).min(limits::REST_MAX)
    }

    pub(crate) fn set_done(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    pub(crate) fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
    }
}

/// A copy that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackedUp {
    /// The bytes of the file.
    pub bytes: u64,
    /// The games in it.
    pub games: u64,
    /// The position of the newest entry or creation in it.
    pub position: i64,
}

/// Why there is no copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackUpError {
    /// There is something of this name already; a copy never takes its place.
    Exists {
        /// The name.
        path: PathBuf,
    },
    /// The disk has too little room for a copy and what must stay free.
    NoRoom {
        /// The bytes that are free.
        free: u64,
        /// The bytes that are needed.
        needed: u64,
    },
    /// The work was stopped.
    Stopped,
    /// The store is closed.
    Closed,
    /// The store is damaged: it cannot be read to its end.
    Damaged {
        /// What the engine said.
        reason: String,
    },
    /// The copy could not be written.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system or the engine said.
        reason: String,
    },
}

impl fmt::Display for BackUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists { path } => write!(
                f,
                "{} is there already; name a new file, or move that one away",
                path.display()
            ),
            Self::NoRoom { free, needed } => write!(
                f,
                "the disk has {free} bytes free and {needed} are needed; make room, or name \
                 another folder"
            ),
            Self::Stopped => f.write_str("the copy was stopped, and nothing is left of it"),
            Self::Closed => f.write_str("the store is closed"),
            Self::Damaged { reason } => write!(
                f,
                "the store cannot be read to its end: {reason}; `referee store verify` says more"
            ),
            Self::Io { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

impl std::error::Error for BackUpError {}

/// Where a verification goes on. The default is the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyCursor(pub(crate) Step);

impl VerifyCursor {
    /// The first game: all but the file itself, which takes long and cannot be cut into pages.
    #[must_use]
    pub fn games() -> VerifyCursor {
        VerifyCursor(Step::Games { after: 0 })
    }
}

/// The steps of a verification, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Step {
    /// The file: its pages and its indexes.
    #[default]
    File,
    /// The games after this number.
    Games { after: i64 },
    /// The rest of one game.
    Game(Walk),
    /// The entries after this position, each of which must belong to a game.
    Log { after: i64 },
    /// The refusals after this number.
    Refusals { after: i64 },
    /// What must not be there without a game.
    Strays,
}

/// How far the entries of a game have been walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) game_id: i64,
    pub(crate) sequence: i64,
    pub(crate) position: i64,
    pub(crate) chain: [u8; 32],
}

/// What a part of a store came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyPage {
    /// What does not hold.
    pub findings: Vec<Finding>,
    /// The games whose verification ended in this part.
    pub games: u64,
    /// The entries that were verified in their games.
    pub entries: u64,
    /// Where the next part begins; none at the end.
    pub next: Option<VerifyCursor>,
}

/// Something in a store that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The game, where it is known.
    pub key: Option<GameKey>,
    /// What is wrong.
    pub flaw: Flaw,
}

/// What is wrong with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// The file does not hold together; the engine says how.
    File {
        /// What the engine said.
        reason: String,
    },
    /// Something cannot be read.
    Unreadable {
        /// What the engine said.
        reason: String,
    },
    /// A part of a game is missing.
    Missing {
        /// The part, such as `genesis`.
        part: &'static str,
    },
    /// The genesis was changed.
    Genesis,
    /// An entry is missing.
    EntryMissing {
        /// Its sequence.
        sequence: i64,
    },
    /// An entry is not what its place says.
    EntryMisplaced {
        /// The sequence that its place says.
        sequence: i64,
    },
    /// An entry was changed, or does not follow the one before it.
    EntryChanged {
        /// Its sequence.
        sequence: i64,
    },
    /// An entry that no way through its game leads to.
    EntryStray {
        /// Its sequence.
        sequence: i64,
        /// Its position.
        position: i64,
    },
    /// The request of an entry is not found by its id, or leads elsewhere.
    Request {
        /// The sequence of the entry.
        sequence: i64,
    },
    /// The request of a refusal is not found by its id, or leads elsewhere.
    Refusal {
        /// The number of the refusal in the store.
        number: i64,
    },
    /// A count is not that of what was counted.
    Count {
        /// What is counted, such as `refusals`.
        what: &'static str,
        /// The count that is kept.
        kept: i64,
        /// What was counted.
        counted: i64,
    },
    /// Something that leads to a game or to its entries leads elsewhere.
    Lead {
        /// What leads there, such as `head`.
        what: &'static str,
    },
}

impl Flaw {
    /// Returns the sequence of the entry that it is about; 0 where it is about none.
    pub fn sequence(&self) -> i64 {
        match self {
            Self::EntryMissing { sequence }
            | Self::EntryMisplaced { sequence }
            | Self::EntryChanged { sequence }
            | Self::EntryStray { sequence, .. }
            | Self::Request { sequence } => *sequence,
            _ => 0,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { reason } => write!(f, "the file does not hold together: {reason}"),
            Self::Unreadable { reason } => write!(f, "it cannot be read: {reason}"),
            Self::Missing { part } => write!(f, "its {part} is missing"),
            Self::Genesis => f.write_str("its description was changed"),
            Self::EntryMissing { sequence } => write!(f, "entry {sequence} is missing"),
            Self::EntryMisplaced { sequence } => {
                write!(f, "at the place of entry {sequence} is something else")
            }
            Self::EntryChanged { sequence } => write!(
                f,
                "entry {sequence} was changed, or does not follow the one before it"
            ),
            Self::EntryStray { sequence, position } => write!(
                f,
                "an entry {sequence} at position {position} does not belong to the record"
            ),
            Self::Request { sequence } => write!(
                f,
                "the request of entry {sequence} is not found where repetitions are looked up"
            ),
            Self::Refusal { number } => write!(
                f,
                "refusal {number} is not found where repetitions are looked up"
            ),
            Self::Count {
                what,
                kept,
                counted,
            } => write!(f, "{kept} {what} are kept, {counted} were counted"),
            Self::Lead { what } => write!(f, "the {what} does not lead where it should"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(
                f,
                "game {} of platform {}: {}",
                key.game, key.platform, self.flaw
            ),
            None => self.flaw.fmt(f),
        }
    }
}
