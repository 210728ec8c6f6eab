//! The one way in which the client for people writes.

use std::io::{self, Write as _};

use crate::exit::Failure;
use crate::printable::{Escape, Printable};

/// Writes a text and all of it, so that a full disk is met here. Control characters are written out.
pub(super) fn write(text: &str, as_json: bool) -> Result<(), Failure> {
    let escape = match as_json {
        true => Escape::Json,
        false => Escape::Braces,
    };
    let mut out = Printable::new(io::stdout().lock(), escape);
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(Failure::Output)
}
