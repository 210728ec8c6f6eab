//! What is logged, and how: text for people or JSON for machines, on standard error.
//!
//! Lines go to standard error by a thread of their own, with a bounded number of lines between. A
//! log that nobody reads, that is read slowly or whose reader is gone stops nothing and ends
//! nothing: lines that find no room are dropped and counted, and the count is a line as soon as
//! there is room again.

use std::fmt;
use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::limits::{LOG_END_TIMEOUT, LOG_END_TRIES, LOG_LINE_BYTES_MAX, LOG_LINES_WAITING_MAX};

/// Behind the options that a command has of its own.
const LAST: usize = 900;

/// What stands at the end of a line that was too long.
const CUT: &[u8] = b" ...\n";

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The part of the command line about logging.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// What is logged, such as `info` or `warn,referee_server=debug`.
    #[arg(
        long,
        env = "REFEREE_LOG",
        default_value = "info",
        global = true,
        display_order = LAST
    )]
    log: String,
    /// How log lines are written.
    #[arg(
        long,
        env = "REFEREE_LOG_FORMAT",
        value_enum,
        default_value = "text",
        global = true,
        display_order = LAST
    )]
    log_format: LogFormat,
}

/// The filter cannot be read, or there is no thread for the log.
#[derive(Debug)]
pub(crate) enum LogError {
    /// The filter, and what is wrong with it.
    Filter { filter: String, reason: String },
    /// The system has no thread.
    Thread(io::Error),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter { filter, reason } => write!(
                f,
                "--log (REFEREE_LOG) is '{filter}', which is no filter: {reason}; use a level such \
                 as info, or target=level pairs with commas between them"
            ),
            Self::Thread(error) => write!(f, "no thread for the log: {error}"),
        }
    }
}

/// The lines on their way to standard error.
static LINES: OnceLock<Lines> = OnceLock::new();

impl LogArguments {
    /// Starts logging.
    pub(crate) fn start(&self) -> Result<(), LogError> {
        let filter = EnvFilter::try_new(&self.log).map_err(|error| LogError::Filter {
            filter: self.log.clone(),
            reason: error.to_string(),
        })?;
        let lines = Lines::start(io::stderr(), self.log_format).map_err(LogError::Thread)?;
        let lines = LINES.get_or_init(|| lines);
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(lines.clone())
            .log_internal_errors(false);
        match self.log_format {
            LogFormat::Text => builder.with_ansi(false).init(),
            LogFormat::Json => builder.json().init(),
        }
        Ok(())
    }
}

/// Writes panics to the log, which never blocks, in the place of standard error, which may.
pub(crate) fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("a value that is no text");
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "a bug of the referee: {what}");
    }));
}

/// Waits until what was logged is written, but not for long.
pub(crate) fn finish() {
    if let Some(lines) = LINES.get() {
        lines.finish();
    }
}

/// What comes through the queue.
enum Entry {
    Line(Vec<u8>),
    /// Somebody waits until what came before is written.
    Flush(SyncSender<()>),
}

/// The way of lines to where they are written.
#[derive(Clone, Debug)]
struct Lines {
    queue: SyncSender<Entry>,
    dropped: Arc<AtomicU64>,
}

