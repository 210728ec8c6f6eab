//! Every limit of the command line, in one place.

use std::time::Duration;

/// How long the own server of `referee conform` may take to end.
pub(crate) const OWN_DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The part of the drain time of `referee serve` that is kept for closing the store: one in so
/// many.
pub(crate) const CLOSE_TIME_SHARE: u32 = 4;
/// The most time that is kept for that.
pub(crate) const CLOSE_TIME_MAX: Duration = Duration::from_secs(1);
/// The least time that is given to that, where there is no time to drain.
pub(crate) const CLOSE_TIME_MIN: Duration = Duration::from_millis(250);
/// How much later than the drain time the process ends at the latest, whatever still runs.
pub(crate) const END_GRACE: Duration = Duration::from_millis(500);
/// The descriptors that are kept for the store, the listener and the runtime; the rest is for
/// connections.
pub(crate) const DESCRIPTORS_KEPT: u64 = 48;
/// The longest time that a server may take for the next part of a record, in seconds.
pub(crate) const EXPORT_SILENCE_SECONDS_MAX: u64 = 60;
/// The longest line of a suite of `referee can-mate`, in bytes.
pub(crate) const MATE_SUITE_LINE_BYTES_MAX: u64 = 1_024;
/// The positions of such a suite that are worked on together.
pub(crate) const MATE_SUITE_BATCH: usize = 4_096;
/// The longest suite of `referee perft`, in bytes.
pub(crate) const PERFT_SUITE_BYTES_MAX: u64 = 256 << 20;
/// The longest file that is read as a checkpoint of `referee perft`, in bytes: a count of 25 digits
/// for each of the most positions that a count is cut into, and room to spare.
pub(crate) const CHECKPOINT_BYTES_MAX: u64 = 256 << 20;
/// What `referee perft --plies` leaves free on the disk on which it sorts, in bytes.
pub(crate) const SORT_ROOM_BYTES: u64 = 256 << 20;
/// The longest silence of a server that copies or verifies its store, in seconds.
pub(crate) const STORE_SILENCE_SECONDS_MAX: u64 = 60;
/// How many letters may differ between what was typed and a name that is offered instead.
pub(crate) const NAME_CHANGES_MAX: usize = 3;
/// The longest time that a server may take to be connected to, in seconds.
pub(crate) const CONNECT_SECONDS_MAX: u64 = 10;
/// The longest time that a server may take for one answer, in seconds.
pub(crate) const CALL_SECONDS_MAX: u64 = 10;
/// How often a call is made at most before its error is shown.
pub(crate) const CALL_ATTEMPTS_MAX: u32 = 4;
/// The wait before the second attempt.
pub(crate) const BACKOFF_FIRST: Duration = Duration::from_millis(200);
/// The longest wait before another attempt.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// How long `referee game watch` tries to come back to a server that it has lost, in seconds.
pub(crate) const WATCH_LOST_SECONDS_MAX: u64 = 300;
/// The quiet after which a server that is watched gives a sign of life, in seconds.
pub(crate) const WATCH_HEARTBEAT_SECONDS: u64 = 15;
/// The longest lines of moves that `referee game show` writes, in characters.
pub(crate) const SHOWN_LINE_CHARS_MAX: usize = 78;
/// How often a worker asks whether its connection is alive.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(10);
/// How long the answer to that may take.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest name of a worker.
pub(crate) const WORKER_ID_CHARS_MAX: usize = 128;
/// How long the worker of a service may take to give its tasks back.
pub(crate) const OWN_WORKER_END_MAX: Duration = Duration::from_millis(250);
/// The longest silence of a server about a job, in seconds; it speaks each second.
pub(crate) const PERFT_SILENCE_SECONDS_MAX: u64 = 15;
/// How long an interrupted count waits for its job to be cancelled, in seconds.
pub(crate) const CANCEL_SECONDS_MAX: u64 = 5;
/// The longest token that is read from a file, in bytes: servers take 16 KiB of headers.
pub(crate) const TOKEN_BYTES_MAX: usize = 8 << 10;
/// How often the file of a token is looked at, whether it has changed.
pub(crate) const TOKEN_LOOK_INTERVAL: Duration = Duration::from_secs(2);
