//! Tasks are counted exactly in every way, what positions have in common is counted once, and a
//! stop leaves what was whole.

mod random;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use referee_chess::{CastlingMode, Position, Tolerance};
use referee_perft::{
    Case, Count, CountError, Counter, Cut, Ending, Means, MemorySpill, Options, Plan, Processor,
    ReportError, Run, Table, Task, TaskSize, count, key_to_bytes, limits, read_suite, simple,
};

use random::Chance;

/// Above so many nodes a position is not counted by each of the many ways.
const NODES_MAX: u128 = 50_000;

fn counter(threads: usize) -> Counter {
    Counter::new(threads).expect("threads can be started")
}

fn task(rest: u32, positions: &[Position]) -> Task {
    let keys: Vec<_> = positions
        .iter()
        .map(|position| key_to_bytes(position.exact_key()))
        .collect();
    Task::from_keys(rest, CastlingMode::Chess960, &keys).expect("these are positions")
}

fn kiwipete() -> Position {
    let fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
    Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT).expect("it is sound")
}

fn odd_positions() -> Vec<Case> {
    let file = "../../tests/data/perft/odd_positions.epd";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = fs::read_to_string(path).expect("the suite is there");
    read_suite(&text).expect("the suite can be read")
}

/// The ways to count of which each must be right.
fn ways(table: &Table) -> [Means<'_>; 4] {
    let [native, portable] = [Processor::Native, Processor::Portable].map(|processor| Means {
        processor,
        ..Means::default()
    });
    let with = |means| Means {
        table: Some(table),
        ..means
    };
    [native, portable, with(native), with(portable)]
}

#[test]
fn odd_positions_are_counted_alike_by_every_path() {
    let table = Table::new(16, 3).expect("16 MiB are there");
    let cases = odd_positions();
    assert_eq!(cases.len(), 4_000);
    for means in ways(&table) {
        for case in &cases {
            for &(depth, nodes) in &case.counts {
                if nodes <= NODES_MAX {
                    let found = count(&case.position, depth, means);
                    assert_eq!(found, Count::Done(nodes), "line {} at {depth}", case.line);
                }
            }
        }
    }
}

#[test]
fn odd_positions_are_counted_alike_in_tasks_on_threads() {
    let table = Table::new(16, 4).expect("16 MiB are there");
    let cases = odd_positions();
    for threads in [1, 3] {
        let counter = counter(threads);
        for means in ways(&table) {
            for depth in 1..=3 {
                let (positions, nodes): (Vec<Position>, Vec<u128>) = cases
                    .iter()
                    .filter_map(|case| {
                        let found = case.counts.iter().find(|count| count.0 == depth);
                        let nodes = found.map(|count| count.1)?;
                        (nodes <= NODES_MAX).then_some((case.position.clone(), nodes))
                    })
                    .unzip();
                let task = task(depth, &positions);
                task.check(&nodes).expect("no count is above its bound");
                let counted = counter
                    .count(&task, means, None)
                    .expect("it can be counted");
                let nodes: Vec<Option<u128>> = nodes.into_iter().map(Some).collect();
                assert_eq!(counted.counts, nodes, "{threads} threads at {depth}");
            }
        }
    }
}

#[test]
fn odd_positions_are_counted_alike_by_runs() {
    let table = Table::new(4, 5).expect("4 MiB are there");
    for case in odd_positions().iter().step_by(13) {
        for &(depth, nodes) in &case.counts {
            let mut run = Run::new(&case.position, depth, 2).expect("it can be counted");
            let options = Options {
                table: Some(&table),
                ..Options::default()
            };
            match run.count(options).expect("it ends") {
                Ending::Done { total, .. } => assert_eq!(total.nodes, nodes, "line {}", case.line),
                Ending::Cancelled => panic!("nobody cancelled"),
            }
        }
    }
}

#[test]
fn what_positions_have_in_common_is_counted_once() {
    let counter = counter(2);
    // The positions after three plies of which some go over into each other two plies further.
    let place = MemorySpill::new(1 << 24);
    let plan = Plan::build(
        &Position::startpos(),
        8,
        Cut::at(3),
        &place,
        Means::default(),
    );
    let plan = plan.expect("it can be planned");
    let size = TaskSize {
        cost: u128::MAX,
        positions: 300,
    };
    let task = plan
        .tasks(|_| size)
        .next()
        .expect("there is one")
        .expect("it reads");
    let counted = counter
        .count(&task, Means::default(), None)
        .expect("it can be counted");
    let mut apart = 0;
    for (index, found) in counted.counts.iter().enumerate() {
        let alone = task.part(index..index + 1);
        let alone = counter
            .count(&alone, Means::default(), None)
            .expect("it can be counted");
        assert_eq!(alone.counts, [*found]);
        apart += alone.below;
    }
    assert!(
        counted.below * 3 < apart * 2,
        "{} of {apart}",
        counted.below
    );
}

