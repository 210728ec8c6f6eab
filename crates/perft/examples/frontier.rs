//! Plans the distinct positions some plies below a position, sorted with files, and prints how
//! many there are, how many paths lead to them, and what time and memory it took.
//!
//! `cargo run --release -p referee-perft --example frontier -- PLIES [FOLDER] [FEN]`. The files go
//! to the folder for temporary files unless another is named; they have no name, so nothing is
//! left of them whatever happens. From the starting position seven plies take 7 GB there at most,
//! and what comes out is compared with the published numbers.

#![expect(clippy::disallowed_types, reason = "it shows how long it took")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use referee_chess::{CastlingMode, Position};
use referee_perft::{Cut, Means, read_position};
use referee_spill::{Room, SpillFolder};

/// Distinct positions (OEIS A083276) and paths from the starting position, by plies.
const START: [(u64, u128); 9] = [
    (1, 1),
    (20, 20),
    (400, 400),
    (5_362, 8_902),
    (72_078, 197_281),
    (822_518, 4_865_609),
    (9_417_681, 119_060_324),
    (96_400_068, 3_195_901_860),
    (988_187_354, 84_998_978_956),
];

/// Sorting takes so much at most: what nine plies need is more than most folders have.
const ROOM: Room = Room {
    bytes_max: 1 << 40,
    left_free: 64 << 20,
};

/// The most memory that this process has had, in MiB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let plies: u32 = arguments
        .next()
        .ok_or("the number of plies is missing")?
        .parse()?;
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let fen = arguments.next();
    let root = match &fen {
        Some(fen) => read_position(fen, CastlingMode::Standard)?,
        None => Position::startpos(),
    };
    let begin = Instant::now();
    let place = SpillFolder::new(&folder, ROOM);
    let plan = place.plan(&root, plies, Cut::at(plies), Means::default())?;
    let (positions, paths) = (plan.positions(), plan.paths());
    println!("{positions} positions stand for {paths} paths");
    eprintln!("{:.1} s", begin.elapsed().as_secs_f64());
    if let Some(peak) = peak() {
        eprintln!("{peak} MiB at most");
    }
    let published = START
        .get(plies as usize)
        .filter(|_| fen.is_none() && plies > 0);
    Ok(published.is_none_or(|&published| published == (positions, paths)))
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: other numbers are published");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
