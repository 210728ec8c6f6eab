//! A fleet of workers, each a process, and a server that they share: the total is exact whatever
//! dies, stops or says everything twice.

mod commands;
mod station;

use std::time::Duration;

use referee_api::v1::perft_job::State;
use referee_api::worker::v1::Verdict;
use tokio::time::Instant;

use station::{Doubler, Fellow, Jobs, KIWIPETE, free_address, is_over, serve};

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// How often somebody is killed.
const KILL_INTERVAL: Duration = Duration::from_secs(2);

/// How long a session lives without a sign of life, as the server says to workers.
const LEASE_TIME: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_killed_the_total_is_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = free_address();
    let mut server = serve(folder.path(), address);
    let (doubler, door) = Doubler::start(address).await;
    let mut jobs = Jobs::at(address);
    let start = |number: usize| Fellow::start(door, folder.path(), &format!("w{number}"));
    let mut fellows = [start(0), start(1), start(2)];
    let name = jobs.create(None, 8).await;
    let begin = Instant::now();
    let mut kills = 0;
    let job = loop {
        tokio::time::sleep(KILL_INTERVAL).await;
        if let Some(job) = jobs.find(&name).await
            && is_over(&job)
        {
            break job;
        }
        assert!(begin.elapsed() < PATIENCE, "{:?}", jobs.find(&name).await);
        // One of the workers and the server by turns; a killed process says nothing any more.
        if kills % 2 == 0 {
            let number = kills / 2 % fellows.len();
            fellows[number] = start(number);
        } else {
            server.kill();
            server = serve(folder.path(), address);
        }
        kills += 1;
    };
    println!("{kills} kills in {:.0} s", begin.elapsed().as_secs_f64());
    assert_eq!(job.state(), State::Succeeded, "{:?}", job.failure);
    assert_eq!((&job.nodes[..], job.disagreements), ("84998978956", 0));
    let sum: u128 = job
        .divide
        .iter()
        .filter_map(|it| it.nodes.parse::<u128>().ok())
        .sum();
    assert_eq!(sum, 84_998_978_956);
    assert!(kills > 2, "nothing was killed");
    let seen = doubler.seen();
    assert!(!seen.is_empty());
    for report in seen {
        let [first, second] = report.verdicts;
        let known = [Verdict::Accepted, Verdict::Compared, Verdict::Unwanted];
        assert!(known.contains(&first), "{report:?}");
        assert_ne!(second, Verdict::Accepted, "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_was_stopped_reports_late_and_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = free_address();
    let _server = serve(folder.path(), address);
    let (doubler, door) = Doubler::start(address).await;
    let mut jobs = Jobs::at(address);
    let late = Fellow::start(door, folder.path(), "late");
    let name = jobs.create(Some(KIWIPETE), 6).await;
    let is_held =
        |job: &referee_api::v1::PerftJob| job.progress.as_ref().is_some_and(|it| it.tasks_held > 0);
    jobs.wait(&name, PATIENCE, is_held).await;
    // So that it has begun.
    tokio::time::sleep(Duration::from_millis(200)).await;
    late.signal("STOP");
    let stopped = Instant::now();
    let before = doubler.seen().len();
    let _other = Fellow::start(door, folder.path(), "other");
    let job = jobs.wait(&name, PATIENCE, is_over).await;
    assert_eq!(
        (job.state(), &job.nodes[..]),
        (State::Succeeded, "8031647685")
    );
    let expired = job.progress.expect("it is told").leases_expired;
    assert!(expired > 0, "its leases were given to the other");
    tokio::time::sleep((3 * LEASE_TIME).saturating_sub(stopped.elapsed())).await;
    let by_others = doubler.seen().len();
    assert!(by_others > before);
    late.signal("CONT");
    // What it was counting comes to its end and is reported, by the session that it had.
    let end = Instant::now() + PATIENCE;
    while doubler.seen().len() == by_others {
        assert!(Instant::now() < end, "nothing was reported late");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for report in &doubler.seen()[by_others..] {
        for verdict in report.verdicts {
            let known = [Verdict::Compared, Verdict::Unwanted];
            assert!(known.contains(&verdict), "{report:?}");
        }
    }
    let job = jobs.find(&name).await.expect("the server is there");
    assert_eq!((&job.nodes[..], job.disagreements), ("8031647685", 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_asked_to_end_gives_back_what_it_holds() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = free_address();
    let _server = serve(folder.path(), address);
    let (doubler, door) = Doubler::start(address).await;
    let mut jobs = Jobs::at(address);
    let mut fellow = Fellow::start(door, folder.path(), "ends");
    let name = jobs.create(Some(KIWIPETE), 7).await;
    let holds = |count: i64| {
        move |job: &referee_api::v1::PerftJob| {
            job.progress
                .as_ref()
                .is_some_and(|it| it.tasks_held == count)
        }
    };
    jobs.wait(&name, PATIENCE, holds(2)).await;
    // In the middle of a task.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let asked = Instant::now();
    fellow.signal("TERM");
    jobs.wait(&name, Duration::from_secs(1), holds(0)).await;
    let status = fellow
        .wait(Duration::from_secs(2).saturating_sub(asked.elapsed()))
        .await;
    assert_eq!(status.code(), Some(0));
    // What was whole of the task was not lost.
    let last = doubler.seen().pop().expect("it has reported");
    assert!(
        last.counts > 0 && last.verdicts[0] == Verdict::Accepted,
        "{last:?}"
    );
    // Somebody else goes on, and a cancelled job leaves nobody at work.
    let fellows = ["one", "two"].map(|it| Fellow::start(door, folder.path(), it));
    jobs.wait(&name, PATIENCE, |job| {
        job.progress.as_ref().is_some_and(|it| it.tasks_held >= 2)
    })
    .await;
    jobs.cancel(&name).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = fellows.each_ref().map(Fellow::worked);
    tokio::time::sleep(Duration::from_secs(1)).await;
    for (fellow, before) in fellows.iter().zip(before) {
        let worked = fellow.worked() - before;
        assert!(
            worked < 0.05,
            "{worked} s of a second after the job was cancelled"
        );
    }
    let job = jobs.find(&name).await.expect("the server is there");
    assert_eq!((job.state(), &job.nodes[..]), (State::Cancelled, ""));
}
