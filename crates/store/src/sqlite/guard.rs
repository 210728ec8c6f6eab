//! Whether the files of the store are still those that were opened.
//!
//! A file that was deleted, put in the place of another or cut short takes writes without a word:
//! they go where nobody finds them. So the log is looked at before each batch is written, and the
//! database and the log after its commit, before anybody is answered. What was opened is asked, not
//! the names, which costs a tenth: a file that was deleted or replaced has no name any more, one
//! that was cut is shorter, and one that was renamed has changed since it was last looked at. The
//! names of all are compared with what was opened where that looks so, and each second.

use std::collections::HashSet;
use std::fs::{File, Metadata, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::connection::beside;
use crate::error::OpenError;
use crate::limits::FILES_LOOK_INTERVAL;

/// What the name of the write-ahead log ends with.
const LOG: &str = "-wal";

/// A file, wherever it is named: the device and the number on it.
type Identity = (u64, u64);

/// The database files that this process has open.
///
/// A process that closes any descriptor of a file loses the locks that the engine has on it, so
/// that a file which is open here already must not be opened to find that out.
static OPENED: Mutex<Option<HashSet<Identity>>> = Mutex::new(None);

/// The lock of a database file, and what the files of the store were when it was opened.
#[derive(Debug)]
pub(super) struct Guard {
    path: PathBuf,
    identity: Identity,
    /// The lock on the database itself, whatever names it has; none once it is released.
    lock: Mutex<Option<File>>,
    /// Set once the engine has made all files.
    watched: Mutex<Vec<Watched>>,
    /// When all files were last found to be what they were.
    looked: Mutex<Option<Instant>>,
}

/// A file that must stay what it is.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    identity: Identity,
    /// The file itself, where looking at its name each time is to be spared.
    file: Option<File>,
    /// The most bytes that it was seen to have: it only grows while it is open.
    bytes: u64,
    /// When it last changed, renamings included, where that is not with every batch.
    changed: Option<Change>,
}

/// When a file last changed, in seconds and nanoseconds.
type Change = (i64, i64);

/// What an open file is asked.
struct Glimpse {
    is_named: bool,
    bytes: u64,
    /// Where it was asked for.
    changed: Option<Change>,
}

