//! Why `referee perft` did not do its work.

/// Why the command did not do its work.
pub(super) enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// The work failed.
    Work(String),
}
