//! Flags and down time, where two servers keep the time of the same games.

use std::time::Duration;

use referee_api::v1::referee_finding::Kind as Found;
use referee_api::v1::ruling::Reason;
use referee_api::v1::{
    ClockSettings, Game, GameEvent, LedgerCause, RuleProfile, Seat, StartGame, Termination,
    TimeControl, action, game_time,
};
use referee_server::limits::{FLAG_RETRY, FLAG_SETTLING};
use referee_store::{GameKey, NewGame};
use referee_tests::pair::{Pair, PairOptions};
use referee_tests::wire::make_move;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use super::disk::{pair_on_disk, spawn_act, wait_for_held};
use super::{Games, act, begin, both, create_as, events, read};

/// The games whose flags fall at the same time.
const DUE_AT_ONCE: usize = 200;

/// The games that one server has a copy of from before their clocks ran.
const STALE: usize = 20;

/// How long a claim on a game that is due may last that this test makes, in microseconds.
const HOLD_US: i64 = 1;

fn control(pgn: &str) -> Option<TimeControl> {
    Some(TimeControl {
        pgn: pgn.to_owned(),
        ..TimeControl::default()
    })
}

/// A game in which the clock decides by itself.
pub(super) fn timed(white: &str, black: &str) -> Game {
    Game {
        rule_profile: Some(RuleProfile {
            name: "lichess".into(),
            ..RuleProfile::default()
        }),
        clock_settings: Some(ClockSettings {
            white_time_control: control(white),
            black_time_control: control(black),
            ..ClockSettings::default()
        }),
        ..Game::default()
    }
}

pub(super) async fn begin_as(games: &mut Games, id: &str, game: Game) {
    create_as(games, id, game).await;
    begin(games, id).await;
}

fn found(event: &GameEvent) -> Option<Found> {
    match event.action.as_ref()?.kind.as_ref()? {
        action::Kind::RefereeFinding(finding) => finding.kind,
        _ => None,
    }
}

/// The down times on record, in milliseconds.
fn down_times(events: &[GameEvent]) -> Vec<i64> {
    let spans = events.iter().filter_map(|event| match found(event) {
        Some(Found::DownTime(span)) => {
            Some(span.seconds * 1_000 + i64::from(span.nanos) / 1_000_000)
        }
        _ => None,
    });
    spans.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn down_time_that_one_finds_is_settled_by_the_other() {
    let pair = Pair::start().await;
    let mut servers = both(&pair).await;
    for id in ["by-0", "by-1", "by-both"] {
        begin_as(&mut servers[0], id, timed("8", "8")).await;
        for games in &mut servers {
            read(games, id).await;
        }
    }
    for round in 1..3 {
        pair.pass(Duration::from_secs(1)).await;
        pair.fall_silent(Duration::from_secs(20));
        // One of the two finds the span. The clock of a game is stopped for it whichever server
        // the game is played on, and once.
        let (seat, text) = [(Seat::White, "e4"), (Seat::Black, "e5")][round - 1];
        for (id, server) in [("by-0", 0), ("by-1", 1), ("by-both", round % 2)] {
            let moved = act(&mut servers[server], id, seat, make_move(text)).await;
            assert_eq!(
                moved.ruling.unwrap_or_default().reason(),
                Reason::Unspecified
            );
            for games in &mut servers {
                read(games, id).await;
            }
            let record = events(&mut servers[1 - server], id).await;
            assert_eq!(record.len(), 1 + 2 * round, "{record:#?}");
            let downs = down_times(&record);
            assert_eq!(downs.len(), round, "{record:#?}");
            for down_ms in downs {
                // From the last sign of life on.
                assert!((20_000..=21_500).contains(&down_ms), "{down_ms} ms");
            }
            let lines = record.iter().flat_map(|event| &event.ledger);
            let lines = lines.filter(|line| line.cause() == LedgerCause::DownTime);
            assert_eq!(lines.count(), round, "{record:#?}");
        }
        let spans = pair.store().down_spans(0, 10).await.expect("read");
        assert_eq!(spans.len(), round, "{spans:?}");
    }
}

/// One server has a copy from before the clock ran, in which nothing is owed, and does not know
/// better until it writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_out_of_date_is_owed_down_time_too() {
    let pair = Pair::start().await;
    let [mut one, mut two] = both(&pair).await;
    let ids: Vec<String> = (0..STALE).map(|number| format!("stale-{number}")).collect();
    for id in &ids {
        create_as(&mut one, id, timed("8", "8")).await;
        read(&mut one, id).await;
    }
    for id in &ids {
        begin(&mut two, id).await;
    }
    pair.fall_silent(Duration::from_secs(20));
    for id in &ids {
        let moved = act(&mut one, id, Seat::White, make_move("e4")).await;
        let reason = moved.ruling.unwrap_or_default().reason();
        assert_eq!(reason, Reason::Unspecified, "{id}");
        let record = events(&mut two, id).await;
        assert_eq!(down_times(&record), [20_000], "{record:#?}");
    }
}

