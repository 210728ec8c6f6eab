//! A job that workers count beside one process that counts the same tasks, and one worker beside
//! two.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use referee_api::v1::perft_job::State;
use referee_api::v1::perft_service_client::PerftServiceClient;
use referee_api::v1::{CreatePerftJobRequest, GetPerftJobRequest, PerftJob, Position, position};
use referee_chess::CastlingMode;
use referee_perft::{Counter, Means, Table, Task, key_to_bytes};
use referee_store::{JobKey, SqliteStore, Store as _, Stretch, Work as _};
use referee_tests::process::{Referee, binary};
use referee_tests::wire;
use tokio::time::Instant;
use tonic::transport::Channel;

use crate::cpu;

/// The position and the depth where nobody says: some tens of seconds of one thread.
const FEN: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
const DEPTH: u32 = 7;

/// The name of the job.
const JOB: &str = "fleet";

/// What is measured: `fleet [DEPTH [HASH_MIB [FEN]]]`; no table where the size is 0.
struct Count {
    fen: String,
    depth: u32,
    hash_mib: usize,
}

impl Count {
    fn read() -> Count {
        let argument = |number: usize| std::env::args().nth(number);
        let number = |text: String| text.parse().expect("a number");
        Count {
            depth: argument(2).map_or(DEPTH, number),
            hash_mib: argument(3).map_or(0, |text| text.parse().expect("a number")),
            fen: argument(4).unwrap_or_else(|| FEN.to_owned()),
        }
    }
}

/// A worker of one thread, until it is dropped.
struct Fellow(Child);

impl Fellow {
    fn start(referee: &Referee, count: &Count) -> Fellow {
        let mut command = Command::new(binary());
        command.args(["worker", "--threads", "1", "--log", "warn", "--server"]);
        command.arg(format!("http://{}", referee.address()));
        if count.hash_mib > 0 {
            command.arg("--hash").arg(count.hash_mib.to_string());
        }
        command.stdin(Stdio::null());
        Fellow(command.spawn().expect("the binary was built"))
    }
}

impl Drop for Fellow {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a job took.
struct Took {
    /// From the end of its planning to its end.
    wall: Duration,
    planning: Duration,
    workers: Duration,
    server: Duration,
    nodes: String,
}

pub(crate) async fn run() {
    let count = Count::read();
    let folder = tempfile::tempdir().expect("a folder");
    let one = distribute(&count, folder.path(), 1).await;
    let again = recount(&count, folder.path()).await;
    println!(
        "one worker: {:.1?} of it, {:.1?} of the server while it was counted, {:.1?} to plan; \
         {:.1?} on the clock; {} nodes",
        one.workers, one.server, one.planning, one.wall, one.nodes
    );
    println!("one process on the same tasks: {again:.1?}");
    let (workers, all) = (one.workers, one.workers + one.server);
    let ratio = |time: Duration| time.as_secs_f64() / again.as_secs_f64();
    println!(
        "workers {:.3}, with the server {:.3}",
        ratio(workers),
        ratio(all)
    );
    let folder = tempfile::tempdir().expect("a folder");
    let two = distribute(&count, folder.path(), 2).await;
    assert_eq!(one.nodes, two.nodes);
    println!(
        "two workers: {:.1?} of them, {:.1?} on the clock",
        two.workers, two.wall
    );
    println!(
        "two of them are {:.2} times as fast as one",
        one.wall.as_secs_f64() / two.wall.as_secs_f64()
    );
}

/// Lets so many workers count a job of a new server.
async fn distribute(count: &Count, folder: &Path, workers: usize) -> Took {
    let referee = Referee::start_in(folder);
    let mut jobs = PerftServiceClient::new(referee.connect().await);
    let job = PerftJob {
        position: Some(Position {
            base: Some(position::Base::Fen(count.fen.clone())),
            ..Position::default()
        }),
        depth: count.depth,
        ..PerftJob::default()
    };
    let created = jobs.create_perft_job(CreatePerftJobRequest {
        perft_job: Some(job),
        perft_job_id: JOB.to_owned(),
        request_id: wire::fresh_id(),
    });
    created.await.expect("created");
    wait(&mut jobs, State::Running).await;
    let planning = cpu::time_of(referee.id());
    let begun = Instant::now();
    let fellows: Vec<Fellow> = (0..workers)
        .map(|_| Fellow::start(&referee, count))
        .collect();
    let done = wait(&mut jobs, State::Succeeded).await;
    let wall = begun.elapsed();
    let of_workers = fellows.iter().map(|fellow| cpu::time_of(fellow.0.id()));
    Took {
        wall,
        planning,
        workers: of_workers.sum(),
        server: cpu::time_of(referee.id()) - planning,
        nodes: done.nodes,
    }
}

async fn wait(jobs: &mut PerftServiceClient<Channel>, state: State) -> PerftJob {
    loop {
        let name = format!("perftJobs/{JOB}");
        let got = jobs.get_perft_job(GetPerftJobRequest { name }).await;
        let job = got.expect("it is there").into_inner().perft_job;
        let job = job.expect("it is told");
        assert_ne!(job.state(), State::Failed, "{:?}", job.failure);
        if job.state() == state {
            return job;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Counts the tasks that are stored of the job in this process, and returns the processor time.
async fn recount(count: &Count, folder: &Path) -> Duration {
    let store = SqliteStore::open(folder.join("referee.db")).expect("nobody else has it");
    let key = JobKey {
        platform: "default".to_owned(),
        job: JOB.to_owned(),
    };
    let row = store.job(&key).await.expect("it reads").expect("the job");
    let mut tasks = Vec::new();
    let mut first = 0;
    loop {
        let page = store.counted(Stretch {
            job: row.id,
            parent: None,
            first,
            end: i64::MAX,
        });
        let page = page.await.expect("it reads");
        let Some(last) = page.last() else { break };
        first = last.first + last.positions;
        tasks.extend(page);
    }
    store.close().await.expect("it closes");
    let counter = Counter::new(1).expect("a thread");
    let begun = cpu::time_of(std::process::id());
    let table = (count.hash_mib > 0).then(|| Table::new(count.hash_mib, 0).expect("a table"));
    for stored in tasks {
        let first = stored.first.cast_unsigned();
        let task = Task::from_bytes(first, stored.rest, &stored.bytes).expect("a task");
        // As a worker gets it.
        let keys = task.keys().iter().map(|&key| key_to_bytes(key));
        let keys: Vec<_> = keys.collect();
        let task = Task::from_keys(stored.rest, CastlingMode::Standard, &keys).expect("keys");
        let means = Means {
            table: table.as_ref(),
            ..Means::default()
        };
        let counted = counter.count(&task, means, None).expect("counted");
        assert!(counted.counts.iter().all(Option::is_some));
    }
    cpu::time_of(std::process::id()) - begun
}
