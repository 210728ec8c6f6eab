//! Tasks of few positions that take long: replaced by tasks of the children of these, which several
//! workers count, and added up once.

use referee_api::v1::perft_failure::Kind;
use referee_api::v1::perft_job::State;
use referee_api::worker::v1 as w;
use referee_api::worker::v1::Verdict;
use referee_chess::CastlingMode;
use referee_perft::key_to_bytes;
use referee_tests::process::Referee;

use super::desk::{Desk, Jobs, count, lease, result};

/// What the six plies from the starting position come to.
const TOTAL: &str = "119060324";

fn part(first: usize, counts: &[u64]) -> w::CountedPart {
    w::CountedPart {
        first: first as u32,
        counts: counts.to_vec(),
        counts_high: Vec::new(),
    }
}

/// The children of the positions of a task, as if they had been leased.
fn children(task: &w::Task) -> w::Task {
    let (keys, _) = task.keys.as_chunks::<32>();
    let read = referee_perft::Task::from_keys(task.rest, CastlingMode::Standard, keys);
    let children = read.expect("keys of positions").children();
    let children = children.expect("plies are left");
    let keys = children.keys().iter();
    w::Task {
        rest: children.rest(),
        keys: keys
            .flat_map(|&key| key_to_bytes(key))
            .collect::<Vec<u8>>()
            .into(),
        ..task.clone()
    }
}

fn of_children(task: &w::Task, parts: Vec<w::CountedPart>) -> w::TaskResult {
    w::TaskResult {
        parts,
        children: true,
        ..result(task, Vec::new())
    }
}

