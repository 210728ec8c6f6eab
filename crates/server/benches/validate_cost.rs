//! What a ruling costs: the server's CPU time for each `ValidateMove`, beside that of a service on
//! the same stack that reads the same request and answers nothing.
//!
//! Each server is a process of its own, whose CPU time the system accounts; rounds alternate, and
//! the figure is the ratio of the medians. Run with `cargo bench -p referee-server`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_api::v1::rules_service_server::{RulesService, RulesServiceServer};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};

/// The variable that turns this program into one of the two servers.
const ROLE: &str = "REFEREE_BENCH_ROLE";
const ROUNDS: usize = 7;
const CALLS_EACH_ROUND: usize = 20_000;
const CALLS_IN_FLIGHT: usize = 32;

/// Reads a request and answers nothing.
struct Echo;

#[tonic::async_trait]
impl RulesService for Echo {
    async fn validate_move(
        &self,
        _request: Request<v1::ValidateMoveRequest>,
    ) -> Result<Response<v1::ValidateMoveResponse>, Status> {
        Ok(Response::new(v1::ValidateMoveResponse::default()))
    }

    async fn generate_legal_moves(
        &self,
        _request: Request<v1::GenerateLegalMovesRequest>,
    ) -> Result<Response<v1::GenerateLegalMovesResponse>, Status> {
        Err(Status::unimplemented("not part of the bench"))
    }

    async fn adjudicate_position(
        &self,
        _request: Request<v1::AdjudicatePositionRequest>,
    ) -> Result<Response<v1::AdjudicatePositionResponse>, Status> {
        Err(Status::unimplemented("not part of the bench"))
    }

    async fn convert_notation(
        &self,
        _request: Request<v1::ConvertNotationRequest>,
    ) -> Result<Response<v1::ConvertNotationResponse>, Status> {
        Err(Status::unimplemented("not part of the bench"))
    }

    async fn can_mate(
        &self,
        _request: Request<v1::CanMateRequest>,
    ) -> Result<Response<v1::CanMateResponse>, Status> {
        Err(Status::unimplemented("not part of the bench"))
    }

    type VerifyGamesStream = tokio_stream::Empty<Result<v1::VerifyGamesResponse, Status>>;

    async fn verify_games(
        &self,
        _request: Request<tonic::Streaming<v1::VerifyGamesRequest>>,
    ) -> Result<Response<Self::VerifyGamesStream>, Status> {
        Err(Status::unimplemented("not part of the bench"))
    }

    async fn list_rule_profiles(
        &self,
        _request: Request<v1::ListRuleProfilesRequest>,
    ) -> Result<Response<v1::ListRuleProfilesResponse>, Status> {
        Err(Status::unimplemented("not part of the bench"))
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    match std::env::var(ROLE).as_deref() {
        Ok("echo") => runtime.block_on(run_echo()),
        Ok(_) => runtime.block_on(run_referee()),
        Err(_) => runtime.block_on(compare()),
    }
}

async fn listen() -> Result<TcpListener, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

async fn run_echo() -> Result<(), Failure> {
    let incoming = TcpIncoming::from(listen().await?).with_nodelay(Some(true));
    let service = RulesServiceServer::new(Echo);
    Ok(Server::builder()
        .add_service(service)
        .serve_with_incoming(incoming)
        .await?)
}

async fn run_referee() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let store = referee_store::SqliteStore::open(folder.path().join("bench.db"))?;
    let options = referee_server::ServerOptions::default();
    let clock = Arc::new(referee_server::MachineClock::after(None));
    let server = referee_server::Server::new(listen().await?, Arc::new(store), clock, options);
    Ok(server.run(CancellationToken::new()).await?)
}

struct Peer {
    child: Child,
    client: RulesServiceClient<Channel>,
    micros_per_call: Vec<f64>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    async fn start(role: &str) -> Result<Peer, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .env(ROLE, role)
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or("the child has no output")?;
        let mut address = String::new();
        BufReader::new(out).read_line(&mut address)?;
        let channel = Channel::from_shared(format!("http://{}", address.trim()))?
            .connect_timeout(Duration::from_secs(10))
            .connect()
            .await?;
        let client = RulesServiceClient::new(channel);
        Ok(Peer {
            child,
            client,
            micros_per_call: Vec::new(),
        })
    }

    /// The CPU time of the process so far, in clock ticks of a hundredth of a second.
    fn cpu_ticks(&self) -> Result<u64, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        Ok(fields[11].parse::<u64>()? + fields[12].parse::<u64>()?)
    }

    async fn round(&mut self, request: &v1::ValidateMoveRequest) -> Result<(), Failure> {
        let before = self.cpu_ticks()?;
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..CALLS_IN_FLIGHT {
            let (mut client, request) = (self.client.clone(), request.clone());
            tasks.spawn(async move {
                for _ in 0..CALLS_EACH_ROUND / CALLS_IN_FLIGHT {
                    client.validate_move(request.clone()).await?;
                }
                Ok::<(), Status>(())
            });
        }
        while let Some(task) = tasks.join_next().await {
            task??;
        }
        let ticks = self.cpu_ticks()? - before;
        self.micros_per_call
            .push(ticks as f64 * 10_000.0 / CALLS_EACH_ROUND as f64);
        Ok(())
    }

    fn median(&self) -> f64 {
        let mut sorted = self.micros_per_call.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

async fn compare() -> Result<(), Failure> {
    let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
    let request = v1::ValidateMoveRequest {
        position: Some(v1::Position {
            base: Some(v1::position::Base::Fen(fen.into())),
            ..v1::Position::default()
        }),
        r#move: "Nf3".into(),
        rule_profile: None,
    };
    let mut echo = Peer::start("echo").await?;
    let mut referee = Peer::start("referee").await?;
    for _ in 0..=ROUNDS {
        echo.round(&request).await?;
        referee.round(&request).await?;
    }
    // The first round warms up.
    echo.micros_per_call.remove(0);
    referee.micros_per_call.remove(0);
    println!(
        "server CPU for each call, median of {ROUNDS} rounds of {CALLS_EACH_ROUND}: empty answer \
         {:.1} µs, ValidateMove {:.1} µs, ratio {:.2}",
        echo.median(),
        referee.median(),
        referee.median() / echo.median()
    );
    Ok(())
}
