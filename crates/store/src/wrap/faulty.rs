//! A store whose disk is slow or fails, when a test says so or by chance.

mod identities;
mod work;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::ack::{Ack, Read};
use crate::deadlines::{Deadlines, DueGame, Postponement};
use crate::error::{AppendError, CreateError, Fault};
use crate::games::{
    Answer, Append, Appended, Created, Deletion, GameHead, GameKey, GamePage, GameRow, Games,
    ListCursor, ListFilter, NewGame, RequestKey, StoredEntry, Tombstone,
};
use crate::limits;
use crate::liveness::{Beat, Beaten, DownSpan, Liveness};
use crate::log::{ChangePage, Log, LogCursor, TailPage};
use crate::questions::{OpenQuestion, Questions};
use crate::store::{Ready, Store, StoreStats};
use crate::upkeep::{BackUpError, BackedUp, Course, Upkeep, VerifyCursor, VerifyPage};

/// A store over `S` whose writes wait and fail as its [`Disk`] and its [`FaultPlan`] say. Reads go
/// to the store below at once, and show what is there.
///
/// Writes are queued by the call and reach the store below in the order of the calls, whatever
/// happens to each: a write that waits makes those after it wait, as on a slow disk.
#[derive(Debug)]
pub struct Faulty<S> {
    store: Arc<S>,
    queue: mpsc::Sender<Task>,
    disk: Disk,
}

/// What happens to writes by chance. The default does nothing to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// The same seed gives the same fates to the same writes.
    pub seed: u64,
    /// Each write waits at random for up to this long.
    pub delay_max: Duration,
    /// Of 1,000 writes so many are not made, and get [`Fault::Unavailable`].
    pub fail_per_mille: u32,
    /// Of 1,000 writes so many are made, and get [`Fault::Unknown`] where they succeeded.
    pub unknown_per_mille: u32,
}

/// The disk of a [`Faulty`] store: makes all writes wait or fail until it is told otherwise.
#[derive(Debug, Clone)]
pub struct Disk {
    state: Arc<watch::Sender<State>>,
    waiting: Arc<AtomicUsize>,
}

#[derive(Debug, Clone)]
enum State {
    Works,
    Holds,
    Fails(Fault),
}

/// What becomes of one write.
enum Fate {
    Fails(Fault),
    Passes { unknown: bool },
}

/// A write that waits: told its fate, it queues itself below and returns what waits for the
/// answer.
type Task = Box<dyn FnOnce(Fate) -> Option<Pin<Box<dyn Future<Output = ()> + Send>>> + Send>;

impl Disk {
    /// Makes the disk slow: from now on writes wait, until [`heal`](Self::heal).
    pub fn hold(&self) {
        self.state.send_replace(State::Holds);
    }

    /// Makes the disk fail: from now on writes are not made and get `fault`, those that wait too,
    /// until [`heal`](Self::heal).
    pub fn fail(&self, fault: Fault) {
        self.state.send_replace(State::Fails(fault));
    }

    /// Makes the disk work again; what waits is written in its order.
    pub fn heal(&self) {
        self.state.send_replace(State::Works);
    }

    /// Returns how many writes have not reached the store below.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    fn fault(&self) -> Option<Fault> {
        match &*self.state.borrow() {
            State::Fails(fault) => Some(fault.clone()),
            State::Works | State::Holds => None,
        }
    }
}

