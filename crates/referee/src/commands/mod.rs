//! The commands, one file each: what the command line says, what the room behind it is asked, and
//! the exit code.

pub(crate) mod can_mate;
pub(crate) mod conform;
pub(crate) mod export;
pub(crate) mod game;
pub(crate) mod judge;
pub(crate) mod paper;
pub(crate) mod perft;
pub(crate) mod serve;
pub(crate) mod verify;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a file; `-` is standard input.
fn open_or_stdin(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path)?),
    })
}
