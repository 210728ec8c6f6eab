//! One file: read by a thread of its own, judged on all cores, written in its order.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use super::games::{Judge, Line};
use super::output::Output;
use super::source::{PIECE_BYTES, Source};
use super::split::{Splitter, Work};

/// Pieces of work that wait for a core, for each of them.
const WAITING_PER_THREAD: usize = 2;

/// Judges a file. The inner error is one of the file, the outer one of the output.
pub(super) fn judge_file(
    path: &Path,
    judge: &Judge,
    pool: &rayon::ThreadPool,
    output: &mut Output<'_, impl Write>,
) -> io::Result<Option<io::Error>> {
    let file_bytes = Arc::new(AtomicU64::new(0));
    let waiting = WAITING_PER_THREAD * pool.current_num_threads();
    let (sender, receiver) = sync_channel(waiting);
    let progress = progress(path);
    thread::scope(|scope| {
        let bytes = Arc::clone(&file_bytes);
        let reader = scope.spawn(move || read_file(path, judge, bytes, &sender));
        let mut written = Ok(());
        while let Some(works) = receive(&receiver, waiting) {
            let lines: Vec<Vec<Line>> = pool.install(|| {
                let lines = works.into_par_iter().map(|work| match work {
                    Work::Batch { place, text } => judge.read_whole(place, &text),
                    Work::Judged(lines) => lines,
                });
                lines.collect()
            });
            written = lines.iter().try_for_each(|lines| output.print(path, lines));
            if written.is_err() {
                break;
            }
            progress.set_position(file_bytes.load(Ordering::Relaxed));
            progress.set_message(format!("{} games", output.summary.games));
        }
        // Without a receiver the reading thread stops at its next piece of work.
        drop(receiver);
        progress.finish_and_clear();
        written?;
        Ok(match reader.join() {
            Ok(read) => read.err(),
            Err(_) => Some(io::Error::other("the reading thread has panicked")),
        })
    })
}

/// Waits for work, and takes what else is there.
fn receive(receiver: &Receiver<Work>, count_max: usize) -> Option<Vec<Work>> {
    let mut works = vec![receiver.recv().ok()?];
    while works.len() < count_max {
        match receiver.try_recv() {
            Ok(work) => works.push(work),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
        }
    }
    Some(works)
}

/// Reads a file to its end, and sends its games in batches.
fn read_file(
    path: &Path,
    judge: &Judge,
    file_bytes: Arc<AtomicU64>,
    sender: &SyncSender<Work>,
) -> io::Result<()> {
    let mut source = Source::open(path, file_bytes)?;
    let mut splitter = Splitter::new(judge);
    let mut buffer = vec![0; PIECE_BYTES];
    // Nobody receives any more where the output is broken, which is told elsewhere.
    let mut send = |work| sender.send(work).map_err(|_| ());
    let read = loop {
        match source.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(length) => {
                if splitter.push(&buffer[..length], &mut send).is_err() {
                    return Ok(());
                }
            }
            // What came before the error is judged all the same.
            Err(error) => break Err(error),
        }
    };
    _ = splitter.finish(&mut send);
    read
}

/// Shows how far a file is read, on a terminal.
fn progress(path: &Path) -> ProgressBar {
    let length = path.metadata().ok().filter(|_| io::stderr().is_terminal());
    let Some(length) = length.map(|metadata| metadata.len()) else {
        return ProgressBar::hidden();
    };
    let style = ProgressStyle::with_template(
        "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} ETA {eta} {msg}",
    );
    let bar = ProgressBar::new(length);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
