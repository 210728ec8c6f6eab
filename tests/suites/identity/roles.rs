//! Each role tries each method and each kind of action, with the real grpcurl.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use referee_api::v1;
use referee_tests::process::Referee;
use referee_tests::{lines, texts, wire};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{REQUIRED, check_log, games, issue};

/// The roles, and how a token of each is issued.
const ROLES: [(&str, &str); 6] = [
    (
        "player",
        "--role player --principal anna --game games/over --seat white",
    ),
    ("spectator", "--role spectator --principal guest"),
    ("arbiter", "--role arbiter --principal hall"),
    ("platform", "--role platform --principal club"),
    ("worker", "--role worker --principal rig-1"),
    ("operator", "--role operator --principal root"),
];

/// A server that wants to know who calls, a token of each role, and one game that is over.
struct House {
    grpcurl: PathBuf,
    referee: Referee,
    folder: TempDir,
    tokens: BTreeMap<&'static str, String>,
}

impl House {
    async fn open() -> Option<House> {
        let grpcurl = referee_tests::tool("REFEREE_GRPCURL", "grpcurl")?;
        let folder = tempfile::tempdir().expect("a folder");
        let tokens: BTreeMap<_, _> = ROLES
            .into_iter()
            .map(|(role, arguments)| (role, issue(folder.path(), arguments)))
            .collect();
        let sets = [
            ("contract", referee_api::FILE_DESCRIPTOR_SET),
            ("health", tonic_health::pb::FILE_DESCRIPTOR_SET),
            ("v1", tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET),
            (
                "v1alpha",
                tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
            ),
        ];
        for (name, bytes) in sets {
            std::fs::write(folder.path().join(name), bytes).expect("it is written");
        }
        let referee = Referee::start_with(folder.path(), REQUIRED);
        let mut platform = games(&referee, &tokens["platform"]).await;
        for (id, kind) in [("over", Some(wire::resign())), ("acting", None)] {
            let created = platform.create_game(wire::create(id, v1::Game::default()));
            created.await.expect("a platform creates games");
            if let Some(kind) = kind {
                let first = wire::submit(id, v1::Seat::White, wire::make_move("e4"));
                platform.submit_action(first).await.expect("it acts");
                let end = wire::submit(id, v1::Seat::Black, kind);
                platform.submit_action(end).await.expect("it acts");
            }
        }
        Some(House {
            grpcurl,
            referee,
            folder,
            tokens,
        })
    }

    /// Calls a method as a role, and returns what comes of it.
    fn call(&self, role: &str, method: &str, data: &Value) -> Outcome {
        let path = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(Path::new(&self.grpcurl));
        command.args(["-plaintext", "-max-time", "1"]);
        for set in ["contract", "health", "v1", "v1alpha"] {
            command.arg("-protoset").arg(path(set));
        }
        if let Some(token) = self.tokens.get(role) {
            command
                .arg("-H")
                .arg(format!("authorization: Bearer {token}"));
        }
        command.args(["-d", &data.to_string()]);
        command.arg(self.referee.address().to_string()).arg(method);
        let output = command.output().expect("grpcurl was found before");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let has = |code: &str| said.contains(&format!("Code: {code}"));
        match (has("PermissionDenied"), has("Unauthenticated")) {
            (true, _) => Outcome::Denied(said),
            (_, true) => Outcome::Unknown(said),
            _ => Outcome::Let(said),
        }
    }

    /// Holds that those who may get past the door, and nobody else.
    fn check(&self, what: &str, may: &[String], call: impl Fn(&str) -> Outcome) {
        for role in ROLES.map(|(role, _)| role).into_iter().chain(["nobody"]) {
            let may = may.iter().any(|one| one == role);
            let outcome = call(role);
            match (may, role, &outcome) {
                (true, _, Outcome::Let(said)) => {
                    assert!(!said.contains("Code: Unimplemented"), "{what}: {said}");
                }
                (false, "nobody", Outcome::Unknown(said)) => {
                    assert!(said.contains("authorization: Bearer"), "{what}: {said}");
                }
                (false, _, Outcome::Denied(said)) => {
                    assert!(
                        said.contains("ROLE_DENIED") || said.contains("role"),
                        "{said}"
                    );
                }
                _ => panic!("{what} as {role}: {outcome:?}"),
            }
        }
    }
}

#[derive(Debug)]
enum Outcome {
    Let(String),
    Denied(String),
    Unknown(String),
}

/// A seat that a role acts from, or would.
fn seat(role: &str) -> &'static str {
    match role {
        "arbiter" => "SEAT_ARBITER",
        _ => "SEAT_WHITE",
    }
}

/// The request with the seat of a role in it.
fn seated(data: &Value, role: &str) -> Value {
    let text = data
        .to_string()
        .replace("\"SEAT\"", &format!("\"{}\"", seat(role)));
    serde_json::from_str(&text).expect("it is JSON still")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_role_calls_what_it_may_and_nothing_else() {
    let Some(house) = House::open().await else {
        return;
    };
    let mut tried = 0;
    for line in lines("roles/methods.jsonl") {
        let method = line["method"].as_str().expect("a method");
        house.check(method, &texts(&line["may"]), |role| {
            house.call(role, method, &seated(&line["data"], role))
        });
        tried += 1;
    }
    assert_eq!(tried, 42, "every method of the server");
    let secrets: Vec<&str> = house.tokens.values().map(String::as_str).collect();
    check_log(&house.referee.log(), &secrets);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_role_sends_what_it_may_and_nothing_else() {
    let Some(house) = House::open().await else {
        return;
    };
    let examples = lines("commands/actions.jsonl");
    let mut tried = 0;
    for line in lines("roles/actions.jsonl") {
        let kind = line["kind"].as_str().expect("a kind");
        let mut found = examples.iter().map(|example| &example["is"]);
        let example = found.find(|action| action.get(kind).is_some());
        let content = &example.unwrap_or_else(|| panic!("no action is {kind}"))[kind];
        // A game that is over, so that each is answered and nothing comes of it.
        house.check(kind, &texts(&line["may"]), |role| {
            let mut action = json!({"seat": seat(role), "requestId": format!("{role}-{kind}")});
            action[kind] = content.clone();
            let data = json!({"name": "games/over", "action": action});
            house.call(role, "referee.v1.GameService/SubmitAction", &data)
        });
        tried += 1;
    }
    assert_eq!(tried, 28, "every kind that somebody sends");
}
