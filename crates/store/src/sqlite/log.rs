//! The log of all entries: what changed, and the entries of a platform.
//!
//! Positions are cut into blocks, and a table says which blocks have entries of a platform: one
//! small row for hundreds of entries, where an index over platforms would be one for each entry.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::query::{self, Page, entry_bytes};
use super::texts;
use crate::games::{GameKey, StoredEntry, Tombstone};
use crate::limits::TAIL_BLOCKS_MAX;
use crate::log::{Change, ChangePage, LogCursor, TailEntry, TailPage};

/// A block has this many positions, as a power of two. Within a block the entries of other
/// platforms are walked over.
pub(super) const BLOCK_BITS: u32 = 8;

/// The platforms that have an entry or a creation in the current block.
#[derive(Debug, Default)]
pub(super) struct Block {
    number: i64,
    platforms: HashSet<i64>,
}

impl Block {
    /// Keeps that the block of a position has an entry of a platform.
    pub(super) fn note(
        &mut self,
        connection: &Connection,
        platform_id: i64,
        position: i64,
    ) -> rusqlite::Result<()> {
        let number = block_of(position);
        if self.number != number {
            *self = Block {
                number,
                platforms: HashSet::new(),
            };
        }
        if self.platforms.insert(platform_id) {
            connection
                .prepare_cached("INSERT OR IGNORE INTO blocks VALUES (?1, ?2)")?
                .execute([platform_id, number])?;
        }
        Ok(())
    }
}

/// The block of a position.
pub(super) fn block_of(position: i64) -> i64 {
    position >> BLOCK_BITS
}

/// The newest position that was ever used.
pub(super) fn newest_position(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached(
            "SELECT max(position, coalesce((SELECT max(position) FROM entries), 0), \
             coalesce((SELECT max(log_position) FROM games), 0)) FROM deleted",
        )?
        .query_row([], |row| row.get(0))
}

/// The position that a cursor stands after, where this engine gave the cursor.
pub(super) fn position_of(cursor: &LogCursor) -> Option<i64> {
    let position: i64 = cursor.text().parse().ok()?;
    // One text for each position, so that equal cursors are equal texts.
    (position >= 0 && position.to_string() == cursor.text()).then_some(position)
}

/// The cursor that stands after a position.
pub(super) fn cursor_after(position: i64) -> LogCursor {
    LogCursor::of(position.to_string())
}

/// The key that cursors are covered by.
pub(super) fn cover_key(connection: &Connection) -> rusqlite::Result<Vec<u8>> {
    connection
        .prepare_cached("SELECT key FROM cover_key")?
        .query_row([], |row| row.get(0))
}

