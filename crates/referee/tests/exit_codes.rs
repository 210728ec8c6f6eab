//! How every command ends, with the real program: `tests/data/commands` has the command lines, and
//! this plays them. `README.md` and `--help` state the same table.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use serde_json::Value;

/// What is said where the program listens.
const LISTENING: &str = "referee is listening on ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
    command.current_dir(folder);
    // What the one who runs the tests has set is not asked.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("REFEREE_") {
            command.env_remove(name);
        }
    }
    command
}

/// A referee with one game, killed when it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let mut child = program(folder)
            .args(["serve", "--listen", "127.0.0.1:0", "--store", "server.db"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("the output is piped"));
        out.read_line(&mut line).expect("a line of text");
        let address = line.trim_end().strip_prefix(LISTENING);
        let url = format!("http://{}", address.expect("it says where it listens"));
        let server = Server { child, url };
        server.create_game();
        server
    }

    fn create_game(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let request = v1::CreateGameRequest {
            game_id: "a".to_owned(),
            request_id: "create".to_owned(),
            game: Some(v1::Game::default()),
        };
        runtime.block_on(async {
            let client = GameServiceClient::connect(self.url.clone()).await;
            let mut client = client.expect("the server answers");
            let created = client.create_game(request).await;
            created.expect("a game is created");
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the command lines stand in.
struct Stage {
    folder: PathBuf,
    taken: String,
    server: Server,
}

impl Stage {
    fn fill(&self, argument: &str) -> String {
        argument
            .replace("{taken}", &self.taken)
            .replace("{server}", &self.server.url)
            .replace("{here}", &root().display().to_string())
    }

    fn make(&self, row: &Value) {
        let text = row["text"].as_str().unwrap_or_default();
        let copies = row["copies"].as_u64().unwrap_or(1);
        let hex = row["hex"].as_str().unwrap_or_default();
        let mut bytes = text.repeat(copies as usize).into_bytes();
        bytes.extend((0..hex.len()).step_by(2).map(|at| {
            let digits = &hex[at..at + 2];
            u8::from_str_radix(digits, 16).expect("hexadecimal digits")
        }));
        let name = row["file"].as_str().expect("a file has a name");
        let path = self.folder.join(name);
        fs::write(&path, bytes).expect("a file can be written");
        if let Some(mode) = row["mode"].as_str() {
            let mode = u32::from_str_radix(mode, 8).expect("octal digits");
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(&path, permissions).expect("the file is ours");
        }
    }

    /// Runs a command line; returns what is wrong with how it ended.
    fn run(&self, row: &Value) -> Result<(), String> {
        let arguments = row["run"].as_array().expect("a command line");
        let arguments = arguments.iter().map(|one| one.as_str().expect("a text"));
        let mut child = program(&self.folder)
            .args(arguments.map(|one| self.fill(one)))
            .stdin(Stdio::piped())
            .stdout(sink(&row["out"]))
            .stderr(sink(&row["err"]))
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("the input is piped");
        // A program that reads nothing has closed it.
        let _ = stdin.write_all(row["in"].as_str().unwrap_or_default().as_bytes());
        drop(stdin);
        let ended = watch(child, &row["interrupt"]);
        let wrong = |what: &str| {
            let Ended { status, out, err } = &ended;
            Err(format!(
                "{row}\n  {what}: {status}\n  out: {out}\n  err: {err}"
            ))
        };
        let is_interrupted = ended.status.signal() == Some(2) && row["code"] == 130;
        if ended.status.code().map(i64::from) != row["code"].as_i64() && !is_interrupted {
            return wrong("another exit code");
        }
        let says = row["says"].as_str().unwrap_or_default();
        if !ended.out.contains(says) && !ended.err.contains(says) {
            return wrong("it does not say so");
        }
        if row["silent"] == true && !ended.err.is_empty() {
            return wrong("it is not silent");
        }
        if ended.err.contains("panicked") {
            return wrong("it panics");
        }
        let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        if ended.out.contains(obeyed) || ended.err.contains(obeyed) {
            return wrong("it writes a control character");
        }
        for name in row["absent"].as_array().into_iter().flatten() {
            if self.folder.join(name.as_str().expect("a name")).exists() {
                return wrong(&format!("it leaves {name} behind"));
            }
        }
        Ok(())
    }
}

/// Where a stream goes.
fn sink(kind: &Value) -> Stdio {
    match kind.as_str() {
        None => Stdio::piped(),
        Some("full") => {
            let full = OpenOptions::new().write(true).open("/dev/full");
            full.expect("there is a full disk").into()
        }
        Some("closed") => {
            let (reader, writer) = io::pipe().expect("a pipe can be made");
            drop(reader);
            writer.into()
        }
        Some(other) => panic!("{other} is no place for an output"),
    }
}

struct Ended {
    status: ExitStatus,
    out: String,
    err: String,
}

/// Waits for the end, and interrupts it before where that is asked for.
fn watch(mut child: Child, interrupt: &Value) -> Ended {
    let err = child.stderr.take().map(|mut stream| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            bytes
        })
    });
    let mut out = Vec::new();
    let mut stream = child.stdout.take().map(BufReader::new);
    if let Some(text) = interrupt.as_str() {
        let stream = stream.as_mut().expect("the output is read");
        while !String::from_utf8_lossy(&out).contains(text) {
            let read = stream
                .read_until(b'\n', &mut out)
                .expect("the output is read");
            assert_ne!(read, 0, "it ended without {text:?}");
        }
    }
    if let Some(milliseconds) = interrupt.as_u64() {
        thread::sleep(Duration::from_millis(milliseconds));
    }
    if !interrupt.is_null() {
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill runs").success());
    }
    if let Some(stream) = &mut stream {
        stream.read_to_end(&mut out).expect("the output is read");
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let err = err.map(|reader| reader.join().expect("it only reads"));
    Ended {
        status: child.wait().expect("the program ends"),
        out: text(out),
        err: text(err.unwrap_or_default()),
    }
}

#[test]
fn every_command_ends_as_the_table_says() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exit-codes");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let stage = Stage {
        taken: listener.local_addr().expect("an address").to_string(),
        server: Server::start(&folder),
        folder,
    };
    let rows = File::open(root().join("tests/data/commands/exit_codes.jsonl"));
    let mut wrong = Vec::new();
    let mut codes = Vec::new();
    for line in BufReader::new(rows.expect("the table is there")).lines() {
        let row: Value = serde_json::from_str(&line.expect("text")).expect("a line is JSON");
        if row.get("file").is_some() {
            stage.make(&row);
        } else {
            codes.push(row["code"].as_i64());
            wrong.extend(stage.run(&row).err());
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    for code in [0, 1, 2, 64, 130] {
        assert!(
            codes.contains(&Some(code)),
            "no command line ends with {code}"
        );
    }
}

#[test]
fn help_and_readme_state_one_table() {
    let output = program(&root()).arg("--help").output().expect("it runs");
    let help = String::from_utf8(output.stdout).expect("text");
    let (_, table) = help
        .split_once("Exit codes, for every command:\n")
        .expect("a table");
    let readme = fs::read_to_string(root().join("README.md")).expect("a README");
    let rows: Vec<&str> = table
        .lines()
        .take_while(|line| line.starts_with(' '))
        .collect();
    assert_eq!(rows.len(), 5, "{table}");
    for row in rows {
        let (code, meaning) = row
            .trim()
            .split_once(' ')
            .expect("a code and what it means");
        let row = format!("| {code} | {} |", meaning.trim());
        assert!(readme.contains(&row), "README.md does not say:\n{row}");
    }
}

#[test]
fn manual_pages_and_completions_know_every_command() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    let status = program(&folder).args(["man", "pages"]).status();
    assert!(status.expect("it runs").success());
    let help = program(&folder).arg("--help").output().expect("it runs");
    let help = String::from_utf8(help.stdout).expect("text");
    let completions = |shell: &str| {
        let output = program(&folder).args(["completions", shell]).output();
        String::from_utf8(output.expect("it runs").stdout).expect("text")
    };
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        // A word at the deepest of all levels.
        assert!(
            completions(shell).contains("declare-lost-by-both"),
            "{shell}"
        );
    }
    let completions = completions("bash");
    let (_, commands) = help.split_once("Commands:\n").expect("a list of commands");
    let mut count = 0;
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().expect("a name");
        if name == "help" {
            continue;
        }
        count += 1;
        let page = fs::read_to_string(folder.join(format!("pages/referee-{name}.1")));
        let page = page.unwrap_or_else(|error| panic!("{name} has no page: {error}"));
        assert!(page.contains("Exit codes, for every command"), "{name}");
        assert!(completions.contains(name), "{name}");
    }
    assert!(count >= 10, "{help}");
    for page in ["referee", "referee-game-watch", "referee-game-act-move"] {
        let page = folder.join(format!("pages/{page}.1"));
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{page:?}: {error}"));
        assert!(text.contains("Exit codes, for every command"), "{page:?}");
        let is_asking = page.to_string_lossy().contains("game");
        assert!(
            !is_asking || text.contains("\\-\\-server"),
            "{page:?}: {text}"
        );
    }
}

#[test]
fn the_version_names_its_revision() {
    let output = program(&root()).arg("--version").output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    // The revision is that of the judge, which every record names; the commit may be unknown.
    let (version, revision) = (referee_record::VERSION, referee_record::REVISION);
    let rest = text
        .trim_end()
        .strip_prefix(&format!("referee {version} ({revision}"))
        .and_then(|rest| rest.strip_suffix(')'));
    let rest = rest.unwrap_or_else(|| panic!("no revision in {text:?}"));
    let commit = rest.strip_prefix(", commit ");
    assert!(
        rest.is_empty() || commit.is_some_and(|commit| !commit.is_empty()),
        "{text:?}"
    );
}
