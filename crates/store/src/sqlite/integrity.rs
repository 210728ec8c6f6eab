//! A walk over all tables that compares each with the others.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault;
use super::query::{self, Newest, Standing};
use super::request::Filter;
use crate::chain;
use crate::games::GameKey;
use crate::integrity::{CheckFrom, CheckedGame, CheckedPart, CheckedUpTo, Damage, DamageFound};

/// The tables whose rows belong to games, and are found by them.
const BY_GAME: [&str; 7] = [
    "heads",
    "geneses",
    "runs",
    "requests",
    "refusal_counts",
    "deadlines",
    "questions",
];

/// The stages behind the games: those tables, the entries, the refusals.
const ENTRIES: usize = BY_GAME.len() + 1;
const REFUSALS: usize = ENTRIES + 1;

/// A game as its rows are.
struct Game {
    game_id: i64,
    platform_id: i64,
    key: GameKey,
    chain: Option<[u8; 32]>,
    genesis: Option<Vec<u8>>,
    head: Option<Head>,
    state: i32,
    due_us: Option<i64>,
}

struct Head {
    standing: Standing,
    refusals: i64,
    filter: Filter,
}

/// A part of the walk, on its way.
struct Walk<'a> {
    connection: &'a Connection,
    part: CheckedPart,
    /// The entries, or games, that it may still look at.
    left: usize,
    /// The block of the log that was found last: its platform and number.
    block: (i64, i64),
}

/// Checks the next part.
pub(super) fn check(
    connection: &Connection,
    from: &CheckFrom,
    entries: usize,
) -> rusqlite::Result<CheckedPart> {
    // What is on the disk is asked for, and not what the connection remembers of it.
    connection.release_memory()?;
    let mut walk = Walk {
        connection,
        part: CheckedPart::default(),
        left: entries,
        block: (0, -1),
    };
    let next = match from.stage {
        0 => walk.games(from),
        stage => walk.rows(stage, from.after),
    };
    walk.part.next = match next {
        Ok(next) => next,
        Err(error) => {
            // What makes no sense is told, and the rest is looked at.
            walk.unreadable(None, error)?;
            following(from.stage)
        }
    };
    Ok(walk.part)
}

/// Lets the engine check itself.
pub(super) fn check_engine(connection: &Connection, limit: usize) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({limit})"))?;
    let said = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut problems: Vec<String> = said.collect::<rusqlite::Result<_>>()?;
    problems.retain(|problem| problem != "ok");
    Ok(problems)
}

/// The beginning of the stage after another; none after the last.
fn following(stage: usize) -> Option<CheckFrom> {
    (stage < REFUSALS).then(|| CheckFrom {
        stage: stage + 1,
        ..CheckFrom::default()
    })
}