/// Reports all but the last position of a task, and leases that one, which comes next.
async fn lease_single(desk: &mut Desk, task: w::Task) -> w::Task {
    let counts = count(&task);
    if counts.len() == 1 {
        return task;
    }
    let mut others = result(&task, Vec::new());
    others.parts = vec![part(0, &counts[..counts.len() - 1])];
    assert_eq!(desk.report(others).await.verdict(), Verdict::Accepted);
    let single = desk.lease(&[], 1).await.remove(0);
    assert_eq!(&single.keys[..], &task.keys[task.keys.len() - 32..]);
    single
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heavy_position_is_counted_by_its_children_once() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    let mut other = Desk::open(&referee, "other").await;
    jobs.create("heavy", 6).await;
    let task = desk.lease(&[], 1).await.remove(0);
    let single = lease_single(&mut desk, task).await;
    let below = children(&single);
    let counts = count(&below);
    assert!(counts.len() > 8, "{} children", counts.len());
    // Some of them are whole; the others wait for whoever comes.
    let some = of_children(
        &single,
        vec![part(2, &counts[2..5]), part(7, &counts[7..8])],
    );
    let told = desk.report(some.clone()).await;
    assert_eq!(told.verdict(), Verdict::Accepted, "{told:?}");
    let again = desk.report(some).await;
    assert_eq!(again.verdict(), Verdict::Compared, "{again:?}");
    // The position itself is not counted by that, and a count of it is kept to be compared.
    let whole = result(&single, count(&single));
    let late = desk.report(whole.clone()).await;
    assert_eq!(late.verdict(), Verdict::Compared, "{late:?}");
    // A child may be heavy as well.
    let first = other.lease(&[], 1).await.remove(0);
    assert_eq!(first.rest, single.rest - 1);
    assert_eq!(
        first.keys,
        below.keys.slice(0..64),
        "the first two children"
    );
    let grandchildren = children(&first);
    let deeper = of_children(&first, Vec::new());
    let told = other.report(deeper).await;
    assert_eq!(told.verdict(), Verdict::Accepted, "{told:?}");
    let leased = other.lease(&[], 16).await;
    let deeper = leased.iter().find(|task| task.rest == single.rest - 2);
    let deeper = deeper.expect("it is urgent").clone();
    assert_eq!(deeper.keys, grandchildren.keys);
    let counted = result(&deeper, count(&deeper));
    assert_eq!(other.report(counted).await.verdict(), Verdict::Accepted);
    let job = other.work(&mut jobs, "heavy").await;
    assert_eq!((job.state(), &job.nodes[..]), (State::Succeeded, TOTAL));
    let progress = job.progress.expect("it is told");
    assert_eq!(progress.tasks, progress.tasks_done);
    // It has its own count now.
    assert_eq!(
        desk.report(whole.clone()).await.verdict(),
        Verdict::Compared
    );
    let mut wrong = whole;
    wrong.parts[0].counts[0] -= 1;
    let told = desk.report(wrong).await;
    assert_eq!(told.verdict(), Verdict::Disagrees, "{told:?}");
    assert_eq!(jobs.get("heavy").await.disagreements, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_of_many_positions_are_refused() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("many", 6).await;
    let task = desk.lease(&[], 1).await.remove(0);
    assert!(task.keys.len() > 3 * 32);
    let told = desk.report(of_children(&task, Vec::new())).await;
    assert_eq!(told.verdict(), Verdict::Refused, "{told:?}");
    assert!(told.text.contains("above 3"), "{told:?}");
    // Counts of children have their bound and their number, too.
    let task = desk.lease(&[], 1).await.remove(0);
    let mut single = lease_single(&mut desk, task).await;
    let counts = count(&children(&single));
    for wrong in [
        part(0, &[u64::MAX]),
        part(1, &counts),
        part(0, &[&counts[..], &[1]].concat()),
    ] {
        let told = desk.report(of_children(&single, vec![wrong])).await;
        assert_eq!(told.verdict(), Verdict::Refused, "{told:?}");
        let again = desk.lease(&[], 1).await.remove(0);
        assert_eq!(again.keys, single.keys, "it is open again");
        single = again;
    }
    let counted = result(&single, count(&single));
    assert_eq!(desk.report(counted).await.verdict(), Verdict::Accepted);
    let job = desk.work(&mut jobs, "many").await;
    assert_eq!((job.state(), &job.nodes[..]), (State::Succeeded, TOTAL));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_that_its_children_do_not_come_to_ends_the_job() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    for (id, is_wrong) in [("honest", false), ("liar", true)] {
        jobs.create(id, 6).await;
        let task = desk.lease(&[], 1).await.remove(0);
        let single = lease_single(&mut desk, task).await;
        let told = desk.report(of_children(&single, Vec::new())).await;
        assert_eq!(told.verdict(), Verdict::Accepted, "{told:?}");
        let mut whole = result(&single, count(&single));
        whole.parts[0].counts[0] -= u64::from(is_wrong);
        assert_eq!(desk.report(whole).await.verdict(), Verdict::Compared);
        let job = desk.work(&mut jobs, id).await;
        if !is_wrong {
            assert_eq!((job.state(), &job.nodes[..]), (State::Succeeded, TOTAL));
            continue;
        }
        assert_eq!((job.state(), &job.nodes[..]), (State::Failed, ""));
        let failure = job.failure.expect("it is told");
        assert_eq!(failure.kind(), Kind::CountsDisagree, "{failure:?}");
        assert!(failure.text.contains("by its children"), "{failure:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_nobody_has_the_time_for_is_cut() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("cut", 6).await;
    let task = desk.lease(&[], 1).await.remove(0);
    let positions = task.keys.len() / 32;
    assert!(positions > 1);
    let mut nothing = result(&task, Vec::new());
    nothing.parts.clear();
    for attempt in 1..=3 {
        assert_eq!(
            desk.report(nothing.clone()).await.verdict(),
            Verdict::Accepted
        );
        let next = desk.lease(&[], 1).await.remove(0);
        nothing.lease = next.lease;
        if attempt < 3 {
            assert_eq!(next.keys, task.keys);
            assert_eq!(lease(&next).attempt, attempt + 1);
        } else {
            let half = positions / 2 * 32;
            assert_eq!(next.keys, task.keys.slice(..half));
        }
    }
    assert_eq!(desk.report(nothing).await.verdict(), Verdict::Accepted);
    let job = desk.work(&mut jobs, "cut").await;
    assert_eq!((job.state(), &job.nodes[..]), (State::Succeeded, TOTAL));
}
