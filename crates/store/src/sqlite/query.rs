//! The questions that are asked of the tables about one game or the log.
//!
//! Every function runs in a transaction of its caller and so sees one state. What needs the
//! index over (game, sequence) asks it on disk first and then in memory; see [`super::recent`].

use rusqlite::{Connection, OptionalExtension, Row, Rows, params};

use super::recent::{Recent, RequestId};
use crate::limits::PAGE_BYTES;
use crate::record::{Answer, AnswerBody, GameKey, GameRow, StoredEntry, TailEntry, TailPage};

/// How many places of a game are looked at in one go.
const PLACES: usize = 64;

/// One state of the tables, with the places of the entries that are not in the index.
pub(super) struct Snapshot<'a> {
    /// In a transaction.
    pub(super) connection: &'a Connection,
    /// Its floor is no higher than `indexed_through`.
    pub(super) recent: &'a Recent,
    /// The position up to which the index has all entries.
    pub(super) indexed_through: i64,
}

/// The position of the newest entry; 0 where there is none.
pub(super) fn newest_position(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("SELECT coalesce(max(position), 0) FROM entries")?
        .query_row([], |row| row.get(0))
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
             WHERE platforms.name = ?1 AND games.name = ?2",
        )?
        .query_row([&key.platform, &key.game], |row| row.get(0))
        .optional()
}

/// The game of this name.
pub(super) fn game(snapshot: &Snapshot<'_>, key: &GameKey) -> rusqlite::Result<Option<GameRow>> {
    match game_id(snapshot.connection, key)? {
        Some(game_id) => game_row(snapshot, &key.platform, game_id).map(Some),
        None => Ok(None),
    }
}

/// The game of this number, which exists and belongs to `platform`.
pub(super) fn game_row(
    snapshot: &Snapshot<'_>,
    platform: &str,
    game_id: i64,
) -> rusqlite::Result<GameRow> {
    let mut row = snapshot
        .connection
        .prepare_cached(
            "SELECT name, bytes, state, create_time_us, chain \
             FROM games JOIN geneses USING (game_id) WHERE game_id = ?1",
        )?
        .query_row([game_id], |row| {
            let create_time_us = row.get(3)?;
            Ok(GameRow {
                key: GameKey {
                    platform: platform.to_owned(),
                    game: row.get(0)?,
                },
                genesis: row.get(1)?,
                state: row.get(2)?,
                labels: Vec::new(),
                sequence: 0,
                create_time_us,
                update_time_us: create_time_us,
                chain_head: row.get(4)?,
            })
        })?;
    if let Some(last) = last_entry(snapshot, game_id)? {
        row.sequence = last.sequence;
        row.update_time_us = last.update_time_us;
        row.chain_head = last.chain;
    }
    row.labels = snapshot
        .connection
        .prepare_cached("SELECT key, value FROM labels WHERE game_id = ?1 ORDER BY key")?
        .query_map([game_id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(row)
}

/// What the last entry of a game says about the game.
pub(super) struct LastEntry {
    pub(super) sequence: i64,
    pub(super) update_time_us: i64,
    pub(super) chain: [u8; 32],
}

/// The last entry of a game, or none before the first.
pub(super) fn last_entry(
    snapshot: &Snapshot<'_>,
    game_id: i64,
) -> rusqlite::Result<Option<LastEntry>> {
    let last_entry = |row: &Row<'_>| {
        Ok(LastEntry {
            sequence: row.get(0)?,
            update_time_us: row.get(1)?,
            chain: row.get(2)?,
        })
    };
    let mut placed = snapshot.connection.prepare_cached(
        "SELECT sequence, update_time_us, chain FROM entries WHERE position = ?1 AND game_id = ?2",
    )?;
    // The newest places may be of entries that came after the snapshot.
    let mut before = i64::MAX;
    loop {
        let places = snapshot.recent.before(game_id, before, PLACES);
        for place in &places {
            before = place.sequence;
            if place.position <= snapshot.indexed_through {
                break;
            }
            let asked = params![place.position, game_id];
            if let Some(last) = placed.query_row(asked, last_entry).optional()? {
                return Ok(Some(last));
            }
        }
        if places.len() < PLACES {
            break;
        }
    }
    snapshot
        .connection
        .prepare_cached(
            "SELECT entries.sequence, update_time_us, chain \
             FROM entry_index JOIN entries USING (position) \
             WHERE entry_index.game_id = ?1 ORDER BY entry_index.sequence DESC LIMIT 1",
        )?
        .query_row([game_id], last_entry)
        .optional()
}

/// The answer that a request got in the game of this name.
pub(super) fn answer(
    snapshot: &Snapshot<'_>,
    key: &GameKey,
    request_id: &str,
) -> rusqlite::Result<Option<Answer>> {
    let Some(game_id) = game_id(snapshot.connection, key)? else {
        return Ok(None);
    };
    let request = RequestId::new(request_id);
    if let Some(answer) = entry_answer(snapshot, game_id, request)? {
        return Ok(Some(answer));
    }
    refusal_answer(snapshot.connection, game_id, request_id)
}

/// The entry that a request made.
pub(super) fn entry_answer(
    snapshot: &Snapshot<'_>,
    game_id: i64,
    request: RequestId<'_>,
) -> rusqlite::Result<Option<Answer>> {
    let entry_answer = |row: &Row<'_>| {
        Ok(Answer {
            content_hash: row.get(0)?,
            sequence: row.get(1)?,
            body: AnswerBody::Entry(row.get(2)?),
        })
    };
    for place in snapshot.recent.of_request(game_id, request.key) {
        let answer = snapshot
            .connection
            .prepare_cached(
                "SELECT content_hash, sequence, bytes FROM entries \
                 WHERE position = ?1 AND game_id = ?2 AND request_id = ?3",
            )?
            .query_row(params![place.position, game_id, request.text], entry_answer)
            .optional()?;
        if answer.is_some() {
            return Ok(answer);
        }
    }
    snapshot
        .connection
        .prepare_cached(
            "SELECT content_hash, entries.sequence, bytes \
             FROM entry_index JOIN entries USING (position) \
             WHERE entry_index.game_id = ?1 AND request_key = ?2 AND request_id = ?3",
        )?
        .query_row(params![game_id, request.key, request.text], entry_answer)
        .optional()
}

