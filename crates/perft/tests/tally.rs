//! A tally comes to the exact total whatever becomes of reports on their way: lost, late, doubled,
//! in parts, in any order, or wrong.

mod random;

use std::collections::BTreeMap;

use referee_chess::{CastlingMode, Position, Tolerance};
use referee_perft::{
    Accepted, Counter, Cut, Means, MemorySpill, Plan, ReportError, Summation, Tally, Task,
    TaskSize, Total, TotalError, simple,
};

use random::Chance;

/// How many schedules are drawn.
const SCHEDULES: u64 = 400;

/// So many tasks are handed out at a time at most.
const HANDED_OUT_MAX: usize = 12;

const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

fn kiwipete() -> Position {
    Position::from_fen_with(KIWIPETE, CastlingMode::Standard, Tolerance::PERFT)
        .expect("the position is sound")
}

/// A plan with positions of several depths, its tasks, and the true counts of each.
struct Job {
    plan: Plan,
    tasks: Vec<Task>,
    counts: Vec<Vec<u128>>,
    total: Total,
}

impl Job {
    fn new(root: &Position, depth: u32, cut: Cut, positions: usize) -> Job {
        let place = MemorySpill::new(64 << 20);
        let plan = Plan::build(root, depth, cut, &place, Means::default());
        let plan = plan.expect("it can be planned");
        let size = TaskSize {
            cost: u128::MAX,
            positions,
        };
        let tasks: Vec<Task> = plan
            .tasks(|_| size)
            .collect::<Result<_, _>>()
            .expect("it reads");
        let counter = Counter::new(1).expect("a thread can be started");
        let count = |task: &Task| -> Vec<u128> {
            let counted = counter.count(task, Means::default(), None);
            let counts = counted.expect("it can be counted").counts.into_iter();
            counts
                .map(|count| count.expect("nobody cancelled"))
                .collect()
        };
        let counts: Vec<Vec<u128>> = tasks.iter().map(count).collect();
        let divide = plan.first_moves().iter();
        let divide = divide.map(|&mv| (mv, simple::count(&root.after_unchecked(mv), depth - 1)));
        let total = Total {
            nodes: simple::count(root, depth),
            divide: divide.collect(),
            positions: plan.positions(),
            paths: plan.paths(),
        };
        Job {
            plan,
            tasks,
            counts,
            total,
        }
    }
}

/// A report that is on its way: the task, the place of the first position, the counts.
#[derive(Clone)]
struct Report {
    task: usize,
    place: usize,
    counts: Vec<u128>,
}

/// What a schedule did, so that none can pass by doing nothing.
#[derive(Default)]
struct Seen {
    lost: usize,
    late: usize,
    repeated: usize,
    parts: usize,
    disagreed: usize,
    refused: usize,
}

/// Plays one schedule of workers that report to a tally, and returns the total.
fn play(job: &Job, chance: &mut Chance, seen: &mut Seen) -> Total {
    let mut tally = Tally::new(&job.plan);
    let mut truth: BTreeMap<u64, u128> = BTreeMap::new();
    let mut on_the_way: Vec<Report> = Vec::new();
    while tally.counted() < job.plan.positions() {
        assert!(matches!(
            tally.total(&job.plan),
            Err(TotalError::Missing(_))
        ));
        hand_out(job, &tally, chance, &mut on_the_way, seen);
        // Reports arrive in any order; what is left arrives late.
        for _ in 0..on_the_way.len() {
            if chance.one_in(4) {
                seen.late += 1;
                continue;
            }
            let report = on_the_way.swap_remove(chance.below(on_the_way.len()));
            if chance.one_in(3) {
                on_the_way.push(report.clone());
            }
            let whole = &job.tasks[report.task];
            let task = whole.part(report.place..report.place + report.counts.len());
            spoil(&mut tally, &task, &report.counts, chance, seen);
            let accepted = tally.accept(&task, &report.counts).expect("it is right");
            assert_eq!(accepted.new + accepted.repeated, task.len());
            seen.repeated += accepted.repeated;
            truth.extend((task.first()..).zip(report.counts.iter().copied()));
            assert_eq!(tally.counted(), truth.len() as u64);
        }
    }
    // What arrives when all is done changes nothing.
    for report in on_the_way {
        let whole = &job.tasks[report.task];
        let task = whole.part(report.place..report.place + report.counts.len());
        let repeated = Accepted {
            new: 0,
            repeated: task.len(),
        };
        assert_eq!(tally.accept(&task, &report.counts), Ok(repeated));
    }
    tally.total(&job.plan).expect("all is counted")
}

