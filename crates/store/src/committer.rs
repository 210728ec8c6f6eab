//! The queue before an engine: everything that waits becomes one batch, one batch one transaction.
//!
//! All engines share it. Writes are queued by the call, in the order of the calls, within bounds
//! of number and bytes; what does not fit is refused at once. A batch holds at most one write of
//! a game, so that an engine may put a whole batch into one statement; a second one waits for the
//! next batch, and the order of the writes of a game is kept. Nobody is answered before the
//! commit.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use foldhash::quality::RandomState;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::ack::Ack;
use crate::error::Fault;
use crate::histogram::Histogram;
use crate::job::Job;
use crate::limits;
use crate::load::{Load, Permit};
use crate::pending::Pending;
use crate::spread::Spreading;
use crate::store::StoreStats;

/// What writes batches.
pub(crate) trait Engine: Send + 'static {
    /// Applies all jobs in one transaction, sets the answer of each, publishes what is new, and
    /// returns when it is durable, and whether anything was written. An error has undone all of
    /// them, or nobody knows.
    fn commit(&mut self, jobs: &mut [Job]) -> impl Future<Output = Result<bool, Failure>> + Send;

    /// Does housekeeping, after the answers: nobody waits for it who did not come later.
    fn between_batches(&mut self) -> impl Future<Output = ()> + Send;

    /// Releases everything.
    fn finish(self) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// Why a batch was not written.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The job at which it failed, where the others might do better without it.
    pub(crate) culprit: Option<usize>,
    /// What the callers are told.
    pub(crate) fault: Fault,
}

/// The near end of the queue.
#[derive(Debug, Clone)]
pub(crate) struct Committer {
    /// Bounded by the permits in it.
    queue: mpsc::UnboundedSender<Command>,
    load: Arc<Load>,
    progress: Arc<Progress>,
    ended: watch::Receiver<()>,
}

/// The far end of the queue, and the engine.
pub(crate) struct Run<E> {
    engine: E,
    queue: mpsc::UnboundedReceiver<Command>,
    held: Held,
    room: Room,
    closers: Vec<oneshot::Sender<Result<(), Fault>>>,
    progress: Arc<Progress>,
    /// Dropped when the engine has released everything.
    ended: watch::Sender<()>,
}

/// What callers send.
enum Command {
    Write(Box<Job>),
    /// Finish what waits, release everything, and say so.
    Close(oneshot::Sender<Result<(), Fault>>),
}

/// What became of the batches so far.
#[derive(Debug)]
struct Progress {
    times: Histogram,
    times_us: Spreading,
    sizes: Spreading,
    written: AtomicU64,
    failed: AtomicU64,
    /// What was wrong with the last batch.
    last: Mutex<Option<Fault>>,
}

impl Progress {
    /// Counts a batch that was committed.
    fn count(&self, time: Duration, writes: usize) {
        self.times.add(time);
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.times_us.add(us);
        self.sizes.add(writes as u64);
    }
}

/// Returns the two ends of a queue before `engine`.
pub(crate) fn committer<E: Engine>(engine: E) -> (Committer, Run<E>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (ending, ended) = watch::channel(());
    let progress = Arc::new(Progress {
        times: Histogram::new(),
        times_us: Spreading::of_times(),
        sizes: Spreading::of_sizes(),
        written: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        last: Mutex::new(None),
    });
    let committer = Committer {
        queue: sender,
        load: Arc::default(),
        progress: progress.clone(),
        ended,
    };
    let run = Run {
        engine,
        queue: receiver,
        held: Held::default(),
        room: Room::default(),
        closers: Vec::new(),
        progress,
        ended: ending,
    };
    (committer, run)
}

