//! `referee judge`: re-judges games from files in Portable Game Notation, under any profile and on
//! all cores, and never stops at a bad game.

mod games;
mod output;
mod printable;
mod profile;
mod source;
mod split;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::exit::{Exit, Failure, Outcome, tell};
use games::{Judge, Line};
use output::{Output, Summary};
use printable::{Escape, Printable, printable};
use source::{PIECE_BYTES, Source};
use split::{Splitter, Work};

/// Pieces of work that wait for a core, for each of them.
const WAITING_PER_THREAD: usize = 2;

/// The command line of `referee judge`.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Files in Portable Game Notation, plain, gzip or Zstandard; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The rules under which the games are judged.
    #[arg(
        long,
        short,
        value_name = "NAME",
        default_value = "fide_standard",
        env = "REFEREE_PROFILE"
    )]
    profile: String,
    /// Writes a line of JSON for each game, and one for the summary.
    #[arg(long, short)]
    json: bool,
    /// Shows faults of the text, too, that leave no doubt about the game.
    #[arg(long, short)]
    warnings: bool,
    /// Leaves out the games that are clean.
    #[arg(long, short)]
    quiet: bool,
    /// How many threads judge. Range: 1 to 1024. Default: one for each core.
    #[arg(long, short, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl JudgeArguments {
    /// Judges all files.
    pub(crate) fn run(self) -> Outcome {
        let profile = profile::named(&self.profile).map_err(Failure::Usage)?;
        let threads = self.threads.map_or(0, usize::from);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool
            .map_err(|error| Failure::Trouble(format!("the threads cannot be started: {error}")))?;
        let judge = Judge { profile };
        let mut summary = Summary::default();
        let judged = self.judge_all(&judge, &pool, &mut summary);
        judged.map_err(Failure::Output)?;
        Ok(match summary {
            // What is in a file that cannot be read, nobody knows.
            Summary { failed_files, .. } if failed_files > 0 => Exit::Trouble,
            _ if summary.is_clean() => Exit::Fine,
            _ => Exit::Found,
        })
    }

    fn judge_all(
        &self,
        judge: &Judge,
        pool: &rayon::ThreadPool,
        summary: &mut Summary,
    ) -> io::Result<()> {
        let escape = match self.json {
            true => Escape::Json,
            false => Escape::Braces,
        };
        let mut output = Output {
            out: Printable::new(BufWriter::new(io::stdout().lock()), escape),
            as_json: self.json,
            shows_warnings: self.warnings,
            is_quiet: self.quiet,
            summary,
        };
        for path in &self.files {
            let before = output.summary.games;
            let failure = judge_file(path, judge, pool, &mut output)?;
            let has_games = output.summary.games > before;
            let failure = failure.map(|error| error.to_string());
            let no_game = || "there is no game in it".to_owned();
            if let Some(why) = failure.or_else(|| (!has_games).then(no_game)) {
                output.summary.failed_files += 1;
                output.out.flush()?;
                let text = format!("error: {}: {why}", path.display());
                tell(printable(&text, Escape::Braces));
            }
        }
        let Output {
            mut out, summary, ..
        } = output;
        summary.print(&mut out, self.json)?;
        out.flush()
    }
}

/// Judges a file. The inner error is one of the file, the outer one of the output.
fn judge_file(
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
