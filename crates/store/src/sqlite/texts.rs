//! Text about persons: kept in one place, and erased where it lies.
//!
//! A page of a tree keeps remains of what has been moved to another page, whatever is done to it
//! there later. So text is in a table that grows only at its end, where nothing ever moves, and a
//! text is erased by zeros of the same length. From the write-ahead log it goes with the next
//! checkpoint, which the writer makes before it answers; see `writer.rs`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::{Digest as _, Sha256};

use crate::games::{Description, PrivateText};

/// The bytes that are kept of the hash of a label.
const LABEL_BYTES: usize = 16;

/// The kinds of text, as the table has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Of an entry that does not describe its game.
    Remark = 0,
    /// Of a genesis, or of an entry that describes its game.
    Description = 1,
    /// The labels of the game.
    Labels = 2,
}

type Labels = Vec<(String, String)>;

/// The key that labels are hashed with.
pub(super) fn label_key(connection: &Connection) -> rusqlite::Result<Vec<u8>> {
    connection
        .prepare_cached("SELECT key FROM label_key")?
        .query_row([], |row| row.get(0))
}

/// The hash that a label is found by.
pub(super) fn hash_label(key: &[u8], (name, value): &(String, String)) -> [u8; LABEL_BYTES] {
    let mut hasher = Sha256::new();
    hasher.update(key);
    hasher.update((name.len() as u64).to_be_bytes());
    hasher.update(name.as_bytes());
    hasher.update(value.as_bytes());
    let hash: [u8; 32] = hasher.finalize().into();
    let mut short = [0; LABEL_BYTES];
    short.copy_from_slice(&hash[..LABEL_BYTES]);
    short
}

/// How a game is described.
pub(super) fn description(
    connection: &Connection,
    game_id: i64,
) -> rusqlite::Result<Option<Description>> {
    connection
        .prepare_cached(
            "SELECT salt, bytes, sequence FROM text_places JOIN texts USING (text_id) \
             WHERE game_id = ?1 AND kind = ?2",
        )?
        .query_row(params![game_id, Kind::Description as i64], |row| {
            Ok(Description {
                text: read_text(row)?,
                sequence: row.get(2)?,
            })
        })
        .optional()
}

/// The labels of a game, sorted by key.
pub(super) fn labels(connection: &Connection, game_id: i64) -> rusqlite::Result<Labels> {
    let written = connection
        .prepare_cached(
            "SELECT bytes FROM text_places JOIN texts USING (text_id) \
             WHERE game_id = ?1 AND kind = ?2",
        )?
        .query_row(params![game_id, Kind::Labels as i64], |row| {
            row.get::<_, Vec<u8>>(0)
        })
        .optional()?;
    let labels = written.map_or(Some(Vec::new()), |written| read_labels(&written));
    labels.ok_or(rusqlite::Error::InvalidQuery)
}

/// The text of an entry.
pub(super) fn text(
    connection: &Connection,
    game_id: i64,
    sequence: i64,
) -> rusqlite::Result<Option<PrivateText>> {
    connection
        .prepare_cached(
            "SELECT salt, bytes FROM text_places JOIN texts USING (text_id) \
             WHERE game_id = ?1 AND sequence = ?2 AND kind < ?3",
        )?
        .query_row(params![game_id, sequence, Kind::Labels as i64], read_text)
        .optional()
}

/// Says whether an entry of a game after a sequence has a text.
pub(super) fn has_texts(
    connection: &Connection,
    game_id: i64,
    after: i64,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM text_places WHERE game_id = ?1 AND sequence > ?2 LIMIT 1")?
        .exists([game_id, after])
}

/// Reads a text from the columns salt, bytes.
fn read_text(row: &Row<'_>) -> rusqlite::Result<PrivateText> {
    Ok(PrivateText {
        salt: row.get(0)?,
        bytes: row.get(1)?,
    })
}

/// Writes labels: each key and each value behind its length in two bytes, which is enough by their
/// limits.
pub(super) fn write_labels(labels: &[(String, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in labels.iter().flat_map(|(key, value)| [key, value]) {
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

fn read_labels(mut bytes: &[u8]) -> Option<Labels> {
    let mut labels = Vec::new();
    let mut next = || {
        let (length, rest) = bytes.split_first_chunk::<2>()?;
        let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        bytes = rest;
        Some((String::from_utf8(text.to_vec()).ok()?, rest.is_empty()))
    };
    loop {
        let (key, _) = next()?;
        let (value, is_last) = next()?;
        labels.push((key, value));
        if is_last {
            return Some(labels);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_they_were_written() {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        for labels in [
            vec![label("a", "")],
            vec![label("event", "Zürich"), label("round", &"x".repeat(256))],
        ] {
            let written = write_labels(&labels);
            assert_eq!(read_labels(&written), Some(labels));
            assert_eq!(read_labels(&written[..written.len() - 1]), None);
        }
    }

    #[test]
    fn labels_do_not_run_into_each_other() {
        let hash = |key: &str, value: &str| hash_label(b"k", &(key.to_owned(), value.to_owned()));
        assert_ne!(hash("ab", "c"), hash("a", "bc"));
    }
}
