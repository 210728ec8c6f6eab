//! Every limit of the telemetry, in one place.

use std::time::Duration;

/// The lines of the log that wait to be written; more are dropped and counted.
pub const LOG_LINES_WAITING_MAX: usize = 1_024;
/// The longest line of the log, in bytes; of a longer one as text the rest is cut off, of one as
/// JSON values are.
pub const LOG_LINE_BYTES_MAX: usize = 16 << 10;
/// The longest value in a line of the log as JSON, in bytes.
pub const LOG_VALUE_BYTES_MAX: usize = 4 << 10;
/// The longest value in a line of the log as JSON that would be too long otherwise, in bytes.
pub const LOG_VALUE_BYTES_SHORT: usize = 128;
/// How long the end waits for the log to be written.
pub const LOG_END_TIMEOUT: Duration = Duration::from_millis(500);
/// How often it looks for room in that time, where the log is full.
pub const LOG_END_TRIES: u32 = 50;
/// The longest filter of the log that is taken while the process runs, in bytes.
pub const LOG_FILTER_BYTES_MAX: usize = 1_024;
/// The connections of the admin listener; the one that has been there longest gives way to another.
pub const ADMIN_CONNECTIONS_MAX: usize = 32;
/// How long a request to the admin listener may take, from the connection to the end of the answer.
pub const ADMIN_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes of the head of such a request.
pub const ADMIN_HEAD_BYTES_MAX: usize = 16 << 10;
/// How long nobody is let in at the admin listener after the system had no descriptor.
pub const ADMIN_ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The spans that wait to be sent to the collector; more are dropped.
pub const TRACE_SPANS_WAITING_MAX: usize = 4_096;
/// The spans that are sent to the collector at once.
pub const TRACE_SPANS_BATCH_MAX: usize = 512;
/// How often they are sent.
pub const TRACE_INTERVAL: Duration = Duration::from_secs(1);
/// How long the collector may take for them.
pub const TRACE_SEND_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end waits for the collector.
pub const TRACE_END_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest `tracestate` that is carried on, in bytes; a longer one is dropped.
pub const TRACE_STATE_BYTES_MAX: usize = 512;
/// How often a line of the log says that the collector took nothing.
pub const TRACE_TELL_INTERVAL: Duration = Duration::from_secs(60);
