//! Which flag falls by itself and when, and what down time takes from a clock.

use referee_laws::{
    Action, Color, Game, Intent, Keeper, Profile, Seat, Start, Time, TimeControl, Timing,
};

fn begin(profile: &str, keeper: Keeper) -> Game {
    let control = TimeControl::read_pgn("60").expect("it is a time control");
    let timing = Timing {
        keeper,
        white: control.clone(),
        black: control,
        ..Timing::default()
    };
    let start = Start {
        timing,
        ..Start::default()
    };
    let profile = Profile::named(profile).expect("it is a profile");
    Game::new(profile, &start).expect("there are no moves to refuse")
}

fn time(ms: u64) -> Time {
    Time::from_ms(ms).expect("the game is short")
}

fn act(game: &mut Game, action: &Action, ms: u64) {
    let entry = game.judge(action, time(ms)).entry;
    let effects = entry.expect("it stands").effects;
    game.apply(&effects).expect("it was judged a moment ago");
}

#[test]
fn a_flag_falls_by_itself_where_the_referee_keeps_the_time_and_the_clock_decides() {
    for (profile, keeper, expected) in [
        (
            "lichess",
            Keeper::Referee,
            Some((Color::Black, time(61_000))),
        ),
        ("lichess", Keeper::Platform, None),
        ("fide_standard", Keeper::Referee, None),
        ("ics", Keeper::Referee, None),
    ] {
        let mut game = begin(profile, keeper);
        assert_eq!(game.deadline(), None, "no clock runs before the first move");
        act(&mut game, &Action::play(Color::White, "e4"), 1_000);
        assert_eq!(game.deadline(), expected, "{profile}");
    }
}

#[test]
fn no_flag_falls_after_it_fell_or_in_a_pause_or_after_the_end() {
    let mut game = begin("lichess", Keeper::Referee);
    act(&mut game, &Action::play(Color::White, "e4"), 1_000);
    let mut paused = game.clone();
    act(&mut paused, &Action::arbiter(Intent::Pause), 2_000);
    assert_eq!((paused.deadline(), paused.running_since()), (None, None));
    let flag = Action {
        seat: Seat::Referee,
        intent: Intent::FlagFell { side: Color::Black },
    };
    act(&mut game, &flag, 61_001);
    assert!(game.outcome().is_some());
    assert_eq!((game.deadline(), game.running_since()), (None, None));
}

#[test]
fn down_time_counts_from_when_the_clock_was_settled() {
    let mut game = begin("fide_standard", Keeper::Referee);
    assert_eq!(game.down_ms(0, 1_000), None, "no clock runs");
    act(&mut game, &Action::play(Color::White, "e4"), 5_000);
    assert_eq!(game.running_since(), Some(time(5_000)));
    assert_eq!(game.down_ms(6_000, 9_000), Some(3_000));
    assert_eq!(game.down_ms(4_000, 9_000), Some(4_000));
    assert_eq!(game.down_ms(1_000, 5_000), None, "it was over before");
    assert_eq!(game.down_ms(9_000, 6_000), None, "it ends before it begins");
    let mut told = begin("fide_standard", Keeper::Platform);
    act(&mut told, &Action::play(Color::White, "e4"), 5_000);
    assert_eq!(
        told.down_ms(6_000, 9_000),
        None,
        "the platform keeps the time"
    );
}
