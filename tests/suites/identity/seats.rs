//! A player has one seat of one game, whatever the request says.

use referee_api::v1;
use referee_api::v1::play_game_request::Kind;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use tonic::{Code, Status};

use super::{REQUIRED, check_log, games, issue};

/// What came of a call that is not to be taken.
fn refusal<T: std::fmt::Debug>(answer: Result<T, Status>) -> (Code, String) {
    let status = answer.expect_err("it is not taken");
    (status.code(), details(&status).reason)
}

fn denied() -> (Code, String) {
    (Code::PermissionDenied, "ROLE_DENIED".to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn white_is_not_black() {
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
    let (mut white, mut black) = (games(&referee, &anna).await, games(&referee, &boris).await);
    let mut platform = games(&referee, &club).await;
    for id in ["board-1", "board-2"] {
        let created = platform.create_game(wire::create(id, v1::Game::default()));
        created.await.expect("the platform creates it");
    }

    // White moves, and the record names who did.
    let e4 = wire::submit("board-1", v1::Seat::White, wire::make_move("e4"));
    let answer = white.submit_action(e4).await.expect("it is White's move");
    let event = answer.into_inner().event.expect("the move stands");
    assert_eq!(event.principal, "anna");

    // Black's move, Black's resignation, Black's place at the board.
    let e5 = wire::submit("board-1", v1::Seat::Black, wire::make_move("e5"));
    assert_eq!(refusal(white.submit_action(e5.clone()).await), denied());
    let resign = wire::submit("board-1", v1::Seat::Black, wire::resign());
    assert_eq!(refusal(white.submit_action(resign).await), denied());
    let as_arbiter = wire::submit("board-1", v1::Seat::Arbiter, wire::resign());
    assert_eq!(refusal(white.submit_action(as_arbiter).await), denied());
    let join = v1::PlayGameRequest {
        kind: Some(Kind::Join(v1::JoinGame {
            name: "games/board-1".into(),
            seat: v1::Seat::Black.into(),
            ..v1::JoinGame::default()
        })),
    };
    let stream = white.play_game(tokio_stream::iter([join])).await;
    let first = stream.expect("it opens").into_inner().message().await;
    assert_eq!(refusal(first), denied());

    // Black plays; White repeats the request of Black, and gets no answer that was kept for Black.
    let answer = black.submit_action(e5.clone()).await;
    let answer = answer.expect("it is Black's move").into_inner();
    assert_eq!(answer.event.expect("it stands").principal, "boris");
    assert_eq!(refusal(white.submit_action(e5.clone()).await), denied());
    let mut own = e5;
    let action = own.action.as_mut().expect("it has one");
    action.seat = v1::Seat::White.into();
    action.kind = Some(wire::make_move("d4"));
    let answer = white.submit_action(own).await.expect("ids are of a seat");
    assert_eq!(answer.into_inner().event.expect("it stands").sequence, 3);

    // The time of a game is nothing that a player tells.
    let mut told = wire::submit("board-1", v1::Seat::Black, wire::make_move("d5"));
    let action = told.action.as_mut().expect("it has one");
    action.platform_time = Some(v1::PlatformTime::default());
    assert_eq!(refusal(black.submit_action(told).await), denied());
    check_log(&referee.log(), &[&anna, &boris, &club]);
}

/// What is there and not the caller's is answered as what is not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn not_yours_and_not_there_are_one_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = |arguments: &str| issue(folder.path(), arguments);
    let confined = [
        token("--role player --principal anna --game games/mine --seat white"),
        token("--role spectator --principal guest --game games/mine"),
        token("--role arbiter --principal hall --label event=open"),
        token("--role platform --principal other --platform other"),
    ];
    let club = token("--role platform --principal club");
    let referee = Referee::start_with(folder.path(), REQUIRED);
    let mut platform = games(&referee, &club).await;
    let labels = [("event".to_owned(), "open".to_owned())];
    for (id, labels) in [("mine", Some(labels)), ("theirs", None), ("gone", None)] {
        let game = v1::Game {
            labels: labels.into_iter().flatten().collect(),
            ..v1::Game::default()
        };
        let created = platform.create_game(wire::create(id, game)).await;
        created.expect("the platform creates it");
    }
    let end = wire::submit("gone", v1::Seat::Black, wire::resign());
    platform.submit_action(end).await.expect("it ends");
    let delete = v1::DeleteGameRequest {
        name: "games/gone".into(),
        request_id: wire::fresh_id(),
    };
    platform.delete_game(delete).await.expect("it is over");

    for (index, token) in confined.iter().enumerate() {
        let mut games = games(&referee, token).await;
        let mut told = Vec::new();
        for id in ["theirs", "gone", "none"] {
            let name = format!("games/{id}");
            let get = v1::GetGameRequest { name: name.clone() };
            let got = games.get_game(get).await.expect_err("it is not theirs");
            let events = v1::ListGameEventsRequest {
                parent: name.clone(),
                ..Default::default()
            };
            let listed = games.list_game_events(events).await;
            let listed = listed.expect_err("it is not theirs");
            let watch = v1::WatchGameRequest {
                name: name.clone(),
                ..Default::default()
            };
            let watched = match games.watch_game(watch).await {
                Ok(stream) => stream.into_inner().message().await.map(|_| ()),
                Err(status) => Err(status),
            };
            let watched = watched.expect_err("it is not theirs");
            let exported = games.export_game(v1::ExportGameRequest { name: name.clone() });
            let exported = match exported.await {
                Ok(stream) => stream.into_inner().message().await.map(|_| ()),
                Err(status) => Err(status),
            };
            let exported = exported.expect_err("it is not theirs");
            let said = [got, listed, watched, exported].map(|status| {
                let text = status.message().replace(&name, "games/it");
                (status.code(), details(&status).reason, text)
            });
            told.push(said);
        }
        assert_eq!(told[0][0].1, "GAME_NOT_FOUND", "{index}");
        assert!(told.iter().all(|one| *one == told[0]), "{index}: {told:#?}");
        // Their own is there.
        if index < 3 {
            let own = v1::GetGameRequest {
                name: "games/mine".into(),
            };
            games.get_game(own).await.expect("it is theirs");
        }
    }

    // An arbiter of some games is told of those in lists, and of no others.
    let mut hall = games(&referee, &confined[2]).await;
    let listed = hall.list_games(v1::ListGamesRequest::default()).await;
    let listed = listed.expect("a list").into_inner().games;
    let names: Vec<&str> = listed.iter().map(|game| game.name.as_str()).collect();
    assert_eq!(names, ["games/mine"]);
    let mut guest = games(&referee, &confined[1]).await;
    let listed = guest.list_games(v1::ListGamesRequest::default()).await;
    assert_eq!(refusal(listed), denied());
}
