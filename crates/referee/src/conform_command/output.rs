//! What `referee conform` prints: a case that failed with everything about it, and the sums.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::file::Line;
use super::limits;
use super::verdict::Verdict;

/// The sums, and how cases are shown.
pub(super) struct Output {
    json: bool,
    passed: usize,
    failed: usize,
    skipped: BTreeMap<(String, &'static str), usize>,
}

impl Output {
    /// Nothing is counted yet.
    pub(super) fn new(json: bool) -> Output {
        Output {
            json,
            passed: 0,
            failed: 0,
            skipped: BTreeMap::new(),
        }
    }

    /// Counts a case, and shows it where it failed.
    pub(super) fn take(&mut self, line: &Line, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Skipped(reason) => {
                let kind = text(&line.value, "kind").to_owned();
                *self.skipped.entry((kind, reason)).or_default() += 1;
            }
        }
        if self.json {
            println!("{}", as_json(line, verdict));
        } else if let Verdict::Failed(wrong) = verdict {
            println!("FAILED {} ({})", line.id, line.place());
            for failure in wrong {
                println!("  {}:", failure.step);
                println!("    expected {}", shorten(&failure.expected));
                println!("    answered {}", shorten(&failure.answered));
            }
            for name in ["law", "topic", "why"] {
                let words = text(&line.value, name);
                if !words.is_empty() {
                    println!("  {name}: {}", shorten(words));
                }
            }
        }
    }

    /// Shows the sums; returns how many cases failed.
    pub(super) fn end(self) -> usize {
        let skipped: usize = self.skipped.values().sum();
        if self.json {
            let sums = json!({
                "passed": self.passed,
                "failed": self.failed,
                "skipped": skipped,
            });
            println!("{sums}");
            return self.failed;
        }
        for ((kind, reason), count) in &self.skipped {
            println!("skipped {count} {kind}: {reason}");
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed
    }
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn as_json(line: &Line, verdict: &Verdict) -> Value {
    let mut shown = json!({
        "id": line.id,
        "file": line.file.display().to_string(),
        "line": line.number,
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
