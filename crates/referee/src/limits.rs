//! Every limit of the command line, in one place.

/// The longest part of a record file, in bytes: a genesis of 1 MiB in base64, with room for blanks.
pub(crate) const RECORD_PART_BYTES_MAX: u64 = 2 << 20;
/// The greatest number of problems that are named for one file; of the rest only the number is.
pub(crate) const PROBLEMS_NAMED_MAX: usize = 100;
/// With more problems than this the rest of a record is not judged any more: who made it up should
/// not have us work through all of it.
pub(crate) const PROBLEMS_FOLLOWED_MAX: u64 = 1_000;
/// How much of a value is shown where two differ, in characters.
pub(crate) const VALUE_SHOWN_CHARS_MAX: usize = 160;
/// The longest time that a server may take for the next part of a record, in seconds.
pub(crate) const EXPORT_SILENCE_SECONDS_MAX: u64 = 60;
