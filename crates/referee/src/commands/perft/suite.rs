//! `referee perft --suite`: a verdict for each position of a file.

use std::io::{self, Read as _, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use referee_perft::{Case, Count, Means, count, limits, read_suite};
use serde_json::json;

use super::arguments::PerftArguments;
use crate::commands::open_or_stdin;
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::PERFT_SUITE_BYTES_MAX;
use crate::printable::standard_output;

/// What became of a position.
enum Verdict {
    /// Every count is right; so many were compared and so many passed over.
    Passed { compared: usize, left_out: usize },
    /// A count is wrong.
    Failed {
        depth: u32,
        expected: u128,
        found: u128,
    },
    /// It was not finished.
    Stopped,
}

/// Runs a suite; fails where a position does.
pub(super) fn run(file: &Path, arguments: &PerftArguments, cancelled: &AtomicBool) -> Outcome {
    let place = |error: &dyn std::fmt::Display| {
        Failure::Trouble(format!("--suite: {}: {error}", file.display()))
    };
    let mut text = String::new();
    let mut reader = open_or_stdin(file)
        .map_err(|error| place(&error))?
        .take(PERFT_SUITE_BYTES_MAX + 1);
    let read = reader.read_to_string(&mut text);
    if read.map_err(|error| place(&error))? as u64 > PERFT_SUITE_BYTES_MAX {
        return Err(place(&"the file is too long for a suite"));
    }
    let cases = read_suite(&text).map_err(|error| place(&error))?;
    let means = Means {
        processor: arguments.processor(),
        last_ply: arguments.last_ply(),
        table: None,
        cancelled: Some(cancelled),
    };
    let threads = match arguments.threads() {
        0 => thread::available_parallelism().map_or(1, usize::from),
        threads => threads.min(limits::THREADS_MAX),
    };
    let (mut passed, mut failed) = (0, 0);
    let mut out = standard_output(arguments.json);
    let written = judge_all(
        &cases,
        threads,
        |case| judge(case, arguments.max_nodes, means),
        |case, verdict| {
            match verdict {
                Verdict::Passed { .. } => passed += 1,
                Verdict::Failed { .. } => failed += 1,
                Verdict::Stopped => return Ok(()),
            }
            let written = print(&mut out, file, case, &verdict, arguments.json);
            if written.is_err() {
                // Nobody learns of what is counted from here on.
                cancelled.store(true, Ordering::Relaxed);
            }
            written
        },
    );
    written.map_err(Failure::Output)?;
    let sums = if arguments.json {
        json!({ "passed": passed, "failed": failed }).to_string()
    } else {
        format!("{passed} passed, {failed} failed")
    };
    let written = writeln!(out, "{sums}").and_then(|()| out.flush());
    written.map_err(Failure::Output)?;
    if cancelled.load(Ordering::Relaxed) {
        Err(Failure::Interrupted(format!(
            "stopped; {} positions were not counted",
            cases.len() - passed - failed
        )))
    } else if failed > 0 {
        Err(Failure::Found(format!("{failed} positions failed")))
    } else {
        Ok(Exit::Fine)
    }
}

/// Judges the cases on some threads, and hands the verdicts over in the order of the cases, until
/// one cannot be taken.
fn judge_all(
    cases: &[Case],
    threads: usize,
    judge: impl Fn(&Case) -> Verdict + Sync,
    mut take: impl FnMut(&Case, Verdict) -> io::Result<()>,
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.min(cases.len()) {
            let (next, judge, sender) = (&next, &judge, sender.clone());
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    if sender.send((index, judge(case))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting: Vec<Option<Verdict>> = cases.iter().map(|_| None).collect();
        let mut ready = 0;
        for (index, verdict) in receiver {
            waiting[index] = Some(verdict);
            while let Some(verdict) = waiting.get_mut(ready).and_then(Option::take) {
                take(&cases[ready], verdict)?;
                ready += 1;
            }
        }
        Ok(())
    })
}

fn judge(case: &Case, max_nodes: u128, means: Means<'_>) -> Verdict {
    let mut compared = 0;
    for &(depth, expected) in case.counts.iter().filter(|(_, nodes)| *nodes <= max_nodes) {
        match count(&case.position, depth, means) {
            Count::Done(found) if found == expected => compared += 1,
            Count::Cancelled => return Verdict::Stopped,
            Count::Done(found) => {
                return Verdict::Failed {
                    depth,
                    expected,
                    found,
                };
            }
            Count::TooMany => {
                return Verdict::Failed {
                    depth,
                    expected,
                    found: u128::MAX,
                };
            }
        }
    }
    Verdict::Passed {
        compared,
        left_out: case.counts.len() - compared,
    }
}

fn print(
    out: &mut impl Write,
    file: &Path,
    case: &Case,
    verdict: &Verdict,
    as_json: bool,
) -> io::Result<()> {
    let file = file.display().to_string();
    if as_json {
        let mut object = json!({ "file": file, "line": case.line, "name": case.name });
        match verdict {
            Verdict::Passed { compared, left_out } => {
                object["passed"] = json!(true);
                object["compared"] = json!(compared);
                object["left_out"] = json!(left_out);
            }
            Verdict::Failed {
                depth,
                expected,
                found,
            } => {
                object["passed"] = json!(false);
                object["depth"] = json!(depth);
                object["expected"] = json!(expected.to_string());
                object["found"] = json!(found.to_string());
            }
            Verdict::Stopped => {}
        }
        return writeln!(out, "{object}");
    }
    let name = if case.name.is_empty() {
        case.position.to_string()
    } else {
        case.name.clone()
    };
    match verdict {
        Verdict::Passed {
            compared,
            left_out: 0,
        } => writeln!(
            out,
            "{file}:{}: passed, {compared} counts ({name})",
            case.line
        ),
        Verdict::Passed { compared, left_out } => writeln!(
            out,
            "{file}:{}: passed, {compared} counts, {left_out} left out ({name})",
            case.line
        ),
        Verdict::Failed {
            depth,
            expected,
            found,
        } => writeln!(
            out,
            "{file}:{}: FAILED at depth {depth}: expected {expected}, found {found} ({name})",
            case.line
        ),
        Verdict::Stopped => Ok(()),
    }
}
