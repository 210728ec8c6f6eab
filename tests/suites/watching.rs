//! Following games: nothing is lost, doubled, out of order or from another time, whatever the
//! watcher, the writer and the process do. The properties are those that watch streams of other
//! stores are known to have broken: events lost when a stream starves, old events after a resume,
//! duplicates, events from before a restart, a gap between the snapshot and what follows.

use std::time::Duration;

use referee_api::v1::watch_game_response::Kind;
use referee_api::v1::{
    ClaimKind, Game, GameEnd, GameEvent, Heartbeat, ListGameEventsRequest, Position,
    RuleParameters, RuleProfile, Seat, WatchGameRequest,
};
use referee_server::limits;
use referee_tests::deployment::{Deployment, Games};
use referee_tests::on_both;
use referee_tests::pair::{Pair, PairOptions};
use referee_tests::wire::{self, details, make_move, on_move, resign};
use tokio::task::JoinSet;
use tonic::{Code, Status, Streaming};

on_both!(
    a_watcher_who_comes_at_any_moment_hears_the_rest,
    a_quiet_stream_beats,
);

/// The moves that a game goes to and fro with.
const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];

/// How long a watcher that does not read is waited for: longer than the service waits for it.
const SLOW_FOR: Duration = Duration::from_secs(33);

/// How long a stream that nobody reads takes to fill up.
const STALL: Duration = Duration::from_secs(1);

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A game that neither repetition nor a count ends.
fn endless() -> Game {
    let (fivefold, seventy_five) = (Some(false), Some(false));
    let overrides = Some(RuleParameters {
        fivefold,
        seventy_five,
        ..Default::default()
    });
    Game {
        rule_profile: Some(RuleProfile {
            overrides,
            ..Default::default()
        }),
        ..Game::default()
    }
}

async fn create(games: &mut Games, id: &str) {
    games
        .create_game(wire::create(id, endless()))
        .await
        .expect("created");
}

/// Plays so many plies from a ply on, and resigns where the game is to end.
async fn write(mut games: Games, id: &str, plies: std::ops::Range<usize>, ends: bool) {
    for ply in plies.clone() {
        let request = wire::submit(id, on_move(ply), make_move(SHUFFLE[ply % 4]));
        let answer = games
            .submit_action(request)
            .await
            .expect("judged")
            .into_inner();
        assert_eq!(answer.sequence, ply as i64 + 1, "{:?}", answer.ruling);
    }
    if ends {
        let request = wire::submit(id, on_move(plies.end), resign());
        games.submit_action(request).await.expect("judged");
    }
}

async fn watch(games: &mut Games, id: &str, after: Option<i64>) -> Streaming<Told> {
    let heartbeat_interval = Some(prost_types::Duration {
        seconds: 1,
        nanos: 0,
    });
    let name = format!("games/{id}");
    let request = WatchGameRequest {
        name,
        after_sequence: after,
        heartbeat_interval,
        ..WatchGameRequest::default()
    };
    games
        .watch_game(request)
        .await
        .expect("watched")
        .into_inner()
}

type Told = referee_api::v1::WatchGameResponse;

/// Everything of one stream until it ends, and how it ended.
#[derive(Default)]
struct Heard {
    snapshot: Option<Game>,
    events: Vec<GameEvent>,
    heartbeats: Vec<Heartbeat>,
    over: Option<GameEnd>,
    end: Option<Status>,
}

