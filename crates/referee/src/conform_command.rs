//! `referee conform`: plays conformance cases through the API of a referee, and says which of its
//! answers are not as they should be.

mod decision;
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
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use tokio::task::JoinHandle;

use self::fields::{CaseError, Fields};
use self::file::{Line, Lines};
use self::law_case::LawCase;
use self::output::Output;
use self::report::Report;
use self::target::{Clients, OwnReferee};
use self::verdict::{Failure, Verdict};
use crate::EXIT_USAGE;

/// The command line of `referee conform`.
#[derive(Debug, Args)]
pub(crate) struct ConformArguments {
    /// Files of cases, one JSON object a line.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The referee to put the cases to, as http://HOST:PORT. Default: one of our own, started for
    /// this and forgotten afterwards.
    #[arg(long, value_name = "URL", env = "REFEREE_CONFORM_TARGET")]
    target: Option<String>,
    /// Writes every case as a JSON object, and the sums as the last one.
    #[arg(long)]
    json: bool,
}

/// Why the command did not do its work.
enum Trouble {
    /// The command line or a file makes no sense.
    Usage(String),
    /// The work failed.
    Work(String),
}

impl ConformArguments {
    /// Plays every case.
    pub(crate) fn run(self) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        let outcome = match runtime {
            Ok(runtime) => runtime.block_on(self.play_until_signal()),
            Err(error) => Err(Trouble::Work(format!("cannot start threads: {error}"))),
        };
        match outcome {
            Ok(0) => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            Err(Trouble::Usage(message)) => {
                eprintln!("error: {message}");
                ExitCode::from(EXIT_USAGE)
            }
            Err(Trouble::Work(message)) => {
                eprintln!("error: {message}");
                ExitCode::FAILURE
            }
        }
    }

    /// Plays every case; returns how many failed.
    async fn play_until_signal(&self) -> Result<usize, Trouble> {
        // What cannot be read is said before anything is played.
        for file in &self.files {
            for line in Lines::open(file).map_err(Trouble::Usage)? {
                line.map_err(Trouble::Usage)?;
            }
        }
        if let Some(target) = &self.target {
            target::endpoint(target).map_err(Trouble::Usage)?;
            return self.play_or_stop(target).await;
        }
        let own = OwnReferee::start().await.map_err(Trouble::Work)?;
        let played = self.play_or_stop(own.address()).await;
        own.stop().await;
        played
    }

    async fn play_or_stop(&self, target: &str) -> Result<usize, Trouble> {
        tokio::select! {
            played = self.play(target) => played,
            _ = tokio::signal::ctrl_c() => Err(Trouble::Work("stopped".to_owned())),
        }
    }

    async fn play(&self, target: &str) -> Result<usize, Trouble> {
        let clients = Clients::connect(target).await.map_err(Trouble::Work)?;
        // A target may remember the games of an earlier run.
        let run = uuid::Uuid::new_v4();
        let mut output = Output::new(self.json);
        let mut playing: VecDeque<(Line, JoinHandle<Verdict>)> = VecDeque::new();
        let mut count = 0_usize;
        for file in &self.files {
            for line in Lines::open(file).map_err(Trouble::Usage)? {
                let line = line.map_err(Trouble::Usage)?;
                if playing.len() == limits::CASES_AT_ONCE {
                    finish(&mut playing, &mut output).await?;
                }
                count += 1;
                let tag = format!("conform-{run}-{count}");
                let task = judge(clients.clone(), tag, line.clone());
                playing.push_back((line, tokio::spawn(task)));
            }
        }
        while !playing.is_empty() {
            finish(&mut playing, &mut output).await?;
        }
        Ok(output.end())
    }
}

/// Waits for the oldest case, so that cases are shown in their order.
async fn finish(
    playing: &mut VecDeque<(Line, JoinHandle<Verdict>)>,
    output: &mut Output,
) -> Result<(), Trouble> {
    if let Some((line, task)) = playing.pop_front() {
        let broken = |error| Trouble::Work(format!("{}: {error}", line.place()));
        let verdict = task.await.map_err(broken)?;
        output.take(&line, &verdict);
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
        for path in &case.unread {
            eprintln!(
                "warning: {}: {path}: is not known and was passed over",
                line.place()
            );
        }
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

/// Plays one case. One that cannot be read fails, and the others are played all the same.
async fn judge(mut clients: Clients, tag: String, line: Line) -> Verdict {
    match read(&line) {
        Ok(Case::Laws(case)) => Verdict::of(play::play(&mut clients, &tag, &case).await),
        Ok(Case::Report(report)) => report.judge(&mut clients, &tag).await,
        Err(error) => {
            let answered = format!("{}: {error}", line.place());
            let failure = Failure::new("read the case", "a case that can be played", answered);
            Verdict::Failed(vec![failure])
        }
    }
}
