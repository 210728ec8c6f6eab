//! Every limit of the command line, in one place.

use std::time::Duration;

/// How long the own server of `referee conform` may take to end.
pub(crate) const OWN_DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time that a server may take for the next part of a record, in seconds.
pub(crate) const EXPORT_SILENCE_SECONDS_MAX: u64 = 60;
/// The longest line of a suite of `referee can-mate`, in bytes.
pub(crate) const MATE_SUITE_LINE_BYTES_MAX: u64 = 1_024;
/// The positions of such a suite that are worked on together.
pub(crate) const MATE_SUITE_BATCH: usize = 4_096;
/// The longest suite of `referee perft`, in bytes.
pub(crate) const PERFT_SUITE_BYTES_MAX: u64 = 256 << 20;
/// The longest file that is read as a checkpoint of `referee perft`, in bytes: a count of 25 digits
/// for each of the most positions that a count is cut into, and room to spare.
pub(crate) const CHECKPOINT_BYTES_MAX: u64 = 256 << 20;
/// How many letters may differ between what was typed and a name that is offered instead.
pub(crate) const NAME_CHANGES_MAX: usize = 3;
