//! Measures what a move costs in games of different lengths: `cargo run --release -p referee-laws
//! --example cost`.
//!
//! Each line compares a position late in a long game with the same position early in a game that
//! was set up a few moves before it, so that the lengths differ and nothing else does.

#![expect(clippy::disallowed_types, reason = "it shows how long it took")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use referee_chess::{CastlingMode, Move, Position, Role};
use referee_laws::{Action, Game, History, Profile, Start, Time, Variant};

/// How far the long games go.
const LATE: u32 = 4_900;
/// How far the short ones go.
const EARLY: u32 = 10;
/// The moves in a row that are measured, so that it does not matter where chunks of them begin.
const MOVES: u32 = 64;
/// How often each is judged in a round, and the rounds, of which the quickest counts.
const CALLS: u32 = 100;
const ROUNDS: u32 = 15;

fn main() {
    println!("game\tplies\tjudge ns\tcopy ns\tapply ns\tquestion ns\tjudge+copy+apply");
    let without_draws = [("fivefold", "false"), ("seventy_five", "false")];
    for (name, overrides) in [
        ("75-move rule", &[][..]),
        ("no automatic draws", &without_draws),
    ] {
        let rules = Profile::resolve("fide_standard", Variant::Standard, overrides);
        let rules = rules.expect("the parameters are known");
        let moves = long_game(overrides.is_empty());
        let (before, next) = moves.split_at(LATE as usize);
        let late = game(&rules, Position::startpos(), before);
        let early_at = LATE - EARLY;
        let base = late.history().up_to(early_at).position().to_string();
        let base = Position::from_fen(&base, CastlingMode::Standard).expect("it was written");
        let early = game(&rules, base, &before[early_at as usize..]);
        let totals = [early, late].map(|game| report(name, game, next));
        let ratio = totals[1] / totals[0];
        println!("{name}: a late move costs {ratio:.2} of an early one");
    }
}

/// Moves of a game that goes on beyond [`LATE`]: back and forth in ever new ways, with a pawn move
/// or a capture whenever the seventy-five moves are nearly over.
fn long_game(with_draws: bool) -> Vec<String> {
    let mut history = History::new(Position::startpos());
    let mut number = 7u32;
    let mut moves = Vec::new();
    while history.ply() < LATE + MOVES {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let position = history.position();
        let all = position.legal_moves();
        let resets = |mv: Move| position.after_unchecked(mv).halfmove_clock() == 0;
        let wants_reset = with_draws && history.halfmove_clock() >= 140;
        let mut choice: Vec<Move> = (&all)
            .into_iter()
            .filter(|&mv| resets(mv) == wants_reset && is_fit(position, mv))
            .filter(|&mv| history.repetitions_after(mv) < 3)
            .collect();
        if choice.is_empty() {
            // A check, most often, that only such a move answers.
            choice = (&all)
                .into_iter()
                .filter(|&mv| position.after_unchecked(mv).has_legal_moves())
                .collect();
        }
        let mv = choice[(number >> 8) as usize % choice.len()];
        moves.push(position.uci(mv).to_string());
        history.play(mv).expect("there is room");
    }
    moves
}

/// Whether a move neither ends the game nor takes what later moves need.
fn is_fit(position: &Position, mv: Move) -> bool {
    let is_pawn = position
        .board()
        .piece_at(mv.from())
        .is_some_and(|it| it.role == Role::Pawn);
    let takes = position.board().occupied().contains(mv.to());
    position.after_unchecked(mv).has_legal_moves() && (!is_pawn || !takes)
}

fn game(rules: &Profile, base: Position, moves: &[String]) -> Game {
    let start = Start {
        base,
        ..Start::default()
    };
    let mut game = Game::new(rules.clone(), &start).expect("there are no moves to refuse");
    for text in moves {
        let action = Action::play(game.position().turn(), text);
        let judgment = game.judge(&action, Time::ORIGIN);
        let entry = judgment.entry.expect("the move is legal");
        game.apply(&entry.effects)
            .expect("it was judged a moment ago");
        assert!(game.outcome().is_none(), "{text}: {:?}", game.outcome());
    }
    game
}

/// Prints what the next moves cost, and returns the sum in nanoseconds for each.
fn report(name: &str, mut game: Game, moves: &[String]) -> f64 {
    let first = game.history().ply();
    let mut sums = [0.0; 4];
    for text in moves {
        let action = Action::play(game.position().turn(), text);
        let judgment = game.judge(&action, Time::ORIGIN);
        let effects = judgment.entry.expect("it is legal").effects;
        let parts = [
            least(|| drop(black_box(game.judge(black_box(&action), Time::ORIGIN)))),
            least(|| drop(black_box(game.clone()))),
            least(|| {
                let mut game = game.clone();
                let applied = game.apply(black_box(&effects));
                applied.expect("it was judged a moment ago");
                black_box(game);
            }),
            least(|| {
                black_box(game.asks_about_mate());
            }),
        ];
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum += part / moves.len() as f64;
        }
        let applied = game.apply(&effects);
        applied.expect("it was judged a moment ago");
    }
    let [judge, copy, copy_and_apply, question] = sums;
    let (apply, total) = (copy_and_apply - copy, judge + copy_and_apply);
    let last = game.history().ply();
    println!(
        "{name}\t{first}-{last}\t{judge:.0}\t{copy:.0}\t{apply:.0}\t{question:.0}\t{total:.0}"
    );
    total
}

/// The time of one call in nanoseconds, of the round that was disturbed least.
fn least(mut call: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let begin = Instant::now();
        for _ in 0..CALLS {
            call();
        }
        begin.elapsed()
    });
    rounds.min().unwrap_or(Duration::ZERO).as_nanos() as f64 / f64::from(CALLS)
}
