//! What one credential may take, beside others who are served.

use referee_api::v1;
use referee_server::limits;
use referee_tests::process::Referee;
use referee_tests::wire::details;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{Games, REQUIRED, games, issue};

/// More than one guest may have, and far fewer than a process.
const CONNECTIONS: usize = 200;

/// Whether a call was turned away for an allowance; what it says must be whole then.
fn is_spent(status: &Status) -> bool {
    if details(status).reason != "ALLOWANCE_SPENT" {
        return false;
    }
    assert_eq!(status.code(), Code::ResourceExhausted);
    let details = status.get_error_details();
    assert!(details.retry_info().is_some(), "{status:?}");
    let pushback = status.metadata().get("grpc-retry-pushback-ms");
    assert!(pushback.is_some(), "{status:?}");
    true
}

async fn list(games: &mut Games) -> Result<(), Status> {
    let listed = games.list_games(v1::ListGamesRequest::default());
    listed.await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_connections_of_one_token_are_in_nobodys_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let guest = issue(folder.path(), "--role spectator --principal guest");
    let other = issue(folder.path(), "--role spectator --principal other");
    let referee = Referee::start_with(folder.path(), REQUIRED);
    let mut open = Vec::new();
    let mut refused = 0;
    for _ in 0..CONNECTIONS {
        let mut games = games(&referee, &guest).await;
        match list(&mut games).await {
            Ok(()) => open.push(games),
            Err(status) => {
                assert!(is_spent(&status), "{status:?}");
                refused += 1;
                // It stays open, and is of no use.
                open.push(games);
            }
        }
    }
    assert_eq!(refused, CONNECTIONS - limits::GUEST_CONNECTIONS_MAX);
    let mut beside = games(&referee, &other).await;
    list(&mut beside).await.expect("others are served");
    // Those that go make room.
    open.clear();
    let mut again = games(&referee, &guest).await;
    let mut attempts = 0;
    while let Err(status) = list(&mut again).await {
        assert!(is_spent(&status) && attempts < 100, "{status:?}");
        attempts += 1;
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_streams_of_one_token_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let guest = issue(folder.path(), "--role spectator --principal guest");
    let other = issue(folder.path(), "--role spectator --principal other");
    let referee = Referee::start_with(folder.path(), REQUIRED);

    let mut streams = Vec::new();
    let mut watcher = games(&referee, &guest).await;
    let spent = loop {
        let watch = v1::WatchGamesRequest::default();
        match watcher.watch_games(watch).await {
            Ok(stream) => streams.push(stream),
            Err(status) => break status,
        }
        assert!(streams.len() <= limits::GUEST_STREAMS_MAX);
    };
    assert!(is_spent(&spent), "{spent:?}");
    assert_eq!(streams.len(), limits::GUEST_STREAMS_MAX);

    // As many calls as are kept, and some that fill up again meanwhile.
    let kept = limits::GUEST_CALLS_PER_SECOND_MAX * limits::ALLOWANCE_KEPT_SECONDS;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..4 * kept {
        let mut games = watcher.clone();
        calls.spawn(async move { list(&mut games).await });
    }
    let answers = calls.join_all().await;
    let refused = answers.iter().filter(|answer| answer.is_err()).count();
    for answer in &answers {
        if let Err(status) = answer {
            assert!(is_spent(status), "{status:?}");
        }
    }
    assert!(refused > 0, "of {} calls none was refused", answers.len());
    let mut beside = games(&referee, &other).await;
    list(&mut beside).await.expect("others are served");
}
