//! The backends of `tests/interop` play the same games on one server, which is killed in the middle
//! of them. Neither knows of it: each repeats what broke off, under the same request ids, and goes
//! on listening where it was.

#![expect(clippy::disallowed_types, reason = "processes are waited for")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::{GameFilter, GetGameRequest, ListGamesRequest, WatchGamesRequest, game};
use referee_tests::pair::{Pair, PairOptions};
use referee_tests::process::Referee;
use referee_tests::wire::details;
use referee_tests::{lines, root, texts, tool};
use serde_json::{Value, json};
use tonic::transport::Channel;

use super::{files, protos, run};

type Games = GameServiceClient<Channel>;

/// Longer than this nothing takes.
const PATIENCE: Duration = Duration::from_secs(150);
/// How many games of each backend are over when the server is killed, of more than fifty.
const OVER_BEFORE: usize = 8;
/// How long the server is away.
const AWAY: Duration = Duration::from_millis(700);
/// Ports that the system does not give out by itself, so that the one of the server stays free
/// while it is away.
const PORTS: std::ops::Range<u16> = 21_000..31_000;

/// A well-known game as a script: the form that the backends read, with how it ends.
fn script(record: &Value) -> Value {
    let moves = texts(&record["moves"]);
    let seat = |white: bool| if white { "SEAT_WHITE" } else { "SEAT_BLACK" };
    let mover = seat(moves.len().is_multiple_of(2));
    let ends = record["termination"].as_str().unwrap_or_default();
    let mut actions: Vec<Value> = Vec::new();
    for (ply, text) in moves.iter().enumerate() {
        let offer = ends == "agreement" && ply + 1 == moves.len();
        let played = json!({"move": text, "offerDraw": offer});
        actions.push(json!({"seat": seat(ply.is_multiple_of(2)), "makeMove": played}));
    }
    match ends {
        "resignation" => {
            let loser = seat(record["result"] == "0-1");
            actions.push(json!({"seat": loser, "resign": {}}));
        }
        "agreement" => {
            let answer = json!({"answer": "DRAW_ANSWER_ACCEPT"});
            actions.push(json!({"seat": mover, "answerDraw": answer}));
        }
        "threefold_claim" => {
            let intended = &record["intended"];
            let claim = json!({"claim": "CLAIM_KIND_THREEFOLD", "intendedMove": intended});
            actions.push(json!({"seat": mover, "makeClaim": claim}));
        }
        _ => (),
    }
    let result = match record["result"].as_str() {
        Some("1-0") => "GAME_RESULT_WHITE_WINS",
        Some("0-1") => "GAME_RESULT_BLACK_WINS",
        _ => "GAME_RESULT_DRAW",
    };
    json!({
        "id": record["id"],
        "game": {"whitePlayer": record["white"].as_str().unwrap_or_default()},
        "actions": actions,
        "result": result,
        "termination": format!("TERMINATION_{}", ends.to_uppercase()),
        "turned_down": [],
    })
}

/// The games that people are shown, and those that many books print.
fn scripts() -> Vec<Value> {
    let mut scripts = lines("../interop/games.jsonl");
    scripts.extend(lines("games/masters.jsonl").iter().map(script));
    assert!(scripts.len() >= 50, "only {} games", scripts.len());
    scripts
}

/// A backend at work.
struct Backend {
    platform: &'static str,
    child: Child,
    output: PathBuf,
}

impl Backend {
    fn start(
        platform: &'static str,
        program: &Path,
        source: &str,
        address: SocketAddr,
        folder: &Path,
    ) -> Backend {
        let output = folder.join(platform);
        let child = Command::new(program)
            .arg(root().join("tests/interop").join(source))
            .arg(address.to_string())
            .arg(folder.join("games"))
            .arg(platform)
            .env("PYTHONPATH", folder.join("stubs"))
            .stdout(File::create(&output).expect("the folder is there"))
            .spawn();
        let child = child.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        Backend {
            platform,
            child,
            output,
        }
    }