/// A page of the changes of all games.
pub(super) fn changes(
    connection: &Connection,
    after: i64,
    limit: usize,
) -> rusqlite::Result<ChangePage> {
    let mut last = after;
    let changes: Vec<Change> = connection
        .prepare_cached(
            "SELECT platforms.name, games.name, sequence, position \
             FROM entries JOIN games USING (game_id) \
             JOIN platforms ON platforms.platform_id = games.platform_id \
             WHERE position > ?1 \
             UNION ALL SELECT platforms.name, games.name, NULL, log_position \
             FROM games JOIN platforms USING (platform_id) \
             WHERE log_position > ?1 AND delete_time_us IS NOT NULL \
             ORDER BY position LIMIT ?2",
        )?
        .query_map(params![after, limit as i64], |row| {
            last = row.get(3)?;
            Ok(Change {
                key: GameKey {
                    platform: row.get(0)?,
                    game: row.get(1)?,
                },
                sequence: row.get(2)?,
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    if changes.len() < limit {
        last = last.max(newest_position(connection)?);
    }
    let next = cursor_after(last);
    Ok(ChangePage { changes, next })
}

/// A page of the log of a platform: of the games that have all of some labels. None where the
/// position was never used.
pub(super) fn tail(
    connection: &Connection,
    platform: &str,
    labels: &[(String, String)],
    after: i64,
    limit: usize,
) -> rusqlite::Result<Option<TailPage>> {
    let mut page = Page::new(limit);
    let end = newest_position(connection)?;
    if after > end {
        return Ok(None);
    }
    let Some(platform_id) = query::platform_id(connection, platform)? else {
        return Ok(Some(TailPage {
            entries: page.rows,
            next: cursor_after(end),
        }));
    };
    let mut next_block = connection.prepare_cached(
        "SELECT block FROM blocks WHERE platform_id = ?1 AND block >= ?2 ORDER BY block LIMIT 1",
    )?;
    // A creation is the entry 0 of its game; its bytes lie elsewhere. A deletion is there in its
    // place. The plus keeps the engine from walking through all games of the platform.
    let mut in_block = connection.prepare_cached(
        "SELECT sequence, position, chain, bytes, game_id, NULL FROM entries \
         WHERE platform_id = ?1 AND position > ?2 AND position <= ?3 \
         UNION ALL SELECT 0, log_position, chain, NULL, game_id, delete_time_us FROM games \
         WHERE +platform_id = ?1 AND log_position > ?2 AND log_position <= ?3 ORDER BY position",
    )?;
    let mut games = TailedGames {
        connection,
        platform,
        labels,
        known: HashMap::new(),
    };
    let mut seen = after;
    for _ in 0..TAIL_BLOCKS_MAX {
        let from = params![platform_id, seen.saturating_add(1) >> BLOCK_BITS];
        let block: Option<i64> = next_block.query_row(from, |row| row.get(0)).optional()?;
        let Some(block) = block else {
            seen = end;
            break;
        };
        let last_of_block = ((block + 1) << BLOCK_BITS) - 1;
        let mut rows = in_block.query(params![platform_id, seen, last_of_block])?;
        while !page.is_full()
            && let Some(row) = rows.next()?
        {
            if let Some(entry) = games.read(row)? {
                page.push(entry, |entry| entry_bytes(&entry.entry));
            }
        }
        if page.is_full() {
            break;
        }
        seen = last_of_block.min(end);
    }
    if page.is_full() {
        seen = page.rows.last().map_or(seen, |last| last.entry.position);
    }
    Ok(Some(TailPage {
        entries: page.rows,
        next: cursor_after(seen),
    }))
}

/// A game that is met on the way through a log.
struct TailedGame {
    name: String,
    labels: Vec<(String, String)>,
    /// Whether it has the labels that are asked for.
    passes: bool,
    /// Whether it was ever described anew.
    was_updated: bool,
    /// Whether its entries have text beside them.
    has_texts: bool,
}

/// The games that are met on the way through a log.
struct TailedGames<'a> {
    connection: &'a Connection,
    platform: &'a str,
    /// What a game must have.
    labels: &'a [(String, String)],
    known: HashMap<i64, TailedGame>,
}

impl TailedGames<'_> {
    /// Reads an entry from the columns sequence, position, chain, bytes, game_id, delete_time_us;
    /// none where its game has other labels.
    fn read(&mut self, row: &Row<'_>) -> rusqlite::Result<Option<TailEntry>> {
        let game_id = row.get(4)?;
        let game = match self.known.entry(game_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let game = find(self.connection, self.labels, game_id)?;
                new.insert(game)
            }
        };
        let (sequence, position) = (row.get(0)?, row.get(1)?);
        let key = || GameKey::new(self.platform, game.name.as_str());
        let cursor = cursor_after(position);
        if let Some(delete_time_us) = row.get(5)? {
            return Ok(Some(TailEntry {
                key: key(),
                labels: Vec::new(),
                entry: StoredEntry {
                    sequence: 0,
                    position,
                    bytes: Vec::new(),
                    chain: [0; 32],
                    private: None,
                },
                deleted: Some(Tombstone { delete_time_us }),
                cursor,
            }));
        }
        let is_told =
            game.passes || game.was_updated && is_update(self.connection, game_id, sequence)?;
        if !is_told {
            return Ok(None);
        }
        let bytes = match sequence {
            0 => self
                .connection
                .prepare_cached("SELECT bytes FROM geneses WHERE game_id = ?1")?
                .query_row([game_id], |row| row.get(0))?,
            _ => row.get(3)?,
        };
        let private = match game.has_texts {
            true => texts::text(self.connection, game_id, sequence)?,
            false => None,
        };
        Ok(Some(TailEntry {
            key: key(),
            labels: game.labels.clone(),
            entry: StoredEntry {
                sequence,
                position,
                bytes,
                chain: row.get(2)?,
                private,
            },
            deleted: None,
            cursor,
        }))
    }
}

fn find(
    connection: &Connection,
    wanted: &[(String, String)],
    game_id: i64,
) -> rusqlite::Result<TailedGame> {
    let labels = texts::labels(connection, game_id)?;
    let name = connection
        .prepare_cached("SELECT name FROM games WHERE game_id = ?1")?
        .query_row([game_id], |row| row.get(0))?;
    let was_updated = connection
        .prepare_cached("SELECT 1 FROM platform_requests WHERE game_id = ?1 LIMIT 1")?
        .exists([game_id])?;
    Ok(TailedGame {
        name,
        passes: wanted.iter().all(|label| labels.contains(label)),
        labels,
        was_updated,
        has_texts: texts::has_texts(connection, game_id, -1)?,
    })
}

/// Whether an entry describes its game.
fn is_update(connection: &Connection, game_id: i64, sequence: i64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM platform_requests WHERE game_id = ?1 AND sequence = ?2")?
        .exists([game_id, sequence])
}
