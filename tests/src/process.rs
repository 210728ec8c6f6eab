//! The real binary as a process of its own: started on a free port, killed, stopped, started again.

#![expect(clippy::disallowed_types, reason = "a process is waited for")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};
use std::{env, io};

use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::rules_service_client::RulesServiceClient;
use tempfile::TempDir;
use tonic::transport::Channel;

use crate::wire;

/// What the line on the standard output begins with that names the address.
const LISTENING: &str = "referee is listening on ";

/// What the line before begins with that names the address of the admin listener.
const ADMIN: &str = "the admin listener is on ";

/// How much of the log is shown when a test fails, in bytes.
const LOG_SHOWN_BYTES: usize = 4_000;

/// Returns the binary: the one that `REFEREE_BINARY` names, or else the one of the profile under
/// test, which is built first.
///
/// # Panics
///
/// Where it does not build.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| env::var_os("REFEREE_BINARY").map_or_else(build, PathBuf::from))
}

/// Builds the binary beside the test that is running. Cargo leaves out the binary of another
/// package when it runs tests, and an old one may lie there.
fn build() -> PathBuf {
    let test = env::current_exe().expect("a test knows its own file");
    // target/<profile>/deps/<test>
    let folder = test
        .ancestors()
        .nth(2)
        .expect("a test lies two folders below target");
    let target = folder.parent().expect("a profile is a folder of target");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    // All packages are selected, as `cargo test --workspace` does, so that dependencies keep their
    // features and are not compiled again.
    let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "build",
            "--workspace",
            "--bin",
            "referee",
            "--profile",
            profile,
            "--target-dir",
        ])
        .arg(target)
        .current_dir(crate::root())
        .output()
        .expect("cargo runs the tests, so it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the binary does not build: {said}");
    folder.join("referee")
}

/// A running referee. Dropped, it is killed.
#[derive(Debug)]
pub struct Referee {
    child: Child,
    address: SocketAddr,
    admin: Option<SocketAddr>,
    folder: PathBuf,
    /// The folder that goes away with this process, unless the store is to outlive it.
    _own: Option<TempDir>,
}

