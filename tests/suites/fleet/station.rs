//! What a fleet stands in: a server on an address that stays, what doubles every report on the way
//! to it, and workers as processes.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use referee_api::v1::perft_job::State;
use referee_api::v1::perft_service_client::PerftServiceClient;
use referee_api::v1::{CreatePerftJobRequest, GetPerftJobRequest, PerftJob, Position, position};
use referee_api::worker::v1 as w;
use referee_api::worker::v1::worker_service_client::WorkerServiceClient;
use referee_api::worker::v1::worker_service_server::{WorkerService, WorkerServiceServer};
use referee_tests::process::{Referee, binary, signal};
use referee_tests::wire;
use tokio::time::Instant;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

pub(super) const KIWIPETE: &str =
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

/// Returns an address that nobody listens on.
pub(super) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address")
}

/// A client of the jobs of a server that may be down for a while.
pub(super) struct Jobs(PerftServiceClient<Channel>);

impl Jobs {
    pub(super) fn at(address: SocketAddr) -> Jobs {
        let endpoint = Endpoint::from_shared(format!("http://{address}"));
        let endpoint = endpoint.expect("an address makes a URI");
        Jobs(PerftServiceClient::new(endpoint.connect_lazy()))
    }

    /// Creates a job; from the starting position where there is no other.
    pub(super) async fn create(&mut self, fen: Option<&str>, depth: u32) -> String {
        let base = |fen: &str| Position {
            base: Some(position::Base::Fen(fen.into())),
            ..Position::default()
        };
        let request = CreatePerftJobRequest {
            perft_job: Some(PerftJob {
                position: fen.map(base),
                depth,
                ..PerftJob::default()
            }),
            perft_job_id: String::new(),
            request_id: wire::fresh_id(),
        };
        let created = self.0.create_perft_job(request).await.expect("it is new");
        created.into_inner().perft_job.expect("it is told").name
    }

    /// Returns a job; none while the server is down.
    pub(super) async fn find(&mut self, name: &str) -> Option<PerftJob> {
        let request = GetPerftJobRequest {
            name: name.to_owned(),
        };
        let found = self.0.get_perft_job(request).await.ok()?;
        found.into_inner().perft_job
    }

    /// Waits until something is true of a job, and returns it.
    pub(super) async fn wait(
        &mut self,
        name: &str,
        patience: Duration,
        is_so: impl Fn(&PerftJob) -> bool,
    ) -> PerftJob {
        let end = Instant::now() + patience;
        let mut last = None;
        while Instant::now() < end {
            if let Some(job) = self.find(name).await {
                if is_so(&job) {
                    return job;
                }
                last = Some(job);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{name} does not come to that: {last:?}")
    }

    pub(super) async fn cancel(&mut self, name: &str) {
        let request = referee_api::v1::CancelPerftJobRequest {
            name: name.to_owned(),
        };
        self.0.cancel_perft_job(request).await.expect("cancelled");
    }
}

/// Whether a job is counted, or given up.
pub(super) fn is_over(job: &PerftJob) -> bool {
    matches!(
        job.state(),
        State::Succeeded | State::Failed | State::Cancelled
    )
}

/// A worker as a process. Dropped, it is killed.
pub(super) struct Fellow {
    child: Child,
    log: PathBuf,
}

impl Fellow {
    /// Starts a worker with one thread.
    pub(super) fn start(server: SocketAddr, folder: &Path, name: &str) -> Fellow {
        let log = folder.join(format!("{name}.log"));
        let file = File::options().create(true).append(true).open(&log);
        let child = Command::new(binary())
            .args(["worker", "--threads", "1", "--id", name, "--server"])
            .arg(format!("http://{server}"))
            .args(["--log", "info,referee_worker=debug"])
            .stdin(Stdio::null())
            .stderr(file.expect("the log can be written"))
            .spawn()
            .expect("the binary was built");
        Fellow { child, log }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Waits for the end of the process, for as long as `patience`.
    pub(super) async fn wait(&mut self, patience: Duration) -> ExitStatus {
        let end = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status;
            }
            assert!(Instant::now() < end, "it runs for longer than {patience:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Returns the time of processors that the process has had, in seconds.
    pub(super) fn worked(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.id()));
        let stat = stat.expect("the process is there");
        let (_, after) = stat.rsplit_once(')').expect("a name in parentheses");
        let fields: Vec<&str> = after.split_whitespace().collect();
        // The fields 14 and 15 of all, in hundredths on Linux.
        let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
        (ticks(11) + ticks(12)) / 100.0
    }
}

impl Drop for Fellow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let from = log.len().saturating_sub(3_000);
            eprintln!("a worker logged:\n{}", log.get(from..).unwrap_or(&log));
        }
    }
}

/// A report that came by, with its verdict.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) counts: usize,
    pub(super) verdicts: [w::Verdict; 2],
}

/// Stands between workers and their server, and delivers every report twice.
#[derive(Clone)]
pub(super) struct Doubler {
    server: WorkerServiceClient<Channel>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Doubler {
    /// Begins to listen; returns where.
    pub(super) async fn start(server: SocketAddr) -> (Doubler, SocketAddr) {
        let endpoint = Endpoint::from_shared(format!("http://{server}"));
        let endpoint = endpoint.expect("an address makes a URI");
        let doubler = Doubler {
            server: WorkerServiceClient::new(endpoint.connect_lazy()),
            seen: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let service = WorkerServiceServer::new(doubler.clone());
        let serving = tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(serving);
        (doubler, address)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("nobody panics").clone()
    }
}

#[tonic::async_trait]
impl WorkerService for Doubler {
    async fn open_session(
        &self,
        request: Request<w::OpenSessionRequest>,
    ) -> Result<Response<w::OpenSessionResponse>, Status> {
        let request = request.into_inner();
        self.server.clone().open_session(request).await
    }

    async fn lease_tasks(
        &self,
        request: Request<w::LeaseTasksRequest>,
    ) -> Result<Response<w::LeaseTasksResponse>, Status> {
        let request = request.into_inner();
        self.server.clone().lease_tasks(request).await
    }

    async fn renew_session(
        &self,
        request: Request<w::RenewSessionRequest>,
    ) -> Result<Response<w::RenewSessionResponse>, Status> {
        let request = request.into_inner();
        self.server.clone().renew_session(request).await
    }

    async fn report_tasks(
        &self,
        request: Request<w::ReportTasksRequest>,
    ) -> Result<Response<w::ReportTasksResponse>, Status> {
        let request = request.into_inner();
        let mut server = self.server.clone();
        let first = server.report_tasks(request.clone()).await?.into_inner();
        let second = server.report_tasks(request.clone()).await?.into_inner();
        let pairs = first.tasks.iter().zip(&second.tasks);
        for (result, (first, second)) in request.results.iter().zip(pairs) {
            self.seen.lock().expect("nobody panics").push(Seen {
                counts: result.parts.iter().map(|part| part.counts.len()).sum(),
                verdicts: [first.verdict(), second.verdict()],
            });
        }
        Ok(Response::new(second))
    }

    async fn close_session(
        &self,
        request: Request<w::CloseSessionRequest>,
    ) -> Result<Response<w::CloseSessionResponse>, Status> {
        let request = request.into_inner();
        self.server.clone().close_session(request).await
    }
}

/// Starts a server without a worker of its own, at an address.
pub(super) fn serve(folder: &Path, address: SocketAddr) -> Referee {
    Referee::start_at(folder, &address.to_string(), &[])
}
