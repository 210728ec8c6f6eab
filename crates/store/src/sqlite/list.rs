//! The list of games: filtered, newest first, page by page.

use rusqlite::{Connection, Row, params};

use super::query::{entry_bytes, game_row, platform_id};
use super::texts::{hash_label, label_key};
use crate::games::{GamePage, ListCursor, ListFilter};
use crate::limits::{COUNTED_GAMES_MAX, LIST_EXAMINED_MAX, PAGE_BYTES};

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
    let key = label_key(connection)?;
    let labels = filter.labels.iter().map(|label| hash_label(&key, label));
    let labels: Vec<LabelHash> = labels.collect();

    let (mut examined, mut bytes, mut last) = (0, 0, None);
    let mut take = |candidate: ListCursor| {
        if page.games.len() == limit || bytes >= PAGE_BYTES || examined == LIST_EXAMINED_MAX {
            page.next = last;
            return Ok(false);
        }
        examined += 1;
        last = Some(candidate);
        if passes(
            connection,
            &filter.states,
            (platform_id, &labels),
            candidate,
        )? {
            let row = game_row(connection, platform, candidate.id)?;
            let description = row.description.as_ref();
            bytes += row.genesis.len()
                + row.last_entry.as_ref().map_or(0, entry_bytes)
                + description.map_or(0, |description| description.text.bytes.len());
            page.games.push(row);
        }
        Ok(true)
    };
    if let Some(label) = labels.first() {
        range.labeled(connection, label, &mut take)?;
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

/// How many games of all platforms are in a state, up to a limit.
pub(super) fn count(connection: &Connection, state: i32) -> rusqlite::Result<u64> {
    let count: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM platforms \
             CROSS JOIN games INDEXED BY games_by_state USING (platform_id) \
             WHERE state = ?1 AND delete_time_us IS NULL LIMIT ?2)",
        )?
        .query_row(params![state, COUNTED_GAMES_MAX], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// The hash that a label is found by.
type LabelHash = [u8; 16];

/// Says whether a game of a platform has one of the states and all of the labels.
fn passes(
    connection: &Connection,
    states: &[i32],
    (platform_id, labels): (i64, &[LabelHash]),
    game: ListCursor,
) -> rusqlite::Result<bool> {
    if !states.is_empty() {
        let state = connection
            .prepare_cached("SELECT state FROM games WHERE game_id = ?1")?
            .query_row([game.id], |row| row.get::<_, i32>(0))?;
        if !states.contains(&state) {
            return Ok(false);
        }
    }
    let mut statement = connection.prepare_cached(
        "SELECT 1 FROM labels WHERE platform_id = ?1 AND label = ?2 AND create_time_us = ?3 \
         AND game_id = ?4",
    )?;
    for label in labels {
        if !statement.exists(params![platform_id, label, game.create_time_us, game.id])? {
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
             WHERE platform_id = ?1 AND delete_time_us IS NULL AND create_time_us >= ?2 \
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
        label: &LabelHash,
        take: &mut dyn FnMut(ListCursor) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(
            "SELECT create_time_us, game_id FROM labels \
             WHERE platform_id = ?1 AND label = ?5 AND create_time_us >= ?2 \
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
            label
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
             WHERE platform_id = ?1 AND delete_time_us IS NULL AND state = ?5 \
             AND create_time_us >= ?2 \
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
