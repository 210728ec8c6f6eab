//! Flags, moves in time and too late, bonuses and pauses.

use std::time::Duration;

use referee_api::v1::action::Kind;
use referee_api::v1::play_game_request::Kind as Said;
use referee_api::v1::play_game_response::Kind as Played;
use referee_api::v1::referee_finding::Kind as Found;
use referee_api::v1::ruling::{Reason, Verdict};
use referee_api::v1::watch_game_response::Kind as Told;
use referee_api::v1::{
    BonusMode, Color, GameEvent, GameResult, JoinGame, LedgerCause, PauseGame, PlayGameRequest,
    ReportFlag, ResumeGame, Seat, Termination, TimeControl, TimePeriod, WatchGameRequest,
};
use referee_tests::deployment::{Deployment, Games};
use referee_tests::on_both;
use referee_tests::wire::{self, details, make_move, on_move};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Code;

use super::{
    CLOCK_DECIDES, PATIENCE, act, begin, check_ledger, deadline_ms, event_ms, events, found,
    is_end, lines_of, ms, timed, verify, wait_for_end,
};

on_both!(
    a_flag_falls_by_itself_and_is_told_at_once,
    a_move_in_time_stands_and_a_late_one_does_not,
    bonuses_are_given_for_the_time_that_really_passed,
    no_flag_falls_while_the_clocks_are_stopped,
    a_flag_that_has_to_be_noticed_does_not_fall_by_itself,
    many_flags_fall_at_once_each_once,
);

/// The games whose flags fall at the same time.
const GAMES: usize = 200;

/// Follows a game by both kinds of streams to its end, and returns what each told.
async fn hear_out(referee: &Deployment, games: &mut Games, id: &str) -> [Vec<GameEvent>; 2] {
    let name = format!("games/{id}");
    let request = WatchGameRequest {
        name: name.clone(),
        after_sequence: Some(0),
        // Longer than the patience, so that only the event itself can wake the stream.
        heartbeat_interval: Some(seconds(60)),
        correction_time: None,
    };
    let watched = games.watch_game(request).await.expect("watched");
    let mut watched = watched.into_inner();
    let (say, said) = tokio::sync::mpsc::channel(4);
    let said = tokio_stream::wrappers::ReceiverStream::new(said);
    let played = games.play_game(said).await.expect("opened");
    let mut played = played.into_inner();
    let join = JoinGame {
        name,
        seat: Seat::Black.into(),
        after_sequence: Some(0),
        heartbeat_interval: Some(seconds(60)),
        correction_time: None,
    };
    let kind = Some(Said::Join(join));
    let joined = say.send(PlayGameRequest { kind }).await;
    joined.expect("the stream is open");

    let (mut told, mut heard) = (Vec::new(), Vec::new());
    let watching = async {
        while let Some(message) = watched.message().await.expect("the stream is whole") {
            if let Some(Told::Event(event)) = message.kind {
                told.push(event);
            }
        }
    };
    let playing = async {
        while let Some(message) = played.message().await.expect("the stream is whole") {
            if let Some(Played::Event(event)) = message.kind {
                heard.push(event);
            }
        }
    };
    let both = async { tokio::join!(watching, playing) };
    timeout(Duration::from_secs(50), referee.passing(both))
        .await
        .expect("the streams end with the game");
    [told, heard]
}

async fn a_flag_falls_by_itself_and_is_told_at_once(referee: Deployment) {
    let mut games = referee.games().await;
    begin(&mut games, "alone", timed(CLOCK_DECIDES, "1")).await;
    let heard = hear_out(&referee, &mut games, "alone").await;
    let record = events(&mut games, "alone").await;
    assert_eq!(heard, [record.clone(), record.clone()]);

    let [start, fall] = &record[..] else {
        panic!("{record:#?}")
    };
    assert_eq!(found(fall), Some(Found::FlagFallen(Color::White.into())));
    // It is down from the deadline on, however much later it was written.
    assert_eq!(event_ms(fall), deadline_ms(start) + 1);
    assert_eq!(deadline_ms(start), event_ms(start) + 1_000);
    let outcome = fall.outcome.clone().expect("the game is over");
    assert_eq!(outcome.result(), GameResult::BlackWins);
    assert_eq!(outcome.termination(), Termination::TimeForfeit);
    check_ledger(&record, 1_000);

    // A caller cannot take the ids of the referee's own entries.
    let mut request = wire::submit("alone", Seat::White, wire::resign());
    if let Some(action) = &mut request.action {
        action.request_id = "referee flag 2".into();
    }
    let refused = games.submit_action(request).await.expect_err("a blank");
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert_eq!(details(&refused).fields, ["action.request_id"]);
}

