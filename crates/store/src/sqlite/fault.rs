//! What the errors of SQLite mean to a caller.

use std::fmt;

use rusqlite::types::Type;
use rusqlite::{Error, ErrorCode, ffi};

use crate::error::Fault;

/// Returns what a failed read means.
pub(super) fn of_read(error: &Error) -> Fault {
    match of_damage(error) {
        Some(what) => Fault::Damaged { what },
        None => Fault::Unavailable {
            reason: error.to_string(),
        },
    }
}

/// Something that was read and is not what was written.
#[derive(Debug)]
struct Damage(String);

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damage {}

/// Returns the error of what was read and is not what was written.
pub(super) fn damaged(what: impl fmt::Display) -> Error {
    let damage = Damage(what.to_string());
    Error::FromSqlConversionFailure(0, Type::Blob, Box::new(damage))
}

/// Returns what is damaged where an error says so: a row or a value is not there that must be, or
/// a page makes no sense.
pub(super) fn of_damage(error: &Error) -> Option<String> {
    match error {
        Error::FromSqlConversionFailure(_, _, inner) if inner.is::<Damage>() => {
            Some(inner.to_string())
        }
        Error::QueryReturnedNoRows => Some("a row is missing".to_owned()),
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => Some(format!("a value makes no sense: {error}")),
        _ => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Some(error.to_string()),
            _ => None,
        },
    }
}

/// Returns what a failed write means. While a transaction is `committing`, an error of the disk
/// leaves open how much of it is there.
pub(super) fn of_write(error: &Error, committing: bool) -> Fault {
    if let Some(what) = of_damage(error) {
        return Fault::Damaged { what };
    }
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::ReadOnly) => Fault::ReadOnly { reason },
        // The frame that makes a commit is written last: what cannot be written is not committed.
        Some(ErrorCode::SystemIoFailure) if extended(error) == Some(ffi::SQLITE_IOERR_WRITE) => {
            Fault::ReadOnly { reason }
        }
        Some(ErrorCode::SystemIoFailure) if committing => {
            // The callers are told that nothing is known, so that the reason stays here.
            tracing::error!(reason, "a commit failed, and may be on the disk or not");
            Fault::Unknown
        }
        _ => Fault::Unavailable { reason },
    }
}

/// Says whether an error is of the whole database, and not of the one write that met it.
pub(super) fn is_of_all(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::DatabaseBusy
        )
    )
}

/// Says whether the disk failed, after which the engine throws away what it knows.
pub(super) fn is_of_disk(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory)
    )
}

fn extended(error: &Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}
