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
use super::guard::Guard;
use super::head::Head;
use super::log::{self, Block};
use super::options::SqliteOptions;
use super::witness::Witness;
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
    files: Files,
    /// The number by which the engine tells that another connection has written.
    version: i64,
    trust: Trust,
}

/// What the writer holds beside its connection.
pub(super) struct Files {
    pub(super) guard: Arc<Guard>,
    pub(super) witness: Witness,
    /// The lock beside the database.
    pub(super) lock: File,
}

/// Whether the file is what this process knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// It is.
    Full,
    /// Its name led elsewhere after the last commit.
    Displaced,
    /// The engine has failed, and may have lost count of who wrote.
    Uncounted,
    /// Another program has written to it: what is in memory may be wrong.
    Broken,
}

/// What is said of a file that another program has written to.
const WRITTEN_TO: &str = "another program has written to the file of the store; stop the service, \
    look at the file with `referee store verify`, and begin again";

/// What others see of the commits.
pub(super) struct Published {
    /// The newest committed position.
    pub(super) newest: Arc<AtomicI64>,
    /// How often it has moved.
    pub(super) moved: watch::Sender<u64>,
}

impl Writer {
    /// Returns the writer over an open connection; the locks are released when it ends.
    ///
    /// # Errors
    ///
    /// When the tables cannot be read or written.
    pub(super) fn new(
        connection: Connection,
        published: Published,
        files: Files,
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
            files,
            version: 0,
            trust: Trust::Full,
        };
        writer.forget_replicas()?;
        // A process that died may have erased text that the log still has. Where that cannot go
        // now, as on a full disk, it is tried again.
        drop(writer.scrub(BUSY_TIMEOUT));
        writer.version = writer.data_version()?;
        Ok(writer)
    }

    /// Writes the jobs in one transaction; when it fails, all is undone, and answers that were
    /// already set do not count.
    fn transact(&mut self, jobs: &mut [Job]) -> Result<(), Failure> {
        self.refuse_untrusted()?;
        self.execute("BEGIN IMMEDIATE")
            .map_err(|error| self.roll_back(None, &error, false))?;
        // From here on nobody else writes, so that what others wrote before shows now.
        self.refuse_foreign_writes()?;
        for (index, job) in jobs.iter_mut().enumerate() {
            self.apply(job)
                .map_err(|error| self.roll_back(Some(index), &error, false))?;
        }
        // A transaction that changed nothing writes nothing.
        self.execute("COMMIT")
            .map_err(|error| self.roll_back(None, &error, true))?;
        self.files.guard.check_after().map_err(|reason| {
            tracing::error!(reason, "a commit went where nobody finds it");
            self.trust = Trust::Displaced;
            Failure {
                culprit: None,
                fault: Fault::Unknown,
            }
        })
    }

    /// Refuses to write to a file of which it is known that it is not ours alone. One that was
    /// moved away and is back under its name is.
    fn refuse_untrusted(&mut self) -> Result<(), Failure> {
        if self.trust == Trust::Broken {
            return Err(refuse(WRITTEN_TO.to_owned()));
        }
        let guard = &self.files.guard;
        if self.trust == Trust::Displaced {
            guard.check().map_err(refuse)?;
            self.trust = Trust::Full;
        }
        guard.check_before().map_err(refuse)
    }

    /// Refuses to go on where another connection has written since the last batch. After a failure
    /// of the disk the engine may count that itself as a change; then the log must end where it
    /// did.
    fn refuse_foreign_writes(&mut self) -> Result<(), Failure> {
        let look = || -> rusqlite::Result<(i64, bool)> {
            let version = self.data_version()?;
            let is_same = match self.trust {
                Trust::Uncounted => log::newest_position(&self.connection)? == self.last_position,
                _ => version == self.version,
            };
            Ok((version, is_same))
        };
        let (version, is_same) = look().map_err(|error| self.roll_back(None, &error, false))?;
        if is_same {
            self.version = version;
            self.trust = Trust::Full;
            return Ok(());
        }
        self.trust = Trust::Broken;
        self.heads.clear();
        if let Err(error) = self.execute("ROLLBACK") {
            tracing::error!(%error, "a batch that was not begun could not be rolled back");
        }
        Err(refuse(WRITTEN_TO.to_owned()))
    }

    fn data_version(&self) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))
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
            Job::SetBack(pending) => {
                pending.answer = Some(Ok(self.set_back(pending.question)?));
            }
            Job::Beat(pending) => pending.answer = Some(Ok(self.beat(pending.question)?)),
            Job::Work(job) => self.work(job)?,
            Job::IssueToken(pending) => pending.answer = Some(self.issue(&pending.question)?),
            Job::RevokeToken(pending) => {
                pending.answer = Some(Ok(self.revoke(&pending.question)?));
            }
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
        if fault::is_of_disk(error) {
            self.trust = Trust::Uncounted;
        }
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
            Ok(blocked) => {
                self.erases = blocked;
                self.files.guard.note_truncated();
            }
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

    /// Writes how far the acknowledged log has come, where that is due.
    fn bear_witness(&mut self, now: bool) {
        if matches!(self.trust, Trust::Full) {
            let newest = self.published.newest.load(Ordering::Acquire);
            let witness = &mut self.files.witness;
            witness.write_if_due(&self.connection, newest, now);
        }
    }

    pub(super) fn execute(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    }
}

impl Engine for Writer {
    async fn commit(&mut self, jobs: &mut [Job]) -> Result<bool, Failure> {
        let changes = self.connection.total_changes();
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
        Ok(self.connection.total_changes() > changes)
    }

    async fn between_batches(&mut self) {
        if self.erases {
            // Nobody waits for it who was not told so; what is left is tried again.
            drop(self.scrub(Duration::ZERO));
        }
        self.checkpoint_if_due();
        self.bear_witness(false);
    }

    async fn finish(mut self) -> Result<(), Fault> {
        self.bear_witness(true);
        let Self {
            connection,
            published,
            files,
            ..
        } = self;
        let checkpoint = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|error| fault::of_write(&error, false));
        let closed = connection
            .close()
            .map_err(|(_, error)| fault::of_write(&error, false));
        files.guard.release();
        drop(files.lock);
        // Last: whoever sees that it is gone may open the file.
        drop(published);
        checkpoint.and(closed)
    }
}

/// The failure of a batch of which nothing was written, since the file is not ours alone.
fn refuse(reason: String) -> Failure {
    Failure {
        culprit: None,
        fault: Fault::ReadOnly { reason },
    }
}
