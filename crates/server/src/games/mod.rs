//! Games: found, judged, kept on record, followed.
//!
//! An action goes down through these files and each is called once: `submit` → `timekeeper` (what
//! the game is owed first) → `writer` (judge, append) → the store. What is read comes from
//! `registry`, which shows only what is on disk.

mod batch;
mod cache;
mod describe;
mod feed;
mod follow;
mod heartbeat;
mod log;
mod registry;
mod slot;
mod submit;
mod tail;
#[cfg(test)]
mod tests;
mod timekeeper;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_record::convert::action::Submitted;
use referee_record::{Finding, FoldedGame};
use referee_store::{GameKey, NewGame, ReplicaId, Store, Tombstone};
use referee_telemetry::Metrics;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

pub(crate) use self::follow::{Follower, Update, Wish};
pub(crate) use self::heartbeat::Heartbeat;
pub(crate) use self::registry::{GameRegistry, sent_bytes};
pub(crate) use self::slot::RecordedGame;
pub(crate) use self::submit::Arrival;
pub(crate) use self::tail::{LogTail, LogUpdate, WatchedGames};
pub(crate) use self::timekeeper::Timekeeper;
pub(crate) use self::writer::store_text;

use self::cache::GameCache;
use self::feed::Feeds;
use self::log::LogFollower;
use self::writer::Writer;
use crate::clock::Clock;
use crate::error::ServiceError;
use crate::limits;
use crate::pool::{Solvers, WorkPool};

/// What the cache of games may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheLimits {
    pub(crate) bytes_max: usize,
    pub(crate) games_max: usize,
}

/// The games of a service, and what keeps them going.
pub(crate) struct Games {
    pub(crate) registry: Arc<GameRegistry>,
    pub(crate) keeper: Arc<Timekeeper>,
    pub(crate) heartbeat: Arc<Heartbeat>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Told when a question was left for the adjudicator.
    pub(crate) asked: Arc<Notify>,
    /// Where the adjudicator looks a second time.
    pub(crate) second_looks: WorkPool,
    /// Work that goes on when the caller goes away; it ends before the service does.
    tracker: TaskTracker,
    /// The places of such work.
    places: Arc<Semaphore>,
    /// The places of actions that are written many in one go.
    batches: Semaphore,
}

impl Games {
    /// Puts the games of a store together, and gives the first sign of life.
    ///
    /// # Errors
    ///
    /// Where the store cannot read, or does not take the sign of life.
    pub(crate) async fn begin(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        replica: ReplicaId,
        cache: CacheLimits,
        tracker: TaskTracker,
        solvers: &Solvers,
        metrics: &Arc<Metrics>,
    ) -> Result<Games, ServiceError> {
        let heartbeat = Heartbeat::begin(store.clone(), Arc::clone(&clock), replica).await?;
        let heartbeat = Arc::new(heartbeat);
        let cache = Arc::new(GameCache::new(cache.bytes_max, cache.games_max));
        let feeds = Arc::new(Feeds::default());
        let log = LogFollower::begin(store.clone(), Arc::clone(&cache), Arc::clone(&feeds)).await?;
        let folds = WorkPool::new(limits::FOLDS_AT_ONCE_MAX, limits::FOLDS_WAITING_MAX);
        let registry = Arc::new(GameRegistry::new(store.clone(), cache, feeds, log, folds));
        let asked = Arc::new(Notify::new());
        let judgments = solvers.pool(limits::JUDGMENTS_AT_ONCE_MAX, limits::JUDGMENTS_WAITING_MAX);
        let writer = Writer {
            registry: Arc::clone(&registry),
            judgments,
            asked: Arc::clone(&asked),
            metrics: Arc::clone(metrics),
        };
        let keeper = Timekeeper::new(
            writer,
            Arc::clone(&clock),
            Arc::clone(&heartbeat),
            store.clone(),
            store,
        );
        Ok(Games {
            registry,
            keeper: Arc::new(keeper),
            heartbeat,
            clock,
            asked,
            second_looks: solvers.pool(limits::QUESTIONS_AT_ONCE_MAX, 0),
            tracker,
            places: Arc::new(Semaphore::new(limits::WRITES_WAITING_MAX)),
            batches: Semaphore::new(limits::BATCHES_AT_ONCE_MAX),
        })
    }

    /// The time of the service in microseconds since 1970.
    pub(crate) fn now_us(&self) -> i64 {
        self.clock.now_us()
    }

    /// Creates a game, or finds the one that the same request created. Goes on when the caller
    /// goes away.
    pub(crate) async fn create(
        &self,
        new: NewGame,
        folded: FoldedGame,
    ) -> Result<v1::Game, ServiceError> {
        let registry = Arc::clone(&self.registry);
        self.see_through(async move { registry.create(new, folded).await })
            .await
    }

