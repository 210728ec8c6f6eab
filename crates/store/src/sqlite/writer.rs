//! The writer: one thread, one connection, one transaction for everything that waits.

use std::collections::HashMap;
use std::fs::File;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use super::query;
use crate::chain;
use crate::error::{AppendError, CreateError, Fault};
use crate::limits;
use crate::record::{Answer, Append, Appended, Created, GameKey, GameRow, NewGame, Write};

/// The most writes that are left out of one batch because the engine fails at them. More than
/// that is no accident of a single game, and the whole batch fails.
const LEFT_OUT_WRITES: usize = 4;

/// Copies what it can without waiting for readers.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// What callers send to the writer.
pub(super) enum Command {
    /// Create a game.
    Create {
        game: NewGame,
        reply: oneshot::Sender<Result<Created, CreateError>>,
        permit: OwnedSemaphorePermit,
    },
    /// Write to a game.
    Append {
        append: Append,
        reply: oneshot::Sender<Result<Appended, AppendError>>,
        permit: OwnedSemaphorePermit,
    },
    /// Finish what waits and release the files.
    Close {
        reply: oneshot::Sender<Result<(), Fault>>,
    },
}

/// One write of a batch.
enum Job {
    Create(Pending<NewGame, Created, CreateError>),
    Append(Pending<Append, Appended, AppendError>),
}

/// A question that waits for its answer.
struct Pending<Q, A, E> {
    question: Q,
    /// The answer, kept back until the commit.
    answer: Option<Result<A, E>>,
    reply: oneshot::Sender<Result<A, E>>,
    /// Keeps the bytes of the question within the bounds of the queue until it is answered.
    permit: OwnedSemaphorePermit,
}

/// Why an attempt to write a batch failed.
struct Failure {
    /// The job at which it failed, where the others might do better without it.
    culprit: Option<usize>,
    reason: String,
}

/// What the writer knows of a game without reading.
struct Head {
    game_id: i64,
    platform_id: i64,
    state: i32,
    sequence: i64,
    chain: [u8; 32],
    refusals: i64,
}

/// The thread that owns the writing connection.
pub(super) struct Writer {
    connection: Connection,
    queue: mpsc::Receiver<Command>,
    position: watch::Sender<i64>,
    lock: File,
    /// Heads of games as the current transaction left them; forgotten when it fails.
    heads: HashMap<GameKey, Head>,
    /// The position of the last entry in the current transaction.
    last_position: i64,
}

impl Writer {
    /// The writer over an open connection; `lock` is released when it ends.
    pub(super) fn new(
        connection: Connection,
        queue: mpsc::Receiver<Command>,
        position: watch::Sender<i64>,
        lock: File,
    ) -> Self {
        let last_position = *position.borrow();
        Self {
            connection,
            queue,
            position,
            lock,
            heads: HashMap::new(),
            last_position,
        }
    }

    /// Writes batches until the store is closed or dropped.
    pub(super) fn run(mut self) {
        let mut jobs = Vec::with_capacity(limits::BATCH_WRITES);
        let mut closers = Vec::new();
        while let Some(command) = self.queue.blocking_recv() {
            self.collect(command, &mut jobs, &mut closers);
            if !closers.is_empty() {
                // From here on nothing is let in; the loop ends when the queue is empty.
                self.queue.close();
            }
            if !jobs.is_empty() {
                self.write(&mut jobs);
                self.checkpoint_if_due();
            }
        }
        self.finish(closers);
    }

    /// Takes commands that wait, from `command` on, as many as fit into one batch.
    fn collect(
        &mut self,
        command: Command,
        jobs: &mut Vec<Job>,
        closers: &mut Vec<oneshot::Sender<Result<(), Fault>>>,
    ) {
        let mut bytes = 0;
        let mut next = Some(command);
        while let Some(command) = next {
            let job = match command {
                Command::Create {
                    game,
                    reply,
                    permit,
                } => Job::Create(Pending {
                    question: game,
                    answer: None,
                    reply,
                    permit,
                }),
                Command::Append {
                    append,
                    reply,
                    permit,
                } => Job::Append(Pending {
                    question: append,
                    answer: None,
                    reply,
                    permit,
                }),
                Command::Close { reply } => {
                    closers.push(reply);
                    return;
                }
            };
            bytes += job.bytes();
            jobs.push(job);
            if jobs.len() >= limits::BATCH_WRITES || bytes >= limits::BATCH_BYTES {
                return;
            }
            next = self.queue.try_recv().ok();
        }
    }

    /// Writes one batch and answers it; nobody is answered before the commit.
    fn write(&mut self, jobs: &mut Vec<Job>) {
        self.commit(jobs);
        if self.last_position > *self.position.borrow() {
            self.position.send_replace(self.last_position);
        }
        for job in jobs.drain(..) {
            job.reply();
        }
    }

