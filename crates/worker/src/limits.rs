//! Every limit of a worker, in one place.

use std::time::Duration;

use referee_perft::limits::EXPANDED_POSITIONS_MAX;

/// The tasks that a worker holds to count: one that is counted, and the next.
pub const TASKS_IN_HAND: usize = 2;
/// With so many results that the server has not answered, no more tasks are asked for.
pub const UNREPORTED_MAX: usize = 8;
/// The results in one report; the server takes no more.
pub const RESULTS_REPORTED_MAX: usize = 16;
/// How long a call for tasks waits at the server where none is open.
pub const LEASE_WAIT: Duration = Duration::from_secs(20);
/// How long any call may take, beside what it waits at the server.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The shortest and the longest span out of which the wait before another attempt is drawn.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// See [`BACKOFF_FIRST`].
pub const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// How long the end of a worker may take: what is whole is reported and the rest given back.
pub const END_TIME_MAX: Duration = Duration::from_millis(1_500);
/// The pause after a task that could not be counted, or a report that could not be sent.
pub const FAULT_PAUSE: Duration = Duration::from_secs(1);
/// A task that has this long to go at least is split where others wait: between its positions, or
/// below them where there are few.
pub const SPLIT_LEFT_MIN: Duration = Duration::from_secs(2);
/// A task of fewer positions is counted by their children, so that these can be given back. See
/// [`SPLIT_LEFT_MIN`].
pub const SPLIT_POSITIONS_MIN: usize = EXPANDED_POSITIONS_MAX + 1;
/// Where fewer plies are left a position never takes long.
pub const EXPANDED_REST_MIN: u32 = 5;
/// So long no second task is taken in hand after others waited for tasks.
pub const SHARE_TIME: Duration = Duration::from_secs(5);
/// The pace of a worker is told from its last results, up to so many.
pub const PACE_RESULTS: usize = 8;
/// How often a session is renewed where the server does not say.
pub const RENEW_INTERVAL_DEFAULT: Duration = Duration::from_secs(2);
/// The priority of threads that give way to others: the lowest that there is.
pub const NICE: i32 = 19;
