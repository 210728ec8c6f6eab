//! The token of the first operator, from a file that is replaced while the server runs.

use std::time::Duration;

use referee_api::v1;
use referee_api::v1::token_service_client::TokenServiceClient;
use referee_tests::authority::write_secret;
use referee_tests::process::Referee;
use referee_tests::wire;
use tokio::time::Instant;
use tonic::Code;

use super::revoked::{PROMISED, end};
use super::{Bearer, check_log, games};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_token_in_the_file_revokes_the_one_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| path(name).to_str().expect("a plain name").to_owned();
    let (old, new) = ("o".repeat(43), "n".repeat(43));
    write_secret(&path("operator"), &format!("{old}\n"));
    write_secret(&path("seat.key"), &"11".repeat(32));
    let options = [
        "--operator-token-file",
        &text("operator"),
        "--seat-keys",
        &text("seat.key"),
    ];
    let referee = Referee::start_with(folder.path(), &options);
    let mut before = games(&referee, &old).await;
    let created = before.create_game(wire::create("board-1", v1::Game::default()));
    created.await.expect("an operator creates games");
    let bearer = Bearer::new(&old);
    let mut tokens = TokenServiceClient::with_interceptor(referee.connect().await, bearer);
    let seat = v1::IssueSeatTokenRequest {
        principal: "guest".into(),
        role: v1::Role::Spectator.into(),
        game: "games/board-1".into(),
        ..v1::IssueSeatTokenRequest::default()
    };
    let seat = tokens.issue_seat_token(seat).await.expect("it is signed");
    let seat = seat.into_inner().token;
    let watch = v1::WatchGameRequest {
        name: "games/board-1".into(),
        ..v1::WatchGameRequest::default()
    };
    let own = before.watch_game(watch.clone()).await.expect("it is there");
    let mut guest = games(&referee, &seat).await;
    let seated = guest.watch_game(watch).await.expect("a guest watches");
    let get = || v1::GetGameRequest {
        name: "games/board-1".into(),
    };
    let mut after = games(&referee, &new).await;
    let refused = after.get_game(get()).await.expect_err("nobody knows it");
    assert_eq!(refused.code(), Code::Unauthenticated);

    // Something that is no token leaves the one before in force.
    write_secret(&path("operator"), "short\n");
    tokio::time::sleep(Duration::from_secs(6)).await;
    before.get_game(get()).await.expect("it counts");

    write_secret(&path("beside"), &format!("{new}\n"));
    std::fs::rename(path("beside"), path("operator")).expect("it is replaced");
    let start = Instant::now();
    let both = async { tokio::join!(end(own.into_inner()), end(seated.into_inner())) };
    let (own, seated) = tokio::time::timeout(PROMISED, both).await.expect("in time");
    for status in [own, seated] {
        assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
        assert!(status.message().contains("revoked"), "{status:?}");
    }
    while before.get_game(get()).await.is_ok() {
        assert!(start.elapsed() < PROMISED, "it still counts");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    after.get_game(get()).await.expect("it counts now");
    check_log(&referee.log(), &[&old, &new, &seat]);
}
