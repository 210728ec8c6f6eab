//! `referee conform`: plays conformance cases through the API of a referee, one that is given or
//! one of our own, and says which of its answers are not as they should be.

mod own_referee;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use referee_conform::{Cases, Output, Sums, Target, Trouble};

use self::own_referee::OwnReferee;
use crate::exit::EXIT_USAGE;

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

impl ConformArguments {
    /// Plays every case.
    pub(crate) fn run(self) -> ExitCode {
        // What cannot be read is said before anything is started.
        let target = match self.target.as_deref().map(Target::parse).transpose() {
            Ok(target) => target,
            Err(error) => {
                eprintln!("error: --target: {error}");
                return ExitCode::from(EXIT_USAGE);
            }
        };
        let outcome = Cases::open(self.files).and_then(|cases| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build();
            let runtime =
                runtime.map_err(|error| Trouble::Work(format!("cannot start threads: {error}")))?;
            runtime.block_on(play(&cases, target, self.json))
        });
        match outcome {
            Ok(sums) if sums.failed == 0 => ExitCode::SUCCESS,
            Ok(_) => ExitCode::FAILURE,
            // A reader that has seen enough is no failure.
            Err(Trouble::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: {error}");
                match error {
                    Trouble::Cases(_) => ExitCode::from(EXIT_USAGE),
                    Trouble::Work(_) | Trouble::Output(_) => ExitCode::FAILURE,
                }
            }
        }
    }
}

/// Plays every case with a referee, with one of our own where none is given.
async fn play(cases: &Cases, target: Option<Target>, json: bool) -> Result<Sums, Trouble> {
    if let Some(target) = target {
        return play_or_stop(cases, &target, json).await;
    }
    let own = OwnReferee::start().await.map_err(Trouble::Work)?;
    let played = match Target::parse(own.address()) {
        Ok(target) => play_or_stop(cases, &target, json).await,
        Err(error) => Err(Trouble::Work(error.to_string())),
    };
    own.stop().await;
    played
}

async fn play_or_stop(cases: &Cases, target: &Target, json: bool) -> Result<Sums, Trouble> {
    // Neither is locked: our own server logs to one of them from its threads.
    let output = Output::new(io::stdout(), io::stderr(), json);
    tokio::select! {
        played = cases.play(target, output) => played,
        _ = tokio::signal::ctrl_c() => Err(Trouble::Work("stopped".to_owned())),
    }
}
