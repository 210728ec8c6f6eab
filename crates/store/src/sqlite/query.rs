//! The questions that are asked of the tables about one game.
//!
//! Every function runs in a transaction of its caller and so sees one state.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault;
use super::request::{Digest, Filter, digest};
use super::texts;
use crate::chain::{self, ChainError};
use crate::games::{
    Answer, AnswerBody, GameHead, GameKey, GameRow, RequestKey, StoredEntry, Tombstone,
};
use crate::limits::PAGE_BYTES;

/// The bytes of a position in a run.
const POSITION_BYTES: usize = size_of::<i64>();

/// Where the entries of a game end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// The sequence of the last entry.
    pub(super) sequence: i64,
    /// Its position.
    pub(super) position: i64,
    /// The number of entries, up to this one, that are in no run.
    pub(super) newest: usize,
}

/// One of the newest entries of a game.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newest {
    /// The key of its request.
    pub(super) key: i64,
    pub(super) position: i64,
}

/// The number of a platform.
pub(super) fn platform_id(connection: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT platform_id FROM platforms WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

/// The number of a game.
pub(super) fn game_id(connection: &Connection, key: &GameKey) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT game_id FROM games JOIN platforms USING (platform_id) \
             WHERE platforms.name = ?1 AND games.name = ?2 AND delete_time_us IS NULL",
        )?
        .query_row([&key.platform, &key.game], |row| row.get(0))
        .optional()
}

/// What is left of a game that was deleted.
pub(super) fn tombstone(
    connection: &Connection,
    key: &GameKey,
) -> rusqlite::Result<Option<Tombstone>> {
    connection
        .prepare_cached(
            "SELECT delete_time_us FROM games JOIN platforms USING (platform_id) \
             WHERE platforms.name = ?1 AND games.name = ?2 AND delete_time_us IS NOT NULL",
        )?
        .query_row([&key.platform, &key.game], |row| {
            Ok(Tombstone {
                delete_time_us: row.get(0)?,
            })
        })
        .optional()
}

/// The number of a game, also where the game was deleted.
pub(super) fn any_game_id(connection: &Connection, key: &GameKey) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT game_id FROM games JOIN platforms USING (platform_id) \
             WHERE platforms.name = ?1 AND games.name = ?2",
        )?
        .query_row([&key.platform, &key.game], |row| row.get(0))
        .optional()
}

/// The game of this name.
pub(super) fn game(connection: &Connection, key: &GameKey) -> rusqlite::Result<Option<GameRow>> {
    let Some(game_id) = game_id(connection, key)? else {
        return Ok(None);
    };
    let row = game_row(connection, &key.platform, game_id)?;
    if chain_of(connection, game_id)? != chain::genesis(key, &row.genesis) {
        return Err(fault::damaged("the genesis is not the one that was stored"));
    }
    Ok(Some(row))
}

/// The first link of the chain of a game.
fn chain_of(connection: &Connection, game_id: i64) -> rusqlite::Result<[u8; 32]> {
    connection
        .prepare_cached("SELECT chain FROM games WHERE game_id = ?1")?
        .query_row([game_id], |row| row.get(0))
}

/// Where the game of this name stands.
pub(super) fn head(connection: &Connection, key: &GameKey) -> rusqlite::Result<Option<GameHead>> {
    connection
        .prepare_cached(
            "SELECT heads.sequence, \
             CASE heads.sequence WHEN 0 THEN games.chain ELSE entries.chain END, state \
             FROM platforms JOIN games USING (platform_id) JOIN heads USING (game_id) \
             LEFT JOIN entries ON entries.position = heads.position \
             WHERE platforms.name = ?1 AND games.name = ?2",
        )?
        .query_row([&key.platform, &key.game], |row| {
            Ok(GameHead {
                sequence: row.get(0)?,
                chain: row.get(1)?,
                state: row.get(2)?,
            })
        })
        .optional()
}

/// The game of this number, which exists and belongs to `platform`.
pub(super) fn game_row(
    connection: &Connection,
    platform: &str,
    game_id: i64,
) -> rusqlite::Result<GameRow> {
    let mut row = connection
        .prepare_cached(
            "SELECT name, geneses.bytes, state, create_time_us, games.chain, heads.sequence, \
             heads.position, entries.update_time_us, entries.chain, entries.bytes \
             FROM games JOIN geneses USING (game_id) JOIN heads USING (game_id) \
             LEFT JOIN entries ON entries.position = heads.position \
             WHERE games.game_id = ?1",
        )?
        .query_row([game_id], |row| {
            let create_time_us = row.get(3)?;
            let mut game = GameRow {
                key: GameKey {
                    platform: platform.to_owned(),
                    game: row.get(0)?,
                },
                genesis: row.get(1)?,
                description: None,
                state: row.get(2)?,
                labels: Vec::new(),
                sequence: row.get(5)?,
                create_time_us,
                update_time_us: create_time_us,
                chain_head: row.get(4)?,
                last_entry: None,
            };
            // An entry that is missing is an error, and no game without entries.
            if game.sequence > 0 {
                game.update_time_us = row.get(7)?;
                game.chain_head = row.get(8)?;
                game.last_entry = Some(StoredEntry {
                    sequence: game.sequence,
                    position: row.get(6)?,
                    bytes: row.get(9)?,
                    chain: game.chain_head,
                    private: None,
                });
            }
            Ok(game)
        })?;
    row.description = texts::description(connection, game_id)?;
    row.labels = texts::labels(connection, game_id)?;
    if let Some(last) = &mut row.last_entry {
        last.private = texts::text(connection, game_id, last.sequence)?;
    }
    Ok(row)
}

