//! What can go wrong, one enum for each operation.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The store itself could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Too much waits already. Nothing was written; try again later.
    Overloaded {
        /// What is full: `writes`, `bytes of writes` or `reads`.
        queue: &'static str,
        /// The most that may wait.
        limit: usize,
        /// When to try again.
        retry_after: Duration,
    },
    /// The engine could not do it this time. Nothing was written; try again.
    Unavailable {
        /// What the engine said.
        reason: String,
    },
    /// The engine takes no writes, for example because the disk is full. Nothing was written;
    /// reads go on.
    ReadOnly {
        /// What the engine said.
        reason: String,
    },
    /// What is stored is not what was written: the disk or somebody changed it. Nothing was
    /// written.
    Damaged {
        /// What does not hold.
        what: String,
    },
    /// Whether the write became durable is not known: ask again with the same request id.
    Unknown,
    /// The store was closed. Nothing was written.
    Closed,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overloaded { queue, limit, .. } => {
                write!(
                    f,
                    "too many {queue} wait for the store (limit {limit}); try again later"
                )
            }
            Self::Unavailable { reason } => {
                write!(f, "the store is not available, try again: {reason}")
            }
            Self::ReadOnly { reason } => write!(f, "the store takes no writes: {reason}"),
            Self::Damaged { what } => write!(f, "what is stored is damaged: {what}"),
            Self::Unknown => f.write_str(
                "whether the write became durable is not known; ask again with its request id",
            ),
            Self::Closed => f.write_str("the store is closed"),
        }
    }
}

impl Error for Fault {}

/// A field that the store cannot take. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidField {
    /// The field, such as `request_id`.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// It is required and empty.
    Empty,
    /// It has too many bytes.
    TooLong {
        /// The most bytes.
        limit: usize,
        /// The bytes that it has.
        actual: usize,
    },
    /// It has too many elements.
    TooMany {
        /// The most elements.
        limit: usize,
        /// The elements that it has.
        actual: usize,
    },
    /// Its keys are not sorted, or one comes twice.
    NotSorted,
    /// It is no text that the store gave.
    Malformed,
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field;
        match self.problem {
            Problem::Empty => write!(f, "{field} is empty; it is required"),
            Problem::TooLong { limit, actual } => {
                write!(f, "{field} has {actual} bytes; the limit is {limit}")
            }
            Problem::TooMany { limit, actual } => {
                write!(f, "{field} has {actual} elements; the limit is {limit}")
            }
            Problem::NotSorted => {
                write!(f, "{field} must be sorted by key, each key once")
            }
            Problem::Malformed => {
                write!(
                    f,
                    "{field} is no text that this store gave; start without it"
                )
            }
        }
    }
}

impl Error for InvalidField {}

/// Why a game was not created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateError {
    /// Another request created a game of this name.
    NameTaken,
    /// The request id came before with other content.
    RequestIdReused,
    /// A field cannot be stored.
    Invalid(InvalidField),
    /// The store could not do it.
    Fault(Fault),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken => f.write_str("another request created a game of this name"),
            Self::RequestIdReused => f.write_str("the request id came before with other content"),
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl Error for CreateError {}

impl From<InvalidField> for CreateError {
    fn from(invalid: InvalidField) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<Fault> for CreateError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Why nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendError {
    /// There is no such game.
    NotFound,
    /// The game was deleted, by another request than this one.
    Deleted,
    /// The game has moved on, or never was where the caller thought: read what is there and judge
    /// again.
    Moved {
        /// The sequence of the last entry.
        actual: i64,
        /// The link of the last entry, or of the genesis before the first.
        chain: [u8; 32],
    },
    /// The request came before, in this game, with other content.
    RequestIdReused,
    /// The game has as many entries as a game may have.
    GameFull {
        /// The most entries.
        limit: i64,
    },
    /// The game has as many stored refusals as one scope of request ids may have.
    TooManyRefusals {
        /// The most refusals.
        limit: i64,
    },
    /// A field cannot be stored.
    Invalid(InvalidField),
    /// The store could not do it.
    Fault(Fault),
}

impl fmt::Display for AppendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("there is no such game"),
            Self::Deleted => f.write_str("the game was deleted"),
            Self::Moved { actual, .. } => {
                write!(
                    f,
                    "the game is at sequence {actual}, not where the write was judged"
                )
            }
            Self::RequestIdReused => f.write_str("the request id came before with other content"),
            Self::GameFull { limit } => write!(f, "the game has {limit} entries, the limit"),
            Self::TooManyRefusals { limit } => {
                write!(f, "the game has {limit} stored refusals, the limit")
            }
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl Error for AppendError {}

impl From<InvalidField> for AppendError {
    fn from(invalid: InvalidField) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<Fault> for AppendError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Why nothing was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// A field of the question is out of its limits.
    Invalid(InvalidField),
    /// The store could not do it.
    Fault(Fault),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(invalid) => invalid.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl Error for ReadError {}

impl From<InvalidField> for ReadError {
    fn from(invalid: InvalidField) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<Fault> for ReadError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Why a store was not opened.
#[derive(Debug)]
pub enum OpenError {
    /// Another process, or another store of this process, has the file open.
    Locked {
        /// The store's file.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    NewerSchema {
        /// The store's file.
        path: PathBuf,
        /// The version of the schema in the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file was written by an older version of this program, from before there were ways from
    /// one version to the next.
    OlderSchema {
        /// The store's file.
        path: PathBuf,
        /// The version of the schema in the file.
        found: i64,
        /// The oldest version that this program can read.
        oldest: i64,
    },
    /// The file is not a store: another program's database, or no database at all.
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A promise of durability does not hold: a setting of the engine did not take effect.
    Setting {
        /// The setting, such as `synchronous`.
        name: &'static str,
        /// The value that is needed.
        needed: &'static str,
        /// The value that was read.
        found: String,
    },
    /// Something is gone that was acknowledged more than two seconds before the end: the file, or
    /// the end of its write-ahead log.
    Lost {
        /// The store's file.
        path: PathBuf,
        /// The file that says how far the log had come.
        witness: PathBuf,
        /// The newest position that was acknowledged, as far as is known.
        acknowledged: i64,
        /// The newest position that is there, or that can be.
        found: i64,
    },
    /// The file could not be created, read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system or the engine said.
        reason: String,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { path } => write!(
                f,
                "the store {} is open in another process; close that one or name another file",
                path.display()
            ),
            Self::NewerSchema { path, found, known } => write!(
                f,
                "the store {} has schema version {found}, and this program knows versions up to \
                 {known}; use the newer program",
                path.display()
            ),
            Self::OlderSchema {
                path,
                found,
                oldest,
            } => write!(
                f,
                "the store {} has schema version {found}, and this program reads {oldest} and \
                 later: name another file, or serve this one with the program that wrote it",
                path.display()
            ),
            Self::Foreign { path } => write!(
                f,
                "{} is not a store of this program; name another file",
                path.display()
            ),
            Self::Setting {
                name,
                needed,
                found,
            } => {
                write!(
                    f,
                    "the engine's setting {name} is {found}; durability needs {needed}"
                )
            }
            Self::Lost {
                path,
                witness,
                acknowledged,
                found,
            } => write!(
                f,
                "the store {} has lost what was acknowledged: its log came to position \
                 {acknowledged}, and what is there ends at {found}; restore a copy, or, to go on \
                 without what is gone, remove {}",
                path.display(),
                witness.display()
            ),
            Self::Io { path, reason } => {
                write!(f, "cannot open the store {}: {reason}", path.display())
            }
        }
    }
}

impl Error for OpenError {}
