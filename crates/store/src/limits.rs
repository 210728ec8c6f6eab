//! Every limit of the store, in one place.
//!
//! Limits on fields are checked before anything is queued and answered with an
//! [`InvalidField`](crate::InvalidField) that names the field, the limit and the actual size.

use std::time::Duration;

/// The longest name of a platform, in bytes.
pub const PLATFORM_BYTES_MAX: usize = 128;

/// The longest id of a token, in bytes.
pub const TOKEN_ID_BYTES_MAX: usize = 64;

/// The longest name of a principal, in bytes.
pub const PRINCIPAL_BYTES_MAX: usize = 128;

/// The most tokens of one platform, those that were revoked or ran out included until there is need
/// of their room.
pub const TOKENS_PER_PLATFORM_MAX: usize = 10_000;

/// The longest name of a game, in bytes.
pub const GAME_BYTES_MAX: usize = 255;

/// The longest request id, in bytes.
pub const REQUEST_ID_BYTES_MAX: usize = 128;

/// The largest genesis of a game, in bytes. Roomy enough for a setup with a long history.
pub const GENESIS_BYTES_MAX: usize = 1 << 20;

/// The largest entry, in bytes.
pub const ENTRY_BYTES_MAX: usize = 256 << 10;

/// The largest stored answer of a refusal, in bytes.
pub const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// The largest text about persons of a genesis or an entry, in bytes.
pub const PRIVATE_BYTES_MAX: usize = 1 << 20;

/// The random bytes that are kept with such a text.
pub const SALT_BYTES: usize = 16;

/// The most labels of one game.
pub const LABELS_MAX: usize = 32;

/// The longest key of a label, in bytes.
pub const LABEL_KEY_BYTES_MAX: usize = 64;

/// The longest value of a label, in bytes.
pub const LABEL_VALUE_BYTES_MAX: usize = 256;

/// The most entries of one game. A legal game under the 75-move rule has fewer than 12,000
/// plies; the rest is for offers, claims, presses and what arbiters do.
pub const ENTRIES_PER_GAME_MAX: i64 = 65_536;

/// The most refusals whose answers are kept for one scope of request ids in a game. Refusals cost
/// the sender nothing, so that without a limit one client could fill the disk.
pub const REFUSALS_PER_SCOPE_MAX: i64 = 4_096;

/// The most states in one [`ListFilter`](crate::ListFilter).
pub const FILTER_STATES_MAX: usize = 16;

/// The most labels in one [`ListFilter`](crate::ListFilter): those that a client may name, and the
/// one that its credential is confined to.
pub const FILTER_LABELS_MAX: usize = 9;

/// The most rows in one page of any read; a higher `limit` is read as this one.
pub const PAGE_ROWS_MAX: usize = 1_000;

/// A page of any read ends after the row with which its payload reaches this many bytes.
pub const PAGE_BYTES: usize = 4 << 20;

/// The most candidates that one call of [`Games::list`](crate::Games::list) examines. A filter
/// that few of many games pass gives short pages instead of long waits.
pub const LIST_EXAMINED_MAX: usize = 10_000;

/// The longest text of a [`LogCursor`](crate::LogCursor), in bytes: room for a place in each of
/// many logs.
pub const LOG_CURSOR_BYTES_MAX: usize = 1 << 10;

/// The most writes that wait or are being written; one more is answered with
/// [`Fault::Overloaded`](crate::Fault::Overloaded).
pub const QUEUE_WRITES_MAX: usize = 4_096;

/// The most bytes of payload that wait or are being written; more is answered with
/// [`Fault::Overloaded`](crate::Fault::Overloaded).
pub const QUEUE_BYTES_MAX: usize = 64 << 20;

/// How far games in a state are counted.
pub const COUNTED_GAMES_MAX: i64 = 1_000_000;

/// The most writes in one commit.
pub const BATCH_WRITES_MAX: usize = 1_024;

/// A batch ends after the write with which its payload reaches this many bytes.
pub const BATCH_BYTES_MAX: usize = 8 << 20;

/// The most writes that are left out of one batch because the engine fails at them. More than
/// that is no accident of a single game, and the whole batch fails.
pub const LEFT_OUT_WRITES_MAX: usize = 4;