    /// Writes the jobs in one transaction. A job at which the engine fails is left out and the
    /// others are tried again; when the disk fails, all fail.
    fn commit(&mut self, jobs: &mut [Job]) {
        let mut left_out: HashMap<usize, String> = HashMap::new();
        loop {
            match self.attempt(jobs, &left_out) {
                Ok(()) => return,
                Err(Failure {
                    culprit: Some(index),
                    reason,
                }) if left_out.len() < LEFT_OUT_WRITES => {
                    tracing::error!(reason, "a write failed and is left out of its batch");
                    left_out.insert(index, reason);
                }
                Err(Failure { reason, .. }) => {
                    tracing::error!(reason, writes = jobs.len(), "a batch of writes failed");
                    for job in jobs {
                        job.fail(&reason);
                    }
                    return;
                }
            }
        }
    }

    /// Tries to write the jobs in one transaction; when it fails, all is undone, and answers
    /// that were already set do not count.
    fn attempt(
        &mut self,
        jobs: &mut [Job],
        left_out: &HashMap<usize, String>,
    ) -> Result<(), Failure> {
        self.execute("BEGIN IMMEDIATE")
            .map_err(|error| self.roll_back(None, &error))?;
        for (index, job) in jobs.iter_mut().enumerate() {
            if let Some(reason) = left_out.get(&index) {
                job.fail(reason);
            } else {
                self.judge(job)
                    .map_err(|error| self.roll_back(Some(index), &error))?;
            }
        }
        self.execute("COMMIT")
            .map_err(|error| self.roll_back(None, &error))
    }

    /// Writes one job and sets its answer.
    fn judge(&mut self, job: &mut Job) -> rusqlite::Result<()> {
        match job {
            Job::Create(pending) => pending.answer = Some(self.create(&pending.question)?),
            Job::Append(pending) => pending.answer = Some(self.append(&pending.question)?),
        }
        Ok(())
    }

