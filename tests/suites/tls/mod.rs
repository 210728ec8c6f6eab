//! Encrypted connections: who is served and who is not, certificates that are replaced while calls
//! go on, and the commands that ask such a server.

mod clients;
mod commands;
mod reload;
mod serving;
mod web;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use referee_api::v1;
use referee_api::v1::game_service_client::GameServiceClient;
use referee_tests::authority::{Authority, Issued, Mounted};
use referee_tests::process::{Referee, binary};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use tonic::Status;
use tonic::transport::Channel;

/// After this time something does not happen any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// The names of the files of a server with a certificate, as a secret of Kubernetes has them.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITIES: &str = "ca.crt";

/// A server that encrypts, and what its certificate is good by.
struct Encrypted {
    referee: Referee,
    authority: Authority,
    issued: Issued,
    mounted: Mounted,
    folder: TempDir,
}

impl Encrypted {
    /// Starts one that asks no client for a certificate.
    fn start() -> Encrypted {
        Encrypted::start_with(&[], None)
    }

    /// Starts one with further options, and with authorities for its clients.
    fn start_with(options: &[&str], clients: Option<&str>) -> Encrypted {
        let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
        let authority = Authority::new("the authority of servers");
        let issued = authority.server();
        let files = files(&issued, clients.unwrap_or_default());
        let mounted = Mounted::new(&folder.path().join("tls"), &files);
        let (certificate, key) = (mounted.path(CERTIFICATE), mounted.path(KEY));
        let authorities = mounted.path(AUTHORITIES);
        let mut all = vec!["--tls-certificate", &certificate, "--tls-key", &key];
        if clients.is_some() {
            all.extend(["--tls-client-ca", &authorities]);
        }
        all.extend(options);
        let referee = Referee::start_with(folder.path(), &all);
        Encrypted {
            referee,
            authority,
            issued,
            mounted,
            folder,
        }
    }

    /// Connects, believing the authority of the server.
    async fn connect(&self) -> Channel {
        self.try_connect(None).await.expect("it is served")
    }

    async fn try_connect(
        &self,
        client: Option<&Issued>,
    ) -> Result<Channel, tonic::transport::Error> {
        connect(&self.referee, &self.authority, client).await
    }

    /// Waits until the log says something that often.
    async fn until_logged(&self, text: &str, times: usize) {
        let end = Instant::now() + PATIENCE;
        while self.referee.log().matches(text).count() < times {
            let log = self.referee.log();
            assert!(Instant::now() < end, "not {times} times {text:?} in {log}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The files of a server, by name and content.
fn files<'a>(issued: &'a Issued, clients: &'a str) -> [(&'static str, &'a str); 3] {
    [
        (CERTIFICATE, &issued.certificate),
        (KEY, &issued.key),
        (AUTHORITIES, clients),
    ]
}

async fn connect(
    referee: &Referee,
    authority: &Authority,
    client: Option<&Issued>,
) -> Result<Channel, tonic::transport::Error> {
    referee_tests::authority::connect(referee.address(), authority, client).await
}

/// Makes a call: with version 1.3 a client hears with its first call only that it is not served.
async fn ask(channel: Channel) -> Result<(), Status> {
    let mut games = GameServiceClient::new(channel);
    let listed = games.list_games(v1::ListGamesRequest::default()).await;
    listed.map(|_| ())
}

/// What a run of the program said.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    /// Asserts an exit code, and that some text was said.
    fn expect(&self, code: i32, text: &str) -> &Said {
        let Said { out, err, .. } = self;
        assert!(
            self.code == Some(code) && (out.contains(text) || err.contains(text)),
            "not {code} with {text:?}, but {:?}:\n{out}{err}",
            self.code
        );
        self
    }
}

/// Runs the program in a folder, with variables of the environment.
fn run_in(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Said {
    let mut command = Command::new(binary());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("REFEREE_") {
            command.env_remove(name);
        }
    }
    let output = command
        .current_dir(folder)
        .args(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the binary was built");
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("the output is UTF-8"),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
