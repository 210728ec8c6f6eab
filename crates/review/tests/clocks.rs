//! The time that moves took, from the clocks in a text.

use referee_laws::TimeControl;
use referee_pgn::Game;
use referee_review::{read_control, read_one, time_moves};

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
    let moves = time_moves(&game, control(&game).as_ref(), false);
    moves
        .iter()
        .map(|mv| (seconds(mv.elapsed_ms), mv.set_ms.map(seconds)))
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
    assert_eq!(told(text), [(7.0, None), (0.0, None)]);
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
    assert_eq!(told(text), [(60.0, None)]);
}
