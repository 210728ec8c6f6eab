//! The writing connection: what the committer runs, on a thread of its own.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use foldhash::quality::RandomState;
use rusqlite::Connection;
use tokio::sync::watch;

use super::connection::BUSY_TIMEOUT;
use super::fault;
use super::head::Head;
use super::log::{self, Block};
use super::options::SqliteOptions;
use crate::committer::{Engine, Failure};
use crate::error::Fault;
use crate::games::GameKey;
use crate::job::Job;

/// Copies what it can without waiting for readers.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// Copies everything, waits for readers, and leaves the log empty.
const SCRUB: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// The engine behind the queue.
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) options: SqliteOptions,
    /// Heads of games as the current transaction left them; forgotten when it fails.
    pub(super) heads: HashMap<GameKey, Head, RandomState>,
    /// The position of the last entry in the current transaction.
    pub(super) last_position: i64,
    /// Whether an entry is known to be there, so that the engine by itself chooses the next one.
    pub(super) last_is_entry: bool,
    pub(super) block: Block,
    /// Whether text was erased that the files may still have.
    pub(super) erases: bool,
    published: Published,
    lock: File,
}

/// What others see of the commits.
pub(super) struct Published {
    /// The newest committed position.
    pub(super) newest: Arc<AtomicI64>,
    /// How often it has moved.
    pub(super) moved: watch::Sender<u64>,
}

impl Writer {
    /// Returns the writer over an open connection; `lock` is released when it ends.
    ///
    /// # Errors
    ///
    /// When the tables cannot be read or written.
    pub(super) fn new(
        connection: Connection,
        published: Published,
        lock: File,
        options: SqliteOptions,
    ) -> rusqlite::Result<Self> {
        let last_position = log::newest_position(&connection)?;
        published.newest.store(last_position, Ordering::Release);
        let mut writer = Self {
            connection,
            options,
            heads: HashMap::default(),
            last_position,
            last_is_entry: false,
            block: Block::default(),
            erases: true,
            published,
            lock,
        };
        writer.forget_replicas()?;
        // A process that died may have erased text that the log still has. Where that cannot go
        // now, as on a full disk, it is tried again.
        drop(writer.scrub(BUSY_TIMEOUT));
        Ok(writer)
    }

    /// Writes the jobs in one transaction; when it fails, all is undone, and answers that were
    /// already set do not count.
    fn transact(&mut self, jobs: &mut [Job]) -> Result<(), Failure> {
        self.execute("BEGIN IMMEDIATE")
            .map_err(|error| self.roll_back(None, &error, false))?;
        for (index, job) in jobs.iter_mut().enumerate() {
            self.apply(job)
                .map_err(|error| self.roll_back(Some(index), &error, false))?;
        }
        // A transaction that changed nothing writes nothing.
        self.execute("COMMIT")
            .map_err(|error| self.roll_back(None, &error, true))
    }

    /// Does what one job asks for, and sets its answer.
    fn apply(&mut self, job: &mut Job) -> rusqlite::Result<()> {
        match job {
            Job::Create(pending) => pending.answer = Some(self.create(&pending.question)?),
            Job::Append(pending) => pending.answer = Some(self.append(&pending.question)?),
            Job::Delete(pending) => pending.answer = Some(self.delete(&pending.question)?),
            Job::Postpone(pending) => pending.answer = Some(self.postpone(&pending.question)?),
            Job::ClaimDue(pending) => pending.answer = Some(Ok(self.claim_due(pending.question)?)),
            Job::ClaimQuestions(pending) => {
                pending.answer = Some(Ok(self.claim_questions(pending.question)?));
            }
            Job::Settle(pending) => pending.answer = Some(Ok(self.settle(&pending.question)?)),
            Job::Beat(pending) => pending.answer = Some(Ok(self.beat(pending.question)?)),
        }
        Ok(())
    }

    /// Undoes the current transaction and all that was remembered from it.
    fn roll_back(
        &mut self,
        culprit: Option<usize>,
        error: &rusqlite::Error,
        committing: bool,
    ) -> Failure {
        self.heads.clear();
        self.block = Block::default();
        self.last_position = self.published.newest.load(Ordering::Acquire);
        self.last_is_entry = false;
        // Some errors have ended the transaction already.
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            tracing::error!(%error, "a failed batch could not be rolled back");
        }
        Failure {
            culprit: culprit.filter(|_| !fault::is_of_all(error)),
            fault: fault::of_write(error, committing),
        }
    }

    /// Leaves nothing of what was erased in the files: the tables have it no more, and the
    /// write-ahead log goes, for which it waits for readers so long.
    fn scrub(&mut self, patience: Duration) -> Result<(), Fault> {
        let blocked = self.connection.busy_timeout(patience).and_then(|()| {
            let mut scrub = self.connection.prepare_cached(SCRUB)?;
            scrub.query_row([], |row| row.get::<_, bool>(0))
        });
        let reset = self.connection.busy_timeout(BUSY_TIMEOUT);
        match blocked.and_then(|blocked| reset.map(|()| blocked)) {
            Ok(blocked) => self.erases = blocked,
            Err(error) => tracing::error!(%error, "what was erased is still in the log"),
        }
        // The erasure itself is durable: the same request, sent again, waits for the rest.
        if self.erases {
            Err(Fault::Unknown)
        } else {
            Ok(())
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

    pub(super) fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

impl Engine for Writer {
    async fn commit(&mut self, jobs: &mut [Job]) -> Result<(), Failure> {
        self.transact(jobs)?;
        let before = self
            .published
            .newest
            .swap(self.last_position, Ordering::AcqRel);
        if before < self.last_position {
            self.published.moved.send_modify(|count| *count += 1);
        }
        // Repetitions are among them: who asks again whether something is erased waits as well.
        if self.erases
            && jobs.iter().any(Job::erases)
            && let Err(fault) = self.scrub(BUSY_TIMEOUT)
        {
            for job in jobs.iter_mut().filter(|job| job.erases()) {
                job.fail(fault.clone());
            }
        }
        Ok(())
    }

    async fn between_batches(&mut self) {
        if self.erases {
            // Nobody waits for it who was not told so; what is left is tried again.
            drop(self.scrub(Duration::ZERO));
        }
        self.checkpoint_if_due();
    }

    async fn finish(self) -> Result<(), Fault> {
        let Self {
            connection,
            published,
            lock,
            ..
        } = self;
        let checkpoint = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| fault::of_write(&error, false));
        let closed = connection
            .close()
            .map_err(|(_, error)| fault::of_write(&error, false));
        drop(lock);
        // Last: whoever sees that it is gone may open the file.
        drop(published);
        checkpoint.and(closed)
    }
}
