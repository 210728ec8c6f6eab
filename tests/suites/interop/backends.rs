//! The backends of `tests/interop` play the same games on one server, which is killed in the middle
//! of them. Neither knows of it: each repeats what broke off, under the same request ids, and goes on
//! listening where it was.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "processes are waited for, and read the same clock"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use referee_api::v1::{GameFilter, GetGameRequest, ListGamesRequest, game};
use referee_tests::process::Referee;
use referee_tests::{lines, root, texts, tool};
use serde_json::{Value, json};

use super::{files, protos, run};

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
        referee: &Referee,
        folder: &Path,
    ) -> Backend {
        let output = folder.join(platform);
        let child = Command::new(program)
            .arg(root().join("tests/interop").join(source))
            .arg(referee.address().to_string())
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
fn start_backends(referee: &Referee, folder: &Path) -> Vec<Backend> {
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
        let backend = Backend::start("python", &python, "python/backend.py", referee, folder);
        backends.push(backend);
    }
    if let Some(node) = tool("REFEREE_NODE", "node").filter(|_| has_packages()) {
        let backend = Backend::start("node", &node, "node/backend.js", referee, folder);
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
    let games: String = scripts.iter().map(|script| format!("{script}\n")).collect();
    fs::write(folder.path().join("games"), games).expect("the folder is there");
    let address = format!("127.0.0.1:{}", free_port());
    let referee = Referee::start_at(folder.path(), &address, &[]);
    let mut backends = start_backends(&referee, folder.path());
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
        check(backend, &scripts, &referee).await;
    }
    let mut client = referee.games().await;
    let unfinished = ListGamesRequest {
        filter: Some(GameFilter {
            states: vec![game::State::Created.into(), game::State::Active.into()],
            ..GameFilter::default()
        }),
        ..ListGamesRequest::default()
    };
    let listed = client.list_games(unfinished).await.expect("listed");
    assert_eq!(listed.into_inner().games, [], "every game is over");
}

/// Holds that a backend was told of each game what the record says, and that the game ended as it
/// should.
async fn check(backend: &Backend, scripts: &[Value], referee: &Referee) {
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
    let mut client = referee.games().await;
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
