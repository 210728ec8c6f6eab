//! Offers, claims, takebacks, ends: what happens in a game, one call after another.

#![expect(clippy::disallowed_types, reason = "a process is measured")]

use std::time::{Duration, Instant};

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::ruling::{Reason, Verdict};
use referee_api::v1::watch_game_response::Kind as News;
use referee_api::v1::{Color, GameResult, LedgerCause, Seat};
use referee_tests::process::Referee;
use referee_tests::wire;
use tonic::Code;

use super::{Board, changed, ms, reason, result, under};

/// Two knights out and back, so that the position occurs again.
const OUT_AND_BACK: &str = "g1f3 g8f6 f3g1 f6g8";

fn take_back(answer: bool) -> Kind {
    let intent = match answer {
        true => v1::TakeBackIntent::Accept,
        false => v1::TakeBackIntent::Request,
    };
    let intent = intent.into();
    Kind::TakeBack(v1::TakeBack { intent })
}

fn mutual_takeback() -> v1::Game {
    changed(|rules| rules.takeback = v1::TakebackRule::Mutual.into())
}

/// GM-03: a move in reply declines the offer, so that there is none to accept afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_ends_an_offer() {
    let referee = Referee::start();
    let mut board = Board::create(&referee, "gm-03", under("fide_online")).await;
    let offered = board
        .accept(Seat::White, wire::move_and_offer("e2e4"))
        .await;
    assert_eq!(offered.draw_offer(), Color::White);
    board.accept(Seat::Black, wire::make_move("e7e5")).await;
    let answer = board.act(Seat::Black, wire::answer(true)).await;
    assert_eq!(reason(&answer), Reason::NoOffer);
    assert_eq!(result(&board.read().await), GameResult::Ongoing);
}

/// GM-04: an offer belongs to the position that it was made in, and goes with it.
#[tokio::test(flavor = "multi_thread")]
async fn an_offer_does_not_outlive_a_takeback() {
    let referee = Referee::start();
    let mut board = Board::create(&referee, "gm-04", mutual_takeback()).await;
    board.accept(Seat::White, wire::make_move("e2e4")).await;
    board
        .accept(Seat::Black, wire::move_and_offer("e7e5"))
        .await;
    board.accept(Seat::White, wire::answer(false)).await;
    board.accept(Seat::White, take_back(false)).await;
    board.accept(Seat::Black, take_back(true)).await;
    assert!(board.read().await.moves.is_empty());
    let d4 = board.accept(Seat::White, wire::make_move("d2d4")).await;
    let d5 = board.accept(Seat::Black, wire::make_move("d7d5")).await;
    assert_eq!([d4.draw_offer(), d5.draw_offer()], [Color::Unspecified; 2]);
    let game = board.read().await;
    assert_eq!(game.moves, ["d2d4", "d7d5"]);
    assert_eq!(game.draw_offer(), Color::Unspecified);
    let answer = board.act(Seat::White, wire::answer(true)).await;
    assert_eq!(reason(&answer), Reason::NoOffer);
}

