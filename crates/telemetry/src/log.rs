//! What is logged, and how: text for people or JSON for machines, on standard error. There is one
//! log for the whole process.
//!
//! Lines go to standard error by a thread of their own, with a bounded number of lines between. A
//! log that nobody reads, that is read slowly or whose reader is gone stops nothing and ends
//! nothing: lines that find no room are dropped and counted, and the count is a line as soon as
//! there is room again.

mod format;
mod json;
mod lines;

use std::fmt;
use std::io;
use std::panic;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

pub use self::format::LogFormat;
use self::json::JsonLines;
use self::lines::Lines;
use crate::limits;

/// Why there is no log.
#[derive(Debug)]
pub enum LogError {
    /// What is logged cannot be told from this.
    Filter(FilterError),
    /// The system has no thread.
    Thread(io::Error),
    /// There is a log already.
    Begun,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "no thread for the log: {error}"),
            Self::Begun => f.write_str("there is a log already"),
        }
    }
}

impl std::error::Error for LogError {}

/// A filter that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    filter: String,
    reason: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilterError { filter, reason } = self;
        write!(
            f,
            "'{filter}' is no filter: {reason}; use a level such as info, or target=level pairs \
             with commas between them"
        )
    }
}

impl std::error::Error for FilterError {}

/// The lines on their way to standard error.
static LINES: OnceLock<Lines> = OnceLock::new();

/// What is logged.
static FILTER: Mutex<Option<Filter>> = Mutex::new(None);

struct Filter {
    text: String,
    handle: reload::Handle<EnvFilter, Registry>,
}

/// Starts the log: what a filter lets through, in a form.
///
/// # Errors
///
/// Where the filter cannot be read, there is no thread, or the log was started before.
pub fn start(filter: &str, format: LogFormat) -> Result<(), LogError> {
    let read = read_filter(filter).map_err(LogError::Filter)?;
    let lines = Lines::start(io::stderr(), format).map_err(LogError::Thread)?;
    let lines = LINES.get_or_init(|| lines).clone();
    let (read, handle) = reload::Layer::new(read);
    let layer = match format {
        LogFormat::Text => tracing_subscriber::fmt::layer()
            .with_writer(lines)
            .with_ansi(false)
            .log_internal_errors(false)
            .with_filter(read)
            .boxed(),
        LogFormat::Json => JsonLines::new(lines).with_filter(read).boxed(),
    };
    let begun = tracing_subscriber::registry().with(layer).try_init();
    begun.map_err(|_| LogError::Begun)?;
    *FILTER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Filter {
        text: filter.to_owned(),
        handle,
    });
    Ok(())
}

fn read_filter(text: &str) -> Result<EnvFilter, FilterError> {
    let fault = |reason: String| FilterError {
        filter: text.to_owned(),
        reason,
    };
    if text.len() > limits::LOG_FILTER_BYTES_MAX {
        return Err(FilterError {
            filter: "...".to_owned(),
            reason: format!("it is longer than {} bytes", limits::LOG_FILTER_BYTES_MAX),
        });
    }
    if text.trim().is_empty() {
        return Err(fault("it is empty".to_owned()));
    }
    EnvFilter::try_new(text).map_err(|error| fault(error.to_string()))
}

/// Returns what is logged; none where there is no log.
#[must_use]
pub fn filter() -> Option<String> {
    let filter = FILTER.lock().unwrap_or_else(PoisonError::into_inner);
    filter.as_ref().map(|filter| filter.text.clone())
}

/// Changes what is logged, from the next line on.
///
/// # Errors
///
/// Where the filter cannot be read; then nothing is changed.
pub fn set_filter(text: &str) -> Result<(), FilterError> {
    let read = read_filter(text)?;
    let mut filter = FILTER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(filter) = filter.as_mut() {
        let set = filter.handle.reload(read);
        set.map_err(|error| FilterError {
            filter: text.to_owned(),
            reason: error.to_string(),
        })?;
        filter.text = text.to_owned();
    }
    Ok(())
}

/// Writes panics to the log, which never blocks, in the place of standard error, which may.
pub fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("a value that is no text");
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a bug of the referee: {what}");
    }));
}

/// Waits until what was logged is written, but not for long.
pub fn finish() {
    if let Some(lines) = LINES.get() {
        lines.finish();
    }
}

/// How many lines were dropped.
pub(crate) fn dropped() -> Arc<AtomicU64> {
    lines::dropped()
}
