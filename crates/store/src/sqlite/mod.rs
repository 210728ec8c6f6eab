//! The embedded engine: one SQLite file, one writer thread, a few readers.

mod apply;
mod backup;
mod connection;
mod deadlines;
mod delete;
mod facets;
mod fault;
mod file;
mod guard;
mod head;
mod identities;
mod index;
mod keep;
mod list;
mod liveness;
mod log;
mod options;
mod query;
mod questions;
mod readers;
mod request;
mod schema;
mod texts;
mod upkeep;
mod verify;
mod witness;
mod work;
mod work_tables;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use tokio::sync::watch;

pub use self::file::StoreFile;
use self::guard::Guard;
pub use self::options::SqliteOptions;
use self::readers::Readers;
use self::witness::Witness;
use self::writer::{Files, Published, Writer};
use crate::committer::{Committer, committer};
use crate::error::OpenError;

/// The embedded store: durable records of games in one SQLite file.
///
/// Writes go through a bounded queue to one thread, which writes everything that waits in one
/// transaction and answers after the commit: one `fsync` for all. Reads run beside it on a few
/// read-only connections, and never wait for a commit. Both answer
/// [`Fault::Overloaded`](crate::Fault::Overloaded) at once when their queue is full.
///
/// The file is in write-ahead-log mode with `synchronous=FULL`: beside it lie `-wal`, `-shm`,
/// `.lock` and `.witness`. Copy it only after [`close`](crate::Store::close), or together with its
/// `-wal`.
///
/// Nothing is acknowledged into a file that is no longer the one that was opened: before each batch
/// and after its commit, before its answers, names are compared with what was opened, which costs
/// some microseconds. A file that was deleted, replaced or cut short, and one that another program
/// has written to, takes no more writes ([`Fault::ReadOnly`](crate::Fault::ReadOnly)); one that was
/// moved away and is put back does again.
///
/// Dropping the store without closing it lets the writer finish what waits and end by itself.
#[derive(Debug)]
pub struct SqliteStore {
    committer: Committer,
    readers: Readers,
    newest: Arc<AtomicI64>,
    moved: watch::Receiver<u64>,
}

impl SqliteStore {
    /// Opens the store in the file `path`, creating it or migrating it to the current schema
    /// first. Blocks for as long as that takes; call it before serving.
    ///
    /// # Errors
    ///
    /// [`OpenError::Locked`] while another process has the file open,
    /// [`OpenError::OlderSchema`] and [`OpenError::NewerSchema`] when a program of another
    /// version wrote it, and the others as they say.
    ///
    /// # Examples
    ///
    /// ```
    /// use referee_store::{
    ///     Append, GameKey, Games, NewGame, RequestKey, SqliteStore, Store, Write,
    /// };
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("referee.db");
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let store = SqliteStore::open(&path)?;
    /// let key = GameKey::new("default", "g1");
    /// let game = store
    ///     .create(NewGame {
    ///         key: key.clone(),
    ///         request_id: "create-1".into(),
    ///         content_hash: [1; 32],
    ///         genesis: b"setup".to_vec(),
    ///         private: None,
    ///         state: 1,
    ///         labels: vec![("round".into(), "3".into())],
    ///         create_time_us: 1_700_000_000_000_000,
    ///         deadline_us: None,
    ///     })
    ///     .await?
    ///     .into_row();
    /// store
    ///     .append(Append {
    ///         key: key.clone(),
    ///         expected_sequence: 0,
    ///         previous: game.chain_head,
    ///         request: RequestKey::new(1, "move-1"),
    ///         content_hash: [2; 32],
    ///         write: Write::Entry {
    ///             bytes: b"e2e4".to_vec(),
    ///             private: None,
    ///             describes: None,
    ///             state: 1,
    ///             update_time_us: 1_700_000_001_000_000,
    ///             deadline_us: None,
    ///             asks: false,
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
        guard::refuse_opened(&path)?;
        connection::refuse_foreign(&path)?;
        let lock = connection::lock(&path)?;
        if path.metadata().map_or(0, |metadata| metadata.len()) == 0 {
            witness::refuse_lost(&path)?;
        }
        connection::create_if_missing(&path)?;
        // Before the engine opens the file and until it has closed it: a process that closes any
        // descriptor of a file loses the engine's locks on it.
        let guard = Arc::new(Guard::lock(&path)?);
        let connection = connection::open_writer(&path)?;
        let witness = Witness::open(&path, &connection)?;
        let io = |reason: String| OpenError::Io {
            path: path.clone(),
            reason,
        };

        let newest = Arc::new(AtomicI64::new(0));
        let (sender, moved) = watch::channel(0);
        let published = Published {
            newest: newest.clone(),
            moved: sender,
        };
        let files = Files {
            guard: Arc::clone(&guard),
            witness,
            lock,
        };
        let writer = Writer::new(connection, published, files, options)
            .map_err(|error| io(error.to_string()))?;
        guard.watch()?;
        connection::sync_folder(&path)?;
        let (committer, run) = committer(writer);
        // The committer is written for engines that wait; the thread of this one needs no runtime.
        std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || pollster::block_on(run.run()))
            .map_err(|error| io(error.to_string()))?;

        Ok(Self {
            committer,
            readers: Readers::new(path, guard),
            newest,
            moved,
        })
    }
}
