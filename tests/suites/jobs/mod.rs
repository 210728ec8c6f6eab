//! Perft jobs, counted by a worker that is written here: exact totals, whatever is reported late,
//! twice or wrongly, and whoever dies; limits; small counts that stop with their callers.

mod desk;
mod full_disk;
mod heavy;
mod limits;
mod measures;
mod reports;
mod small;

use std::time::Duration;

use referee_api::v1::perft_job::State;
use referee_api::v1::perft_service_client::PerftServiceClient;
use referee_api::v1::perft_worker::IdleReason;
use referee_api::v1::{CountPerftRequest, PerftJob, WatchPerftJobRequest};
use referee_api::worker::v1::worker_service_client::WorkerServiceClient;
use referee_tests::lines;
use referee_tests::process::Referee;

use desk::{Desk, Jobs, PATIENCE, count, lease, name, result, root};

/// Adds the divide up.
fn sum(divide: &[referee_api::v1::DivideEntry]) -> u128 {
    let nodes = divide.iter().map(|entry| entry.nodes.parse::<u128>());
    nodes.map(|nodes| nodes.expect("decimal digits")).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_comes_to_its_total() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    for (number, line) in lines("perft_jobs/jobs.jsonl").into_iter().enumerate() {
        let fen = line["fen"].as_str().expect("a FEN");
        let depth = line["depth"].as_u64().expect("a depth") as u32;
        let position = root(fen, line["chess960"] == true);
        let nodes = line["nodes"].as_str().expect("a number");
        let id = format!("job-{number}");
        let job = PerftJob {
            position: Some(position.clone()),
            depth,
            ..PerftJob::default()
        };
        let created = jobs.create_job(&id, job).await;
        assert!(created.nodes.is_empty(), "{created:?}");
        let job = desk.work(&mut jobs, &id).await;
        assert_eq!(
            (job.state(), &job.nodes[..]),
            (State::Succeeded, nodes),
            "{fen}"
        );
        assert_eq!(sum(&job.divide).to_string(), nodes, "{fen}");
        assert!(job.divide.is_sorted_by(|a, b| a.r#move < b.r#move), "{fen}");
        let progress = job.progress.expect("it is told");
        assert_eq!(progress.tasks, progress.tasks_done);
        assert!(progress.share >= 1.0, "{progress:?}");
        // At once it comes to the same.
        let request = CountPerftRequest {
            position: Some(position),
            depth,
        };
        let counted = jobs
            .0
            .count_perft(request)
            .await
            .expect("counted")
            .into_inner();
        assert_eq!(counted.nodes, nodes, "{fen}");
        assert_eq!(counted.divide, job.divide, "{fen}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_survives_its_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut referee = Referee::start_in(folder.path());
    let mut desk = Desk::open(&referee, "w").await;
    let mut jobs = Jobs::of(&referee).await;
    // Killed while it is planned: it is planned again.
    jobs.create("killed", 6).await;
    referee.kill();
    referee = Referee::start_in(folder.path());
    jobs = Jobs::of(&referee).await;
    desk = desk.again(&referee).await;
    jobs.wait("killed", State::Running).await;
    // Killed after each report, which comes again: nothing is lost, and nothing counts twice.
    for _ in 0..3 {
        let task = desk.lease(&[], 1).await.remove(0);
        let counted = result(&task, count(&task));
        let first = desk.report(counted.clone()).await;
        assert_eq!(first.verdict(), referee_api::worker::v1::Verdict::Accepted);
        let left = desk.lease(&[], 1).await.remove(0);
        referee.kill();
        referee = Referee::start_in(folder.path());
        desk = desk.again(&referee).await;
        let again = desk.report(counted).await;
        assert_eq!(again.verdict(), referee_api::worker::v1::Verdict::Compared);
        // What was leased is still leased, and comes again.
        let same = desk.lease(&[], 1).await.remove(0);
        assert_eq!(same, left);
        let counted = result(&left, count(&left));
        let told = desk.report(counted).await;
        assert_eq!(told.verdict(), referee_api::worker::v1::Verdict::Accepted);
    }
    jobs = Jobs::of(&referee).await;
    let job = desk.work(&mut jobs, "killed").await;
    assert_eq!(
        (job.state(), &job.nodes[..]),
        (State::Succeeded, "119060324")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_watch_changes_nothing_and_the_last_message_is_the_end() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut desk = Desk::open(&referee, "w").await;
    jobs.create("watched", 5).await;
    let request = WatchPerftJobRequest {
        name: name("watched"),
        interval: prost_types::Duration::try_from(Duration::from_millis(100)).ok(),
    };
    let broken = jobs.0.watch_perft_job(request.clone()).await;
    let mut broken = broken.expect("watched").into_inner();
    broken.message().await.expect("it goes on").expect("a job");
    drop(broken);
    jobs.wait("watched", State::Running).await;
    let watched = jobs.0.watch_perft_job(request).await;
    let mut watched = watched.expect("watched").into_inner();
    let following = tokio::spawn(async move {
        let mut last = None;
        while let Some(message) = watched.message().await.expect("it ends with OK") {
            last = message.perft_job;
        }
        last.expect("there is a job")
    });
    desk.work(&mut jobs, "watched").await;
    let last = tokio::time::timeout(PATIENCE, following).await;
    let last = last.expect("it ends").expect("it does not panic");
    assert_eq!(
        (last.state(), &last.nodes[..]),
        (State::Succeeded, "4865609")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_are_shown_with_what_they_hold_and_why_they_have_nothing() {
    let referee = Referee::start();
    let mut jobs = Jobs::of(&referee).await;
    let mut busy = Desk::open(&referee, "busy").await;
    let _idle = Desk::open(&referee, "idle").await;
    jobs.create("shown", 6).await;
    jobs.wait("shown", State::Running).await;
    let tasks = busy.lease(&[], 2).await;
    let held: Vec<_> = tasks.iter().map(lease).collect();
    busy.renew(&held).await;
    let job = jobs.get("shown").await;
    let worker = |id: &str| {
        let found = job.workers.iter().find(|worker| worker.worker_id == id);
        found.unwrap_or_else(|| panic!("{id} is not shown: {job:?}"))
    };
    assert_eq!(worker("busy").tasks.len(), 2);
    assert_eq!(worker("busy").idle_reason(), IdleReason::Unspecified);
    assert_eq!(worker("busy").nodes_per_second, 1e6);
    assert_eq!(worker("idle").tasks.len(), 0);
    assert_ne!(worker("idle").idle_reason(), IdleReason::Unspecified);
    let progress = job.progress.as_ref().expect("it is told");
    assert_eq!(progress.tasks_held, 2);
    assert!(progress.tasks >= 8, "{progress:?}");
    assert!(progress.remaining.is_some(), "{progress:?}");
    assert_eq!((progress.positions, &progress.paths[..]), (400, "400"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_can_have_a_listener_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    // Free a moment ago, and nobody else asks for it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let free = free.expect("a port").to_string();
    let referee = Referee::start_with(folder.path(), &["--worker-listen", &free]);
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{free}"));
    let channel = endpoint.expect("an address").connect().await;
    let channel = channel.expect("workers are listened to");
    let mut workers = WorkerServiceClient::new(channel.clone());
    let opened = workers.open_session(desk::introduction("w")).await;
    opened.expect("a session");
    let mut elsewhere = WorkerServiceClient::new(referee.connect().await);
    let status = elsewhere.open_session(desk::introduction("w")).await;
    assert_eq!(
        status.expect_err("not there").code(),
        tonic::Code::Unimplemented
    );
    let mut jobs = Jobs(PerftServiceClient::new(channel));
    let status = jobs.0.count_perft(CountPerftRequest::default()).await;
    assert_eq!(
        status.expect_err("not there").code(),
        tonic::Code::Unimplemented
    );
}