impl<S: Store> Faulty<S> {
    /// Returns a store over `store`, whose disk works.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime: a task of it gives the writes to `store`.
    ///
    /// # Examples
    ///
    /// ```
    /// use referee_store::wrap::{FaultPlan, Faulty};
    /// use referee_store::{Beat, Liveness, ReplicaId, SqliteStore};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("referee.db");
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let store = Faulty::new(SqliteStore::open(&path)?, FaultPlan::default());
    /// store.disk().hold();
    /// let replica = ReplicaId(1);
    /// let beat = store.beat(Beat { replica, at_us: 7, silence_max_us: 9, stopping: false });
    /// // It is queued, and reads show that it is not there.
    /// assert_eq!(store.last_beat().await?, None);
    /// store.disk().heal();
    /// beat.await?;
    /// assert_eq!(store.last_beat().await?, Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(store: S, plan: FaultPlan) -> Self {
        let (queue, tasks) = mpsc::channel(limits::QUEUE_WRITES_MAX);
        let disk = Disk {
            state: Arc::new(watch::Sender::new(State::Works)),
            waiting: Arc::default(),
        };
        tokio::spawn(run(tasks, disk.clone(), plan));
        Self {
            store: Arc::new(store),
            queue,
            disk,
        }
    }

    /// Returns the store below.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Returns the disk, to make it wait or fail.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Queues a write.
    fn write<T, E>(&self, call: impl FnOnce(&S) -> Ack<T, E> + Send + 'static) -> Ack<T, E>
    where
        T: Send + 'static,
        E: From<Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let store = self.store.clone();
        let task: Task = Box::new(move |fate| match fate {
            Fate::Fails(fault) => {
                // A caller that stopped waiting is no fault.
                drop(reply.send(Err(fault.into())));
                None
            }
            Fate::Passes { unknown } => {
                let ack = call(&store);
                Some(Box::pin(async move {
                    let answer = match ack.await {
                        Ok(_) if unknown => Err(Fault::Unknown.into()),
                        answer => answer,
                    };
                    drop(reply.send(answer));
                }))
            }
        });
        self.disk.waiting.fetch_add(1, Ordering::AcqRel);
        if let Err(error) = self.queue.try_send(task) {
            self.disk.waiting.fetch_sub(1, Ordering::AcqRel);
            let fault = match error {
                mpsc::error::TrySendError::Full(_) => Fault::Overloaded {
                    queue: "writes",
                    limit: limits::QUEUE_WRITES_MAX,
                    retry_after: limits::OVERLOADED_RETRY_AFTER,
                },
                mpsc::error::TrySendError::Closed(_) => Fault::Closed,
            };
            return Box::pin(std::future::ready(Err(fault.into())));
        }
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(Fault::Unknown.into())) })
    }
}

/// Gives the writes to the store below, one after the other.
async fn run(mut tasks: mpsc::Receiver<Task>, disk: Disk, plan: FaultPlan) {
    let mut state = disk.state.subscribe();
    let mut chance = Chance(plan.seed);
    while let Some(task) = tasks.recv().await {
        let delay = plan.delay_max.mul_f64(chance.next());
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let fails = chance.next() * 1_000.0 < f64::from(plan.fail_per_mille);
        let unknown = chance.next() * 1_000.0 < f64::from(plan.unknown_per_mille);
        // The sender lives as long as `disk` does.
        let works = state.wait_for(|state| !matches!(state, State::Holds)).await;
        let fate = match works.as_deref() {
            Ok(State::Fails(fault)) => Fate::Fails(fault.clone()),
            _ if fails => Fate::Fails(Fault::Unavailable {
                reason: "the plan of faults says so".to_owned(),
            }),
            _ => Fate::Passes { unknown },
        };
        drop(works);
        // Before it can be answered: who has an answer does not wait.
        disk.waiting.fetch_sub(1, Ordering::AcqRel);
        if let Some(answer) = task(fate) {
            tokio::spawn(answer);
        }
    }
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
struct Chance(u64);

impl Chance {
    /// Returns the next number, at least 0 and below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl<S: Store> Games for Faulty<S> {
    fn create(&self, game: NewGame) -> Ack<Created, CreateError> {
        self.write(move |store| store.create(game))
    }

    fn append(&self, append: Append) -> Ack<Appended, AppendError> {
        self.write(move |store| store.append(append))
    }

    fn delete(&self, deletion: Deletion) -> Ack<Tombstone, AppendError> {
        self.write(move |store| store.delete(deletion))
    }

    fn tombstone<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<Tombstone>> {
        self.store.tombstone(key)
    }

    fn answer<'a>(&'a self, key: &'a GameKey, request: &'a RequestKey) -> Read<'a, Option<Answer>> {
        self.store.answer(key, request)
    }

    fn head<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameHead>> {
        self.store.head(key)
    }

    fn game<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameRow>> {
        self.store.game(key)
    }

    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> Read<'a, Vec<StoredEntry>> {
        self.store.entries(key, after_sequence, limit)
    }

    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> Read<'a, GamePage> {
        self.store.list(platform, filter, after, limit)
    }

    fn count(&self, state: i32) -> Read<'_, u64> {
        self.store.count(state)
    }
}

