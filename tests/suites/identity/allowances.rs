//! What one credential may take, beside others who are served.

use std::time::Duration;

use referee_api::v1;
use referee_api::v1::play_game_request::Kind;
use referee_api::v1::play_game_response as told;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_server::limits;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details, details_of};
use tokio::time::Instant;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{Bearer, Games, REQUIRED, games, issue};

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
        tokio::time::sleep(Duration::from_millis(100)).await;
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

/// Asks until it is turned away for an allowance, and says after how many answers; whatever else
/// comes of it is none of this.
async fn until_spent<T>(
    limit: usize,
    mut ask: impl AsyncFnMut() -> Result<T, Status>,
) -> (usize, Status) {
    for answered in 0..limit {
        if let Err(status) = ask().await
            && is_spent(&status)
        {
            return (answered, status);
        }
    }
    panic!("{limit} were answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_actions_of_one_player_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let player = |name: &str, seat: &str| {
        let scope = format!("--game games/board-1 --seat {seat}");
        issue(
            folder.path(),
            &format!("--role player --principal {name} {scope}"),
        )
    };
    let (anna, boris) = (player("anna", "white"), player("boris", "black"));
    let club = issue(folder.path(), "--role platform --principal club");
    let referee = Referee::start_with(folder.path(), REQUIRED);
    let mut platform = games(&referee, &club).await;
    let created = platform.create_game(wire::create("board-1", wire::refusing()));
    created.await.expect("the platform creates it");
    let (mut white, mut black) = (games(&referee, &anna).await, games(&referee, &boris).await);
    let wrong = || wire::submit("board-1", v1::Seat::White, wire::make_move("e5"));
    let answer = white.submit_action(wrong()).await.expect("it is judged");
    let ruling = answer.into_inner().ruling.expect("a ruling");
    assert_eq!(ruling.verdict(), v1::ruling::Verdict::Refused);
    let kept = limits::GUEST_REFUSALS_PER_SECOND_MAX * limits::ALLOWANCE_KEPT_SECONDS;
    let (refused, spent) = until_spent(20 * kept as usize, async || {
        white.submit_action(wrong()).await
    })
    .await;
    assert!(refused + 1 >= kept as usize, "{refused} of {kept}");
    assert!(spent.message().contains("refused"), "{spent:?}");
    // It is the principal's, on a stream as well; the other player and the platform go on.
    let join = v1::PlayGameRequest {
        kind: Some(Kind::Join(v1::JoinGame {
            name: "games/board-1".into(),
            seat: v1::Seat::White.into(),
            ..v1::JoinGame::default()
        })),
    };
    let action = |request: v1::SubmitActionRequest| v1::PlayGameRequest {
        kind: request.action.map(Kind::Action),
    };
    let many = (0..20 * kept).map(|_| action(wrong()));
    let sent: Vec<_> = std::iter::once(join).chain(many).collect();
    let stream = white.play_game(tokio_stream::iter(sent)).await;
    let mut stream = stream.expect("White joins").into_inner();
    let reasons = async {
        loop {
            match stream.message().await {
                Ok(Some(told)) => {
                    let Some(told::Kind::Answer(answer)) = told.kind else {
                        continue;
                    };
                    if let Some(error) = answer.error {
                        let details = details_of(&error);
                        assert_eq!(details.reason, "ALLOWANCE_SPENT");
                        assert!(details.retry, "{error:?}");
                        return;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(10), reasons).await;
    told.expect("the stream is bounded as well");
    let e4 = wire::submit("board-1", v1::Seat::White, wire::make_move("e4"));
    platform.submit_action(e4).await.expect("the platform acts");
    let e5 = wire::submit("board-1", v1::Seat::Black, wire::make_move("e5"));
    black.submit_action(e5).await.expect("Black plays on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_of_the_solver_for_one_token_is_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let guest = issue(folder.path(), "--role spectator --principal guest");
    let other = issue(folder.path(), "--role spectator --principal other");
    let referee = Referee::start_with(folder.path(), REQUIRED);
    let rules = async |token: &str| {
        let channel = referee.connect().await;
        RulesServiceClient::with_interceptor(channel, Bearer::new(token))
    };
    // Kings alone: nothing is searched, and all that is asked for is charged.
    let question = || v1::CanMateRequest {
        position: Some(wire::from_fen("8/8/4k3/8/8/4K3/8/8 w - - 0 1")),
        budget_nodes: 1_000_000,
        side: v1::Color::White.into(),
        ..v1::CanMateRequest::default()
    };
    let mut asking = rules(&guest).await;
    let (answered, spent) = until_spent(10, async || asking.can_mate(question()).await).await;
    assert!((2..=5).contains(&answered), "{answered}");
    assert!(spent.message().contains("solver"), "{spent:?}");
    let mut beside = rules(&other).await;
    beside
        .can_mate(question())
        .await
        .expect("others are served");
    let legal = v1::GenerateLegalMovesRequest::default();
    let legal = asking.generate_legal_moves(legal).await;
    legal.expect("what needs no solver is answered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_of_one_token_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let guest = issue(folder.path(), "--role spectator --principal guest");
    let other = issue(folder.path(), "--role spectator --principal other");
    let referee = Referee::start_with(folder.path(), REQUIRED);
    let large = || v1::ListGamesRequest {
        page_token: "x".repeat(2 << 20),
        ..v1::ListGamesRequest::default()
    };
    let mut sending = games(&referee, &guest).await;
    let start = Instant::now();
    let (answered, spent) = until_spent(20, async || {
        let answer = sending.list_games(large()).await;
        if let Err(status) = &answer {
            assert!(
                ["LIMIT_EXCEEDED", "ALLOWANCE_SPENT"].contains(&&*details(status).reason),
                "{status:?}"
            );
        }
        answer
    })
    .await;
    let filled = start.elapsed().as_secs() as usize + 1;
    let kept = limits::ALLOWANCE_KEPT_SECONDS as usize;
    // Each has 2 MiB, and the last may be larger than what is left.
    assert!(
        answered >= 2 && 2 * answered <= kept + filled + 2,
        "{answered}"
    );
    assert!(spent.message().contains("bytes"), "{spent:?}");
    let mut beside = games(&referee, &other).await;
    list(&mut beside).await.expect("others are served");
}
