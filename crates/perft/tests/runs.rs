//! A run gives the same total on any number of threads, with a table or without, in one go or
//! with a stop between, and by first move it gives what the simple counter gives.

mod random;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use referee_chess::{CastlingMode, Position, Tolerance};
use referee_perft::{
    CountError, Ending, LastPly, Options, Processor, Progress, Run, RunError, Table, Total, limits,
    simple,
};

use random::Chance;

fn position(fen: &str) -> Position {
    Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::PERFT)
        .unwrap_or_else(|error| panic!("{fen}: {error}"))
}

fn kiwipete() -> Position {
    position("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
}

fn total(position: &Position, depth: u32, threads: usize, options: Options<'_>) -> Total {
    let mut run = Run::new(position, depth, threads).expect("the run can be done");
    match run.count(options).expect("the run ends") {
        Ending::Done { total, .. } => total,
        Ending::Cancelled => panic!("nobody cancelled"),
    }
}

#[test]
fn every_way_gives_the_same_total_and_divide() {
    let mut chance = Chance(0x5eed_0123_4567_89ab);
    let mut positions = vec![Position::startpos(), kiwipete()];
    while positions.len() < 40 {
        positions.extend(random::setup(&mut chance));
    }
    random::play(&mut chance, 80, |position| positions.push(position.clone()));
    for position in &positions {
        for depth in 0..=3 {
            check_all_ways(position, depth);
        }
    }
    check_all_ways(&Position::startpos(), 5);
    check_all_ways(&kiwipete(), 4);
}

fn check_all_ways(position: &Position, depth: u32) {
    let expected = simple::count(position, depth);
    let mut first: Option<Total> = None;
    for threads in [1, 2, 3] {
        for (hash, key_set) in [(None, 0), (Some(1), 1), (Some(1), 2)] {
            let table = hash.map(|mib| Table::new(mib, key_set).expect("1 MiB is there"));
            let options = Options {
                table: table.as_ref(),
                ..Options::default()
            };
            let found = total(position, depth, threads, options);
            assert_eq!(
                found.nodes, expected,
                "{position} at {depth}, {threads}, {hash:?}"
            );
            match &first {
                Some(first) => assert_eq!(found.divide, first.divide, "{position} at {depth}"),
                None => first = Some(found),
            }
        }
    }
    if depth > 0 {
        for (mv, nodes) in first.expect("a total was found").divide {
            let below = simple::count(&position.after_unchecked(mv), depth - 1);
            assert_eq!(nodes, below, "{position} at {depth}, {mv:?}");
        }
    }
}

#[test]
fn no_bulk_and_portable_runs_agree() {
    for processor in [Processor::Native, Processor::Portable] {
        for last_ply in [LastPly::Bulk, LastPly::Each] {
            let options = Options {
                processor,
                last_ply,
                ..Options::default()
            };
            assert_eq!(total(&kiwipete(), 4, 2, options).nodes, 4_085_603);
        }
    }
}

#[test]
fn a_run_that_is_stopped_goes_on_from_its_checkpoint() {
    let start = Position::startpos();
    let table = Table::new(4, 0).expect("4 MiB are there");
    let cancelled = AtomicBool::new(false);
    let mut run = Run::new(&start, 6, 2).expect("the run can be done");
    let watch = |progress: Progress| {
        assert!(progress.positions_done <= progress.positions);
        assert!((0.0..=1.0).contains(&progress.share));
        if progress.positions_done > 1_000 {
            cancelled.store(true, Ordering::Relaxed);
        }
    };
    let options = Options {
        last_ply: LastPly::Each,
        table: Some(&table),
        cancelled: Some(&cancelled),
        watch: Some(&watch),
        ..Options::default()
    };
    assert_eq!(run.count(options).ok(), Some(Ending::Cancelled));
    assert_eq!(run.positions(), 5_362);
    assert!((1_000..5_362).contains(&run.counted()), "{}", run.counted());
    let checkpoint = run.checkpoint();
    let counted = checkpoint.counted.iter().map(|part| part.1.len() as u64);
    assert_eq!(counted.sum::<u64>(), run.counted());

    // It goes on from there, with the same table or in another process; what the stopped threads
    // left in the table must not be wrong.
    cancelled.store(false, Ordering::Relaxed);
    let mut resumed = Run::resume(&start, &checkpoint, 1).expect("the checkpoint fits");
    assert_eq!(resumed.counted(), run.counted());
    let before = run.counted();
    let least = AtomicUsize::new(usize::MAX);
    let watch = |progress: Progress| {
        least.fetch_min(progress.positions_done as usize, Ordering::Relaxed);
    };
    let options = Options {
        table: Some(&table),
        watch: Some(&watch),
        ..Options::default()
    };
    for run in [&mut run, &mut resumed] {
        match run.count(options) {
            Ok(Ending::Done { total, .. }) => assert_eq!(total.nodes, 119_060_324),
            other => panic!("{other:?}"),
        }
        assert_eq!(run.counted(), 5_362);
    }
    assert!(least.into_inner() as u64 > before);
}

#[test]
fn a_checkpoint_of_another_count_is_refused() {
    let start = Position::startpos();
    let run = Run::new(&start, 6, 1).expect("the run can be done");
    let checkpoint = run.checkpoint();
    let mut deeper = checkpoint.clone();
    deeper.depth += 1;
    let mut longer = checkpoint.clone();
    longer.counted.push((run.positions() - 1, vec![1, 2]));
    for (position, checkpoint) in [
        (&kiwipete(), &checkpoint),
        (&start, &deeper),
        (&start, &longer),
    ] {
        let refused = Run::resume(position, checkpoint, 1).err();
        assert!(matches!(refused, Some(RunError::OtherRun)), "{refused:?}");
    }
}

#[test]
fn a_run_tells_for_how_many_paths_its_positions_stand() {
    let found = total(&Position::startpos(), 7, 2, Options::default());
    assert_eq!((found.positions, found.paths), (72_078, 197_281));
    assert_eq!(found.nodes, 3_195_901_860);
}

#[test]
fn totals_beyond_64_bits_are_exact() {
    // Two kings that cannot reach each other: the count is found by an independent recurrence
    // over the squares of both, so a table and wide sums are held to plain arithmetic.
    let lone = position("4k3/8/8/8/8/8/8/4K3 w - - 0 1");
    let table = Table::new(16, 0).expect("16 MiB are there");
    let options = Options {
        table: Some(&table),
        ..Options::default()
    };
    for depth in [5, 12, 26] {
        let found = total(&lone, depth, 2, options).nodes;
        assert_eq!(found, kings(4, 60, depth), "{depth}");
    }
    assert!(kings(4, 60, 26) > u128::from(u64::MAX));
}

/// The number of paths of two lone kings, by dynamic programming over their squares.
fn kings(white: usize, black: usize, depth: u32) -> u128 {
    let near = |a: usize, b: usize| (a % 8).abs_diff(b % 8).max((a / 8).abs_diff(b / 8)) <= 1;
    // paths[mover][waiter] for the plies that are left; it is the same for both colors.
    let mut paths = vec![[1u128; 64]; 64];
    for _ in 0..depth {
        let ways = |mover: usize, waiter: usize| -> u128 {
            (0..64)
                .filter(|&to| to != mover && near(mover, to) && !near(to, waiter))
                .map(|to| paths[waiter][to])
                .sum()
        };
        paths = (0..64)
            .map(|mover| core::array::from_fn(|waiter| ways(mover, waiter)))
            .collect();
    }
    paths[white][black]
}

#[test]
fn limits_are_held() {
    let start = Position::startpos();
    let depth = limits::DEPTH_MAX + 1;
    let refused = Run::new(&start, depth, 1).err();
    assert!(matches!(refused, Some(RunError::Depth(found)) if found == depth));
    let threads = limits::THREADS_MAX + 1;
    let refused = Run::new(&start, 1, threads).err();
    let is_told = |error| matches!(error, RunError::Count(CountError::Threads(n)) if n == threads);
    assert!(refused.is_some_and(is_told));
    let mate = position("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1");
    for depth in 1..=3 {
        assert_eq!(total(&mate, depth, 1, Options::default()).nodes, 0);
    }
    assert_eq!(total(&mate, 0, 1, Options::default()).nodes, 1);
}
