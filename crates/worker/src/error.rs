//! Why a worker cannot work.

use core::fmt;

use referee_perft::{CountError, TableError};

/// A worker cannot begin.
#[derive(Debug)]
pub enum WorkerError {
    /// The threads cannot be started.
    Threads(CountError),
    /// The hash table cannot be made.
    Table(TableError),
    /// The thread that hands tasks to the others cannot be started.
    Thread(std::io::Error),
    /// The server does not take this worker, whatever it tries again.
    Refused {
        /// The kind of error, as gRPC names it.
        code: String,
        /// The reason by the contract; empty where the server names none.
        reason: String,
        /// What the server says.
        text: String,
    },
}

impl fmt::Display for WorkerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "no thread can be started: {error}"),
            Self::Refused { code, reason, text } => {
                write!(
                    f,
                    "the server does not take this worker: {code} {reason}: {text}"
                )
            }
        }
    }
}

impl core::error::Error for WorkerError {}