/// Gives tasks that are not counted, some of them counted by others already, to workers, of whom
/// some die, and some report in parts.
fn hand_out(
    job: &Job,
    tally: &Tally,
    chance: &mut Chance,
    on_the_way: &mut Vec<Report>,
    seen: &mut Seen,
) {
    for _ in 0..=chance.below(HANDED_OUT_MAX) {
        let task = chance.below(job.tasks.len());
        if tally.missing(&job.tasks[task]).is_empty() && !chance.one_in(8) {
            continue;
        }
        if chance.one_in(5) {
            seen.lost += 1;
            continue;
        }
        let counts = &job.counts[task];
        let mut middle = counts.len();
        if chance.one_in(3) {
            middle = chance.below(counts.len() + 1);
            seen.parts += 1;
        }
        for part in [0..middle, middle..counts.len()] {
            // Of a worker that is stopped only the part that was whole comes.
            if !part.is_empty() && !chance.one_in(6) {
                on_the_way.push(Report {
                    task,
                    place: part.start,
                    counts: counts[part].to_vec(),
                });
            }
        }
    }
}

/// Reports something wrong, which must change nothing.
fn spoil(tally: &mut Tally, task: &Task, counts: &[u128], chance: &mut Chance, seen: &mut Seen) {
    let before = tally.clone();
    let place = chance.below(counts.len());
    let mut wrong = counts.to_vec();
    let is_counted = tally.get(task.first() + place as u64).is_some();
    let expected = match chance.below(4) {
        0 if is_counted && counts[place] > 0 => {
            wrong[place] -= 1;
            seen.disagreed += 1;
            ReportError::Disagrees {
                position: task.first() + place as u64,
                accepted: counts[place],
                reported: wrong[place],
            }
        }
        1 => {
            wrong.push(1);
            ReportError::Length {
                expected: counts.len(),
                found: counts.len() + 1,
            }
        }
        2 => {
            wrong.pop();
            ReportError::Length {
                expected: counts.len(),
                found: counts.len() - 1,
            }
        }
        3 => {
            wrong[place] = u128::MAX;
            let refused = tally.accept(task, &wrong);
            assert!(
                matches!(refused, Err(ReportError::AboveBound { .. })),
                "{refused:?}"
            );
            assert_eq!(*tally, before);
            seen.refused += 1;
            return;
        }
        _ => return,
    };
    seen.refused += 1;
    assert_eq!(tally.accept(task, &wrong), Err(expected));
    assert_eq!(*tally, before);
}

#[test]
fn every_schedule_of_reports_comes_to_the_exact_total() {
    let mixed = Cut {
        plies_min: 1,
        rest_min: 1,
        cost_max: 60_000,
        children_max: u64::MAX,
    };
    let jobs = [
        Job::new(&Position::startpos(), 5, Cut::at(2), 9),
        Job::new(&kiwipete(), 4, mixed, 17),
    ];
    assert_eq!(jobs[0].total.nodes, 4_865_609);
    assert_eq!(jobs[1].total.nodes, 4_085_603);
    assert!(jobs[1].plan.rests().count() > 1);
    let mut seen = Seen::default();
    for seed in 1..=SCHEDULES {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let job = &jobs[(seed % 2) as usize];
        assert_eq!(play(job, &mut chance, &mut seen), job.total, "seed {seed}");
    }
    let counts = [
        seen.lost,
        seen.late,
        seen.repeated,
        seen.parts,
        seen.disagreed,
        seen.refused,
    ];
    assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
}

