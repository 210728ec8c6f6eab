//! A few read-only connections, each used by one read at a time on a blocking thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{Semaphore, TryAcquireError};

use super::connection::open_reader;
use super::fault;
use super::guard::Guard;
use crate::ack::Read;
use crate::error::{Fault, ReadError};
use crate::limits::{OVERLOADED_RETRY_AFTER, QUEUE_READS_MAX, READERS};

/// The readers of one store.
#[derive(Debug, Clone)]
pub(super) struct Readers {
    path: PathBuf,
    guard: Arc<Guard>,
    idle: Arc<Mutex<Vec<Connection>>>,
    /// One permit for each read that runs or waits.
    admitted: Arc<Semaphore>,
    /// One permit for each read that runs.
    running: Arc<Semaphore>,
}

impl Readers {
    /// Returns readers of the file `path`; connections are opened when they are first needed.
    pub(super) fn new(path: PathBuf, guard: Arc<Guard>) -> Self {
        Self {
            path,
            guard,
            idle: Arc::default(),
            admitted: Arc::new(Semaphore::new(READERS + QUEUE_READS_MAX)),
            running: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Runs `question` on a connection, in one read transaction: it sees one state.
    pub(super) fn read<'a, T: Send + 'static>(
        &'a self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Read<'a, T> {
        Box::pin(async move {
            let admitted =
                self.admitted
                    .clone()
                    .try_acquire_owned()
                    .map_err(|error| match error {
                        TryAcquireError::NoPermits => Fault::Overloaded {
                            queue: "reads",
                            limit: QUEUE_READS_MAX,
                            retry_after: OVERLOADED_RETRY_AFTER,
                        },
                        TryAcquireError::Closed => Fault::Closed,
                    })?;
            let running = self
                .running
                .clone()
                .acquire_owned()
                .await
                .map_err(|_| Fault::Closed)?;
            let (path, idle, guard) = (self.path.clone(), self.idle.clone(), self.guard.clone());
            let read = move || {
                let free = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let connection = match free {
                    Some(connection) => connection,
                    None => open_checked(&path, &guard)?,
                };
                let answer = transact(&connection, question)
                    .map_err(|error| ReadError::Fault(fault::of_read(&error)));
                // A connection that failed is not trusted again; the next read opens a new one.
                if answer.is_ok() {
                    idle.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(connection);
                }
                // The caller may be gone; the permits live until the read has ended all the same.
                drop((admitted, running));
                answer
            };
            match tokio::task::spawn_blocking(read).await {
                Ok(answer) => answer,
                Err(error) => Err(ReadError::Fault(Fault::Unavailable {
                    reason: error.to_string(),
                })),
            }
        })
    }

    /// Opens a connection for a long read, which must not take the place of short ones.
    ///
    /// # Errors
    ///
    /// [`Fault`] when it cannot be opened, or its name leads to another file than the one that is
    /// open.
    pub(super) fn open(&self) -> Result<Connection, Fault> {
        open_checked(&self.path, &self.guard)
    }

    /// The file that is read.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how many reads run or wait.
    pub(super) fn waiting(&self) -> usize {
        READERS + QUEUE_READS_MAX - self.admitted.available_permits()
    }

    /// Says whether new reads are refused.
    pub(super) fn is_closed(&self) -> bool {
        self.admitted.is_closed()
    }

    /// Refuses new reads.
    pub(super) fn refuse(&self) {
        self.admitted.close();
    }

    /// Refuses new reads, waits for those that were let in, and closes the connections.
    pub(super) async fn close(&self) {
        self.refuse();
        // All permits at once means that nothing runs; on a second call it is closed already.
        if let Ok(all) = self.running.acquire_many(READERS as u32).await {
            self.running.close();
            drop(all);
        }
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// Opens a connection to the file that the writer has open, and to no other of that name.
fn open_checked(path: &Path, guard: &Guard) -> Result<Connection, Fault> {
    let opened = open_reader(path).map_err(|error| fault::of_read(&error));
    guard
        .check()
        .map_err(|reason| Fault::Unavailable { reason })?;
    opened
}

fn transact<T>(
    connection: &Connection,
    question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached("BEGIN DEFERRED")?.execute([])?;
    let answer = question(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::sqlite::connection::open_writer;

    #[tokio::test]
    async fn too_many_reads_are_refused_at_once_and_none_runs_after_the_close() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("referee.db");
        let _writer = open_writer(&path).expect("the database opens");
        let guard = Arc::new(Guard::lock(&path).expect("nobody has it open"));
        let readers = Readers::new(path, guard);

        // Reads that run until they are let go.
        let mut running = Vec::new();
        let (started, starts) = mpsc::channel();
        for _ in 0..READERS {
            let (release, released) = mpsc::channel::<()>();
            let started = started.clone();
            let mut read = Box::pin(readers.read(move |_| {
                started.send(()).expect("the test listens");
                released.recv().expect("the test lets go");
                Ok(7)
            }));
            poll_once(read.as_mut()).await;
            running.push((read, release));
        }
        for _ in 0..READERS {
            starts.recv().expect("a read starts");
        }
        let mut waiting = Vec::new();
        for _ in 0..QUEUE_READS_MAX {
            let mut read = Box::pin(readers.read(|_| Ok(8)));
            assert!(poll_once(read.as_mut()).await.is_none());
            waiting.push(read);
        }
        let full = ReadError::Fault(Fault::Overloaded {
            queue: "reads",
            limit: QUEUE_READS_MAX,
            retry_after: OVERLOADED_RETRY_AFTER,
        });
        assert_eq!(readers.read(|_| Ok(9)).await, Err(full));

        // One that is given up makes room for another.
        waiting.pop();
        let mut read = Box::pin(readers.read(|_| Ok(10)));
        assert!(poll_once(read.as_mut()).await.is_none());

        let mut close = Box::pin(readers.close());
        assert!(
            poll_once(close.as_mut()).await.is_none(),
            "reads are running"
        );
        let closed = ReadError::Fault(Fault::Closed);
        assert_eq!(readers.read(|_| Ok(11)).await, Err(closed));
        for (read, release) in running {
            release.send(()).expect("the read runs");
            assert_eq!(read.await, Ok(7));
        }
        // Those that were let in before the close are still served, in their order.
        for read in waiting {
            assert_eq!(read.await, Ok(8));
        }
        assert_eq!(read.await, Ok(10));
        close.await;
    }

    async fn poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(match future.as_mut().poll(context) {
                std::task::Poll::Ready(output) => Some(output),
                std::task::Poll::Pending => None,
            })
        })
        .await
    }
}