    /// Returns a game as its record on disk has it. Down time that the game is owed is recorded
    /// behind the answer, which waits for no write.
    pub(crate) async fn read(&self, key: &GameKey) -> Result<Arc<RecordedGame>, ServiceError> {
        let game = self.registry.read(key).await?;
        let slot = self.registry.place(key);
        let is_owed = self.keeper.is_owed(&game.folded);
        // Who has the turn at the game settles what it is owed anyway.
        if is_owed && slot.turn.try_lock().is_ok() {
            let (keeper, key) = (Arc::clone(&self.keeper), key.clone());
            let settle = async move {
                if let Err(error) = submit::settle(&keeper, &key).await {
                    tracing::warn!(game = key.game, %error, "down time could not be recorded");
                }
            };
            self.tracker.spawn(settle.in_current_span());
        }
        Ok(game)
    }

    /// Judges an action and keeps what came of it. Answers when it is on disk, and goes on when
    /// the caller goes away.
    pub(crate) async fn submit(
        &self,
        key: GameKey,
        message: v1::Action,
        submitted: Submitted,
        arrival: Arrival,
    ) -> Result<v1::SubmitActionResponse, ServiceError> {
        let keeper = Arc::clone(&self.keeper);
        self.see_through(async move {
            let answer = submit::submit(&keeper, &key, message, submitted, arrival).await?;
            // The event that the answer names may be of another process; it goes before it.
            keeper.writer.registry.note(&key, answer.sequence);
            Ok(answer)
        })
        .await
    }

    /// Describes a game otherwise, and returns the event that says so. Goes on when the caller goes
    /// away.
    pub(crate) async fn update(
        &self,
        key: GameKey,
        request_id: String,
        update: referee_record::Update,
        arrival: Arrival,
    ) -> Result<v1::GameEvent, ServiceError> {
        let registry = Arc::clone(&self.registry);
        self.see_through(async move {
            let request = (request_id.as_str(), &update);
            describe::update(&registry, &key, request, &arrival).await
        })
        .await
    }

    /// Deletes a game that is over. Goes on when the caller goes away.
    pub(crate) async fn delete(
        &self,
        key: GameKey,
        request_id: String,
    ) -> Result<Tombstone, ServiceError> {
        let (registry, now_us) = (Arc::clone(&self.registry), self.now_us());
        self.see_through(
            async move { describe::delete(&registry, &key, &request_id, now_us).await },
        )
        .await
    }

    /// Plays actions on a game one after the other, some at a time in one go. What the same request
    /// played before is passed over. A go that has begun ends; where the caller goes away the rest
    /// is left.
    pub(crate) async fn play(
        &self,
        key: &GameKey,
        actions: Vec<batch::Known>,
        arrival: Arrival,
    ) -> Result<(), ServiceError> {
        let played = batch::count_played(&self.registry, key, &actions).await?;
        let mut rest = actions.into_iter().skip(played);
        loop {
            let go: Vec<batch::Known> = rest.by_ref().take(limits::BATCH_ACTIONS_MAX).collect();
            if go.is_empty() {
                return Ok(());
            }
            // So that those of many callers do not fill the queue of the store.
            let place = self.batches.acquire().await;
            let _place = place.map_err(|_| ServiceError::ShuttingDown)?;
            let (keeper, key) = (Arc::clone(&self.keeper), key.clone());
            let arrival = arrival.clone();
            self.see_through(async move { batch::play(&keeper, &key, go, arrival).await })
                .await?;
        }
    }

    /// Records what the referee found by itself, where it changes something.
    pub(crate) async fn find(&self, key: &GameKey, finding: Finding) -> Result<(), ServiceError> {
        submit::find(&self.keeper, key, finding).await
    }

    /// Follows a game: with a snapshot, or after an event that the caller has.
    pub(crate) async fn follow(&self, key: &GameKey, wish: Wish) -> Result<Follower, ServiceError> {
        let (registry, clock) = (Arc::clone(&self.registry), Arc::clone(&self.clock));
        Follower::begin(registry, clock, key, wish).await
    }

    /// Follows the games of a platform that have some labels.
    pub(crate) async fn follow_all(
        &self,
        games: WatchedGames,
        after: Option<String>,
        heartbeat: Duration,
    ) -> Result<LogTail, ServiceError> {
        let (registry, clock) = (Arc::clone(&self.registry), Arc::clone(&self.clock));
        LogTail::begin(registry, clock, games, after, heartbeat).await
    }

    /// Does something to its end, whether or not the caller waits for it. What waits for its turn
    /// or for the disk is bounded, since callers that give up leave it behind.
    pub(crate) async fn see_through<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ServiceError>> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| ServiceError::overloaded())?;
        let work = async move {
            let _place = place;
            work.await
        };
        let done = self.tracker.spawn(work.in_current_span()).await;
        done.unwrap_or_else(|error| {
            tracing::error!(%error, "a task did not come to its end");
            Err(ServiceError::InvariantBroken {
                what: "a task did not come to its end".into(),
            })
        })
    }
}
