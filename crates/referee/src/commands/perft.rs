//! `referee perft`: counts the moves of a tree, or runs a suite of positions with known counts.

mod arguments;
mod checkpoint;
mod counting;
mod export;
mod memory;
mod output;
mod progress;
mod remote;
mod signals;
mod suite;
mod verify;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::exit::{Failure, Outcome};

pub(crate) use self::arguments::PerftArguments;

impl PerftArguments {
    /// Counts until all is counted or a signal comes.
    pub(crate) fn run(self) -> Outcome {
        match (&self.server, &self.export, self.depth) {
            (Some(server), Some(job), _) => return export::run(&self, server, job),
            (Some(server), None, Some(depth)) => return remote::count(&self, server, depth),
            _ => {}
        }
        let cancelled = Arc::new(AtomicBool::new(false));
        signals::cancel_on_signal(Arc::clone(&cancelled)).map_err(Failure::Trouble)?;
        if let Some(file) = &self.verify {
            return verify::run(&self, file, &cancelled);
        }
        match (&self.suite, self.depth) {
            (Some(file), _) => suite::run(file, &self, &cancelled),
            (None, Some(depth)) => counting::count(&self, depth, &cancelled),
            (None, None) => Err(Failure::Usage("a depth or --suite is required".to_owned())),
        }
    }
}
