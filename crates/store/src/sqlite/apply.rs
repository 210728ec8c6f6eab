//! What each write to a game does to the tables, and what it is answered.
//!
//! Nothing is answered here: the answers are kept back until the commit.

use rusqlite::{OptionalExtension, params};

use super::head::Head;
use super::query::{self, Newest, Standing};
use super::request::{Digest, Filter, digest};
use super::texts::Kind;
use super::writer::Writer;
use crate::chain;
use crate::error::{AppendError, CreateError};
use crate::games::{
    Answer, Append, Appended, Created, Description, GameKey, GameRow, NewGame, PrivateText,
    RequestKey, Write,
};
use crate::limits;

/// What an entry brings beside its bytes.
struct Effect<'a> {
    private: Option<&'a PrivateText>,
    describes: Option<&'a [(String, String)]>,
    state: i32,
    update_time_us: i64,
    deadline_us: Option<i64>,
    asks: bool,
}

impl Writer {
    /// Creates a game, or finds it created.
    pub(super) fn create(
        &mut self,
        game: &NewGame,
    ) -> rusqlite::Result<Result<Created, CreateError>> {
        let platform = &game.key.platform;
        let platform_id = match query::platform_id(&self.connection, platform)? {
            Some(id) => id,
            None => {
                let mut insert = self
                    .connection
                    .prepare_cached("INSERT INTO platforms (name) VALUES (?1)")?;
                insert.insert([platform])?
            }
        };
        let repeated = self
            .connection
            .prepare_cached(
                "SELECT game_id, content_hash FROM games \
                 WHERE platform_id = ?1 AND request_id = ?2",
            )?
            .query_row(params![platform_id, game.request_id], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?))
            })
            .optional()?;
        if let Some((game_id, content_hash)) = repeated {
            if content_hash != game.content_hash {
                return Ok(Err(CreateError::RequestIdReused));
            }
            let row = query::game_row(&self.connection, platform, game_id)?;
            return Ok(Ok(Created::Existing(row)));
        }
        let request = RequestKey::new(RequestKey::PLATFORM, game.request_id.as_str());
        if self
            .platform_request(platform_id, digest(&request))?
            .is_some()
        {
            return Ok(Err(CreateError::RequestIdReused));
        }
        if query::any_game_id(&self.connection, &game.key)?.is_some() {
            return Ok(Err(CreateError::NameTaken));
        }
        let chain = chain::genesis(&game.key, &game.genesis);
        let game_id = self.insert_game(platform_id, game, &chain)?;
        let mut head = Head {
            game_id,
            platform_id,
            state: game.state,
            sequence: 0,
            chain,
            position: 0,
            newest: Vec::new(),
            filter: Filter::default(),
            due_us: None,
            held: false,
        };
        // Its first write looks it up: many games are created long before they are played.
        self.keep_deadline(&mut head, game.deadline_us)?;
        Ok(Ok(Created::New(new_row(game, chain))))
    }

    fn insert_game(
        &mut self,
        platform_id: i64,
        game: &NewGame,
        chain: &[u8; 32],
    ) -> rusqlite::Result<i64> {
        let position = self.last_position + 1;
        let game_id = self
            .connection
            .prepare_cached(
                "INSERT INTO games (platform_id, name, request_id, content_hash, state, \
                 create_time_us, chain, log_position) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .insert(params![
                platform_id,
                game.key.game,
                game.request_id,
                game.content_hash,
                game.state,
                game.create_time_us,
                chain,
                position
            ])?;
        self.block.note(&self.connection, platform_id, position)?;
        self.last_position = position;
        self.last_is_entry = false;
        self.connection
            .prepare_cached("INSERT INTO geneses (game_id, bytes) VALUES (?1, ?2)")?
            .execute(params![game_id, game.genesis])?;
        self.connection
            .prepare_cached(
                "INSERT INTO heads (game_id, sequence, position, deadline_us, deadline_known) \
                 VALUES (?1, 0, 0, ?2, 1)",
            )?
            .execute(params![game_id, game.deadline_us])?;
        if let Some(text) = &game.private {
            self.keep_text(game_id, 0, Kind::Description, text)?;
        }
        self.keep_labels(game_id, 0, &game.labels)?;
        Ok(game_id)
    }

    /// Appends an entry or keeps a refusal, or finds the request answered.
    pub(super) fn append(
        &mut self,
        append: &Append,
    ) -> rusqlite::Result<Result<Appended, AppendError>> {
        let request = digest(&append.request);
        let appended = self.with_head(&append.key, |writer, head| {
            writer.append_to(head, append, request)
        })?;
        match appended {
            Some(appended) => Ok(appended),
            None => self.missing(&append.key).map(Err),
        }
    }

    /// Whether the request of a write that describes its game has done something else in the
    /// platform.
    fn is_taken(&self, head: &Head, append: &Append, request: Digest) -> rusqlite::Result<bool> {
        if !matches!(
            append.write,
            Write::Entry {
                describes: Some(_),
                ..
            }
        ) {
            return Ok(false);
        }
        let done = self.platform_request(head.platform_id, request)?;
        let elsewhere = done.is_some_and(|(game_id, _)| game_id != head.game_id);
        Ok(elsewhere || self.has_created(head.platform_id, &append.request.id)?)
    }

    fn append_to(
        &mut self,
        head: &mut Head,
        append: &Append,
        request: Digest,
    ) -> rusqlite::Result<Result<Appended, AppendError>> {
        if self.is_taken(head, append, request)? {
            return Ok(Err(AppendError::RequestIdReused));
        }
        let met = head.filter.may_have(request.key);
        if met && let Some(newest) = head.newest.iter().find(|it| it.key == request.key) {
            let known = query::entry_answer(&self.connection, head.game_id, newest.position)?;
            return Ok(repeated(known, request, append));
        }
        let refusals = match append.write {
            Write::Entry { .. } => 0,
            Write::Refusal { .. } => self.refusals_of(head, append.request.scope)?,
        };
        let refused = refuse(head, append, refusals);
        if refused.is_none() {
            if met {
                // Another request of the same bits: rare, and right once those are in the index.
                self.index(head)?;
            }
            // The database looks the request up itself, and takes no request that it knows.
            let stored = match &append.write {
                Write::Entry {
                    bytes,
                    private,
                    describes,
                    state,
                    update_time_us,
                    deadline_us,
                    asks,
                } => {
                    let effect = Effect {
                        private: private.as_ref(),
                        describes: describes.as_deref(),
                        state: *state,
                        update_time_us: *update_time_us,
                        deadline_us: *deadline_us,
                        asks: *asks,
                    };
                    self.append_entry(head, append, request, bytes, effect)?
                }
                Write::Refusal { answer } => self.append_refusal(head, append, request, answer)?,
            };
            if let Some(stored) = stored {
                return Ok(Ok(stored));
            }
        }
        match query::indexed_answer(&self.connection, head.game_id, request)? {
            Some(known) => Ok(repeated(known, request, append)),
            None => match refused {
                Some(error) => Ok(Err(error)),
                // Neither stored nor known: the tables contradict themselves.
                None => Err(rusqlite::Error::QueryReturnedNoRows),
            },
        }
    }

    /// Appends an entry, unless its request is in the index.
    fn append_entry(
        &mut self,
        head: &mut Head,
        append: &Append,
        request: Digest,
        bytes: &[u8],
        effect: Effect<'_>,
    ) -> rusqlite::Result<Option<Appended>> {
        let (sequence, position) = (head.sequence + 1, self.last_position + 1);
        let chain = chain::next(&head.chain, bytes);
        let inserted = self.insert_entry(head, append, request, &chain, bytes, &effect)?;
        if inserted == 0 {
            return Ok(None);
        }
        self.block
            .note(&self.connection, head.platform_id, position)?;
        self.last_position = position;
        self.last_is_entry = true;
        head.sequence = sequence;
        head.position = position;
        head.chain = chain;
        head.newest.push(Newest {
            key: request.key,
            position,
        });
        head.filter.put(request.key);
        self.index_if_due(head)?;
        let kind = match effect.describes {
            None => Kind::Remark,
            Some(labels) => {
                self.erase_description(head.game_id)?;
                self.keep_labels(head.game_id, sequence, labels)?;
                self.note_platform_request(head, request, sequence)?;
                Kind::Description
            }
        };
        if let Some(text) = effect.private {
            self.keep_text(head.game_id, sequence, kind, text)?;
        }
        if effect.state != head.state {
            self.connection
                .prepare_cached("UPDATE games SET state = ?2 WHERE game_id = ?1")?
                .execute(params![head.game_id, effect.state])?;
            head.state = effect.state;
        }
        self.keep_deadline(head, effect.deadline_us)?;
        if effect.asks {
            self.ask(head.game_id, sequence, position)?;
        }
        Ok(Some(Appended::Stored {
            sequence,
            position,
            chain,
        }))
    }

    /// Inserts the row of an entry, and returns how many that were: none where its request is in
    /// the index.
    ///
    /// Of the ways to treat a conflict the one in use keeps no journal for undoing the single
    /// statement; the batch is tried again without its culprit. A position that a statement names
    /// would bring that journal back, so that the engine chooses it wherever the next one is free,
    /// and the schema checks the choice.
    fn insert_entry(
        &self,
        head: &Head,
        append: &Append,
        request: Digest,
        chain: &[u8; 32],
        bytes: &[u8],
        effect: &Effect<'_>,
    ) -> rusqlite::Result<usize> {
        let statement = if self.last_is_entry {
            "INSERT OR ROLLBACK INTO entries (log_position, platform_id, game_id, sequence, \
             previous, request, request_rest, content_hash, update_time_us, chain, bytes, \
             deadline_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        } else {
            "INSERT OR ROLLBACK INTO entries (position, log_position, platform_id, game_id, \
             sequence, previous, request, request_rest, content_hash, update_time_us, chain, \
             bytes, deadline_us) VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        };
        self.connection.prepare_cached(statement)?.execute(params![
            self.last_position + 1,
            head.platform_id,
            head.game_id,
            head.sequence + 1,
            head.position,
            request.key,
            request.rest,
            append.content_hash,
            effect.update_time_us,
            chain,
            bytes,
            effect.deadline_us
        ])
    }

    /// Returns how many refusals a game has of a scope of request ids.
    fn refusals_of(&self, head: &Head, scope: u8) -> rusqlite::Result<i64> {
        let count = self
            .connection
            .prepare_cached(
                "SELECT refusals FROM refusal_counts WHERE game_id = ?1 AND scope = ?2",
            )?
            .query_row(params![head.game_id, scope], |row| row.get(0))
            .optional()?;
        Ok(count.unwrap_or(0))
    }

    /// Keeps a refusal, unless its request is in the index.
    fn append_refusal(
        &self,
        head: &mut Head,
        append: &Append,
        request: Digest,
        answer: &[u8],
    ) -> rusqlite::Result<Option<Appended>> {
        let inserted = self
            .connection
            .prepare_cached(
                "INSERT OR ROLLBACK INTO refusals (game_id, sequence, request, request_rest, \
                 content_hash, answer) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                head.game_id,
                head.sequence,
                request.key,
                request.rest,
                append.content_hash,
                answer
            ])?;
        if inserted == 0 {
            return Ok(None);
        }
        self.connection
            .prepare_cached(
                "INSERT INTO refusal_counts VALUES (?1, ?2, 1) \
                 ON CONFLICT DO UPDATE SET refusals = refusals + 1",
            )?
            .execute(params![head.game_id, append.request.scope])?;
        Ok(Some(Appended::Stored {
            sequence: head.sequence,
            position: 0,
            chain: head.chain,
        }))
    }

    /// Lets `change` work on the head of a game; none where there is no such game.
    ///
    /// What fails halfway must not stay in memory: a failure makes all heads be forgotten.
    pub(super) fn with_head<T>(
        &mut self,
        key: &GameKey,
        change: impl FnOnce(&mut Self, &mut Head) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        let mut heads = std::mem::take(&mut self.heads);
        if let Some(head) = heads.get_mut(key) {
            let result = change(self, head);
            self.heads = heads;
            return result.map(Some);
        }
        let Some(mut head) = self.load_head(key)? else {
            self.heads = heads;
            return Ok(None);
        };
        if heads.len() >= self.options.cached_heads {
            // Rare and cheap to make good: some look-ups for each game that is still played.
            heads.clear();
        }
        let result = change(self, &mut head);
        heads.insert(key.clone(), head);
        self.heads = heads;
        result.map(Some)
    }

    fn load_head(&self, key: &GameKey) -> rusqlite::Result<Option<Head>> {
        let columns = Filter::COLUMNS;
        let head = self
            .connection
            .prepare_cached(&format!(
                "SELECT games.game_id, games.platform_id, state, heads.sequence, \
                 CASE heads.sequence WHEN 0 THEN games.chain ELSE entries.chain END, \
                 heads.position, due_us, held_until_us IS NOT NULL, newest, {columns} \
                 FROM platforms JOIN games USING (platform_id) JOIN heads USING (game_id) \
                 LEFT JOIN entries ON entries.position = heads.position \
                 LEFT JOIN deadlines ON deadlines.game_id = heads.game_id \
                 WHERE platforms.name = ?1 AND games.name = ?2",
            ))?
            .query_row([&key.platform, &key.game], |row| {
                let head = Head {
                    game_id: row.get(0)?,
                    platform_id: row.get(1)?,
                    state: row.get(2)?,
                    sequence: row.get(3)?,
                    chain: row.get(4)?,
                    position: row.get(5)?,
                    newest: Vec::new(),
                    filter: Filter::read(row, 9)?,
                    due_us: row.get(6)?,
                    held: row.get(7)?,
                };
                Ok((head, row.get::<_, u32>(8)? as usize))
            })
            .optional()?;
        let Some((mut head, newest)) = head else {
            return Ok(None);
        };
        let standing = Standing {
            sequence: head.sequence,
            position: head.position,
            newest,
        };
        head.newest = query::newest(&self.connection, head.game_id, standing, 0)?;
        Ok(Some(head))
    }
}

