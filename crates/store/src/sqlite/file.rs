//! A store that no server runs on, or a copy of one: for commands.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::guard::Guard;
use super::{backup, connection, fault, verify};
use crate::error::{Fault, OpenError, ReadError};
use crate::upkeep::{BackUpError, BackedUp, Course, VerifyCursor, VerifyPage};

/// The file of a store, opened to be read. Every call blocks.
#[derive(Debug)]
pub struct StoreFile {
    path: PathBuf,
    connection: Connection,
    /// Whether it was opened as one that nobody writes to.
    is_still: bool,
    /// Held so that no server begins meanwhile.
    _lock: Option<(File, Guard)>,
}

impl StoreFile {
    /// Opens a store that may be in use, or a copy, to read it. Nothing is written to it, and
    /// nothing laid beside it unless a server has it open or did not close it.
    ///
    /// # Errors
    ///
    /// [`OpenError`]: there is no such file, or it is no store of this version.
    pub fn open(path: impl AsRef<Path>) -> Result<StoreFile, OpenError> {
        StoreFile::read(path.as_ref(), None)
    }

    /// Opens a store as [`open`](Self::open) does, and keeps every server from beginning on it.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and [`OpenError::Locked`] where a server has it open.
    pub fn open_alone(path: impl AsRef<Path>) -> Result<StoreFile, OpenError> {
        let path = found(path.as_ref())?;
        connection::refuse_foreign(&path)?;
        let lock = connection::lock(&path)?;
        // By another name of the file there is another lock beside it.
        let guard = Guard::lock(&path)?;
        StoreFile::read(&path, Some((lock, guard)))
    }

    fn read(path: &Path, lock: Option<(File, Guard)>) -> Result<StoreFile, OpenError> {
        let path = found(path)?;
        connection::refuse_foreign(&path)?;
        let is_still = !has_log(&path);
        let connection = connection::open_to_read(&path, is_still)?;
        Ok(StoreFile {
            path,
            connection,
            is_still,
            _lock: lock,
        })
    }

    /// Verifies a part of the store; see [`Upkeep::verify`](crate::Upkeep::verify).
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the file cannot be read, or a server has begun to write to it that was
    /// not there when it was opened.
    pub fn verify(
        &mut self,
        from: &VerifyCursor,
        course: &Arc<Course>,
    ) -> Result<VerifyPage, ReadError> {
        let page = verify::page(&mut self.connection, from, course);
        if self.is_still && has_log(&self.path) {
            let reason = "a server has opened the store meanwhile; verify it again".into();
            return Err(Fault::Unavailable { reason }.into());
        }
        page.map_err(|error| fault::of_read(&error).into())
    }

    /// Copies the store; see [`Upkeep::back_up`](crate::Upkeep::back_up).
    ///
    /// # Errors
    ///
    /// [`BackUpError`], and then there is no new file.
    pub fn back_up(
        &mut self,
        target: &Path,
        course: &Arc<Course>,
    ) -> Result<BackedUp, BackUpError> {
        backup::back_up(&mut self.connection, target, course)
    }
}

/// The absolute path of a file that is there.
fn found(path: &Path) -> Result<PathBuf, OpenError> {
    let resolved = connection::resolve(path)?;
    match resolved.metadata() {
        Ok(found) if found.is_file() && found.len() > 0 => Ok(resolved),
        Ok(found) => Err(OpenError::Io {
            path: path.to_owned(),
            reason: if found.is_file() {
                "the file is empty"
            } else {
                "it is no file"
            }
            .into(),
        }),
        Err(error) => Err(OpenError::Io {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}

/// Says whether a write-ahead log lies beside a file: then somebody has it open, or had.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Path::new(&log)
        .metadata()
        .is_ok_and(|found| found.len() > 0)
}
