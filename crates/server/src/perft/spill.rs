//! Where plans are sorted: files without a name in a folder, so that nothing is left of them
//! whatever happens, of a bounded size, and never the last room of the disk.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use referee_perft::{Spill, SpillRun};

use crate::limits::{PERFT_SPILL_BYTES_MAX, PERFT_SPILL_ROOM_BYTES};

/// Files without names in a folder.
#[derive(Debug)]
pub(super) struct SpillFolder {
    folder: PathBuf,
    used: Arc<AtomicU64>,
}

impl SpillFolder {
    pub(super) fn new(folder: &Path) -> SpillFolder {
        SpillFolder {
            folder: folder.to_owned(),
            used: Arc::default(),
        }
    }
}

/// A file that is written, and then read.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    length: u64,
    used: Arc<AtomicU64>,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.used.fetch_sub(self.length, Ordering::Relaxed);
    }
}

impl Write for SpillFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = PERFT_SPILL_BYTES_MAX;
        if self.used.load(Ordering::Relaxed) + bytes.len() as u64 > most {
            let text = format!("sorting needs more than the {most} bytes that it may take");
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        let room = rustix::fs::fstatvfs(&self.file)?;
        if room.f_bavail.saturating_mul(room.f_frsize) < PERFT_SPILL_ROOM_BYTES {
            let text = "the disk has too little room to sort, which leaves some for games";
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        self.used.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that can be read.
#[derive(Clone, Debug)]
pub(super) struct SpillRead {
    file: Arc<SpillFile>,
    at: u64,
}

impl Read for SpillRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.file.file.read_at(into, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl SpillRun for SpillRead {
    type Reader = SpillRead;

    fn open(&self) -> io::Result<SpillRead> {
        Ok(SpillRead {
            at: 0,
            ..self.clone()
        })
    }
}

impl Spill for SpillFolder {
    type Writer = SpillFile;
    type Run = SpillRead;

    fn create(&self) -> io::Result<SpillFile> {
        Ok(SpillFile {
            file: tempfile::tempfile_in(&self.folder)?,
            length: 0,
            used: Arc::clone(&self.used),
        })
    }

    fn finish(&self, writer: SpillFile) -> io::Result<SpillRead> {
        Ok(SpillRead {
            file: Arc::new(writer),
            at: 0,
        })
    }
}
