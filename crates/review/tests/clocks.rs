//! The time that moves took, from the clocks in a text.

use referee_laws::{
    Action, Decision, Game as Referee, Intent, Keeper, MoveIntent, PROFILE_NAMES, Profile, Start,
    TimeControl, Timing,
};
use referee_pgn::Game;
use referee_review::{Verdict, read_control, read_one, time_moves};

fn game(text: &str) -> Game {
    read_one(text.as_bytes())
        .expect("the text is one game")
        .game
}

fn control(game: &Game) -> Option<TimeControl> {
    read_control(game).expect("the time control can be read")
}

/// The time of each move, and what its clock has to be set to, in seconds.
fn told(text: &str) -> Vec<(f64, Option<f64>)> {
    let game = game(text);
    let seconds = |ms: u64| ms as f64 / 1_000.0;
    let moves = time_moves(&game, control(&game).as_ref(), false).expect("clocks");
    moves
        .iter()
        .map(|mv| (seconds(mv.elapsed_ms.unwrap_or(0)), mv.set_ms.map(seconds)))
        .collect()
}

#[test]
fn time_is_what_the_clock_lost() {
    let text = "[TimeControl \"300\"]\n\n1. e4 {[%clk 0:04:50]} e5 {[%clk 0:05:00]} \
                2. d4 {[%clk 0:04:45.5]} *";
    assert_eq!(told(text), [(10.0, None), (0.0, None), (4.5, None)]);
    let text = "[TimeControl \"300+5\"]\n\n1. e4 {[%clk 0:04:50]} e5 {[%clk 0:05:05]} *";
    assert_eq!(told(text), [(15.0, None), (0.0, None)]);
    // The first clock shows more than the time and a bonus, so a bonus came before.
    let text = "[TimeControl \"300+5\"]\n\n1. e4 {[%clk 0:05:08]} e5 {[%clk 0:05:09]} *";
    assert_eq!(told(text), [(2.0, None), (1.0, None)]);
}

#[test]
fn a_second_period_is_put_on_the_clock() {
    let text = "[TimeControl \"1/60:30\"]\n\n1. e4 {[%clk 0:01:20]} e5 {[%clk 0:01:30]} \
                2. d4 {[%clk 0:01:10]} *";
    assert_eq!(told(text), [(10.0, None), (0.0, None), (10.0, None)]);
}

#[test]
fn more_time_than_there_can_be_is_set() {
    let text = "[TimeControl \"60\"]\n\n1. e4 {[%clk 0:01:10]} e5 {[%clk 0:00:59]} \
                2. d4 {[%clk 0:01:09]} *";
    assert_eq!(told(text), [(0.0, Some(70.0)), (1.0, None), (1.0, None)]);
}

#[test]
fn without_a_control_the_time_of_moves_is_taken() {
    let text = "1. e4 {[%emt 0:00:07]} e5 {[%clk 0:10:00]} *";
    assert_eq!(told(text), [(7.0, None), (0.0, Some(600.0))]);
    // What the clocks show is set, and nobody knows what the moves took.
    let text = "1. e4 {[%clk 1:14:44]} e5 {[%clk 1:14:25]} 2. d4 {[%clk 1:14:02] [%emt 0:01:12]} d5 \
                {[%clk 1:15:00]} *";
    let expected = [
        (0.0, Some(4_484.0)),
        (0.0, Some(4_465.0)),
        (72.0, Some(4_442.0)),
        (0.0, Some(4_500.0)),
    ];
    assert_eq!(told(text), expected);
    assert_eq!(control(&game("[TimeControl \"-\"]\n\n1. e4 *")), None);
    let told = control(&game("[TimeControl \"40/5400+30:1800+30\"]\n\n1. e4 *"));
    assert_eq!(
        told.as_ref().and_then(TimeControl::to_pgn).as_deref(),
        Some("40/5400+30:1800+30")
    );
}

