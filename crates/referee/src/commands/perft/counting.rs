//! One count: from its beginning or from a checkpoint, to its result or to another checkpoint.

#![expect(clippy::disallowed_types, reason = "how long a count took is shown")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use referee_chess::Position;
use referee_perft::{
    Ending, Options, Run, Statistics, Table, TableUse, Total, statistics_on_threads,
};

use super::arguments::PerftArguments;
use super::failure::Failure;
use super::{checkpoint, output, progress};

/// Counts to a depth, and prints the result.
pub(super) fn count(
    arguments: &PerftArguments,
    depth: u32,
    cancelled: &AtomicBool,
) -> Result<(), Failure> {
    let position = arguments.position()?;
    let begin = Instant::now();
    if arguments.detail {
        let found = details(arguments, &position, depth, cancelled)?;
        output::statistics(arguments.json, &position, depth, &found, begin.elapsed());
        return Ok(());
    }
    let table = match arguments.hash {
        Some(mib) => Some(
            Table::new(mib, arguments.key_set)
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
    count.print(arguments.json);
    Ok(())
}

fn details(
    arguments: &PerftArguments,
    position: &Position,
    depth: u32,
    cancelled: &AtomicBool,
) -> Result<Statistics, Failure> {
    statistics_on_threads(position, depth, arguments.threads(), cancelled)
        .map_err(|error| Failure::Usage(error.to_string()))?
        .ok_or_else(|| Failure::Work("stopped; details leave no checkpoint".to_owned()))
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
    let mut run = match checkpoint::read(&file).map_err(Failure::Work)? {
        Some(stopped) => {
            eprintln!("goes on from {}", file.display());
            Run::resume(position, &stopped, arguments.threads())
                .map_err(|error| Failure::Work(format!("{}: {error}", file.display())))?
        }
        None => Run::new(position, depth, arguments.threads())
            .map_err(|error| Failure::Usage(error.to_string()))?,
    };
    let is_whole = run.counted() == 0;
    let view = progress::View::new(run.counted(), run.positions());
    let watch = |progress| view.show(progress);
    let ending = run.count(Options {
        processor: arguments.processor(),
        last_ply: arguments.last_ply(),
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
