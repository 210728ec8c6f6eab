//! Ours beside laura_core and cozy-chess on the six standard positions, one thread, no hash.
//!
//! What is compared are ways to count, not generators of moves: ours counts the last two plies from
//! one null move, cozy-chess the last ply in bulk, and laura_core visits each move of it.
//!
//! `cargo bench -p referee-perft --bench peers [-- ROUNDS]`, with
//! `RUSTFLAGS="-C target-cpu=native"` so that the others are at their best. Every round times all
//! counters on a position one after the other; what is printed are medians, in millions of nodes
//! per second, and the ratios of their geometric means.

#![expect(clippy::disallowed_types, reason = "a benchmark measures real time")]

use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Instant;

use referee_chess::{CastlingMode, Position, Tolerance};
use referee_perft::{Count, Means, Processor, count};

const SIX: [(&str, u32, u128, &str); 6] = [
    (
        "start",
        6,
        119_060_324,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ),
    (
        "kiwipete",
        5,
        193_690_690,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    ),
    (
        "position 3",
        7,
        178_633_661,
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    ),
    (
        "position 4",
        5,
        15_833_292,
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    ),
    (
        "position 5",
        5,
        89_941_194,
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    ),
    (
        "position 6",
        5,
        164_075_551,
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    ),
];

const COUNTERS: [&str; 4] = ["referee", "portable", "laura_core", "cozy-chess"];

/// What each of them does not do move by move.
const SHORTCUTS: [&str; 4] = ["2 plies", "2 plies", "none", "1 ply"];

fn referee(position: &Position, depth: u32, processor: Processor) -> u128 {
    let means = Means {
        processor,
        ..Means::default()
    };
    match count(position, depth, means) {
        Count::Done(nodes) => nodes,
        other => panic!("{position}: {other:?}"),
    }
}

fn laura(board: &laura_core::Board, depth: u32) -> u64 {
    let mut total = 0;
    if depth <= 1 {
        laura_core::enumerate_legal_moves::<laura_core::AllMoves, _>(board, |_| {
            total += 1;
            true
        });
        return total;
    }
    laura_core::enumerate_legal_moves::<laura_core::AllMoves, _>(board, |mv| {
        total += laura(&board.make_move(mv), depth - 1);
        true
    });
    total
}

fn cozy(board: &cozy_chess::Board, depth: u32) -> u64 {
    let mut total = 0;
    board.generate_moves(|moves| {
        if depth <= 1 {
            total += moves.len() as u64;
            return false;
        }
        for mv in moves {
            let mut next = board.clone();
            next.play_unchecked(mv);
            total += cozy(&next, depth - 1);
        }
        false
    });
    total
}

/// Returns the seconds that this thread has had a processor, where the system tells; elsewhere the
/// seconds since a first call. On a busy machine the former says more.
fn processor_seconds() -> f64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || BEGIN.elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds / 1e9,
    )
}

/// Counts with each counter, and returns the seconds that each took.
fn round(fen: &str, depth: u32, nodes: u128) -> [f64; 4] {
    let ours = Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT)
        .expect("the standard positions are sound");
    let lauras = laura_core::Board::from_str(fen).expect("the standard positions are sound");
    let cozys = cozy_chess::Board::from_str(fen).expect("the standard positions are sound");
    let time = |count: &dyn Fn() -> u128| {
        let begin = processor_seconds();
        assert_eq!(count(), nodes, "{fen} at depth {depth}");
        processor_seconds() - begin
    };
    [
        time(&|| referee(&ours, depth, Processor::Native)),
        time(&|| referee(&ours, depth, Processor::Portable)),
        time(&|| u128::from(laura(&lauras, depth))),
        time(&|| u128::from(cozy(&cozys, depth))),
    ]
}

fn main() {
    // `cargo bench` passes flags of its own along.
    let rounds: usize = std::env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(5);
    let mut logs = [0.0; 4];
    println!(
        "{:12}{}",
        "",
        COUNTERS.map(|name| format!("{name:>12}")).concat()
    );
    println!(
        "{:12}{}",
        "in bulk",
        SHORTCUTS.map(|name| format!("{name:>12}")).concat()
    );
    for (name, depth, nodes, fen) in SIX {
        let times: Vec<[f64; 4]> = (0..rounds).map(|_| round(fen, depth, nodes)).collect();
        let mut line = format!("{name:12}");
        for (index, log) in logs.iter_mut().enumerate() {
            let mut column: Vec<f64> = times.iter().map(|round| round[index]).collect();
            column.sort_by(f64::total_cmp);
            let speed = nodes as f64 / column[column.len() / 2] / 1e6;
            *log += speed.ln() / SIX.len() as f64;
            line += &format!("{speed:12.0}");
        }
        println!("{line}");
    }
    let means = logs.map(f64::exp);
    println!(
        "{:12}{}",
        "mean",
        means.map(|mean| format!("{mean:12.0}")).concat()
    );
    let ratios = means.map(|mean| format!("{:12.2}", means[0] / mean));
    println!("{:12}{}", "referee is", ratios.concat());
}
