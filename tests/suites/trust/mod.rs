//! Who lies is named, and the total is right: distinct credentials, counts that are counted again,
//! disputes, and a record that others can check.

mod record;
mod station;

use referee_api::v1::perft_worker::IdleReason;
use referee_api::v1::{PerftJob, PerftTrust};
use referee_tests::process::Referee;
use referee_tests::wire::details;
use tonic::Code;

use referee_api::v1::perft_job::State;
use referee_api::v1::perft_service_client::PerftServiceClient;

use station::{Desk, Jobs, Station, Way, is_over};

/// What `start`, five plies, has.
const NODES: &str = "4865609";

fn job(redundancy: u32, recheck_share: f64) -> PerftJob {
    PerftJob {
        depth: 5,
        redundancy,
        recheck_share,
        ..PerftJob::default()
    }
}

fn trust(job: &PerftJob) -> &PerftTrust {
    job.trust.as_ref().expect("it is told")
}

/// Why a worker is shut out; nothing where it is not.
fn shut_out(job: &PerftJob, worker: &str) -> String {
    let credential = format!("default/{worker}");
    let mut known = trust(job).credentials.iter();
    let found = known.find(|it| it.credential == credential);
    found.map(|it| it.shut_out.clone()).unwrap_or_default()
}

/// Lets workers work by turns until a job is over.
async fn work(jobs: &mut Jobs, id: &str, desks: &mut [&mut Desk]) -> PerftJob {
    let begin = tokio::time::Instant::now();
    loop {
        for desk in desks.iter_mut() {
            // Who is shut out is told so, and does no more.
            let _ = desk.turn().await;
        }
        let job = jobs.get(id).await;
        if is_over(&job) {
            return job;
        }
        assert!(begin.elapsed() < station::PATIENCE, "{job:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_with_one_token_are_one() {
    let station = Station::start(2, &[]);
    let mut jobs = station.jobs().await;
    let mut desks = [
        station.desk(0, Way::Honest).await,
        station.desk(0, Way::Honest).await,
    ];
    jobs.create("one", job(2, 0.0)).await;
    jobs.wait("one", |job| job.state() == State::Running).await;
    // Together they count all of it once.
    let mut idle = 0;
    while idle < 3 {
        let mut counted = 0;
        for desk in &mut desks {
            counted += desk.turn().await.expect("the session is open");
        }
        idle = if counted == 0 { idle + 1 } else { 0 };
    }
    let waiting = jobs.get("one").await;
    assert_eq!(waiting.state(), State::Running);
    let progress = waiting.progress.as_ref().expect("it is told");
    assert_eq!(progress.credentials_needed, 1, "{progress:?}");
    assert!(progress.share < 0.6, "{progress:?}");
    let reasons = waiting.workers.iter().map(|it| it.idle_reason());
    let reasons: Vec<_> = reasons.collect();
    assert_eq!(reasons, [IdleReason::OtherCredential; 2]);
    // Another token lets it go on.
    let mut other = station.desk(1, Way::Honest).await;
    let done = work(&mut jobs, "one", &mut [&mut other]).await;
    assert_eq!((done.state(), &done.nodes[..]), (State::Succeeded, NODES));
    let trust = trust(&done);
    assert_eq!((trust.positions, trust.rechecked), (20, 20));
    let counted: Vec<_> = trust
        .credentials
        .iter()
        .map(|it| (&it.credential[..], it.positions))
        .collect();
    assert_eq!(counted, [("default/a", 20), ("default/b", 20)]);
    assert_eq!(trust.unseen[0].probability, 0.0, "{trust:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_credentials_nothing_is_counted_twice() {
    let referee = Referee::start();
    let mut jobs = PerftServiceClient::new(referee.connect().await);
    for (field, job) in [("redundancy", job(2, 0.0)), ("recheck_share", job(1, 0.1))] {
        let request = referee_api::v1::CreatePerftJobRequest {
            perft_job: Some(job),
            request_id: referee_tests::wire::fresh_id(),
            ..Default::default()
        };
        let refused = jobs.create_perft_job(request).await;
        let refused = refused.expect_err("nobody is known");
        let found = details(&refused);
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert_eq!(found.reason, "PERFT_CREDENTIALS_REQUIRED");
        assert_eq!(found.metadata["field"], format!("perft_job.{field}"));
        assert!(refused.message().contains("--require-credentials"));
    }
}

/// One of two lies, in one way or another; the other is never blamed.
async fn lie(way: Way, liar_is_first: bool) {
    let station = Station::start(3, &[]);
    let mut jobs = station.jobs().await;
    jobs.create("lie", job(2, 0.0)).await;
    jobs.wait("lie", |job| job.state() == State::Running).await;
    let (liar, honest) = if liar_is_first { (0, 1) } else { (1, 0) };
    let way_of = |worker| if worker == liar { way } else { Way::Honest };
    let mut desks = Vec::new();
    for worker in [0, 1] {
        let mut desk = station.desk(worker, way_of(worker)).await;
        // The first one counts all of it before the second one begins.
        while desk.turn().await.expect("the session is open") > 0 {}
        desks.push(desk);
    }
    let mut third = station.desk(2, Way::Honest).await;
    let [first, second] = &mut desks[..] else {
        panic!("there are two")
    };
    let done = work(&mut jobs, "lie", &mut [first, second, &mut third]).await;
    assert_eq!(
        (done.state(), &done.nodes[..]),
        (State::Succeeded, NODES),
        "{done:?}"
    );
    let names = ["a", "b"];
    let reason = shut_out(&done, names[liar]);
    assert!(
        reason.contains("counted") && reason.contains("perftJobs/lie"),
        "{reason}"
    );
    assert_eq!(shut_out(&done, names[honest]), "");
    assert_eq!(shut_out(&done, "c"), "");
    assert_eq!(done.disagreements, 0);
    let trust = trust(&done);
    assert_eq!((trust.positions, trust.rechecked), (20, 20));
    let [dispute] = &trust.disputes[..] else {
        panic!("there is one: {trust:?}")
    };
    assert!(!dispute.verdict.is_empty());
    match way {
        // Caught by the second generator, one ply further down.
        Way::Consistent => assert_eq!((dispute.line.len(), dispute.rest), (2, 3)),
        Way::Careless => assert!(dispute.verdict.contains("by its children"), "{dispute:?}"),
        Way::Silent => assert_eq!(dispute.sides.len(), 3, "{dispute:?}"),
        Way::Honest => unreachable!("somebody lies"),
    }
    // It gets no further session, and hears why.
    let refused = station.try_desk(liar, Way::Honest).await;
    let Err(refused) = refused else {
        panic!("it was shut out")
    };
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(details(&refused).reason, "WORKER_SHUT_OUT");
    assert!(refused.message().contains(&reason), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_liar_who_is_first_and_consistent_is_named() {
    lie(Way::Consistent, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_liar_who_is_second_and_consistent_is_named() {
    lie(Way::Consistent, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_liar_whose_children_do_not_add_up_is_named() {
    lie(Way::Careless, true).await;
    lie(Way::Careless, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_liar_who_is_silent_is_named() {
    lie(Way::Silent, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_lie_is_seen_where_all_is_counted_again() {
    let station = Station::start(3, &[]);
    let mut jobs = station.jobs().await;
    let mut six = job(1, 1.0);
    six.depth = 6;
    jobs.create("all", six).await;
    let mut liar = station.desk(0, Way::Consistent).await;
    jobs.wait("all", |job| job.state() == State::Running).await;
    let mut tasks = 0;
    // It counts half of it, and the others the rest.
    while tasks < 8 {
        tasks += liar.turn().await.expect("the session is open");
    }
    let mut honest = [
        station.desk(1, Way::Honest).await,
        station.desk(2, Way::Honest).await,
    ];
    let [one, two] = &mut honest;
    let done = work(&mut jobs, "all", &mut [&mut liar, one, two]).await;
    assert_eq!(
        (done.state(), &done.nodes[..]),
        (State::Succeeded, "119060324")
    );
    let trust = trust(&done);
    assert_eq!((trust.positions, trust.rechecked), (400, 400));
    let (out, honest): (Vec<_>, Vec<_>) = trust
        .credentials
        .iter()
        .partition(|it| it.credential == "default/a");
    let [out] = &out[..] else {
        panic!("it has counted: {trust:?}")
    };
    assert_eq!(out.positions, 0, "its counts are void: {out:?}");
    assert!(out.rechecked > out.agreed && out.agreed > 0, "{out:?}");
    assert!(!out.shut_out.is_empty());
    for known in &honest {
        assert_eq!(known.rechecked, known.agreed, "{known:?}");
        assert_eq!(
            (known.rechecked, &known.shut_out[..]),
            (known.positions, "")
        );
    }
    let positions: i64 = honest.iter().map(|it| it.positions).sum();
    assert_eq!(positions, 400);
    assert!(
        trust.text.contains("400 of 400 positions"),
        "{}",
        trust.text
    );
}
