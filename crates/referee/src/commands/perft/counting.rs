//! One count: from its beginning or from a checkpoint, to its result or to another checkpoint.

#![expect(clippy::disallowed_types, reason = "how long a count took is shown")]

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use referee_chess::Position;
use referee_perft::{
    Checkpoint, Ending, Options, PlanError, Run, RunError, Spill, Statistics, Table, TableUse,
    Total, statistics_on_threads,
};
use referee_spill::{Room, SpillFolder};

use super::arguments::PerftArguments;
use super::{checkpoint, output, progress};
use crate::exit::{Exit, Failure, Outcome, tell};
use crate::limits::SORT_ROOM_BYTES;

/// Counts to a depth, and prints the result.
pub(super) fn count(arguments: &PerftArguments, depth: u32, cancelled: &AtomicBool) -> Outcome {
    let position = arguments.position()?;
    let begin = Instant::now();
    if arguments.detail {
        let found = details(arguments, &position, depth, cancelled)?;
        let written = output::statistics(arguments.json, &position, depth, &found, begin.elapsed());
        return end(written, found.nodes);
    }
    let table = match arguments.hash {
        Some(hash) => Some(
            Table::fitting(&position, depth, hash.mib()?, arguments.key_set)
                .map_err(|error| Failure::Usage(format!("--hash: {error}")))?,
        ),
        None => None,
    };
    let (total, used, is_whole) = total(arguments, &position, depth, table.as_ref(), cancelled)?;
    let count = output::Count {
        position: &position,
        depth,
        total: &total,
        used,
        divide: arguments.divide,
        hash_mib: table.as_ref().map(Table::mib),
        elapsed: begin.elapsed(),
        is_whole,
    };
    end(count.print(arguments.json), total.nodes)
}

/// Ends a count. Where its result cannot be written, the total is told, lest hours be lost.
pub(super) fn end(written: io::Result<()>, nodes: u128) -> Outcome {
    match written {
        Ok(()) => Ok(Exit::Fine),
        Err(error) => {
            if error.kind() != io::ErrorKind::BrokenPipe {
                tell(format_args!("nodes: {nodes}"));
            }
            Err(Failure::Output(error))
        }
    }
}

fn details(
    arguments: &PerftArguments,
    position: &Position,
    depth: u32,
    cancelled: &AtomicBool,
) -> Result<Statistics, Failure> {
    statistics_on_threads(position, depth, arguments.threads(), cancelled)
        .map_err(|error| Failure::Usage(error.to_string()))?
        .ok_or_else(|| Failure::Interrupted("stopped; details leave no checkpoint".to_owned()))
}

/// Counts, from where an earlier count was stopped if there is one; returns also what was done
/// with the table, and whether there was none.
fn total(
    arguments: &PerftArguments,
    position: &Position,
    depth: u32,
    table: Option<&Table>,
    cancelled: &AtomicBool,
) -> Result<(Total, TableUse, bool), Failure> {
    let file = checkpoint::path(arguments.checkpoint.as_deref(), position, depth);
    let stopped = checkpoint::read(&file).map_err(Failure::Trouble)?;
    match arguments.plies {
        None => {
            let run = Run::new(position, depth, arguments.threads());
            let run = run.map_err(not_prepared)?;
            finish(
                run,
                Run::count,
                arguments,
                (&file, stopped),
                table,
                cancelled,
            )
        }
        Some(plies) => {
            let folder = arguments.sort_folder.clone();
            let folder = folder.unwrap_or_else(std::env::temp_dir);
            let room = Room {
                bytes_max: u64::MAX,
                left_free: SORT_ROOM_BYTES,
            };
            let place = SpillFolder::new(&folder, room);
            let run = place.run(position, depth, plies, arguments.threads(), cancelled);
            let run = run.map_err(not_prepared)?;
            let count = SpillFolder::count;
            finish(run, count, arguments, (&file, stopped), table, cancelled)
        }
    }
}

/// Why a count was not begun.
fn not_prepared(error: RunError) -> Failure {
    match &error {
        RunError::Plan(PlanError::Cancelled) => {
            Failure::Interrupted("stopped; nothing was counted yet".to_owned())
        }
        RunError::Plan(PlanError::Spill(_)) => Failure::Trouble(format!(
            "{error}; make room there, name another --sort-folder, or ask for fewer --plies"
        )),
        _ => Failure::Usage(error.to_string()),
    }
}

/// Counts what is not counted yet.
fn finish<S: Spill>(
    mut run: Run<S>,
    count: impl Fn(&mut Run<S>, Options<'_>) -> Result<Ending, RunError>,
    arguments: &PerftArguments,
    (file, stopped): (&Path, Option<Checkpoint>),
    table: Option<&Table>,
    cancelled: &AtomicBool,
) -> Result<(Total, TableUse, bool), Failure> {
    if let Some(stopped) = stopped {
        tell(format_args!("goes on from {}", file.display()));
        run.go_on_from(&stopped)
            .map_err(|error| Failure::Trouble(format!("{}: {error}", file.display())))?;
    }
    let is_whole = run.counted() == 0;
    let view = progress::View::new(run.counted(), run.positions());
    let watch = |progress| view.show(progress);
    let options = Options {
        processor: arguments.processor(),
        last_ply: arguments.last_ply(),
        table,
        cancelled: Some(cancelled),
        watch: Some(&watch),
    };
    let ending = count(&mut run, options);
    view.end();
    match ending.map_err(|error| Failure::Found(error.to_string()))? {
        Ending::Done { total, table } => {
            checkpoint::remove(file).map_err(Failure::Trouble)?;
            Ok((total, table, is_whole))
        }
        Ending::Cancelled => {
            checkpoint::write(file, &run.checkpoint()).map_err(Failure::Trouble)?;
            Err(Failure::Interrupted(format!(
                "stopped; the same command goes on from {}",
                file.display()
            )))
        }
    }
}
