//! Counts the six standard positions and prints millions of nodes per second for each.
//! The last two plies are counted from one null move.
//!
//! `six [--portable] [--hash=MIB] [--threads=THREADS] [NAME ROUNDS PLIES]` counts one position so
//! often, so many plies deeper (or less deep where that is negative), each time with an empty table
//! if there is one, and prints the seconds of the processor that each count took. With threads the
//! position is counted as `referee perft` does, equal positions once, and what is printed are
//! seconds of time.

#![expect(clippy::disallowed_types, reason = "it shows how long it took")]

use std::sync::LazyLock;
use std::time::Instant;

use referee_chess::{CastlingMode, Position, Tolerance};
use referee_perft::{Count, Ending, Means, Options, Processor, Run, Table, count};

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
        "pos3",
        7,
        178_633_661,
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    ),
    (
        "pos4",
        5,
        15_833_292,
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    ),
    (
        "pos5",
        5,
        89_941_194,
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
    ),
    (
        "pos6",
        5,
        164_075_551,
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    ),
];

/// Returns the seconds that this thread has had a processor, where the system tells; elsewhere the
/// seconds since a first call.
fn processor_seconds() -> f64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = statistics.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(
        || BEGIN.elapsed().as_secs_f64(),
        |nanoseconds| nanoseconds / 1e9,
    )
}

/// Counts one position so often, so many plies deeper than usual.
fn repeat(
    name: &str,
    rounds: u32,
    plies: i32,
    means: Means<'_>,
    mib: Option<usize>,
    threads: Option<usize>,
) {
    let found = SIX.iter().find(|(known, ..)| *known == name);
    let &(_, depth, _, fen) = found.expect("the name is that of one of the six");
    let depth = depth.saturating_add_signed(plies);
    let position = Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT)
        .expect("the standard positions are sound");
    for _ in 0..rounds {
        let begin = processor_seconds();
        let table = mib.map(|mib| {
            Table::fitting(&position, depth, mib, 0).expect("there is memory for the table")
        });
        let cleared = processor_seconds();
        let table = table.as_ref();
        if let Some(threads) = threads {
            run(&position, depth, threads, Means { table, ..means });
            continue;
        }
        let counted = count(&position, depth, Means { table, ..means });
        let end = processor_seconds();
        println!(
            "{counted:?} {:.6} of which the table {:.6} ({:?} MiB)",
            end - begin,
            cleared - begin,
            table.map(Table::mib)
        );
    }
}

/// Counts as `referee perft` does.
fn run(position: &Position, depth: u32, threads: usize, means: Means<'_>) {
    let begin = Instant::now();
    let options = Options {
        processor: means.processor,
        table: means.table,
        ..Options::default()
    };
    let mut run = Run::new(position, depth, threads).expect("it can be counted");
    match run.count(options).expect("it ends") {
        Ending::Done { total, table } => println!(
            "{} in {:.3}, {} probes, {} hits",
            total.nodes,
            begin.elapsed().as_secs_f64(),
            table.probes,
            table.hits
        ),
        Ending::Cancelled => println!("cancelled"),
    }
}

fn main() {
    let portable = std::env::args().any(|argument| argument == "--portable");
    let processor = if portable {
        Processor::Portable
    } else {
        Processor::Native
    };
    let means = Means {
        processor,
        ..Means::default()
    };
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    if let [name, rounds, plies] = &words[..] {
        let number = |text: &String| -> i32 { text.parse().expect("a number is given") };
        let option = |name: &str| {
            std::env::args().find_map(|word| {
                let number = word.strip_prefix(name)?.parse::<usize>();
                Some(number.expect("a number is given"))
            })
        };
        let (mib, threads) = (option("--hash="), option("--threads="));
        let rounds = u32::try_from(number(rounds)).expect("it is not negative");
        return repeat(name, rounds, number(plies), means, mib, threads);
    }
    let (mut product, mut best) = (1.0, 1.0);
    for (name, depth, nodes, fen) in SIX {
        let position = Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT)
            .expect("the standard positions are sound");
        let mut times: Vec<f64> = (0..9)
            .map(|_| {
                let begin = processor_seconds();
                assert_eq!(count(&position, depth, means), Count::Done(nodes), "{name}");
                processor_seconds() - begin
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let speed = nodes as f64 / times[4] / 1e6;
        product *= speed;
        best *= nodes as f64 / times[0] / 1e6;
        println!(
            "{name:10} {speed:8.0} (best {:8.0})",
            nodes as f64 / times[0] / 1e6
        );
    }
    println!(
        "mean       {:8.0} (best {:8.0})",
        product.powf(1.0 / 6.0),
        best.powf(1.0 / 6.0)
    );
}
