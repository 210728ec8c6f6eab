//! A plan has each position once, with all paths to it, and nothing else, as a map from positions
//! to paths finds them; what it cannot do is told, and leaves nothing behind.

mod random;

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use referee_chess::{CastlingMode, Position, PositionKey, Tolerance};
use referee_perft::{
    Count, Cut, Means, MemorySpill, Plan, PlanError, Processor, Spill, SpillRun, Task, TaskError,
    TaskSize, count, limits, read_key, simple,
};

use random::Chance;

const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

fn kiwipete() -> Position {
    Position::from_fen_with(KIWIPETE, CastlingMode::Standard, Tolerance::PERFT)
        .expect("the position is sound")
}

fn place() -> MemorySpill {
    MemorySpill::new(256 << 20)
}

fn plan(position: &Position, depth: u32, cut: Cut) -> Plan {
    Plan::build(position, depth, cut, &place(), Means::default()).expect("it can be planned")
}

fn tasks<S: Spill>(plan: &Plan<S>, positions: usize) -> Vec<Task> {
    let size = TaskSize {
        cost: u128::MAX,
        positions,
    };
    let tasks = plan.tasks(|_| size).collect::<Result<Vec<_>, _>>();
    tasks.expect("the plan can be read")
}

/// For each position so many plies down, how many paths lead to it by the name of the first move.
type Found = BTreeMap<PositionKey, BTreeMap<String, u128>>;

fn search(position: &Position, plies: u32, first: &str, found: &mut Found) {
    if plies == 0 {
        let paths = found.entry(position.exact_key()).or_default();
        *paths.entry(first.to_owned()).or_default() += 1;
        return;
    }
    for mv in &position.legal_moves() {
        let name = position.uci(mv).to_string();
        let first = if first.is_empty() { &name } else { first };
        search(&position.after_unchecked(mv), plies - 1, first, found);
    }
}

fn check(position: &Position, plies: u32, processor: Processor) {
    let mut expected = Found::new();
    search(position, plies, "", &mut expected);
    let means = Means {
        processor,
        ..Means::default()
    };
    let plan = Plan::build(position, plies, Cut::at(plies), &place(), means);
    let plan = plan.expect("it can be planned");
    let names: Vec<String> = plan
        .first_moves()
        .iter()
        .map(|&mv| position.uci(mv).to_string())
        .collect();
    assert!(names.is_sorted());
    let mut keys = Vec::new();
    for task in tasks(&plan, 7) {
        assert_eq!(task.first(), keys.len() as u64);
        for (index, &key) in task.keys().iter().enumerate() {
            let shares = task.shares(index).iter();
            let paths: BTreeMap<String, u128> = shares
                .map(|share| (names[share.owner as usize].clone(), u128::from(share.paths)))
                .collect();
            assert_eq!(Some(&paths), expected.get(&key), "{position} at {plies}");
            assert!(read_key(key, position.castling_mode()).is_ok());
            keys.push(key);
        }
    }
    assert!(keys.is_sorted_by(|a, b| a < b), "{position} at {plies}");
    assert_eq!(keys.len(), expected.len(), "{position} at {plies}");
    assert_eq!(plan.positions(), keys.len() as u64);
    let paths: u128 = expected.values().flat_map(BTreeMap::values).sum();
    assert_eq!(plan.paths(), paths);
}

#[test]
fn plans_have_what_a_map_finds() {
    let mut chance = Chance(0x1357_9bdf_0246_8ace);
    let mut positions = vec![Position::startpos(), kiwipete()];
    while positions.len() < 100 {
        positions.extend(random::setup(&mut chance));
    }
    for _ in 0..4 {
        random::play(&mut chance, 60, |position| positions.push(position.clone()));
    }
    for position in &positions {
        for processor in [Processor::Native, Processor::Portable] {
            check(position, 1, processor);
            check(position, 2, processor);
        }
    }
    check(&Position::startpos(), 4, Processor::Native);
    check(&kiwipete(), 3, Processor::Native);
    check(&kiwipete(), 3, Processor::Portable);
}

#[test]
fn distinct_positions_are_as_many_as_published() {
    let start = Position::startpos();
    for (plies, positions, paths) in [
        (0, 0, 0),
        (1, 20, 20),
        (2, 400, 400),
        (3, 5_362, 8_902),
        (4, 72_078, 197_281),
        (5, 822_518, 4_865_609),
    ] {
        let plan = plan(&start, plies, Cut::at(plies));
        assert_eq!(
            (plan.positions(), plan.paths()),
            (positions, paths),
            "{plies}"
        );
    }
}

/// The paths of a plan, counted one position at a time.
fn count_all<S: Spill>(plan: &Plan<S>) -> u128 {
    let mode = plan.root().castling_mode();
    let mut total = 0;
    for task in tasks(plan, 1_000) {
        for (index, &key) in task.keys().iter().enumerate() {
            let position = read_key(key, mode).expect("plans have keys of positions");
            match count(&position, task.rest(), Means::default()) {
                Count::Done(paths) => total += paths * task.multiplicity(index),
                other => panic!("{other:?}"),
            }
        }
    }
    total
}

