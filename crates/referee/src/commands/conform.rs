//! `referee conform`: plays conformance cases through the API of a referee, one that is given or
//! one of our own, and says which of its answers are not as they should be.

mod own_referee;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use referee_conform::{Cases, Output, Sums, Target, Trouble};

use self::own_referee::OwnReferee;
use crate::connection::{Server, TrustArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::printable::{Escape, Printable};

/// The command line of `referee conform`.
#[derive(Debug, Args)]
pub(crate) struct ConformArguments {
    /// Files of cases, one JSON object a line; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The referee to put the cases to, as http://HOST:PORT or https://HOST:PORT. Default: one of
    /// our own, started for this and forgotten afterwards.
    #[arg(long, short, value_name = "URL", env = "REFEREE_CONFORM_TARGET")]
    target: Option<String>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Writes every case as a JSON object, and the sums as the last one.
    #[arg(long, short)]
    json: bool,
}

impl ConformArguments {
    /// Plays every case.
    pub(crate) fn run(self) -> Outcome {
        // What cannot be read is said before anything is started.
        let target = self
            .target
            .as_deref()
            .map(|text| read_target("--target", text, &self.trust));
        let target = target.transpose()?;
        let cases = Cases::open(self.files).map_err(failure)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build();
        let runtime = runtime
            .map_err(|error| Failure::Trouble(format!("threads cannot be started: {error}")))?;
        let sums = runtime.block_on(play(&cases, target, self.json))?;
        Ok(if sums.failed == 0 {
            Exit::Fine
        } else {
            Exit::Found
        })
    }
}

/// Reads the address of a referee.
fn read_target(option: &str, text: &str, trust: &TrustArguments) -> Result<Target, Failure> {
    let server = Server::read(option, text, trust)?;
    let credential = server.credential();
    let authorization = Arc::new(move || credential.header());
    Ok(Target::new(server.text(), server.endpoint()).with_authorization(authorization))
}

fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Cases(message) | Trouble::Work(message) => Failure::Trouble(message),
        Trouble::Output(error) => Failure::Output(error),
    }
}

/// Plays every case with a referee, with one of our own where none is given.
async fn play(cases: &Cases, target: Option<Target>, json: bool) -> Result<Sums, Failure> {
    if let Some(target) = target {
        return play_or_stop(cases, &target, json).await;
    }
    let own = OwnReferee::start().await.map_err(Failure::Trouble)?;
    let played = match read_target("our own referee", own.address(), &TrustArguments::default()) {
        Ok(target) => play_or_stop(cases, &target, json).await,
        Err(error) => Err(error),
    };
    own.stop().await;
    played
}

async fn play_or_stop(cases: &Cases, target: &Target, json: bool) -> Result<Sums, Failure> {
    // Neither is locked: our own server logs to one of them from its threads.
    let escape = Escape::of(json);
    let out = Printable::new(io::stdout(), escape);
    let output = Output::new(out, Printable::new(io::stderr(), Escape::Braces), json);
    tokio::select! {
        played = cases.play(target, output) => played.map_err(failure),
        _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted("stopped".to_owned())),
    }
}
