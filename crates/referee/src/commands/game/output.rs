//! The one way in which the client for people writes.

use std::io::Write as _;

use crate::exit::Failure;
use crate::printable::standard_output;

/// Writes a text and all of it, so that a full disk is met here.
pub(super) fn write(text: &str, as_json: bool) -> Result<(), Failure> {
    let mut out = standard_output(as_json);
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Failure::Output)
}
