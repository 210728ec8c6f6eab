//! Opening the database file: one process, one writer, and the settings of durability.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema::{self, SchemaError};
use crate::error::OpenError;

/// How long a connection waits for a lock of another. Within our process only recovery and
/// checkpoints hold such locks, and for moments.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The statements that a connection keeps compiled; more than there are.
const CACHED_STATEMENTS: usize = 128;

/// The pages that the writer keeps in memory, as SQLite counts them: negative for KiB.
const WRITER_CACHE: i64 = -65_536;

/// The pages that each reader keeps in memory.
const READER_CACHE: i64 = -8_192;

/// What the file of a new store is called until it is whole.
const NEW_SUFFIX: &str = ".new";

/// How every database of SQLite begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The absolute path of the database file, the same for every way to name it.
///
/// The lock lies beside the file, so that two names for one file must lead to one lock.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, OpenError> {
    let io = |error: std::io::Error| OpenError::Io {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    match path.canonicalize() {
        Ok(resolved) => Ok(resolved),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let name = path.file_name().ok_or_else(|| io(error))?;
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            Ok(folder.canonicalize().map_err(io)?.join(name))
        }
        Err(error) => Err(io(error)),
    }
}

/// The name of a file beside the database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Makes the file of a new store where there is none: whole and on disk before it has its name, so
/// that a power cut leaves all of it or nothing.
pub(super) fn create_if_missing(path: &Path) -> Result<(), OpenError> {
    let io = |error: std::io::Error| OpenError::Io {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    if path.try_exists().map_err(io)? {
        return Ok(());
    }
    let new = beside(path, NEW_SUFFIX);
    // What an attempt before this one has left.
    for suffix in ["", "-journal", "-wal", "-shm"] {
        match std::fs::remove_file(beside(&new, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    let connection = open_writer(&new)?;
    connection
        .close()
        .map_err(|(_, error)| engine_error(path, &error))?;
    File::open(&new)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&new, path))
        .map_err(io)?;
    sync_folder(path)
}

/// Puts the names of the files beside the database, and its own, on disk.
pub(super) fn sync_folder(path: &Path) -> Result<(), OpenError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| OpenError::Io {
            path: folder.to_owned(),
            reason: error.to_string(),
        })
}

/// Refuses a file that is no database at all, before anything is laid beside it. An empty one can
/// become a database.
pub(super) fn refuse_foreign(path: &Path) -> Result<(), OpenError> {
    let Ok(file) = File::open(path) else {
        // Whether it can be made, or why not, is found out when it is opened to write.
        return Ok(());
    };
    let mut head = Vec::new();
    let read = file.take(MAGIC.len() as u64).read_to_end(&mut head);
    match read {
        Ok(0) => Ok(()),
        Ok(_) if head == MAGIC => Ok(()),
        Ok(_) => Err(OpenError::Foreign {
            path: path.to_owned(),
        }),
        Err(error) => Err(OpenError::Io {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}

/// Takes the lock of a database file for as long as the returned file lives.
///
/// It is a lock of the operating system on a file beside the database: a process that dies, by
/// whatever cause, holds it no longer.
pub(super) fn lock(path: &Path) -> Result<File, OpenError> {
    let name = beside(path, ".lock");
    let io = |error: std::io::Error| OpenError::Io {
        path: name.clone(),
        reason: error.to_string(),
    };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(io(error)),
    }
}

/// Opens the connection of the writer, creates or migrates the schema, and checks that the
/// settings on which durability rests took effect.
pub(super) fn open_writer(path: &Path) -> Result<Connection, OpenError> {
    let engine = |error: rusqlite::Error| engine_error(path, &error);
    // Without the flag for URIs: a path is a path, whatever it begins with.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = open(path, flags).map_err(engine)?;

    // Before anything is written: the file may not be ours.
    schema::inspect(&connection).map_err(|error| schema_error(path, error))?;

    let is_empty = path.metadata().is_ok_and(|metadata| metadata.len() == 0);
    if is_empty {
        // The way to the write-ahead log leads through a journal. One on disk, removed, comes back
        // in a power cut where names have no order, and would undo the whole store.
        set(path, &connection, "journal_mode", "memory", "memory")?;
    }
    set(path, &connection, "journal_mode", "wal", "wal")?;
    set(path, &connection, "synchronous", "full", "2")?;
    set(path, &connection, "foreign_keys", "on", "1")?;
    // What is deleted is overwritten.
    set(path, &connection, "secure_delete", "on", "1")?;
    // The writer checkpoints by itself, after it has answered; see `Writer::checkpoint`.
    set(path, &connection, "wal_autocheckpoint", "0", "0")?;
    connection
        .pragma_update(None, "cache_size", WRITER_CACHE)
        .map_err(engine)?;

    schema::migrate(&mut connection).map_err(|error| schema_error(path, error))?;
    Ok(connection)
}

/// Opens one more connection, for reading only.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open(path, flags)?;
    connection.pragma_update(None, "cache_size", READER_CACHE)?;
    Ok(connection)
}

/// Opens a file to read it, where nobody else may have it open: in place, or as one that is
/// `still`, beside which nothing need be laid.
pub(super) fn open_to_read(path: &Path, still: bool) -> Result<Connection, OpenError> {
    let opened = if still {
        open_still(path)
    } else {
        open_reader(path)
    };
    let connection = opened.map_err(|error| engine_error(path, &error))?;
    schema::inspect(&connection).map_err(|error| schema_error(path, error))?;
    Ok(connection)
}

/// Opens a file that nobody writes to.
pub(super) fn open_still(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            // Writing into a text does not fail.
            _ => drop(write!(uri, "%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let connection = open(Path::new(&uri), flags)?;
    connection.pragma_update(None, "cache_size", READER_CACHE)?;
    Ok(connection)
}

/// Opens a connection with the settings that all have.
fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // The planner's stability guarantee. Without it SQLite compiles a cached statement anew for
    // other values of its parameters, which cost more than a third of the writer's time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Sets one pragma and reads it back: SQLite does not say when a setting is refused.
fn set(
    path: &Path,
    connection: &Connection,
    name: &'static str,
    value: &str,
    needed: &'static str,
) -> Result<(), OpenError> {
    use rusqlite::types::Value;

    let engine = |error: rusqlite::Error| engine_error(path, &error);
    connection
        .pragma_update(None, name, value)
        .map_err(engine)?;
    let found = connection
        .pragma_query_value(None, name, |row| row.get::<_, Value>(0))
        .map_err(engine)?;
    let found = match found {
        Value::Text(text) => text,
        Value::Integer(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    if found == needed {
        Ok(())
    } else {
        Err(OpenError::Setting {
            name,
            needed,
            found,
        })
    }
}

fn schema_error(path: &Path, error: SchemaError) -> OpenError {
    match error {
        SchemaError::Foreign => OpenError::Foreign {
            path: path.to_owned(),
        },
        SchemaError::Older { found, oldest } => OpenError::OlderSchema {
            path: path.to_owned(),
            found,
            oldest,
        },
        SchemaError::Newer { found, known } => OpenError::NewerSchema {
            path: path.to_owned(),
            found,
            known,
        },
        SchemaError::Engine(error) => engine_error(path, &error),
    }
}

fn engine_error(path: &Path, error: &rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::Foreign {
            path: path.to_owned(),
        },
        _ => OpenError::Io {
            path: path.to_owned(),
            reason: error.to_string(),
        },
    }
}
