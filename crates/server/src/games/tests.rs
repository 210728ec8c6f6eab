//! Games of several processes over one store. Nothing runs in the background here, so that each
//! process hears of the others only where it looks.

use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use referee_api::v1;
use referee_record::convert::action::{Submitted, read_action};
use referee_record::{complete_genesis, read_creation, resource_name};
use referee_store::wrap::{Disk, FaultPlan, Faulty, Metered};
use referee_store::{GameKey, NewGame, ReplicaId, SqliteStore, Store};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

use super::{Arrival, CacheLimits, Follower, Games, Heartbeat, Update, Wish};
use crate::clock::ManualClock;
use crate::error::ServiceError;
use crate::limits;
use crate::pool::Solvers;

/// When everything begins, in microseconds since 1970.
const BEGIN_US: i64 = 1_700_000_000_000_000;

/// Moves to and fro, for fewer than five times.
const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];

/// One store, and what its calls cost.
struct House {
    store: Arc<Metered<Faulty<SqliteStore>>>,
    disk: Disk,
    clock: ManualClock,
    _folder: TempDir,
}

impl House {
    fn open() -> House {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let store = SqliteStore::open(folder.path().join("referee.db")).expect("it opens");
        let store = Faulty::new(store, FaultPlan::default());
        House {
            disk: store.disk().clone(),
            store: Arc::new(Metered::new(store)),
            clock: ManualClock::at_us(BEGIN_US),
            _folder: folder,
        }
    }

    /// Another process over the store.
    async fn process(&self, number: u128) -> Games {
        let cache = CacheLimits {
            bytes_max: usize::MAX,
            games_max: usize::MAX,
        };
        let (clock, tasks) = (Arc::new(self.clock.clone()), TaskTracker::new());
        let (store, solvers) = (self.store.clone(), Solvers::default());
        let metrics = Arc::default();
        let games = Games::begin(
            store,
            clock,
            ReplicaId(number),
            cache,
            tasks,
            &solvers,
            &metrics,
        );
        games.await.expect("the store works")
    }

    async fn heartbeat(&self, number: u128) -> Heartbeat {
        let clock = Arc::new(self.clock.clone());
        let begun = Heartbeat::begin(self.store.clone(), clock, ReplicaId(number));
        begun.await.expect("the store works")
    }

    async fn create(&self, id: &str) -> GameKey {
        let key = GameKey::new("default", id);
        let request = v1::CreateGameRequest {
            game: Some(v1::Game::default()),
            game_id: id.into(),
            request_id: id.into(),
        };
        let (genesis, game) = read_creation(&request).expect("it can be created");
        let genesis = complete_genesis(genesis, &game, resource_name(id), None);
        let store: &dyn Store = &*self.store;
        let created = store.create(NewGame {
            key: key.clone(),
            request_id: id.into(),
            content_hash: [0; 32],
            genesis: genesis.encode_to_vec(),
            private: None,
            state: v1::game::State::Created.into(),
            labels: Vec::new(),
            create_time_us: BEGIN_US,
            deadline_us: None,
        });
        created.await.expect("the store works");
        key
    }

    /// How often a method of the store was called.
    fn calls(&self, method: &str) -> u64 {
        let stats = self.store.snapshot();
        let stats = stats.iter().find(|stats| stats.method == method);
        stats.expect("every method is counted").calls
    }
}

/// The next move of the shuffle, under a request id of its own.
fn shuffle(ply: usize) -> (v1::Action, Submitted) {
    let seat = [v1::Seat::White, v1::Seat::Black][ply % 2];
    let message = v1::Action {
        seat: seat.into(),
        request_id: format!("move-{ply}"),
        kind: Some(v1::action::Kind::MakeMove(v1::MakeMove {
            r#move: SHUFFLE[ply % 4].into(),
            ..v1::MakeMove::default()
        })),
        ..v1::Action::default()
    };
    let submitted = read_action(&message).expect("it is an action");
    (message, submitted)
}

fn arrival(time_us: i64) -> Arrival {
    Arrival {
        time_us,
        principal: "anonymous".into(),
    }
}

