//! A few read-only connections, each used by one read at a time on a blocking thread.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{Semaphore, TryAcquireError};

use super::connection::open_reader;
use crate::error::{Fault, ReadError};
use crate::limits::{QUEUE_READS, READERS};

/// The readers of one store.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    /// One permit for each read that runs or waits.
    admitted: Arc<Semaphore>,
    /// One permit for each read that runs.
    running: Arc<Semaphore>,
}

impl Readers {
    /// Readers of the file `path`; connections are opened when they are first needed.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            idle: Arc::default(),
            admitted: Arc::new(Semaphore::new(READERS + QUEUE_READS)),
            running: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Runs `question` on a connection, in one read transaction: it sees one state.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, ReadError> {
        let admitted = self
            .admitted
            .clone()
            .try_acquire_owned()
            .map_err(|error| match error {
                TryAcquireError::NoPermits => Fault::Overloaded {
                    queue: "reads",
                    limit: QUEUE_READS,
                },
                TryAcquireError::Closed => Fault::Closed,
            })?;
        let running = self
            .running
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| Fault::Closed)?;
        let (path, idle) = (self.path.clone(), self.idle.clone());
        let read = move || {
            let free = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match free {
                Some(connection) => connection,
                None => open_reader(&path)?,
            };
            let answer = transact(&connection, question);
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
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(Fault::Failed {
                reason: error.to_string(),
            }
            .into()),
            Err(error) => Err(Fault::Failed {
                reason: error.to_string(),
            }
            .into()),
        }
    }

    /// Refuses new reads and those that wait, waits for those that run, closes the connections.
    pub(super) async fn close(&self) {
        self.admitted.close();
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

fn transact<T>(
    connection: &Connection,
    question: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached("BEGIN DEFERRED")?.execute([])?;
    let answer = question(connection)?;
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(answer)
}