impl<S: Store> Log for Faulty<S> {
    fn newest(&self) -> Read<'_, LogCursor> {
        self.store.newest()
    }

    fn cover_key(&self) -> Read<'_, Vec<u8>> {
        self.store.cover_key()
    }

    fn changes<'a>(&'a self, after: &'a LogCursor, limit: usize) -> Read<'a, ChangePage> {
        self.store.changes(after, limit)
    }

    fn tail<'a>(
        &'a self,
        platform: &'a str,
        labels: &'a [(String, String)],
        after: &'a LogCursor,
        limit: usize,
    ) -> Read<'a, TailPage> {
        self.store.tail(platform, labels, after, limit)
    }

    fn moved(&self) -> watch::Receiver<u64> {
        self.store.moved()
    }
}

impl<S: Store> Deadlines for Faulty<S> {
    fn claim_due(
        &self,
        now_us: i64,
        until_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<DueGame>, Fault> {
        self.write(move |store| store.claim_due(now_us, until_us, hold_us, limit))
    }

    fn postpone(&self, postponement: Postponement) -> Ack<(), AppendError> {
        self.write(move |store| store.postpone(postponement))
    }
}

impl<S: Store> Liveness for Faulty<S> {
    fn beat(&self, beat: Beat) -> Ack<Beaten, Fault> {
        self.write(move |store| store.beat(beat))
    }

    fn set_back(&self, at_us: i64, step_max_us: i64) -> Ack<Vec<i64>, Fault> {
        self.write(move |store| store.set_back(at_us, step_max_us))
    }

    fn last_beat(&self) -> Read<'_, Option<i64>> {
        self.store.last_beat()
    }

    fn down_spans(&self, ended_after_us: i64, limit: usize) -> Read<'_, Vec<DownSpan>> {
        self.store.down_spans(ended_after_us, limit)
    }
}

impl<S: Store> Questions for Faulty<S> {
    fn claim_questions(
        &self,
        now_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<OpenQuestion>, Fault> {
        self.write(move |store| store.claim_questions(now_us, hold_us, limit))
    }

    fn settle_question(&self, key: GameKey, sequence: i64) -> Ack<(), Fault> {
        self.write(move |store| store.settle_question(key, sequence))
    }
}

/// Copies and verifications read, and go to the store below at once.
impl<S: Store> Upkeep for Faulty<S> {
    fn back_up(&self, target: PathBuf, course: Arc<Course>) -> Ack<BackedUp, BackUpError> {
        self.store.back_up(target, course)
    }

    fn verify<'a>(&'a self, from: &'a VerifyCursor, course: Arc<Course>) -> Read<'a, VerifyPage> {
        self.store.verify(from, course)
    }
}

impl<S: Store> Store for Faulty<S> {
    /// As the store below, unless the disk fails.
    fn ready(&self) -> Read<'_, Ready> {
        Box::pin(async move {
            let ready = self.store.ready().await?;
            Ok(match self.disk.fault() {
                Some(fault) => Ready::ReadsOnly { fault },
                None => ready,
            })
        })
    }

    fn stats(&self) -> StoreStats {
        let stats = self.store.stats();
        StoreStats {
            writes_waiting: stats.writes_waiting + self.disk.waiting(),
            ..stats
        }
    }

    /// Closes the store below after the writes that wait here, also where the disk fails.
    fn close(&self) -> Ack<(), Fault> {
        let store = self.store.clone();
        let after = self.write(|_| -> Ack<(), Fault> { Box::pin(std::future::ready(Ok(()))) });
        Box::pin(async move {
            // Its fate does not matter, only its turn.
            drop(after.await);
            store.close().await
        })
    }
}