/// A clock that was started before a silence and comes to the record after it: what is owed is not
/// asked for once, but as long as the game stands as it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_waited_through_a_silence_is_owed_down_time() {
    let (pair, disk) = pair_on_disk().await;
    let [mut one, _] = both(&pair).await;
    create_as(&mut one, "waited", timed("8", "8")).await;
    // The start waits for its turn behind a refusal that waits for the disk.
    disk.hold();
    let refused = spawn_act(&one, "waited", Seat::Black, make_move("e5"));
    wait_for_held(&disk).await;
    let started = spawn_act(
        &one,
        "waited",
        Seat::Arbiter,
        action::Kind::StartGame(StartGame {}),
    );
    tokio::time::sleep(Duration::from_millis(200)).await;
    pair.fall_silent(Duration::from_secs(20));
    disk.heal();
    refused.await.expect("it ends").expect("judged");
    let started = started.await.expect("it ends").expect("judged");
    assert_eq!(started.sequence, 1, "{started:?}");
    let moved = act(&mut one, "waited", Seat::White, make_move("e4")).await;
    let reason = moved.ruling.clone().unwrap_or_default().reason();
    assert_eq!(reason, Reason::Unspecified, "{moved:?}");
    let record = events(&mut one, "waited").await;
    assert_eq!(down_times(&record), [20_000], "{record:#?}");
}

/// A server that stops is down from then on, however short, and although a stream was open to the
/// last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_stop_say_so_and_do_nothing_more() {
    let mut pair = Pair::start_with(PairOptions {
        drain_timeout: Duration::from_millis(300),
        ..PairOptions::default()
    })
    .await;
    // Nobody ends this stream but the client.
    let mut health = HealthClient::new(pair.server(0).connect().await);
    let watched = health.watch(HealthCheckRequest::default()).await;
    let _open = watched.expect("watched").into_inner();
    let [mut one, _] = both(&pair).await;
    begin_as(&mut one, "stopped", timed("8", "8")).await;
    // Shorter than the silence that a process may leave that goes on.
    pair.restart(Duration::from_secs(3)).await;
    let spans = pair.store().down_spans(0, 10).await.expect("read");
    let lengths: Vec<i64> = spans.iter().map(|span| span.to_us - span.from_us).collect();
    assert_eq!(lengths, [3_000_000], "nobody gave a sign of life");
    let [mut one, _] = both(&pair).await;
    let moved = act(&mut one, "stopped", Seat::White, make_move("e4")).await;
    assert_eq!(moved.sequence, 3, "{moved:?}");
}

/// A server whose future is dropped leaves no job behind that works on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_dropped_does_nothing_more() {
    let mut pair = Pair::start().await;
    let [mut one, mut two] = both(&pair).await;
    begin_as(&mut one, "dropped", timed("2", "2")).await;
    let dropped = pair.drop_first().await;
    // A last one may be on its way.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let last_us = dropped.last_beat_us();
    pair.pass(Duration::from_secs(4)).await;
    assert_eq!(dropped.last_beat_us(), last_us, "it gives signs of life");
    // The other one goes on.
    let record = wait_for_end(&pair, &mut two, "dropped").await;
    assert_eq!(record.len(), 2, "{record:#?}");
    assert_eq!(dropped.reads_of("dropped"), 0, "it looks at clocks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_flag_is_written_once() {
    let pair = Pair::start().await;
    let mut servers = both(&pair).await;
    for number in 0..DUE_AT_ONCE {
        let id = format!("due-{number}");
        begin_as(&mut servers[number % 2], &id, timed("5", "5")).await;
        // Both have a copy where they keep it, so that one will be out of date.
        read(&mut servers[1 - number % 2], &id).await;
    }
    pair.pass(Duration::from_secs(5) + FLAG_SETTLING).await;
    for number in 0..DUE_AT_ONCE {
        let id = format!("due-{number}");
        let record = wait_for_end(&pair, &mut servers[number % 2], &id).await;
        assert_eq!(record.len(), 2, "{record:#?}");
        assert!(matches!(found(&record[1]), Some(Found::FlagFallen(_))));
        let late = act(
            &mut servers[1 - number % 2],
            &id,
            Seat::White,
            make_move("e4"),
        )
        .await;
        assert_eq!(late.sequence, 2, "{late:#?}");
        let reason = late.ruling.unwrap_or_default().reason();
        assert_eq!(reason, Reason::GameOver);
    }
    let now_us = pair.now_us();
    let due = pair.store().claim_due(now_us, i64::MAX, HOLD_US, 100).await;
    assert_eq!(due, Ok(Vec::new()), "no clock runs any more");
}

