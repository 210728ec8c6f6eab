//! The questions that are asked of the tables.
//!
//! Every function runs in a transaction of its caller and so sees one state.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::limits::{LIST_EXAMINED, PAGE_BYTES};
use crate::record::{
    Answer, AnswerBody, GameKey, GamePage, GameRow, ListCursor, ListFilter, StoredEntry, TailEntry,
    TailPage,
};

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
pub(super) fn game(connection: &Connection, key: &GameKey) -> rusqlite::Result<Option<GameRow>> {
    match game_id(connection, key)? {
        Some(game_id) => game_row(connection, &key.platform, game_id).map(Some),
        None => Ok(None),
    }
}

/// The game of this number, which exists and belongs to `platform`.
pub(super) fn game_row(
    connection: &Connection,
    platform: &str,
    game_id: i64,
) -> rusqlite::Result<GameRow> {
    let mut row = connection
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
    if let Some(last) = last_entry(connection, game_id)? {
        row.sequence = last.sequence;
        row.update_time_us = last.update_time_us;
        row.chain_head = last.chain;
    }
    row.labels = connection
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
    connection: &Connection,
    game_id: i64,
) -> rusqlite::Result<Option<LastEntry>> {
    connection
        .prepare_cached(
            "SELECT sequence, update_time_us, chain FROM entries \
             WHERE game_id = ?1 ORDER BY sequence DESC LIMIT 1",
        )?
        .query_row([game_id], |row| {
            Ok(LastEntry {
                sequence: row.get(0)?,
                update_time_us: row.get(1)?,
                chain: row.get(2)?,
            })
        })
        .optional()
}

/// The answer that a request got in the game of this name.
pub(super) fn answer(
    connection: &Connection,
    key: &GameKey,
    request_id: &str,
) -> rusqlite::Result<Option<Answer>> {
    let Some(game_id) = game_id(connection, key)? else {
        return Ok(None);
    };
    if let Some(answer) = entry_answer(connection, game_id, request_id)? {
        return Ok(Some(answer));
    }
    refusal_answer(connection, game_id, request_id)
}

/// The entry that a request made.
pub(super) fn entry_answer(
    connection: &Connection,
    game_id: i64,
    request_id: &str,
) -> rusqlite::Result<Option<Answer>> {
    connection
        .prepare_cached(
            "SELECT content_hash, sequence, bytes FROM entries \
             WHERE game_id = ?1 AND request_id = ?2",
        )?
        .query_row(params![game_id, request_id], |row| {
            Ok(Answer {
                content_hash: row.get(0)?,
                sequence: row.get(1)?,
                body: AnswerBody::Entry(row.get(2)?),
            })
        })
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
    connection: &Connection,
    key: &GameKey,
    after_sequence: i64,
    limit: usize,
) -> rusqlite::Result<Vec<StoredEntry>> {
    let Some(game_id) = game_id(connection, key)? else {
        return Ok(Vec::new());
    };
    let mut statement = connection.prepare_cached(
        "SELECT sequence, position, chain, bytes FROM entries \
         WHERE game_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3",
    )?;
    let rows = statement.query_map(params![game_id, after_sequence, limit as i64], stored_entry)?;
    bounded(rows, |entry| entry.bytes.len())
}