#[test]
fn heavy_positions_are_cut_further_down_and_nothing_is_lost() {
    let mut kinds = 0;
    for cost_max in [1, 100, 2_000, 30_000, 1_000_000] {
        let cut = Cut {
            plies_min: 1,
            rest_min: 1,
            cost_max,
            children_max: u64::MAX,
        };
        let plan = plan(&kiwipete(), 4, cut);
        assert_eq!(count_all(&plan), 4_085_603, "{cost_max}");
        let rests: Vec<(u32, u64)> = plan.rests().collect();
        assert!(rests.is_sorted_by(|a, b| a.0 > b.0), "{rests:?}");
        assert_eq!(
            rests.iter().map(|rest| rest.1).sum::<u64>(),
            plan.positions()
        );
        kinds += usize::from(rests.len() > 1);
        for task in tasks(&plan, 1) {
            assert!(task.cost() <= cost_max || task.rest() == 1);
        }
    }
    assert!(kinds > 1, "no plan had positions of several depths");
}

#[test]
fn a_ply_that_would_grow_too_large_is_left() {
    let start = Position::startpos();
    let mut cut = Cut {
        plies_min: 1,
        rest_min: 0,
        cost_max: 0,
        children_max: 400,
    };
    let rests = |cut| plan(&start, 5, cut).rests().collect::<Vec<_>>();
    assert_eq!(rests(cut), [(3, 400)]);
    cut.plies_min = 3;
    assert_eq!(rests(cut), [(2, 5_362)]);
    cut.rest_min = 4;
    assert_eq!(rests(cut), [(4, 20)]);
}

#[test]
fn a_plan_is_the_same_each_time_and_differs_from_others() {
    let start = Position::startpos();
    let threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
        let pool = pool.expect("threads can be started");
        pool.install(|| plan(&start, 6, Cut::at(4)).fingerprint())
    };
    let one = threads(1);
    assert_eq!(one, threads(3));
    let mut others = vec![
        plan(&start, 7, Cut::at(4)).fingerprint(),
        plan(&start, 6, Cut::at(3)).fingerprint(),
        plan(&kiwipete(), 6, Cut::at(2)).fingerprint(),
    ];
    let chess960 = Position::from_fen(
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        CastlingMode::Chess960,
    );
    let chess960 = chess960.expect("it is sound");
    others.push(plan(&chess960, 6, Cut::at(4)).fingerprint());
    others.push(one);
    others.sort_unstable();
    others.dedup();
    assert_eq!(others.len(), 5);
}