/// The answer that a request got in the game of this name.
pub(super) fn answer(
    connection: &Connection,
    key: &GameKey,
    request: &RequestKey,
) -> rusqlite::Result<Option<Answer>> {
    let Some(game_id) = game_id(connection, key)? else {
        return Ok(None);
    };
    let (request, (standing, filter)) = (digest(request), standing(connection, game_id)?);
    let newest = if filter.may_have(request.key) {
        newest(connection, game_id, standing, 0)?
    } else {
        Vec::new()
    };
    let found = match newest.iter().find(|newest| newest.key == request.key) {
        Some(newest) => Some(entry_answer(connection, game_id, newest.position)?),
        None => indexed_answer(connection, game_id, request)?,
    };
    Ok(found
        .filter(|(rest, _)| *rest == request.rest)
        .map(|(_, answer)| answer))
}

/// The answer of a request that is not among the newest of its game, with the rest of its digest.
pub(super) fn indexed_answer(
    connection: &Connection,
    game_id: i64,
    request: Digest,
) -> rusqlite::Result<Option<([u8; 8], Answer)>> {
    let place = connection
        .prepare_cached("SELECT place FROM requests WHERE game_id = ?1 AND request = ?2")?
        .query_row(params![game_id, request.key], |row| row.get::<_, i64>(0))
        .optional()?;
    match place {
        None => Ok(None),
        Some(position) if position > 0 => entry_answer(connection, game_id, position).map(Some),
        Some(refusal) => connection
            .prepare_cached(
                "SELECT request_rest, content_hash, sequence, answer FROM refusals \
                 WHERE refusal_id = ?1 AND game_id = ?2",
            )?
            .query_row([-refusal, game_id], |row| {
                let answer = Answer {
                    content_hash: row.get(1)?,
                    sequence: row.get(2)?,
                    body: AnswerBody::Refusal(row.get(3)?),
                    private: None,
                };
                Ok((row.get(0)?, answer))
            })
            .map(Some),
    }
}

/// The answer that the entry at a position was, with the rest of the digest of its request.
pub(super) fn entry_answer(
    connection: &Connection,
    game_id: i64,
    position: i64,
) -> rusqlite::Result<([u8; 8], Answer)> {
    let (rest, mut answer) = connection
        .prepare_cached(
            "SELECT request_rest, content_hash, sequence, bytes FROM entries \
             WHERE position = ?1 AND game_id = ?2",
        )?
        .query_row([position, game_id], |row| {
            let answer = Answer {
                content_hash: row.get(1)?,
                sequence: row.get(2)?,
                body: AnswerBody::Entry(row.get(3)?),
                private: None,
            };
            Ok((row.get(0)?, answer))
        })?;
    answer.private = texts::text(connection, game_id, answer.sequence)?;
    Ok((rest, answer))
}

/// A page of the entries of a game. Each is compared with the one before it, so that what was
/// changed is given to nobody.
pub(super) fn entries(
    connection: &Connection,
    key: &GameKey,
    after_sequence: i64,
    limit: usize,
) -> rusqlite::Result<Vec<StoredEntry>> {
    let mut page = Page::new(limit);
    let Some(game_id) = game_id(connection, key)? else {
        return Ok(page.rows);
    };
    let mut after = after_sequence.max(0);
    let (standing, _) = standing(connection, game_id)?;
    if after >= standing.sequence {
        return Ok(page.rows);
    }
    let mut places = positions(connection, game_id, (after - 1).max(0), limit + 1)?.into_iter();
    let mut link = match after {
        0 => chain_of(connection, game_id)?,
        _ => chain_at(connection, game_id, places.next())?,
    };
    let mut statement = connection.prepare_cached(
        "SELECT sequence, position, chain, bytes FROM entries \
         WHERE position = ?1 AND game_id = ?2",
    )?;
    let has_texts = texts::has_texts(connection, game_id, after)?;
    while !page.is_full() && after < standing.sequence {
        let sequence = after + 1;
        let missing = || fault::damaged(format!("entry {sequence} is missing"));
        let place = match places.next() {
            Some(place) => place,
            // Those that were looked for are all there.
            None if page.rows.len() == limit => break,
            None => return Err(missing()),
        };
        let mut entry = statement
            .query_row([place, game_id], stored_entry)
            .optional()?
            .filter(|entry| entry.sequence == sequence)
            .ok_or_else(missing)?;
        link = chain::next(&link, &entry.bytes);
        if entry.chain != link {
            return Err(fault::damaged(ChainError::Broken { sequence }));
        }
        if has_texts {
            entry.private = texts::text(connection, game_id, sequence)?;
        }
        after = sequence;
        page.push(entry, entry_bytes);
    }
    Ok(page.rows)
}

