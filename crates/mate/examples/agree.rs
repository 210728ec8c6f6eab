//! Compares the solver with chasolver on positions from random play and blocked structures.
//!
//! `cargo run --release -p referee-mate --example agree -- [POSITIONS] [SEED]`; a million where
//! nothing is said. Each side of each position is one question. Every line of a yes is replayed on
//! the mailbox board, which settles the question: where chasolver denies such a mate, it is wrong,
//! and the position is printed. Ends with 1 if any answer contradicts, and prints what stayed
//! unknown.

#[path = "../tests/common/mod.rs"]
mod common;

use referee_chess::{Color, Position};
use referee_mate::{Budget, CanMate, can_mate, quick};

/// How often each answer was given.
#[derive(Default)]
struct Counts {
    yes: u64,
    no: u64,
    unknown: u64,
    /// A `No` of the quick tier.
    quick: u64,
    /// What chasolver does not know.
    silent: u64,
    /// Mates that chasolver denies, although the line was replayed.
    denied: u64,
    wrong: u64,
}

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|text| text.parse::<u64>().ok());
    let (Some(positions), Some(seed)) = (
        numbers.next().unwrap_or(Some(1_000_000)),
        numbers.next().unwrap_or(Some(1)),
    ) else {
        eprintln!("positions and seed are numbers");
        std::process::exit(2);
    };
    let mut chance = common::Chance::new(seed);
    let names = ["random play", "blocked structures", "walls", "fortresses"];
    let mut counts: [Counts; 4] = Default::default();
    for number in 0..positions {
        let kind = (number % 4) as usize;
        let position = match kind {
            0 => common::random_play(&mut chance),
            1 => common::random_blocked(&mut chance),
            2 => common::random_wall(&mut chance),
            _ => common::random_fortress(&mut chance),
        };
        for winner in Color::ALL {
            compare(&position, winner, &mut counts[kind]);
        }
        if (number + 1) % 50_000 == 0 {
            eprintln!("{} positions", number + 1);
        }
    }
    let mut wrong = 0;
    for (name, count) in names.into_iter().zip(&counts) {
        wrong += count.wrong;
        println!(
            "{name}: {} yes, {} no ({} by the quick tier), {} unknown, {} unknown to chasolver, \
             {} denied by it, {} contradictions",
            count.yes,
            count.no,
            count.quick,
            count.unknown,
            count.silent,
            count.denied,
            count.wrong
        );
    }
    println!("{positions} positions, seed {seed}: {wrong} contradictions");
    std::process::exit(i32::from(wrong > 0));
}

fn compare(position: &Position, winner: Color, counts: &mut Counts) {
    let answer = can_mate(position, winner, Budget::FULL, &|| false);
    let is_hasty = quick(position, winner).is_no();
    let theirs = common::chasolver(position, winner);
    let is_wrong = match &answer {
        CanMate::Yes(line) => {
            counts.yes += 1;
            let is_mate = common::is_mating_line(position, line, winner);
            if is_mate && theirs == Some(false) {
                counts.denied += 1;
                println!("denied: {winner} {position}: {line:?}");
            }
            !is_mate
        }
        CanMate::No(_) => {
            counts.no += 1;
            theirs == Some(true)
        }
        CanMate::Unknown { nodes } => {
            counts.unknown += 1;
            println!("unknown: {winner} {position} after {nodes}, chasolver {theirs:?}");
            false
        }
    };
    counts.silent += u64::from(theirs.is_none());
    counts.quick += u64::from(is_hasty);
    if is_wrong || (is_hasty && (answer.is_yes() || theirs == Some(true))) {
        counts.wrong += 1;
        println!("CONTRADICTION: {winner} {position}: {answer:?}, chasolver {theirs:?}");
    }
}