pub(super) async fn wait_for_end(pair: &Pair, games: &mut Games, id: &str) -> Vec<GameEvent> {
    let ends = async {
        loop {
            let events = events(games, id).await;
            let last = events.last().and_then(|event| event.outcome.clone());
            if last.unwrap_or_default().termination() != Termination::Unspecified {
                return events;
            }
            pair.pass(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::time::timeout(super::PATIENCE, ends).await;
    ended.unwrap_or_else(|_| panic!("{id} does not end"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_out_of_date_lets_no_flag_fall() {
    let pair = Pair::start().await;
    let [mut one, mut two] = both(&pair).await;
    begin_as(&mut one, "moved", timed("2", "600")).await;
    // The other has its copy from before the move, in which White's clock runs.
    read(&mut two, "moved").await;
    let moved = act(&mut one, "moved", Seat::White, make_move("e4")).await;
    assert_eq!(moved.sequence, 2, "{moved:#?}");
    pair.pass(Duration::from_secs(4) + FLAG_SETTLING).await;
    let record = events(&mut two, "moved").await;
    assert_eq!(record.len(), 2, "{record:#?}");
    // It comes up again at the deadline of Black, and not before.
    let conduct = record[1].conduct.clone().unwrap_or_default();
    let deadline = conduct.clocks.unwrap_or_default().deadline_time;
    let deadline = deadline.expect("Black's clock runs");
    let Some(game_time::Kind::Instant(deadline)) = deadline.kind else {
        panic!("{deadline:?} is no instant");
    };
    let deadline_us = deadline.seconds * 1_000_000 + i64::from(deadline.nanos) / 1_000;
    let now_us = pair.now_us();
    let claim = |until_us| pair.store().claim_due(now_us, until_us, HOLD_US, 100);
    assert_eq!(claim(deadline_us - 1).await, Ok(Vec::new()));
    let due = claim(deadline_us).await.expect("claimed");
    assert_eq!(due.len(), 1, "{due:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_game_stands_in_nobodys_way() {
    let pair = Pair::start().await;
    let [mut one, _] = both(&pair).await;
    begin_as(&mut one, "sound", timed("2", "2")).await;
    let platform = "default";
    let broken = NewGame {
        key: GameKey::new(platform, "broken"),
        request_id: "create-broken".into(),
        content_hash: [0; 32],
        genesis: vec![0xff; 7],
        private: None,
        state: 1,
        labels: Vec::new(),
        create_time_us: 0,
        deadline_us: Some(0),
    };
    let created = pair.store().create(broken).await;
    created.expect("the store takes it");
    pair.pass(Duration::from_secs(2) + FLAG_SETTLING).await;
    let record = wait_for_end(&pair, &mut one, "sound").await;
    assert_eq!(record.len(), 2, "{record:#?}");
    // It is put off, by either server, and comes up again.
    let now_us = pair.now_us();
    let claim = |until_us| pair.store().claim_due(now_us, until_us, HOLD_US, 100);
    assert_eq!(claim(now_us).await, Ok(Vec::new()));
    let retry_us = now_us + FLAG_RETRY.as_micros() as i64;
    let due = claim(retry_us).await.expect("claimed");
    assert_eq!(due.len(), 1, "{due:?}");
    assert_eq!(due[0].key.game, "broken");
}
