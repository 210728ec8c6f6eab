//! The log of all entries: what changed, and the entries of a platform.
//!
//! Positions are cut into blocks, and a table says which blocks have entries of a platform: one
//! small row for hundreds of entries, where an index over platforms would be one for each entry.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::query::{self, Page};
use crate::games::{GameKey, StoredEntry};
use crate::limits::TAIL_BLOCKS_MAX;
use crate::log::{Change, ChangePage, LogCursor, TailEntry, TailPage};

/// A block has this many positions, as a power of two. Within a block the entries of other
/// platforms are walked over.
const BLOCK_BITS: u32 = 8;

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
             WHERE position > ?1 ORDER BY position LIMIT ?2",
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
    // A creation is the entry 0 of its game; its bytes lie elsewhere. The plus keeps the engine
    // from walking through all games of the platform.
    let mut in_block = connection.prepare_cached(
        "SELECT sequence, position, chain, bytes, game_id FROM entries \
         WHERE platform_id = ?1 AND position > ?2 AND position <= ?3 \
         UNION ALL SELECT 0, log_position, chain, NULL, game_id FROM games \
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
                page.push(entry, |entry| entry.entry.bytes.len());
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

/// The name of a game and its labels.
type Named = (String, Vec<(String, String)>);

/// The games that are met on the way through a log.
struct TailedGames<'a> {
    connection: &'a Connection,
    platform: &'a str,
    /// What a game must have.
    labels: &'a [(String, String)],
    /// The name and the labels of each game; none where it has other labels.
    known: HashMap<i64, Option<Named>>,
}

impl TailedGames<'_> {
    /// Reads an entry from the columns sequence, position, chain, bytes, game_id; none where its
    /// game has other labels.
    fn read(&mut self, row: &Row<'_>) -> rusqlite::Result<Option<TailEntry>> {
        let game_id = row.get(4)?;
        if !self.known.contains_key(&game_id) {
            let found = self.find(game_id)?;
            self.known.insert(game_id, found);
        }
        let Some(Some((name, labels))) = self.known.get(&game_id) else {
            return Ok(None);
        };
        let sequence = row.get(0)?;
        let bytes = match sequence {
            0 => self
                .connection
                .prepare_cached("SELECT bytes FROM geneses WHERE game_id = ?1")?
                .query_row([game_id], |row| row.get(0))?,
            _ => row.get(3)?,
        };
        let position = row.get(1)?;
        Ok(Some(TailEntry {
            key: GameKey::new(self.platform, name),
            labels: labels.clone(),
            entry: StoredEntry {
                sequence,
                position,
                bytes,
                chain: row.get(2)?,
            },
            cursor: cursor_after(position),
        }))
    }

    fn find(&self, game_id: i64) -> rusqlite::Result<Option<Named>> {
        let labels = query::labels(self.connection, game_id)?;
        if !self.labels.iter().all(|label| labels.contains(label)) {
            return Ok(None);
        }
        let name = self
            .connection
            .prepare_cached("SELECT name FROM games WHERE game_id = ?1")?
            .query_row([game_id], |row| row.get(0))?;
        Ok(Some((name, labels)))
    }
}
