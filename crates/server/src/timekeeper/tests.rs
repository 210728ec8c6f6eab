//! Several timekeepers on one store, copies that are out of date, and records that are damaged.

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_record::convert::action::read_action;
use referee_record::read_creation;
use referee_store::{GameKey, NewGame, SqliteStore, Store};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::look_at_due;
use crate::desk::{Desk, PLATFORM, key_of};
use crate::limits;
use crate::pulse::{Pulse, us};

/// The games whose flags two timekeepers find at the same time.
const GAMES: usize = 24;

fn store() -> (Arc<dyn Store>, TempDir) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = SqliteStore::open(folder.path().join("referee.db")).expect("the store opens");
    (Arc::new(store), folder)
}

async fn desk(store: &Arc<dyn Store>) -> Arc<Desk> {
    let (looks, _) = mpsc::channel(1);
    let pulse = Pulse::begin(&**store).await.expect("the store writes");
    Arc::new(Desk::new(Arc::clone(store), looks, pulse))
}

fn control(pgn: &str) -> Option<v1::TimeControl> {
    Some(v1::TimeControl {
        pgn: pgn.to_owned(),
        ..v1::TimeControl::default()
    })
}

/// Creates a game in which the clock decides, and starts White's.
async fn begin(desk: &Desk, id: &str, white: &str, black: &str) {
    let game = v1::Game {
        rule_profile: Some(v1::RuleProfile {
            name: "lichess".into(),
            ..v1::RuleProfile::default()
        }),
        clock_settings: Some(v1::ClockSettings {
            white_time_control: control(white),
            black_time_control: control(black),
            ..v1::ClockSettings::default()
        }),
        ..v1::Game::default()
    };
    let request = v1::CreateGameRequest {
        game: Some(game),
        game_id: id.to_owned(),
        request_id: format!("create-{id}"),
    };
    let (genesis, game) = read_creation(&request).expect("the game can be played");
    let created = desk.create(&request, genesis, &game, id.to_owned()).await;
    created.expect("the game is created");
    act(
        desk,
        id,
        v1::Seat::Arbiter,
        Kind::StartGame(v1::StartGame {}),
    )
    .await;
}

async fn act(desk: &Desk, id: &str, seat: v1::Seat, kind: Kind) -> v1::SubmitActionResponse {
    let message = v1::Action {
        seat: seat.into(),
        request_id: uuid::Uuid::new_v4().to_string(),
        kind: Some(kind),
        ..v1::Action::default()
    };
    let submitted = read_action(&message).expect("the action can be read");
    let answer = desk.submit(id, message, submitted, desk.now_us()).await;
    answer.expect("the action is judged")
}