#[test]
fn the_table_stays_warm_from_task_to_task() {
    let counter = counter(2);
    let table = Table::new(64, 0).expect("64 MiB are there");
    let means = Means {
        table: Some(&table),
        ..Means::default()
    };
    let task = task(5, &[Position::startpos()]);
    let expected = [Some(4_865_609)];
    let first = counter
        .count(&task, means, None)
        .expect("it can be counted");
    let second = counter
        .count(&task, means, None)
        .expect("it can be counted");
    assert_eq!(
        (&first.counts[..], &second.counts[..]),
        (&expected[..], &expected[..])
    );
    assert_eq!(second.table.hits, second.table.probes);
    assert!(first.table.hits < first.table.probes / 2);
}

#[test]
fn a_stop_leaves_what_was_whole() {
    let counter = counter(2);
    let mut chance = Chance(0x0f0f_1234_0f0f_4321);
    let mut positions = Vec::new();
    while positions.len() < 200 {
        random::play(&mut chance, 60, |position| positions.push(position.clone()));
    }
    let task = task(4, &positions);
    let cancelled = AtomicBool::new(false);
    let means = Means {
        cancelled: Some(&cancelled),
        ..Means::default()
    };
    let calls = AtomicUsize::new(0);
    let watch = |share: f64| {
        assert!((0.0..=1.0).contains(&share));
        calls.fetch_add(1, Ordering::Relaxed);
        if share > 0.5 {
            cancelled.store(true, Ordering::Relaxed);
        }
    };
    let counted = counter
        .count(&task, means, Some(&watch))
        .expect("it can be counted");
    assert!(calls.into_inner() > 1);
    let whole = counted.counts.iter().flatten().count();
    assert!(
        whole > 20 && whole < task.len(),
        "{whole} of {}",
        task.len()
    );
    for (position, found) in positions.iter().zip(&counted.counts) {
        if let Some(found) = found {
            assert_eq!(*found, simple::count(position, 4), "{position}");
        }
    }
    let parts = counted.parts();
    assert_eq!(parts.iter().map(|part| part.1.len()).sum::<usize>(), whole);
    for (place, counts) in parts {
        assert_eq!(Some(counts[0]), counted.counts[place]);
        task.part(place..place + counts.len())
            .check(&counts)
            .expect("they are right");
    }
    // Cancelled before it began.
    let counted = counter.count(&task, means, None).expect("it ends");
    assert!(counted.counts.iter().all(Option::is_none));
}

#[test]
fn counts_that_cannot_be_are_told() {
    let task = task(5, &[Position::startpos(), kiwipete()]);
    let right = [4_865_609, 193_690_690];
    task.check(&right).expect("they are right");
    assert!(matches!(
        task.check(&right[..1]),
        Err(ReportError::Length {
            expected: 2,
            found: 1
        })
    ));
    let refused = task.check(&[right[0], 1 << 60]);
    assert!(
        matches!(refused, Err(ReportError::AboveBound { position: 1, .. })),
        "{refused:?}"
    );
    // Of two plies and fewer all is known.
    let task = self::task(2, &[kiwipete()]);
    assert!(task.check(&[2_039]).is_ok() && task.check(&[2_040]).is_err());
    let mate = Position::from_fen("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", CastlingMode::Standard);
    let task = self::task(9, &[mate.expect("it is sound")]);
    assert!(task.check(&[0]).is_ok() && task.check(&[1]).is_err());
}

#[test]
fn limits_are_held() {
    let threads = limits::THREADS_MAX + 1;
    let refused = Counter::new(threads).err();
    assert!(matches!(refused, Some(CountError::Threads(found)) if found == threads));
    let counter = counter(1);
    assert_eq!(counter.threads(), 1);
    let nothing = counter
        .count(&task(3, &[]), Means::default(), None)
        .expect("it ends");
    assert!(nothing.counts.is_empty());
}