/// Listens until the stream ends, and holds that every event is the next one, and that a good end
/// is told.
async fn listen(mut stream: Streaming<Told>, after: Option<i64>) -> Heard {
    let mut heard = Heard::default();
    let mut last = after;
    loop {
        match stream
            .message()
            .await
            .map(|told| told.map(|told| told.kind))
        {
            Ok(None) => {
                assert!(heard.over.is_some(), "a stream that ends well says so");
                return heard;
            }
            Ok(Some(Some(Kind::End(over)))) => {
                assert_eq!(Some(over.sequence), last, "the end says what was sent");
                assert!(heard.over.is_none(), "the end comes once");
                heard.over = Some(over);
            }
            Ok(Some(Some(Kind::Snapshot(game)))) => {
                assert!(last.is_none(), "a snapshot comes first and once");
                last = Some(game.sequence);
                heard.snapshot = Some(game);
            }
            Ok(Some(Some(Kind::Event(event)))) => {
                assert_eq!(Some(event.sequence - 1), last, "the next event, none else");
                last = Some(event.sequence);
                heard.events.push(event);
            }
            Ok(Some(Some(Kind::Heartbeat(beat)))) => {
                assert_eq!(Some(beat.sequence), last, "a heartbeat says what was sent");
                heard.heartbeats.push(beat);
            }
            Ok(Some(None)) => panic!("a message without content"),
            Err(status) => {
                heard.end = Some(status);
                return heard;
            }
        }
    }
}

async fn record(games: &mut Games, id: &str) -> Vec<GameEvent> {
    let parent = format!("games/{id}");
    let request = ListGameEventsRequest {
        parent,
        page_size: 5_000,
        ..Default::default()
    };
    games
        .list_game_events(request)
        .await
        .expect("listed")
        .into_inner()
        .events
}

/// Watchers who come at every moment of a game, with and without a snapshot, hear all of it.
async fn a_watcher_who_comes_at_any_moment_hears_the_rest(referee: Deployment) {
    const PLIES: usize = 80;
    let mut games = referee.games().await;
    for id in ["one", "two"] {
        create(&mut games, id).await;
    }
    let mut watchers = JoinSet::new();
    let writers = ["one", "two"].map(|id| tokio::spawn(write(games.clone(), id, 0..PLIES, true)));
    for number in 0..40_u64 {
        let (mut games, id) = (games.clone(), if number % 2 == 0 { "one" } else { "two" });
        watchers.spawn(async move {
            tokio::time::sleep(Duration::from_millis(number * 5)).await;
            let after = (number % 4 < 2).then_some(0);
            let stream = watch(&mut games, id, after).await;
            (id, listen(stream, after).await)
        });
    }
    for writer in writers {
        writer.await.expect("the game is played");
    }
    let records = [
        record(&mut games, "one").await,
        record(&mut games, "two").await,
    ];
    for (id, heard) in watchers.join_all().await {
        let record = &records[usize::from(id == "two")];
        assert_eq!(record.len(), PLIES + 1);
        assert!(heard.end.is_none(), "{:?}", heard.end);
        let from = heard
            .snapshot
            .as_ref()
            .map_or(0, |game| game.sequence as usize);
        assert_eq!(
            heard.events,
            record[from..],
            "all that came after {from}, as it is kept"
        );
        if let Some(game) = heard.snapshot {
            let last = from.checked_sub(1).map(|index| &record[index]);
            assert_eq!(
                game.moves.len(),
                from.min(PLIES),
                "the snapshot is of one moment"
            );
            assert_eq!(
                last.map(|event| &event.fen),
                (from > 0).then_some(&game.fen)
            );
        }
    }
}

