//! Two platforms on one store: a game of one has nothing to do with the game of the same name of
//! the other.

use std::time::Duration;

use referee_api::v1::{ExportGameRequest, ListGamesRequest, Seat};
use referee_server::limits::FLAG_SETTLING;
use referee_tests::pair::{Pair, PairOptions};
use referee_tests::wire::{self, make_move};
use tonic::Code;

use super::time::{begin_as, timed, wait_for_end};
use super::{act, both, create, events, next_event, read, try_read, watch};

/// The name of both games.
const SAME: &str = "same";

async fn two_platforms() -> Pair {
    Pair::start_with(PairOptions {
        platforms: ["one", "two"],
        ..PairOptions::default()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_of_one_name_are_two_games() {
    let pair = two_platforms().await;
    let [mut one, mut two] = both(&pair).await;
    // The request ids are the same as well.
    let request = wire::create(SAME, wire::refusing());
    for games in [&mut one, &mut two] {
        let missing = try_read(games, SAME).await.expect_err("no game yet");
        assert_eq!(missing.code(), Code::NotFound);
        let created = games.create_game(request.clone()).await;
        created.expect("the name is free on this platform");
    }
    let mut streams = [
        watch(&mut one, SAME, Some(0)).await,
        watch(&mut two, SAME, Some(0)).await,
    ];
    let move_of_one = wire::submit(SAME, Seat::White, make_move("e4"));
    let mut move_of_two = move_of_one.clone();
    let action = move_of_two.action.as_mut().expect("it has one");
    action.kind = Some(make_move("d4"));
    let of_one = one.submit_action(move_of_one).await.expect("judged");
    let of_two = two.submit_action(move_of_two).await.expect("judged");
    let of = [of_one.into_inner(), of_two.into_inner()];
    for (stream, judged) in streams.iter_mut().zip(&of) {
        assert_eq!(judged.sequence, 1);
        assert_eq!(Some(next_event(stream).await), judged.event);
    }
    create(&mut one, "only-one").await;
    for (games, moved, count) in [(&mut one, "e2e4", 2), (&mut two, "d2d4", 1)] {
        assert_eq!(read(games, SAME).await.moves, [moved]);
        let listed = games.list_games(ListGamesRequest::default()).await;
        let listed = listed.expect("listed").into_inner().games;
        assert_eq!(listed.len(), count, "{listed:?}");
        assert_eq!(listed[count - 1].name, "games/same");
        let name = "games/only-one".to_owned();
        let exported = games.export_game(ExportGameRequest { name }).await;
        assert_eq!(exported.is_ok(), count == 2);
    }
}

/// Either server lets the flags of both platforms fall, each in its own game.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flags_fall_in_the_games_of_their_platform() {
    let pair = two_platforms().await;
    let [mut one, mut two] = both(&pair).await;
    begin_as(&mut one, SAME, timed("2", "2")).await;
    begin_as(&mut two, SAME, timed("600", "600")).await;
    pair.pass(Duration::from_secs(3) + FLAG_SETTLING).await;
    let record = wait_for_end(&pair, &mut one, SAME).await;
    assert_eq!(record.len(), 2, "{record:#?}");
    assert_eq!(events(&mut two, SAME).await.len(), 1);
    let moved = act(&mut two, SAME, Seat::White, make_move("e4")).await;
    assert_eq!(moved.sequence, 2, "{moved:?}");
}
