//! Work that takes more than a millisecond, away from the threads that answer: some at once, a
//! bounded number waiting.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::error::ServiceError;

/// A bounded pool of blocking work.
#[derive(Clone, Debug)]
pub(crate) struct WorkPool {
    /// The places of what runs.
    running: Arc<Semaphore>,
    /// The places of what runs or waits.
    places: Arc<Semaphore>,
}

impl WorkPool {
    /// A pool that works on `running` things at once, while `waiting` others wait.
    pub(crate) fn new(running: usize, waiting: usize) -> WorkPool {
        WorkPool {
            running: Arc::new(Semaphore::new(running)),
            places: Arc::new(Semaphore::new(running + waiting)),
        }
    }

    /// Does work that is long here, and other work on the thread that asks.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) async fn run_where<T: Send + 'static>(
        &self,
        is_long: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        if is_long {
            self.run(work).await
        } else {
            Ok(work())
        }
    }

    /// Does some work, and waits for it. Work that has begun ends, also where nobody waits for it
    /// any more.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Overloaded`] where too much waits already, and
    /// [`ServiceError::InvariantBroken`] where the work panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let place = Arc::clone(&self.places);
        let place = place
            .try_acquire_owned()
            .map_err(|_| ServiceError::overloaded())?;
        let running = Arc::clone(&self.running).acquire_owned().await;
        let running = running.map_err(|_| ServiceError::ShuttingDown)?;
        let span = tracing::Span::current();
        let done = tokio::task::spawn_blocking(move || {
            let _places = (place, running);
            span.in_scope(work)
        });
        done.await.map_err(|error| ServiceError::InvariantBroken {
            what: format!("work did not come to its end: {error}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_finds_no_place_is_turned_away_and_the_rest_is_done_in_turn() {
        let pool = WorkPool::new(1, 1);
        let (release, held) = mpsc::channel::<()>();
        let first = {
            let pool = pool.clone();
            tokio::spawn(async move { pool.run(move || held.recv().is_ok()).await })
        };
        while pool.running.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let second = {
            let pool = pool.clone();
            tokio::spawn(async move { pool.run(|| 2).await })
        };
        while pool.places.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let third = pool.run(|| 3).await;
        assert_eq!(third, Err(ServiceError::overloaded()));
        assert!(!second.is_finished());
        release.send(()).expect("the work waits for it");
        assert_eq!(first.await.expect("it ends"), Ok(true));
        assert_eq!(second.await.expect("it ends"), Ok(2));
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error_and_gives_its_place_back() {
        let pool = WorkPool::new(1, 0);
        let broken = pool.run(|| -> u8 { panic!("a test") }).await;
        assert!(matches!(broken, Err(ServiceError::InvariantBroken { .. })));
        assert_eq!(pool.run(|| 1).await, Ok(1));
    }
}