/// GM-05: a move and the offer that comes with it are one event, with the position after the move.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_with_an_offer_is_one_event() {
    let referee = Referee::start();
    let mut board = Board::create(&referee, "gm-05", v1::Game::default()).await;
    let request = v1::WatchGameRequest {
        name: "games/gm-05".to_owned(),
        after_sequence: Some(0),
        heartbeat_interval: None,
        correction_time: None,
    };
    let mut stream = board
        .games
        .watch_game(request)
        .await
        .expect("watched")
        .into_inner();
    board
        .accept(Seat::White, wire::move_and_offer("d2d4"))
        .await;
    let event = loop {
        let news = stream
            .message()
            .await
            .expect("told")
            .expect("the game goes on");
        match news.kind {
            Some(News::Event(event)) => break event,
            Some(News::Heartbeat(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(event.sequence, 1);
    assert_eq!(event.r#move.clone().expect("a move").uci, "d2d4");
    assert_eq!(event.draw_offer(), Color::White);
    assert!(event.fen.contains("/3P4/"), "{}", event.fen);
    assert!(event.fen.contains(" b "), "{}", event.fen);
}

/// GM-06: an acceptance that took effect is answered so, and so is its repetition.
#[tokio::test(flavor = "multi_thread")]
async fn an_acceptance_is_answered_alike_twice() {
    let referee = Referee::start();
    let mut board = Board::create(&referee, "gm-06", v1::Game::default()).await;
    board.play("e2e4 e7e5").await;
    board.accept(Seat::White, wire::offer()).await;
    let request = wire::submit("gm-06", Seat::Black, wire::answer(true));
    let first = board.games.submit_action(request.clone()).await;
    let again = board.games.submit_action(request).await;
    let (first, again) = (first.expect("judged"), again.expect("repeated"));
    let (first, again) = (first.into_inner(), again.into_inner());
    assert_eq!(first.encode_to_vec(), again.encode_to_vec());
    let outcome = first.event.expect("an event").outcome.expect("an outcome");
    assert_eq!(outcome.result(), GameResult::Draw);
    assert_eq!(outcome.termination(), v1::Termination::Agreement);
}

/// GM-07: after a resignation a move is refused at once, and the record stays as it is.
#[tokio::test(flavor = "multi_thread")]
async fn moves_after_the_end_are_refused_at_once() {
    let referee = Referee::start();
    let mut board = Board::create(&referee, "gm-07", v1::Game::default()).await;
    board.accept(Seat::White, wire::make_move("e2e4")).await;
    board.accept(Seat::Black, wire::resign()).await;
    let before = board.read().await;
    let begin = Instant::now();
    let answer = board.act(Seat::White, wire::make_move("g1f3")).await;
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(reason(&answer), Reason::GameOver);
    assert!(answer.event.is_none());
    assert_eq!(result(&before), GameResult::WhiteWins);
    assert_eq!(board.read().await, before);
}

/// GM-11: an offer that was declined does not bar the player for good. Under the Laws a further
/// one is allowed at any time, and under alternate offers once the opponent has offered.
#[tokio::test(flavor = "multi_thread")]
async fn an_offer_can_be_made_again() {
    let referee = Referee::start();
    for profile in ["fide_standard", "house_perpetual"] {
        let id = format!("gm-11-{}", profile.replace('_', "-"));
        let mut board = Board::create(&referee, &id, under(profile)).await;
        board.play("e2e4 e7e5").await;
        board
            .accept(Seat::White, wire::move_and_offer("g1f3"))
            .await;
        board.accept(Seat::Black, wire::answer(false)).await;
        board
            .accept(Seat::Black, wire::move_and_offer("b8c6"))
            .await;
        board.accept(Seat::White, wire::answer(false)).await;
        let again = board
            .accept(Seat::White, wire::move_and_offer("f1c4"))
            .await;
        assert_eq!(again.draw_offer(), Color::White, "{profile}");
    }
}

/// GM-12: a third occurrence that nobody claims is no draw, and the flag decides; a profile can
/// have it otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn a_flag_decides_where_nobody_claims() {
    let referee = Referee::start();
    let mut board = Board::create(&referee, "gm-12", platform()).await;
    board.play(&[OUT_AND_BACK; 2].join(" ")).await;
    assert_eq!(
        board.read().await.adjudication.expect("judged").repetitions,
        3
    );
    let flag = v1::ReportFlag {
        side: v1::Color::White.into(),
        ..v1::ReportFlag::default()
    };
    let end = board.accept(Seat::Arbiter, Kind::ReportFlag(flag)).await;
    let outcome = end.outcome.expect("an outcome");
    assert_eq!(outcome.result(), GameResult::BlackWins);
    assert_eq!(outcome.termination(), v1::Termination::TimeForfeit);

    let game = changed(|rules| rules.threefold = v1::DrawRule::Automatic.into());
    let mut board = Board::create(&referee, "gm-12-automatic", game).await;
    board.play(&[OUT_AND_BACK; 2].join(" ")).await;
    let outcome = board.read().await.outcome.expect("an outcome");
    assert_eq!(outcome.termination(), v1::Termination::ThreefoldAuto);
}

/// A game without a time control whose flags the platform reports.
fn platform() -> v1::Game {
    v1::Game {
        clock_settings: Some(v1::ClockSettings {
            keeper: v1::ClockKeeper::Platform.into(),
            ..v1::ClockSettings::default()
        }),
        ..v1::Game::default()
    }
}

/// GM-13: who cannot mate wins nothing from an opponent who left.
#[tokio::test(flavor = "multi_thread")]
async fn a_bare_king_wins_from_nobody() {
    let referee = Referee::start();
    for (id, fen, wins) in [
        ("gm-13", "8/8/8/4k3/8/8/q7/7K b - - 0 1", false),
        ("gm-13-rook", "8/8/8/4k3/8/8/q7/6RK b - - 0 1", true),
    ] {
        let mut game = under("lichess");
        game.initial_position = Some(wire::from_fen(fen));
        game.clock_settings = platform().clock_settings;
        let mut board = Board::create(&referee, id, game).await;
        let gone = v1::ReportConnection {
            side: v1::Color::Black.into(),
            connected: Some(false),
        };
        board
            .accept(Seat::Arbiter, Kind::ReportConnection(gone))
            .await;
        let claim = v1::MakeClaim {
            claim: v1::ClaimKind::OpponentGone.into(),
            gone: Some(ms(600_000)),
            ..v1::MakeClaim::default()
        };
        board.act(Seat::White, Kind::MakeClaim(claim)).await;
        let found = result(&board.read().await);
        assert_eq!(found == GameResult::WhiteWins, wins, "{id}: {found:?}");
    }
}

/// GM-14: a wrong claim costs what the rules say, and the game goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_claim_costs_time_and_no_more() {
    let referee = Referee::start();
    for penalty_ms in [120_000, 0] {
        let game = changed(|rules| rules.wrong_claim_penalty_ms = Some(penalty_ms));
        let mut board = Board::create(&referee, &format!("gm-14-{penalty_ms}"), game).await;
        board.play(OUT_AND_BACK).await;
        let claim = wire::claim(v1::ClaimKind::Threefold, None);
        let answer = board.act(Seat::White, claim).await;
        assert_eq!(reason(&answer), Reason::ClaimIncorrect);
        let mut credited = 0;
        let events = board.events().await.into_iter();
        let lines = events.flat_map(|event| event.ledger);
        for line in lines.filter(|line| line.cause() == LedgerCause::Penalty) {
            assert_eq!(line.side(), v1::Color::Black);
            credited += line.credited.unwrap_or_default().seconds * 1_000;
        }
        assert_eq!(credited, i64::from(penalty_ms));
        assert_eq!(result(&board.read().await), GameResult::Ongoing);
        board.accept(Seat::White, wire::make_move("e2e4")).await;
    }
}

/// GM-15: a pause and a move that come together have one order, which the record tells.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_and_a_move_have_one_order() {
    let referee = Referee::start();
    let mut runs = tokio::task::JoinSet::new();
    let mut boards = Vec::new();
    for number in 0..100 {
        let id = format!("gm-15-{number}");
        let board = Board::create(&referee, &id, v1::Game::default()).await;
        for (seat, kind) in [
            (Seat::Arbiter, Kind::PauseGame(v1::PauseGame::default())),
            (Seat::White, wire::make_move("e2e4")),
        ] {
            let mut games = board.games.clone();
            let request = wire::submit(&id, seat, kind);
            runs.spawn(async move {
                let answer = games.submit_action(request).await.expect("judged");
                (number, seat, answer.into_inner())
            });
        }
        boards.push(board);
    }
    let answers = runs.join_all().await;
    for (number, board) in boards.iter_mut().enumerate() {
        let of = |wanted: Seat| {
            let mut mine = answers.iter().filter(|(which, ..)| *which == number);
            &mine
                .find(|(_, seat, _)| *seat == wanted)
                .expect("an answer")
                .2
        };
        let (pause, made) = (of(Seat::Arbiter), of(Seat::White));
        let paused = pause.event.as_ref().expect("the pause stands").sequence;
        let game = board.read().await;
        assert_eq!(game.state(), v1::game::State::Paused);
        let events = board.events().await;
        match &made.event {
            // First the move, then the pause.
            Some(event) => {
                assert_eq!((event.sequence, paused), (1, 2));
                assert_eq!(game.moves, ["e2e4"]);
                assert_eq!(events.len(), 2);
            }
            None => {
                assert_eq!(paused, 1);
                assert_ne!(reason(made), Reason::Unspecified);
                assert!(game.moves.is_empty());
                assert_eq!(events.len(), 1);
            }
        }
    }
}

/// GM-16: what the rules do not allow is refused, whoever asks for it.
#[tokio::test(flavor = "multi_thread")]
async fn the_referee_is_the_one_who_decides() {
    let referee = Referee::start();
    let mut game = under("fide_online");
    game.initial_position = Some(wire::from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1"));
    let mut board = Board::create(&referee, "gm-16", game).await;
    let answer = board.act(Seat::White, wire::make_move("e1e8")).await;
    assert_eq!(reason(&answer), Reason::IllegalMove);
    let why = answer
        .ruling
        .expect("a ruling")
        .illegal_move
        .expect("the reason");
    assert_eq!(why.reason(), v1::IllegalReason::PieceMovement);
    let answer = board.act(Seat::Black, wire::make_move("e1e2")).await;
    assert_eq!(reason(&answer), Reason::NotYourTurn);
    assert_eq!(board.read().await.sequence, 0);
}

/// GM-18: a takeback puts everything back that belongs to the position; the time that was used
/// stays used, and the clock of the side that has the move runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeback_puts_back_the_whole_position() {
    let referee = Referee::start();
    let fen = "4k3/8/8/8/8/8/8/R3K2R w KQ - 98 70";
    let mut game = mutual_takeback();
    game.initial_position = Some(wire::from_fen(fen));
    game.clock_settings = Some(v1::ClockSettings {
        keeper: v1::ClockKeeper::Platform.into(),
        time_control: Some(v1::TimeControl {
            pgn: "300".to_owned(),
            ..v1::TimeControl::default()
        }),
        ..v1::ClockSettings::default()
    });
    let mut board = Board::create(&referee, "gm-18", game).await;
    let made = board
        .act_after(10_000, Seat::White, wire::make_move("a1a2"))
        .await;
    assert_eq!(made.event.expect("an event").halfmove_clock, 99);
    board.accept(Seat::White, take_back(false)).await;
    board.act_after(5_000, Seat::Black, take_back(true)).await;
    let game = board.read().await;
    assert_eq!(game.fen, fen);
    assert!(game.moves.is_empty());
    let adjudication = game.adjudication.expect("judged");
    assert_eq!(
        (adjudication.halfmove_clock, adjudication.repetitions),
        (98, 1)
    );
    let clocks = game.conduct.expect("a conduct").clocks.expect("clocks");
    assert_eq!(clocks.running(), v1::Color::White);
    assert_eq!(clocks.white.expect("a clock").time_left, Some(ms(290_000)));
    assert_eq!(clocks.black.expect("a clock").time_left, Some(ms(295_000)));
}

/// GM-19: the first end is the end, whoever resigns afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_resigns_after_the_end() {
    let referee = Referee::start();
    let mut board = Board::create(&referee, "gm-19", v1::Game::default()).await;
    board.accept(Seat::Black, wire::resign()).await;
    for seat in [Seat::Black, Seat::White] {
        let answer = board.act(seat, wire::resign()).await;
        assert_eq!(reason(&answer), Reason::GameOver);
    }
    // Nobody who plays: an arbiter resigns for nobody, and other seats are no seats.
    let answer = board.act(Seat::Arbiter, wire::resign()).await;
    assert_ne!(
        answer.ruling.expect("a ruling").verdict(),
        Verdict::Accepted
    );
    for seat in [Seat::Unspecified, Seat::Referee] {
        let request = wire::submit("gm-19", seat, wire::resign());
        let status = board
            .games
            .submit_action(request)
            .await
            .expect_err("no player");
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    }
    let game = board.read().await;
    assert_eq!(result(&game), GameResult::WhiteWins);
    assert_eq!(game.sequence, 1);
}
