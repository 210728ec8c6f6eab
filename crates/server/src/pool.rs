//! Work that takes more than a millisecond, away from the threads that answer: some at once, a
//! bounded number waiting. What nobody waits for any more is not begun, and is told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ServiceError;
use crate::limits;

/// Turns at something of which some are worked on at once, while a bounded number wait.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    /// The places of what runs.
    running: Arc<Semaphore>,
    /// The places of what runs or waits.
    places: Arc<Semaphore>,
    /// The places of what runs here or elsewhere, where it shares something.
    shared: Option<Arc<Semaphore>>,
}

/// A turn, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct PoolTurn(#[expect(dead_code, reason = "held")] [Option<OwnedSemaphorePermit>; 3]);

impl Turns {
    /// Turns of `running` at once, while `waiting` others wait.
    pub(crate) fn new(running: usize, waiting: usize) -> Turns {
        Turns {
            running: Arc::new(Semaphore::new(running)),
            places: Arc::new(Semaphore::new(running + waiting)),
            shared: None,
        }
    }

    /// Waits for a turn. Dropping the wait gives the place to others.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Overloaded`] where too much waits already.
    pub(crate) async fn wait(&self) -> Result<PoolTurn, ServiceError> {
        let place = Arc::clone(&self.places);
        let place = place
            .try_acquire_owned()
            .map_err(|_| ServiceError::overloaded())?;
        let running = acquire(&self.running).await?;
        let shared = match &self.shared {
            Some(shared) => Some(acquire(shared).await?),
            None => None,
        };
        Ok(PoolTurn([Some(place), Some(running), shared]))
    }
}

async fn acquire(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ServiceError> {
    let permit = Arc::clone(semaphore).acquire_owned().await;
    permit.map_err(|_| ServiceError::ShuttingDown)
}

/// The mate solver, which takes hundreds of megabytes at worst: everything that asks it shares the
/// places.
#[derive(Clone, Debug)]
pub(crate) struct Solvers(Arc<Semaphore>);

impl Default for Solvers {
    fn default() -> Solvers {
        Solvers(Arc::new(Semaphore::new(limits::SOLVERS_AT_ONCE_MAX)))
    }
}

impl Solvers {
    /// A pool for some of the questions to the solver.
    pub(crate) fn pool(&self, running: usize, waiting: usize) -> WorkPool {
        let mut turns = Turns::new(running, waiting);
        turns.shared = Some(Arc::clone(&self.0));
        WorkPool {
            turns,
            ..WorkPool::new(0, 0)
        }
    }
}

/// A bounded pool of blocking work.
#[derive(Clone, Debug)]
pub(crate) struct WorkPool {
    turns: Turns,
    /// The bytes of the requests that run or wait.
    bytes: Arc<Semaphore>,
}

impl WorkPool {
    /// A pool that works on `running` things at once, while `waiting` others wait.
    pub(crate) fn new(running: usize, waiting: usize) -> WorkPool {
        WorkPool {
            turns: Turns::new(running, waiting),
            bytes: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
        }
    }

    /// The pool, for requests that may wait with so many bytes in all.
    pub(crate) fn within(mut self, bytes: usize) -> WorkPool {
        self.bytes = Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS)));
        self
    }

    /// Does work on a request of some bytes here, and on one that is not long on the thread that
    /// asks.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and [`ServiceError::Overloaded`] where the requests that wait are
    /// too many bytes.
    pub(crate) async fn run_request<T: Send + 'static>(
        &self,
        (is_long, bytes): (bool, usize),
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        if !is_long {
            return Ok(work());
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let held = Arc::clone(&self.bytes).try_acquire_many_owned(bytes);
        let held = held.map_err(|_| ServiceError::overloaded())?;
        let work = move || {
            let _held = held;
            work()
        };
        self.run(work).await
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
        self.run_while_wanted(|_| work()).await
    }

    /// Does some work, and waits for it. The work is given a question to ask now and then: whether
    /// nobody waits for it any more.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub(crate) async fn run_while_wanted<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let turn = self.turns.wait().await?;
        let gone = Arc::new(AtomicBool::new(false));
        let _watch = Gone(Arc::clone(&gone));
        let span = tracing::Span::current();
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            span.in_scope(|| work(&|| gone.load(Ordering::Relaxed)))
        });
        done.await.map_err(|error| ServiceError::InvariantBroken {
            what: format!("work did not come to its end: {error}"),
        })
    }
}

/// Tells the work that nobody waits for it any more.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
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
        while pool.turns.running.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let second = {
            let pool = pool.clone();
            tokio::spawn(async move { pool.run(|| 2).await })
        };
        while pool.turns.places.available_permits() > 0 {
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

    #[tokio::test]
    async fn requests_that_wait_are_bounded_in_bytes() {
        let pool = WorkPool::new(1, 9).within(100);
        let turn = pool.turns.wait().await.expect("a turn");
        let waiting = {
            let pool = pool.clone();
            tokio::spawn(async move { pool.run_request((true, 60), || 1).await })
        };
        tokio::task::yield_now().await;
        let more = pool.run_request((true, 60), || 2).await;
        assert_eq!(more, Err(ServiceError::overloaded()));
        assert_eq!(pool.run_request((false, 60), || 3).await, Ok(3));
        drop(turn);
        assert_eq!(waiting.await.expect("it ends"), Ok(1));
        assert_eq!(pool.run_request((true, 60), || 4).await, Ok(4));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn work_hears_that_nobody_waits_for_it() {
        let pool = WorkPool::new(1, 0);
        let (begun, begins) = tokio::sync::oneshot::channel();
        let unwanted = {
            let pool = pool.clone();
            tokio::spawn(async move {
                let work = move |is_unwanted: &dyn Fn() -> bool| {
                    begun.send(()).expect("somebody waits");
                    while !is_unwanted() {
                        std::thread::yield_now();
                    }
                };
                pool.run_while_wanted(work).await
            })
        };
        begins.await.expect("it begins");
        unwanted.abort();
        assert!(unwanted.await.is_err());
        while pool.turns.places.available_permits() == 0 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn pools_of_the_solver_share_its_places() {
        let solvers = Solvers::default();
        let few = limits::SOLVERS_AT_ONCE_MAX;
        let (first, second) = (solvers.pool(few, 0), solvers.pool(few, 0));
        let mut turns = Vec::new();
        for _ in 0..few {
            turns.push(first.turns.wait().await.expect("a turn"));
        }
        let other = tokio::spawn(async move { second.run(|| 1).await });
        tokio::task::yield_now().await;
        assert!(!other.is_finished());
        turns.pop();
        assert_eq!(other.await.expect("it ends"), Ok(1));
    }
}
