//! Runs whole suites of positions with known verdicts.
//!
//! `cargo run --release -p referee-mate --example suite -- [--budget NODES] FILE…`; a file has
//! the format of the module `suite`. Prints each query that fails, a line for each file, and at
//! the end `N passed, M failed`. Ends with 1 if any failed.

#![expect(clippy::disallowed_types, reason = "it shows how long it took")]

use std::time::{Duration, Instant};

use referee_mate::Budget;
use referee_mate::suite::{cases, judge};

/// What came of a file.
#[derive(Default)]
struct Tally {
    passed: u64,
    wrong: u64,
    unknown: u64,
    unread: u64,
    time: Duration,
    longest: Duration,
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut budget = Budget::FULL;
    if let Some("--budget") = arguments.first().map(String::as_str) {
        let Some(nodes) = arguments.get(1).and_then(|text| text.parse().ok()) else {
            eprintln!("--budget takes a number of nodes");
            std::process::exit(2);
        };
        arguments.drain(..2);
        budget = Budget::of(nodes);
    }
    let (mut passed, mut failed) = (0, 0);
    for path in &arguments {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
            eprintln!("{path}: {error}");
            std::process::exit(2);
        });
        let tally = run(&text, budget);
        println!(
            "{path}: {} agree, {} wrong, {} unknown, {} lines unread; {:.1} s, longest {:.3} s \
             for the sides of one position",
            tally.passed,
            tally.wrong,
            tally.unknown,
            tally.unread,
            tally.time.as_secs_f64(),
            tally.longest.as_secs_f64()
        );
        passed += tally.passed;
        failed += tally.wrong + tally.unknown + tally.unread;
    }
    println!("{passed} passed, {failed} failed");
    std::process::exit(i32::from(failed > 0));
}

fn run(text: &str, budget: Budget) -> Tally {
    let mut tally = Tally::default();
    for case in cases(text) {
        let case = match case {
            Ok(case) => case,
            Err(error) => {
                println!("{error}");
                tally.unread += 1;
                continue;
            }
        };
        let start = Instant::now();
        let verdicts = judge(&case, budget, &|| false);
        let time = start.elapsed();
        tally.time += time;
        tally.longest = tally.longest.max(time);
        for verdict in verdicts {
            if verdict.is_passed() {
                tally.passed += 1;
                continue;
            }
            if verdict.is_wrong() {
                tally.wrong += 1;
            } else {
                tally.unknown += 1;
            }
            println!(
                "{} {} {}",
                verdict.answer.to_char(),
                verdict.winner,
                case.fen
            );
        }
    }
    tally
}
