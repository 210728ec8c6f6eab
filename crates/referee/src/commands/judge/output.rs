//! Writes what was found: a line for each game, as text or as JSON, and a summary.

use std::io::{self, Write};
use std::path::Path;

use referee_chess::Color;
use referee_pgn::Fault;
use referee_review::Finding;
use serde_json::{Value, json};

use super::games::{Judged, Line};
use crate::printable::Printable;

/// What was found in all files.
#[derive(Debug, Default)]
pub(super) struct Summary {
    pub(super) games: u64,
    pub(super) plies: u64,
    pub(super) clean: u64,
    pub(super) illegal: u64,
    pub(super) unreadable: u64,
    pub(super) went_on: u64,
    pub(super) contradictions: u64,
    /// Games with no result where the board has one, or with two that differ.
    pub(super) doubtful_results: u64,
    pub(super) stray: u64,
    pub(super) failed_files: u64,
}

impl Summary {
    /// Whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.clean == self.games && self.failed_files == 0
    }

    fn count(&mut self, judged: &Judged) {
        self.games += 1;
        self.plies += judged.plies as u64;
        self.clean += u64::from(judged.findings.is_empty());
        let has = |is: fn(&Finding) -> bool| u64::from(judged.findings.iter().any(is));
        self.illegal += has(|finding| matches!(finding, Finding::IllegalMove { .. }));
        self.unreadable += has(|finding| matches!(finding, Finding::Unreadable { .. }));
        self.went_on += has(|finding| matches!(finding, Finding::PlayedOn { .. }));
        self.contradictions += has(|finding| {
            matches!(
                finding,
                Finding::ResultConflict { .. } | Finding::WinnerCannotMate { .. }
            )
        });
        self.doubtful_results += has(|finding| {
            matches!(
                finding,
                Finding::ResultMissing { .. } | Finding::ResultsDiffer { .. }
            )
        });
    }

    /// Writes the last line.
    pub(super) fn print(&self, out: &mut impl Write, as_json: bool) -> io::Result<()> {
        if as_json {
            let summary = json!({
                "games": self.games,
                "plies": self.plies,
                "clean": self.clean,
                "illegal_moves": self.illegal,
                "unreadable": self.unreadable,
                "over_before": self.went_on,
                "result_contradictions": self.contradictions,
                "doubtful_results": self.doubtful_results,
                "stray_faults": self.stray,
                "failed_files": self.failed_files,
            });
            return writeln!(out, "{}", json!({ "summary": summary }));
        }
        writeln!(
            out,
            "{} games, {} plies: {} clean, {} with an illegal move, {} unreadable, {} went on \
             after their end, {} with a result that contradicts the board, {} with none or two; {} \
             faults between games, {} files failed",
            self.games,
            self.plies,
            self.clean,
            self.illegal,
            self.unreadable,
            self.went_on,
            self.contradictions,
            self.doubtful_results,
            self.stray,
            self.failed_files,
        )
    }
}

/// Where lines go, and how.
pub(super) struct Output<'a, W> {
    pub(super) out: Printable<W>,
    pub(super) as_json: bool,
    /// Whether faults that change nothing are shown, too.
    pub(super) shows_warnings: bool,
    /// Whether games with nothing wrong are left out.
    pub(super) is_quiet: bool,
    pub(super) summary: &'a mut Summary,
    /// The first fault between games of the file at hand.
    pub(super) first_stray: Option<Fault>,
}

impl<W: Write> Output<'_, W> {
    /// Writes lines about a file.
    pub(super) fn print(&mut self, path: &Path, lines: &[Line]) -> io::Result<()> {
        for line in lines {
            match line {
                Line::Game(judged) => {
                    self.summary.count(judged);
                    let is_shown = !self.is_quiet
                        || !judged.findings.is_empty()
                        || self.shows_warnings && !judged.warnings.is_empty();
                    match is_shown {
                        false => {}
                        true if self.as_json => writeln!(self.out, "{}", self.json(path, judged))?,
                        true => self.print_text(path, judged)?,
                    }
                }
                Line::Stray(fault) => {
                    self.summary.stray += 1;
                    self.first_stray.get_or_insert_with(|| fault.clone());
                    if self.as_json {
                        let mut value = fault_json(fault);
                        value["file"] = json!(path.display().to_string());
                        writeln!(self.out, "{}", json!({ "stray": value }))?;
                    } else if self.shows_warnings {
                        writeln!(self.out, "{}: {fault}", path.display())?;
                    }
                }
                Line::MoreStray(count) => self.summary.stray += count,
            }
        }
        Ok(())
    }

    fn print_text(&mut self, path: &Path, judged: &Judged) -> io::Result<()> {
        write!(
            self.out,
            "{}:{}: {} - {}, {}, {} plies: ",
            path.display(),
            judged.place.line,
            judged.white,
            judged.black,
            judged.outcome,
            judged.plies,
        )?;
        let mut texts: Vec<String> = judged
            .findings
            .iter()
            .map(|finding| finding.brief().to_string())
            .collect();
        if texts.is_empty() {
            texts.push("clean".to_owned());
        }
        if self.shows_warnings {
            texts.extend(
                judged
                    .warnings
                    .iter()
                    .map(|fault| format!("warning: {fault}")),
            );
        }
        writeln!(self.out, "{}", texts.join("; "))
    }

    fn json(&self, path: &Path, judged: &Judged) -> Value {
        let findings: Vec<Value> = judged.findings.iter().map(finding_json).collect();
        let mut value = json!({
            "file": path.display().to_string(),
            "line": judged.place.line,
            "offset": judged.place.offset,
            "white": judged.white,
            "black": judged.black,
            "result": judged.outcome.as_str(),
            "plies": judged.plies,
            "unplayed": judged.unplayed,
            "verdict": if findings.is_empty() { "clean" } else { "faulty" },
            "findings": findings,
        });
        if self.shows_warnings {
            let warnings: Vec<Value> = judged.warnings.iter().map(fault_json).collect();
            value["warnings"] = json!(warnings);
        }
        value
    }
}

fn finding_json(finding: &Finding) -> Value {
    let mut value = json!({
        "kind": finding.kind(),
        "text": finding.brief().to_string(),
    });
    if let Some(article) = finding.article() {
        value["article"] = json!(article);
    }
    if let Some(place) = finding.place() {
        value["line"] = json!(place.line);
        value["column"] = json!(place.column);
    }
    match finding {
        Finding::IllegalMove { ply, .. } => {
            // Counted as the move that is illegal, from 1.
            value["ply"] = json!(u64::from(*ply) + 1);
        }
        Finding::Unreadable { .. } => {}
        Finding::ResultsDiffer { tag, marker, .. } => {
            value["recorded"] = json!(tag.as_str());
            value["marker"] = json!(marker.as_str());
        }
        Finding::PlayedOn { ply, outcome, .. } => {
            value["ply"] = json!(ply);
            value["result"] = json!(outcome.result.score());
        }
        Finding::ResultConflict { recorded, outcome } => {
            value["recorded"] = json!(recorded.score());
            value["result"] = json!(outcome.result.score());
        }
        Finding::WinnerCannotMate { no_mate } => {
            let name = match no_mate.side {
                Color::White => "white",
                Color::Black => "black",
            };
            value["winner"] = json!(name);
        }
        Finding::ResultMissing { outcome } => value["result"] = json!(outcome.result.score()),
    }
    value
}

fn fault_json(fault: &Fault) -> Value {
    json!({
        "kind": fault.kind.name(),
        "text": fault.kind.to_string(),
        "line": fault.place.line,
        "column": fault.place.column,
    })
}
