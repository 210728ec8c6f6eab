//! A store that counts and times its calls.

mod identities;
mod work;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::ack::{Ack, Read};
use crate::deadlines::{Deadlines, DueGame, Postponement};
use crate::error::{AppendError, CreateError, Fault, ReadError};
use crate::games::{
    Answer, Append, Appended, Created, Deletion, GameHead, GameKey, GamePage, GameRow, Games,
    ListCursor, ListFilter, NewGame, RequestKey, StoredEntry, Tombstone,
};
use crate::histogram::{Histogram, Quantiles};
use crate::liveness::{Beat, Beaten, DownSpan, Liveness};
use crate::log::{ChangePage, Log, LogCursor, TailPage};
use crate::questions::{OpenQuestion, Questions};
use crate::store::{Ready, Store, StoreStats};
use crate::upkeep::{BackUpError, BackedUp, Course, Upkeep, VerifyCursor, VerifyPage};

/// A store over `S` that counts the calls of each method and how long their answers take.
///
/// # Examples
///
/// ```
/// use referee_store::wrap::Metered;
/// use referee_store::{GameKey, Games, SqliteStore};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("referee.db");
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = Metered::new(SqliteStore::open(&path)?);
/// store.game(&GameKey::new("default", "g1")).await?;
/// let stats = store.snapshot();
/// let game = stats.iter().find(|stats| stats.method == "game").expect("every method is there");
/// assert_eq!((game.calls, game.faults, game.answers.count), (1, 0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Metered<S> {
    store: S,
    meters: Arc<[Meter]>,
}

/// What a method was asked and how it answered, since the wrapper was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodStats {
    /// The method, such as `append`.
    pub method: &'static str,
    /// The calls.
    pub calls: u64,
    /// The answers that were a [`Fault`]. What a caller did wrong is none.
    pub faults: u64,
    /// The time from a call to its answer. A call that nobody waits for has no answer.
    pub answers: Quantiles,
}

/// The methods that are measured.
#[derive(Debug, Clone, Copy)]
enum Method {
    Create,
    Append,
    Delete,
    Tombstone,
    Answer,
    Head,
    Game,
    Entries,
    List,
    Count,
    Newest,
    Changes,
    Tail,
    ClaimDue,
    Postpone,
    Beat,
    SetBack,
    LastBeat,
    DownSpans,
    ClaimQuestions,
    SettleQuestion,
    CreateJob,
    CancelJob,
    DeleteJob,
    ClaimJob,
    HoldJob,
    ClearTasks,
    AddTasks,
    EndPlan,
    FoldTask,
    EndJob,
    OpenSession,
    Lease,
    Renew,
    Report,
    RefuseReport,
    Dispute,
    CloseSession,
    Sweep,
    Job,
    JobById,
    Jobs,
    Progress,
    Tasks,
    Counted,
    Expanded,
    LateCounts,
    Session,
    Sessions,
    WorkCensus,
    IssueToken,
    RevokeToken,
    Token,
    Tokens,
    BackUp,
    Verify,
    Ready,
    Close,
}

/// Their names, in the order of [`Method`].
const NAMES: [&str; Method::Close as usize + 1] = [
    "create",
    "append",
    "delete",
    "tombstone",
    "answer",
    "head",
    "game",
    "entries",
    "list",
    "count",
    "newest",
    "changes",
    "tail",
    "claim_due",
    "postpone",
    "beat",
    "set_back",
    "last_beat",
    "down_spans",
    "claim_questions",
    "settle_question",
    "create_job",
    "cancel_job",
    "delete_job",
    "claim_job",
    "hold_job",
    "clear_tasks",
    "add_tasks",
    "end_plan",
    "fold_task",
    "end_job",
    "open_session",
    "lease",
    "renew",
    "report",
    "refuse_report",
    "dispute",
    "close_session",
    "sweep",
    "job",
    "job_by_id",
    "jobs",
    "progress",
    "tasks",
    "counted",
    "expanded",
    "late_counts",
    "session",
    "sessions",
    "work_census",
    "issue_token",
    "revoke_token",
    "token",
    "tokens",
    "back_up",
    "verify",
    "ready",
    "close",
];

#[derive(Debug)]
struct Meter {
    calls: AtomicU64,
    faults: AtomicU64,
    times: Histogram,
}

/// An error that may be a fault of the store.
trait MayBeFault {
    fn is_fault(&self) -> bool;
}

impl MayBeFault for Fault {
    fn is_fault(&self) -> bool {
        true
    }
}

impl MayBeFault for CreateError {
    fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(_))
    }
}

impl MayBeFault for AppendError {
    fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(_))
    }
}

impl MayBeFault for BackUpError {
    fn is_fault(&self) -> bool {
        matches!(self, Self::Damaged { .. } | Self::Io { .. })
    }
}

impl MayBeFault for ReadError {
    fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(_))
    }
}

impl<S: Store> Metered<S> {
    /// Returns a store over `store` that has counted nothing yet.
    pub fn new(store: S) -> Self {
        let meter = |_| Meter {
            calls: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            times: Histogram::new(),
        };
        Self {
            store,
            meters: NAMES.map(meter).into(),
        }
    }

    /// Returns the store below.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// Returns what was counted so far, one for each method.
    pub fn snapshot(&self) -> Vec<MethodStats> {
        let stats = |(method, meter): (_, &Meter)| MethodStats {
            method,
            calls: meter.calls.load(Ordering::Relaxed),
            faults: meter.faults.load(Ordering::Relaxed),
            answers: meter.times.quantiles(),
        };
        NAMES.into_iter().zip(&*self.meters).map(stats).collect()
    }

