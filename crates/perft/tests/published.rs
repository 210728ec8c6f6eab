//! Published counts hold: totals, and what the moves of the last ply are.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use referee_chess::{CastlingMode, Position, Tolerance};
use referee_perft::{
    Count, Means, Processor, count, read_suite, simple, statistics, statistics_on_threads,
};

/// Above so many nodes a count is left to the faster ways.
const SIMPLE_NODES_MAX: u128 = 5_000_000;
const DETAILED_NODES_MAX: u128 = 3_000_000;
const FAST_NODES_MAX: u128 = 60_000_000;
const PORTABLE_NODES_MAX: u128 = 5_000_000;
/// The shared suites have thousands of positions.
const SHARED_NODES_MAX: u128 = 1_000_000;

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/perft")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn standard(name: &str) -> Position {
    let fen = match name {
        "startpos" => "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "kiwipete" => "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "pos3" => "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        "pos4" => "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "pos5" => "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        "pos6" => "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
        _ => panic!("{name}: no such position"),
    };
    Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn statistics_are_the_published_ones() {
    let table = data("statistics.csv");
    let mut lines = table.lines();
    let columns: Vec<&str> = lines
        .next()
        .expect("the table has a head")
        .split(',')
        .collect();
    let mut checked = 0;
    for line in lines.filter(|line| !line.is_empty()) {
        let fields: Vec<&str> = line.split(',').collect();
        let depth: u32 = fields[1].parse().expect("a depth");
        let column = |name: &str| -> u128 {
            let index = columns.iter().position(|column| *column == name);
            fields[index.expect("the table has the column")]
                .parse()
                .expect("a count")
        };
        if column("nodes") > SIMPLE_NODES_MAX {
            continue;
        }
        let position = standard(fields[0]);
        assert_eq!(simple::count(&position, depth), column("nodes"), "{line}");
        checked += 1;
        if column("nodes") > DETAILED_NODES_MAX {
            continue;
        }
        assert_eq!(
            simple::count_each(&position, depth),
            column("nodes"),
            "{line}"
        );
        let found = statistics(&position, depth);
        let cancelled = AtomicBool::new(false);
        let parallel = statistics_on_threads(&position, depth, 2, &cancelled);
        assert_eq!(parallel.ok(), Some(Some(found)), "{line}");
        let double = column("double_direct_plus_discovered") + column("double_by_promotion");
        for (name, found, published) in [
            ("nodes", found.nodes, column("nodes")),
            ("captures", found.captures, column("captures")),
            ("en passant", found.en_passants, column("ep")),
            ("castles", found.castles, column("castles")),
            ("promotions", found.promotions, column("promotions")),
            ("checks", found.checks, column("checks")),
            (
                "discovered",
                found.discovered_checks,
                column("discovered_only"),
            ),
            (
                "double discovered",
                found.double_discovered_checks,
                column("double_discovered_only"),
            ),
            (
                "double",
                found.double_checks - found.double_discovered_checks,
                double,
            ),
            ("mates", found.checkmates, column("mates")),
            (
                "discovered mates",
                found.discovered_checkmates,
                column("mates_by_discovered_only"),
            ),
            (
                "double mates",
                found.double_checkmates,
                column("mates_by_double"),
            ),
            ("stalemates", found.stalemates, column("stalemates")),
        ] {
            assert_eq!(found, published, "{name} in {line}");
        }
        assert_eq!(
            found.checks_without_mates(),
            column("checks") - column("mates")
        );
    }
    assert!(checked > 25, "only {checked} lines were checked");
}

/// Counts a suite with both kinds of instructions, up to so many nodes, and returns how many
/// counts were compared.
fn check_suite(name: &str, text: &str, nodes_max: u128) -> usize {
    let cases = read_suite(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut compared = 0;
    for case in &cases {
        for (processor, nodes_max) in [
            (Processor::Native, nodes_max),
            (Processor::Portable, nodes_max.min(PORTABLE_NODES_MAX)),
        ] {
            let means = Means {
                processor,
                ..Means::default()
            };
            for &(depth, nodes) in case.counts.iter().filter(|(_, nodes)| *nodes <= nodes_max) {
                let found = count(&case.position, depth, means);
                let place = format!("{name}:{} {} at {depth}", case.line, case.name);
                assert_eq!(found, Count::Done(nodes), "{place} {processor:?}");
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn our_suites_hold() {
    for name in ["standard.epd", "chess960.epd", "odd_positions.epd"] {
        assert!(
            check_suite(name, &data(name), FAST_NODES_MAX) > 50,
            "{name}"
        );
    }
}

#[test]
fn shared_suites_hold() {
    let shared = std::env::var_os("REFEREE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        Into::into,
    );
    let outside = shared.join("perft/outside");
    let Ok(files) = fs::read_dir(&outside) else {
        println!("skipped: {} is not there", outside.display());
        return;
    };
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(".epd") || name.ends_with(".perft") {
            let text = fs::read_to_string(file.path()).expect("a suite is text");
            assert!(check_suite(&name, &text, SHARED_NODES_MAX) > 0, "{name}");
        }
    }
}