impl Walk<'_> {
    fn tell(&mut self, key: Option<&GameKey>, damage: Damage) {
        let key = key.cloned();
        self.part.findings.push(DamageFound { key, damage });
    }

    /// Tells of what cannot be read because it is damaged; any other error goes on.
    fn unreadable(
        &mut self,
        key: Option<&GameKey>,
        error: rusqlite::Error,
    ) -> rusqlite::Result<()> {
        match fault::of_damage(&error) {
            Some(what) => {
                self.tell(key, Damage::Unreadable { what });
                Ok(())
            }
            None => Err(error),
        }
    }

    /// Checks games, from within one on.
    fn games(&mut self, from: &CheckFrom) -> rusqlite::Result<Option<CheckFrom>> {
        let (mut after, mut within) = (from.after, from.within);
        loop {
            if self.left == 0 {
                return Ok(Some(CheckFrom {
                    stage: 0,
                    after,
                    within,
                }));
            }
            let Some(game) = next_game(self.connection, after)? else {
                return Ok(following(0));
            };
            // The game in which the part before ended may be gone.
            let begun = within.take().filter(|it| it.game_id == game.game_id);
            // A game costs as much as an entry, once: every part comes further.
            self.left -= usize::from(begun.is_none());
            match self.game(&game, begun) {
                Ok(Some(further)) => within = Some(further),
                Ok(None) => after = game.game_id,
                Err(error) => {
                    self.unreadable(Some(&game.key), error)?;
                    after = game.game_id;
                }
            }
        }
    }

    /// Checks a game as far as the part goes; returns how far, where that is not its end.
    fn game(
        &mut self,
        game: &Game,
        begun: Option<CheckedUpTo>,
    ) -> rusqlite::Result<Option<CheckedUpTo>> {
        let key = Some(&game.key);
        let Some(head) = &game.head else {
            self.tell(key, Damage::Head { what: "no row" });
            return Ok(None);
        };
        let mut at = match begun {
            Some(at) => at,
            None => self.genesis(game),
        };
        let standing = head.standing;
        while at.sequence < standing.sequence {
            if self.left == 0 {
                return Ok(Some(at));
            }
            let limit = self.left;
            let positions = query::positions(self.connection, game.game_id, at.sequence, limit)?;
            if positions.is_empty() {
                let sequence = at.sequence + 1;
                self.tell(key, Damage::MissingEntry { sequence });
                return Ok(None);
            }
            for position in positions {
                self.left = self.left.saturating_sub(1);
                self.part.entries += 1;
                if !self.entry(game, standing, &mut at, position)? {
                    let sequence = at.sequence + 1;
                    self.tell(key, Damage::MissingEntry { sequence });
                    return Ok(None);
                }
            }
        }
        self.end(game, head, at)?;
        self.part.games.push(CheckedGame {
            key: game.key.clone(),
            sequence: standing.sequence,
            state: game.state,
            due_us: game.due_us,
        });
        Ok(None)
    }

    /// Checks the first link of a game.
    fn genesis(&mut self, game: &Game) -> CheckedUpTo {
        let bytes = game.genesis.as_deref().unwrap_or_default();
        let link = chain::genesis(&game.key, bytes);
        if game.genesis.is_none() || game.chain != Some(link) {
            self.tell(Some(&game.key), Damage::Genesis);
        }
        CheckedUpTo {
            game_id: game.game_id,
            sequence: 0,
            position: 0,
            // One change is told once.
            chain: game.chain.unwrap_or(link),
        }
    }

    /// Checks the next entry of a game, which must be at a position; says whether it is there.
    fn entry(
        &mut self,
        game: &Game,
        standing: Standing,
        at: &mut CheckedUpTo,
        position: i64,
    ) -> rusqlite::Result<bool> {
        let sequence = at.sequence + 1;
        let row = self
            .connection
            .prepare_cached(
                "SELECT sequence, previous, platform_id, request, chain, bytes FROM entries \
                 WHERE position = ?1 AND game_id = ?2",
            )?
            .query_row([position, game.game_id], |row| {
                let place: (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let chain: [u8; 32] = row.get(4)?;
                let is_next = chain::next(&at.chain, row.get_ref(5)?.as_blob()?) == chain;
                Ok((place, row.get::<_, i64>(3)?, chain, is_next))
            })
            .optional()?;
        let Some((place, request, chain, is_next)) = row else {
            return Ok(false);
        };
        if place.0 != sequence {
            return Ok(false);
        }
        let key = Some(&game.key);
        if !is_next || place.1 != at.position {
            self.tell(key, Damage::Entry { sequence });
        }
        if place.2 != game.platform_id || !self.is_listed(game.platform_id, position)? {
            self.tell(key, Damage::Unlisted { sequence });
        }
        let is_indexed = sequence <= standing.sequence - standing.newest as i64;
        let found = self.place_of(game.game_id, request)?;
        if found != is_indexed.then_some(position) {
            self.tell(key, Damage::Request { sequence });
        }
        *at = CheckedUpTo {
            sequence,
            position,
            chain,
            ..*at
        };
        Ok(true)
    }

    fn place_of(&self, game_id: i64, request: i64) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached("SELECT place FROM requests WHERE game_id = ?1 AND request = ?2")?
            .query_row([game_id, request], |row| row.get(0))
            .optional()
    }

    /// Whether the block of a position is one of the platform's.
    fn is_listed(&mut self, platform_id: i64, position: i64) -> rusqlite::Result<bool> {
        let block = (platform_id, super::log::block_of(position));
        if self.block == block {
            return Ok(true);
        }
        let is_there = self
            .connection
            .prepare_cached("SELECT 1 FROM blocks WHERE platform_id = ?1 AND block = ?2")?
            .exists([block.0, block.1])?;
        if is_there {
            self.block = block;
        }
        Ok(is_there)
    }

    /// Checks where a game stands, and what is counted of it.
    fn end(&mut self, game: &Game, head: &Head, at: CheckedUpTo) -> rusqlite::Result<()> {
        let (key, game_id, standing) = (Some(&game.key), game.game_id, head.standing);
        if at.position != standing.position {
            let what = "the position of the last entry";
            self.tell(key, Damage::Head { what });
        }
        let newest: Vec<Newest> = query::newest(self.connection, game_id, standing, 0)?;
        let mut filter = Filter::default();
        newest.iter().for_each(|newest| filter.put(newest.key));
        if newest.len() != standing.newest || filter != head.filter {
            let what = "the filter over the newest requests";
            self.tell(key, Damage::Head { what });
        }
        let indexed = standing.sequence - standing.newest as i64;
        let one = |statement: &str| -> rusqlite::Result<i64> {
            let mut statement = self.connection.prepare_cached(statement)?;
            statement.query_row([game_id], |row| row.get(0))
        };
        let counts = [
            (
                "entries in runs",
                indexed,
                one("SELECT coalesce(sum(length(positions)), 0) / 8 FROM runs WHERE game_id = ?1")?,
            ),
            (
                "requests in the index",
                indexed + head.refusals,
                one("SELECT count(*) FROM requests WHERE game_id = ?1")?,
            ),
            (
                "refusals",
                head.refusals,
                one(
                    "SELECT count(*) FROM requests JOIN refusals ON refusal_id = -place \
                     WHERE requests.game_id = ?1 AND place < 0 \
                     AND refusals.game_id = requests.game_id \
                     AND refusals.request = requests.request",
                )?,
            ),
            (
                "refusals of each scope",
                one("SELECT coalesce(sum(refusals), 0) FROM refusal_counts WHERE game_id = ?1")?,
                head.refusals,
            ),
        ];
        let is_asked = one(
            "SELECT count(*) FROM questions LEFT JOIN entries ON position = asked \
             WHERE questions.game_id = ?1 AND (entries.game_id IS NOT questions.game_id \
             OR entries.sequence IS NOT questions.sequence)",
        )?;
        for (what, counted, found) in counts {
            if counted != found {
                let damage = Damage::Count {
                    what,
                    counted,
                    found,
                };
                self.tell(key, damage);
            }
        }
        if is_asked != 0 {
            self.tell(key, Damage::Question);
        }
        Ok(())
    }

    /// Looks for rows of a table that belong to nothing.
    fn rows(&mut self, stage: usize, after: i64) -> rusqlite::Result<Option<CheckFrom>> {
        match stage.checked_sub(1).and_then(|index| BY_GAME.get(index)) {
            Some(table) => self.rows_of_games(stage, table, after),
            None if stage == ENTRIES => {
                let statement = "SELECT entries.position, heads.game_id IS NULL \
                     OR entries.sequence > heads.sequence \
                     FROM entries LEFT JOIN heads USING (game_id) \
                     WHERE entries.position > ?1 ORDER BY entries.position LIMIT ?2";
                self.rows_by_number(stage, "entries", statement, after)
            }
            None => {
                let statement = "SELECT refusal_id, NOT EXISTS (SELECT 1 FROM requests \
                     WHERE requests.game_id = refusals.game_id \
                     AND requests.request = refusals.request AND place = -refusal_id) \
                     FROM refusals WHERE refusal_id > ?1 ORDER BY refusal_id LIMIT ?2";
                self.rows_by_number(stage, "refusals", statement, after)
            }
        }
    }

    fn rows_of_games(
        &mut self,
        stage: usize,
        table: &'static str,
        mut after: i64,
    ) -> rusqlite::Result<Option<CheckFrom>> {
        let next = format!(
            "SELECT game_id, EXISTS (SELECT 1 FROM games WHERE games.game_id = {table}.game_id \
             AND delete_time_us IS NULL) \
             FROM {table} WHERE game_id > ?1 ORDER BY game_id LIMIT 1"
        );
        while self.left > 0 {
            self.left -= 1;
            let row = self
                .connection
                .prepare_cached(&next)?
                .query_row([after], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?))
                })
                .optional()?;
            let Some((game_id, has_game)) = row else {
                return Ok(following(stage));
            };
            if !has_game {
                self.tell(None, Damage::Orphan { table, id: game_id });
            }
            after = game_id;
        }
        Ok(Some(CheckFrom {
            stage,
            after,
            within: None,
        }))
    }

    fn rows_by_number(
        &mut self,
        stage: usize,
        table: &'static str,
        statement: &str,
        after: i64,
    ) -> rusqlite::Result<Option<CheckFrom>> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let mut rows = statement.query(params![after, self.left as i64])?;
        let (mut last, mut count) = (after, 0);
        let mut orphans = Vec::new();
        while let Some(row) = rows.next()? {
            last = row.get(0)?;
            count += 1;
            if row.get::<_, bool>(1)? {
                orphans.push(last);
            }
        }
        for id in orphans {
            self.tell(None, Damage::Orphan { table, id });
        }
        if count < self.left {
            return Ok(following(stage));
        }
        Ok(Some(CheckFrom {
            stage,
            after: last,
            within: None,
        }))
    }
}

