//! The client for people, `referee game`, with the real program against the real server: what it
//! prints, how it ends, how it comes back after a broken stream; and the README, as it is typed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use prost_reflect::DescriptorPool;
use referee_tests::process::{Referee, binary};
use referee_tests::{lines, root, texts, tool};
use serde_json::Value;

/// The sections of the README whose commands are typed, one after another.
const SECTIONS: [&str; 7] = [
    "Five minutes",
    "For people",
    "What the Laws make of a move",
    "Can this side still mate?",
    "Records of games",
    "Rule profiles",
    "Time",
];

/// More than a server says before it answers, and less than an answer with an event.
const ANSWER_BYTES: u64 = 400;

/// A command line of the client for people, as the tests run it.
fn client(address: SocketAddr) -> Command {
    let mut command = Command::new(binary());
    command.env("REFEREE_SERVER", format!("http://{address}"));
    command.stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the client writes UTF-8")
}

/// Returns what is wrong with how a command line of the table ended.
fn judge(row: &Value, output: &Output) -> Option<String> {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let mut wrong = Vec::new();
    if output.status.code().map(i64::from) != row["code"].as_i64() {
        wrong.push(format!("it ended with {}", output.status));
    }
    if let Some(expected) = row.get("out") {
        let expected = texts(expected).join("\n");
        if out.trim_end_matches('\n') != expected {
            wrong.push(format!("expected was:\n{expected}"));
        }
    }
    for part in texts(&row["has"]) {
        if !out.contains(&part) {
            wrong.push(format!("it does not write {part:?}"));
        }
    }
    for part in texts(&row["says"]) {
        if !err.contains(&part) {
            wrong.push(format!("it does not say {part:?}"));
        }
    }
    if row.get("says").is_none() && !err.is_empty() {
        wrong.push("it is not silent".to_owned());
    }
    let is_control = |c: char| c.is_control() && c != '\n';
    if out.chars().chain(err.chars()).any(is_control) {
        wrong.push("it writes control characters".to_owned());
    }
    let wrong = wrong.join("\n");
    (!wrong.is_empty()).then(|| format!("{row}\n{wrong}\nout:\n{out}\nerr:\n{err}"))
}