/// A page of the log of a platform, or of all.
pub(super) fn tail(
    connection: &Connection,
    platform: Option<&str>,
    after_position: i64,
    limit: usize,
) -> rusqlite::Result<TailPage> {
    let tail_entry = |row: &Row<'_>| {
        let key = GameKey {
            platform: row.get(4)?,
            game: row.get(5)?,
        };
        Ok(TailEntry {
            key,
            entry: stored_entry(row)?,
        })
    };
    let size = |entry: &TailEntry| entry.entry.bytes.len();
    let limit = limit as i64;
    let entries = match platform {
        None => {
            let mut statement = connection.prepare_cached(
                "SELECT sequence, position, entries.chain, bytes, platforms.name, games.name \
                 FROM entries JOIN games USING (game_id) \
                 JOIN platforms ON platforms.platform_id = games.platform_id \
                 WHERE position > ?1 ORDER BY position LIMIT ?2",
            )?;
            bounded(
                statement.query_map(params![after_position, limit], tail_entry)?,
                size,
            )?
        }
        Some(platform) => {
            // The index is named, since walking the whole log looks no dearer to the planner.
            let mut statement = connection.prepare_cached(
                "SELECT sequence, position, entries.chain, bytes, ?1, games.name \
                 FROM entries INDEXED BY entries_by_platform JOIN games USING (game_id) \
                 WHERE entries.platform_id = ?2 AND position > ?3 ORDER BY position LIMIT ?4",
            )?;
            match platform_id(connection, platform)? {
                Some(id) => {
                    let asked = params![platform, id, after_position, limit];
                    bounded(statement.query_map(asked, tail_entry)?, size)?
                }
                None => Vec::new(),
            }
        }
    };
    let after_position = entries
        .last()
        .map_or(after_position, |last| last.entry.position);
    Ok(TailPage {
        entries,
        after_position,
    })
}

/// A page of the games of a platform that pass the filter, newest first.
pub(super) fn list(
    connection: &Connection,
    platform: &str,
    filter: &ListFilter,
    after: Option<ListCursor>,
    limit: usize,
) -> rusqlite::Result<GamePage> {
    let mut page = GamePage {
        games: Vec::new(),
        next: None,
    };
    let Some(platform_id) = platform_id(connection, platform)? else {
        return Ok(page);
    };
    let range = Range::new(platform_id, filter, after);

    let (mut examined, mut bytes, mut last) = (0, 0, None);
    let mut take = |candidate: ListCursor| {
        if page.games.len() == limit || bytes >= PAGE_BYTES || examined == LIST_EXAMINED {
            page.next = last;
            return Ok(false);
        }
        examined += 1;
        last = Some(candidate);
        if passes(connection, filter, candidate.id)? {
            let row = game_row(connection, platform, candidate.id)?;
            bytes += row.genesis.len();
            page.games.push(row);
        }
        Ok(true)
    };
    if let Some((key, value)) = filter.labels.first() {
        range.labeled(connection, key, value, &mut take)?;
    } else if filter.states.is_empty() {
        range.all(connection, &mut take)?;
    } else {
        // One candidate more than fits, so that the end is known.
        let candidates = range.in_states(connection, &filter.states, limit + 1)?;
        for candidate in candidates {
            if !take(candidate)? {
                break;
            }
        }
    }
    Ok(page)
}

