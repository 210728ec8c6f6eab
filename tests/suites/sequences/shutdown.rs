//! Shutting down under load.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::{CreateGameRequest, Game};
use referee_tests::process::Referee;
use referee_tests::wire;
use tonic::Code;
use tonic::transport::Endpoint;

/// How many clients create games, each call over a connection of its own.
const CLIENTS: usize = 8;

/// SV-07: while a server shuts down, each request is answered or can safely be repeated, and
/// nothing is half done.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_half_done_at_a_shutdown() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut referee = Referee::start_in(folder.path());
    let address = format!("http://{}", referee.address());
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(create_games(address.clone(), client, Arc::clone(&is_over)));
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    referee.terminate();
    let exit = referee.wait(Duration::from_secs(20)).expect("waited");
    assert_eq!(exit.expect("it stopped").code(), Some(0));
    is_over.store(true, Ordering::Relaxed);
    let mut asked: BTreeMap<String, (CreateGameRequest, Option<Bytes>)> = BTreeMap::new();
    for of_client in clients.join_all().await {
        asked.extend(of_client);
    }
    let answered = asked
        .values()
        .filter(|(_, answer)| answer.is_some())
        .count();
    assert!(answered >= CLIENTS, "only {answered} games were created");
    assert!(
        answered < asked.len(),
        "no request came during the shutdown"
    );

    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    for (id, (request, answer)) in asked {
        let again = games.create_game(request).await;
        let again = again.unwrap_or_else(|status| panic!("{id}: {status:?}"));
        let again = Bytes::from(again.into_inner().encode_to_vec());
        if let Some(answer) = answer {
            assert_eq!(again, answer, "{id} was acknowledged");
        }
    }
}

/// Creates games until it is over; returns each request, with its answer where there was one.
async fn create_games(
    address: String,
    client: usize,
    is_over: Arc<AtomicBool>,
) -> Vec<(String, (CreateGameRequest, Option<Bytes>))> {
    let mut asked = Vec::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let endpoint = Endpoint::from_shared(address.clone()).expect("an address");
        let Ok(channel) = endpoint.connect().await else {
            // Nobody listens any more, so that nothing was asked.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // The signal comes while most connections wait.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let id = format!("sv-07-{client}-{number}");
        let request = wire::create(&id, Game::default());
        let answer = GameServiceClient::new(channel)
            .create_game(request.clone())
            .await;
        let answer = match answer {
            Ok(answer) => Some(Bytes::from(answer.into_inner().encode_to_vec())),
            Err(status) => {
                let is_safe = status.code() == Code::Unavailable || wire::broke_off(&status);
                assert!(is_safe, "{id}: {status:?}");
                None
            }
        };
        asked.push((id, (request, answer)));
    }
    asked
}
