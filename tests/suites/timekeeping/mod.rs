//! The referee keeps time, by the real clock through the real binary and by virtual time in two
//! servers over one store: flags that fall without anybody, moves in time and too late, bonuses,
//! pauses, and time in which the service was down.
//!
//! Nothing here asserts that something is fast. What is asserted is read from the record: times
//! and the lines of the ledger, which must add up to the millisecond.

mod down;
mod flags;
mod healing;

use std::collections::HashMap;
use std::time::Duration;

use referee_api::v1::action::Kind;
use referee_api::v1::referee_finding::Kind as Found;
use referee_api::v1::{
    ClockSettings, Color, Game, GameEvent, GameTime, LedgerCause, LedgerLine,
    ListGameEventsRequest, RefereeFinding, RuleProfile, Seat, StartGame, SubmitActionResponse,
    TimeControl, game_time,
};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::process::binary;
use referee_tests::wire;
use tokio::process::Command;

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(90);

/// A profile in which the clock decides by itself.
const CLOCK_DECIDES: &str = "lichess";

/// A game under a profile with a time control for both.
fn timed(profile: &str, pgn: &str) -> Game {
    let time_control = Some(TimeControl {
        pgn: pgn.to_owned(),
        ..TimeControl::default()
    });
    Game {
        rule_profile: Some(RuleProfile {
            name: profile.to_owned(),
            ..RuleProfile::default()
        }),
        clock_settings: Some(ClockSettings {
            time_control,
            ..ClockSettings::default()
        }),
        ..Game::default()
    }
}

async fn act(games: &mut Games, id: &str, seat: Seat, kind: Kind) -> SubmitActionResponse {
    let request = wire::submit(id, seat, kind);
    let judged = games.submit_action(request).await;
    judged.expect("the action is judged").into_inner()
}

/// Creates a game and starts the clock of White.
async fn begin(games: &mut Games, id: &str, game: Game) {
    let created = games.create_game(wire::create(id, game)).await;
    created.expect("the game is created");
    let answer = act(games, id, Seat::Arbiter, Kind::StartGame(StartGame {})).await;
    assert_eq!(answer.sequence, 1, "{answer:?}");
}

/// Reads the record. That takes nobody to the desk, so that nothing is judged for it.
async fn events(games: &mut Games, id: &str) -> Vec<GameEvent> {
    let request = ListGameEventsRequest {
        parent: format!("games/{id}"),
        page_size: 1_000,
        page_token: String::new(),
    };
    let listed = games.list_game_events(request).await;
    listed.expect("the events are listed").into_inner().events
}

/// Waits for the end of a game that nobody touches, and returns its record.
async fn wait_for_end(referee: &Deployment, games: &mut Games, id: &str) -> Vec<GameEvent> {
    let ends = async {
        loop {
            let events = events(games, id).await;
            if events.last().is_some_and(is_end) {
                return events;
            }
            referee.pass(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::time::timeout(PATIENCE, ends).await;
    ended.unwrap_or_else(|_| panic!("{id} does not end"))
}

fn is_end(event: &GameEvent) -> bool {
    let outcome = event.outcome.clone().unwrap_or_default();
    outcome.termination() != referee_api::v1::Termination::Unspecified
}

/// What the referee found in an event by itself.
fn found(event: &GameEvent) -> Option<Found> {
    let action = event.action.as_ref()?;
    let Some(Kind::RefereeFinding(RefereeFinding { kind })) = &action.kind else {
        return None;
    };
    assert_eq!(action.seat(), Seat::Referee);
    assert!(
        action.request_id.contains(' '),
        "a caller could send that id"
    );
    *kind
}

fn ms(duration: Option<prost_types::Duration>) -> i64 {
    let duration = duration.expect("the duration is set");
    assert_eq!(duration.nanos % 1_000_000, 0, "{duration:?}");
    duration.seconds * 1_000 + i64::from(duration.nanos) / 1_000_000
}

/// Returns a point of the time line of a game that the referee keeps the time of, in milliseconds
/// since 1970.
fn line_ms(time: Option<GameTime>) -> i64 {
    let kind = time.and_then(|time| time.kind);
    let Some(game_time::Kind::Instant(time)) = kind else {
        panic!("{kind:?} is no instant");
    };
    time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000
}

/// When an event happened, in milliseconds since 1970.
fn event_ms(event: &GameEvent) -> i64 {
    let time = event.event_time.expect("an event has a time");
    time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000
}

/// Exports the record of a game and lets `referee verify` judge it again.
async fn verify(referee: &Deployment, id: &str) {
    let folder = tempfile::tempdir().expect("a folder for the record");
    let file = folder.path().join("record");
    let server = format!("http://{}", referee.address());
    let name = format!("games/{id}");
    let exported = Command::new(binary())
        .args(["export", &name, "--server", &server, "--output"])
        .arg(&file)
        .status()
        .await;
    assert!(exported.expect("the binary was built").success());
    let verified = Command::new(binary()).arg("verify").arg(&file).output();
    let verified = verified.await.expect("the binary was built");
    let said = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "{said}");
}

/// When the flag of the running clock falls after an event.
fn deadline_ms(event: &GameEvent) -> i64 {
    let conduct = event.conduct.clone().unwrap_or_default();
    line_ms(conduct.clocks.unwrap_or_default().deadline_time)
}

fn lines_of(events: &[GameEvent], cause: LedgerCause) -> Vec<LedgerLine> {
    let lines = events.iter().flat_map(|event| event.ledger.clone());
    lines.filter(|line| line.cause() == cause).collect()
}

/// Checks that the record of a game adds up, both sides having begun with so much time: every
/// line follows from the one before it, what passed on the running clock is the time between the
/// moments at which it was settled, and the clocks stand where the lines lead.
fn check_ledger(events: &[GameEvent], begin_ms: i64) {
    let mut left = HashMap::from([(Color::White, begin_ms), (Color::Black, begin_ms)]);
    let mut since: Option<i64> = None;
    let mut before_ms = i64::MIN;
    for event in events {
        let at_ms = event_ms(event);
        assert!(at_ms >= before_ms, "time goes backwards: {event:#?}");
        before_ms = at_ms;
        for line in &event.ledger {
            let (elapsed, charged) = (ms(line.elapsed), ms(line.charged));
            let side = left.get_mut(&line.side()).expect("a line has a side");
            *side += ms(line.credited) - charged;
            assert_eq!(*side, ms(line.left), "{event:#?}");
            assert!(
                charged <= elapsed || line.cause() == LedgerCause::Penalty,
                "{line:?}"
            );
            let received = line_ms(line.received_time);
            if elapsed > 0 {
                assert_eq!(Some(received - elapsed), since, "{event:#?}");
                since = Some(received);
            }
            // A flag that an action finds down fell before it; it is seen down a moment later.
            let is_flag = line.cause() == LedgerCause::Flag;
            assert!(
                received == at_ms || is_flag && received < at_ms,
                "{event:#?}"
            );
        }
        let clocks = event.conduct.clone().unwrap_or_default().clocks;
        let clocks = clocks.expect("a timed game has clocks");
        for (side, clock) in [(Color::White, &clocks.white), (Color::Black, &clocks.black)] {
            let clock = (*clock).unwrap_or_default();
            assert_eq!(ms(clock.time_left), left[&side], "{event:#?}");
        }
        since = clocks.since_time.map(|since| line_ms(Some(since)));
    }
}