#[test]
fn tallies_of_other_plans_do_not_add_up() {
    let job = Job::new(&Position::startpos(), 3, Cut::at(1), 50);
    let other = Job::new(&Position::startpos(), 3, Cut::at(2), 50);
    let mut tally = Tally::new(&job.plan);
    assert!(matches!(
        tally.total(&job.plan),
        Err(TotalError::Missing(20))
    ));
    for (task, counts) in job.tasks.iter().zip(&job.counts) {
        tally.accept(task, counts).expect("they are right");
    }
    assert!(matches!(
        tally.total(&other.plan),
        Err(TotalError::OtherPlan)
    ));
    assert_eq!(tally.total(&job.plan).ok(), Some(job.total));
    // A task of the larger plan has positions that this one does not have.
    let task = other.tasks.last().expect("there are tasks");
    let counts = other.counts.last().expect("there are tasks");
    assert_eq!(
        tally.accept(task, counts),
        Err(ReportError::Unknown { position: 350 })
    );
}

#[test]
fn tasks_are_added_in_their_order_each_once() {
    let root = kiwipete();
    let job = Job::new(&root, 3, Cut::at(2), 100);
    let (tasks, counts) = (&job.tasks, &job.counts);
    let mut summation = Summation::new(&root, 3);
    let refused = summation.add(&tasks[1], &counts[1]);
    assert!(
        matches!(refused, Err(TotalError::Order(100))),
        "{refused:?}"
    );
    let refused = summation.add(&tasks[0], &counts[0][1..]);
    assert!(matches!(refused, Err(TotalError::Order(0))), "{refused:?}");
    for (task, counts) in tasks.iter().zip(counts) {
        let missing = job.plan.positions() - task.first();
        let early = summation.clone().finish(job.plan.positions());
        assert!(matches!(early, Err(TotalError::Missing(found)) if found == missing));
        summation.add(task, counts).expect("it is the next one");
        assert!(summation.add(task, counts).is_err());
    }
    let total = summation.finish(job.plan.positions());
    assert_eq!(total.ok(), Some(job.total));
}

#[test]
fn counts_of_any_size_are_kept_and_too_large_a_sum_is_told() {
    let place = MemorySpill::new(1 << 20);
    let plan = Plan::build(
        &Position::startpos(),
        40,
        Cut::at(1),
        &place,
        Means::default(),
    );
    let plan = plan.expect("it can be planned");
    let size = TaskSize {
        cost: u128::MAX,
        positions: 100,
    };
    // The estimates have no room either, so each position is a task of its own.
    let tasks: Vec<Task> = plan
        .tasks(|_| size)
        .collect::<Result<_, _>>()
        .expect("it reads");
    let tally_of = |counts: &[u128]| {
        let mut tally = Tally::new(&plan);
        for (task, &count) in tasks.iter().zip(counts) {
            tally
                .accept(task, &[count])
                .expect("nothing is above its bound");
        }
        tally
    };
    let edge = u128::from(u64::MAX);
    let mut counts: Vec<u128> = (0..20).map(|index| edge - 3 + index).collect();
    let tally = tally_of(&counts);
    for (position, &count) in (0..).zip(&counts) {
        assert_eq!(tally.get(position), Some(count));
    }
    assert_eq!(tally.parts(), [(0, counts.clone())]);
    let total = tally.total(&plan).expect("all is counted");
    assert_eq!(total.nodes, counts.iter().sum::<u128>());

    counts[7] = u128::MAX - 5;
    let tally = tally_of(&counts);
    assert!(matches!(tally.total(&plan), Err(TotalError::TooMany)));
}
