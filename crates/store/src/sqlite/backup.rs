//! Copies of a store.
//!
//! `VACUUM INTO` reads in one transaction, so that the copy is of one moment, and writes beside it
//! go on: a copy page by page would begin again whenever something is written. It carries over
//! rows and no pages, so that nothing of what was erased or deleted is in the copy.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tempfile::NamedTempFile;
use tokio::time::Instant;

use super::log;
use crate::limits::{COPY_ROOM_BYTES, COPY_SYNC_BYTES, WORK_TIME};
use crate::upkeep::{BackUpError, BackedUp, Course};

/// How the name of a copy begins that is not complete.
const PART_PREFIX: &str = ".referee-copy-";

/// How it ends.
const PART_SUFFIX: &str = ".part";

/// The steps of the engine between two looks at the clock.
const STEPS: i32 = 500;

/// Copies what a connection sees into a new file.
pub(super) fn back_up(
    connection: &mut Connection,
    target: &Path,
    course: &Arc<Course>,
) -> Result<BackedUp, BackUpError> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let in_folder = |error: io::Error| io_error(folder, &error);
    if target.symlink_metadata().is_ok() {
        return Err(exists(target));
    }
    remove_leftovers(folder).map_err(in_folder)?;
    let engine = |error: rusqlite::Error| engine_error(target, &error);
    let size = size(connection).map_err(engine)?;
    course.set_total(size);
    check_room(folder, size)?;
    let part = tempfile::Builder::new()
        .prefix(PART_PREFIX)
        .suffix(PART_SUFFIX)
        .tempfile_in(folder)
        .map_err(in_folder)?;
    // Held for as long as it is written; see `remove_leftovers`.
    part.as_file()
        .try_lock()
        .map_err(|error| in_folder(error.into()))?;
    vacuum_into(connection, &part, course).map_err(engine)?;
    let file = part.as_file();
    file.sync_all().map_err(|error| io_error(target, &error))?;
    let bytes = file.metadata().map_err(in_folder)?.len();
    course.set_done(bytes);
    let (games, position) = contents(part.path()).map_err(engine)?;
    part.persist_noclobber(target).map_err(|error| {
        if error.error.kind() == io::ErrorKind::AlreadyExists {
            exists(target)
        } else {
            io_error(target, &error.error)
        }
    })?;
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(in_folder)?;
    Ok(BackedUp {
        bytes,
        games,
        position,
    })
}

/// The bytes of what is in a store: an upper bound for its copy.
fn size(connection: &Connection) -> rusqlite::Result<u64> {
    let read = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = read("page_count")? - read("freelist_count")?;
    Ok((pages.max(0) * read("page_size")?) as u64)
}

/// The games of a copy, and its newest position.
fn contents(path: &Path) -> rusqlite::Result<(u64, i64)> {
    let copy = super::connection::open_still(path)?;
    let games: i64 = copy.query_row("SELECT count(*) FROM games", [], |row| row.get(0))?;
    Ok((games.max(0) as u64, log::newest_position(&copy)?))
}

fn check_room(folder: &Path, size: u64) -> Result<(), BackUpError> {
    let room = rustix::fs::statvfs(folder).map_err(|error| io_error(folder, &error.into()))?;
    let free = room.f_bavail.saturating_mul(room.f_frsize);
    let needed = size.saturating_add(COPY_ROOM_BYTES);
    if free < needed {
        return Err(BackUpError::NoRoom { free, needed });
    }
    Ok(())
}

/// Runs the copy itself, which stops, rests and is brought to the disk on the way.
fn vacuum_into(
    connection: &mut Connection,
    part: &NamedTempFile,
    course: &Arc<Course>,
) -> rusqlite::Result<()> {
    let file = part.reopen().ok();
    let mut synced = 0;
    let mut sync = move |course: &Course| {
        let Some(file) = &file else { return };
        let written = file.metadata().map_or(0, |found| found.len());
        course.set_done(written.min(course.total()));
        if written >= synced + COPY_SYNC_BYTES {
            // A failure is met again at the end, and reported there.
            let _ = file.sync_data();
            synced = written;
        }
    };
    pace(connection, course, move |course| sync(course))?;
    let path = part.path().to_string_lossy().into_owned();
    let done = connection.execute("VACUUM main INTO ?1", [path]);
    unpace(connection)?;
    done.map(drop)
}

/// Lets all that a connection does stop and rest as a course says; `look` is called on the way.
pub(super) fn pace(
    connection: &mut Connection,
    course: &Arc<Course>,
    mut look: impl FnMut(&Course) + Send + 'static,
) -> rusqlite::Result<()> {
    let course = Arc::clone(course);
    let mut since = Instant::now();
    let handler = move || {
        let worked = since.elapsed();
        if worked >= WORK_TIME {
            look(&course);
            let rest = course.rest_after(worked);
            if rest > Duration::ZERO {
                std::thread::sleep(rest);
            }
            since = Instant::now();
        }
        course.is_stopped()
    };
    connection.progress_handler(STEPS, Some(handler))
}

/// Ends [`pace`].
pub(super) fn unpace(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.progress_handler(0, None::<fn() -> bool>)
}

/// Removes what copies have left that were never completed. One that is being written is locked.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        if !name.starts_with(PART_PREFIX) || !name.ends_with(PART_SUFFIX) {
            continue;
        }
        let path = folder.join(name);
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            tracing::warn!(file = %path.display(), "a copy that was not completed is removed");
            for gone in [path, folder.join(format!("{name}-journal"))] {
                match fs::remove_file(gone) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

fn exists(target: &Path) -> BackUpError {
    BackUpError::Exists {
        path: target.to_owned(),
    }
}

fn io_error(path: &Path, error: &io::Error) -> BackUpError {
    BackUpError::Io {
        path: PathBuf::from(path),
        reason: error.to_string(),
    }
}

fn engine_error(target: &Path, error: &rusqlite::Error) -> BackUpError {
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => BackUpError::Stopped,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            BackUpError::Damaged { reason }
        }
        _ => BackUpError::Io {
            path: target.to_owned(),
            reason,
        },
    }
}
