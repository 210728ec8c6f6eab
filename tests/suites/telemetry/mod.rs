//! What an operator sees of the real program: metrics, probes, logs and traces; and how the service
//! and its connections end.

mod life;
mod logs;
mod probes;
mod scrapes;
mod traces;

use std::time::Duration;

use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::{Game, GetGameRequest, WatchGameRequest, WatchGameResponse};
use referee_tests::operator::get;
use referee_tests::process::Referee;
use referee_tests::wire::{self, make_move, on_move};
use tempfile::TempDir;
use tokio::time::Instant;
use tokio::time::{sleep, timeout};
use tonic::Streaming;
use tonic::transport::Channel;

type Games = GameServiceClient<Channel>;

/// Within this time something shows that happened.
const SOON: Duration = Duration::from_secs(30);

/// How often something is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// A game that goes to and fro.
const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];

/// An address of the admin listener, on whatever port is free.
const ADMIN: [&str; 2] = ["--admin-listen", "127.0.0.1:0"];

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

/// Starts a referee with an admin listener and further options, and waits until it is ready.
fn start(folder: &TempDir, options: &[&str]) -> Referee {
    let options: Vec<&str> = ADMIN.iter().chain(options).copied().collect();
    let referee = Referee::start_with(folder.path(), &options);
    let begun = Instant::now();
    while get(referee.admin(), "/ready").status != 200 {
        assert!(begun.elapsed() < SOON, "it is not ready within {SOON:?}");
        std::thread::sleep(LOOK);
    }
    referee
}

/// Waits until something is so.
async fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = async {
        while !is_so() {
            sleep(LOOK).await;
        }
    };
    let waited = timeout(SOON, waited).await;
    waited.unwrap_or_else(|_| panic!("{what}: not within {SOON:?}"));
}

async fn create(games: &mut Games, id: &str) {
    let created = games.create_game(wire::create(id, Game::default())).await;
    created.expect("created");
}

/// Plays the next move of the shuffle; returns the sequence of its event.
async fn play(games: &mut Games, id: &str, ply: usize) -> i64 {
    let request = wire::submit(id, on_move(ply), make_move(SHUFFLE[ply % 4]));
    let played = games.submit_action(request).await.expect("judged");
    played.into_inner().event.expect("it stands").sequence
}

fn by_name(id: &str) -> GetGameRequest {
    GetGameRequest {
        name: format!("games/{id}"),
    }
}

async fn watch(games: &mut Games, id: &str, after: Option<i64>) -> Streaming<WatchGameResponse> {
    let request = WatchGameRequest {
        name: format!("games/{id}"),
        after_sequence: after,
        ..WatchGameRequest::default()
    };
    games
        .watch_game(request)
        .await
        .expect("watched")
        .into_inner()
}
