//! What is reported late, twice, in part, wrongly or for nobody.

use std::time::Duration;

use referee_api::v1::perft_failure::Kind;
use referee_api::v1::perft_job::State;
use referee_api::worker::v1 as w;
use referee_api::worker::v1::Verdict;
use referee_tests::process::Referee;
use referee_tests::wire::details;

use super::desk::{Desk, Jobs, count, lease, result};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_reported_twice_is_compared() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("twice", 5).await;
    let task = desk.lease(&[], 1).await.remove(0);
    let counts = count(&task);
    let whole = result(&task, counts.clone());
    assert_eq!(
        desk.report(whole.clone()).await.verdict(),
        Verdict::Accepted
    );
    for _ in 0..2 {
        assert_eq!(
            desk.report(whole.clone()).await.verdict(),
            Verdict::Compared
        );
    }
    let job = desk.work(&mut jobs, "twice").await;
    assert_eq!((job.state(), &job.nodes[..]), (State::Succeeded, "4865609"));
    // After the end as well; what differs then puts the total in doubt.
    assert_eq!(desk.report(whole).await.verdict(), Verdict::Compared);
    assert_eq!(jobs.get("twice").await.disagreements, 0);
    let mut wrong = counts;
    wrong[0] -= 1;
    let told = desk.report(result(&task, wrong)).await;
    assert_eq!(told.verdict(), Verdict::Disagrees, "{told:?}");
    assert_eq!(jobs.get("twice").await.disagreements, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_reports_that_differ_end_the_job() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("differ", 5).await;
    let task = desk.lease(&[], 1).await.remove(0);
    let mut counts = count(&task);
    assert_eq!(
        desk.report(result(&task, counts.clone())).await.verdict(),
        Verdict::Accepted
    );
    counts[0] += 1;
    let told = desk.report(result(&task, counts)).await;
    assert_eq!(told.verdict(), Verdict::Disagrees);
    let job = jobs.get("differ").await;
    assert_eq!(job.state(), State::Failed);
    assert_eq!(
        job.failure.expect("it is told").kind(),
        Kind::CountsDisagree
    );
    assert!(job.nodes.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_right_is_refused_and_its_task_is_open_again() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("refused", 5).await;
    let wrong = |task: &w::Task| {
        let counts = count(task);
        let mut short = counts.clone();
        short.push(1);
        let mut high = counts.clone();
        high[0] = u64::MAX;
        let twice = w::CountedPart {
            first: 0,
            counts: counts.clone(),
            counts_high: Vec::new(),
        };
        let mut overlaps = result(task, counts.clone());
        overlaps.parts.push(twice);
        let mut halves = result(task, counts);
        halves.parts[0].counts_high = vec![0; 77];
        [result(task, short), result(task, high), overlaps, halves]
    };
    // Four of them for one task end its job; three do not.
    for number in 0..3 {
        let task = desk.lease(&[], 1).await.remove(0);
        assert_eq!(lease(&task).attempt, number + 1);
        let told = desk.report(wrong(&task)[number as usize].clone()).await;
        assert_eq!(told.verdict(), Verdict::Refused, "{told:?}");
        assert!(!told.text.is_empty());
    }
    let job = desk.work(&mut jobs, "refused").await;
    assert_eq!((job.state(), &job.nodes[..]), (State::Succeeded, "4865609"));
    jobs.create("hopeless", 5).await;
    for number in 0..4 {
        let task = desk.lease(&[], 1).await.remove(0);
        let told = desk.report(wrong(&task)[number].clone()).await;
        assert_eq!(told.verdict(), Verdict::Refused, "{told:?}");
    }
    let job = jobs.get("hopeless").await;
    assert_eq!(job.state(), State::Failed);
    assert_eq!(
        job.failure.expect("it is told").kind(),
        Kind::ReportsRefused
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_is_taken_and_the_rest_is_open_at_once() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("parts", 6).await;
    jobs.wait("parts", State::Running).await;
    let task = desk.lease(&[], 1).await.remove(0);
    let counts = count(&task);
    assert!(counts.len() > 4, "the task has several positions");
    let part = |first: usize, end: usize| w::CountedPart {
        first: first as u32,
        counts: counts[first..end].to_vec(),
        counts_high: Vec::new(),
    };
    let mut split = result(&task, Vec::new());
    split.parts = vec![part(1, 2), part(3, 4)];
    assert_eq!(
        desk.report(split.clone()).await.verdict(),
        Verdict::Accepted
    );
    assert_eq!(desk.report(split).await.verdict(), Verdict::Compared);
    // The whole of it, by the lease that is gone: compared with what was taken.
    let whole = desk.report(result(&task, counts.clone())).await;
    assert_eq!(whole.verdict(), Verdict::Compared, "{whole:?}");
    // Nothing at all gives the lease back.
    let other = desk.lease(&[], 1).await.remove(0);
    let mut nothing = result(&other, Vec::new());
    nothing.parts.clear();
    assert_eq!(desk.report(nothing).await.verdict(), Verdict::Accepted);
    let job = desk.work(&mut jobs, "parts").await;
    assert_eq!(
        (job.state(), &job.nodes[..]),
        (State::Succeeded, "119060324")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_silent_loses_its_tasks_and_reports_late() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut slow = Desk::open(&referee, "slow").await;
    let mut quick = Desk::open(&referee, "quick").await;
    jobs.create("late", 5).await;
    jobs.wait("late", State::Running).await;
    let mut held = slow.lease(&[], 16).await;
    let leases: Vec<_> = held.iter().map(lease).collect();
    let rest = slow.try_lease(&leases, 16, Duration::ZERO).await;
    held.extend(rest.expect("leased").tasks);
    // The others wait for the session to run out, and get its tasks.
    let again = quick.try_lease(&[], 1, Duration::from_secs(20)).await;
    let again = again.expect("leased").tasks.remove(0);
    assert_eq!(lease(&again).attempt, 2);
    let gone = slow.try_lease(&[], 1, Duration::ZERO).await;
    let gone = gone.expect_err("the session ran out");
    assert_eq!(details(&gone).reason, "SESSION_NOT_FOUND");
    let same = held
        .iter()
        .find(|task| lease(task).task == lease(&again).task);
    let same = same.expect("it was held");
    let late = slow.report(result(same, count(same))).await;
    assert_eq!(late.verdict(), Verdict::Compared, "{late:?}");
    // A task that nobody has got since is taken from whoever had it.
    let other = held
        .iter()
        .find(|task| lease(task).task != lease(&again).task);
    let other = other.expect("it held several");
    let lost = slow.report(result(other, count(other))).await;
    assert_eq!(lost.verdict(), Verdict::Accepted, "{lost:?}");
    let counted = quick.report(result(&again, count(&again))).await;
    assert_eq!(counted.verdict(), Verdict::Accepted);
    let job = quick.work(&mut jobs, "late").await;
    assert_eq!((job.state(), &job.nodes[..]), (State::Succeeded, "4865609"));
    let expired = job.progress.expect("it is told").leases_expired;
    assert_eq!(expired, held.len() as i64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_report_that_differs_ends_the_job() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut liar = Desk::open(&referee, "liar").await;
    let mut honest = Desk::open(&referee, "honest").await;
    jobs.create("late-lie", 5).await;
    let old = liar.lease(&[], 1).await.remove(0);
    let request = w::CloseSessionRequest {
        session: liar.session.clone(),
    };
    liar.client.close_session(request).await.expect("closed");
    let mut new = honest.lease(&[], 16).await;
    let place = new
        .iter()
        .position(|task| lease(task).task == lease(&old).task);
    let new = new.remove(place.expect("it is open again"));
    let mut counts = count(&old);
    counts[0] -= 1;
    let late = liar.report(result(&old, counts)).await;
    assert_eq!(late.verdict(), Verdict::Compared);
    let told = honest.report(result(&new, count(&new))).await;
    assert_eq!(told.verdict(), Verdict::Disagrees, "{told:?}");
    assert_eq!(jobs.get("late-lie").await.state(), State::Failed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_wants_is_dropped() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("cancelled", 6).await;
    let task = desk.lease(&[], 1).await.remove(0);
    assert_eq!(desk.renew(&[lease(&task)]).await.dropped, []);
    assert_eq!(jobs.cancel("cancelled").await.state(), State::Cancelled);
    assert_eq!(jobs.cancel("cancelled").await.state(), State::Cancelled);
    assert_eq!(desk.renew(&[lease(&task)]).await.dropped, [lease(&task)]);
    let leased = desk.try_lease(&[lease(&task)], 1, Duration::ZERO).await;
    let leased = leased.expect("leased");
    assert_eq!((leased.tasks.len(), leased.dropped.len()), (0, 1));
    let told = desk.report(result(&task, count(&task))).await;
    assert_eq!(told.verdict(), Verdict::Unwanted);
    assert_eq!(jobs.get("cancelled").await.state(), State::Cancelled);
    // A session that never was cannot report.
    let request = w::ReportTasksRequest {
        session: vec![7; 32].into(),
        results: vec![result(&task, vec![1])],
    };
    let status = desk.client.report_tasks(request).await;
    let status = status.expect_err("no such session");
    assert_eq!(details(&status).reason, "SESSION_NOT_FOUND");
}
