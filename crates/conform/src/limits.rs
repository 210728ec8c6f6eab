//! Every limit of the conformance cases, in one place.

use std::time::Duration;

/// The longest line of a file of cases, in bytes. The longest record that a case may hold is
/// 1 MiB, which grows by a third where its bytes are written as base64, and is there twice.
pub(crate) const LINE_LENGTH_MAX: usize = 4 << 20;

/// The most bytes that are kept of cases that can be read only once, as from standard input.
pub(crate) const KEPT_LENGTH_MAX: u64 = 64 << 20;

/// How many cases are played at once. A case waits for the disk most of the time.
pub(crate) const CASES_AT_ONCE: usize = 16;

/// How long one call may take. A ruling may have to search for a mate.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// The deepest count of moves that a case may ask for.
pub(crate) const PERFT_DEPTH_MAX: u64 = 6;

/// How many positions the referee is asked about for one count of moves: some seconds.
pub(crate) const PERFT_QUESTIONS_MAX: usize = 100_000;

/// How many of them it is asked about at once.
pub(crate) const PERFT_QUESTIONS_AT_ONCE: usize = 64;

/// The most characters of an answer that are shown with a failure.
pub(crate) const SHOWN_CHARS_MAX: usize = 600;

/// How long the end of a game that is found by a search may take to be recorded.
pub(crate) const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait before a game is read again that is about to end.
pub(crate) const SETTLE_INTERVAL: Duration = Duration::from_millis(20);

/// The longest record that a case may ask to be made, in bytes.
pub(crate) const RECORD_LENGTH_MAX: usize = 1 << 20;

/// The bytes of a record that are sent at once, which every referee must take.
pub(crate) const PIECE_LENGTH: usize = 64 << 10;

/// The most verdicts on the games of one record. The shortest game has a few bytes.
pub(crate) const VERDICTS_MAX: usize = 100_000;
