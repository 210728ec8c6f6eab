//! Why `referee can-mate` did not do its work.

use std::io;

/// Why the command did not do its work.
pub(super) enum Failure {
    /// The command line or a file makes no sense.
    Usage(String),
    /// The output cannot be written.
    Output(io::Error),
}
