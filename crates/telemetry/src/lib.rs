//! What an operator sees of a process: logs, metrics, traces, and the admin listener that shows
//! them.
//!
//! A [`Telemetry`] is a value that is handed to whatever is measured; two of them in one process
//! have nothing in common. Only the log is one for the whole process. Nothing here waits for
//! whoever reads: a log that nobody reads, a collector that does not answer and a scrape that
//! stands still stop nothing.

#![forbid(unsafe_code)]

mod admin;
mod calls;
mod counts;
pub mod limits;
pub mod log;
mod metrics;
mod readiness;
mod telemetry;
mod trace;

pub use admin::AdminListener;
pub use calls::{CallLayer, Counted, ReceivedBody, SentBody};
pub use counts::{Kind, Method};
pub use metrics::{Acknowledged, Distribution, Form, Metrics};
pub use readiness::Readiness;
pub use telemetry::Telemetry;
pub use trace::{TraceError, TraceOptions};