/// A watcher that breaks off and resumes after a crash of the process hears each event once, and
/// one that claims to know more than there is is told so.
///
/// A crash is one of the real process. Streams of two servers do not break so; see `two_servers`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_resumes_after_a_crash() {
    let referee = Deployment::binary();
    let mut games = referee.games().await;
    create(&mut games, "resumed").await;
    let stream = watch(&mut games, "resumed", Some(0)).await;
    let listener = tokio::spawn(listen(stream, Some(0)));
    write(games.clone(), "resumed", 0..30, false).await;
    let referee = referee.die(Duration::ZERO).await;
    let before = listener.await.expect("the stream breaks");
    let broken = before.end.expect("a crash is no good end");
    assert_ne!(broken.code(), Code::Ok);
    let known = before.events.len();
    assert!(known <= 30);

    let mut games = referee.games().await;
    let name = "games/resumed".to_owned();
    let request = WatchGameRequest {
        name,
        after_sequence: Some(31),
        ..WatchGameRequest::default()
    };
    let status = games
        .watch_game(request)
        .await
        .expect_err("nothing is known of the future");
    assert_eq!(status.code(), Code::OutOfRange);
    assert_eq!(details(&status).reason, "SEQUENCE_AHEAD");
    assert_eq!(details(&status).metadata["after_sequence"], "31");
    assert_eq!(details(&status).metadata["actual_sequence"], "30");

    let after = Some(known as i64);
    let stream = watch(&mut games, "resumed", after).await;
    let listener = tokio::spawn(listen(stream, after));
    write(games.clone(), "resumed", 30..50, true).await;
    let after = listener.await.expect("the game ends");
    assert!(after.end.is_none(), "{:?}", after.end);
    let heard: Vec<GameEvent> = before.events.into_iter().chain(after.events).collect();
    assert_eq!(
        heard,
        record(&mut games, "resumed").await,
        "no event is lost or doubled"
    );

    // From the middle and from the end of a game that is over.
    let heard = listen(watch(&mut games, "resumed", Some(20)).await, Some(20)).await;
    assert_eq!(heard.events.len(), 31);
    let heard = listen(watch(&mut games, "resumed", Some(51)).await, Some(51)).await;
    assert!(
        heard.events.is_empty() && heard.end.is_none(),
        "it ends at once"
    );
}