    /// Measures a write, from now on.
    fn write<T, E>(&self, method: Method, ack: Ack<T, E>) -> Ack<T, E>
    where
        T: Send + 'static,
        E: MayBeFault + Send + 'static,
    {
        Box::pin(measure(self.meters.clone(), method, ack))
    }

    /// Measures a read, from now on.
    fn read<'a, T: Send + 'a>(&self, method: Method, read: Read<'a, T>) -> Read<'a, T> {
        Box::pin(measure(self.meters.clone(), method, read))
    }
}

/// Counts a call, and returns a future that counts its answer.
fn measure<T, E: MayBeFault>(
    meters: Arc<[Meter]>,
    method: Method,
    answer: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, E>> {
    let start = Instant::now();
    if let Some(meter) = meters.get(method as usize) {
        meter.calls.fetch_add(1, Ordering::Relaxed);
    }
    async move {
        let answer = answer.await;
        if let Some(meter) = meters.get(method as usize) {
            meter.times.add(start.elapsed());
            let fault = answer.as_ref().is_err_and(MayBeFault::is_fault);
            meter.faults.fetch_add(u64::from(fault), Ordering::Relaxed);
        }
        answer
    }
}

impl<S: Store> Games for Metered<S> {
    fn create(&self, game: NewGame) -> Ack<Created, CreateError> {
        self.write(Method::Create, self.store.create(game))
    }

    fn append(&self, append: Append) -> Ack<Appended, AppendError> {
        self.write(Method::Append, self.store.append(append))
    }

    fn delete(&self, deletion: Deletion) -> Ack<Tombstone, AppendError> {
        self.write(Method::Delete, self.store.delete(deletion))
    }

    fn tombstone<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<Tombstone>> {
        self.read(Method::Tombstone, self.store.tombstone(key))
    }

    fn answer<'a>(&'a self, key: &'a GameKey, request: &'a RequestKey) -> Read<'a, Option<Answer>> {
        self.read(Method::Answer, self.store.answer(key, request))
    }

    fn head<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameHead>> {
        self.read(Method::Head, self.store.head(key))
    }

    fn game<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameRow>> {
        self.read(Method::Game, self.store.game(key))
    }

    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> Read<'a, Vec<StoredEntry>> {
        let read = self.store.entries(key, after_sequence, limit);
        self.read(Method::Entries, read)
    }

    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> Read<'a, GamePage> {
        let read = self.store.list(platform, filter, after, limit);
        self.read(Method::List, read)
    }

    fn count(&self, state: i32) -> Read<'_, u64> {
        self.read(Method::Count, self.store.count(state))
    }
}

impl<S: Store> Log for Metered<S> {
    fn newest(&self) -> Read<'_, LogCursor> {
        self.read(Method::Newest, self.store.newest())
    }

    fn changes<'a>(&'a self, after: &'a LogCursor, limit: usize) -> Read<'a, ChangePage> {
        self.read(Method::Changes, self.store.changes(after, limit))
    }

    fn tail<'a>(
        &'a self,
        platform: &'a str,
        labels: &'a [(String, String)],
        after: &'a LogCursor,
        limit: usize,
    ) -> Read<'a, TailPage> {
        self.read(
            Method::Tail,
            self.store.tail(platform, labels, after, limit),
        )
    }

    fn moved(&self) -> watch::Receiver<u64> {
        self.store.moved()
    }
}

impl<S: Store> Deadlines for Metered<S> {
    fn claim_due(
        &self,
        now_us: i64,
        until_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<DueGame>, Fault> {
        let ack = self.store.claim_due(now_us, until_us, hold_us, limit);
        self.write(Method::ClaimDue, ack)
    }

    fn postpone(&self, postponement: Postponement) -> Ack<(), AppendError> {
        self.write(Method::Postpone, self.store.postpone(postponement))
    }
}

impl<S: Store> Liveness for Metered<S> {
    fn beat(&self, beat: Beat) -> Ack<Beaten, Fault> {
        self.write(Method::Beat, self.store.beat(beat))
    }

    fn set_back(&self, at_us: i64, step_max_us: i64) -> Ack<Vec<i64>, Fault> {
        let ack = self.store.set_back(at_us, step_max_us);
        self.write(Method::SetBack, ack)
    }

    fn last_beat(&self) -> Read<'_, Option<i64>> {
        self.read(Method::LastBeat, self.store.last_beat())
    }

    fn down_spans(&self, ended_after_us: i64, limit: usize) -> Read<'_, Vec<DownSpan>> {
        let read = self.store.down_spans(ended_after_us, limit);
        self.read(Method::DownSpans, read)
    }
}

impl<S: Store> Questions for Metered<S> {
    fn claim_questions(
        &self,
        now_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<OpenQuestion>, Fault> {
        let ack = self.store.claim_questions(now_us, hold_us, limit);
        self.write(Method::ClaimQuestions, ack)
    }

    fn settle_question(&self, key: GameKey, sequence: i64) -> Ack<(), Fault> {
        let ack = self.store.settle_question(key, sequence);
        self.write(Method::SettleQuestion, ack)
    }
}

impl<S: Store> Upkeep for Metered<S> {
    fn back_up(&self, target: PathBuf, course: Arc<Course>) -> Ack<BackedUp, BackUpError> {
        self.write(Method::BackUp, self.store.back_up(target, course))
    }

    fn verify<'a>(&'a self, from: &'a VerifyCursor, course: Arc<Course>) -> Read<'a, VerifyPage> {
        self.read(Method::Verify, self.store.verify(from, course))
    }
}

impl<S: Store> Store for Metered<S> {
    fn ready(&self) -> Read<'_, Ready> {
        self.read(Method::Ready, self.store.ready())
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    fn close(&self) -> Ack<(), Fault> {
        self.write(Method::Close, self.store.close())
    }
}
