//! One hostile client: whatever it does, others are answered, memory is bounded in bytes, nobody's
//! place is taken for long, and the process ends in time.
//!
//! Each attack is small, and its bounds leave room for a loaded machine and a build without
//! optimization. What the well-behaved client saw is printed.

mod connections;
mod log;
mod messages;
mod solver;
mod streams;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_tests::process::Referee;
use referee_tests::wire;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::Channel;

/// After this time something hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a well-behaved client may wait for an answer at worst, beside any attack, on a machine
/// that does other work.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Memory of the process that is no part of what an attack may take, in bytes.
const REST_BYTES: u64 = 96 << 20;

const GET: &str = "/referee.v1.GameService/GetGame";
const PLAY: &str = "/referee.v1.GameService/PlayGame";
const WATCH: &str = "/referee.v1.GameService/WatchGame";
const EXPORT: &str = "/referee.v1.GameService/ExportGame";
const IMPORT: &str = "/referee.v1.GameService/ImportPgn";
const VERIFY: &str = "/referee.v1.RulesService/VerifyGames";
const MATE: &str = "/referee.v1.RulesService/CanMate";

/// What `/proc` says about the memory of a process, in bytes.
fn memory(referee: &Referee) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", referee.id()));
    let status = status.expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.parse::<u64>().ok()).expect("a size") << 10
}

/// The time on processors that a process has taken, in hundredths of a second.
fn processor_time(referee: &Referee) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", referee.id()));
    let stat = stat.expect("the process runs");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| fields[field].parse::<u64>().expect("a number");
    ticks(11) + ticks(12)
}

/// A client that asks for a game again and again.
struct Honest {
    games: GameServiceClient<Channel>,
    took: Vec<Duration>,
}

impl Honest {
    async fn begin(referee: &Referee) -> Honest {
        let mut games = referee.games().await;
        let created = games.create_game(wire::create("honest", v1::Game::default()));
        created.await.expect("created");
        let took = Vec::new();
        Honest { games, took }
    }

    /// A client that comes when the game is there.
    async fn begin_again(referee: &Referee) -> Honest {
        let took = Vec::new();
        let games = referee.games().await;
        Honest { games, took }
    }

    async fn ask(&mut self) {
        let begun = Instant::now();
        let name = "games/honest".to_owned();
        let read = timeout(PATIENCE, self.games.get_game(v1::GetGameRequest { name })).await;
        read.expect("an answer").expect("the game is read");
        self.took.push(begun.elapsed());
    }

    async fn ask_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.ask().await;
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Says what it saw, and holds that it was answered.
    fn check(mut self, beside: &str) {
        self.took.sort_unstable();
        let part = |percent: usize| self.took[(self.took.len() - 1) * percent / 100];
        let (median, late, worst) = (part(50), part(99), part(100));
        let count = self.took.len();
        println!("beside {beside}: {count} reads, median {median:?}, 99% {late:?}, {worst:?}");
        assert!(worst < ANSWER_MAX, "beside {beside} a read took {worst:?}");
    }
}

/// A connection of HTTP/2 without manners.
struct Raw {
    send: SendRequest<Bytes>,
    task: JoinHandle<()>,
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Raw {
    /// Opens a connection whose streams may get so many bytes.
    async fn open(address: SocketAddr, window: u32) -> Raw {
        let stream = TcpStream::connect(address).await.expect("it listens");
        let mut builder = h2::client::Builder::new();
        builder
            .initial_window_size(window)
            .initial_max_send_streams(1_000);
        let opened = builder.handshake::<_, Bytes>(stream).await;
        let (send, connection) = opened.expect("it speaks HTTP/2");
        let task = tokio::spawn(async move {
            let _ = connection.await;
        });
        Raw { send, task }
    }

    /// Begins a call.
    async fn call(&self, path: &str) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        let request = http::Request::post(format!("http://referee{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .expect("a request");
        let mut send = self.send.clone().ready().await?;
        send.send_request(request, false)
    }

    /// Makes a call with one message, and leaves its answer unread.
    async fn ask(&self, path: &str, message: &impl prost::Message) -> ResponseFuture {
        let (answer, mut body) = self.call(path).await.expect("a call");
        let framed = wire::frame(0, &message.encode_to_vec());
        body.send_data(framed, true).expect("it is sent");
        answer
    }
}

/// Sends bytes as far as the server takes them, and says how many that were.
async fn pour(body: &mut SendStream<Bytes>, mut bytes: Bytes) -> usize {
    let mut sent = 0;
    while !bytes.is_empty() {
        body.reserve_capacity(bytes.len());
        let capacity = std::future::poll_fn(|context| body.poll_capacity(context));
        let Ok(Some(Ok(capacity))) = timeout(Duration::from_secs(2), capacity).await else {
            break;
        };
        let now = bytes.split_to(capacity.min(bytes.len()));
        sent += now.len();
        if body.send_data(now, false).is_err() {
            break;
        }
    }
    sent
}

/// Reads a body to its end; returns its status, from the trailers.
async fn drain(mut body: RecvStream) -> Option<String> {
    while let Some(data) = body.data().await {
        let data = data.ok()?;
        let _ = body.flow_control().release_capacity(data.len());
    }
    let trailers = body.trailers().await.ok()??;
    let status = trailers.get("grpc-status")?.to_str().ok()?;
    Some(status.to_owned())
}

/// The status that a call ends with.
async fn status(answer: ResponseFuture) -> Option<String> {
    let (head, body) = answer.await.ok()?.into_parts();
    match head.headers.get("grpc-status") {
        Some(status) => Some(status.to_str().ok()?.to_owned()),
        None => drain(body).await,
    }
}

/// Starts a referee with options.
fn start(folder: &Path, options: &[&str]) -> Referee {
    Referee::start_with(folder, options)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder can be made")
}
