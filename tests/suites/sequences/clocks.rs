//! Clocks: what is charged, what is put on, who thinks, and what survives.

use referee_api::v1;
use referee_api::v1::action::Kind;
use referee_api::v1::{BonusMode, GameResult, LedgerCause, Seat, TimePeriod};
use referee_tests::process::Referee;
use referee_tests::wire;

use super::{Board, changed, ms, result};

/// Moves that do nothing, in turn.
const QUIET: [&str; 4] = ["g1f3", "g8f6", "f3g1", "f6g8"];

/// A period of so many milliseconds with a bonus for each move.
fn period(time_ms: u64, bonus_mode: BonusMode, bonus_ms: u64) -> TimePeriod {
    TimePeriod {
        moves: 0,
        time: Some(ms(time_ms)),
        bonus_mode: bonus_mode.into(),
        bonus: Some(ms(bonus_ms)),
    }
}

/// A game with one period whose time the platform tells, in which flags fall by the clock and a
/// position can occur as often as it likes.
fn timed(period: TimePeriod) -> v1::Game {
    let mut game = changed(|rules| {
        rules.flag_mode = v1::FlagMode::Clock.into();
        rules.fivefold = Some(false);
        rules.takeback = v1::TakebackRule::Mutual.into();
    });
    game.clock_settings = Some(v1::ClockSettings {
        keeper: v1::ClockKeeper::Platform.into(),
        time_control: Some(v1::TimeControl {
            periods: vec![period],
            increment_at_start: Some(false),
            ..v1::TimeControl::default()
        }),
        ..v1::ClockSettings::default()
    });
    game
}

/// What both sides have left, in milliseconds.
async fn left(board: &mut Board) -> [i64; 2] {
    let clocks = clocks(board).await;
    [clocks.white, clocks.black].map(|clock| {
        let time = clock.expect("a clock").time_left.expect("it has time");
        time.seconds * 1_000 + i64::from(time.nanos) / 1_000_000
    })
}

async fn clocks(board: &mut Board) -> v1::Clocks {
    let conduct = board.read().await.conduct.expect("a conduct");
    conduct.clocks.expect("clocks")
}