/// The link of the entry at a position, where there is one.
fn chain_at(
    connection: &Connection,
    game_id: i64,
    position: Option<i64>,
) -> rusqlite::Result<[u8; 32]> {
    connection
        .prepare_cached("SELECT chain FROM entries WHERE position = ?1 AND game_id = ?2")?
        .query_row(params![position, game_id], |row| row.get(0))
}

/// The payload of an entry.
pub(super) fn entry_bytes(entry: &StoredEntry) -> usize {
    let text = entry.private.as_ref();
    entry.bytes.len() + text.map_or(0, |text| text.bytes.len())
}

/// The positions of the entries of a game after a sequence, in order; at most `limit`.
pub(super) fn positions(
    connection: &Connection,
    game_id: i64,
    after: i64,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let (standing, _) = standing(connection, game_id)?;
    let mut positions = Vec::new();
    if after < standing.sequence - standing.newest as i64 {
        let mut statement = connection.prepare_cached(
            "SELECT sequence, positions FROM runs \
             WHERE game_id = ?1 AND sequence > ?2 ORDER BY sequence",
        )?;
        let mut rows = statement.query([game_id, after])?;
        while positions.len() < limit
            && let Some(row) = rows.next()?
        {
            let (last, run) = (row.get::<_, i64>(0)?, row.get_ref(1)?.as_blob()?);
            let (run, _) = run.as_chunks::<POSITION_BYTES>();
            let before = last - run.len() as i64;
            let skipped = usize::try_from(after - before).unwrap_or(0);
            positions.extend(run.iter().skip(skipped).map(|it| i64::from_be_bytes(*it)));
        }
    }
    if positions.len() < limit {
        let newest = newest(connection, game_id, standing, after)?;
        positions.extend(newest.iter().map(|newest| newest.position));
    }
    positions.truncate(limit);
    Ok(positions)
}

/// The entries of a game that are in no run and come after a sequence, in order.
///
/// They are found from the last one back, by where each says that the one before it is.
pub(super) fn newest(
    connection: &Connection,
    game_id: i64,
    standing: Standing,
    after: i64,
) -> rusqlite::Result<Vec<Newest>> {
    let count = usize::try_from(standing.sequence.saturating_sub(after)).unwrap_or(0);
    let count = count.min(standing.newest);
    let mut statement = connection.prepare_cached(
        "SELECT request, previous FROM entries WHERE position = ?1 AND game_id = ?2",
    )?;
    let (mut newest, mut position) = (Vec::with_capacity(count), standing.position);
    while newest.len() < count {
        let found = statement.query_row([position, game_id], |row| {
            let key = row.get(0)?;
            Ok((Newest { key, position }, row.get(1)?))
        });
        // Where an entry is missing, so is the way to those before it.
        let Some((entry, previous)) = found.optional()? else {
            break;
        };
        newest.push(entry);
        position = previous;
    }
    newest.reverse();
    Ok(newest)
}

/// Where the entries of a game end, and the filter over the newest.
pub(super) fn standing(
    connection: &Connection,
    game_id: i64,
) -> rusqlite::Result<(Standing, Filter)> {
    let columns = Filter::COLUMNS;
    connection
        .prepare_cached(&format!(
            "SELECT sequence, position, newest, {columns} FROM heads WHERE game_id = ?1"
        ))?
        .query_row([game_id], |row| {
            let standing = Standing {
                sequence: row.get(0)?,
                position: row.get(1)?,
                newest: row.get::<_, u32>(2)? as usize,
            };
            Ok((standing, Filter::read(row, 3)?))
        })
}

/// Reads an entry from the columns sequence, position, chain, bytes.
pub(super) fn stored_entry(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    Ok(StoredEntry {
        sequence: row.get(0)?,
        position: row.get(1)?,
        chain: row.get(2)?,
        bytes: row.get(3)?,
        private: None,
    })
}

/// Rows that are collected until there are enough or their payload is large enough.
pub(super) struct Page<T> {
    pub(super) rows: Vec<T>,
    limit: usize,
    bytes: usize,
}

impl<T> Page<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            rows: Vec::new(),
            limit,
            bytes: 0,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= self.limit || self.bytes >= PAGE_BYTES
    }

    pub(super) fn push(&mut self, row: T, size: impl Fn(&T) -> usize) {
        self.bytes += size(&row);
        self.rows.push(row);
    }
}
