//! Both tiers beside chasolver, in one run, on the same questions.
//!
//! `cargo bench -p referee-mate --bench beside_chasolver -- [STRIDE]` asks about every `STRIDE`th
//! position of the suites, 10 where nothing is said, and of positions from random play and blocked
//! structures. The four answers to one question follow each other, so that what else the machine
//! does slows all of them alike. Ends with the ratios of the means: ours to theirs.

#![expect(clippy::disallowed_types, reason = "a benchmark measures real time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use referee_chess::{Color, Position};
use referee_mate::suite::cases;
use referee_mate::{Budget, can_mate, quick};

const SUITES: [&str; 3] = [
    "dead/outside/chasolver_lichess.txt",
    "dead/outside/chasolver_positions.txt",
    "dead/outside/d3chess_test_vector.txt",
];

/// Generated positions of each kind, times the stride.
const GENERATED: usize = 20_000;

/// What takes longer is asked once.
const LONG: Duration = Duration::from_millis(300);

/// Whose answer: ours quick, theirs fast, ours full, theirs full.
const SOLVERS: [&str; 4] = [
    "quick",
    "chasolver is_unwinnable_fast",
    "can_mate",
    "chasolver winnability",
];

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok());
    let stride: usize = numbers.next().unwrap_or(10).max(1);
    let mut all: [Vec<Duration>; 4] = Default::default();
    for suite in SUITES {
        let Some(path) = common::shared(suite) else {
            continue;
        };
        let text = std::fs::read_to_string(path).expect("the file can be read");
        let positions = cases(&text).step_by(stride).flatten();
        run(suite, positions.map(|case| case.position), &mut all);
    }
    let count = GENERATED / stride;
    let mut chance = common::Chance::new(1);
    let generators = [
        ("random play", common::random_play as fn(&mut _) -> _),
        ("blocked structures", common::random_blocked),
        ("walls", common::random_wall),
        ("fortresses", common::random_fortress),
    ];
    for (name, generate) in generators {
        run(name, (0..count).map(|_| generate(&mut chance)), &mut all);
    }
    report("all", &mut all);
}

fn run(name: &str, positions: impl Iterator<Item = Position>, all: &mut [Vec<Duration>; 4]) {
    let mut times: [Vec<Duration>; 4] = Default::default();
    for position in positions {
        let Ok(board) = position.to_string().parse::<chess::Board>() else {
            continue;
        };
        for winner in Color::ALL {
            let theirs = common::chess_color(winner);
            times[0].push(time(|| quick(&position, winner)));
            times[1].push(time(|| chasolver::is_unwinnable_fast(&board, theirs)));
            times[2].push(time(|| {
                can_mate(&position, winner, Budget::FULL, &|| false)
            }));
            times[3].push(time(|| chasolver::winnability(&board, theirs)));
        }
    }
    for (sum, part) in all.iter_mut().zip(&times) {
        sum.extend(part);
    }
    report(name, &mut times);
}

/// Returns how long an answer takes: the shortest of three times, so that what else the machine
/// does counts less, or of one where it takes long.
fn time<T>(answer: impl Fn() -> T) -> Duration {
    let mut shortest = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        let _ = black_box(answer());
        shortest = shortest.min(start.elapsed());
        if shortest > LONG {
            break;
        }
    }
    shortest
}

fn report(name: &str, times: &mut [Vec<Duration>; 4]) {
    println!("{name}: {} questions", times[0].len());
    if times[0].is_empty() {
        return;
    }
    let mut means = [0.0; 4];
    for ((times, solver), mean) in times.iter_mut().zip(SOLVERS).zip(&mut means) {
        times.sort_unstable();
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let at = |part: usize| micros(times[(times.len() - 1) * part / 1_000]);
        *mean = micros(times.iter().sum()) / times.len() as f64;
        println!(
            "  {solver:30} mean {mean:9.1} us, p50 {:8.1}, p99 {:9.1}, p99.9 {:9.1}, max {:11.1}",
            at(500),
            at(990),
            at(999),
            at(1_000)
        );
    }
    println!(
        "  ratio of the means: quick {:.2}, full {:.2}",
        means[0] / means[1],
        means[2] / means[3]
    );
}
