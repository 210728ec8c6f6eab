//! The place on disk where plans of move trees are sorted, for [`referee_perft::Plan`], which
//! itself reads and writes no file.
//!
//! A run is a file without a name, so that nothing is left of it whatever happens: the system takes
//! the room back when the file is closed, and that is at the latest when the process ends. All runs
//! of a folder together have a limit, and the last room of a disk is left to others.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use referee_chess::Position;
use referee_perft::{
    Cut, Ending, Means, Options, Plan, PlanError, Run, RunCut, RunError, Spill, SpillRun,
};

/// How much room sorting may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The bytes of all runs together.
    pub bytes_max: u64,
    /// What is left free on the disk, in bytes.
    pub left_free: u64,
}

/// A folder in which runs are written as files without names.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::{Cut, Means};
/// use referee_spill::{Room, SpillFolder};
///
/// let room = Room { bytes_max: 1 << 20, left_free: 0 };
/// let folder = SpillFolder::new(&std::env::temp_dir(), room);
/// let plan = folder.plan(&Position::startpos(), 5, Cut::at(3), Means::default())?;
/// assert_eq!(plan.positions(), 5_362);
/// assert!(folder.used() > 0);
/// drop(plan);
/// assert_eq!(folder.used(), 0);
/// # Ok::<(), referee_perft::PlanError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SpillFolder {
    folder: PathBuf,
    account: Account,
}

/// What all runs of a folder take together.
#[derive(Clone, Debug)]
struct Account {
    room: Room,
    used: Arc<AtomicU64>,
}

impl SpillFolder {
    /// Returns the place in a folder. Nothing is written yet.
    #[must_use]
    pub fn new(folder: &Path, room: Room) -> SpillFolder {
        SpillFolder {
            folder: folder.to_owned(),
            account: Account {
                room,
                used: Arc::default(),
            },
        }
    }

    /// Returns how many bytes the runs take that are there.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.account.used.load(Ordering::Relaxed)
    }

    /// Cuts a tree, as [`Plan::build`] does with this place. It stands here so that it is compiled
    /// here, where it is optimized in debug builds too.
    ///
    /// # Errors
    ///
    /// Those of [`Plan::build`].
    pub fn plan(
        &self,
        root: &Position,
        depth: u32,
        cut: Cut,
        means: Means<'_>,
    ) -> Result<Plan<SpillFolder>, PlanError> {
        Plan::build(root, depth, cut, self, means)
    }

    /// Prepares a count on so many threads, with its tree cut so many plies down and sorted in this
    /// place. It stands here for the same reason.
    ///
    /// # Errors
    ///
    /// Those of [`Run::new_in`].
    pub fn run(
        &self,
        root: &Position,
        depth: u32,
        plies: u32,
        threads: usize,
        cancelled: &AtomicBool,
    ) -> Result<Run<SpillFolder>, RunError> {
        let cut = RunCut::Plies(plies);
        Run::new_in(self, root, depth, cut, threads, Some(cancelled))
    }

    /// Counts what a run that was prepared here has not counted yet. It stands here for the same
    /// reason.
    ///
    /// # Errors
    ///
    /// Those of [`Run::count`].
    pub fn count(run: &mut Run<SpillFolder>, options: Options<'_>) -> Result<Ending, RunError> {
        run.count(options)
    }

    /// Checks that files can be made in the folder.
    ///
    /// # Errors
    ///
    /// Where they cannot.
    pub fn check(&self) -> io::Result<()> {
        tempfile::tempfile_in(&self.folder).map(drop)
    }
}

/// A file that is written. Its room is free again when it is dropped.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    length: u64,
    account: Account,
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.account.used.fetch_sub(self.length, Ordering::Relaxed);
    }
}

fn full(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, text)
}

impl Write for SpillFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Room {
            bytes_max,
            left_free,
        } = self.account.room;
        if self.account.used.load(Ordering::Relaxed) + bytes.len() as u64 > bytes_max {
            return Err(full(format!(
                "sorting needs more than the {bytes_max} bytes of files that it may take"
            )));
        }
        let disk = rustix::fs::fstatvfs(&self.file)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if free < left_free.saturating_add(bytes.len() as u64) {
            return Err(full(format!(
                "the disk has {free} bytes of room, and sorting leaves {left_free} of them to others"
            )));
        }
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        let account = &self.account;
        account.used.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that was written, and reads it.
#[derive(Clone, Debug)]
pub struct SpillRead {
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
            account: self.account.clone(),
        })
    }

    fn finish(&self, writer: SpillFile) -> io::Result<SpillRead> {
        Ok(SpillRead {
            file: Arc::new(writer),
            at: 0,
        })
    }
}