async fn a_move_in_time_stands_and_a_late_one_does_not(referee: Deployment) {
    let mut games = referee.games().await;
    begin(&mut games, "late", timed(CLOCK_DECIDES, "30")).await;
    let in_time = act(&mut games, "late", Seat::White, make_move("e4")).await;
    assert_eq!(
        in_time.ruling.unwrap_or_default().verdict(),
        Verdict::Accepted
    );

    begin(&mut games, "later", timed(CLOCK_DECIDES, "0.5")).await;
    // The time is over, but the entry that says so is not written yet, or only just.
    referee.pass(Duration::from_millis(600)).await;
    let late = act(&mut games, "later", Seat::White, make_move("e4"));
    // It is judged when moves that arrived before the flag fell are in the record.
    let late = referee.passing(late).await;
    let ruling = late.ruling.clone().unwrap_or_default();
    match ruling.reason() {
        Reason::FlagFallen => assert_eq!(ruling.verdict(), Verdict::Noted),
        // On a slow machine the referee was faster.
        Reason::GameOver => assert_eq!(ruling.verdict(), Verdict::Refused),
        _ => panic!("{ruling:?}"),
    }
    let record = wait_for_end(&referee, &mut games, "later").await;
    assert_eq!(record.len(), 2, "{record:#?}");
    assert!(record.iter().all(|event| event.r#move.is_none()));
    let outcome = record[1].outcome.clone().unwrap_or_default();
    assert_eq!(outcome.result(), GameResult::BlackWins);
    assert_eq!(outcome.termination(), Termination::TimeForfeit);
    check_ledger(&record, 500);
    verify(&referee, "later").await;
    let over = act(&mut games, "later", Seat::White, make_move("e4")).await;
    assert_eq!(over.ruling.unwrap_or_default().reason(), Reason::GameOver);
}

async fn bonuses_are_given_for_the_time_that_really_passed(referee: Deployment) {
    for mode in [BonusMode::Fischer, BonusMode::Bronstein, BonusMode::Delay] {
        check_bonus(&referee, mode).await;
    }
}

async fn check_bonus(referee: &Deployment, mode: BonusMode) {
    let mut games = referee.games().await;
    let id = format!("bonus-{}", mode as i32);
    let mut game = timed(CLOCK_DECIDES, "");
    let settings = game.clock_settings.as_mut().expect("it was set");
    settings.time_control = Some(TimeControl {
        periods: vec![TimePeriod {
            time: Some(seconds(60)),
            bonus_mode: mode.into(),
            bonus: Some(prost_types::Duration {
                seconds: 0,
                nanos: 150_000_000,
            }),
            ..TimePeriod::default()
        }],
        ..TimeControl::default()
    });
    begin(&mut games, &id, game).await;
    let moves = ["Nf3", "Nf6", "Ng1", "Ng8", "e4", "e5"];
    for (ply, (text, think_ms)) in moves.into_iter().zip([0, 400, 90, 0, 250, 20]).enumerate() {
        referee.pass(Duration::from_millis(think_ms)).await;
        act(&mut games, &id, on_move(ply), make_move(text)).await;
    }
    let record = events(&mut games, &id).await;
    check_ledger(&record, 60_000);
    let spent = lines_of(&record, LedgerCause::Move);
    assert_eq!(spent.len(), 6, "{record:#?}");
    for pair in record.windows(2) {
        let line = pair[1].ledger[0];
        let elapsed = event_ms(&pair[1]) - event_ms(&pair[0]);
        assert_eq!(ms(line.elapsed), elapsed, "{line:?}");
        let charged = match mode {
            BonusMode::Delay => (elapsed - 150).max(0),
            _ => elapsed,
        };
        assert_eq!(ms(line.charged), charged, "{line:?}");
        let credited: i64 = pair[1].ledger.iter().map(|line| ms(line.credited)).sum();
        let expected = match mode {
            BonusMode::Fischer => 150,
            BonusMode::Bronstein => elapsed.min(150),
            _ => 0,
        };
        assert_eq!(credited, expected, "{:#?}", pair[1].ledger);
    }
}

async fn no_flag_falls_while_the_clocks_are_stopped(referee: Deployment) {
    let mut games = referee.games().await;
    begin(&mut games, "pause", timed(CLOCK_DECIDES, "4")).await;
    let pause = Kind::PauseGame(PauseGame::default());
    let paused = act(&mut games, "pause", Seat::Arbiter, pause).await;
    assert_eq!(paused.sequence, 2, "{paused:?}");
    referee.pass(Duration::from_secs(6)).await;
    let refused = act(&mut games, "pause", Seat::White, make_move("e4")).await;
    assert_eq!(
        refused.ruling.unwrap_or_default().reason(),
        Reason::NotRunning
    );
    let resume = Kind::ResumeGame(ResumeGame::default());
    let resumed = act(&mut games, "pause", Seat::Arbiter, resume).await;
    assert_eq!(resumed.sequence, 3, "{resumed:?}");
    let record = wait_for_end(&referee, &mut games, "pause").await;
    assert_eq!(record.len(), 4, "{record:#?}");
    assert_eq!(
        found(&record[3]),
        Some(Found::FlagFallen(Color::White.into()))
    );
    check_ledger(&record, 4_000);
    let stood = lines_of(&record, LedgerCause::Resume);
    assert!(ms(stood[0].elapsed) >= 6_000 && ms(stood[0].charged) == 0);
    let ran =
        event_ms(&record[1]) - event_ms(&record[0]) + event_ms(&record[3]) - event_ms(&record[2]);
    assert_eq!(ran, 4_001);
    verify(&referee, "pause").await;
}

async fn a_flag_that_has_to_be_noticed_does_not_fall_by_itself(referee: Deployment) {
    let mut games = referee.games().await;
    let flag = |side: Color| {
        Kind::ReportFlag(ReportFlag {
            side: side.into(),
            ..ReportFlag::default()
        })
    };
    // Claimed by the opponent, or observed by the arbiter.
    let ways = [
        ("uscf", Seat::Black, Reason::ClaimIncorrect),
        ("fide_standard", Seat::Arbiter, Reason::NotRunning),
    ];
    for (profile, seat, early) in ways {
        let id = profile.replace('_', "-");
        begin(&mut games, &id, timed(profile, "3")).await;
        let answer = act(&mut games, &id, seat, flag(Color::White)).await;
        let ruling = answer.ruling.unwrap_or_default();
        assert_eq!(
            (ruling.verdict(), ruling.reason()),
            (Verdict::Refused, early),
            "{ruling:?}"
        );
    }
    referee.pass(Duration::from_secs(6)).await;
    for (profile, seat, _) in ways {
        let id = profile.replace('_', "-");
        let record = events(&mut games, &id).await;
        assert!(!record.iter().any(is_end), "{record:#?}");
        let answer = act(&mut games, &id, seat, flag(Color::White)).await;
        let ruling = answer.ruling.unwrap_or_default();
        assert_eq!(ruling.verdict(), Verdict::Accepted, "{ruling:?}");
        let record = events(&mut games, &id).await;
        let outcome = record[record.len() - 1].outcome.clone().unwrap_or_default();
        assert_eq!(outcome.result(), GameResult::BlackWins, "{record:#?}");
        assert_eq!(outcome.termination(), Termination::TimeForfeit);
        check_ledger(&record, 3_000);
        verify(&referee, &id).await;
    }
    // A move after the time is over stands as long as nobody notices.
    begin(&mut games, "unnoticed", timed("uscf", "0.2")).await;
    referee.pass(Duration::from_millis(400)).await;
    let moved = act(&mut games, "unnoticed", Seat::White, make_move("e4")).await;
    assert_eq!(
        moved.ruling.unwrap_or_default().verdict(),
        Verdict::Accepted
    );
}

async fn many_flags_fall_at_once_each_once(referee: Deployment) {
    let mut tasks = JoinSet::new();
    for number in 0..GAMES {
        let mut games = referee.games().await;
        tasks.spawn(async move {
            let id = format!("many-{number}");
            begin(&mut games, &id, timed(CLOCK_DECIDES, "2+0.1")).await;
            // Half of them play a move first, so that either flag falls.
            let plies = usize::from(number % 2 == 0);
            for ply in 0..plies {
                act(&mut games, &id, on_move(ply), make_move("e4")).await;
            }
        });
    }
    let begun = async {
        while let Some(begun) = tasks.join_next().await {
            begun.expect("the game begins");
        }
    };
    timeout(PATIENCE, begun).await.expect("all games begin");
    let mut games = referee.games().await;
    for number in 0..GAMES {
        let record = wait_for_end(&referee, &mut games, &format!("many-{number}")).await;
        let falls = record.iter().filter(|event| found(event).is_some());
        let late_moves = record.iter().filter(|event| is_end(event));
        assert!(falls.count() <= 1 && late_moves.count() == 1, "{record:#?}");
        check_ledger(&record, 2_000);
    }
}

fn seconds(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}
