//! What each write does to the tables, and what it is answered.
//!
//! Nothing is answered here: the answers are kept back until the commit.

use rusqlite::{OptionalExtension, params};

use super::query;
use super::recent::{Place, RequestId};
use super::writer::Writer;
use crate::chain;
use crate::error::{AppendError, CreateError};
use crate::limits;
use crate::record::{Answer, Append, Appended, Created, GameKey, GameRow, NewGame, Write};

/// What the writer knows of a game without reading.
pub(super) struct Head {
    pub(super) game_id: i64,
    platform_id: i64,
    state: i32,
    pub(super) sequence: i64,
    chain: [u8; 32],
    refusals: i64,
    /// When the game is next looked at: no later than its deadline.
    pub(super) due_us: Option<i64>,
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
            let row = query::game_row(&self.snapshot(), platform, game_id)?;
            return Ok(Ok(Created::Existing(row)));
        }
        if query::game_id(&self.connection, &game.key)?.is_some() {
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
            refusals: 0,
            due_us: None,
        };
        self.keep_deadline(&mut head, game.deadline_us)?;
        self.remember(game.key.clone(), head);
        Ok(Ok(Created::New(GameRow {
            key: game.key.clone(),
            genesis: game.genesis.clone(),
            state: game.state,
            labels: game.labels.clone(),
            sequence: 0,
            create_time_us: game.create_time_us,
            update_time_us: game.create_time_us,
            chain_head: chain,
        })))
    }

    fn insert_game(
        &self,
        platform_id: i64,
        game: &NewGame,
        chain: &[u8; 32],
    ) -> rusqlite::Result<i64> {
        let game_id = self
            .connection
            .prepare_cached(
                "INSERT INTO games (platform_id, name, request_id, content_hash, state, \
                 create_time_us, chain) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .insert(params![
                platform_id,
                game.key.game,
                game.request_id,
                game.content_hash,
                game.state,
                game.create_time_us,
                chain
            ])?;
        self.connection
            .prepare_cached("INSERT INTO geneses (game_id, bytes) VALUES (?1, ?2)")?
            .insert(params![game_id, game.genesis])?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO labels (platform_id, key, value, create_time_us, game_id) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (key, value) in &game.labels {
            insert.execute(params![
                platform_id,
                key,
                value,
                game.create_time_us,
                game_id
            ])?;
        }
        Ok(game_id)
    }

    /// Appends an entry or keeps a refusal, or finds the request answered.
    pub(super) fn append(
        &mut self,
        append: &Append,
    ) -> rusqlite::Result<Result<Appended, AppendError>> {
        let Some(head) = self.take_head(&append.key)? else {
            return Ok(Err(AppendError::NotFound));
        };
        let (head, result) = match &append.write {
            Write::Entry {
                bytes,
                state,
                update_time_us,
                deadline_us,
            } => {
                let times = (*update_time_us, *deadline_us);
                self.append_entry(head, append, bytes, *state, times)?
            }
            Write::Refusal { answer } => self.append_refusal(head, append, answer)?,
        };
        self.remember(append.key.clone(), head);
        Ok(result)
    }

    fn append_entry(
        &mut self,
        mut head: Head,
        append: &Append,
        bytes: &[u8],
        state: i32,
        (update_time_us, deadline_us): (i64, Option<i64>),
    ) -> rusqlite::Result<(Head, Result<Appended, AppendError>)> {
        let request = RequestId::new(&append.request_id);
        if let Some(answer) = self.known_answer(&head, request)? {
            return Ok((head, repeated(answer, append)));
        }
        if head.sequence != append.expected_sequence {
            let actual = head.sequence;
            return Ok((head, Err(AppendError::SequenceMismatch { actual })));
        }
        if head.sequence >= limits::ENTRIES_PER_GAME_MAX {
            return Ok((
                head,
                Err(AppendError::GameFull {
                    limit: limits::ENTRIES_PER_GAME_MAX,
                }),
            ));
        }

        let sequence = head.sequence + 1;
        let chain = chain::next(&head.chain, bytes);
        let position = self
            .connection
            .prepare_cached(
                "INSERT INTO entries (platform_id, game_id, sequence, request_id, content_hash, \
                 update_time_us, chain, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .insert(params![
                head.platform_id,
                head.game_id,
                sequence,
                append.request_id,
                append.content_hash,
                update_time_us,
                chain,
                bytes
            ])?;
        let place = Place {
            sequence,
            position,
            request_key: request.key,
        };
        self.place(head.game_id, place);
        if state != head.state {
            self.connection
                .prepare_cached("UPDATE games SET state = ?2 WHERE game_id = ?1")?
                .execute(params![head.game_id, state])?;
        }
        self.keep_deadline(&mut head, deadline_us)?;
        head.state = state;
        head.sequence = sequence;
        head.chain = chain;
        Ok((
            head,
            Ok(Appended::Stored {
                sequence,
                position,
                chain,
            }),
        ))
    }

    fn append_refusal(
        &self,
        mut head: Head,
        append: &Append,
        answer: &[u8],
    ) -> rusqlite::Result<(Head, Result<Appended, AppendError>)> {
        let request = RequestId::new(&append.request_id);
        if let Some(known) = self.known_answer(&head, request)? {
            return Ok((head, repeated(known, append)));
        }
        let sequence = head.sequence;
        if sequence != append.expected_sequence {
            return Ok((
                head,
                Err(AppendError::SequenceMismatch { actual: sequence }),
            ));
        }
        if head.refusals >= limits::REFUSALS_PER_GAME_MAX {
            let limit = limits::REFUSALS_PER_GAME_MAX;
            return Ok((head, Err(AppendError::TooManyRefusals { limit })));
        }
        self.connection
            .prepare_cached(
                "INSERT INTO refusals (game_id, sequence, request_id, content_hash, answer) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .insert(params![
                head.game_id,
                sequence,
                append.request_id,
                append.content_hash,
                answer
            ])?;
        head.refusals += 1;
        let chain = head.chain;
        Ok((
            head,
            Ok(Appended::Stored {
                sequence,
                position: 0,
                chain,
            }),
        ))
    }

    /// The answer that a request got, whether it made an entry or was refused.
    fn known_answer(
        &self,
        head: &Head,
        request: RequestId<'_>,
    ) -> rusqlite::Result<Option<Answer>> {
        if let Some(answer) = query::entry_answer(&self.snapshot(), head.game_id, request)? {
            return Ok(Some(answer));
        }
        if head.refusals == 0 {
            return Ok(None);
        }
        query::refusal_answer(&self.connection, head.game_id, request.text)
    }

    /// Takes the head of a game out of memory while it changes: what fails halfway must not stay.
    pub(super) fn take_head(&mut self, key: &GameKey) -> rusqlite::Result<Option<Head>> {
        match self.heads.remove(key) {
            Some(head) => Ok(Some(head)),
            None => self.load_head(key),
        }
    }

    fn load_head(&self, key: &GameKey) -> rusqlite::Result<Option<Head>> {
        let head = self
            .connection
            .prepare_cached(
                "SELECT game_id, platform_id, state, chain, due_us FROM games \
                 JOIN platforms USING (platform_id) LEFT JOIN deadlines USING (game_id) \
                 WHERE platforms.name = ?1 AND games.name = ?2",
            )?
            .query_row([&key.platform, &key.game], |row| {
                Ok(Head {
                    game_id: row.get(0)?,
                    platform_id: row.get(1)?,
                    state: row.get(2)?,
                    sequence: 0,
                    chain: row.get(3)?,
                    refusals: 0,
                    due_us: row.get(4)?,
                })
            })
            .optional()?;
        let Some(mut head) = head else {
            return Ok(None);
        };
        if let Some(last) = query::last_entry(&self.snapshot(), head.game_id)? {
            head.sequence = last.sequence;
            head.chain = last.chain;
        }
        head.refusals = self
            .connection
            .prepare_cached("SELECT count(*) FROM refusals WHERE game_id = ?1")?
            .query_row([head.game_id], |row| row.get(0))?;
        Ok(Some(head))
    }

    pub(super) fn remember(&mut self, key: GameKey, head: Head) {
        if self.heads.len() >= self.options.cached_heads {
            // Rare and cheap to make good: three look-ups for each game that is still played.
            self.heads.clear();
        }
        self.heads.insert(key, head);
    }
}

/// What a repetition is answered: the first answer, if it asked for the same.
fn repeated(answer: Answer, append: &Append) -> Result<Appended, AppendError> {
    if answer.content_hash == append.content_hash {
        Ok(Appended::Repeated(answer))
    } else {
        Err(AppendError::RequestIdReused)
    }
}