impl Committer {
    /// Queues a question that carries `bytes` of payload; the future waits for its answer.
    pub(crate) fn write<Q, A, E>(
        &self,
        question: Q,
        bytes: usize,
        job: fn(Pending<Q, A, E>) -> Job,
    ) -> Ack<A, E>
    where
        A: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        self.wait(Permit::take(&self.load, bytes), question, job)
    }

    /// Queues a question that finds room however much waits: one of which each process has only a
    /// few at once.
    pub(crate) fn write_always<Q, A, E>(
        &self,
        question: Q,
        bytes: usize,
        job: fn(Pending<Q, A, E>) -> Job,
    ) -> Ack<A, E>
    where
        A: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        self.wait(Permit::take_always(&self.load, bytes), question, job)
    }

    fn wait<Q, A, E>(
        &self,
        permit: Result<Permit, Fault>,
        question: Q,
        job: fn(Pending<Q, A, E>) -> Job,
    ) -> Ack<A, E>
    where
        A: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        let queued = permit.and_then(|permit| self.queue(permit, question, job));
        match queued {
            Ok(answer) => Box::pin(async move {
                // The far end is gone without an answer: who knows how far it came.
                answer.await.unwrap_or_else(|_| Err(Fault::Unknown.into()))
            }),
            Err(fault) => Box::pin(std::future::ready(Err(fault.into()))),
        }
    }

    fn queue<Q, A, E>(
        &self,
        permit: Permit,
        question: Q,
        job: fn(Pending<Q, A, E>) -> Job,
    ) -> Result<oneshot::Receiver<Result<A, E>>, Fault> {
        let (reply, answer) = oneshot::channel();
        let command = Command::Write(Box::new(job(Pending::new(question, reply, permit))));
        self.queue.send(command).map_err(|_| Fault::Closed)?;
        Ok(answer)
    }

    /// Lets nothing more into the queue.
    pub(crate) fn refuse(&self) {
        self.load.close();
    }

    /// Waits until everything in the queue is answered and the engine has released everything.
    pub(crate) async fn close(mut self) -> Result<(), Fault> {
        let (reply, answer) = oneshot::channel();
        if self.queue.send(Command::Close(reply)).is_err() {
            // Closed before, or being closed.
            while self.ended.changed().await.is_ok() {}
            return Ok(());
        }
        answer.await.unwrap_or(Err(Fault::Unknown))
    }

    /// Returns what was wrong with the last batch.
    pub(crate) fn last_fault(&self) -> Option<Fault> {
        lock(&self.progress.last).clone()
    }

    /// Returns what the queue holds and what became of the batches.
    pub(crate) fn stats(&self) -> StoreStats {
        let times = self.progress.times.quantiles();
        StoreStats {
            writes_waiting: self.load.writes(),
            bytes_waiting: self.load.bytes(),
            reads_waiting: 0,
            batches: times.count,
            writes: self.progress.written.load(Ordering::Relaxed),
            failed: self.progress.failed.load(Ordering::Relaxed),
            commit_p50: times.p50,
            commit_p99: times.p99,
            commit_times_us: self.progress.times_us.spread(),
            batch_sizes: self.progress.sizes.spread(),
        }
    }
}

impl<E: Engine> Run<E> {
    /// Writes batches until the queue is closed, or all near ends are gone.
    pub(crate) async fn run(mut self) {
        let mut batch = Vec::with_capacity(limits::BATCH_WRITES_MAX);
        loop {
            let first = if self.held.is_empty() {
                match self.queue.recv().await {
                    Some(command) => Some(command),
                    None => break,
                }
            } else {
                None
            };
            self.collect(first, &mut batch);
            if !batch.is_empty() {
                self.write(&mut batch).await;
                self.engine.between_batches().await;
            }
        }
        let result = self.engine.finish().await;
        drop(self.ended);
        for reply in self.closers {
            drop(reply.send(result.clone()));
        }
    }

    /// Takes what waits, as much as fits into one batch: first what was held back before.
    fn collect(&mut self, first: Option<Command>, batch: &mut Vec<Job>) {
        let room = &mut self.room;
        room.bytes = 0;
        room.games.clear();
        self.held.release(room, batch);
        let mut next = first;
        while !room.is_full(batch) {
            let Some(command) = next.take().or_else(|| self.queue.try_recv().ok()) else {
                return;
            };
            match command {
                Command::Write(job) => {
                    if let Some(job) = self.held.hold(room, *job) {
                        room.put(batch, job);
                    }
                }
                Command::Close(closer) => {
                    self.closers.push(closer);
                    // From here on nothing is let in; the run ends when the queue is empty.
                    self.queue.close();
                }
            }
        }
    }

