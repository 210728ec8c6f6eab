//! Final is a fact: a stream tells every event on record and then whether the result can still
//! change, it can wait for corrections, and a result that is confirmed changes no more.

use std::time::Duration;

use referee_api::v1::action::Kind as Did;
use referee_api::v1::game_end::Finality;
use referee_api::v1::watch_game_response::Kind;
use referee_api::v1::{
    Game, GameEnd, GameEvent, GameResult, GetGameRequest, Outcome, Score, Seat, WatchGameRequest,
    WatchGameResponse, game, referee_finding,
};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::on_both;
use referee_tests::wire::{self, confirm, make_move, resign, score};
use tonic::Streaming;

on_both!(
    a_watcher_who_resumes_hears_every_correction,
    a_stream_follows_corrections_until_the_game_is_confirmed,
    a_stream_waits_for_corrections_no_longer_than_it_was_told,
    a_result_is_confirmed_by_itself_where_the_game_says_so,
);

fn seconds(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}

async fn act(games: &mut Games, id: &str, seat: Seat, kind: Did) -> Option<GameEvent> {
    let judged = games.submit_action(wire::submit(id, seat, kind)).await;
    judged.expect("it is judged").into_inner().event
}

/// Creates a game in which White resigns after a move of each.
async fn resigned(games: &mut Games, id: &str, game: Game) {
    let created = games.create_game(wire::create(id, game)).await;
    created.expect("it is created");
    for (seat, kind) in [
        (Seat::White, make_move("e4")),
        (Seat::Black, make_move("e5")),
        (Seat::White, resign()),
    ] {
        let event = act(games, id, seat, kind).await;
        assert_eq!(event.expect("it stands").principal, "anonymous");
    }
}

async fn watch(
    games: &mut Games,
    id: &str,
    after: Option<i64>,
    corrections: i64,
) -> Streaming<WatchGameResponse> {
    let request = WatchGameRequest {
        name: format!("games/{id}"),
        after_sequence: after,
        correction_time: Some(seconds(corrections)),
        heartbeat_interval: Some(seconds(1)),
    };
    let watched = games.watch_game(request).await;
    watched.expect("it is watched").into_inner()
}

/// The next thing that is no heartbeat, while time passes; none at a good end.
async fn next(referee: &Deployment, stream: &mut Streaming<WatchGameResponse>) -> Option<Kind> {
    loop {
        let told = referee.passing(stream.message()).await;
        match told.expect("the stream goes well")?.kind {
            Some(Kind::Heartbeat(_)) => {}
            kind => return kind,
        }
    }
}

