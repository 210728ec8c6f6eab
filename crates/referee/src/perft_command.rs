//! `referee perft`: counts the moves of a tree, or runs a suite of positions with known counts.

mod checkpoint;
mod output;
mod progress;
mod suite;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use referee_chess::{CastlingMode, Position};
use referee_perft::{
    Ending, LastPly, Options, Processor, Run, Statistics, Table, TableUse, Total, limits,
    read_position, statistics_on_threads,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::EXIT_USAGE;

/// The command line of `referee perft`.
#[derive(Debug, Args)]
pub(crate) struct PerftArguments {
    /// How many plies to count. Range: 0 to 40.
    #[arg(
        required_unless_present = "suite",
        value_parser = clap::value_parser!(u32).range(0..=i64::from(limits::DEPTH_MAX))
    )]
    depth: Option<u32>,
    /// The position to count from; the starting position by default. It need not be one that can
    /// arise in play.
    #[arg(long)]
    fen: Option<String>,
    /// Castles as in Chess960.
    #[arg(long)]
    chess960: bool,
    /// Shows the count below each first move.
    #[arg(long, conflicts_with = "detail")]
    divide: bool,
    /// Shows what the moves of the last ply are: captures, checks, mates and so on. Slower.
    #[arg(long)]
    detail: bool,
    /// How many threads count. Range: 1 to 1024. Default: one for each core.
    #[arg(
        long,
        env = "REFEREE_PERFT_THREADS",
        value_parser = clap::value_parser!(u16).range(1..=limits::THREADS_MAX as i64)
    )]
    threads: Option<u16>,
    /// The size of a hash table in MiB. Range: 1 to 1048576. Default: none.
    #[arg(
        long,
        value_name = "MIB",
        env = "REFEREE_PERFT_HASH",
        conflicts_with = "detail"
    )]
    hash: Option<usize>,
    /// The keys of the hash table: another number makes an independent proof.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    key_set: u64,
    /// Makes every move of the last ply instead of counting them in bulk.
    #[arg(long, conflicts_with = "detail")]
    no_bulk: bool,
    /// Uses only what every processor of this kind can do.
    #[arg(long)]
    portable: bool,
    /// Writes the result as JSON.
    #[arg(long)]
    json: bool,
    /// Where ctrl-C leaves what was counted, and where the same command takes it up again.
    /// Default: a file in this folder, named after the count.
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Runs the positions of an `.epd` or `.perft` file against their counts.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["depth", "fen", "chess960", "divide", "detail", "hash", "checkpoint"]
    )]
    suite: Option<PathBuf>,
    /// Passes over counts of a suite above so many nodes.
    #[arg(
        long,
        value_name = "NODES",
        default_value_t = 1_000_000_000,
        requires = "suite"
    )]
    max_nodes: u128,
}

/// Why the command did not do its work.
enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// The work failed.
    Work(String),
}

impl PerftArguments {
    /// Counts until all is counted or a signal comes.
    pub(crate) fn run(self) -> ExitCode {
        let cancelled = Arc::new(AtomicBool::new(false));
        if let Err(message) = cancel_on_signal(Arc::clone(&cancelled)) {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
        let outcome = match (&self.suite, self.depth) {
            (Some(file), _) => suite::run(file, &self, &cancelled),
            (None, Some(depth)) => self.count(depth, &cancelled),
            (None, None) => Err(Failure::Usage("a depth or --suite is required".to_owned())),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Usage(message)) => {
                eprintln!("error: {message}");
                ExitCode::from(EXIT_USAGE)
            }
            Err(Failure::Work(message)) => {
                eprintln!("error: {message}");
                ExitCode::FAILURE
            }
        }
    }

    fn position(&self) -> Result<Position, Failure> {
        let mode = if self.chess960 {
            CastlingMode::Chess960
        } else {
            CastlingMode::Standard
        };
        let Some(fen) = &self.fen else {
            return Ok(Position::startpos());
        };
        read_position(fen, mode).map_err(|error| Failure::Usage(format!("--fen: {error}")))
    }

