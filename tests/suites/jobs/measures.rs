//! What autoscalers and dashboards are told of jobs.

use std::path::Path;

use referee_api::v1::PerftJob;
use referee_api::v1::perft_job::State;
use referee_api::worker::v1::Verdict;
use referee_perft::GENERATOR;
use referee_server::limits;
use referee_store::{JobKey, NewJob, SqliteStore, Store, Work};
use referee_tests::operator::{get, scrape};
use referee_tests::process::Referee;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::desk::{Desk, Jobs, PATIENCE, count, result, root};

/// Seven plies from here keep a thread for some minutes.
const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

async fn start(folder: &Path) -> Referee {
    let referee = Referee::start_with(folder, &["--admin-listen", "127.0.0.1:0"]);
    wait("it is ready", || {
        get(referee.admin(), "/ready").status == 200
    })
    .await;
    referee
}

/// Copies the job `first` to another platform, in the store of a server that does not run.
async fn copy(folder: &Path) {
    let store = SqliteStore::open(folder.join("referee.db")).expect("nobody else has it");
    let first = JobKey {
        platform: "default".to_owned(),
        job: "first".to_owned(),
    };
    let row = store.job(&first).await.expect("it reads").expect("a job");
    let copied = store.create_job(NewJob {
        key: JobKey {
            platform: "other".to_owned(),
            job: "second".to_owned(),
        },
        request_id: "second".to_owned(),
        content_hash: [2; 32],
        spec: row.spec,
        create_us: row.create_us,
        keep_us: row.keep_us,
        under_way_max: 1,
        jobs_max: 1,
    });
    copied.await.expect("a new job");
    store.close().await.expect("all is on disk");
}

/// The threads that an autoscaler is told, which are those of the metric.
fn wanted(referee: &Referee) -> u64 {
    let metric = || scrape(referee.admin()).value("referee_perft_wanted_threads", &[]);
    loop {
        let before = metric();
        let told = get(referee.admin(), "/scale").body;
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let threads = told["perft_wanted_threads"].as_u64().expect("a number");
        // In between they may have been counted again.
        if metric() == before {
            assert_eq!(threads as f64, before);
            return threads;
        }
    }
}

/// How many threads would be done in time with what is left of a job.
fn expected(job: &PerftJob) -> f64 {
    let progress = job.progress.as_ref().expect("it is told");
    let left = progress.thread_seconds * (1.0 - progress.share);
    left / limits::PERFT_AIM_TIME.as_secs_f64()
}

async fn wait(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        sleep(limits::PERFT_CENSUS_INTERVAL / 20).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn autoscalers_are_told_how_many_threads_are_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut referee = start(folder.path()).await;
    let nodes = |referee: &Referee| {
        let labels = [("generator", GENERATOR)];
        scrape(referee.admin()).value("referee_perft_nodes_total", &labels)
    };
    let workers = |referee: &Referee| scrape(referee.admin()).value("referee_perft_workers", &[]);
    // There without workers and without jobs.
    assert_eq!((wanted(&referee), workers(&referee)), (0, 0.0));
    assert_eq!(nodes(&referee), 0.0);
    let mut jobs = Jobs::of(&referee).await;
    let deep = PerftJob {
        position: Some(root(KIWIPETE, false)),
        depth: 7,
        ..PerftJob::default()
    };
    jobs.create_job("first", deep).await;
    let first = expected(&jobs.wait("first", State::Running).await);
    assert!(first > 1.0, "it takes more than a minute: {first}");
    wait("a job without workers asks for them", || {
        wanted(&referee) == first.ceil() as u64
    })
    .await;
    // A worker comes and counts.
    let mut desk = Desk::open(&referee, "w").await;
    let task = desk.lease(&[], 1).await.remove(0);
    let counts = count(&task);
    let sum: u64 = counts.iter().sum();
    let whole = result(&task, counts);
    for verdict in [Verdict::Accepted, Verdict::Compared] {
        assert_eq!(desk.report(whole.clone()).await.verdict(), verdict);
        assert_eq!(nodes(&referee), sum as f64, "each is counted once");
    }
    wait("the worker is seen", || workers(&referee) == 1.0).await;
    // The jobs of other platforms are counted, too.
    drop(referee);
    copy(folder.path()).await;
    referee = start(folder.path()).await;
    wait("both platforms are counted", || {
        wanted(&referee) > first.ceil() as u64
    })
    .await;
    let both = wanted(&referee);
    Jobs::of(&referee).await.cancel("first").await;
    wait("the other platform is left", || {
        (1..both).contains(&wanted(&referee))
    })
    .await;
    // It gave no sign of life since.
    wait("the worker is gone", || workers(&referee) == 0.0).await;
}