impl Glimpse {
    /// Asks an open file, and for its times only where they are of use: a file whose times were
    /// asked for gets a time of its own with the next write, which each synchronization then puts
    /// into the journal of the file system (Linux 6.13 and later). On the log that costs a tenth
    /// of the commits.
    #[cfg(target_os = "linux")]
    fn of(file: &File, with_change: bool) -> std::io::Result<Self> {
        use rustix::fs::{AtFlags, StatxFlags, statx};

        if with_change {
            return file.metadata().map(|it| Self::from_metadata(&it));
        }
        let wanted = StatxFlags::NLINK | StatxFlags::SIZE;
        match statx(file, "", AtFlags::EMPTY_PATH, wanted) {
            Ok(told) => Ok(Self {
                is_named: told.stx_nlink > 0,
                bytes: told.stx_size,
                changed: None,
            }),
            // There are sandboxes that do not know the call.
            Err(_) => file.metadata().map(|it| Self::from_metadata(&it)),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn of(file: &File, _with_change: bool) -> std::io::Result<Self> {
        file.metadata().map(|it| Self::from_metadata(&it))
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            is_named: metadata.nlink() > 0,
            bytes: metadata.len(),
            changed: Some(change_of(metadata)),
        }
    }
}

/// Refuses a file that this process has open already, before anybody opens it.
pub(super) fn refuse_opened(path: &Path) -> Result<(), OpenError> {
    let Ok(metadata) = path.metadata() else {
        // What is not there is not open, and everything else is found out when it is opened.
        return Ok(());
    };
    let identity = identity_of(&metadata);
    match &*opened() {
        Some(known) if known.contains(&identity) => Err(OpenError::Locked {
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

impl Guard {
    /// Locks an existing database file by its descriptor, so that a second name or a lock file that
    /// somebody removed lets nobody in. The engine's own locks are of another kind, and do not
    /// meet this one.
    pub(super) fn lock(path: &Path) -> Result<Self, OpenError> {
        let io = |error: std::io::Error| OpenError::Io {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let locked = || OpenError::Locked {
            path: path.to_owned(),
        };
        let identity = identity_of(&path.metadata().map_err(io)?);
        let mut opened = opened();
        let known = opened.get_or_insert_default();
        if known.contains(&identity) {
            return Err(locked());
        }
        let file = File::open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(locked()),
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        known.insert(identity);
        Ok(Self {
            path: path.to_owned(),
            identity,
            lock: Mutex::new(Some(file)),
            watched: Mutex::default(),
            looked: Mutex::default(),
        })
    }

    /// Notes what the files are from now on: the database, its log, and what readers share.
    pub(super) fn watch(&self) -> Result<(), OpenError> {
        let mut watched = Vec::new();
        for suffix in ["", LOG, "-shm"] {
            let path = beside(&self.path, suffix);
            let watch = || -> std::io::Result<Watched> {
                let metadata = path.metadata()?;
                // Closing any descriptor of a file ends the engine's locks on it. The log has
                // none, and the database is held open until the engine has closed it.
                let file = match suffix {
                    "" => lock(&self.lock).as_ref().map(File::try_clone).transpose()?,
                    LOG => Some(File::open(&path)?),
                    _ => None,
                };
                Ok(Watched {
                    identity: identity_of(&metadata),
                    file,
                    bytes: metadata.len(),
                    changed: (suffix != LOG).then(|| change_of(&metadata)),
                    path: path.clone(),
                })
            };
            watched.push(watch().map_err(|error| OpenError::Io {
                path: path.clone(),
                reason: error.to_string(),
            })?);
        }
        if watched[0].identity != self.identity {
            return Err(OpenError::Io {
                path: self.path.clone(),
                reason: "another file was put in its place while it was opened".to_owned(),
            });
        }
        *self.watched() = watched;
        Ok(())
    }

    /// Says whether every file is still there under its name, and no shorter than it was.
    ///
    /// # Errors
    ///
    /// What has happened to which file, and the way out.
    pub(super) fn check(&self) -> Result<(), String> {
        self.watched().iter_mut().try_for_each(Watched::check)
    }

    /// Says so before a batch: of the log, which is as long as before once more is written behind
    /// what was cut off; and now and then of all files.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub(super) fn check_before(&self) -> Result<(), String> {
        let mut looked = lock(&self.looked);
        if looked.is_some_and(|it| it.elapsed() < FILES_LOOK_INTERVAL) {
            return self.watched().get_mut(1).map_or(Ok(()), Watched::glance);
        }
        self.check()?;
        *looked = Some(Instant::now());
        Ok(())
    }

    /// Says so after a commit: of the database and its log.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub(super) fn check_after(&self) -> Result<(), String> {
        let mut watched = self.watched();
        watched.iter_mut().take(2).try_for_each(Watched::glance)
    }

    /// Takes note that the engine itself may have cut the log.
    pub(super) fn note_truncated(&self) {
        if let Some(log) = self.watched().get_mut(1) {
            log.bytes = 0;
        }
    }

    /// Releases the lock, after the engine has closed the file.
    pub(super) fn release(&self) {
        let file = lock(&self.lock).take();
        if file.is_some() {
            for watched in self.watched().iter_mut() {
                watched.file = None;
            }
            drop(file);
            opened().get_or_insert_default().remove(&self.identity);
        }
    }

    fn watched(&self) -> MutexGuard<'_, Vec<Watched>> {
        lock(&self.watched)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.release();
    }
}

impl Watched {
    /// Looks at the file itself, and at its name where something may have happened to that.
    fn glance(&mut self) -> Result<(), String> {
        let Some(file) = &self.file else {
            return self.check();
        };
        let Ok(glimpse) = Glimpse::of(file, self.changed.is_some()) else {
            return self.check();
        };
        let renamed = self.changed.is_some() && self.changed != glimpse.changed;
        if !glimpse.is_named || renamed {
            return self.check();
        }
        self.compare_bytes(glimpse.bytes)
    }

    /// Looks at what the name leads to.
    fn check(&mut self) -> Result<(), String> {
        let path = self.path.display();
        let metadata = match self.path.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(format!(
                    "the file {path} was deleted or moved away; put it back, or stop the service \
                     and restore a copy"
                ));
            }
            Err(error) => return Err(format!("the file {path} cannot be looked at: {error}")),
        };
        if identity_of(&metadata) != self.identity {
            return Err(format!(
                "another file was put in the place of {path}; put the former back, or stop the \
                 service and begin it on the new one"
            ));
        }
        self.changed = self.changed.map(|_| change_of(&metadata));
        self.compare_bytes(metadata.len())
    }

    fn compare_bytes(&mut self, bytes: u64) -> Result<(), String> {
        if bytes < self.bytes {
            return Err(format!(
                "the file {} was cut from {} to {bytes} bytes; stop the service and restore a copy",
                self.path.display(),
                self.bytes,
            ));
        }
        self.bytes = bytes;
        Ok(())
    }
}

/// Returns when a file last changed. Coarse clocks may give two changes one time; what that hides
/// is found within the second.
fn change_of(metadata: &Metadata) -> Change {
    (metadata.ctime(), metadata.ctime_nsec())
}

fn identity_of(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn opened() -> MutexGuard<'static, Option<HashSet<Identity>>> {
    lock(&OPENED)
}

/// What stands under these locks is whole whenever they are free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
