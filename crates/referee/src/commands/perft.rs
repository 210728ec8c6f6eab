//! `referee perft`: counts the moves of a tree, or runs a suite of positions with known counts.

mod arguments;
mod checkpoint;
mod counting;
mod failure;
mod output;
mod progress;
mod signals;
mod suite;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use self::failure::Failure;
use crate::exit::EXIT_USAGE;

pub(crate) use self::arguments::PerftArguments;

impl PerftArguments {
    /// Counts until all is counted or a signal comes.
    pub(crate) fn run(self) -> ExitCode {
        let cancelled = Arc::new(AtomicBool::new(false));
        if let Err(message) = signals::cancel_on_signal(Arc::clone(&cancelled)) {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
        let outcome = match (&self.suite, self.depth) {
            (Some(file), _) => suite::run(file, &self, &cancelled),
            (None, Some(depth)) => counting::count(&self, depth, &cancelled),
            (None, None) => Err(Failure::Usage("a depth or --suite is required".to_owned())),
        };
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Usage(message)) => {
                eprintln!("error: {message}");
                ExitCode::from(EXIT_USAGE)
            }
            Err(Failure::Work(message)) => {
                eprintln!("error: {message}");
                ExitCode::FAILURE
            }
        }
    }
}
