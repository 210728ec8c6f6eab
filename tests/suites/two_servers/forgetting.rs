//! What the other server has updated or deleted.

use prost_types::FieldMask;
use referee_api::v1::game_end::Finality;
use referee_api::v1::watch_game_response::Kind as Told;
use referee_api::v1::watch_games_response::Kind as ToldOfAll;
use referee_api::v1::{
    DeleteGameRequest, Game, Seat, UpdateGameRequest, WatchGamesRequest, WatchGamesResponse,
};
use referee_tests::pair::Pair;
use referee_tests::wire::{self, details, make_move, resign};
use tonic::Streaming;

use super::{Games, PATIENCE, act, both, create_as, next_event, read, snapshot, try_read, watch};

fn named(white: &str, event: &str) -> Game {
    Game {
        white_player: white.into(),
        labels: [("event".to_owned(), event.to_owned())].into(),
        ..Game::default()
    }
}

async fn update(games: &mut Games, id: &str, game: Game) {
    let request = UpdateGameRequest {
        name: format!("games/{id}"),
        game: Some(game),
        update_mask: Some(FieldMask {
            paths: vec!["white_player".into(), "labels".into()],
        }),
        request_id: wire::fresh_id(),
    };
    games.update_game(request).await.expect("it is updated");
}

async fn delete(games: &mut Games, id: &str) {
    let request = DeleteGameRequest {
        name: format!("games/{id}"),
        request_id: wire::fresh_id(),
    };
    games.delete_game(request).await.expect("it is deleted");
}

async fn watch_all(games: &mut Games, event: &str) -> Streaming<WatchGamesResponse> {
    let request = WatchGamesRequest {
        labels: named("", event).labels,
        after_cursor: Some(String::new()),
        heartbeat_interval: None,
    };
    let watched = games.watch_games(request).await;
    watched.expect("the games are watched").into_inner()
}

/// The next thing that is told of all games, as one word.
async fn next_of_all(stream: &mut Streaming<WatchGamesResponse>) -> String {
    loop {
        let told = tokio::time::timeout(PATIENCE, stream.message()).await;
        let told = told.expect("something comes").expect("the stream goes on");
        return match told.expect("it has no end").kind.expect("something") {
            ToldOfAll::Created(game) => format!("created {}", game.white_player),
            ToldOfAll::Event(event) => {
                let (event, label) = (event.event.expect("an event"), event.labels);
                let update = event.update.map(|update| update.white_player);
                format!("{} {:?} {:?}", event.sequence, label.get("event"), update)
            }
            ToldOfAll::Deleted(deleted) => {
                assert!(deleted.delete_time.is_some());
                format!("deleted {}", deleted.name)
            }
            ToldOfAll::Checkpoint(_) => continue,
        };
    }
}

/// Both servers have the game in memory; whichever updates or deletes, the other shows it with the
/// next answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_other_has_updated_or_deleted_is_seen_at_once() {
    let pair = Pair::start().await;
    let mut servers = both(&pair).await;
    create_as(&mut servers[0], "seen", named("Ada", "Open")).await;
    for turn in 0..4 {
        let (writer, reader) = (turn % 2, 1 - turn % 2);
        assert_eq!(
            read(&mut servers[reader], "seen").await.sequence,
            turn as i64
        );
        let name = format!("Bob {turn}");
        update(&mut servers[writer], "seen", named(&name, &name)).await;
        let game = read(&mut servers[reader], "seen").await;
        assert_eq!(
            (game.white_player.as_str(), game.labels["event"].as_str()),
            (&*name, &*name)
        );
        let mut stream = watch(&mut servers[reader], "seen", None).await;
        assert_eq!(snapshot(&mut stream).await, game);
    }
    // Who has the old state in memory acts on the new one.
    act(&mut servers[0], "seen", Seat::White, make_move("e4")).await;
    let ended = act(&mut servers[1], "seen", Seat::White, resign()).await;
    assert_eq!(ended.sequence, 6);
    read(&mut servers[0], "seen").await;
    delete(&mut servers[1], "seen").await;
    for games in &mut servers {
        let status = try_read(games, "seen").await.expect_err("it is gone");
        assert_eq!(details(&status).reason, "GAME_DELETED");
        let request = wire::submit("seen", Seat::Black, resign());
        let status = games.submit_action(request).await.expect_err("it is gone");
        assert_eq!(details(&status).reason, "GAME_DELETED");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_hears_of_the_updates_and_deletions_of_the_other() {
    let pair = Pair::start().await;
    let [mut one, mut two] = both(&pair).await;
    create_as(&mut one, "heard", named("Ada", "Open")).await;
    let mut all = watch_all(&mut two, "Open").await;
    assert_eq!(next_of_all(&mut all).await, "created Ada");
    let mut stream = watch(&mut two, "heard", Some(0)).await;
    update(&mut one, "heard", named("Bob", "Cup")).await;
    let event = next_event(&mut stream).await;
    assert_eq!(event.update.expect("an update").white_player, "Bob");
    // The game has other labels now, which is the last that is told of it.
    assert_eq!(next_of_all(&mut all).await, "1 Some(\"Cup\") Some(\"Bob\")");
    act(&mut one, "heard", Seat::White, resign()).await;
    assert_eq!(next_event(&mut stream).await.sequence, 2);
    let told = tokio::time::timeout(PATIENCE, stream.message()).await;
    let told = told.expect("the end comes").expect("the stream goes on");
    assert!(matches!(told.expect("an end").kind, Some(Told::End(_))));
    let request = referee_api::v1::WatchGameRequest {
        name: "games/heard".into(),
        after_sequence: Some(2),
        heartbeat_interval: None,
        correction_time: Some(prost_types::Duration {
            seconds: 86_400,
            nanos: 0,
        }),
    };
    let mut stream = two.watch_game(request).await.expect("watched").into_inner();
    delete(&mut one, "heard").await;
    let told = tokio::time::timeout(PATIENCE, stream.message()).await;
    let told = told.expect("the end comes").expect("the stream goes on");
    let Some(Told::End(end)) = told.expect("an end").kind else {
        panic!("the end is told")
    };
    assert_eq!((end.finality(), end.outcome), (Finality::Deleted, None));
    assert_eq!(next_of_all(&mut all).await, "deleted games/heard");
    // Who begins with the oldest is told of nothing but the deletion.
    let mut all = watch_all(&mut one, "whatever").await;
    assert_eq!(next_of_all(&mut all).await, "deleted games/heard");
}