/// A heartbeat comes in every quiet interval, and tells the time of the server.
async fn a_quiet_stream_beats(referee: Deployment) {
    let mut games = referee.games().await;
    create(&mut games, "quiet").await;
    write(games.clone(), "quiet", 0..3, false).await;
    let mut stream = watch(&mut games, "quiet", Some(1)).await;
    let mut events = Vec::new();
    let mut beats: Vec<(i64, Heartbeat)> = Vec::new();
    while beats.len() < 3 {
        let told = referee.passing(stream.message()).await;
        let told = told.expect("the stream goes on").expect("no end");
        match told.kind {
            Some(Kind::Event(event)) => events.push(event.sequence),
            Some(Kind::Heartbeat(beat)) => beats.push((referee.now_ms(), beat)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(events, [2, 3]);
    for pair in beats.windows(2) {
        let [(early_ms, one), (late_ms, two)] = pair else {
            continue;
        };
        assert_eq!((one.sequence, two.sequence), (3, 3));
        let (one, two) = (
            one.server_time.expect("a time"),
            two.server_time.expect("a time"),
        );
        assert!(
            (two.seconds, two.nanos) > (one.seconds, one.nanos),
            "time goes on"
        );
        // Silence longer than two intervals would mean a dead stream.
        assert!(late_ms - early_ms < 2_000, "a beat was left out");
    }
}

/// A watcher that does not read is cut off, while the writer and the other watchers go on, and it
/// resumes without a loss.
///
/// By virtual time only: the real process would have to be waited for half a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_watcher_is_cut_and_resumes() {
    // Half a megabyte may be under way to a reader that does not read: the window of its stream and
    // the buffers of the server. A long history makes a great snapshot, and a claim that is not
    // correct is recorded with its reasons, so that few events are enough to fill them.
    const HISTORY: usize = 19_000;
    const EVENTS: usize = 420;
    let referee = Deployment::pair().await;
    let mut games = referee.games().await;
    let moves = SHUFFLE
        .iter()
        .cycle()
        .take(HISTORY)
        .map(|&san| san.to_owned())
        .collect();
    let initial_position = Some(Position {
        moves,
        ..Default::default()
    });
    let game = Game {
        initial_position,
        ..endless()
    };
    games
        .create_game(wire::create("slow", game))
        .await
        .expect("created");
    // On connections of its own with the smallest window, which is soon full.
    let mut slow = referee.narrow_games().await;
    let stream = watch(&mut slow, "slow", None).await;
    let other = watch(&mut games, "slow", Some(0)).await;
    let other = tokio::spawn(listen(other, Some(0)));
    claim_and_resign(&mut games, "slow", EVENTS).await;
    let other = other.await.expect("the other listens");
    assert_eq!(
        other.events.len(),
        EVENTS,
        "the other watcher hears everything"
    );

    // The writer of its stream has to stand at a full queue before the time that it waits begins.
    tokio::time::sleep(STALL).await;
    referee.pass(SLOW_FOR).await;
    let heard = listen(stream, None).await;
    let end = heard.end.expect("the stream is cut off");
    assert_eq!(end.code(), Code::ResourceExhausted, "{end:?}");
    assert_eq!(details(&end).reason, "SLOW_CONSUMER", "{end:?}");
    assert_eq!(heard.snapshot.map(|game| game.sequence), Some(0));
    let known = heard.events.len();
    assert!(
        known < EVENTS,
        "{known} events were kept for a watcher that does not read"
    );
    let after = Some(known as i64);
    let rest = listen(watch(&mut slow, "slow", after).await, after).await;
    assert_eq!(
        known + rest.events.len(),
        EVENTS,
        "it resumes after the last event it has"
    );
    assert!(rest.end.is_none());
}

/// Makes so many events: claims that are not correct, and a resignation.
async fn claim_and_resign(games: &mut Games, id: &str, events: usize) {
    for _ in 1..events {
        let kind = wire::claim(ClaimKind::Fifty, Some("e4"));
        let answer = games
            .submit_action(wire::submit(id, Seat::White, kind))
            .await;
        assert!(answer.expect("judged").into_inner().event.is_some());
    }
    let resignation = wire::submit(id, Seat::White, resign());
    games.submit_action(resignation).await.expect("judged");
}

/// Streams that are dropped leave room for others. So few may be open that each one that is not
/// forgotten is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_are_dropped_are_forgotten() {
    const OPEN_MAX: usize = 4;
    let pair = Pair::start_with(PairOptions {
        open_streams_max: OPEN_MAX,
        ..PairOptions::default()
    })
    .await;
    let mut games = pair.games().await;
    create(&mut games, "dropped").await;
    // Both are full now, so that the limit is one.
    let mut open = Vec::new();
    for _ in 0..2 * OPEN_MAX {
        open.push(watch(&mut games, "dropped", None).await);
    }
    for _ in 0..2 {
        let refused = try_watch(&mut games, "dropped").await.expect_err("full");
        assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
        assert_eq!(details(&refused).reason, "OVERLOADED", "{refused:?}");
        assert!(details(&refused).retry, "{refused:?}");
        // What clients look at that retry by themselves.
        let pushback = refused.metadata().get("grpc-retry-pushback-ms");
        let pushback = pushback.and_then(|value| value.to_str().ok()?.parse().ok());
        let delay = u64::try_from(limits::RETRY_DELAY.as_millis()).ok();
        assert_eq!(pushback, delay, "{refused:?}");
    }
    // Each stream that is opened needs the room of one that was dropped, some with a message that
    // nobody has read.
    for number in 0..10 * OPEN_MAX {
        drop(open.remove(0));
        let mut stream = watch_when_there_is_room(&mut games, "dropped").await;
        if number % 2 == 0 {
            assert!(stream.message().await.expect("a snapshot").is_some());
        }
        open.push(stream);
    }
    drop(open);
    let request = wire::submit("dropped", Seat::White, resign());
    games.submit_action(request).await.expect("judged");
    let stream = watch_when_there_is_room(&mut games, "dropped").await;
    let heard = listen(stream, None).await;
    assert_eq!(heard.snapshot.map(|game| game.sequence), Some(1));
}

async fn try_watch(games: &mut Games, id: &str) -> Result<Streaming<Told>, Status> {
    let name = format!("games/{id}");
    let request = WatchGameRequest {
        name,
        ..WatchGameRequest::default()
    };
    let watched = games.watch_game(request).await;
    watched.map(tonic::Response::into_inner)
}

/// Opens a stream as soon as the service has heard that another was dropped.
async fn watch_when_there_is_room(games: &mut Games, id: &str) -> Streaming<Told> {
    let begun = tokio::time::Instant::now();
    loop {
        match try_watch(games, id).await {
            Ok(stream) => return stream,
            Err(status) => assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}"),
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "streams that were dropped still take room"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
