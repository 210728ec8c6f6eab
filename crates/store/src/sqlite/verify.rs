//! Verifying a store, a part at a time.
//!
//! The engine checks its pages and indexes; what is checked here is what only the store knows. Each
//! game is walked from its genesis to its head, by the way that its readers take; then every entry
//! and every refusal must be one that such a way leads to. After a fault the walk goes on from what
//! is stored, so that one change is reported once.

use std::sync::Arc;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use super::backup::{pace, unpace};
use super::log::BLOCK_BITS;
use super::query::{self, Standing};
use super::request::Filter;
use super::{deadlines, schema, texts};
use crate::chain;
use crate::games::GameKey;
use crate::limits::{FINDINGS_MAX, PAGE_BYTES, VERIFY_ENTRIES_MAX};
use crate::upkeep::{Course, Finding, Flaw, Step, VerifyCursor, VerifyPage, Walk};

/// The tables whose rows belong to games, and what their rows are called.
const OF_GAMES: [(&str, &str); 8] = [
    ("geneses", "description of a game that is not there"),
    ("labels", "label of a game that is not there"),
    ("text_places", "text of a game that is not there"),
    ("heads", "head of a game that is not there"),
    ("runs", "run of a game that is not there"),
    ("requests", "request in a game that is not there"),
    ("deadlines", "deadline of a game that is not there"),
    ("questions", "question about a game that is not there"),
];

/// Verifies the part that begins at a cursor, in one transaction.
pub(super) fn page(
    connection: &mut Connection,
    from: &VerifyCursor,
    course: &Arc<Course>,
) -> rusqlite::Result<VerifyPage> {
    if course.is_stopped() {
        return Ok(VerifyPage::default());
    }
    pace(connection, course, |_| {})?;
    let result = transact(connection, from);
    unpace(connection)?;
    result
}

fn transact(connection: &Connection, from: &VerifyCursor) -> rusqlite::Result<VerifyPage> {
    connection.prepare_cached("BEGIN DEFERRED")?.execute([])?;
    let mut part = Part {
        connection,
        page: VerifyPage::default(),
        knows_deadlines: schema::version(connection)
            .is_ok_and(|found| found >= schema::STATED_DEADLINES_VERSION),
        bytes: 0,
    };
    let next = part.step(&from.0);
    // A damaged file may have ended the transaction; there is nothing to undo in it.
    if !connection.is_autocommit() {
        let _ = connection
            .prepare_cached("ROLLBACK")
            .and_then(|mut end| end.execute([]));
    }
    part.page.next = next?.map(VerifyCursor);
    Ok(part.page)
}

/// A part that is being verified.
struct Part<'a> {
    connection: &'a Connection,
    page: VerifyPage,
    /// Whether the file is of a version that knows what was said of deadlines.
    knows_deadlines: bool,
    /// The payload that was read.
    bytes: usize,
}

/// What is known of a game while it is walked.
struct Game {
    key: GameKey,
    platform_id: i64,
    standing: Standing,
    filter: Filter,
    refusals: i64,
}

