//! A worker as tests need it: it leases, counts and reports when it is told to.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use referee_api::v1::perft_job::State;
use referee_api::v1::perft_service_client::PerftServiceClient;
use referee_api::v1::{
    CancelPerftJobRequest, CreatePerftJobRequest, GetPerftJobRequest, PerftJob, Position, Variant,
    position,
};
use referee_api::worker::v1 as w;
use referee_api::worker::v1::worker_service_client::WorkerServiceClient;
use referee_chess::CastlingMode;
use referee_perft::{Counter, GENERATOR, Means, Task};
use referee_tests::process::Referee;
use referee_tests::wire;
use tonic::Status;
use tonic::transport::Channel;

/// After this time something hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(180);

static COUNTER: LazyLock<Counter> = LazyLock::new(|| Counter::new(1).expect("a thread"));

/// A client of perft jobs.
pub(super) struct Jobs(pub(super) PerftServiceClient<Channel>);

impl Jobs {
    pub(super) async fn of(referee: &Referee) -> Jobs {
        Jobs(PerftServiceClient::new(referee.connect().await))
    }

    /// Creates a job from the starting position.
    pub(super) async fn create(&mut self, id: &str, depth: u32) -> PerftJob {
        let job = PerftJob {
            depth,
            ..PerftJob::default()
        };
        self.create_job(id, job).await
    }

    pub(super) async fn create_job(&mut self, id: &str, job: PerftJob) -> PerftJob {
        let created = self.0.create_perft_job(creation(id, job)).await;
        let job = created.expect("created").into_inner().perft_job;
        job.expect("it is told")
    }

    pub(super) async fn get(&mut self, id: &str) -> PerftJob {
        let request = GetPerftJobRequest { name: name(id) };
        let got = self.0.get_perft_job(request).await;
        got.expect("it is there")
            .into_inner()
            .perft_job
            .expect("it is told")
    }

    pub(super) async fn cancel(&mut self, id: &str) -> PerftJob {
        let request = CancelPerftJobRequest { name: name(id) };
        let cancelled = self.0.cancel_perft_job(request).await;
        let job = cancelled.expect("cancelled").into_inner().perft_job;
        job.expect("it is told")
    }

    /// Waits until a job is in a state.
    pub(super) async fn wait(&mut self, id: &str, state: State) -> PerftJob {
        let waiting = async {
            loop {
                let job = self.get(id).await;
                if job.state() == state {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("{id} does not come to {state:?}"))
    }
}

pub(super) fn name(id: &str) -> String {
    format!("perftJobs/{id}")
}

pub(super) fn creation(id: &str, job: PerftJob) -> CreatePerftJobRequest {
    CreatePerftJobRequest {
        perft_job: Some(job),
        perft_job_id: id.into(),
        request_id: wire::fresh_id(),
    }
}

pub(super) fn root(fen: &str, chess960: bool) -> Position {
    Position {
        base: Some(position::Base::Fen(fen.into())),
        variant: if chess960 {
            Variant::Chess960.into()
        } else {
            Variant::Standard.into()
        },
        ..Position::default()
    }
}

/// A worker with a session.
pub(super) struct Desk {
    pub(super) client: WorkerServiceClient<Channel>,
    pub(super) session: Bytes,
}

pub(super) fn introduction(worker: &str) -> w::OpenSessionRequest {
    w::OpenSessionRequest {
        worker_id: worker.into(),
        threads: 1,
        hash_mib: 0,
        generator: GENERATOR.into(),
        version: "test".into(),
        key_set: 0,
    }
}

impl Desk {
    pub(super) async fn open(referee: &Referee, worker: &str) -> Desk {
        let mut client = WorkerServiceClient::new(referee.connect().await);
        let opened = client.open_session(introduction(worker)).await;
        let opened = opened.expect("a session").into_inner();
        assert_eq!(opened.session.len(), 32);
        Desk {
            client,
            session: opened.session,
        }
    }

    /// The same session at a server that was started again.
    pub(super) async fn again(&self, referee: &Referee) -> Desk {
        Desk {
            client: WorkerServiceClient::new(referee.connect().await),
            session: self.session.clone(),
        }
    }

    pub(super) async fn try_lease(
        &mut self,
        held: &[w::Lease],
        max_tasks: u32,
        wait: Duration,
    ) -> Result<w::LeaseTasksResponse, Status> {
        let request = w::LeaseTasksRequest {
            session: self.session.clone(),
            held: held.to_vec(),
            max_tasks,
            wait: prost_types::Duration::try_from(wait).ok(),
        };
        Ok(self.client.lease_tasks(request).await?.into_inner())
    }

    /// Leases so many tasks at most, and waits for the first.
    pub(super) async fn lease(&mut self, held: &[w::Lease], max_tasks: u32) -> Vec<w::Task> {
        let leased = self
            .try_lease(held, max_tasks, Duration::from_secs(10))
            .await;
        leased.expect("leased").tasks
    }

    pub(super) async fn renew(&mut self, held: &[w::Lease]) -> w::RenewSessionResponse {
        let request = w::RenewSessionRequest {
            session: self.session.clone(),
            held: held.to_vec(),
            nodes_per_second: 1e6,
            stopping: false,
        };
        let renewed = self.client.renew_session(request).await;
        renewed.expect("the session is open").into_inner()
    }

    pub(super) async fn report(&mut self, result: w::TaskResult) -> w::ReportedTask {
        let request = w::ReportTasksRequest {
            session: self.session.clone(),
            results: vec![result],
        };
        let reported = self.client.report_tasks(request).await;
        let tasks = reported.expect("reported").into_inner().tasks;
        tasks
            .into_iter()
            .next()
            .expect("one verdict for each result")
    }

    /// Leases, counts and reports until a job is over.
    pub(super) async fn work(&mut self, jobs: &mut Jobs, id: &str) -> PerftJob {
        loop {
            let leased = self.try_lease(&[], 4, Duration::from_millis(200)).await;
            for task in leased.expect("leased").tasks {
                let reported = self.report(result(&task, count(&task))).await;
                assert_eq!(reported.verdict(), w::Verdict::Accepted, "{reported:?}");
            }
            let job = jobs.get(id).await;
            if !matches!(job.state(), State::Planning | State::Running) {
                return job;
            }
        }
    }
}

/// Counts a task.
pub(super) fn count(task: &w::Task) -> Vec<u64> {
    let mode = if task.chess960 {
        CastlingMode::Chess960
    } else {
        CastlingMode::Standard
    };
    let (keys, rest) = task.keys.as_chunks::<32>();
    assert!(rest.is_empty(), "keys have 32 bytes");
    let read = Task::from_keys(task.rest, mode, keys).expect("keys of positions");
    let counted = COUNTER
        .count(&read, Means::default(), None)
        .expect("counted");
    let counts = counted.counts.into_iter();
    counts
        .map(|count| u64::try_from(count.expect("it is whole")).expect("tests are small"))
        .collect()
}

/// What is reported of a whole task.
pub(super) fn result(task: &w::Task, counts: Vec<u64>) -> w::TaskResult {
    w::TaskResult {
        lease: task.lease,
        parts: vec![w::CountedPart {
            first: 0,
            counts,
            counts_high: Vec::new(),
        }],
        probes: 0,
        thread_time: None,
        children: false,
    }
}

pub(super) fn lease(task: &w::Task) -> w::Lease {
    task.lease.expect("each task has its lease")
}
