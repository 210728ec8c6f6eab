//! What the tests share: reading a text into lists, whole and in pieces.
#![allow(dead_code)] // Not every test needs all of it.

use std::path::PathBuf;
use std::{env, path::Path};

use referee_pgn::{Fault, GameReader, Item, Reading};

/// The folder of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of material that is read in place, if it is there.
pub(crate) fn shared() -> Option<PathBuf> {
    let path = env::var_os("REFEREE_SHARED").map_or(root().join("../shared"), PathBuf::from);
    path.is_dir().then_some(path)
}

/// Reads a whole text.
pub(crate) fn read(text: &[u8]) -> (Vec<Reading>, Vec<Fault>) {
    read_in_pieces(text, usize::MAX)
}

/// Reads a text in pieces of one length.
pub(crate) fn read_in_pieces(text: &[u8], length: usize) -> (Vec<Reading>, Vec<Fault>) {
    let mut readings = Vec::new();
    let mut stray = Vec::new();
    let mut take = |item: Item<'_>| match item {
        Item::Game(reading) => readings.push(reading.clone()),
        Item::Stray(fault) => stray.push(fault.clone()),
    };
    let mut reader = GameReader::new();
    for piece in text.chunks(length.max(1)) {
        reader.push(piece, &mut take);
    }
    reader.finish(&mut take);
    (readings, stray)
}