/// The game after a number.
fn next_game(connection: &Connection, after: i64) -> rusqlite::Result<Option<Game>> {
    let columns = Filter::COLUMNS;
    connection
        .prepare_cached(&format!(
            "SELECT games.game_id, platform_id, platforms.name, games.name, games.chain, \
             geneses.bytes, heads.sequence, heads.position, heads.newest, heads.refusals, state, \
             due_us, {columns} FROM games LEFT JOIN platforms USING (platform_id) \
             LEFT JOIN geneses USING (game_id) LEFT JOIN heads USING (game_id) \
             LEFT JOIN deadlines USING (game_id) \
             WHERE games.game_id > ?1 AND delete_time_us IS NULL \
             ORDER BY games.game_id LIMIT 1"
        ))?
        .query_row([after], read_game)
        .optional()
}

fn read_game(row: &Row<'_>) -> rusqlite::Result<Game> {
    let head = match row.get::<_, Option<i64>>(6)? {
        None => None,
        Some(sequence) => Some(Head {
            standing: Standing {
                sequence,
                position: row.get(7)?,
                newest: row.get::<_, u32>(8)? as usize,
            },
            refusals: row.get(9)?,
            filter: Filter::read(row, 12)?,
        }),
    };
    Ok(Game {
        game_id: row.get(0)?,
        platform_id: row.get(1)?,
        key: GameKey {
            platform: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
            game: row.get(3)?,
        },
        chain: row.get(4).ok(),
        genesis: row.get(5)?,
        head,
        state: row.get(10)?,
        due_us: row.get(11)?,
    })
}
