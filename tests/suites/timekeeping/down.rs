//! Time in which the service was down is charged to nobody, and flags fall after it as before.

use std::path::Path;
use std::time::Duration;

use referee_api::v1::action::Kind;
use referee_api::v1::referee_finding::Kind as Found;
use referee_api::v1::ruling::Verdict;
use referee_api::v1::{
    ClockKeeper, Color, GameEvent, GameResult, GetGameRequest, LedgerCause, PauseGame, Seat,
    Termination,
};
use referee_server::limits::{PROCESS_HEARTBEAT_INTERVAL, PROCESS_SILENCE_MAX};
use referee_store::{Beat, Liveness, ReplicaId, SqliteStore, Store};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::on_both;
use referee_tests::wire::make_move;
use tokio::task::JoinSet;

use super::{
    CLOCK_DECIDES, act, begin, check_ledger, deadline_ms, event_ms, events, found, lines_of, ms,
    timed, verify, wait_for_end,
};

/// The games that are due at the same time.
const DUE_AT_ONCE: usize = 1_000;

on_both!(
    nobody_is_charged_for_the_time_after_a_kill,
    a_flag_falls_by_itself_after_a_restart,
    nobody_is_charged_while_the_process_stands_still,
    a_short_pause_is_charged_to_nobody,
);

/// Writes into the store of a dead process that it lived until a time.
async fn live_until(folder: &Path, at_ms: i64) {
    let store = SqliteStore::open(folder.join("referee.db")).expect("nobody has it open");
    let last_us = store.last_beat().await.expect("the store reads");
    // The first sign of life is no later than the last one of the process that is dead, so that
    // there is no silence between the two.
    for at_us in [last_us.expect("it lived"), at_ms * 1_000] {
        let beat = Beat {
            replica: ReplicaId(1),
            at_us,
            silence_max_us: i64::MAX,
            stopping: false,
        };
        let beaten = store.beat(beat).await.expect("the store writes");
        assert_eq!(beaten.found, None);
    }
    assert_eq!(store.last_beat().await, Ok(Some(at_ms * 1_000)));
    store.close().await.expect("the store closes");
}

async fn nobody_is_charged_for_the_time_after_a_kill(referee: Deployment) {
    let mut games = referee.games().await;
    // The short one would be over during the time that the service is down.
    begin(&mut games, "clock", timed(CLOCK_DECIDES, "8")).await;
    begin(&mut games, "observed", timed("fide_standard", "8")).await;
    begin(&mut games, "paused", timed(CLOCK_DECIDES, "8")).await;
    act(
        &mut games,
        "paused",
        Seat::Arbiter,
        Kind::PauseGame(PauseGame::default()),
    )
    .await;
    let mut game = timed(CLOCK_DECIDES, "8");
    let settings = game.clock_settings.as_mut().expect("it was set");
    settings.keeper = ClockKeeper::Platform.into();
    begin(&mut games, "platform", game).await;
    referee.pass(Duration::from_secs(4)).await;
    let killed_ms = referee.now_ms();
    let referee = referee.die(Duration::from_secs(9)).await;

    let mut games = referee.games().await;
    for id in ["clock", "observed"] {
        // The question alone makes the service look at the clock.
        read(&mut games, id).await;
        let moved = act(&mut games, id, Seat::White, make_move("e4")).await;
        assert_eq!(
            moved.ruling.unwrap_or_default().verdict(),
            Verdict::Accepted,
            "{id}"
        );
        let record = events(&mut games, id).await;
        check_down_time(&record, killed_ms);
        check_ledger(&record, 8_000);
        verify(&referee, id).await;
    }
    for id in ["paused", "platform"] {
        let record = events(&mut games, id).await;
        assert!(
            record.iter().all(|event| found(event).is_none()),
            "{record:#?}"
        );
    }
    // It is recorded once.
    read(&mut games, "clock").await;
    let record = events(&mut games, "clock").await;
    assert_eq!(lines_of(&record, LedgerCause::DownTime).len(), 1);
}

async fn read(games: &mut Games, id: &str) {
    let name = format!("games/{id}");
    let asked = games.get_game(GetGameRequest { name }).await;
    asked.expect("the game is there");
}

/// Checks the record of a game that was begun, whose service then died and came back, and in which
/// a move was made after that.
fn check_down_time(record: &[GameEvent], killed_ms: i64) {
    let [start, down, moved] = record else {
        panic!("{record:#?}")
    };
    let Some(Found::DownTime(span)) = found(down) else {
        panic!("{down:#?}")
    };
    let [line] = lines_of(record, LedgerCause::DownTime)[..] else {
        panic!("{record:#?}")
    };
    let ran_ms = killed_ms - event_ms(start);
    let charged_ms = ms(line.charged);
    assert!(charged_ms <= ran_ms, "{charged_ms} of {ran_ms} ms");
    // At most one interval is lost, and what the machine was slow by.
    let lost_ms = (PROCESS_HEARTBEAT_INTERVAL.as_millis() + 2_000) as i64;
    assert!(
        charged_ms >= ran_ms - lost_ms,
        "{charged_ms} of {ran_ms} ms"
    );
    assert_eq!(ms(line.elapsed), charged_ms + ms(Some(span)));
    assert_eq!(deadline_ms(down), deadline_ms(start) + ms(Some(span)));
    assert!(event_ms(moved) >= event_ms(down));
}

