//! Signs of life, and the spans without them.

use rusqlite::{Connection, OptionalExtension, params};

use super::writer::Writer;
use crate::record::{Beat, DownSpan};

impl Writer {
    /// Keeps a sign of life, and the span before it where that is too long.
    pub(super) fn beat(&self, beat: Beat) -> rusqlite::Result<Option<DownSpan>> {
        let Beat {
            at_us,
            silence_max_us,
        } = beat;
        let last_us = heartbeat(&self.connection)?;
        if last_us.is_some_and(|last_us| at_us <= last_us) {
            return Ok(None);
        }
        self.connection
            .prepare_cached(
                "INSERT INTO heartbeat (one, at_us) VALUES (1, ?1) \
                 ON CONFLICT (one) DO UPDATE SET at_us = excluded.at_us",
            )?
            .execute([at_us])?;
        let silence = last_us.filter(|last_us| at_us.saturating_sub(*last_us) > silence_max_us);
        let Some(from_us) = silence else {
            return Ok(None);
        };
        self.connection
            .prepare_cached("INSERT INTO down_spans (from_us, to_us) VALUES (?1, ?2)")?
            .execute([from_us, at_us])?;
        Ok(Some(DownSpan {
            from_us,
            to_us: at_us,
        }))
    }
}

/// The last sign of life.
pub(super) fn heartbeat(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT at_us FROM heartbeat")?
        .query_row([], |row| row.get(0))
        .optional()
}

/// The spans that ended after a time, oldest first.
pub(super) fn down_spans(
    connection: &Connection,
    after_us: i64,
    limit: usize,
) -> rusqlite::Result<Vec<DownSpan>> {
    connection
        .prepare_cached(
            "SELECT from_us, to_us FROM down_spans WHERE to_us > ?1 ORDER BY to_us LIMIT ?2",
        )?
        .query_map(params![after_us, limit as i64], |row| {
            Ok(DownSpan {
                from_us: row.get(0)?,
                to_us: row.get(1)?,
            })
        })?
        .collect()
}