/// Returns a game as it is when it was just created.
fn new_row(game: &NewGame, chain: [u8; 32]) -> GameRow {
    GameRow {
        key: game.key.clone(),
        genesis: game.genesis.clone(),
        description: game
            .private
            .clone()
            .map(|text| Description { sequence: 0, text }),
        state: game.state,
        labels: game.labels.clone(),
        sequence: 0,
        create_time_us: game.create_time_us,
        update_time_us: game.create_time_us,
        chain_head: chain,
        last_entry: None,
    }
}

/// Returns why a write that is no repetition cannot be made.
fn refuse(head: &Head, append: &Append, refusals: i64) -> Option<AppendError> {
    if head.sequence != append.expected_sequence || head.chain != append.previous {
        return Some(AppendError::Moved {
            actual: head.sequence,
            chain: head.chain,
        });
    }
    match append.write {
        Write::Entry { .. } if head.sequence >= limits::ENTRIES_PER_GAME_MAX => {
            let limit = limits::ENTRIES_PER_GAME_MAX;
            Some(AppendError::GameFull { limit })
        }
        Write::Refusal { .. } if refusals >= limits::REFUSALS_PER_SCOPE_MAX => {
            let limit = limits::REFUSALS_PER_SCOPE_MAX;
            Some(AppendError::TooManyRefusals { limit })
        }
        _ => None,
    }
}

/// Returns what a repetition is answered: the first answer, if it asked for the same.
fn repeated(
    (rest, answer): ([u8; 8], Answer),
    request: Digest,
    append: &Append,
) -> Result<Appended, AppendError> {
    if rest == request.rest && answer.content_hash == append.content_hash {
        Ok(Appended::Repeated(answer))
    } else {
        Err(AppendError::RequestIdReused)
    }
}
