//! The fast counter agrees with the simple one on positions by chance, likely and odd.

mod random;

use referee_chess::Position;
use referee_chess::mailbox::Mailbox;
use referee_perft::{Count, LastPly, Means, Processor, count, simple, statistics};

use random::Chance;

/// How many positions each test counts, times `REFEREE_PERFT_ROUNDS` where that is set.
const ROUNDS: usize = 2_000;

fn rounds() -> usize {
    let factor = std::env::var("REFEREE_PERFT_ROUNDS").ok();
    ROUNDS * factor.and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn check(position: &Position, depth: u32) {
    let expected = simple::count(position, depth);
    for processor in [Processor::Native, Processor::Portable] {
        for last_ply in [LastPly::Bulk, LastPly::Each] {
            let means = Means {
                processor,
                last_ply,
                ..Means::default()
            };
            let found = count(position, depth, means);
            let place = format!("{position} at {depth}, {processor:?} {last_ply:?}");
            assert_eq!(found, Count::Done(expected), "{place}");
        }
    }
}

#[test]
fn games_by_chance_are_counted_alike() {
    let mut chance = Chance(0x1234_5678_9abc_def1);
    for _ in 0..rounds() / 20 {
        random::play(&mut chance, 160, |position| {
            for depth in 1..=2 {
                check(position, depth);
            }
        });
    }
}

#[test]
fn odd_setups_are_counted_alike() {
    let mut chance = Chance(0xfedc_ba98_7654_3211);
    let mut counted = 0;
    while counted < 10 * rounds() {
        if let Some(position) = random::setup(&mut chance) {
            check(&position, 1);
            check(&position, 2);
            counted += 1;
        }
    }
}

#[test]
fn three_plies_are_counted_alike() {
    let mut chance = Chance(0x0dd0_5eed_0dd0_5eed);
    let mut counted = 0;
    while counted < rounds() / 20 {
        if let Some(position) = random::setup(&mut chance) {
            check(&position, 3);
            counted += 1;
        }
    }
}

#[test]
fn the_oracle_generator_and_the_statistics_agree() {
    let mut chance = Chance(0x0bad_cafe_0bad_cafe);
    let mut positions = Vec::new();
    while positions.len() < rounds() / 4 {
        positions.extend(random::setup(&mut chance));
    }
    while positions.len() < rounds() / 2 {
        random::play(&mut chance, 100, |position| {
            positions.push(position.clone())
        });
    }
    for position in &positions {
        let mailbox = Mailbox::from(&position.to_setup());
        for depth in 1..=2 {
            let expected = mailbox.perft(depth);
            let found = count(position, depth, Means::default());
            assert_eq!(found, Count::Done(expected), "{position} at {depth}");
            assert_eq!(
                statistics(position, depth).nodes,
                expected,
                "{position} at {depth}"
            );
        }
    }
}