fn make_move(text: &str) -> Kind {
    Kind::MakeMove(v1::MakeMove {
        r#move: text.to_owned(),
        ..v1::MakeMove::default()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_timekeepers_record_each_flag_once() {
    let (store, _folder) = store();
    let desks = [desk(&store).await, desk(&store).await];
    for game in 0..GAMES {
        let id = format!("g{game}");
        begin(&desks[game % 2], &id, "0.1", "0.1").await;
        // Both have a copy, so that one of them will be out of date.
        for desk in &desks {
            desk.read(&id).await.expect("the game is there");
        }
    }
    sleep(Duration::from_millis(200) + limits::FLAG_SETTLING).await;
    let (_stop, is_stopping) = watch::channel(false);
    let rounds = desks.clone().map(|desk| {
        let is_stopping = is_stopping.clone();
        tokio::spawn(async move { look_at_due(&desk, &is_stopping).await })
    });
    for round in rounds {
        assert!(!round.await.expect("the round ends"), "no more is due");
    }
    for game in 0..GAMES {
        let id = format!("g{game}");
        let events = desks[0].events(&id, 0, 100).await.expect("the store reads");
        assert_eq!(events.len(), 2, "{events:#?}");
        let late = act(&desks[1], &id, v1::Seat::White, make_move("e4")).await;
        assert_eq!(late.sequence, 2, "{late:#?}");
    }
    let due = store.due(i64::MAX, 100).await;
    assert_eq!(due, Ok(Vec::new()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_is_out_of_date_lets_no_flag_fall() {
    let (store, _folder) = store();
    let (player, keeper) = (desk(&store).await, desk(&store).await);
    begin(&player, "g", "2", "600").await;
    // The timekeeper has its copy from before the move, in which White's clock runs.
    keeper.read("g").await.expect("the game is there");
    let moved = act(&player, "g", v1::Seat::White, make_move("e4")).await;
    assert_eq!(moved.sequence, 2, "{moved:#?}");
    sleep(Duration::from_millis(2_100) + limits::FLAG_SETTLING).await;
    keeper.look_at_clock("g").await.expect("the store works");
    let events = keeper.events("g", 0, 100).await.expect("the store reads");
    assert_eq!(events.len(), 2, "{events:#?}");
    // It comes up again at the deadline of Black, and not before.
    let standing = events[1].standing.clone().unwrap_or_default();
    let deadline = standing.clocks.unwrap_or_default().deadline;
    let deadline = deadline.expect("Black's clock runs");
    let deadline_us = deadline.seconds * 1_000_000 + i64::from(deadline.nanos) / 1_000;
    assert_eq!(store.due(deadline_us - 1, 100).await, Ok(Vec::new()));
    let due = store.due(deadline_us, 100).await.expect("the store reads");
    assert_eq!(due.len(), 1, "{due:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_game_stands_in_nobodys_way() {
    let (store, _folder) = store();
    let desk = desk(&store).await;
    let broken = NewGame {
        key: GameKey::new(PLATFORM, "broken"),
        request_id: "create-broken".into(),
        content_hash: [0; 32],
        genesis: vec![0xff; 7],
        state: 1,
        labels: Vec::new(),
        create_time_us: 0,
        deadline_us: Some(0),
    };
    store.create(broken).await.expect("the store takes it");
    begin(&desk, "sound", "0.1", "0.1").await;
    sleep(Duration::from_millis(200) + limits::FLAG_SETTLING).await;
    let (_stop, is_stopping) = watch::channel(false);
    let before_us = desk.now_us();
    look_at_due(&desk, &is_stopping).await;
    let events = desk.events("sound", 0, 100).await.expect("the store reads");
    assert_eq!(events.len(), 2, "{events:#?}");
    let retry_us = before_us + us(limits::FLAG_RETRY);
    assert_eq!(store.due(retry_us - 1, 100).await, Ok(Vec::new()));
    let due = store.due(i64::MAX, 100).await.expect("the store reads");
    assert_eq!(due[0].key, key_of("broken"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silence_of_the_process_is_noticed_before_anything_is_judged() {
    let (store, _folder) = store();
    let desk = desk(&store).await;
    begin(&desk, "g", "4", "4").await;
    // Nobody gives signs of life here, as if the process had stood still.
    sleep(limits::PULSE_SILENCE_MAX + Duration::from_millis(500)).await;
    let moved = act(&desk, "g", v1::Seat::White, make_move("e4")).await;
    let ruling = moved.ruling.unwrap_or_default();
    assert_eq!(
        ruling.verdict(),
        v1::ruling::Verdict::Accepted,
        "{ruling:?}"
    );
    let events = desk.events("g", 0, 100).await.expect("the store reads");
    let causes: Vec<_> = events.iter().flat_map(|event| &event.ledger).collect();
    let down = causes
        .iter()
        .filter(|line| line.cause() == v1::LedgerCause::DownTime);
    assert_eq!(down.count(), 1, "{events:#?}");
    let spans = store.down_spans(0, 10).await.expect("the store reads");
    assert_eq!(spans.len(), 1, "{spans:?}");
}
