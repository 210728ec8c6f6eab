//! Durable records of games: append entries at an expected sequence, read, list, follow.
//!
//! The store knows no chess. A *game* is an immutable description (its genesis) and a list of
//! *entries*, numbered from 1 without gaps; both are opaque bytes to the store. Three promises
//! hold for every engine behind the [`Store`] trait:
//!
//! 1. **Acknowledged is durable.** A write is queued when the call returns and answered after it
//!    is on disk, never before; no read shows what is not on disk.
//! 2. **The same question gets the same answer.** Every write carries a request id and the hash
//!    of its content. A repetition returns the first answer, refusals included, for the life of
//!    the game; the same id with other content is an error.
//! 3. **One winner for each sequence.** Of all writers that judged the same state of a game,
//!    one appends and the others get [`AppendError::Moved`]. The database itself holds that no
//!    sequence and no request of a game comes twice.
//!
//! Text about persons is kept beside what is hashed, with a salt of its own, so that the two can be
//! erased and the chain still holds: with the text of a game that is described otherwise, and with
//! a game that is deleted. What is erased is in none of the files any more when the write is
//! answered.
//!
//! A store has facets, and each part of a program takes what it may touch: [`Games`], [`Log`],
//! [`Deadlines`], [`Liveness`], [`Questions`], [`Work`], [`Identities`], [`Upkeep`]. Entries
//! are hash-chained from the name and genesis of their game; see [`chain`].
//!
//! [`SqliteStore`] is the embedded engine: one file, and one commit for everything that waits.
//! [`wrap`] has stores over stores: one that measures and one that fails on demand.

#![forbid(unsafe_code)]

mod ack;
pub mod chain;
mod check;
mod committer;
mod deadlines;
mod error;
mod games;
mod histogram;
mod identities;
mod job;
pub mod limits;
mod liveness;
mod load;
mod log;
mod pending;
mod questions;
mod spread;
mod sqlite;
mod store;
mod upkeep;
mod work;
pub mod wrap;

pub use ack::{Ack, Read};
pub use deadlines::{Deadlines, DueGame, Postponement};
pub use error::{AppendError, CreateError, Fault, InvalidField, OpenError, Problem, ReadError};
pub use games::{
    Answer, AnswerBody, Append, Appended, Created, Deletion, Description, GameHead, GameKey,
    GamePage, GameRow, Games, ListCursor, ListFilter, NewGame, PrivateText, RequestKey,
    StoredEntry, Tombstone, Write, whole,
};
pub use histogram::Quantiles;
pub use identities::{Identities, IssueError, NewToken, TokenRow, TokenScope};
pub use liveness::{Beat, Beaten, DownSpan, Liveness, ReplicaId};
pub use log::{Change, ChangePage, Log, LogCursor, TailEntry, TailPage};
pub use questions::{OpenQuestion, Questions};
pub use spread::Spread;
pub use sqlite::{SqliteOptions, SqliteStore, StoreFile};
pub use store::{Ready, Store, StoreStats};
pub use upkeep::{BackUpError, BackedUp, Course, Finding, Flaw, Upkeep, VerifyCursor, VerifyPage};
pub use work::{
    Claim, ClaimedJob, Counting, Dispute, Fold, JobCursor, JobEnd, JobError, JobKey, JobPage,
    JobProgress, JobRow, JobState, Lease, LeaseRequest, LeasedTask, Leases, NewJob, NewSession,
    NewTask, PlannedJob, Renewal, Renewed, Reported, SessionRow, SessionToken, SplitPart,
    StoredTask, Stretch, Swept, TaskReport, Unfinished, Work, WorkCensus,
};