#[test]
fn what_cannot_be_planned_is_told() {
    let start = Position::startpos();
    let depth = limits::DEPTH_MAX + 1;
    let built = Plan::build(&start, depth, Cut::at(1), &place(), Means::default());
    assert!(matches!(built, Err(PlanError::Depth(found)) if found == depth));
    let cancelled = AtomicBool::new(true);
    let means = Means {
        cancelled: Some(&cancelled),
        ..Means::default()
    };
    let built = Plan::build(&start, 5, Cut::at(4), &place(), means);
    assert!(matches!(built, Err(PlanError::Cancelled)));
    for bytes in [0, 10_000, 100_000, 400_000] {
        let place = MemorySpill::new(bytes);
        let built = Plan::build(&start, 5, Cut::at(4), &place, Means::default());
        match built {
            Err(PlanError::Spill(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{bytes}");
            }
            other => panic!("{other:?} in {bytes} bytes"),
        }
        assert_eq!(place.used(), 0, "{bytes} bytes are left behind");
    }
    let place = place();
    let built = Plan::build(&start, 5, Cut::at(4), &place, Means::default());
    let used = place.used();
    assert!(used > 1_000_000 && used < 4_000_000, "{used}");
    drop(built);
    assert_eq!(place.used(), 0);
}

/// A place that gives back what it took with one byte changed, or all but the end.
#[derive(Clone, Default)]
struct Damaged {
    written: Arc<Mutex<usize>>,
    change: usize,
    cut: bool,
}

struct DamagedRun(Vec<u8>);

struct DamagedWriter(Vec<u8>);

impl Write for DamagedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Spill for Damaged {
    type Writer = DamagedWriter;
    type Run = DamagedRun;

    fn create(&self) -> io::Result<DamagedWriter> {
        Ok(DamagedWriter(Vec::new()))
    }

    fn finish(&self, writer: DamagedWriter) -> io::Result<DamagedRun> {
        let mut bytes = writer.0;
        let mut written = self.written.lock().expect("nobody panics");
        let place = self.change.wrapping_sub(*written);
        *written += bytes.len();
        if place < bytes.len() {
            if self.cut {
                bytes.truncate(place);
            } else {
                bytes[place] ^= 0x55;
            }
        }
        Ok(DamagedRun(bytes))
    }
}

impl SpillRun for DamagedRun {
    type Reader = Cursor<Vec<u8>>;

    fn open(&self) -> io::Result<Cursor<Vec<u8>>> {
        let mut copy = Vec::new();
        (&self.0[..]).read_to_end(&mut copy)?;
        Ok(Cursor::new(copy))
    }
}

#[test]
fn a_place_that_changes_what_it_took_does_no_harm() {
    let start = Position::startpos();
    let sound = plan(&start, 4, Cut::at(3)).fingerprint();
    let mut chance = Chance(0x2468_2468_2468_2467);
    let mut told = 0;
    for round in 0..300 {
        let place = Damaged {
            change: chance.below(400_000),
            cut: round % 2 == 0,
            ..Damaged::default()
        };
        // It ends, with an error, another plan or, where the change came too late, the same.
        match Plan::build(&start, 4, Cut::at(3), &place, Means::default()) {
            Err(PlanError::Spill(_) | PlanError::TooMany) => told += 1,
            Err(error) => panic!("{error}"),
            Ok(plan) => told += usize::from(plan.fingerprint() != sound),
        }
    }
    assert!(told > 200, "{told}");
}

#[test]
fn samples_come_from_all_over_the_plan() {
    let plan = plan(&Position::startpos(), 6, Cut::at(3));
    let sample = plan.sample(64).expect("the plan can be read");
    assert!((64..70).contains(&sample.len()), "{}", sample.len());
    let all = tasks(&plan, limits::TASK_POSITIONS_MAX);
    for one in &sample {
        assert_eq!((one.len(), one.rest()), (1, 3));
        assert_eq!(one.keys()[0], all[0].keys()[one.first() as usize]);
    }
    assert!(sample.is_sorted_by(|a, b| a.first() + 80 < b.first()));
    assert!(plan.sample(0).expect("the plan can be read").len() <= 1);
}

#[test]
fn tasks_are_as_large_as_was_asked() {
    let plan = plan(&kiwipete(), 5, Cut::at(2));
    let size = TaskSize {
        cost: 3_000_000,
        positions: limits::TASK_POSITIONS_MAX,
    };
    let tasks: Vec<Task> = plan
        .tasks(|_| size)
        .collect::<Result<_, _>>()
        .expect("it reads");
    assert!(tasks.len() > 20, "{}", tasks.len());
    let (last, others) = tasks.split_last().expect("there are tasks");
    for task in others {
        assert!(task.cost() >= size.cost && task.part(0..task.len() - 1).cost() < size.cost);
    }
    assert_eq!(last.first() + last.len() as u64, plan.positions());
    assert_eq!(tasks.iter().map(Task::cost).sum::<u128>(), plan.cost());
    // The estimate is within a small factor of the truth.
    let nodes: u128 = tasks
        .iter()
        .flat_map(Task::keys)
        .map(|&key| read_key(key, CastlingMode::Standard).expect("a position"))
        .map(|position| simple::count(&position, 3))
        .sum();
    assert!(
        plan.cost() / 3 < nodes && nodes < plan.cost() * 3,
        "{} {nodes}",
        plan.cost()
    );
}

#[test]
fn tasks_from_outside_are_checked() {
    let mode = CastlingMode::Standard;
    let depth = limits::DEPTH_MAX + 1;
    assert_eq!(
        Task::from_keys(depth, mode, &[]),
        Err(TaskError::Depth(depth))
    );
    let many = vec![[0; 32]; limits::TASK_POSITIONS_MAX + 1];
    let refused = Task::from_keys(1, mode, &many);
    assert_eq!(refused, Err(TaskError::TooManyPositions(many.len())));
    let start = referee_perft::key_to_bytes(Position::startpos().exact_key());
    let refused = Task::from_keys(1, mode, &[start, [7; 32]]);
    assert!(matches!(refused, Err(TaskError::Key { index: 1, .. })));
    let task = Task::from_keys(1, mode, &[start, start]).expect("both are positions");
    assert_eq!(task.len(), 2);
}

#[test]
fn tasks_come_back_from_bytes() {
    let plan = plan(&kiwipete(), 6, Cut::at(3));
    for task in tasks(&plan, 5_000) {
        let bytes = task.to_bytes();
        assert!(
            bytes.len() < 45 * task.len(),
            "{} for {}",
            bytes.len(),
            task.len()
        );
        let found = Task::from_bytes(task.first(), task.rest(), &bytes);
        assert_eq!(found, Ok(task));
        let cut = Task::from_bytes(0, 3, &bytes[..bytes.len() - 1]);
        assert_eq!(cut, Err(TaskError::Damaged));
    }
    let depth = limits::DEPTH_MAX + 1;
    assert_eq!(
        Task::from_bytes(0, depth, &[]),
        Err(TaskError::Depth(depth))
    );
}