    /// Writes one batch and answers it. A job at which the engine fails is left out and the
    /// others are tried again; when the engine fails as a whole, all fail.
    async fn write(&mut self, batch: &mut Vec<Job>) {
        let start = Instant::now();
        let mut left_out = 0;
        while !batch.is_empty() {
            let failure = match self.engine.commit(batch).await {
                Ok(has_written) => {
                    // What wrote nothing proves nothing of the disk.
                    if has_written {
                        *lock(&self.progress.last) = None;
                    }
                    self.progress.count(start.elapsed(), batch.len());
                    break;
                }
                Err(failure) => failure,
            };
            match failure.culprit.filter(|index| *index < batch.len()) {
                Some(index) if left_out < limits::LEFT_OUT_WRITES_MAX => {
                    left_out += 1;
                    self.fail(batch.remove(index), failure.fault);
                }
                _ => {
                    *lock(&self.progress.last) = Some(failure.fault.clone());
                    for job in batch.drain(..) {
                        self.fail(job, failure.fault.clone());
                    }
                }
            }
        }
        let written = batch.len() as u64;
        self.progress.written.fetch_add(written, Ordering::Relaxed);
        for job in batch.drain(..) {
            job.reply();
        }
    }

    fn fail(&self, mut job: Job, fault: Fault) {
        self.progress.failed.fetch_add(1, Ordering::Relaxed);
        job.fail(fault);
        job.reply();
    }
}

/// The room that is left in a batch, and whose writes are in it.
#[derive(Default)]
struct Room {
    bytes: usize,
    games: HashSet<u64, BuildHasherDefault<Hashed>>,
}

/// Takes a number that is a hash already for its hash.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Room {
    fn is_full(&self, batch: &[Job]) -> bool {
        batch.len() >= limits::BATCH_WRITES_MAX || self.bytes >= limits::BATCH_BYTES_MAX
    }

    fn put(&mut self, batch: &mut Vec<Job>, (game, job): (Option<u64>, Job)) {
        self.bytes += job.bytes();
        self.games.extend(game);
        batch.push(job);
    }
}

/// Writes that wait for the next batch since their game has one in this batch.
///
/// Games are known by a hash. Two games of the same hash wait for each other now and then, and
/// that is all.
#[derive(Default)]
struct Held {
    hasher: RandomState,
    games: HashMap<u64, VecDeque<Job>, BuildHasherDefault<Hashed>>,
    /// Each of these games once, the longest waiting first.
    order: VecDeque<u64>,
}

impl Held {
    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Moves the first write of each game into a batch.
    fn release(&mut self, room: &mut Room, batch: &mut Vec<Job>) {
        for _ in 0..self.order.len() {
            if room.is_full(batch) {
                return;
            }
            let Some(game) = self.order.pop_front() else {
                return;
            };
            let Some(jobs) = self.games.get_mut(&game) else {
                continue;
            };
            if let Some(job) = jobs.pop_front() {
                room.put(batch, (Some(game), job));
            }
            if jobs.is_empty() {
                self.games.remove(&game);
            } else {
                self.order.push_back(game);
            }
        }
    }

    /// Keeps a write back where its game has one in the batch, or one that waits already; returns
    /// it otherwise, with its game.
    fn hold(&mut self, room: &Room, job: Job) -> Option<(Option<u64>, Job)> {
        let Some(key) = job.game() else {
            return Some((None, job));
        };
        let game = self.hasher.hash_one(key);
        if let Some(waiting) = self.games.get_mut(&game) {
            waiting.push_back(job);
        } else if room.games.contains(&game) {
            self.games.insert(game, VecDeque::from([job]));
            self.order.push_back(game);
        } else {
            return Some((Some(game), job));
        }
        None
    }
}

/// Every change under these locks is one assignment, which does not fail halfway.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
