//! What happens to the files of a store that is open, or was: the service notices, says so, and
//! acknowledges nothing that is not there. With the real program, and real mishaps.

mod damage;
mod loss;
mod mishaps;
mod readiness;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::{
    Game, GetGameRequest, RuleParameters, RuleProfile, Seat, SubmitActionResponse, action,
};
use referee_tests::process::{Referee, binary};
use referee_tests::wire::{self, make_move};
use tonic::Status;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

type Games = GameServiceClient<Channel>;

/// Within this time a mishap is noticed: two seconds, and room for a machine that is busy.
const SOON: Duration = Duration::from_secs(20);

/// How often something is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// A game that goes to and fro.
const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];

/// The name of a file beside the database.
fn beside(folder: &Path, suffix: &str) -> PathBuf {
    folder.join(format!("referee.db{suffix}"))
}

async fn act(
    games: &mut Games,
    id: &str,
    seat: Seat,
    kind: action::Kind,
) -> Result<SubmitActionResponse, Status> {
    let judged = games.submit_action(wire::submit(id, seat, kind)).await?;
    Ok(judged.into_inner())
}

/// Plays the next move of the shuffle.
async fn play(games: &mut Games, id: &str, ply: usize) -> Result<SubmitActionResponse, Status> {
    let seat = [Seat::White, Seat::Black][ply % 2];
    act(games, id, seat, make_move(SHUFFLE[ply % 4])).await
}

/// A game that no repetition and no count ends.
fn endless() -> Game {
    let overrides = RuleParameters {
        fivefold: Some(false),
        seventy_five: Some(false),
        ..RuleParameters::default()
    };
    let profile = RuleProfile {
        overrides: Some(overrides),
        ..RuleProfile::default()
    };
    Game {
        rule_profile: Some(profile),
        ..Game::default()
    }
}

/// Creates a game with some moves.
async fn begin(games: &mut Games, id: &str, plies: usize) {
    let created = games.create_game(wire::create(id, endless())).await;
    created.expect("created");
    for ply in 0..plies {
        let played = play(games, id, ply).await.expect("judged");
        assert!(played.event.is_some(), "{played:?}");
    }
}

async fn read(games: &mut Games, id: &str) -> Result<i64, Status> {
    let name = format!("games/{id}");
    let game = games.get_game(GetGameRequest { name }).await?.into_inner();
    Ok(game.game.unwrap_or_default().sequence)
}

/// What health says of a name.
async fn health(channel: &Channel, service: &str) -> ServingStatus {
    let request = HealthCheckRequest {
        service: service.into(),
    };
    let answer = HealthClient::new(channel.clone()).check(request).await;
    answer.expect("the name is known").into_inner().status()
}

/// Waits until something is so.
async fn soon<F: Future<Output = bool>>(what: &str, is_so: impl Fn() -> F) {
    let waited = async {
        while !is_so().await {
            tokio::time::sleep(LOOK).await;
        }
    };
    let waited = tokio::time::timeout(SOON, waited).await;
    waited.unwrap_or_else(|_| panic!("{what}: not within {SOON:?}"));
}

async fn ready(channel: &Channel, wanted: ServingStatus) {
    soon(&format!("readiness {wanted:?}"), || async {
        health(channel, "readiness").await == wanted
    })
    .await;
}

/// Tries to start a referee on a store where that must fail, and returns what it says.
fn refused(store: &Path) -> String {
    let output = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--store"])
        .arg(store)
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

/// Starts a referee, plays in it, and lets it go, so that all is in the database itself.
async fn settled(folder: &Path, ids: &[&str]) {
    let mut referee = Referee::start_in(folder);
    let mut games = referee.games().await;
    for id in ids {
        begin(&mut games, id, 24).await;
    }
    referee.terminate();
    let ended = tokio::task::block_in_place(|| referee.wait(SOON));
    assert!(matches!(ended, Ok(Some(status)) if status.success()));
}
