//! A clock that once ran ahead: what is right again goes on as if nothing had been, and games of
//! those days go on where they were.

use std::time::Duration;

use referee_api::v1::referee_finding::Kind as Found;
use referee_api::v1::ruling::Verdict;
use referee_api::v1::{Color, GameEvent, LedgerCause, Seat};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::wire::make_move;

use super::{
    CLOCK_DECIDES, act, begin, check_ledger, deadline_ms, event_ms, events, found, lines_of, ms,
    timed, verify, wait_for_end,
};

/// By how much the clock is wrong.
const AHEAD: Duration = Duration::from_secs(2 * 86_400);

const SECOND: Duration = Duration::from_secs(1);

/// A move that stands, and the record after it.
async fn play(games: &mut Games, id: &str, seat: Seat, san: &str) -> Vec<GameEvent> {
    let moved = act(games, id, seat, make_move(san)).await;
    let ruling = moved.ruling.unwrap_or_default();
    assert_eq!(ruling.verdict(), Verdict::Accepted, "{id}: {ruling:?}");
    events(games, id).await
}

/// What the newest event has charged for the time since the one before, in milliseconds.
fn charged_ms(record: &[GameEvent]) -> i64 {
    let last = record.last().expect("there are events");
    let line = last.ledger.first().expect("a move is charged");
    ms(line.charged)
}

async fn pass(referee: &Deployment, seconds: u32) {
    referee.pass(SECOND * seconds).await;
}

fn is_in_order(record: &[GameEvent]) -> bool {
    record.is_sorted_by(|one, next| event_ms(one) <= event_ms(next))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_ran_ahead_heals() {
    let referee = Deployment::pair().await;
    let mut games = referee.games().await;
    begin(&mut games, "before", timed(CLOCK_DECIDES, "600")).await;
    pass(&referee, 2).await;

    // A start at which the clock is two days ahead.
    let referee = referee.restart(AHEAD).await;
    let mut games = referee.games().await;
    begin(&mut games, "ahead", timed(CLOCK_DECIDES, "30")).await;
    pass(&referee, 4).await;
    let record = play(&mut games, "ahead", Seat::White, "e4").await;
    assert_eq!(charged_ms(&record), 4_000);
    pass(&referee, 3).await;

    // And one at which it is right again.
    let Deployment::Pair(mut pair) = referee else {
        panic!("it is a pair")
    };
    pair.restart_set_back(AHEAD).await;
    let referee = Deployment::Pair(pair);
    let mut games = referee.games().await;
    let right_ms = referee.now_ms();
    begin(&mut games, "after", timed(CLOCK_DECIDES, "30")).await;
    pass(&referee, 5).await;
    let record = play(&mut games, "after", Seat::White, "e4").await;
    assert_eq!(charged_ms(&record), 5_000, "{record:#?}");
    assert!(
        event_ms(&record[0]) - right_ms < 60_000,
        "its times are right"
    );
    assert!(lines_of(&record, LedgerCause::DownTime).is_empty());

    // Not frozen, and nothing of it lost: three seconds before and five after the step.
    let record = play(&mut games, "ahead", Seat::Black, "e5").await;
    assert_eq!(charged_ms(&record), 8_000, "{record:#?}");
    assert!(is_in_order(&record), "{record:#?}");

    // Ten seconds were served in all, and two days were not.
    let record = play(&mut games, "before", Seat::White, "e4").await;
    let [down] = lines_of(&record, LedgerCause::DownTime)[..] else {
        panic!("{record:#?}")
    };
    let charged = ms(down.charged) + charged_ms(&record);
    assert!(
        (2_000..=14_000).contains(&charged),
        "{charged}: {record:#?}"
    );
    assert!(is_in_order(&record), "{record:#?}");

    // Flags fall by themselves, to the millisecond, in games of both days.
    for (id, left) in [("ahead", Color::White), ("after", Color::Black)] {
        let before = events(&mut games, id).await;
        let deadline_ms = deadline_ms(before.last().expect("there are events"));
        let record = wait_for_end(&referee, &mut games, id).await;
        let fall = record.last().expect("there are events");
        assert_eq!(found(fall), Some(Found::FlagFallen(left.into())), "{id}");
        assert_eq!(event_ms(fall), deadline_ms + 1, "{id}");
        check_ledger(&record, 30_000);
        verify(&referee, id).await;
    }
    verify(&referee, "before").await;

    // What comes later is charged and given back as ever.
    begin(&mut games, "later", timed(CLOCK_DECIDES, "60")).await;
    pass(&referee, 2).await;
    referee.stand_still(SECOND * 9).await;
    let record = play(&mut games, "later", Seat::White, "e4").await;
    let [down] = lines_of(&record, LedgerCause::DownTime)[..] else {
        panic!("{record:#?}")
    };
    let charged = ms(down.charged) + charged_ms(&record);
    assert!((2_000..=3_000).contains(&charged), "{charged}: {record:#?}");
}