/// A game a day for each move: the clock shows what was left of the day, and nothing is saved.
#[test]
fn no_move_takes_more_than_the_clock_had() {
    let text = "[TimeControl \"1/86400\"]\n\n1. d4 {[%clk 23:41:10]} d5 {[%clk 22:05:00]} \
                2. c4 {[%clk 23:50:02]} *";
    let expected = [
        (1_130.0, Some(85_270.0)),
        (6_900.0, Some(79_500.0)),
        (0.0, Some(85_802.0)),
    ];
    assert_eq!(told(text), expected);
    // The second period comes when the first has run out, and not at its last move.
    let text = "[TimeControl \"2/300:120\"]\n\n1. e4 {[%clk 0:03:00]} e5 {[%clk 0:04:00]} \
                2. Nf3 {[%clk 0:01:00]} Nc6 {[%clk 0:03:30]} 3. Bb5 {[%clk 0:00:10]} a6 \
                {[%clk 0:03:00]} 4. Ba4 {[%clk 0:01:50]} *";
    let expected = [
        (120.0, None),
        (60.0, None),
        (120.0, Some(60.0)),
        (150.0, None),
        (50.0, None),
        (30.0, None),
        (0.0, Some(110.0)),
    ];
    assert_eq!(told(text), expected);
    // A delay of five seconds, written as an increment: the clock waits, and gains nothing.
    let text = "[TimeControl \"60+5\"]\n\n1. e4 {[%clk 0:00:03]} e5 {[%clk 0:01:00]} \
                2. d4 {[%clk 0:00:03]} d5 {[%clk 0:00:58]} 3. c4 {[%clk 0:00:01]} *";
    let expected = [
        (57.0, Some(3.0)),
        (5.0, None),
        (0.0, Some(3.0)),
        (7.0, None),
        (2.0, Some(1.0)),
    ];
    assert_eq!(told(text), expected);
    // The time that a program tells can be more than there was.
    let text = "[TimeControl \"60\"]\n\n1. e4 {[%emt 0:01:30]} *";
    assert_eq!(told(text), [(0.0, None)]);
    // What it tells itself goes before what is reckoned.
    let text = "[TimeControl \"60\"]\n\n1. e4 {[%emt 0:00:05.5] [%clk 0:00:54]} *";
    assert_eq!(told(text), [(5.5, Some(54.0))]);
}

/// What has no place in a game is marked.
#[test]
fn what_is_left_out_is_marked() {
    let marked = |text: &str, is_over| {
        let game = game(text);
        let moves = time_moves(&game, control(&game).as_ref(), is_over).expect("clocks");
        moves.iter().position(|mv| mv.is_left_out)
    };
    let text = "[TimeControl \"60\"]\n\n1. e4 {[%clk 0:00:50]} e5 {[%emt 0:01:30]} *";
    assert_eq!(marked(text, false), Some(1));
    let text = "[TimeControl \"60+5\"]\n\n1. f3 e5 2. g4 Qh4# {[%clk 0:01:06]} 0-1";
    assert_eq!(marked(text, true), Some(3));
    let text =
        "[TimeControl \"60+5\"]\n\n1. f3 e5 2. g4 {[%emt 0:00:10]} Qh4# {[%clk 0:00:55]} 0-1";
    assert_eq!(marked(text, true), None);
}

/// Plays a record again as a platform tells a referee of it. Returns what the clocks show after
/// the moves.
fn replay(text: &str, profile: &str) -> Result<Vec<Option<u64>>, String> {
    let reading = read_one(text.as_bytes()).map_err(|error| error.to_string())?;
    let profile = Profile::named(profile).map_err(|error| error.to_string())?;
    let game = &reading.game;
    let control = control(game);
    let start = Start {
        timing: Timing {
            keeper: Keeper::Platform,
            white: control.clone(),
            black: control.clone(),
            ..Timing::default()
        },
        ..Start::default()
    };
    let is_over = Verdict::of(&reading, &profile).outcome.is_some();
    let mut referee = Referee::new(profile, &start).map_err(|error| error.to_string())?;
    let mut shown = Vec::new();
    let moves = time_moves(game, control.as_ref(), is_over);
    for mv in moves.map_err(|error| error.to_string())? {
        let uci = mv.uci.to_string();
        let made = Action::player(mv.side, Intent::Move(MoveIntent::completed(&uci)));
        let of = |side| mv.set_ms.filter(|_| side == mv.side);
        let set = Action::arbiter(Intent::Decide(Decision::SetClocks {
            white_ms: of(referee_laws::Color::White),
            black_ms: of(referee_laws::Color::Black),
        }));
        let now = referee
            .time()
            .checked_add_ms(mv.elapsed_ms.unwrap_or(0))
            .ok_or("too late")?;
        let actions = [Some(made), mv.set_ms.map(|_| set)];
        for action in actions.into_iter().flatten() {
            let judgment = referee.judge(&action, now);
            let entry = judgment.entry.ok_or(judgment.ruling.text)?;
            let applied = referee.apply(&entry.effects);
            applied.map_err(|error| error.to_string())?;
        }
        shown.push(referee.conduct().clocks.side(mv.side).left_ms);
        if let Some(outcome) = referee.outcome().filter(|_| !is_over) {
            return Err(outcome.text.clone());
        }
    }
    Ok(shown)
}

