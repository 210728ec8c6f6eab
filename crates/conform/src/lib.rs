//! Plays conformance cases through the API of a referee, and says which of its answers are not as
//! they should be.
//!
//! Nothing but the contract is known here, so that any referee that speaks it can be asked: the
//! rules are never consulted in this process. A case about the Laws is a game that is played, event
//! by event; a report is one question. The format is that of `tests/data/cases/README.md`.
//!
//! ```
//! use referee_conform::{Cases, Trouble};
//!
//! let missing = Cases::open(vec!["no_such_file.jsonl".into()]);
//! assert!(matches!(missing, Err(Trouble::Cases(_))));
//! ```

#![forbid(unsafe_code)]

mod decision;
mod error_details;
mod event;
mod expectation;
mod fields;
mod file;
mod law_case;
mod limits;
mod output;
mod parameters;
mod play;
mod report;
mod target;
mod verdict;
mod words;

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use tokio::task::JoinHandle;

use fields::{CaseError, Fields};
use file::{Line, Source};
use law_case::LawCase;
use report::Report;
use target::Clients;
use verdict::{Failure, Verdict};

pub use output::{Output, Sums};
pub use target::Target;

/// Why the cases were not played to the end.
#[derive(Debug)]
pub enum Trouble {
    /// A file cannot be read as cases; the text names file and line.
    Cases(String),
    /// The referee cannot be reached, or a case broke down.
    Work(String),
    /// What was found cannot be written.
    Output(io::Error),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cases(reason) | Self::Work(reason) => f.write_str(reason),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for Trouble {}

/// Files of cases, all of which can be read.
#[derive(Clone, Debug)]
pub struct Cases {
    sources: Vec<Source>,
}

impl Cases {
    /// Reads files of cases, one JSON object a line, so that what cannot be read is reported before
    /// anything is played; `-` is standard input. The cases are read again when they are played;
    /// none is kept in memory but those that can be read only once.
    ///
    /// # Errors
    ///
    /// [`Trouble::Cases`] with the first file and line that cannot be read. A case that makes no
    /// sense is no error: it fails when it is played.
    pub fn open(files: Vec<PathBuf>) -> Result<Cases, Trouble> {
        let mut sources = Vec::with_capacity(files.len());
        for file in files {
            let source = Source::find(file).map_err(Trouble::Cases)?;
            for line in source.lines().map_err(Trouble::Cases)? {
                line.map_err(Trouble::Cases)?;
            }
            sources.push(source);
        }
        Ok(Cases { sources })
    }

    /// Puts every case to a referee, some of them at once, and shows what became of each in the
    /// order of the files. Returns how many passed, failed and were skipped.
    ///
    /// # Errors
    ///
    /// Where the referee cannot be reached, a file has changed so that it can no longer be read, or
    /// the output cannot be written.
    pub async fn play<O: Write, W: Write>(
        &self,
        target: &Target,
        mut output: Output<O, W>,
    ) -> Result<Sums, Trouble> {
        let clients = Clients::connect(target).await.map_err(Trouble::Work)?;
        // A target may remember the games of an earlier run.
        let run = uuid::Uuid::new_v4();
        let mut playing: VecDeque<(Line, JoinHandle<Played>)> = VecDeque::new();
        let mut count = 0_usize;
        for source in &self.sources {
            for line in source.lines().map_err(Trouble::Cases)? {
                let line = line.map_err(Trouble::Cases)?;
                if playing.len() == limits::CASES_AT_ONCE {
                    finish(&mut playing, &mut output).await?;
                }
                count += 1;
                let tag = format!("conform-{run}-{count}");
                let task = judge(clients.for_case(), tag, line.clone());
                playing.push_back((line, tokio::spawn(task)));
            }
        }
        while !playing.is_empty() {
            finish(&mut playing, &mut output).await?;
        }
        output.end().map_err(Trouble::Output)
    }
}

/// Waits for the oldest case, so that cases are shown in their order.
async fn finish<O: Write, W: Write>(
    playing: &mut VecDeque<(Line, JoinHandle<Played>)>,
    output: &mut Output<O, W>,
) -> Result<(), Trouble> {
    if let Some((line, task)) = playing.pop_front() {
        let broken = |error| Trouble::Work(format!("{}: {error}", line.place()));
        let played = task.await.map_err(broken)?;
        let shown = output
            .warn(&line, &played.unread)
            .and_then(|()| output.show(&line, &played.verdict, &played.cited));
        shown.map_err(Trouble::Output)?;
    }
    Ok(())
}

/// A case of either kind.
enum Case {
    Laws(Box<LawCase>),
    Report(Box<Report>),
}

/// Reads a case: one with events is about the Laws, one with a kind a report.
fn read(line: &Line) -> Result<Case, CaseError> {
    let fields = Fields::new("", &line.value)?;
    if fields.value("events").is_some() {
        let case = LawCase::read(&fields)?;
        return Ok(Case::Laws(Box::new(case)));
    }
    if fields.value("kind").is_some() {
        return Report::read(&fields).map(|report| Case::Report(Box::new(report)));
    }
    Err(fields.error(
        "events",
        "is missing; a case has events, and a report has a kind",
    ))
}

/// What became of a case.
struct Played {
    verdict: Verdict,
    /// The fields of the case that nobody knows, by their paths.
    unread: Vec<String>,
    /// The articles that the answers cite.
    cited: Vec<String>,
}

/// Plays one case. One that cannot be read fails, and the others are played all the same.
async fn judge(mut clients: Clients, tag: String, line: Line) -> Played {
    let mut unread = Vec::new();
    let verdict = match read(&line) {
        Ok(Case::Laws(case)) => {
            unread.clone_from(&case.unread);
            Verdict::of(play::play(&mut clients, &tag, &case).await)
        }
        Ok(Case::Report(report)) => report.judge(&mut clients, &tag).await,
        Err(error) => {
            let answered = format!("{}: {error}", line.place());
            let failure = Failure::new("read the case", "a case that can be played", answered);
            Verdict::Failed(vec![failure])
        }
    };
    Played {
        verdict,
        unread,
        cited: clients.cited(),
    }
}
