//! How commands end: the one table of exit codes, and why a command did not do its work.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::printable::{Escape, printable};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All is well.
    Fine = 0,
    /// Something was found.
    Found = 1,
    /// The work could not be done.
    Trouble = 2,
    /// The command line makes no sense (`EX_USAGE` of sysexits.h).
    Usage = 64,
    /// A signal came, as a shell counts it: 128 and the number of SIGINT.
    Interrupted = 130,
}

/// What each exit code means, for every command. `README.md` has the same rows.
const MEANINGS: [(Exit, &str); 5] = [
    (
        Exit::Fine,
        "all is well; `can-mate FEN` whatever it found, `serve` and `worker` after a drain",
    ),
    (
        Exit::Found,
        "something was found: a faulty game, a failed case, a record or a store that does not hold, an \
         action that does not stand, a perft job that failed",
    ),
    (
        Exit::Trouble,
        "trouble: a file that cannot be read or is of another kind, an output that cannot be \
         written, a server that cannot be reached; `serve` and `worker` where they cannot begin",
    ),
    (Exit::Usage, "the command line makes no sense"),
    (Exit::Interrupted, "interrupted"),
];

/// Returns the table for `--help`, one line for each code.
pub(crate) fn table() -> String {
    let rows = MEANINGS.map(|(exit, meaning)| format!("  {:<3}  {meaning}\n", exit as u8));
    format!(
        "Exit codes, for every command:\n{}A closed pipe ends a command quietly.",
        rows.concat()
    )
}

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// What was asked for has failed.
    Found(String),
    /// The work could not be done.
    Trouble(String),
    /// A signal came.
    Interrupted(String),
    /// The output cannot be written.
    Output(io::Error),
}

/// What comes of a command.
pub(crate) type Outcome = Result<Exit, Failure>;

/// Says what went wrong, and returns the exit code. A reader that has seen enough is no failure.
pub(crate) fn end(outcome: Outcome) -> ExitCode {
    let (exit, message) = match outcome {
        Ok(exit) => (exit, None),
        Err(Failure::Usage(message)) => (Exit::Usage, Some(message)),
        Err(Failure::Found(message)) => (Exit::Found, Some(message)),
        Err(Failure::Trouble(message)) => (Exit::Trouble, Some(message)),
        Err(Failure::Interrupted(message)) => (Exit::Interrupted, Some(message)),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            (Exit::Fine, None)
        }
        Err(Failure::Output(error)) => {
            let message = format!("the output cannot be written: {error}");
            (Exit::Trouble, Some(message))
        }
    };
    if let Some(message) = message {
        tell(format_args!("error: {message}"));
    }
    ExitCode::from(exit as u8)
}

/// Writes a line to standard error, its control characters written out. Nobody may be reading it,
/// and that is no reason to stop.
pub(crate) fn tell(message: impl Display) {
    let message = message.to_string();
    let _ = writeln!(io::stderr(), "{}", printable(&message, Escape::Braces));
}