/// What a record shows is what a referee that plays it again shows, under any profile, and no
/// flag falls.
#[test]
fn a_record_can_be_played_again_under_every_profile() {
    let records = [
        // Clocks that broadcasts lose, with the time that moves took in their place.
        "[TimeControl \"40/7200:1800+30\"]\n\n1. d4 {[%clk 01:59:00]} {[%emt 00:00:58]} d5 \
         {[%clk 01:59:50]} 2. c4 {[%emt 00:00:06]} e6 {[%emt 00:00:30]} 3. Nf3 \
         {[%clk 01:58:28]} Nf6 {[%clk 01:59:06]} *",
        // A clock of another control than the tag tells, and one that goes back and forth.
        "[TimeControl \"60\"]\n\n1. d4 {[%clk 1:30:00]} d5 {[%clk 0:00:01]} 2. c4 \
         {[%clk 0:00:02]} e6 {[%clk 0:59:00]} 3. Nc3 {[%clk 0:00:00]} c6 {[%clk 0:00:00]} 4. e3 \
         {[%clk 0:00:00]} Nf6 {[%clk 0:00:05]} *",
        // A day for each move, of which all but nothing was used.
        "[TimeControl \"1/86400\"]\n\n1. d4 {[%clk 0:00:01]} d5 {[%clk 24:00:00]} 2. c4 \
         {[%clk 23:59:59]} e6 {[%clk 0:00:00]} 3. Nc3 {[%clk 12:00:00]} *",
        // The bonus is written as an increment, and is a delay.
        "[TimeControl \"300+5\"]\n\n1. d4 {[%clk 0:05:00]} d5 {[%clk 0:00:04]} 2. c4 \
         {[%clk 0:05:00]} e6 {[%clk 0:00:04]} 3. Nc3 {[%clk 0:00:01]} c6 {[%clk 0:00:04]} *",
        // The last move mates, and its clock shows no bonus.
        "[TimeControl \"60+5\"]\n\n1. f3 {[%clk 0:01:05]} e5 {[%clk 0:00:03]} 2. g4 \
         {[%clk 0:01:09]} Qh4# {[%clk 0:00:01]} 0-1",
    ];
    for text in records {
        let game = game(text);
        for profile in PROFILE_NAMES {
            let shown =
                replay(text, profile).unwrap_or_else(|why| panic!("{profile}: {why}\n{text}"));
            assert_eq!(shown.len(), game.moves.len(), "{profile}\n{text}");
            for (index, left_ms) in shown.into_iter().enumerate() {
                let told = game.notes.get(index).clock;
                let told = told.map(|clock| clock.as_millis() as u64);
                assert!(
                    told.is_none() || told == left_ms,
                    "{profile}, {index}\n{text}"
                );
            }
        }
    }
}

/// The same of records that are made by chance.
#[test]
fn any_clocks_can_be_played_again() {
    const CONTROLS: [&str; 8] = [
        "60",
        "60+5",
        "1/60",
        "2/60:30",
        "1/60+3:2/30+1:10",
        "1/86400",
        "0+10",
        "3/300+2",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) % bound
    };
    for _ in 0..3_000 {
        let control = CONTROLS[below(CONTROLS.len() as u64) as usize];
        let mut text = format!("[TimeControl \"{control}\"]\n\n");
        for mv in [
            "d4", "d5", "c4", "e6", "Nc3", "c6", "e3", "Nf6", "Nf3", "Nbd7",
        ] {
            text += mv;
            let most = [2, 70, 400, 90_000][below(4) as usize];
            let (minutes, tenths) = (below(most) / 60, below(600));
            let time = format!("{minutes}:{:02}.{}", tenths / 10, tenths % 10);
            match below(4) {
                0 => text += " ",
                1 => text += &format!(" {{[%emt {time}]}} "),
                _ => text += &format!(" {{[%clk {time}]}} "),
            }
        }
        text += "*";
        let game = game(&text);
        for profile in ["chesscom", "fide_online", "uscf"] {
            let shown =
                replay(&text, profile).unwrap_or_else(|why| panic!("{profile}: {why}\n{text}"));
            for (index, left_ms) in shown.into_iter().enumerate() {
                let told = game.notes.get(index).clock;
                let told = told.map(|clock| clock.as_millis() as u64);
                assert!(
                    told.is_none() || told == left_ms,
                    "{profile}, {index}\n{text}"
                );
            }
        }
    }
}
