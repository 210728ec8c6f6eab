//! A server that asks who calls, and workers with tokens that count honestly or not.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use referee_api::v1::perft_job::State;
use referee_api::v1::perft_service_client::PerftServiceClient;
use referee_api::v1::{CreatePerftJobRequest, GetPerftJobRequest, PerftJob};
use referee_api::worker::v1 as w;
use referee_api::worker::v1::worker_service_client::WorkerServiceClient;
use referee_chess::{CastlingMode, PositionKey};
use referee_perft::{
    Counter, GENERATOR, Means, Task, key_from_bytes, key_to_bytes, oracle, read_key,
};
use referee_tests::process::{Referee, binary};
use referee_tests::wire;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// After this time something hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

static COUNTER: LazyLock<Counter> = LazyLock::new(|| Counter::new(1).expect("a thread"));

/// Puts a token into every call.
#[derive(Clone)]
pub(super) struct Bearer(MetadataValue<Ascii>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let headers = request.metadata_mut();
        headers.insert("authorization", self.0.clone());
        Ok(request)
    }
}

fn bearer(token: &str) -> Bearer {
    Bearer(format!("Bearer {token}").parse().expect("a token is plain"))
}

/// Issues a token in the store in a folder that no server runs on.
pub(super) fn issue(folder: &Path, role: &str, principal: &str) -> String {
    let output = Command::new(binary())
        .args(["token", "issue", "--store"])
        .arg(folder.join("referee.db"))
        .args(["--role", role, "--principal", principal])
        .output();
    let output = output.expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let printed = String::from_utf8(output.stdout).expect("it is text");
    printed.trim_end().to_owned()
}

/// A server with tokens: of a platform, and of workers that are called a, b, c and so on.
pub(super) struct Station {
    pub(super) referee: Referee,
    pub(super) folder: tempfile::TempDir,
    pub(super) platform: String,
    pub(super) workers: Vec<String>,
}

impl Station {
    pub(super) fn start(workers: usize, options: &[&str]) -> Station {
        let folder = tempfile::tempdir().expect("a folder");
        let platform = issue(folder.path(), "platform", "owner");
        let names = ["a", "b", "c", "d", "e"];
        let workers = names[..workers]
            .iter()
            .map(|name| issue(folder.path(), "worker", name));
        let workers = workers.collect();
        let options = [&["--require-credentials"], options].concat();
        let referee = Referee::start_with(folder.path(), &options);
        Station {
            referee,
            folder,
            platform,
            workers,
        }
    }

    pub(super) async fn jobs(&self) -> Jobs {
        let channel = self.referee.connect().await;
        Jobs(PerftServiceClient::with_interceptor(
            channel,
            bearer(&self.platform),
        ))
    }

    /// Opens a session of a worker, by the place of its token.
    pub(super) async fn desk(&self, worker: usize, way: Way) -> Desk {
        let opened = self.try_desk(worker, way).await;
        opened.expect("a session")
    }

    pub(super) async fn try_desk(&self, worker: usize, way: Way) -> Result<Desk, Status> {
        let channel = self.referee.connect().await;
        let credential = bearer(&self.workers[worker]);
        let mut client = WorkerServiceClient::with_interceptor(channel, credential);
        let introduction = w::OpenSessionRequest {
            worker_id: format!("w{worker}"),
            threads: 1,
            generator: GENERATOR.into(),
            version: "test".into(),
            ..w::OpenSessionRequest::default()
        };
        let opened = client.open_session(introduction).await?.into_inner();
        Ok(Desk {
            client,
            session: opened.session,
            way,
            poisoned: Vec::new(),
            has_lied: false,
        })
    }
}

/// A client of perft jobs.
pub(super) struct Jobs(pub(super) PerftServiceClient<InterceptedService<Channel, Bearer>>);

impl Jobs {
    pub(super) async fn create(&mut self, id: &str, job: PerftJob) -> PerftJob {
        let created = self.try_create(id, job).await;
        created.expect("created")
    }

    pub(super) async fn try_create(&mut self, id: &str, job: PerftJob) -> Result<PerftJob, Status> {
        let request = CreatePerftJobRequest {
            perft_job: Some(job),
            perft_job_id: id.into(),
            request_id: wire::fresh_id(),
        };
        let created = self.0.create_perft_job(request).await?.into_inner();
        Ok(created.perft_job.expect("it is told"))
    }

