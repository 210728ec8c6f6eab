//! Compares the solver with tables of all positions of a few men.
//!
//! `cargo run --release -p referee-mate --example enumerate -- [STRIDE] [CLASS…]` asks about
//! every `STRIDE`th position of the classes, such as `KQvKN`; 1 (all of them) where nothing is
//! said, and all classes of three and four men without pawns. Positions that are others turned,
//! mirrored or with equal men exchanged are asked about once. Ends with 1 if an answer differs
//! from the table.

#![expect(clippy::disallowed_types, reason = "it shows how long it took")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::num::NonZero;
use std::ops::Range;
use std::time::Instant;

use referee_chess::{Color, Piece, Role};
use referee_mate::{Budget, CanMate, can_mate, quick};

use common::retrograde::{Class, Table, Tables, classes, name};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let stride = arguments.next().map_or(Ok(1), |text| text.parse());
    let chosen: Option<Vec<Class>> = arguments.map(|text| class(&text)).collect();
    let (Ok(stride @ 1..), Some(mut chosen)) = (stride, chosen) else {
        eprintln!("expected a number from 1 up and classes such as KQvKN of at most four men");
        std::process::exit(2);
    };
    if chosen.is_empty() {
        chosen = [classes(1), classes(2)].concat();
    }
    let mut failed = 0;
    for class in chosen {
        let mut tables = Tables::default();
        for winner in Color::ALL {
            let start = Instant::now();
            let table = tables.get(class.clone(), winner);
            let built = start.elapsed().as_secs_f64();
            let [yes, no, wrong] = compare(&table, winner, stride);
            failed += wrong;
            let seconds = start.elapsed().as_secs_f64();
            let name = name(table.class());
            println!(
                "{name} {winner}: {yes} yes, {no} no, {wrong} failed, {built:.0} s + {:.0} s",
                seconds - built
            );
        }
    }
    println!("{failed} failed");
    std::process::exit(i32::from(failed > 0));
}

/// Returns the men beside the kings of a name such as `KQvKN`.
fn class(name: &str) -> Option<Class> {
    let (white, black) = name.split_once('v')?;
    let mut class = Class::new();
    for (color, letters) in [(Color::White, white), (Color::Black, black)] {
        for letter in letters.strip_prefix('K')?.chars() {
            let role = Role::ALL
                .into_iter()
                .find(|&role| role != Role::King && role.to_upper_char() == letter)?;
            class.push(Piece { color, role });
        }
    }
    (class.len() <= 2).then_some(class)
}

/// Returns how many answers are a right yes, a right no, and not what the table says. Every core
/// takes a part of the positions.
fn compare(table: &Table, winner: Color, stride: usize) -> [u64; 3] {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let counts = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|part| {
                let indices = table.size() * part / cores..table.size() * (part + 1) / cores;
                scope.spawn(move || compare_part(table, winner, stride, indices))
            })
            .collect();
        let counts = parts.into_iter().map(|part| part.join().expect("it ends"));
        counts.collect::<Vec<_>>()
    });
    let sum = |place: usize| counts.iter().map(|part| part[place]).sum();
    [sum(0), sum(1), sum(2)]
}

fn compare_part(table: &Table, winner: Color, stride: usize, indices: Range<usize>) -> [u64; 3] {
    let mut counts = [0; 3];
    let numbers = indices.filter(|&index| table.is_first_of_its_kind(index));
    let positions = numbers.filter_map(|index| Some((index, table.position(index)?)));
    for (index, position) in positions.step_by(stride) {
        let answer = can_mate(&position, winner, Budget::FULL, &|| false);
        let expected = table.is_won(index);
        let is_hasty = expected && quick(&position, winner).is_no();
        match (&answer, expected) {
            (CanMate::Yes(_), true) if !is_hasty => counts[0] += 1,
            (CanMate::No(_), false) => counts[1] += 1,
            _ => {
                counts[2] += 1;
                println!("{winner} {position}: {answer:?}, not {expected}; quick no: {is_hasty}");
            }
        }
    }
    counts
}
