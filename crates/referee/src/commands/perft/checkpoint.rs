//! What a stopped count leaves in a file, and how the same command finds it.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use referee_chess::Position;
use referee_perft::Checkpoint;
use serde::{Deserialize, Serialize};

use crate::limits::CHECKPOINT_BYTES_MAX;

/// The form of the file; it changes where positions are cut or ordered in another way.
const VERSION: u32 = 2;

/// What every version of the file has.
#[derive(Deserialize)]
struct Head {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    depth: u32,
    fingerprint: [u8; 32],
    counted: Vec<(u64, Vec<u128>)>,
}

/// Returns where the checkpoint of a count is: where the user says, or in this folder under a name
/// that position and depth give.
pub(super) fn path(given: Option<&Path>, position: &Position, depth: u32) -> PathBuf {
    given.map_or_else(
        || format!("referee-perft-{:016x}-{depth}.json", position.zobrist()).into(),
        Path::to_owned,
    )
}

/// Reads a checkpoint; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Checkpoint>, String> {
    let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let length = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(place(&error)),
    };
    if length > CHECKPOINT_BYTES_MAX {
        return Err(place(&"this is too long for a checkpoint"));
    }
    let bytes = fs::read(path).map_err(|error| place(&error))?;
    let is_none = |error: serde_json::Error| place(&format!("this is no checkpoint: {error}"));
    let head: Head = serde_json::from_slice(&bytes).map_err(is_none)?;
    if head.version != VERSION {
        return Err(place(
            &"another version of this program wrote it: remove it to begin from the start",
        ));
    }
    let file: File = serde_json::from_slice(&bytes).map_err(is_none)?;
    Ok(Some(Checkpoint {
        depth: file.depth,
        fingerprint: file.fingerprint,
        counted: file.counted,
    }))
}

/// Writes a checkpoint so that a crash leaves the old file or the new one, never half of one.
pub(super) fn write(path: &Path, checkpoint: &Checkpoint) -> Result<(), String> {
    let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = serde_json::to_vec(&File {
        version: VERSION,
        depth: checkpoint.depth,
        fingerprint: checkpoint.fingerprint,
        counted: checkpoint.counted.clone(),
    })
    .map_err(|error| place(&error))?;
    if text.len() as u64 > CHECKPOINT_BYTES_MAX {
        return Err(place(
            &"a checkpoint of so many positions would be too long, so that none was written",
        ));
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    written.map_err(|error| place(&error))
}

/// Removes the checkpoint of a count that is done.
pub(super) fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}