impl Referee {
    /// Starts a referee on a store of its own.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn start() -> Referee {
        let own = tempfile::tempdir().expect("a folder for temporary files can be made");
        let mut referee = Referee::start_in(own.path());
        referee._own = Some(own);
        referee
    }

    /// Starts a referee on the store in a folder, which is there afterwards as well.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn start_in(folder: &Path) -> Referee {
        Referee::start_with(folder, &[])
    }

    /// Starts a referee on the store in a folder, with further options.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn start_with(folder: &Path, options: &[&str]) -> Referee {
        Referee::start_at(folder, "127.0.0.1:0", options)
    }

    /// Does so at an address, where one was before.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn start_at(folder: &Path, address: &str, options: &[&str]) -> Referee {
        let mut command = Command::new(binary());
        command.args(["serve", "--listen", address, "--store"]);
        command.arg(folder.join("referee.db")).args(options);
        command.stderr(log_file(folder));
        Referee::spawn(folder, command)
    }

    /// Starts a referee on the store in a folder, after a command of the shell, such as one that
    /// lets it have less of something.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn start_under(folder: &Path, shell: &str) -> Referee {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{shell}; exec \"$0\" \"$@\""));
        command.arg(binary());
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]);
        command.arg(folder.join("referee.db"));
        command.stderr(log_file(folder));
        Referee::spawn(folder, command)
    }

    /// Starts a referee on the store in a folder, with further options and a log that the caller
    /// reads, or does not.
    ///
    /// # Panics
    ///
    /// Where it does not come up.
    #[must_use]
    pub fn start_piped(folder: &Path, options: &[&str]) -> (Referee, ChildStderr) {
        let mut command = Command::new(binary());
        command.args(["serve", "--listen", "127.0.0.1:0", "--store"]);
        command.arg(folder.join("referee.db")).args(options);
        command.stderr(Stdio::piped());
        let mut referee = Referee::spawn(folder, command);
        let log = referee.child.stderr.take().expect("it was piped");
        (referee, log)
    }

    fn spawn(folder: &Path, mut command: Command) -> Referee {
        // Jobs are counted by whom a suite says: an option has more weight than a variable.
        command.env("REFEREE_SERVE_PERFT_THREADS", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary was built");
        let output = child.stdout.take().expect("the output was piped");
        match read_addresses(output) {
            (Some(address), admin) => Referee {
                child,
                address,
                admin,
                folder: folder.to_owned(),
                _own: None,
            },
            (None, _) => {
                let ended = child.wait();
                panic!("no address, but {ended:?} and the log:\n{}", tail(folder));
            }
        }
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the admin listener.
    ///
    /// # Panics
    ///
    /// Where it has none.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.admin.expect("it was started with an admin listener")
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Opens a connection.
    ///
    /// # Panics
    ///
    /// Where there is none to be had.
    pub async fn connect(&self) -> Channel {
        wire::connect(self.address).await
    }

    /// Opens a connection, or says why there is none.
    ///
    /// # Errors
    ///
    /// Where the process is gone.
    pub async fn try_connect(&self) -> Result<Channel, tonic::transport::Error> {
        wire::try_connect(self.address).await
    }

    /// Opens a connection on which little can be under way: 64 KiB, the least of HTTP/2.
    ///
    /// # Panics
    ///
    /// Where there is none to be had.
    pub async fn connect_narrow(&self) -> Channel {
        wire::connect_narrow(self.address).await
    }

    /// Opens a connection for games.
    pub async fn games(&self) -> GameServiceClient<Channel> {
        GameServiceClient::new(self.connect().await)
    }

    /// Opens a connection for questions about the rules.
    pub async fn rules(&self) -> RulesServiceClient<Channel> {
        RulesServiceClient::new(self.connect().await)
    }

    /// Kills the process at once (`SIGKILL`) and waits until it is gone.
    ///
    /// # Panics
    ///
    /// Where it cannot be killed.
    pub fn kill(mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    /// Asks the process to end (`SIGTERM`).
    ///
    /// # Panics
    ///
    /// Where the signal cannot be sent.
    pub fn terminate(&self) {
        signal(self.id(), "TERM");
    }

    /// Waits for the process to end; `None` where it still runs after `patience`.
    ///
    /// # Errors
    ///
    /// Where the process cannot be waited for.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let end = Instant::now() + patience;
        loop {
            match self.child.try_wait()? {
                None if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
                ended => return Ok(ended),
            }
        }
    }

    /// Returns what the process has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Referee {
    fn drop(&mut self) {
        // It may have ended before; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("the referee logged:\n{}", tail(&self.folder));
        }
    }
}

fn log_file(folder: &Path) -> File {
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"));
    log.expect("the log can be written")
}

/// Sends a signal to a process, by its name without `SIG`.
///
/// # Panics
///
/// Where it cannot be sent.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), process.to_string()])
        .status();
    assert!(
        sent.expect("there is a kill command").success(),
        "the signal was not sent"
    );
}

/// Reads the lines that name the addresses, of which that of the admin listener comes first, and
/// goes on reading in the background, so that the process is never stopped by a full pipe.
fn read_addresses(
    output: impl io::Read + Send + 'static,
) -> (Option<SocketAddr>, Option<SocketAddr>) {
    let mut admin = None;
    let mut lines = BufReader::new(output).lines();
    let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
        if let Some(address) = line.strip_prefix(ADMIN) {
            admin = address.trim().parse().ok();
        }
        line.strip_prefix(LISTENING)?.trim().parse().ok()
    });
    thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    (address, admin)
}

fn tail(folder: &Path) -> String {
    let log = fs::read(folder.join("log")).unwrap_or_default();
    String::from_utf8_lossy(&log[log.len().saturating_sub(LOG_SHOWN_BYTES)..]).into_owned()
}
