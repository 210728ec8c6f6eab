//! Two servers on one store: what one writes the other sees, whether it has the game in memory or
//! not, and nothing is shown that is not on disk.
//!
//! Neither server hears of the other's commits (see `referee_tests::apart`); the second one keeps
//! two games in memory.

mod cache;
mod disk;
mod forgetting;
mod log;
mod platforms;
mod time;

use referee_api::v1::action::Kind;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::watch_game_response::Kind as Told;
use referee_api::v1::{
    Game, GameEvent, GetGameRequest, ListGameEventsRequest, Seat, StartGame, SubmitActionResponse,
    WatchGameRequest, WatchGameResponse,
};
use referee_tests::pair::Pair;
use referee_tests::wire;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

type Games = GameServiceClient<Channel>;

/// After this time something hangs.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// Opens a connection to each server.
async fn both(pair: &Pair) -> [Games; 2] {
    [pair.server(0).games().await, pair.server(1).games().await]
}

async fn create(games: &mut Games, id: &str) {
    create_as(games, id, Game::default()).await;
}

async fn create_as(games: &mut Games, id: &str, game: Game) {
    let created = games.create_game(wire::create(id, game)).await;
    created.expect("the game is created");
}

/// Starts the clock of White.
async fn begin(games: &mut Games, id: &str) {
    let answer = act(games, id, Seat::Arbiter, Kind::StartGame(StartGame {})).await;
    assert_eq!(answer.sequence, 1, "{answer:?}");
}

async fn act(games: &mut Games, id: &str, seat: Seat, kind: Kind) -> SubmitActionResponse {
    try_act(games, id, seat, kind)
        .await
        .expect("the action is judged")
}

async fn try_act(
    games: &mut Games,
    id: &str,
    seat: Seat,
    kind: Kind,
) -> Result<SubmitActionResponse, Status> {
    let judged = games.submit_action(wire::submit(id, seat, kind)).await;
    judged.map(tonic::Response::into_inner)
}

/// Submits an action that was decided on after a sequence.
async fn act_on(
    games: &mut Games,
    id: &str,
    expected: i64,
    (seat, kind): (Seat, Kind),
) -> Result<SubmitActionResponse, Status> {
    let mut request = wire::submit(id, seat, kind);
    if let Some(action) = &mut request.action {
        action.expected_sequence = Some(expected);
    }
    let judged = games.submit_action(request).await;
    judged.map(tonic::Response::into_inner)
}

async fn read(games: &mut Games, id: &str) -> Game {
    try_read(games, id).await.expect("the game is read")
}

async fn try_read(games: &mut Games, id: &str) -> Result<Game, Status> {
    let name = format!("games/{id}");
    let read = games.get_game(GetGameRequest { name }).await?;
    Ok(read.into_inner().game.expect("a game"))
}

async fn events(games: &mut Games, id: &str) -> Vec<GameEvent> {
    let request = ListGameEventsRequest {
        parent: format!("games/{id}"),
        page_size: 1_000,
        page_token: String::new(),
    };
    let listed = games.list_game_events(request).await;
    listed.expect("the events are listed").into_inner().events
}

async fn watch(games: &mut Games, id: &str, after: Option<i64>) -> Streaming<WatchGameResponse> {
    let request = WatchGameRequest {
        name: format!("games/{id}"),
        after_sequence: after,
        // Longer than the patience, so that only an event can wake the stream.
        heartbeat_interval: Some(prost_types::Duration {
            seconds: 60,
            nanos: 0,
        }),
        ..WatchGameRequest::default()
    };
    let watched = games.watch_game(request).await;
    watched.expect("the game is watched").into_inner()
}

/// Waits for the next event of a stream.
async fn next_event(stream: &mut Streaming<WatchGameResponse>) -> GameEvent {
    let told = tokio::time::timeout(PATIENCE, stream.message()).await;
    let told = told.expect("the event comes").expect("the stream goes on");
    match told.expect("the stream has no end").kind {
        Some(Told::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}

/// Waits for the snapshot that a stream begins with.
async fn snapshot(stream: &mut Streaming<WatchGameResponse>) -> Game {
    let told = tokio::time::timeout(PATIENCE, stream.message()).await;
    let told = told.expect("a snapshot comes").expect("the stream goes on");
    match told.expect("the stream has no end").kind {
        Some(Told::Snapshot(game)) => game,
        other => panic!("{other:?}"),
    }
}
