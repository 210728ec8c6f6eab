//! The embedded engine: one SQLite file, one writer thread, a few readers.

mod connection;
mod deadlines;
mod heartbeat;
mod index;
mod job;
mod judge;
mod list;
mod query;
mod readers;
mod recent;
mod schema;
mod writer;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use self::job::{Command, Job, Pending};
use self::readers::Readers;
use self::writer::Writer;
use crate::check;
use crate::error::{AppendError, CreateError, Fault, OpenError, ReadError};
use crate::limits;
use crate::record::{
    Answer, Append, Appended, Beat, Created, DownSpan, DueGame, GameKey, GamePage, GameRow,
    ListCursor, ListFilter, NewGame, Postponement, StoredEntry, TailPage,
};
use crate::store::{BoxFuture, Store};

/// The embedded store: durable records of games in one SQLite file.
///
/// Writes go through a bounded queue to one thread, which writes everything that waits in one
/// transaction and answers after the commit: one `fsync` for all. Reads run beside it on a few
/// read-only connections. Both answer [`Fault::Overloaded`] at once when their queue is full.
///
/// The file is in write-ahead-log mode with `synchronous=FULL`: beside it lie `-wal`, `-shm` and
/// `.lock`. Copy it only after [`close`](Store::close), or together with its `-wal`.
///
/// Dropping the store without closing it lets the writer finish what waits and end by itself.
#[derive(Debug)]
pub struct SqliteStore {
    writes: mpsc::Sender<Command>,
    write_bytes: Arc<Semaphore>,
    readers: Readers,
    position: watch::Receiver<i64>,
}

/// How the embedded engine spends memory and spreads its housekeeping; the defaults are the
/// constants of [`limits`]. No setting touches durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// See [`limits::UNINDEXED_ENTRIES`].
    pub unindexed_entries: usize,
    /// See [`limits::INDEXED_PER_SLICE`].
    pub indexed_per_slice: usize,
    /// See [`limits::CHECKPOINT_PAGES`].
    pub checkpoint_pages: i64,
    /// See [`limits::CACHED_HEADS_MAX`].
    pub cached_heads: usize,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            unindexed_entries: limits::UNINDEXED_ENTRIES,
            indexed_per_slice: limits::INDEXED_PER_SLICE,
            checkpoint_pages: limits::CHECKPOINT_PAGES,
            cached_heads: limits::CACHED_HEADS_MAX,
        }
    }
}

impl SqliteStore {
    /// Opens the store in the file `path`, creating it or migrating it to the current schema
    /// first. Blocks for as long as that takes; call it before serving.
    ///
    /// # Errors
    ///
    /// [`OpenError::Locked`] while another process has the file open,
    /// [`OpenError::NewerSchema`] when a newer program wrote it, and the others as they say.
    ///
    /// # Examples
    ///
    /// ```
    /// use referee_store::{Append, GameKey, NewGame, SqliteStore, Store, Write};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("referee.db");
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let store = SqliteStore::open(&path)?;
    /// let key = GameKey::new("default", "g1");
    /// store
    ///     .create(NewGame {
    ///         key: key.clone(),
    ///         request_id: "create-1".into(),
    ///         content_hash: [1; 32],
    ///         genesis: b"setup".to_vec(),
    ///         state: 1,
    ///         labels: vec![("round".into(), "3".into())],
    ///         create_time_us: 1_700_000_000_000_000,
    ///         deadline_us: None,
    ///     })
    ///     .await?;
    /// store
    ///     .append(Append {
    ///         key: key.clone(),
    ///         expected_sequence: 0,
    ///         request_id: "move-1".into(),
    ///         content_hash: [2; 32],
    ///         write: Write::Entry {
    ///             bytes: b"e2e4".to_vec(),
    ///             state: 1,
    ///             update_time_us: 1_700_000_001_000_000,
    ///             deadline_us: None,
    ///         },
    ///     })
    ///     .await?;
    /// let entries = store.entries(&key, 0, 100).await?;
    /// assert_eq!(entries[0].bytes, b"e2e4");
    /// store.close().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the store as [`open`](Self::open) does, with other options.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, OpenError> {
        let path = connection::resolve(path.as_ref())?;
        let lock = connection::lock(&path)?;
        let connection = connection::open_writer(&path)?;
        let io = |reason: String| OpenError::Io {
            path: path.clone(),
            reason,
        };