async fn a_flag_falls_by_itself_after_a_restart(referee: Deployment) {
    let mut games = referee.games().await;
    begin(&mut games, "restart", timed(CLOCK_DECIDES, "5")).await;
    act(&mut games, "restart", Seat::White, make_move("e4")).await;
    let referee = referee.restart(Duration::from_secs(1)).await;

    let mut games = referee.games().await;
    let record = wait_for_end(&referee, &mut games, "restart").await;
    let [_, moved, down, fall] = &record[..] else {
        panic!("{record:#?}")
    };
    let Some(Found::DownTime(span)) = found(down) else {
        panic!("{down:#?}")
    };
    assert_eq!(found(fall), Some(Found::FlagFallen(Color::Black.into())));
    assert!(ms(Some(span)) >= 1_000, "{span:?}");
    assert_eq!(event_ms(fall), deadline_ms(moved) + ms(Some(span)) + 1);
    let outcome = fall.outcome.clone().unwrap_or_default();
    assert_eq!(outcome.result(), GameResult::WhiteWins);
    check_ledger(&record, 5_000);
    verify(&referee, "restart").await;
}

async fn nobody_is_charged_while_the_process_stands_still(referee: Deployment) {
    let mut games = referee.games().await;
    begin(&mut games, "frozen", timed(CLOCK_DECIDES, "7")).await;
    let still = PROCESS_SILENCE_MAX + Duration::from_secs(5);
    referee.stand_still(still).await;
    let moved = act(&mut games, "frozen", Seat::White, make_move("e4")).await;
    let ruling = moved.ruling.unwrap_or_default();
    assert_eq!(ruling.verdict(), Verdict::Accepted, "{ruling:?}");
    let record = events(&mut games, "frozen").await;
    assert_eq!(
        lines_of(&record, LedgerCause::DownTime).len(),
        1,
        "{record:#?}"
    );
    check_ledger(&record, 7_000);
    verify(&referee, "frozen").await;
}

/// Shorter than what the signs of life alone can tell.
async fn a_short_pause_is_charged_to_nobody(referee: Deployment) {
    let mut games = referee.games().await;
    begin(&mut games, "bullet", timed(CLOCK_DECIDES, "10")).await;
    let still = Duration::from_secs(3);
    referee.stand_still(still).await;
    let moved = act(&mut games, "bullet", Seat::White, make_move("e4")).await;
    let ruling = moved.ruling.unwrap_or_default();
    assert_eq!(ruling.verdict(), Verdict::Accepted, "{ruling:?}");
    let record = events(&mut games, "bullet").await;
    let [start, down, moved] = &record[..] else {
        panic!("{record:#?}")
    };
    let Some(Found::DownTime(span)) = found(down) else {
        panic!("{down:#?}")
    };
    // All but the tenth of a second after which the process looks at itself, and what it worked.
    let given_ms = ms(Some(span));
    let still_ms = still.as_millis() as i64;
    assert!(given_ms > still_ms - 600, "{given_ms} of {still_ms} ms");
    assert!(given_ms < event_ms(moved) - event_ms(start), "{record:#?}");
    check_ledger(&record, 10_000);
    verify(&referee, "bullet").await;
}

/// A time at which the service was alive for the last time is written into its store, which only a
/// process that is dead leaves to others: of the binary alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flag_that_fell_before_the_kill_has_fallen() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let referee = Deployment::binary_in(folder.path());
    let mut games = referee.games().await;
    begin(&mut games, "fell", timed(CLOCK_DECIDES, "30")).await;
    let before = events(&mut games, "fell").await;
    drop(referee);
    // It died between the deadline and the moment at which it would have written so.
    let deadline_ms = deadline_ms(&before[0]);
    live_until(folder.path(), deadline_ms + 300).await;

    let referee = Deployment::binary_in(folder.path());
    let mut games = referee.games().await;
    let record = wait_for_end(&referee, &mut games, "fell").await;
    let [_, fall] = &record[..] else {
        panic!("{record:#?}")
    };
    assert_eq!(found(fall), Some(Found::FlagFallen(Color::White.into())));
    assert_eq!(event_ms(fall), deadline_ms + 1);
    check_ledger(&record, 30_000);
    verify(&referee, "fell").await;
}

/// As above: of the binary alone. Two servers let as many flags fall in `two_servers`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_games_that_are_due_at_once_end_once_each() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let referee = Deployment::binary_in(folder.path());
    let mut tasks = JoinSet::new();
    let ids: Vec<String> = (0..DUE_AT_ONCE)
        .map(|number| format!("due-{number}"))
        .collect();
    for some in ids.chunks(DUE_AT_ONCE / 20) {
        let (mut games, some) = (referee.games().await, some.to_vec());
        tasks.spawn(async move {
            let mut deadline = 0;
            for id in some {
                begin(&mut games, &id, timed(CLOCK_DECIDES, "300")).await;
                let record = events(&mut games, &id).await;
                deadline = deadline.max(deadline_ms(&record[0]));
            }
            deadline
        });
    }
    let mut last_ms = 0;
    while let Some(deadline) = tasks.join_next().await {
        last_ms = last_ms.max(deadline.expect("the games begin"));
    }
    drop(referee);
    // It lived on until all flags had fallen, but never came to write one of them.
    live_until(folder.path(), last_ms + 500).await;

    let referee = Deployment::binary_in(folder.path());
    let mut games = referee.games().await;
    for id in &ids {
        let record = wait_for_end(&referee, &mut games, id).await;
        assert_eq!(record.len(), 2, "{record:#?}");
        let outcome = record[1].outcome.clone().unwrap_or_default();
        assert_eq!(outcome.termination(), Termination::TimeForfeit);
        assert_eq!(event_ms(&record[1]), deadline_ms(&record[0]) + 1);
        check_ledger(&record, 300_000);
    }
}
