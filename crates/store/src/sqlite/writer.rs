//! The writer: one thread, one connection, one transaction for everything that waits.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot, watch};

use super::SqliteOptions;
use super::index::Indexing;
use super::job::{Command, Job};
use super::judge::Head;
use super::query::Snapshot;
use super::recent::{Place, Recent, SharedRecent};
use crate::error::Fault;
use crate::limits;
use crate::record::GameKey;

/// The most writes that are left out of one batch because the engine fails at them. More than
/// that is no accident of a single game, and the whole batch fails.
const LEFT_OUT_WRITES_MAX: usize = 4;

/// Copies what it can without waiting for readers.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// Why an attempt to write a batch failed.
struct Failure {
    /// The job at which it failed, where the others might do better without it.
    culprit: Option<usize>,
    reason: String,
}

/// The thread that owns the writing connection.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) options: SqliteOptions,
    queue: mpsc::Receiver<Command>,
    position: watch::Sender<i64>,
    lock: File,
    /// Heads of games as the current transaction left them; forgotten when it fails.
    pub(super) heads: HashMap<GameKey, Head>,
    /// The position of the last entry in the current transaction.
    pub(super) last_position: i64,
    /// The places of the entries that are not in the index yet.
    pub(super) recent: Arc<Recent>,
    /// Where readers take `recent` from.
    pub(super) shared_recent: SharedRecent,
    /// The number of places in `recent`.
    pub(super) unindexed: usize,
    /// The games of the places that the current transaction added, in order.
    placed: Vec<i64>,
    /// The index that is being written, slice by slice.
    pub(super) indexing: Option<Indexing>,
}

impl Writer {
    /// The writer over an open connection; `lock` is released when it ends.
    ///
    /// # Errors
    ///
    /// When the entries beyond the index cannot be read.
    pub(super) fn new(
        connection: Connection,
        queue: mpsc::Receiver<Command>,
        position: watch::Sender<i64>,
        lock: File,
        options: SqliteOptions,
    ) -> rusqlite::Result<Self> {
        let last_position = *position.borrow();
        let (recent, unindexed) = Recent::load(&connection)?;
        let shared_recent = SharedRecent::new(recent);
        Ok(Self {
            connection,
            options,
            queue,
            position,
            lock,
            heads: HashMap::new(),
            last_position,
            recent: shared_recent.get(),
            shared_recent,
            unindexed,
            placed: Vec::new(),
            indexing: None,
        })
    }

    /// The places of the newest entries, for readers.
    pub(super) fn recent(&self) -> SharedRecent {
        self.shared_recent.clone()
    }

    /// Writes batches until the store is closed or dropped.
    pub(super) fn run(mut self) {
        let mut jobs = Vec::with_capacity(limits::BATCH_WRITES_MAX);
        let mut closers = Vec::new();
        while let Some(command) = self.queue.blocking_recv() {
            self.collect(command, &mut jobs, &mut closers);
            if !closers.is_empty() {
                // From here on nothing is let in; the loop ends when the queue is empty.
                self.queue.close();
            }
            if !jobs.is_empty() {
                self.write(&mut jobs);
                // After the answers, so that nobody waits for these who did not come later.
                self.index_if_due();
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
                Command::Write(job) => *job,
                Command::Close(closer) => {
                    closers.push(closer);
                    return;
                }
            };
            bytes += job.bytes();
            jobs.push(job);
            if jobs.len() >= limits::BATCH_WRITES_MAX || bytes >= limits::BATCH_BYTES_MAX {
                return;
            }
            next = self.queue.try_recv().ok();
        }
    }

    /// Writes one batch and answers it; nobody is answered before the commit.
    fn write(&mut self, jobs: &mut Vec<Job>) {
        self.commit(jobs);
        self.placed.clear();
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
                }) if left_out.len() < LEFT_OUT_WRITES_MAX => {
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
            Job::Postpone(pending) => pending.answer = Some(self.postpone(&pending.question)?),
            Job::Beat(pending) => pending.answer = Some(Ok(self.beat(pending.question)?)),
        }
        Ok(())
    }

    /// Undoes the current transaction and all that was remembered from it.
    fn roll_back(&mut self, culprit: Option<usize>, error: &rusqlite::Error) -> Failure {
        self.heads.clear();
        self.last_position = *self.position.borrow();
        self.unindexed -= self.placed.len();
        while let Some(game_id) = self.placed.pop() {
            self.recent.pop(game_id);
        }
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

    /// Remembers where the current transaction wrote the next entry of a game.
    pub(super) fn place(&mut self, game_id: i64, place: Place) {
        self.recent.push(game_id, place);
        self.unindexed += 1;
        self.placed.push(game_id);
        self.last_position = place.position;
    }

    /// What the current transaction sees.
    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            connection: &self.connection,
            recent: &self.recent,
            indexed_through: self.recent.floor,
        }
    }

    /// Moves the write-ahead log into the database when it is long. On this thread, since beside
    /// a running writer a checkpoint never catches up and the log would grow without end.
    fn checkpoint_if_due(&self) {
        let pages = |checkpoint: &str| {
            self.connection
                .prepare_cached(checkpoint)?
                .query_row([], |row| row.get::<_, i64>(1))
        };
        let result = pages("PRAGMA wal_checkpoint(NOOP)").and_then(|logged| {
            if logged < self.options.checkpoint_pages {
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

    /// Writes the index, moves the whole log into the database, releases the files, and tells
    /// those who closed.
    fn finish(mut self, closers: Vec<oneshot::Sender<Result<(), Fault>>>) {
        self.index_all();
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
        drop(position);
        for reply in closers {
            drop(reply.send(result.clone()));
        }
    }

    fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}