/// When to try again where a queue was full: by then it has been worked off many times over.
pub const OVERLOADED_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The reads that run at the same time, each on a connection of its own.
pub const READERS: usize = 4;

/// The most reads that wait for a reader; one more is answered with
/// [`Fault::Overloaded`](crate::Fault::Overloaded).
pub const QUEUE_READS_MAX: usize = 4_096;

/// The games whose heads the writer keeps in memory. About 2 KiB each at most.
pub const CACHED_HEADS_MAX: usize = 32_768;

/// The newest requests of a game move into the index when there are between half so many and so
/// many of them, at another number for each game. More make the head of a game larger, which each
/// entry writes; fewer make the index be written more often.
pub const NEWEST_REQUESTS: usize = 96;

/// The most blocks of the log that one call of [`Log::tail`](crate::Log::tail) looks into. A
/// platform with few of many entries gives short pages instead of long waits.
pub const TAIL_BLOCKS_MAX: usize = 64;

/// The writer checkpoints when the write-ahead log has grown to this many pages of 4 KiB.
pub const CHECKPOINT_PAGES: i64 = 2_048;

/// The steps back of a clock that are kept; see
/// [`Liveness::set_back`](crate::Liveness::set_back).
pub const CLOCK_STEPS_MAX: usize = 16;

/// How often all files of a store are compared with those that were opened, at most, beside the
/// comparison of the most important ones with every batch.
pub const FILES_LOOK_INTERVAL: Duration = Duration::from_millis(800);

/// How often the witness beside the database is written at most while entries come; see
/// [`OpenError::Lost`](crate::OpenError::Lost). The heartbeat of a service wakes the writer each
/// second, so that what is older than two seconds is on record.
pub const WITNESS_INTERVAL: Duration = Duration::from_millis(800);

/// The most entries that one call of [`Upkeep::verify`](crate::Upkeep::verify) walks.
pub const VERIFY_ENTRIES_MAX: usize = 2_000;

/// The most findings that one call of [`Upkeep::verify`](crate::Upkeep::verify) returns of one
/// kind of step; what is damaged all over is known by then.
pub const FINDINGS_MAX: usize = 200;

/// How long a copy or a verification works before it looks whether it shall go on, and rests.
pub const WORK_TIME: Duration = Duration::from_millis(5);

/// The longest rest after that.
pub const REST_MAX: Duration = Duration::from_millis(500);

/// A copy is brought to the disk whenever it has grown by so many bytes, so that at its end the
/// disk is not busy for long while moves wait.
pub const COPY_SYNC_BYTES: u64 = 4 << 20;

/// What a copy leaves free on its disk, in bytes, since the store may be on the same.
pub const COPY_ROOM_BYTES: u64 = 64 << 20;

/// The longest name of a shared job, in bytes.
pub const JOB_BYTES_MAX: usize = 255;

/// The largest description of a shared job, of its plan and of its outcome, in bytes.
pub const JOB_TEXT_BYTES_MAX: usize = 64 << 10;

/// The largest description of a worker, in bytes.
pub const WORKER_BYTES_MAX: usize = 4 << 10;

/// The longest name of a credential, in bytes.
pub const CREDENTIAL_BYTES_MAX: usize = 256;

/// The most bytes of tasks that are added in one go, unless it is a single task: other writes wait
/// for as long as that takes.
pub const TASKS_BYTES_MAX: usize = 256 << 10;

/// The largest task of a shared job, and the largest counts of one, in bytes.
pub const TASK_BYTES_MAX: usize = 512 << 10;

/// How far open tasks of jobs that run are counted, and how far leased ones.
pub const COUNTED_TASKS_MAX: i64 = 250_000;

/// The tasks that are taken out in one go.
pub const TASKS_CLEARED_MAX: usize = 256;

/// The most leases of one session.
pub const LEASES_PER_SESSION_MAX: usize = 64;

/// The sessions that are ended in one go.
pub const SESSIONS_SWEPT_MAX: usize = 64;

/// A session with so many reports that cannot be right gets no more tasks.
pub const REPORTS_REFUSED_PER_SESSION_MAX: i64 = 8;