async fn next_event(referee: &Deployment, stream: &mut Streaming<WatchGameResponse>) -> GameEvent {
    match next(referee, stream).await {
        Some(Kind::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}

/// The end of a stream, which is the last thing that is told.
async fn the_end(referee: &Deployment, mut stream: Streaming<WatchGameResponse>) -> GameEnd {
    match next(referee, &mut stream).await {
        Some(Kind::End(end)) => {
            assert_eq!(next(referee, &mut stream).await, None);
            end
        }
        other => panic!("{other:?}"),
    }
}

fn result(outcome: Option<&Outcome>) -> (GameResult, bool) {
    outcome.map_or((GameResult::Ongoing, false), |outcome| {
        (outcome.result(), outcome.confirmed)
    })
}

async fn read(games: &mut Games, id: &str) -> Game {
    let name = format!("games/{id}");
    let read = games.get_game(GetGameRequest { name }).await;
    read.expect("it is read").into_inner().game.expect("a game")
}

async fn a_watcher_who_resumes_hears_every_correction(referee: Deployment) {
    let mut games = referee.games().await;
    resigned(&mut games, "corrected", Game::default()).await;
    act(
        &mut games,
        "corrected",
        Seat::Arbiter,
        score(Score::Half, Score::Half),
    )
    .await;
    for known in 0..=4 {
        let mut stream = watch(&mut games, "corrected", Some(known), 0).await;
        for sequence in known + 1..=4 {
            assert_eq!(next_event(&referee, &mut stream).await.sequence, sequence);
        }
        let end = the_end(&referee, stream).await;
        assert_eq!((end.sequence, end.finality()), (4, Finality::Open));
        let outcome = result(end.outcome.as_ref());
        assert_eq!(outcome, (GameResult::Draw, false));
    }
    let mut stream = watch(&mut games, "corrected", None, 0).await;
    let Some(Kind::Snapshot(game)) = next(&referee, &mut stream).await else {
        panic!("a snapshot comes first");
    };
    let end = the_end(&referee, stream).await;
    assert_eq!((game.sequence, game.outcome), (end.sequence, end.outcome));
}

async fn a_stream_follows_corrections_until_the_game_is_confirmed(referee: Deployment) {
    let mut games = referee.games().await;
    resigned(&mut games, "followed", Game::default()).await;
    let mut stream = watch(&mut games, "followed", Some(3), 86_400).await;
    for (white, black, expected) in [
        (Score::Half, Score::Half, GameResult::Draw),
        (Score::One, Score::Zero, GameResult::WhiteWins),
    ] {
        let arbiter = score(white, black);
        let done = act(&mut games, "followed", Seat::Arbiter, arbiter).await;
        let told = next_event(&referee, &mut stream).await;
        assert_eq!(Some(&told), done.as_ref());
        assert_eq!(result(told.outcome.as_ref()), (expected, false));
    }
    act(&mut games, "followed", Seat::Arbiter, confirm()).await;
    let told = next_event(&referee, &mut stream).await;
    assert_eq!(result(told.outcome.as_ref()), (GameResult::WhiteWins, true));
    let end = the_end(&referee, stream).await;
    assert_eq!((end.sequence, end.finality()), (6, Finality::Final));
    assert_eq!(result(end.outcome.as_ref()), (GameResult::WhiteWins, true));

    // Nobody changes it any more, and who comes later waits for nothing.
    for kind in [score(Score::Half, Score::Half), confirm()] {
        let refused = act(&mut games, "followed", Seat::Arbiter, kind).await;
        assert_eq!(refused, None);
    }
    let game = read(&mut games, "followed").await;
    assert_eq!((game.sequence, game.state()), (6, game::State::Finished));
    assert_eq!(result(game.outcome.as_ref()), (GameResult::WhiteWins, true));
    let stream = watch(&mut games, "followed", Some(6), 86_400).await;
    let end = the_end(&referee, stream).await;
    assert_eq!(end.finality(), Finality::Final);
}

async fn a_stream_waits_for_corrections_no_longer_than_it_was_told(referee: Deployment) {
    let mut games = referee.games().await;
    resigned(&mut games, "awaited", Game::default()).await;
    let begun_ms = referee.now_ms();
    let stream = watch(&mut games, "awaited", Some(2), 3).await;
    let mut stream = stream;
    assert_eq!(next_event(&referee, &mut stream).await.sequence, 3);
    let end = the_end(&referee, stream).await;
    assert_eq!((end.sequence, end.finality()), (3, Finality::Open));
    let waited_ms = referee.now_ms() - begun_ms;
    assert!(waited_ms >= 2_900, "it waited {waited_ms} ms");
}

async fn a_result_is_confirmed_by_itself_where_the_game_says_so(referee: Deployment) {
    let mut games = referee.games().await;
    let game = Game {
        confirm_after: Some(seconds(3)),
        ..Game::default()
    };
    resigned(&mut games, "alone", game).await;
    let mut stream = watch(&mut games, "alone", Some(3), 60).await;
    referee.pass(Duration::from_secs(1)).await;
    act(
        &mut games,
        "alone",
        Seat::Arbiter,
        score(Score::Half, Score::Half),
    )
    .await;
    let corrected = next_event(&referee, &mut stream).await;
    let told = next_event(&referee, &mut stream).await;
    assert_eq!(told.principal, "", "the referee acts by itself");
    let action = told.action.expect("it has one");
    let Some(Did::RefereeFinding(found)) = action.kind else {
        panic!("{action:?}");
    };
    assert!(matches!(
        found.kind,
        Some(referee_finding::Kind::Confirmed(_))
    ));
    assert_eq!(result(told.outcome.as_ref()), (GameResult::Draw, true));
    // So long after the correction, not after the resignation.
    let (from, to) = (corrected.event_time, told.event_time);
    let (from, to) = (from.expect("a time"), to.expect("a time"));
    assert_eq!((to.seconds, to.nanos), (from.seconds + 3, from.nanos));
    let end = the_end(&referee, stream).await;
    assert_eq!((end.sequence, end.finality()), (5, Finality::Final));
}