/// CK-02: an increment is earned by a move that is in time, and revives nobody.
#[tokio::test(flavor = "multi_thread")]
async fn an_increment_revives_no_flag() {
    let referee = Referee::start();
    let mut game = timed(period(200, BonusMode::Fischer, 2_000));
    game.setup = Some(v1::Setup {
        white: Some(v1::SideSetup {
            time_left: Some(ms(200)),
            ..v1::SideSetup::default()
        }),
        ..v1::Setup::default()
    });
    let mut board = Board::create(&referee, "ck-02", game).await;
    let start = Kind::StartGame(v1::StartGame {});
    board.accept(Seat::Arbiter, start).await;
    let answer = board
        .act_after(350, Seat::White, wire::make_move("e2e4"))
        .await;
    let event = answer.event.expect("an event");
    assert!(event.r#move.is_none(), "the move came too late");
    let lines = event.ledger.iter();
    let mut increments = lines.filter(|line| line.cause() == LedgerCause::Increment);
    assert!(increments.next().is_none(), "{:?}", event.ledger);
    assert_eq!(left(&mut board).await[0], 0);
    assert_eq!(result(&board.read().await), GameResult::BlackWins);
}

/// CK-04: a fixed time for each move is a delay without a main time, and each move has its own.
#[tokio::test(flavor = "multi_thread")]
async fn each_move_has_its_own_time() {
    let referee = Referee::start();
    let game = timed(period(0, BonusMode::Delay, 1_000));
    let mut board = Board::create(&referee, "ck-04", game).await;
    for ply in 0..10 {
        let answer = board
            .act_after(900, wire::on_move(ply), wire::make_move(QUIET[ply % 4]))
            .await;
        let outcome = answer.event.expect("an event").outcome.unwrap_or_default();
        assert_eq!(outcome.result(), GameResult::Ongoing, "move {ply}");
    }
    board
        .act_after(1_200, Seat::White, wire::make_move(QUIET[2]))
        .await;
    let game = board.read().await;
    assert_eq!(result(&game), GameResult::BlackWins);
    assert_eq!(game.moves.len(), 10);
}

/// CK-05: an increment comes after the move and alike for both sides, before the first move only
/// where the time control says so.
#[tokio::test(flavor = "multi_thread")]
async fn both_sides_earn_the_same() {
    let referee = Referee::start();
    for (at_start, expected) in [(false, 181_000), (true, 183_000)] {
        let mut game = timed(period(180_000, BonusMode::Fischer, 2_000));
        let settings = game.clock_settings.as_mut().expect("it has some");
        let control = settings.time_control.as_mut().expect("it has one");
        control.increment_at_start = Some(at_start);
        let mut board = Board::create(&referee, &format!("ck-05-{at_start}"), game).await;
        board
            .act_after(1_000, Seat::White, wire::make_move("e2e4"))
            .await;
        board
            .act_after(1_000, Seat::Black, wire::make_move("e7e5"))
            .await;
        assert_eq!(left(&mut board).await, [expected; 2]);
    }
}

/// CK-06: Bronstein gives back what a move took, a delay runs first, and a flag falls only where
/// the main time and the delay are both gone.
#[tokio::test(flavor = "multi_thread")]
async fn bronstein_is_no_delay() {
    let referee = Referee::start();
    let game = timed(period(10_000, BonusMode::Bronstein, 3_000));
    let mut board = Board::create(&referee, "ck-06-bronstein", game).await;
    board
        .act_after(2_000, Seat::White, wire::make_move("e2e4"))
        .await;
    assert_eq!(left(&mut board).await[0], 10_000);
    board
        .act_after(1_000, Seat::Black, wire::make_move("e7e5"))
        .await;
    board
        .act_after(5_000, Seat::White, wire::make_move("g1f3"))
        .await;
    assert_eq!(left(&mut board).await[0], 8_000);

    let game = timed(period(0, BonusMode::Delay, 5_000));
    let mut board = Board::create(&referee, "ck-06-delay", game).await;
    board
        .act_after(4_000, Seat::White, wire::make_move("e2e4"))
        .await;
    assert_eq!(left(&mut board).await[0], 0);
    let game = board.read().await;
    assert_eq!(result(&game), GameResult::Ongoing);
    assert_eq!(game.moves, ["e2e4"]);
}

/// CK-07: a pause within a delay neither begins it anew nor ends it.
#[tokio::test(flavor = "multi_thread")]
async fn a_delay_goes_on_after_a_pause() {
    let referee = Referee::start();
    let game = timed(period(60_000, BonusMode::Delay, 5_000));
    let mut board = Board::create(&referee, "ck-07", game).await;
    let pause = Kind::PauseGame(v1::PauseGame::default());
    let resume = Kind::ResumeGame(v1::ResumeGame::default());
    // The clock of White runs from the first time that is told.
    let start = Kind::StartGame(v1::StartGame {});
    board.accept(Seat::Arbiter, start).await;
    board.act_after(3_000, Seat::Arbiter, pause).await;
    board.act_after(60_000, Seat::Arbiter, resume).await;
    board
        .act_after(3_000, Seat::White, wire::make_move("e2e4"))
        .await;
    assert_eq!(left(&mut board).await, [59_000, 60_000]);
}

/// CK-08: after a takeback the side thinks that has the move there.
#[tokio::test(flavor = "multi_thread")]
async fn the_clock_goes_back_with_the_move() {
    let referee = Referee::start();
    let game = timed(period(60_000, BonusMode::Unspecified, 0));
    let mut board = Board::create(&referee, "ck-08", game).await;
    board.play("e2e4 e7e5").await;
    assert_eq!(clocks(&mut board).await.running(), v1::Color::White);
    let take_back = |intent: v1::TakeBackIntent| {
        let intent = intent.into();
        Kind::TakeBack(v1::TakeBack { intent })
    };
    let request = take_back(v1::TakeBackIntent::Request);
    board.accept(Seat::Black, request).await;
    let accept = take_back(v1::TakeBackIntent::Accept);
    board.accept(Seat::White, accept).await;
    assert_eq!(clocks(&mut board).await.running(), v1::Color::Black);
    assert_eq!(board.read().await.moves, ["e2e4"]);
    board
        .act_after(2_000, Seat::Black, wire::make_move("c7c5"))
        .await;
    assert_eq!(left(&mut board).await, [60_000, 58_000]);
}

/// CK-12: what was acknowledged is there after a crash, and what was over is over.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_moves_survive_a_crash() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let referee = Referee::start_in(folder.path());
    let game = timed(period(600_000, BonusMode::Unspecified, 0));
    let mut board = Board::create(&referee, "ck-12", game.clone()).await;
    let mut over = Board::create(&referee, "ck-12-over", game).await;
    for ply in 0..56 {
        let kind = wire::make_move(QUIET[ply % 4]);
        let answer = board.act_after(1_000, wire::on_move(ply), kind).await;
        assert!(answer.event.is_some_and(|event| event.r#move.is_some()));
    }
    over.accept(Seat::White, wire::resign()).await;
    let before = [board.read().await, over.read().await];
    let events = board.events().await;
    drop((board, over));
    referee.kill();
    let referee = Referee::start_in(folder.path());
    let games = referee.games().await;
    let mut board = Board {
        games: games.clone(),
        id: "ck-12".to_owned(),
    };
    let mut over = Board {
        games,
        id: "ck-12-over".to_owned(),
    };
    let after = [board.read().await, over.read().await];
    assert_eq!(after, before);
    assert_eq!(after[0].moves.len(), 56);
    assert_eq!(result(&after[1]), GameResult::BlackWins);
    assert_eq!(board.events().await, events);
}

/// The moves of a period, its seconds, and the seconds of its bonus.
type ReadPeriod = (u32, u64, u64);

/// CK-14: a time control of several periods is read as the standard has it, and the last field
/// counts again and again.
#[tokio::test(flavor = "multi_thread")]
async fn time_controls_are_read_as_the_standard_has_them() {
    let referee = Referee::start();
    let cases: [(&str, &[ReadPeriod]); 3] = [
        (
            "40/7200:20/3600:1800",
            &[(40, 7_200, 0), (20, 3_600, 0), (0, 1_800, 0)],
        ),
        ("40/5400+30:1800+30", &[(40, 5_400, 30), (0, 1_800, 30)]),
        ("40/9000", &[(40, 9_000, 0)]),
    ];
    for (number, (pgn, expected)) in cases.into_iter().enumerate() {
        let game = v1::Game {
            clock_settings: Some(v1::ClockSettings {
                time_control: Some(v1::TimeControl {
                    pgn: pgn.to_owned(),
                    ..v1::TimeControl::default()
                }),
                ..v1::ClockSettings::default()
            }),
            ..v1::Game::default()
        };
        let mut board = Board::create(&referee, &format!("ck-14-{number}"), game).await;
        let settings = board.read().await.clock_settings.expect("it has some");
        let periods = settings.time_control.expect("it has one").periods;
        let found: Vec<ReadPeriod> = periods
            .iter()
            .map(|period| {
                let seconds = |time: &Option<prost_types::Duration>| {
                    time.as_ref().map_or(0, |time| time.seconds as u64)
                };
                (period.moves, seconds(&period.time), seconds(&period.bonus))
            })
            .collect();
        assert_eq!(found, expected, "{pgn}");
    }
    // The fortieth move brings 9,000 seconds, and so does the eightieth.
    for (moves, id) in [(39, "ck-14-first"), (79, "ck-14-second")] {
        let mut game = timed(TimePeriod {
            moves: 40,
            ..period(9_000_000, BonusMode::Unspecified, 0)
        });
        game.setup = Some(v1::Setup {
            white: Some(v1::SideSetup {
                time_left: Some(ms(60_000)),
                moves,
                ..v1::SideSetup::default()
            }),
            ..v1::Setup::default()
        });
        let mut board = Board::create(&referee, id, game).await;
        board
            .act_after(10_000, Seat::White, wire::make_move("e2e4"))
            .await;
        assert_eq!(left(&mut board).await[0], 9_050_000, "{id}");
    }
}