#[test]
fn commands_print_and_end_as_the_table_says() {
    let referee = Referee::start();
    let mut wrong = Vec::new();
    for row in lines("commands/people.jsonl") {
        let output = client(referee.address())
            .arg("game")
            .args(texts(&row["game"]))
            .output()
            .expect("the binary runs");
        wrong.extend(judge(&row, &output));
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// Runs `act` without sending anything; returns the action that it would send.
fn action_of(row: &Value) -> Value {
    let output = Command::new(binary())
        .args(["game", "act", "a"])
        .args(texts(&row["act"]))
        .args(["--dry-run", "--request-id", "r"])
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{row}: {}", text(&output.stderr));
    let mut request: Value = serde_json::from_slice(&output.stdout).expect("it writes JSON");
    assert_eq!(request["name"], "games/a");
    let action = request["action"].as_object_mut().expect("an action");
    assert_eq!(action.remove("requestId"), Some("r".into()), "{row}");
    request["action"].take()
}

/// Returns the fields of a message that are choices of `kind`, as JSON names them.
fn kinds(pool: &DescriptorPool, message: &str) -> BTreeSet<String> {
    let message = pool.get_message_by_name(&format!("referee.v1.{message}"));
    let message = message.expect("the contract has it");
    let mut choices = message.oneofs().filter(|one| one.name() == "kind");
    let choice = choices.next().expect("it has kinds");
    let names = choice.fields().map(|field| field.json_name().to_owned());
    names.collect()
}

#[test]
fn every_action_of_the_contract_has_a_word() {
    let pool = DescriptorPool::decode(referee_api::FILE_DESCRIPTOR_SET).expect("descriptors");
    let mut missing = kinds(&pool, "Action");
    // The referee finds by itself, and nobody says so.
    missing.remove("refereeFinding");
    missing.extend(kinds(&pool, "ArbiterDecision"));
    for row in lines("commands/actions.jsonl") {
        let action = action_of(&row);
        assert_eq!(action, row["is"], "{row}");
        let fields = action.as_object().expect("an action");
        let decision = action["arbiterDecision"].as_object();
        for name in fields
            .keys()
            .chain(decision.into_iter().flat_map(|one| one.keys()))
        {
            missing.remove(name);
        }
    }
    assert!(
        missing.is_empty(),
        "no row of actions.jsonl shows {missing:?}"
    );
}

/// A door that can lead to another server: connections through it break when their server dies.
struct Door {
    address: SocketAddr,
    leads_to: Arc<Mutex<SocketAddr>>,
}

impl Door {
    fn open(to: SocketAddr) -> Door {
        Door::losing(to, 0)
    }

    /// A door that carries what the first callers say, and loses what they are answered.
    fn losing(to: SocketAddr, callers: usize) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let leads_to = Arc::new(Mutex::new(to));
        let door = Arc::clone(&leads_to);
        thread::spawn(move || {
            for (index, caller) in listener.incoming().map_while(Result::ok).enumerate() {
                let to = *door.lock().unwrap_or_else(PoisonError::into_inner);
                // Nobody behind the door: the caller is sent away.
                if let Ok(server) = TcpStream::connect(to) {
                    carry(&caller, &server);
                    match index < callers {
                        true => lose(&server, &caller),
                        false => carry(&server, &caller),
                    }
                }
            }
        });
        Door { address, leads_to }
    }

    fn lead_to(&self, to: SocketAddr) {
        *self.leads_to.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

/// Carries what comes from one to the other until either is gone, in the background.
fn carry(from: &TcpStream, to: &TcpStream) {
    let copies = (from.try_clone(), to.try_clone());
    let (Ok(mut from), Ok(mut to)) = copies else {
        return;
    };
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
        let _ = from.shutdown(std::net::Shutdown::Both);
    });
}

/// Takes an answer from a server, and hangs up on the caller instead of carrying it.
fn lose(server: &TcpStream, caller: &TcpStream) {
    let copies = (server.try_clone(), caller.try_clone());
    let (Ok(server), Ok(caller)) = copies else {
        return;
    };
    thread::spawn(move || {
        let answer = io::copy(&mut server.take(ANSWER_BYTES), &mut io::sink());
        let _ = caller.shutdown(std::net::Shutdown::Both);
        answer
    });
}

/// A watcher whose lines are read one by one.
struct Watcher {
    child: Child,
    lines: io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Watcher {
    fn start(door: &Door) -> Watcher {
        let mut child = client(door.address)
            .args(["game", "watch", "w", "--after", "0", "--heartbeat", "1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let out = child.stdout.take().expect("the output is piped");
        Watcher {
            child,
            lines: BufReader::new(out).lines(),
        }
    }

    fn line(&mut self) -> String {
        let line = self.lines.next().expect("there is more");
        line.expect("the watcher writes UTF-8").trim().to_owned()
    }
}

fn game(address: SocketAddr, arguments: &[&str]) -> String {
    let output = client(address).arg("game").args(arguments).output();
    let output = output.expect("the binary runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout).to_owned()
}

#[test]
fn a_watcher_comes_back_when_its_server_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Referee::start_in(folder.path());
    let door = Door::open(first.address());
    game(first.address(), &["create", "--id", "w"]);
    let mut watcher = Watcher::start(&door);
    game(first.address(), &["act", "w", "white", "move", "f3"]);
    game(first.address(), &["act", "w", "black", "move", "e5"]);
    assert_eq!(watcher.line(), "1  1. f3");
    assert_eq!(watcher.line(), "2  1... e5");
    first.kill();
    let second = Referee::start_in(folder.path());
    game(second.address(), &["act", "w", "white", "move", "g4"]);
    door.lead_to(second.address());
    game(second.address(), &["act", "w", "black", "move", "Qh4"]);
    assert_eq!(watcher.line(), "3  2. g4");
    assert_eq!(watcher.line(), "4  2... Qh4#");
    assert_eq!(watcher.line(), "0-1: Black wins by checkmate. (5.1.1)");
    let end = "end  0-1, not confirmed: the arbiter can still correct it";
    assert_eq!(watcher.line(), end);
    assert!(watcher.lines.next().is_none());
    let ended = watcher.child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{ended:?}");
    assert!(
        text(&ended.stderr).contains("the stream broke off"),
        "{ended:?}"
    );
}

#[test]
fn a_watcher_gives_up_when_its_patience_is_over() {
    let referee = Referee::start();
    let door = Door::open(referee.address());
    game(referee.address(), &["create", "--id", "w"]);
    game(referee.address(), &["act", "w", "white", "move", "e4"]);
    let mut child = client(door.address)
        .args(["game", "watch", "w", "-a", "0", "--patience", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut out = BufReader::new(child.stdout.take().expect("the output is piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("the watcher writes UTF-8");
    assert_eq!(line.trim(), "1  1. e4");
    referee.kill();
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let said = text(&ended.stderr);
    assert!(
        said.contains("is lost for") && said.contains("--after 1"),
        "{said}"
    );
}

#[test]
fn what_was_acknowledged_comes_again_for_the_same_request() {
    let referee = Referee::start();
    let address = referee.address();
    game(address, &["create", "--id", "r", "--request-id", "c"]);
    assert_eq!(
        game(address, &["create", "--id", "r", "--request-id", "c"]),
        "games/r\n"
    );
    let act = ["act", "r", "white", "move", "e4", "--request-id", "m"];
    let first = game(address, &act);
    game(address, &["act", "r", "black", "move", "e5"]);
    assert_eq!(game(address, &act), first);
}

#[test]
fn an_action_whose_answer_was_lost_is_sent_again_and_done_once() {
    let referee = Referee::start();
    game(referee.address(), &["create", "--id", "l"]);
    let door = Door::losing(referee.address(), 2);
    let acted = game(door.address, &["act", "l", "white", "move", "e4"]);
    assert_eq!(acted, "accepted: 1. e4 (sequence 1)\n");
    let shown = game(referee.address(), &["show", "l"]);
    assert!(shown.contains("sequence 1\n"), "{shown}");
    assert!(shown.contains("\n1. e4\n"), "{shown}");
}

/// One command of the README, and what it prints.
struct Typed {
    command: String,
    prints: String,
}

/// Returns the commands of the console blocks of a section.
fn typed(readme: &str, section: &str) -> Vec<Typed> {
    let heading = format!("\n## {section}\n");
    let (_, rest) = readme
        .split_once(&heading)
        .unwrap_or_else(|| panic!("no {heading:?}"));
    let section = rest.split("\n## ").next().unwrap_or_default();
    let mut commands: Vec<Typed> = Vec::new();
    for block in section.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut is_open = false;
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                let (command, prints) = (command.to_owned(), String::new());
                commands.push(Typed { command, prints });
                is_open = true;
            } else if let Some(last) = commands.last_mut() {
                let part = if is_open {
                    &mut last.command
                } else {
                    &mut last.prints
                };
                if is_open {
                    part.push('\n');
                }
                part.push_str(line);
                if !is_open {
                    part.push('\n');
                }
            }
            if let Some(last) = commands.last() {
                let quotes = last.command.matches('\'').count();
                is_open = is_open && (quotes % 2 == 1 || last.command.ends_with('\\'));
            }
        }
    }
    commands
}

#[test]
fn the_readme_prints_what_it_says() {
    let Some(grpcurl) = tool("REFEREE_GRPCURL", "grpcurl") else {
        return;
    };
    let referee = Referee::start();
    let address = referee.address().to_string();
    let readme = fs::read_to_string(root().join("README.md")).expect("a README");
    let commands = SECTIONS.map(|section| typed(&readme, section));
    let commands: Vec<Typed> = commands
        .into_iter()
        .flatten()
        // The server runs already, and the program is built.
        .filter(|typed| !typed.command.starts_with("cargo "))
        .filter(|typed| !typed.command.starts_with("referee serve"))
        .collect();
    assert!(commands.len() >= 12, "only {} commands", commands.len());
    let mut script = String::new();
    for typed in &commands {
        script.push_str(&typed.command.replace("localhost:50051", &address));
        script.push_str("\nprintf '\\001'\n");
    }
    let mut path = vec![binary().parent().expect("a folder").to_owned()];
    path.push(grpcurl.parent().expect("a folder").to_owned());
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let mut shell = Command::new("bash")
        .current_dir(root())
        .env("PATH", std::env::join_paths(path).expect("a path"))
        .env("REFEREE_SERVER", format!("http://{address}"))
        .args(["-c", "exec bash 2>&1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut stdin = shell.stdin.take().expect("the input is piped");
    let written = thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = shell.wait_with_output().expect("the shell ends");
    written
        .join()
        .expect("it only writes")
        .expect("the shell reads");
    let printed: Vec<&str> = text(&output.stdout).split('\u{1}').collect();
    assert_eq!(
        printed.len(),
        commands.len() + 1,
        "{}",
        text(&output.stdout)
    );
    let mut wrong = Vec::new();
    for (typed, printed) in commands.iter().zip(printed) {
        if typed.prints != printed {
            let Typed { command, prints } = typed;
            wrong.push(format!(
                "$ {command}\nREADME.md:\n{prints}\nprinted:\n{printed}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
