//! The exit codes that commands share.

/// The exit code for a command line that makes no sense (`EX_USAGE` of sysexits.h).
pub(crate) const EXIT_USAGE: u8 = 64;