impl Part<'_> {
    /// Does one step, and returns the next.
    fn step(&mut self, step: &Step) -> rusqlite::Result<Option<Step>> {
        let first = Step::Games { after: 0 };
        match step {
            Step::File => self.or_damage(None, Some(first), Part::file),
            Step::Games { after } => self.games(*after),
            Step::Game(walk) => self.game(*walk),
            Step::Log { after } => {
                let next = Some(Step::Refusals { after: 0 });
                self.or_damage(None, next, |part| part.log(*after))
            }
            Step::Refusals { after } => {
                self.or_damage(None, Some(Step::Strays), |part| part.refusals(*after))
            }
            Step::Strays => self.or_damage(None, None, |part| part.strays().map(|()| None)),
        }
    }

    fn find(&mut self, key: Option<&GameKey>, flaw: Flaw) {
        if self.page.findings.len() < FINDINGS_MAX {
            let key = key.cloned();
            self.page.findings.push(Finding { key, flaw });
        }
    }

    fn is_full(&self) -> bool {
        self.page.entries >= VERIFY_ENTRIES_MAX as u64
            || self.bytes >= PAGE_BYTES
            || self.page.findings.len() >= FINDINGS_MAX
    }

    /// Does something in which damage is a finding: then what comes `otherwise` is next.
    fn or_damage(
        &mut self,
        key: Option<&GameKey>,
        otherwise: Option<Step>,
        work: impl FnOnce(&mut Self) -> rusqlite::Result<Option<Step>>,
    ) -> rusqlite::Result<Option<Step>> {
        match work(self) {
            Err(error) if is_damage(&error) => {
                let reason = error.to_string();
                self.find(key, Flaw::Unreadable { reason });
                Ok(otherwise)
            }
            done => done,
        }
    }

    /// Lets the engine check the file and its indexes.
    fn file(&mut self) -> rusqlite::Result<Option<Step>> {
        let lines: Vec<String> = self
            .connection
            .prepare(&format!("PRAGMA integrity_check({FINDINGS_MAX})"))?
            .query_map([], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for reason in lines.into_iter().filter(|line| line != "ok") {
            self.find(None, Flaw::File { reason });
        }
        Ok(Some(Step::Games { after: 0 }))
    }

    /// Walks games from one on, until the part is full.
    fn games(&mut self, mut after: i64) -> rusqlite::Result<Option<Step>> {
        let log = Step::Log { after: 0 };
        while !self.is_full() {
            let next = self
                .connection
                .prepare_cached("SELECT min(game_id) FROM games WHERE game_id > ?1")?
                .query_row([after], |row| row.get::<_, Option<i64>>(0));
            let game_id = match next {
                Ok(Some(game_id)) => game_id,
                Ok(None) => return Ok(Some(log)),
                Err(error) if is_damage(&error) => {
                    let reason = format!("the games after number {after}: {error}");
                    self.find(None, Flaw::Unreadable { reason });
                    return Ok(Some(log));
                }
                Err(error) => return Err(error),
            };
            let begin = Walk {
                game_id,
                sequence: 0,
                position: 0,
                chain: [0; 32],
            };
            match self.game(begin)? {
                Some(Step::Games { after: done }) => after = done,
                next => return Ok(next),
            }
        }
        Ok(Some(Step::Games { after }))
    }

    /// Walks one game, or its rest.
    fn game(&mut self, walk: Walk) -> rusqlite::Result<Option<Step>> {
        let after = walk.game_id;
        let next = Some(Step::Games { after });
        // Of a game that cannot be read, the name mostly can.
        let key = self.key(after).ok().flatten();
        self.or_damage(key.as_ref(), next, |part| part.walk(walk))
    }

    fn key(&self, game_id: i64) -> rusqlite::Result<Option<GameKey>> {
        self.connection
            .prepare_cached(
                "SELECT platforms.name, games.name FROM games JOIN platforms USING (platform_id) \
                 WHERE game_id = ?1",
            )?
            .query_row([game_id], |row| {
                Ok(GameKey {
                    platform: row.get(0)?,
                    game: row.get(1)?,
                })
            })
            .optional()
    }

    fn walk(&mut self, mut walk: Walk) -> rusqlite::Result<Option<Step>> {
        let after = walk.game_id;
        let done = Some(Step::Games { after });
        let Some(game) = self.begin(&mut walk)? else {
            return Ok(done);
        };
        let mut read = self.connection.prepare_cached(
            "SELECT game_id, sequence, previous, platform_id, chain, request, bytes FROM entries \
             WHERE position = ?1",
        )?;
        let in_runs = game.standing.sequence - game.standing.newest as i64;
        let positions =
            query::positions(self.connection, after, walk.sequence, VERIFY_ENTRIES_MAX)?;
        for position in positions {
            if self.is_full() {
                return Ok(Some(Step::Game(walk)));
            }
            let sequence = walk.sequence + 1;
            self.page.entries += 1;
            let mut rows = read.query([position])?;
            let Some(row) = rows.next()? else {
                self.find(Some(&game.key), Flaw::EntryMissing { sequence });
                walk = Walk {
                    sequence,
                    position,
                    ..walk
                };
                continue;
            };
            let place: (i64, i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let (found, request) = (row.get::<_, [u8; 32]>(4)?, row.get::<_, i64>(5)?);
            let bytes = row.get_ref(6)?.as_blob()?;
            let computed = chain::next(&walk.chain, bytes);
            self.bytes += bytes.len();
            if place != (after, sequence, walk.position, game.platform_id)
                || position <= walk.position
            {
                self.find(Some(&game.key), Flaw::EntryMisplaced { sequence });
            } else if computed != found {
                self.find(Some(&game.key), Flaw::EntryChanged { sequence });
            }
            if sequence <= in_runs && self.place_of(after, request)? != Some(position) {
                self.find(Some(&game.key), Flaw::Request { sequence });
            }
            walk = Walk {
                game_id: after,
                sequence,
                position,
                chain: found,
            };
        }
        if walk.sequence < game.standing.sequence && self.page.entries > 0 && self.is_full() {
            return Ok(Some(Step::Game(walk)));
        }
        self.end(&game, walk)?;
        self.page.games += 1;
        Ok(done)
    }

    fn place_of(&self, game_id: i64, request: i64) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached("SELECT place FROM requests WHERE game_id = ?1 AND request = ?2")?
            .query_row([game_id, request], |row| row.get(0))
            .optional()
    }

    /// Begins with a game, or goes on with it: its genesis, its creation, its labels, its runs.
    fn begin(&mut self, walk: &mut Walk) -> rusqlite::Result<Option<Game>> {
        let game_id = walk.game_id;
        let Some(key) = self.key(game_id)? else {
            // Gone since the part before, or of a platform that is not there.
            let is_there = self
                .connection
                .prepare_cached("SELECT 1 FROM games WHERE game_id = ?1")?
                .exists([game_id])?;
            if is_there {
                self.find(None, Flaw::Missing { part: "platform" });
            }
            return Ok(None);
        };
        let is_deleted = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM games WHERE game_id = ?1 AND delete_time_us IS NOT NULL",
            )?
            .exists([game_id])?;
        if is_deleted {
            // What is left of it must be nothing else; see `OF_GAMES`.
            return Ok(None);
        }
        let (platform_id, link, log_position): (i64, [u8; 32], i64) = self
            .connection
            .prepare_cached(
                "SELECT platform_id, chain, log_position FROM games WHERE game_id = ?1",
            )?
            .query_row([game_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let head = query::standing(self.connection, game_id).optional()?;
        let Some((standing, filter)) = head else {
            self.find(Some(&key), Flaw::Missing { part: "head" });
            return Ok(None);
        };
        let refusals = self
            .connection
            .prepare_cached("SELECT refusals FROM heads WHERE game_id = ?1")?
            .query_row([game_id], |row| row.get(0))?;
        if walk.sequence == 0 {
            walk.chain = link;
            self.genesis(&key, game_id, &link)?;
            self.block(&key, platform_id, log_position)?;
            self.labels(&key, game_id)?;
            self.runs(&key, game_id, standing)?;
        }
        Ok(Some(Game {
            key,
            platform_id,
            standing,
            filter,
            refusals,
        }))
    }

    fn genesis(&mut self, key: &GameKey, game_id: i64, link: &[u8; 32]) -> rusqlite::Result<()> {
        let bytes: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT bytes FROM geneses WHERE game_id = ?1")?
            .query_row([game_id], |row| row.get(0))
            .optional()?;
        match bytes {
            None => self.find(Some(key), Flaw::Missing { part: "genesis" }),
            Some(bytes) => {
                self.bytes += bytes.len();
                if chain::genesis(key, &bytes) != *link {
                    self.find(Some(key), Flaw::Genesis);
                }
            }
        }
        Ok(())
    }

    /// Checks that the log of a platform leads to a position.
    fn block(&mut self, key: &GameKey, platform_id: i64, position: i64) -> rusqlite::Result<()> {
        let leads = self
            .connection
            .prepare_cached("SELECT 1 FROM blocks WHERE platform_id = ?1 AND block = ?2")?
            .exists([platform_id, position >> BLOCK_BITS])?;
        if !leads {
            let what = "log of the platform";
            self.find(Some(key), Flaw::Lead { what });
        }
        Ok(())
    }

    fn labels(&mut self, key: &GameKey, game_id: i64) -> rusqlite::Result<()> {
        let label_key = texts::label_key(self.connection)?;
        let mut found = self.connection.prepare_cached(
            "SELECT 1 FROM labels JOIN games USING (platform_id, create_time_us, game_id) \
             WHERE game_id = ?1 AND label = ?2 AND platform_id = \
             (SELECT platform_id FROM games WHERE game_id = ?1) AND create_time_us = \
             (SELECT create_time_us FROM games WHERE game_id = ?1)",
        )?;
        for label in texts::labels(self.connection, game_id)? {
            let hash = texts::hash_label(&label_key, &label);
            if !found.exists(params![game_id, hash])? {
                let what = "index of labels";
                self.find(Some(key), Flaw::Lead { what });
            }
        }
        let lost = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM text_places LEFT JOIN texts USING (text_id) \
                 WHERE game_id = ?1 AND texts.text_id IS NULL",
            )?
            .exists([game_id])?;
        if lost {
            let what = "place of a text";
            self.find(Some(key), Flaw::Lead { what });
        }
        Ok(())
    }

    /// Checks that the runs of a game follow each other, up to its newest entries.
    fn runs(&mut self, key: &GameKey, game_id: i64, standing: Standing) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(
            "SELECT sequence, length(positions) FROM runs WHERE game_id = ?1 ORDER BY sequence",
        )?;
        let mut rows = statement.query([game_id])?;
        let (mut last, mut holds) = (0, true);
        while let Some(row) = rows.next()? {
            let (sequence, bytes): (i64, i64) = (row.get(0)?, row.get(1)?);
            holds &= bytes % 8 == 0 && sequence == last + bytes / 8;
            last = sequence;
        }
        if !holds || last + standing.newest as i64 != standing.sequence {
            let what = "index of the entries";
            self.find(Some(key), Flaw::Lead { what });
        }
        Ok(())
    }

    /// Ends a game: what its head says, and what leads to it.
    fn end(&mut self, game: &Game, walk: Walk) -> rusqlite::Result<()> {
        let (key, standing) = (Some(&game.key), game.standing);
        if (walk.sequence, walk.position) != (standing.sequence, standing.position) {
            self.find(key, Flaw::Lead { what: "head" });
        }
        let newest = query::newest(self.connection, walk.game_id, standing, 0)?;
        let mut filter = Filter::default();
        for entry in &newest {
            filter.put(entry.key);
            if self.place_of(walk.game_id, entry.key)?.is_some() {
                let what = "index of requests";
                self.find(key, Flaw::Lead { what });
            }
        }
        if newest.len() != standing.newest || filter != game.filter {
            let what = "list of the newest requests";
            self.find(key, Flaw::Lead { what });
        }
        self.counts(game, walk.game_id)?;
        let astray = self
            .connection
            .prepare_cached(
                "SELECT 1 FROM questions LEFT JOIN entries ON entries.position = asked \
                 WHERE questions.game_id = ?1 AND (entries.game_id IS NOT ?1 \
                 OR questions.sequence NOT BETWEEN 1 AND ?2)",
            )?
            .exists([walk.game_id, standing.sequence])?;
        if astray {
            self.find(key, Flaw::Lead { what: "question" });
        }
        if self.knows_deadlines
            && let Some(flaw) = deadlines::flaw(self.connection, walk.game_id)?
        {
            self.find(key, flaw);
        }
        Ok(())
    }

    fn counts(&mut self, game: &Game, game_id: i64) -> rusqlite::Result<()> {
        let key = Some(&game.key);
        let (indexed, refused): (i64, i64) = self
            .connection
            .prepare_cached(
                "SELECT count(*) FILTER (WHERE place > 0), count(*) FILTER (WHERE place <= 0) \
                 FROM requests WHERE game_id = ?1",
            )?
            .query_row([game_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let in_runs = game.standing.sequence - game.standing.newest as i64;
        let by_scope: i64 = self
            .connection
            .prepare_cached(
                "SELECT coalesce(sum(refusals), 0) FROM refusal_counts WHERE game_id = ?1",
            )?
            .query_row([game_id], |row| row.get(0))?;
        for (what, kept, counted) in [
            ("requests", indexed, in_runs),
            ("refusals", game.refusals, refused),
            ("refusals of all seats", by_scope, refused),
        ] {
            if kept != counted {
                let flaw = Flaw::Count {
                    what,
                    kept,
                    counted,
                };
                self.find(key, flaw);
            }
        }
        Ok(())
    }

    /// Checks that each entry is one that its game leads to, and the log, too.
    fn log(&mut self, mut after: i64) -> rusqlite::Result<Option<Step>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT position, platform_id, game_id, sequence FROM entries WHERE position > ?1 \
             ORDER BY position LIMIT ?2",
        )?;
        let rows = statement
            .query_map(params![after, VERIFY_ENTRIES_MAX as i64], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?
            .collect::<rusqlite::Result<Vec<(i64, i64, i64, i64)>>>()?;
        for &(position, platform_id, game_id, sequence) in &rows {
            if self.page.findings.len() >= FINDINGS_MAX {
                return Ok(Some(Step::Log { after }));
            }
            after = position;
            let key = self.key(game_id)?;
            if !self.is_led_to(game_id, sequence, position)? {
                self.find(key.as_ref(), Flaw::EntryStray { sequence, position });
            } else if let Some(key) = &key {
                self.block(key, platform_id, position)?;
            }
        }
        Ok(Some(if rows.is_empty() {
            Step::Refusals { after: 0 }
        } else {
            Step::Log { after }
        }))
    }

    fn is_led_to(&self, game_id: i64, sequence: i64, position: i64) -> rusqlite::Result<bool> {
        let Some((standing, _)) = query::standing(self.connection, game_id).optional()? else {
            return Ok(false);
        };
        if sequence == standing.sequence {
            return Ok(position == standing.position);
        }
        let found = query::positions(self.connection, game_id, sequence - 1, 1)?;
        Ok(found.first() == Some(&position))
    }

    /// Checks that each refusal is found by its request.
    fn refusals(&mut self, mut after: i64) -> rusqlite::Result<Option<Step>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT refusal_id, game_id, request FROM refusals WHERE refusal_id > ?1 \
             ORDER BY refusal_id LIMIT ?2",
        )?;
        let rows = statement
            .query_map(params![after, VERIFY_ENTRIES_MAX as i64], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?
            .collect::<rusqlite::Result<Vec<(i64, i64, i64)>>>()?;
        for &(number, game_id, request) in &rows {
            if self.page.findings.len() >= FINDINGS_MAX {
                return Ok(Some(Step::Refusals { after }));
            }
            after = number;
            if self.place_of(game_id, request)? != Some(-number) {
                let key = self.key(game_id)?;
                self.find(key.as_ref(), Flaw::Refusal { number });
            }
        }
        Ok(Some(if rows.is_empty() {
            Step::Strays
        } else {
            Step::Refusals { after }
        }))
    }

    /// Finds rows that belong to games that are not there.
    fn strays(&mut self) -> rusqlite::Result<()> {
        for (table, what) in OF_GAMES {
            let stray = self
                .connection
                .prepare(&format!(
                    "SELECT 1 FROM {table} WHERE NOT EXISTS \
                     (SELECT 1 FROM games WHERE games.game_id = {table}.game_id \
                     AND delete_time_us IS NULL)"
                ))?
                .exists([])?;
            if stray {
                self.find(None, Flaw::Lead { what });
            }
        }
        Ok(())
    }
}

/// Says whether an error is of what is in the file, and not of the system around it.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(..) => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TypeMismatch)
        ),
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::InvalidQuery
        | rusqlite::Error::QueryReturnedNoRows
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}
