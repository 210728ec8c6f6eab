//! Counts with a table are those without, whatever its size and its keys.

use std::fs;
use std::path::Path;

use referee_chess::{CastlingMode, Position, Tolerance};
use referee_perft::{
    Case, Counter, Means, Processor, Table, TableError, Task, count, key_to_bytes, limits,
    read_suite,
};

/// A position is counted one ply deeper than the suite where that is no more than about so many
/// nodes.
const NODES_MAX: u128 = 3_000;

const FEW_MEN: &str = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1";

fn odd_positions() -> Vec<Case> {
    let file = "../../tests/data/perft/odd_positions.epd";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = fs::read_to_string(path).expect("the suite is there");
    read_suite(&text).expect("the suite can be read")
}

#[test]
fn odd_positions_are_counted_deeper_alike() {
    // The second is so small that its entries are thrown out all the time.
    let tables = [(16, 1), (1, 2)].map(|(mib, key_set)| Table::new(mib, key_set));
    let [large, small] = tables.map(|table| table.expect("there is memory"));
    let mut compared = 0;
    for case in odd_positions().iter().step_by(3) {
        let Some(&(3, nodes)) = case.counts.last() else {
            continue;
        };
        if nodes > NODES_MAX {
            continue;
        }
        for depth in [4, 5] {
            let expected = count(&case.position, depth, Means::default());
            for (table, processor) in [
                (&large, Processor::Native),
                (&small, Processor::Native),
                (&small, Processor::Portable),
            ] {
                let means = Means {
                    processor,
                    table: Some(table),
                    ..Means::default()
                };
                let found = count(&case.position, depth, means);
                assert_eq!(found, expected, "line {} at {depth}", case.line);
            }
            compared += 1;
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn tables_with_unrelated_keys_agree() {
    let few = Position::from_fen_with(FEW_MEN, CastlingMode::Standard, Tolerance::PERFT);
    let counter = Counter::new(2).expect("threads can be started");
    for (position, depth, nodes) in [
        (Position::startpos(), 7, 3_195_901_860),
        (few.expect("it is sound"), 7, 178_633_661),
    ] {
        let key = key_to_bytes(position.exact_key());
        let task = Task::from_keys(depth, CastlingMode::Standard, &[key]);
        let task = task.expect("it is a position");
        for (mib, key_set) in [(64, 0), (64, 1), (1, 2)] {
            let table = Table::fitting(&position, depth, mib, key_set).expect("there is memory");
            let means = Means {
                table: Some(&table),
                ..Means::default()
            };
            let counted = counter.count(&task, means, None).expect("it ends");
            assert_eq!(counted.counts, [Some(nodes)]);
            let used = counted.table;
            assert!(used.hits > 0 && used.probes > used.hits, "{used:?}");
        }
    }
}

#[test]
fn a_table_is_no_larger_than_its_count_can_use() {
    let start = Position::startpos();
    let mib = |depth, mib| Table::fitting(&start, depth, mib, 0).map(|table| table.mib());
    assert_eq!(mib(0, 1_024), Ok(1));
    assert_eq!(mib(4, 1_024), Ok(1));
    // 206,603 paths of one to four plies lead to what is kept.
    assert_eq!(mib(7, 1_024), Ok(5));
    assert_eq!(mib(9, 16), Ok(16));
    assert_eq!(mib(40, 16), Ok(16));
    assert_eq!(mib(3, 0), Err(TableError::Size(0)));
    let size = limits::HASH_MIB_MAX + 1;
    assert_eq!(mib(3, size), Err(TableError::Size(size)));
}