        let newest = query::newest_position(&connection).map_err(|error| io(error.to_string()))?;
        let (position_sender, position) = watch::channel(newest);
        let (writes, queue) = mpsc::channel(limits::QUEUE_WRITES_MAX);
        let writer = Writer::new(connection, queue, position_sender, lock, options)
            .map_err(|error| io(error.to_string()))?;
        let readers = Readers::new(path.clone(), writer.recent());
        std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || writer.run())
            .map_err(|error| io(error.to_string()))?;

        Ok(Self {
            writes,
            write_bytes: Arc::new(Semaphore::new(limits::QUEUE_BYTES_MAX)),
            readers,
            position,
        })
    }

    /// Queues a question that carries `bytes` of payload and waits for its answer.
    async fn write<Q, A, E: From<Fault>>(
        &self,
        question: Q,
        bytes: usize,
        job: fn(Pending<Q, A, E>) -> Job,
    ) -> Result<A, E> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = self
            .write_bytes
            .clone()
            .try_acquire_many_owned(bytes)
            .map_err(|_| Fault::Overloaded {
                queue: "bytes of writes",
                limit: limits::QUEUE_BYTES_MAX,
            })?;
        let (reply, answer) = oneshot::channel();
        let command = Command::Write(Box::new(job(Pending::new(question, reply, permit))));
        self.writes.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Fault::Overloaded {
                queue: "writes",
                limit: limits::QUEUE_WRITES_MAX,
            },
            mpsc::error::TrySendError::Closed(_) => Fault::Closed,
        })?;
        answer.await.unwrap_or_else(|_| {
            Err(Fault::Failed {
                reason: "the writer stopped".into(),
            }
            .into())
        })
    }
}

impl Store for SqliteStore {
    fn create(&self, game: NewGame) -> BoxFuture<'_, Result<Created, CreateError>> {
        Box::pin(async move {
            check::new_game(&game)?;
            let bytes = check::new_game_bytes(&game);
            self.write(game, bytes, Job::Create).await
        })
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, AppendError>> {
        Box::pin(async move {
            check::append(&append)?;
            let bytes = check::append_bytes(&append);
            self.write(append, bytes, Job::Append).await
        })
    }

    fn answer<'a>(
        &'a self,
        key: &'a GameKey,
        request_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Answer>, ReadError>> {
        Box::pin(async move {
            let (key, request_id) = (key.clone(), request_id.to_owned());
            self.readers
                .read(move |snapshot| query::answer(snapshot, &key, &request_id))
                .await
        })
    }

    fn game<'a>(&'a self, key: &'a GameKey) -> BoxFuture<'a, Result<Option<GameRow>, ReadError>> {
        Box::pin(async move {
            let key = key.clone();
            self.readers
                .read(move |snapshot| query::game(snapshot, &key))
                .await
        })
    }

    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, ReadError>> {
        Box::pin(async move {
            let (key, limit) = (key.clone(), page_rows(limit));
            self.readers
                .read(move |snapshot| query::entries(snapshot, &key, after_sequence, limit))
                .await
        })
    }

    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<GamePage, ReadError>> {
        Box::pin(async move {
            check::list_filter(filter)?;
            let (platform, filter, limit) = (platform.to_owned(), filter.clone(), page_rows(limit));
            self.readers
                .read(move |snapshot| list::list(snapshot, &platform, &filter, after, limit))
                .await
        })
    }

    fn tail<'a>(
        &'a self,
        platform: Option<&'a str>,
        after_position: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<TailPage, ReadError>> {
        Box::pin(async move {
            let (platform, limit) = (platform.map(str::to_owned), page_rows(limit));
            self.readers
                .read(move |snapshot| {
                    query::tail(
                        snapshot.connection,
                        platform.as_deref(),
                        after_position,
                        limit,
                    )
                })
                .await
        })
    }

    fn due(&self, until_us: i64, limit: usize) -> BoxFuture<'_, Result<Vec<DueGame>, ReadError>> {
        let limit = page_rows(limit);
        Box::pin(
            self.readers
                .read(move |snapshot| deadlines::due(snapshot.connection, until_us, limit)),
        )
    }

    fn postpone(&self, postponement: Postponement) -> BoxFuture<'_, Result<(), AppendError>> {
        Box::pin(async move {
            check::postponement(&postponement)?;
            self.write(postponement, check::FIXED_BYTES, Job::Postpone)
                .await
        })
    }

    fn beat(&self, beat: Beat) -> BoxFuture<'_, Result<Option<DownSpan>, Fault>> {
        Box::pin(self.write(beat, check::FIXED_BYTES, Job::Beat))
    }

    fn heartbeat(&self) -> BoxFuture<'_, Result<Option<i64>, ReadError>> {
        Box::pin(
            self.readers
                .read(|snapshot| heartbeat::heartbeat(snapshot.connection)),
        )
    }

    fn down_spans(
        &self,
        after_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<DownSpan>, ReadError>> {
        let limit = page_rows(limit);
        Box::pin(
            self.readers
                .read(move |snapshot| heartbeat::down_spans(snapshot.connection, after_us, limit)),
        )
    }

    fn position(&self) -> watch::Receiver<i64> {
        self.position.clone()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Fault>> {
        Box::pin(async move {
            // The readers first: the last connection to close removes the log.
            self.readers.close().await;
            let (reply, answer) = oneshot::channel();
            if self.writes.send(Command::Close(reply)).await.is_err() {
                // Closed before, or being closed. The writer lets go of the position after it has
                // released the files.
                let mut position = self.position();
                while position.changed().await.is_ok() {}
                return Ok(());
            }
            answer.await.map_err(|_| Fault::Failed {
                reason: "the writer stopped".into(),
            })?
        })
    }
}

fn page_rows(limit: usize) -> usize {
    limit.clamp(1, limits::PAGE_ROWS_MAX)
}
