//! What the errors of SQLite mean to a caller.

use rusqlite::{Error, ErrorCode, ffi};

use crate::error::Fault;

/// Returns what a failed read means.
pub(super) fn of_read(error: &Error) -> Fault {
    Fault::Unavailable {
        reason: error.to_string(),
    }
}

/// Returns what a failed write means. While a transaction is `committing`, an error of the disk
/// leaves open how much of it is there.
pub(super) fn of_write(error: &Error, committing: bool) -> Fault {
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

fn extended(error: &Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}