/// Says whether a game has one of the states and all of the labels.
fn passes(connection: &Connection, filter: &ListFilter, game_id: i64) -> rusqlite::Result<bool> {
    if !filter.states.is_empty() {
        let state = connection
            .prepare_cached("SELECT state FROM games WHERE game_id = ?1")?
            .query_row([game_id], |row| row.get::<_, i32>(0))?;
        if !filter.states.contains(&state) {
            return Ok(false);
        }
    }
    let mut statement = connection
        .prepare_cached("SELECT 1 FROM labels WHERE game_id = ?1 AND key = ?2 AND value = ?3")?;
    for (key, value) in &filter.labels {
        if !statement.exists(params![game_id, key, value])? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The part of a platform's games, ordered by time and number, that a page may come from.
struct Range {
    platform_id: i64,
    /// Inclusive.
    min_create_time_us: i64,
    /// Exclusive.
    before: ListCursor,
}

impl Range {
    fn new(platform_id: i64, filter: &ListFilter, after: Option<ListCursor>) -> Self {
        let newest = ListCursor {
            create_time_us: filter.max_create_time_us.unwrap_or(i64::MAX),
            id: i64::MAX,
        };
        let before = match after {
            Some(after)
                if (after.create_time_us, after.id) < (newest.create_time_us, newest.id) =>
            {
                after
            }
            _ => newest,
        };
        let min_create_time_us = filter.min_create_time_us.unwrap_or(i64::MIN);
        Self {
            platform_id,
            min_create_time_us,
            before,
        }
    }

    /// Gives `take` every game, until it has enough.
    fn all(
        &self,
        connection: &Connection,
        take: &mut dyn FnMut(ListCursor) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(
            "SELECT create_time_us, game_id FROM games INDEXED BY games_by_time \
             WHERE platform_id = ?1 AND create_time_us >= ?2 \
             AND (create_time_us, game_id) < (?3, ?4) \
             ORDER BY create_time_us DESC, game_id DESC",
        )?;
        let Self {
            platform_id,
            min_create_time_us,
            before,
        } = self;
        let mut rows = statement.query(params![
            platform_id,
            min_create_time_us,
            before.create_time_us,
            before.id
        ])?;
        while let Some(row) = rows.next()? {
            if !take(cursor(row)?)? {
                break;
            }
        }
        Ok(())
    }

    /// Gives `take` every game with this label, until it has enough.
    fn labeled(
        &self,
        connection: &Connection,
        key: &str,
        value: &str,
        take: &mut dyn FnMut(ListCursor) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(
            "SELECT create_time_us, game_id FROM labels \
             WHERE platform_id = ?1 AND key = ?5 AND value = ?6 AND create_time_us >= ?2 \
             AND (create_time_us, game_id) < (?3, ?4) \
             ORDER BY create_time_us DESC, game_id DESC",
        )?;
        let Self {
            platform_id,
            min_create_time_us,
            before,
        } = self;
        let mut rows = statement.query(params![
            platform_id,
            min_create_time_us,
            before.create_time_us,
            before.id,
            key,
            value
        ])?;
        while let Some(row) = rows.next()? {
            if !take(cursor(row)?)? {
                break;
            }
        }
        Ok(())
    }

    /// The first games in any of the states, in order; `count` of them where there are so many.
    fn in_states(
        &self,
        connection: &Connection,
        states: &[i32],
        count: usize,
    ) -> rusqlite::Result<Vec<ListCursor>> {
        let mut states = states.to_vec();
        states.sort_unstable();
        states.dedup();
        let mut statement = connection.prepare_cached(
            "SELECT create_time_us, game_id FROM games INDEXED BY games_by_state \
             WHERE platform_id = ?1 AND state = ?5 AND create_time_us >= ?2 \
             AND (create_time_us, game_id) < (?3, ?4) \
             ORDER BY create_time_us DESC, game_id DESC LIMIT ?6",
        )?;
        let Self {
            platform_id,
            min_create_time_us,
            before,
        } = self;
        let mut candidates = Vec::new();
        for state in states {
            let asked = params![
                platform_id,
                min_create_time_us,
                before.create_time_us,
                before.id,
                state,
                count as i64
            ];
            for candidate in statement.query_map(asked, cursor)? {
                candidates.push(candidate?);
            }
        }
        candidates.sort_unstable_by_key(|candidate| {
            std::cmp::Reverse((candidate.create_time_us, candidate.id))
        });
        candidates.truncate(count);
        Ok(candidates)
    }
}

fn cursor(row: &Row<'_>) -> rusqlite::Result<ListCursor> {
    Ok(ListCursor {
        create_time_us: row.get(0)?,
        id: row.get(1)?,
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

/// Collects rows until their payload is as large as a page may be.
fn bounded<T>(
    rows: impl Iterator<Item = rusqlite::Result<T>>,
    size: impl Fn(&T) -> usize,
) -> rusqlite::Result<Vec<T>> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    for row in rows {
        let row = row?;
        bytes += size(&row);
        page.push(row);
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Ok(page)
}
