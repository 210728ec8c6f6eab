//! Waiting for work on a store that takes long.

use std::sync::Arc;

use referee_store::Course;

use crate::connection::Server;
use crate::exit::{Exit, Failure, Outcome};
use crate::limits::STORE_SILENCE_SECONDS_MAX;

/// Runs work that blocks, until it is done or interrupted; then it has ended all the same.
pub(super) fn run_blocking(
    course: &Arc<Course>,
    work: impl FnOnce() -> Outcome + Send + 'static,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::Trouble(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        let mut working = tokio::task::spawn_blocking(work);
        let (ended, exit) = tokio::select! {
            ended = &mut working => (ended, None),
            _ = tokio::signal::ctrl_c() => {
                course.stop();
                (working.await, Some(Exit::Interrupted))
            }
        };
        let outcome = ended.map_err(|error| Failure::Trouble(error.to_string()))?;
        match exit {
            Some(exit) => Ok(exit),
            None => outcome,
        }
    })
}

/// The failure of a server that says nothing for too long.
pub(super) fn silent(server: &Server) -> Failure {
    Failure::Trouble(format!(
        "{} was silent for {STORE_SILENCE_SECONDS_MAX} s",
        server.text()
    ))
}