impl Lines {
    /// Starts the thread that writes them.
    fn start(output: impl Write + Send + 'static, format: LogFormat) -> io::Result<Lines> {
        let (queue, entries) = sync_channel(LOG_LINES_WAITING_MAX);
        let dropped = Arc::new(AtomicU64::new(0));
        let lines = Lines {
            queue,
            dropped: Arc::clone(&dropped),
        };
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || write_all(&entries, output, format, &dropped))?;
        Ok(lines)
    }

    fn push(&self, line: Vec<u8>) {
        if self.queue.try_send(Entry::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn finish(&self) {
        let (done, is_done) = sync_channel(1);
        for _ in 0..LOG_END_TRIES {
            if self.queue.try_send(Entry::Flush(done.clone())).is_ok() {
                let _ = is_done.recv_timeout(LOG_END_TIMEOUT);
                return;
            }
            // Nobody is done: a wait for room, which comes soon where anybody reads.
            let _ = is_done.recv_timeout(LOG_END_TIMEOUT / LOG_END_TRIES);
        }
    }
}

/// Writes lines as they come. One that cannot be written is dropped like one that found no room.
fn write_all(
    entries: &Receiver<Entry>,
    mut output: impl Write,
    format: LogFormat,
    dropped: &AtomicU64,
) {
    for entry in entries {
        let line = match entry {
            Entry::Line(line) => line,
            Entry::Flush(done) => {
                tell_dropped(&mut output, format, dropped);
                let _ = done.send(());
                continue;
            }
        };
        tell_dropped(&mut output, format, dropped);
        if output.write_all(&line).is_err() {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Says how many lines are missing here, where some are.
fn tell_dropped(output: &mut impl Write, format: LogFormat, dropped: &AtomicU64) {
    let count = dropped.swap(0, Ordering::Relaxed);
    if count == 0 {
        return;
    }
    let what = "lines of the log are missing here";
    let line = match format {
        LogFormat::Text => format!(" WARN {what} count={count}\n"),
        LogFormat::Json => format!(
            "{{\"level\":\"WARN\",\"fields\":{{\"message\":\"{what}\",\"count\":{count}}}}}\n"
        ),
    };
    if output.write_all(line.as_bytes()).is_err() {
        dropped.fetch_add(count, Ordering::Relaxed);
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            lines: self,
            bytes: Vec::new(),
        }
    }
}

/// One line, which is on its way when this is dropped.
struct Line<'a> {
    lines: &'a Lines,
    bytes: Vec<u8>,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is beyond the limit is dropped.
        let room = LOG_LINE_BYTES_MAX.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.len() == LOG_LINE_BYTES_MAX && bytes.last() != Some(&b'\n') {
            bytes.truncate(LOG_LINE_BYTES_MAX - CUT.len());
            bytes.extend_from_slice(CUT);
        }
        if !bytes.is_empty() {
            self.lines.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use super::*;

    /// Writes when it is let, and keeps what was written.
    struct Output {
        lets: Receiver<bool>,
        written: Arc<Mutex<String>>,
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.lets.recv() != Ok(true) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let text = String::from_utf8_lossy(bytes);
            self.written.lock().expect("nobody panics").push_str(&text);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn write(lines: &Lines, text: &str) {
        lines
            .make_writer()
            .write_all(text.as_bytes())
            .expect("it never fails");
    }

    #[test]
    fn a_reader_that_stands_still_stops_nobody_and_is_told_what_it_missed() {
        let (permits, lets) = channel();
        let written = Arc::new(Mutex::new(String::new()));
        let output = Output {
            lets,
            written: Arc::clone(&written),
        };
        let lines = Lines::start(output, LogFormat::Text).expect("a thread");
        // One is being written, the queue is full, and the rest finds no room.
        let count = LOG_LINES_WAITING_MAX + 10;
        for number in 0..count {
            write(&lines, &format!("{number}\n"));
        }
        for _ in 0..count + 2 {
            permits.send(true).expect("it writes");
        }
        lines.finish();
        let text = written.lock().expect("nobody panics").clone();
        let whole: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
        let missing: usize = text
            .lines()
            .filter_map(|line| line.split_once("count=")?.1.parse::<usize>().ok())
            .sum();
        assert!(missing >= 9, "{text}");
        assert_eq!(whole.len() + missing, count);
        assert_eq!(whole[0], "0");
    }

    #[test]
    fn a_reader_that_is_gone_ends_nobody() {
        let (permits, lets) = channel();
        let written = Arc::default();
        let lines = Lines::start(Output { lets, written }, LogFormat::Text).expect("a thread");
        drop(permits);
        for _ in 0..3 {
            write(&lines, "one\n");
            lines.finish();
        }
        assert_eq!(lines.dropped.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn lines_are_bounded() {
        let (permits, lets) = channel();
        let written = Arc::new(Mutex::new(String::new()));
        let output = Output {
            lets,
            written: Arc::clone(&written),
        };
        let lines = Lines::start(output, LogFormat::Text).expect("a thread");
        permits.send(true).expect("it writes");
        write(&lines, &"x".repeat(2 * LOG_LINE_BYTES_MAX));
        lines.finish();
        let text = written.lock().expect("nobody panics").clone();
        assert_eq!(text.len(), LOG_LINE_BYTES_MAX);
        assert!(text.ends_with("x ...\n"));
    }
}
