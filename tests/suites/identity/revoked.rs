//! Credentials that are good no more: revoked while streams stand on them, past their time, wrong.

use std::time::Duration;

use referee_api::v1;
use referee_api::v1::play_game_request::Kind;
use referee_api::v1::token_service_client::TokenServiceClient;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::{Bearer, REQUIRED, check_log, games, issue};

/// Within this time a revocation counts.
pub(super) const PROMISED: Duration = Duration::from_secs(15);

/// Reads a stream to its end, and says how it ended.
pub(super) async fn end<T>(mut stream: Streaming<T>) -> Status {
    loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return Status::ok("it ended by itself"),
            Err(status) => return status,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revocation_ends_streams_and_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let anna = issue(
        folder.path(),
        "--role player --principal anna --game games/board-1 --seat white",
    );
    let guest = issue(folder.path(), "--role spectator --principal guest");
    let club = issue(folder.path(), "--role platform --principal club");
    let referee = Referee::start_with(folder.path(), REQUIRED);
    let mut platform = games(&referee, &club).await;
    let created = platform.create_game(wire::create("board-1", v1::Game::default()));
    created.await.expect("the platform creates it");

    let (mut white, mut watcher) = (games(&referee, &anna).await, games(&referee, &guest).await);
    let (to_server, messages) = mpsc::channel(4);
    let join = v1::PlayGameRequest {
        kind: Some(Kind::Join(v1::JoinGame {
            name: "games/board-1".into(),
            seat: v1::Seat::White.into(),
            ..v1::JoinGame::default()
        })),
    };
    to_server.send(join).await.expect("there is room");
    let played = white.play_game(ReceiverStream::new(messages)).await;
    let played = played.expect("White joins").into_inner();
    let watch = v1::WatchGameRequest {
        name: "games/board-1".into(),
        ..v1::WatchGameRequest::default()
    };
    let watched = watcher.watch_game(watch.clone()).await;
    let watched = watched.expect("a guest watches").into_inner();
    let all = watcher.watch_games(v1::WatchGamesRequest::default()).await;
    let all = all.expect("a guest watches").into_inner();
    // One that stands on a credential that stays.
    let stays = platform.watch_game(watch).await.expect("it is there");
    let stays = tokio::spawn(end(stays.into_inner()));

    let bearer = Bearer::new(&club);
    let mut tokens = TokenServiceClient::with_interceptor(referee.connect().await, bearer);
    let listed = tokens.list_tokens(v1::ListTokensRequest::default()).await;
    let listed = listed.expect("a list").into_inner().tokens;
    assert_eq!(listed.len(), 3);
    let start = Instant::now();
    for token in listed.iter().filter(|token| token.principal != "club") {
        let name = token.name.clone();
        let revoked = tokens.revoke_token(v1::RevokeTokenRequest { name }).await;
        let revoked = revoked.expect("it is there").into_inner().token;
        assert!(revoked.expect("it is told").revoke_time.is_some());
    }
    let ends = async { tokio::join!(end(played), end(watched), end(all)) };
    let ended = tokio::time::timeout(PROMISED, ends).await;
    let (played, watched, all) = ended.expect("streams end in time");
    for status in [played, watched, all] {
        assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
        assert_eq!(details(&status).reason, "CREDENTIAL_REFUSED");
        assert!(status.message().contains("revoked"), "{status:?}");
    }
    let action = wire::submit("board-1", v1::Seat::White, wire::make_move("e4"));
    while let Ok(answer) = white.submit_action(action.clone()).await {
        assert!(start.elapsed() < PROMISED, "{answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let refused = white.submit_action(action).await.expect_err("revoked");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(!stays.is_finished(), "the others watch on");
    check_log(&referee.log(), &[&anna, &guest, &club]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_credentials_are_told_apart_only_to_their_owners() {
    let folder = tempfile::tempdir().expect("a folder");
    let short = issue(
        folder.path(),
        "--role spectator --principal guest --lifetime 1s",
    );
    let good = issue(folder.path(), "--role spectator --principal guest");
    let referee = Referee::start_with(folder.path(), REQUIRED);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut other = good.clone();
    other.replace_range(
        good.len() - 43..good.len() - 42,
        if good.as_bytes()[21] == b'A' {
            "B"
        } else {
            "A"
        },
    );
    let mut unknown = good.clone();
    unknown.replace_range(4..20, "0000000000000000");
    let mut told = Vec::new();
    for token in [&short, &other, &unknown, &"nonsense".to_owned()] {
        let list = v1::ListGamesRequest::default();
        let status = games(&referee, token).await.list_games(list).await;
        let status = status.expect_err("it is not taken");
        assert_eq!(status.code(), Code::Unauthenticated);
        assert_eq!(details(&status).reason, "CREDENTIAL_REFUSED");
        told.push(status.message().to_owned());
    }
    assert!(told[0].contains("time"), "{told:?}");
    assert_eq!(told[1], told[2], "who guesses learns nothing");
    assert!(told[3].contains("Bearer TOKEN"), "{told:?}");
    let list = v1::ListGamesRequest::default();
    let listed = games(&referee, &good).await.list_games(list).await;
    listed.expect("the good one is taken");
    check_log(&referee.log(), &[&short, &good, &other, &unknown]);
}