    pub(super) async fn get(&mut self, id: &str) -> PerftJob {
        let request = GetPerftJobRequest {
            name: format!("perftJobs/{id}"),
        };
        let got = self.0.get_perft_job(request).await;
        got.expect("it is there")
            .into_inner()
            .perft_job
            .expect("it is told")
    }

    /// Waits until something is true of a job.
    pub(super) async fn wait(&mut self, id: &str, is_so: impl Fn(&PerftJob) -> bool) -> PerftJob {
        let waiting = async {
            loop {
                let job = self.get(id).await;
                if is_so(&job) {
                    return job;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        match waited {
            Ok(job) => job,
            Err(_) => panic!("it does not come to that: {:?}", self.get(id).await),
        }
    }
}

pub(super) fn is_over(job: &PerftJob) -> bool {
    !matches!(job.state(), State::Planning | State::Running)
}

/// How a worker counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Honest,
    /// It tells one path too many once, and goes on to do so when it is asked for children.
    Consistent,
    /// It tells one path too many once, and the truth when it is asked for children.
    Careless,
    /// It tells one path too many once, and nothing when it is asked for children.
    Silent,
}

/// A worker with a session.
pub(super) struct Desk {
    client: WorkerServiceClient<InterceptedService<Channel, Bearer>>,
    session: Bytes,
    way: Way,
    /// Of what it tells one path too many: the key, and the plies below.
    poisoned: Vec<(PositionKey, u32)>,
    has_lied: bool,
}

impl Desk {
    /// Leases, counts and reports what there is; returns how many tasks that was. An error is what
    /// the server says when the session is over.
    pub(super) async fn turn(&mut self) -> Result<usize, Status> {
        let request = w::LeaseTasksRequest {
            session: self.session.clone(),
            held: Vec::new(),
            max_tasks: 16,
            wait: prost_types::Duration::try_from(Duration::from_millis(50)).ok(),
        };
        let leased = self.client.lease_tasks(request).await?.into_inner();
        let mut results = Vec::new();
        for task in &leased.tasks {
            if let Some(counts) = self.say(task) {
                results.push(result(task, counts));
            }
        }
        let count = results.len();
        if !results.is_empty() {
            let request = w::ReportTasksRequest {
                session: self.session.clone(),
                results,
            };
            let reported = self.client.report_tasks(request).await?.into_inner();
            for told in reported.tasks {
                let known = [w::Verdict::Accepted, w::Verdict::Unwanted];
                assert!(known.contains(&told.verdict()), "{told:?}");
            }
        }
        Ok(count)
    }

    /// What it says of a task; nothing where it is silent.
    fn say(&mut self, task: &w::Task) -> Option<Vec<u64>> {
        let (keys, _) = task.keys.as_chunks::<32>();
        let mut counts = count(task);
        if self.way == Way::Honest {
            return Some(counts);
        }
        let mode = CastlingMode::Standard;
        let is_asked = self.poisoned.iter().any(|&(key, rest)| {
            let parent = read_key(key, mode).expect("a position");
            let children: Vec<_> = oracle::children(&parent)
                .into_iter()
                .map(key_to_bytes)
                .collect();
            rest == task.rest + 1 && children == keys
        });
        match self.way {
            Way::Silent if is_asked => return None,
            Way::Careless if is_asked => return Some(counts),
            _ => {}
        }
        if is_asked || !self.has_lied {
            let last = keys.len() - 1;
            self.poisoned.push((key_from_bytes(keys[last]), task.rest));
            self.has_lied = true;
            counts[last] += 1;
        }
        Some(counts)
    }
}

fn count(task: &w::Task) -> Vec<u64> {
    let (keys, rest) = task.keys.as_chunks::<32>();
    assert!(rest.is_empty(), "keys have 32 bytes");
    let read = Task::from_keys(task.rest, CastlingMode::Standard, keys).expect("positions");
    let counted = COUNTER.count(&read, Means::default(), None);
    let counts = counted.expect("counted").counts.into_iter();
    counts
        .map(|count| u64::try_from(count.expect("it is whole")).expect("tests are small"))
        .collect()
}

fn result(task: &w::Task, counts: Vec<u64>) -> w::TaskResult {
    w::TaskResult {
        lease: task.lease,
        parts: vec![w::CountedPart {
            first: 0,
            counts,
            counts_high: Vec::new(),
        }],
        ..w::TaskResult::default()
    }
}