/// The refusal that a request got.
pub(super) fn refusal_answer(
    connection: &Connection,
    game_id: i64,
    request_id: &str,
) -> rusqlite::Result<Option<Answer>> {
    connection
        .prepare_cached(
            "SELECT content_hash, sequence, answer FROM refusals \
             WHERE game_id = ?1 AND request_id = ?2",
        )?
        .query_row(params![game_id, request_id], |row| {
            Ok(Answer {
                content_hash: row.get(0)?,
                sequence: row.get(1)?,
                body: AnswerBody::Refusal(row.get(2)?),
            })
        })
        .optional()
}

/// A page of the entries of a game.
pub(super) fn entries(
    snapshot: &Snapshot<'_>,
    key: &GameKey,
    after_sequence: i64,
    limit: usize,
) -> rusqlite::Result<Vec<StoredEntry>> {
    let mut page = Page::new(limit);
    let Some(game_id) = game_id(snapshot.connection, key)? else {
        return Ok(page.rows);
    };
    let mut indexed = snapshot.connection.prepare_cached(
        "SELECT entries.sequence, position, chain, bytes \
         FROM entry_index JOIN entries USING (position) \
         WHERE entry_index.game_id = ?1 AND entry_index.sequence > ?2 \
         ORDER BY entry_index.sequence",
    )?;
    let mut rows = indexed.query(params![game_id, after_sequence])?;
    page.fill(&mut rows, stored_entry, |entry| entry.bytes.len())?;
    if page.is_full() {
        return Ok(page.rows);
    }

    let after_sequence = page
        .rows
        .last()
        .map_or(after_sequence, |last| last.sequence);
    let mut placed = snapshot.connection.prepare_cached(
        "SELECT sequence, position, chain, bytes FROM entries WHERE position = ?1 AND game_id = ?2",
    )?;
    for place in snapshot.recent.after(game_id, after_sequence, limit) {
        let entry = placed
            .query_row([place.position, game_id], stored_entry)
            .optional()?;
        match entry {
            Some(entry) if !page.is_full() => page.push(entry.bytes.len(), entry),
            // The page is full, or the rest came after the snapshot.
            _ => break,
        }
    }
    Ok(page.rows)
}

/// A page of the log of a platform, or of all.
pub(super) fn tail(
    connection: &Connection,
    platform: Option<&str>,
    after_position: i64,
    limit: usize,
) -> rusqlite::Result<TailPage> {
    let mut page = Page::new(limit);
    let size = |entry: &TailEntry| entry.entry.bytes.len();
    if let Some(platform) = platform {
        if let Some(id) = platform_id(connection, platform)? {
            // The index is named, since walking the whole log looks no dearer to the planner.
            let mut statement = connection.prepare_cached(
                "SELECT sequence, position, entries.chain, bytes, ?1, games.name \
                 FROM entries INDEXED BY entries_by_platform JOIN games USING (game_id) \
                 WHERE entries.platform_id = ?2 AND position > ?3 ORDER BY position",
            )?;
            let mut rows = statement.query(params![platform, id, after_position])?;
            page.fill(&mut rows, tail_entry, size)?;
        }
    } else {
        let mut statement = connection.prepare_cached(
            "SELECT sequence, position, entries.chain, bytes, platforms.name, games.name \
             FROM entries JOIN games USING (game_id) \
             JOIN platforms ON platforms.platform_id = games.platform_id \
             WHERE position > ?1 ORDER BY position",
        )?;
        page.fill(&mut statement.query([after_position])?, tail_entry, size)?;
    }
    let entries = page.rows;
    let after_position = entries
        .last()
        .map_or(after_position, |last| last.entry.position);
    Ok(TailPage {
        entries,
        after_position,
    })
}

/// Reads an entry from the columns sequence, position, chain, bytes.
fn stored_entry(row: &Row<'_>) -> rusqlite::Result<StoredEntry> {
    Ok(StoredEntry {
        sequence: row.get(0)?,
        position: row.get(1)?,
        chain: row.get(2)?,
        bytes: row.get(3)?,
    })
}

/// Reads an entry of the log: an entry, then the names of platform and game.
fn tail_entry(row: &Row<'_>) -> rusqlite::Result<TailEntry> {
    Ok(TailEntry {
        key: GameKey {
            platform: row.get(4)?,
            game: row.get(5)?,
        },
        entry: stored_entry(row)?,
    })
}

/// Rows that are collected until there are enough or their payload is large enough.
struct Page<T> {
    rows: Vec<T>,
    limit: usize,
    bytes: usize,
}

impl<T> Page<T> {
    fn new(limit: usize) -> Self {
        Self {
            rows: Vec::new(),
            limit,
            bytes: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.limit || self.bytes >= PAGE_BYTES
    }

    fn fill(
        &mut self,
        rows: &mut Rows<'_>,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
        size: impl Fn(&T) -> usize,
    ) -> rusqlite::Result<()> {
        while !self.is_full()
            && let Some(row) = rows.next()?
        {
            let row = read(row)?;
            self.push(size(&row), row);
        }
        Ok(())
    }

    fn push(&mut self, bytes: usize, row: T) {
        self.bytes += bytes;
        self.rows.push(row);
    }
}
