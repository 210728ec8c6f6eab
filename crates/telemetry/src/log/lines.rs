//! The way of log lines to where they are written: a bounded queue, and a thread of its own behind
//! it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};

use tracing_subscriber::fmt::MakeWriter;

use super::format::LogFormat;
use crate::limits::{LOG_END_TIMEOUT, LOG_END_TRIES, LOG_LINE_BYTES_MAX, LOG_LINES_WAITING_MAX};

/// What stands at the end of a line that was too long.
const CUT: &[u8] = b" ...\n";

/// How many lines the process has dropped.
pub(super) fn dropped() -> Arc<AtomicU64> {
    static DROPPED: OnceLock<Arc<AtomicU64>> = OnceLock::new();
    Arc::clone(DROPPED.get_or_init(Arc::default))
}

/// What comes through the queue.
enum Entry {
    Line(Vec<u8>),
    /// Somebody waits until what came before is written.
    Flush(SyncSender<()>),
}

/// The way of lines to where they are written.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    queue: SyncSender<Entry>,
    missing: Missing,
}

/// The lines that were dropped: those since it was told last, and all.
#[derive(Clone, Debug)]
struct Missing {
    untold: Arc<AtomicU64>,
    all: Arc<AtomicU64>,
}

impl Missing {
    fn count(&self) {
        self.untold.fetch_add(1, Ordering::Relaxed);
        self.all.fetch_add(1, Ordering::Relaxed);
    }
}

impl Lines {
    /// Starts the thread that writes them.
    pub(super) fn start(
        output: impl Write + Send + 'static,
        format: LogFormat,
    ) -> io::Result<Lines> {
        let (queue, entries) = sync_channel(LOG_LINES_WAITING_MAX);
        let missing = Missing {
            untold: Arc::default(),
            all: dropped(),
        };
        let lines = Lines {
            queue,
            missing: missing.clone(),
        };
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || write_all(&entries, output, format, &missing))?;
        Ok(lines)
    }

    pub(super) fn push(&self, line: Vec<u8>) {
        if self.queue.try_send(Entry::Line(line)).is_err() {
            self.missing.count();
        }
    }

    pub(super) fn finish(&self) {
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
    missing: &Missing,
) {
    for entry in entries {
        let line = match entry {
            Entry::Line(line) => line,
            Entry::Flush(done) => {
                tell_missing(&mut output, format, missing);
                let _ = done.send(());
                continue;
            }
        };
        tell_missing(&mut output, format, missing);
        if output.write_all(&line).is_err() {
            missing.count();
        }
    }
}

/// Says how many lines are missing here, where some are.
fn tell_missing(output: &mut impl Write, format: LogFormat, missing: &Missing) {
    let count = missing.untold.swap(0, Ordering::Relaxed);
    if count == 0 {
        return;
    }
    let what = "lines of the log are missing here";
    let line = match format {
        LogFormat::Text => format!(" WARN {what} count={count}\n"),
        LogFormat::Json => {
            format!("{{\"level\":\"WARN\",\"message\":\"{what}\",\"count\":{count}}}\n")
        }
    };
    if output.write_all(line.as_bytes()).is_err() {
        missing.untold.fetch_add(count, Ordering::Relaxed);
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
pub(super) struct Line<'a> {
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
        assert_eq!(lines.missing.all.load(Ordering::Relaxed), 3);
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