    /// Undoes the current transaction and all that was remembered from it.
    fn roll_back(&mut self, culprit: Option<usize>, error: &rusqlite::Error) -> Failure {
        self.heads.clear();
        self.last_position = *self.position.borrow();
        // Some errors have ended the transaction already.
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            tracing::error!(%error, "a failed batch could not be rolled back");
        }
        let whole_disk = matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::DiskFull
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::OutOfMemory
                    | ErrorCode::ReadOnly
                    | ErrorCode::CannotOpen
                    | ErrorCode::DatabaseBusy
            )
        );
        Failure {
            culprit: culprit.filter(|_| !whole_disk),
            reason: error.to_string(),
        }
    }

    fn create(&mut self, game: &NewGame) -> rusqlite::Result<Result<Created, CreateError>> {
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
        if query::game_id(&self.connection, &game.key)?.is_some() {
            return Ok(Err(CreateError::NameTaken));
        }
        let chain = chain::genesis(&game.key, &game.genesis);
        let game_id = self.insert_game(platform_id, game, &chain)?;
        let head = Head {
            game_id,
            platform_id,
            state: game.state,
            sequence: 0,
            chain,
            refusals: 0,
        };
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

    fn append(&mut self, append: &Append) -> rusqlite::Result<Result<Appended, AppendError>> {
        // Out of the map while it changes: what fails halfway must not stay.
        let head = match self.heads.remove(&append.key) {
            Some(head) => head,
            None => match self.load_head(&append.key)? {
                Some(head) => head,
                None => return Ok(Err(AppendError::NotFound)),
            },
        };
        let (head, result) = match &append.write {
            Write::Entry {
                bytes,
                state,
                update_time_us,
            } => self.append_entry(head, append, bytes, *state, *update_time_us)?,
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
        update_time_us: i64,
    ) -> rusqlite::Result<(Head, Result<Appended, AppendError>)> {
        let fits = head.sequence == append.expected_sequence;
        let full = head.sequence >= limits::ENTRIES_PER_GAME;
        // A repetition nearly always comes at another sequence than the first request did, so
        // that entries need not be looked up before an insertion that could tell by itself.
        let known = if !fits || full {
            self.known_answer(&head, &append.request_id)?
        } else if head.refusals > 0 {
            query::refusal_answer(&self.connection, head.game_id, &append.request_id)?
        } else {
            None
        };
        if let Some(answer) = known {
            return Ok((head, repeated(answer, append)));
        }
        if !fits {
            let actual = head.sequence;
            return Ok((head, Err(AppendError::SequenceMismatch { actual })));
        }
        if full {
            return Ok((
                head,
                Err(AppendError::GameFull {
                    limit: limits::ENTRIES_PER_GAME,
                }),
            ));
        }

        let sequence = head.sequence + 1;
        let chain = chain::next(&head.chain, bytes);
        let inserted = self
            .connection
            .prepare_cached(
                "INSERT INTO entries (platform_id, game_id, sequence, request_id, content_hash, \
                 update_time_us, chain, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
                 ON CONFLICT (game_id, request_id) DO NOTHING",
            )?
            .execute(params![
                head.platform_id,
                head.game_id,
                sequence,
                append.request_id,
                append.content_hash,
                update_time_us,
                chain,
                bytes
            ])?;
        if inserted == 0 {
            let answer = query::entry_answer(&self.connection, head.game_id, &append.request_id)?
                .ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            return Ok((head, repeated(answer, append)));
        }
        let position = self.connection.last_insert_rowid();
        if state != head.state {
            self.connection
                .prepare_cached("UPDATE games SET state = ?2 WHERE game_id = ?1")?
                .execute(params![head.game_id, state])?;
        }
        self.last_position = position;
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
        if let Some(known) = self.known_answer(&head, &append.request_id)? {
            return Ok((head, repeated(known, append)));
        }
        let sequence = head.sequence;
        if sequence != append.expected_sequence {
            return Ok((
                head,
                Err(AppendError::SequenceMismatch { actual: sequence }),
            ));
        }
        if head.refusals >= limits::REFUSALS_PER_GAME {
            let limit = limits::REFUSALS_PER_GAME;
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
    fn known_answer(&self, head: &Head, request_id: &str) -> rusqlite::Result<Option<Answer>> {
        if let Some(answer) = query::entry_answer(&self.connection, head.game_id, request_id)? {
            return Ok(Some(answer));
        }
        if head.refusals == 0 {
            return Ok(None);
        }
        query::refusal_answer(&self.connection, head.game_id, request_id)
    }

    fn load_head(&self, key: &GameKey) -> rusqlite::Result<Option<Head>> {
        let head = self
            .connection
            .prepare_cached(
                "SELECT game_id, platform_id, state, chain FROM games \
                 JOIN platforms USING (platform_id) \
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
                })
            })
            .optional()?;
        let Some(mut head) = head else {
            return Ok(None);
        };
        if let Some(last) = query::last_entry(&self.connection, head.game_id)? {
            head.sequence = last.sequence;
            head.chain = last.chain;
        }
        head.refusals = self
            .connection
            .prepare_cached("SELECT count(*) FROM refusals WHERE game_id = ?1")?
            .query_row([head.game_id], |row| row.get(0))?;
        Ok(Some(head))
    }

    fn remember(&mut self, key: GameKey, head: Head) {
        if self.heads.len() >= limits::CACHED_HEADS {
            // Rare and cheap to make good: three look-ups for each game that is still played.
            self.heads.clear();
        }
        self.heads.insert(key, head);
    }

    /// Moves the write-ahead log into the database when it is long: after the answers were sent,
    /// so that nobody waits for it who did not come later, and here, since beside a running
    /// writer a checkpoint never catches up and the log would grow without end.
    fn checkpoint_if_due(&self) {
        let pages = |checkpoint: &str| {
            self.connection
                .prepare_cached(checkpoint)?
                .query_row([], |row| row.get::<_, i64>(1))
        };
        let result = pages("PRAGMA wal_checkpoint(NOOP)").and_then(|logged| {
            if logged < limits::CHECKPOINT_PAGES {
                Ok(0)
            } else {
                pages(CHECKPOINT)
            }
        });
        if let Err(error) = result {
            // The log keeps what was acknowledged; the next batch tries again.
            tracing::error!(%error, "a checkpoint failed");
        }
    }

    /// Moves the whole log into the database, releases the files, and tells those who closed.
    fn finish(self, closers: Vec<oneshot::Sender<Result<(), Fault>>>) {
        let Self {
            connection,
            position,
            lock,
            ..
        } = self;
        let checkpoint = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| Fault::Failed {
                reason: error.to_string(),
            });
        let closed = connection.close().map_err(|(_, error)| Fault::Failed {
            reason: error.to_string(),
        });
        let result = checkpoint.and(closed);
        drop(lock);
        for reply in closers {
            drop(reply.send(result.clone()));
        }
        drop(position);
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

impl Job {
    fn bytes(&self) -> usize {
        match self {
            Self::Create(pending) => pending.permit.num_permits(),
            Self::Append(pending) => pending.permit.num_permits(),
        }
    }

    /// Sets the answer of a job that the engine could not do.
    fn fail(&mut self, reason: &str) {
        match self {
            Self::Create(pending) => pending.fail(reason),
            Self::Append(pending) => pending.fail(reason),
        }
    }

    fn reply(self) {
        match self {
            Self::Create(pending) => pending.reply(),
            Self::Append(pending) => pending.reply(),
        }
    }
}

impl<Q, A, E: From<Fault>> Pending<Q, A, E> {
    fn fail(&mut self, reason: &str) {
        self.answer = Some(Err(Fault::Failed {
            reason: reason.to_owned(),
        }
        .into()));
    }

    fn reply(self) {
        if let Some(answer) = self.answer {
            // A caller that stopped waiting is no fault: it can repeat its request.
            drop(self.reply.send(answer));
        }
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
