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
pub(crate) mod store;
pub(crate) mod token;
pub(crate) mod verify;
pub(crate) mod worker;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a label from the command line, such as `round=3`.
fn read_label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("write a name and a value, such as round=3")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Opens a file; `-` is standard input.
fn open_or_stdin(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path)?),
    })
}