    /// The whole lines that it has printed.
    fn said(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.output).expect("the file was made");
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let read = |line| serde_json::from_str(line).expect("a line is JSON");
        whole.lines().map(read).collect()
    }

    /// Waits until it has printed so many lines, or has ended well.
    fn wait_for(&mut self, lines: Option<usize>) {
        let begun = Instant::now();
        loop {
            let ended = self.child.try_wait().expect("a child can be waited for");
            if let Some(status) = ended {
                assert!(status.success(), "{}: {status}", self.platform);
                return;
            }
            if lines.is_some_and(|lines| self.said().len() >= lines) {
                return;
            }
            let platform = self.platform;
            assert!(begun.elapsed() < PATIENCE, "{platform}: {:?}", self.said());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        // It has ended, unless the test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the backends for which there is what they need.
fn start_backends(address: SocketAddr, folder: &Path) -> Vec<Backend> {
    let mut backends = Vec::new();
    if let Some(python) = tool("REFEREE_PYTHON", "python3").filter(|python| has_stubs(python)) {
        let stubs = folder.join("stubs");
        fs::create_dir(&stubs).expect("the folder is there");
        let out = |kind: &str| format!("--{kind}_out={}", stubs.display());
        let generate = ["-m", "grpc_tools.protoc", "-I."].map(str::to_owned);
        let generate = [
            generate.to_vec(),
            vec![out("python"), out("grpc_python")],
            files(),
        ];
        run(&python, &generate.concat(), &protos());
        let backend = Backend::start("python", &python, "python/backend.py", address, folder);
        backends.push(backend);
    }
    if let Some(node) = tool("REFEREE_NODE", "node").filter(|_| has_packages()) {
        let backend = Backend::start("node", &node, "node/backend.js", address, folder);
        backends.push(backend);
    }
    backends
}

/// Whether this Python has what `tests/interop/python/requirements.txt` names.
fn has_stubs(python: &Path) -> bool {
    let asked = Command::new(python)
        .args(["-c", "import grpc_tools, grpc_status"])
        .output();
    let has = asked.is_ok_and(|asked| asked.status.success());
    is_there(has, "grpcio-tools")
}

/// Whether npm has put there what `tests/interop/node/package-lock.json` names.
fn has_packages() -> bool {
    let modules = root().join("tests/interop/node/node_modules/@grpc");
    is_there(modules.is_dir(), "@grpc/grpc-js")
}

/// Says what is missing, which is a failure where all tools are required.
fn is_there(there: bool, what: &str) -> bool {
    if !there {
        let reason = format!("no {what}; tests/install-tools installs it");
        let required = std::env::var_os("REFEREE_TOOLS_REQUIRED").is_some();
        assert!(!required, "{reason}");
        println!("skipped: {reason}");
    }
    there
}

fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let from = PORTS.start + (std::process::id() % 5_000) as u16;
    let found = (from..PORTS.end).find(is_free);
    found.expect("a port is free")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backends_play_on_when_the_server_is_killed() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let scripts = scripts();
    write(&scripts, folder.path());
    let address = format!("127.0.0.1:{}", free_port());
    let referee = Referee::start_at(folder.path(), &address, &[]);
    let mut backends = start_backends(referee.address(), folder.path());
    if backends.is_empty() {
        return;
    }
    for backend in &mut backends {
        backend.wait_for(Some(OVER_BEFORE));
    }
    referee.kill();
    for backend in &backends {
        let over = backend.said().len();
        assert!(over < scripts.len() / 2, "{}: {over}", backend.platform);
    }
    thread::sleep(AWAY);
    let referee = Referee::start_at(folder.path(), &address, &[]);
    for backend in &mut backends {
        backend.wait_for(None);
    }
    for backend in &backends {
        check(backend, &scripts, &mut referee.games().await).await;
    }
    let mut client = referee.games().await;
    for state in [game::State::Created, game::State::Active] {
        assert_eq!(count(&mut client, state).await, 0, "every game is over");
    }
}

/// A server that has as many streams as it takes says when to come back, and the backends do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backends_come_back_when_there_is_room() {
    const OPEN_MAX: usize = 10;
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    // A backend plays eight games at once, and waits for the end of each.
    let mut scripts = lines("../interop/games.jsonl");
    scripts.retain(|script| script["game"]["clockSettings"].is_null());
    scripts.truncate(8);
    write(&scripts, folder.path());
    let pair = Pair::start_with(PairOptions {
        open_streams_max: OPEN_MAX,
        ..PairOptions::default()
    })
    .await;
    let mut client = pair.server(0).games().await;
    let all = || WatchGamesRequest::default();
    let mut open = Vec::new();
    for _ in 0..OPEN_MAX {
        open.push(client.watch_games(all()).await.expect("there is room"));
    }
    let full = client.watch_games(all()).await.expect_err("there is none");
    assert_eq!(details(&full).reason, "OVERLOADED");
    let mut backends = start_backends(pair.server(0).address(), folder.path());
    let played = backends.len() * scripts.len();
    let begun = Instant::now();
    while count(&mut client, game::State::Finished).await < played {
        assert!(begun.elapsed() < PATIENCE, "not all games are played");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for backend in &backends {
        assert!(
            backend.said().len() <= 1,
            "{}: no end was heard",
            backend.platform
        );
    }
    drop(open);
    for backend in &mut backends {
        backend.wait_for(None);
        check(backend, &scripts, &mut client).await;
    }
}

/// Writes down what the backends are to play.
fn write(scripts: &[Value], folder: &Path) {
    let games: String = scripts.iter().map(|script| format!("{script}\n")).collect();
    fs::write(folder.join("games"), games).expect("the folder is there");
}

/// Counts the games in a state, of which there are not more than a page has.
async fn count(client: &mut Games, state: game::State) -> usize {
    let filter = GameFilter {
        states: vec![state.into()],
        ..GameFilter::default()
    };
    let request = ListGamesRequest {
        filter: Some(filter),
        page_size: 1_000,
        ..ListGamesRequest::default()
    };
    let listed = client.list_games(request).await.expect("listed");
    listed.into_inner().games.len()
}

/// Holds that a backend was told of each game what the record says, and that the game ended as it
/// should.
async fn check(backend: &Backend, scripts: &[Value], client: &mut Games) {
    let platform = backend.platform;
    let said = backend.said();
    assert_eq!(said.len(), scripts.len() + 2, "{platform}");
    let refused = json!({
        "code": "INVALID_ARGUMENT",
        "reason": "INVALID_FIELD",
        "fields": ["game_id"],
    });
    assert_eq!(said[0], refused, "{platform}");
    let heard = &said[said.len() - 1]["heard"];
    assert_eq!(
        heard.as_object().map(serde_json::Map::len),
        Some(scripts.len())
    );
    let told = said[1..=scripts.len()].iter();
    let told: BTreeMap<&str, &Value> = told
        .filter_map(|game| Some((game["name"].as_str()?, game)))
        .collect();
    for script in scripts {
        let name = format!("games/{platform}-{}", script["id"].as_str().expect("an id"));
        let told = told.get(name.as_str());
        let told = told.unwrap_or_else(|| panic!("{name}: not a word"));
        for key in ["result", "termination", "turned_down"] {
            assert_eq!(told[key], script[key], "{name}: {key}");
        }
        assert_eq!(told["finality"], "FINALITY_FINAL", "{name}");
        assert_eq!(told["repeated"], true, "{name}");
        let request = GetGameRequest { name: name.clone() };
        let game = client.get_game(request).await.expect("it is there");
        let game = game.into_inner().game.expect("an answer has a game");
        let outcome = game.outcome.unwrap_or_default();
        assert_eq!(told["result"], outcome.result().as_str_name(), "{name}");
        assert!(outcome.confirmed, "{name}");
        // Nothing lost and nothing twice, on the stream of the game and on that of all games.
        let sequences = json!((1..=game.sequence).collect::<Vec<_>>());
        assert_eq!(told["sequences"], sequences, "{name}");
        assert_eq!(heard[&name], sequences, "{name}");
    }
}
