//! `referee can-mate --suite`: a file of positions with known answers.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use rayon::prelude::*;
use referee_mate::Budget;
use referee_mate::suite::{Case, Verdict, cases, judge};

use super::answer::describe;
use crate::commands::open_or_stdin;
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::{MATE_SUITE_BATCH, MATE_SUITE_LINE_BYTES_MAX};
use crate::printable::standard_output;

/// Asks about both sides of every position of a file, and compares the answers with the known
/// ones.
pub(super) fn run(path: &Path, budget: u64) -> Outcome {
    let file = open_or_stdin(path)
        .map_err(|error| Failure::Trouble(format!("{} cannot be read: {error}", path.display())))?;
    let mut lines = Lines {
        reader: BufReader::new(file),
        number: 0,
    };
    let mut out = standard_output(false);
    let (mut passed, mut failed) = (0_u64, 0_u64);
    let budget = Budget::of(budget);
    loop {
        let batch = lines.batch(path)?;
        if batch.is_empty() {
            break;
        }
        let verdicts: Vec<(Case, Vec<Verdict>)> = batch
            .into_par_iter()
            .map(|case| {
                let verdicts = judge(&case, budget, &|| false).to_vec();
                (case, verdicts)
            })
            .collect();
        for (case, verdicts) in verdicts {
            for verdict in verdicts {
                if verdict.is_passed() {
                    passed += 1;
                    continue;
                }
                failed += 1;
                writeln!(
                    out,
                    "{}:{}: {}: expected {}, got {}: {}",
                    path.display(),
                    case.line,
                    verdict.winner,
                    if verdict.expected { "yes" } else { "no" },
                    describe(&case.position, &verdict.answer),
                    case.fen
                )
                .map_err(Failure::Output)?;
            }
        }
    }
    writeln!(out, "{passed} passed, {failed} failed").map_err(Failure::Output)?;
    out.flush().map_err(Failure::Output)?;
    Ok(if failed == 0 { Exit::Fine } else { Exit::Found })
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The lines of a suite, each of bounded length.
struct Lines<R> {
    reader: R,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    fn batch(&mut self, path: &Path) -> Result<Vec<Case>, Failure> {
        let mut batch = Vec::new();
        while batch.len() < MATE_SUITE_BATCH {
            let mut line = Vec::new();
            let read = io::Read::take(&mut self.reader, MATE_SUITE_LINE_BYTES_MAX + 1)
                .read_until(b'\n', &mut line)
                .map_err(|error| {
                    Failure::Trouble(format!("{} cannot be read: {error}", path.display()))
                })?;
            if read == 0 {
                break;
            }
            self.number += 1;
            let at = |what: String| {
                Failure::Trouble(format!("{}:{}: {what}", path.display(), self.number))
            };
            if line.len() as u64 > MATE_SUITE_LINE_BYTES_MAX {
                return Err(at(format!(
                    "the line is longer than {MATE_SUITE_LINE_BYTES_MAX} bytes"
                )));
            }
            // A mark at the beginning says how the text is written, and nothing of what it says.
            if self.number == 1 && line.starts_with(BYTE_ORDER_MARK) {
                line.drain(..BYTE_ORDER_MARK.len());
            }
            let text = String::from_utf8(line).map_err(|_| at("the line is not UTF-8".into()))?;
            for case in cases(&text) {
                let case = case.map_err(|error| at(error.reason))?;
                batch.push(Case {
                    line: self.number,
                    ..case
                });
            }
        }
        Ok(batch)
    }
}