    fn threads(&self) -> usize {
        self.threads.map_or(0, usize::from)
    }

    fn processor(&self) -> Processor {
        if self.portable {
            Processor::Portable
        } else {
            Processor::Native
        }
    }

    fn last_ply(&self) -> LastPly {
        if self.no_bulk {
            LastPly::Each
        } else {
            LastPly::Bulk
        }
    }

    fn count(&self, depth: u32, cancelled: &AtomicBool) -> Result<(), Failure> {
        let position = self.position()?;
        let begin = Instant::now();
        if self.detail {
            let found = self.statistics(&position, depth, cancelled)?;
            output::statistics(self.json, &position, depth, &found, begin.elapsed());
            return Ok(());
        }
        let table = match self.hash {
            Some(mib) => Some(
                Table::new(mib, self.key_set)
                    .map_err(|error| Failure::Usage(format!("--hash: {error}")))?,
            ),
            None => None,
        };
        let (total, used, is_whole) = self.total(&position, depth, table.as_ref(), cancelled)?;
        let count = output::Count {
            position: &position,
            depth,
            total: &total,
            used,
            divide: self.divide,
            hash_mib: table.as_ref().map(Table::mib),
            elapsed: begin.elapsed(),
            is_whole,
        };
        count.print(self.json);
        Ok(())
    }

    fn statistics(
        &self,
        position: &Position,
        depth: u32,
        cancelled: &AtomicBool,
    ) -> Result<Statistics, Failure> {
        statistics_on_threads(position, depth, self.threads(), cancelled)
            .map_err(|error| Failure::Usage(error.to_string()))?
            .ok_or_else(|| Failure::Work("stopped; details leave no checkpoint".to_owned()))
    }

    /// Counts, from where an earlier count was stopped if there is one; returns also what was done
    /// with the table, and whether there was none.
    fn total(
        &self,
        position: &Position,
        depth: u32,
        table: Option<&Table>,
        cancelled: &AtomicBool,
    ) -> Result<(Total, TableUse, bool), Failure> {
        let file = checkpoint::path(self.checkpoint.as_deref(), position, depth);
        let mut run = match checkpoint::read(&file).map_err(Failure::Work)? {
            Some(stopped) => {
                eprintln!("goes on from {}", file.display());
                Run::resume(position, &stopped, self.threads())
                    .map_err(|error| Failure::Work(format!("{}: {error}", file.display())))?
            }
            None => Run::new(position, depth, self.threads())
                .map_err(|error| Failure::Usage(error.to_string()))?,
        };
        let is_whole = run.counted() == 0;
        let view = progress::View::new(run.counted(), run.positions());
        let watch = |progress| view.show(progress);
        let ending = run.count(Options {
            processor: self.processor(),
            last_ply: self.last_ply(),
            table,
            cancelled: Some(cancelled),
            watch: Some(&watch),
        });
        view.end();
        match ending.map_err(|error| Failure::Work(error.to_string()))? {
            Ending::Done { total, table } => {
                checkpoint::remove(&file).map_err(Failure::Work)?;
                Ok((total, table, is_whole))
            }
            Ending::Cancelled => {
                checkpoint::write(&file, &run.checkpoint()).map_err(Failure::Work)?;
                Err(Failure::Work(format!(
                    "stopped; the same command goes on from {}",
                    file.display()
                )))
            }
        }
    }
}

/// Stops counting at SIGINT or SIGTERM; a second signal ends the process at once.
fn cancel_on_signal(cancelled: Arc<AtomicBool>) -> Result<(), String> {
    let no_signal = |error| format!("cannot wait for signals: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(no_signal)?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::interrupt()).map_err(no_signal)?,
            signal(SignalKind::terminate()).map_err(no_signal)?,
        )
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if cancelled.swap(true, Ordering::Relaxed) {
                    std::process::exit(1);
                }
            }
        });
    });
    Ok(())
}