async fn play(games: &Games, key: &GameKey, ply: usize) -> v1::SubmitActionResponse {
    let (message, submitted) = shuffle(ply);
    let judged = games.submit(key.clone(), message, submitted, arrival(games.now_us()));
    let judged = judged.await.expect("it is judged");
    assert!(judged.event.is_some(), "{judged:?}");
    judged
}

async fn follow(games: &Games, key: &GameKey) -> Follower {
    let wish = Wish {
        after: Some(0),
        heartbeat: limits::HEARTBEAT_DEFAULT,
        corrections: Duration::ZERO,
    };
    let followed = games.follow(key, wish).await;
    followed.expect("the game is there")
}

/// The sequence of an event that can be sent without waiting.
async fn at_hand(follower: &mut Follower) -> Option<i64> {
    match follower.at_hand().await.expect("the store works")? {
        Update::Event(event) => Some(event.sequence),
        _ => None,
    }
}

/// The players are with two processes. Each entry of the other is read, and not all before it.
#[tokio::test]
async fn the_move_of_another_process_does_not_cost_the_whole_record() {
    let house = House::open();
    let key = house.create("g").await;
    let processes = [house.process(1).await, house.process(2).await];
    for games in &processes {
        games.read(&key).await.expect("the game is there");
    }
    let whole = house.calls("game");
    for ply in 0..8 {
        let played = play(&processes[ply % 2], &key, ply).await;
        assert_eq!(played.sequence, ply as i64 + 1);
    }
    assert_eq!(house.calls("game") - whole, 0, "records that were read");
}

/// The answer names an event that another process wrote; who follows the game can have it before
/// the answer.
#[tokio::test]
async fn the_event_that_an_answer_names_is_at_hand() {
    let house = House::open();
    let key = house.create("g").await;
    let [one, two] = [house.process(1).await, house.process(2).await];
    let mut follower = follow(&one, &key).await;
    let first = play(&two, &key, 0).await;
    assert_eq!(play(&one, &key, 0).await, first);
    assert_eq!(at_hand(&mut follower).await, Some(1));
}

/// Two processes write shortly after each other.
#[tokio::test]
async fn events_before_the_newest_are_read_once_for_all_followers() {
    let house = House::open();
    let key = house.create("g").await;
    let [one, two] = [house.process(1).await, house.process(2).await];
    let mut followers = Vec::new();
    for _ in 0..20 {
        followers.push(follow(&one, &key).await);
    }
    play(&two, &key, 0).await;
    play(&one, &key, 1).await;
    let read = house.calls("entries");
    for follower in &mut followers {
        assert_eq!(at_hand(follower).await, Some(1));
        assert_eq!(at_hand(follower).await, Some(2));
        assert_eq!(at_hand(follower).await, None);
    }
    assert_eq!(house.calls("entries") - read, 1);
}

/// Time between the end of one process and the beginning of the next is down time, also where the
/// first one looked at a clock while it drained.
#[tokio::test]
async fn a_process_that_stops_is_not_alive_again() {
    let house = House::open();
    let first = house.heartbeat(1).await;
    first.beat(true).await.expect("the store works");
    house.clock.advance(2 * limits::PROCESS_SILENCE_MAX);
    first.note_silence().await.expect("the store works");
    house.clock.advance(Duration::from_secs(2));
    let second = house.heartbeat(2).await;
    let begun_us = BEGIN_US + 12_000_000;
    assert_eq!(second.newest_end_us(), begun_us);
}

/// All of them are for one game, so that the queue of the store has one of them.
#[tokio::test]
async fn writes_that_wait_for_their_turn_are_bounded() {
    let house = House::open();
    let key = house.create("g").await;
    let games = Arc::new(house.process(1).await);
    games.read(&key).await.expect("the game is there");
    house.disk.hold();
    let mut calls = tokio::task::JoinSet::new();
    for ply in 0..20_000 {
        let (games, key) = (Arc::clone(&games), key.clone());
        let (message, submitted) = shuffle(ply);
        calls.spawn(async move {
            games
                .submit(key, message, submitted, arrival(BEGIN_US))
                .await
        });
    }
    let refused = tokio::time::timeout(Duration::from_secs(20), calls.join_next()).await;
    let refused = refused.expect("not all of them wait").expect("a call");
    let refused = refused.expect("it ends");
    assert_eq!(refused, Err(ServiceError::overloaded()));
}
