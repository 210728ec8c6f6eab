//! Durable records of games: append entries at an expected sequence, read, list, tail.
//!
//! The store knows no chess. A *game* is an immutable description (its genesis) and a list of
//! *entries*, numbered from 1 without gaps; both are opaque bytes to the store. Three promises
//! hold for every engine behind the [`Store`] trait:
//!
//! 1. **Acknowledged is durable.** A write is answered after it is on disk, never before.
//! 2. **The same question gets the same answer.** Every write carries a request id and the hash
//!    of its content. A repetition returns the first answer, refusals included, for the life of
//!    the game; the same id with other content is an error.
//! 3. **One winner for each sequence.** Of all writers that judged the same state of a game,
//!    one appends and the others get [`AppendError::SequenceMismatch`].
//!
//! Entries are hash-chained from the name and genesis of their game; see [`chain`].
//!
//! [`SqliteStore`] is the embedded engine: one file, and one commit for everything that waits.

#![forbid(unsafe_code)]

pub mod chain;
mod check;
mod error;
pub mod limits;
mod record;
mod sqlite;
mod store;

pub use error::{AppendError, CreateError, Fault, InvalidField, OpenError, Problem, ReadError};
pub use record::{
    Answer, AnswerBody, Append, Appended, Beat, Created, DownSpan, DueGame, GameKey, GamePage,
    GameRow, ListCursor, ListFilter, NewGame, Postponement, StoredEntry, TailEntry, TailPage,
    Write,
};
pub use sqlite::{SqliteOptions, SqliteStore};
pub use store::{BoxFuture, Store};
