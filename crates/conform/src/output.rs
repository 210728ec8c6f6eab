//! What is printed of the cases: one that failed with everything about it, and the sums.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::file::Line;
use crate::limits;
use crate::verdict::Verdict;

/// How many cases passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Everything is as the case expects.
    pub passed: usize,
    /// Something is not, or the case cannot be read.
    pub failed: usize,
    /// The case cannot be played through the contract.
    pub skipped: usize,
}

/// Where and how cases are shown, and the sums so far.
#[derive(Debug)]
pub struct Output<O, W> {
    out: O,
    warnings: W,
    json: bool,
    sums: Sums,
    skipped: BTreeMap<(String, &'static str), usize>,
}

impl<O: Write, W: Write> Output<O, W> {
    /// Shows cases on `out`: those that failed and the sums in words, or with `json` each case and
    /// the sums as one JSON object a line. What is passed over in a case goes to `warnings`.
    pub fn new(out: O, warnings: W, json: bool) -> Output<O, W> {
        Output {
            out,
            warnings,
            json,
            sums: Sums::default(),
            skipped: BTreeMap::new(),
        }
    }

    /// Says which fields of a case nobody knows.
    pub(crate) fn warn(&mut self, line: &Line, unread: &[String]) -> io::Result<()> {
        let place = line.place();
        unread.iter().try_for_each(|path| {
            let warnings = &mut self.warnings;
            writeln!(
                warnings,
                "warning: {place}: {path}: is not known and was passed over"
            )
        })
    }

    /// Counts a case, and shows it where it failed.
    pub(crate) fn show(
        &mut self,
        line: &Line,
        verdict: &Verdict,
        cited: &[String],
    ) -> io::Result<()> {
        match verdict {
            Verdict::Passed => self.sums.passed += 1,
            Verdict::Failed(_) => self.sums.failed += 1,
            Verdict::Skipped(reason) => {
                self.sums.skipped += 1;
                let kind = text(&line.value, "kind").to_owned();
                *self.skipped.entry((kind, reason)).or_default() += 1;
            }
        }
        let out = &mut self.out;
        if self.json {
            return writeln!(out, "{}", as_json(line, verdict, cited));
        }
        let Verdict::Failed(wrong) = verdict else {
            return Ok(());
        };
        writeln!(out, "FAILED {} ({})", line.id, line.place())?;
        for failure in wrong {
            writeln!(out, "  {}:", failure.step)?;
            writeln!(out, "    expected {}", shorten(&failure.expected))?;
            writeln!(out, "    answered {}", shorten(&failure.answered))?;
        }
        for name in ["law", "topic", "why"] {
            let words = text(&line.value, name);
            if !words.is_empty() {
                writeln!(out, "  {name}: {}", shorten(words))?;
            }
        }
        Ok(())
    }

    /// Shows the sums, and returns them.
    pub(crate) fn end(mut self) -> io::Result<Sums> {
        let Sums {
            passed,
            failed,
            skipped,
        } = self.sums;
        if self.json {
            let sums = json!({"passed": passed, "failed": failed, "skipped": skipped});
            writeln!(self.out, "{sums}")?;
        } else {
            for ((kind, reason), count) in &self.skipped {
                writeln!(self.out, "skipped {count} {kind}: {reason}")?;
            }
            writeln!(self.out, "{passed} passed, {failed} failed")?;
        }
        self.out.flush()?;
        Ok(self.sums)
    }
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn as_json(line: &Line, verdict: &Verdict, cited: &[String]) -> Value {
    let mut shown = json!({
        "id": line.id,
        "file": line.file.display().to_string(),
        "line": line.number,
        "cited": cited,
    });
    match verdict {
        Verdict::Passed => shown["verdict"] = json!("passed"),
        Verdict::Failed(wrong) => {
            let wrong = wrong.iter().map(|failure| {
                json!({
                    "step": failure.step,
                    "expected": failure.expected,
                    "answered": failure.answered,
                })
            });
            shown["verdict"] = json!("failed");
            shown["failures"] = wrong.collect();
            shown["why"] = json!(text(&line.value, "why"));
        }
        Verdict::Skipped(reason) => {
            shown["verdict"] = json!("skipped");
            shown["reason"] = json!(reason);
        }
    }
    shown
}

/// Cuts a text that is too long to be read.
fn shorten(text: &str) -> String {
    let mut letters = text.chars();
    let short: String = letters.by_ref().take(limits::SHOWN_CHARS_MAX).collect();
    if letters.next().is_some() {
        format!("{short}...")
    } else {
        short
    }
}
