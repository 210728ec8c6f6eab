//! Who calls, and what they may do: roles, seats, platforms that are apart, and credentials that
//! are good no more.

mod allowances;
mod certificates;
mod issuers;
mod operator;
mod platforms;
mod revoked;
mod roles;
mod seat_tokens;
mod seats;

use std::path::Path;
use std::process::Command;

use referee_api::v1::game_service_client::GameServiceClient;
use referee_tests::process::{Referee, binary};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

/// What makes a server ask who calls.
const REQUIRED: &[&str] = &["--require-credentials"];

/// Issues a token with the real program, in the store in a folder that no server runs on.
fn issue(folder: &Path, arguments: &str) -> String {
    let output = Command::new(binary())
        .args(["token", "issue", "--store"])
        .arg(folder.join("referee.db"))
        .args(arguments.split(' '))
        .output();
    let output = output.expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {said}");
    let printed = String::from_utf8(output.stdout).expect("it is text");
    let secret = printed.trim_end().to_owned();
    assert!(
        secret.starts_with("rfr_") && secret.len() == 64,
        "{printed}"
    );
    assert!(!said.contains(&secret), "the secret is printed once");
    secret
}

/// Puts a credential into every call, and the platform that an operator names.
#[derive(Clone)]
struct Bearer {
    credential: MetadataValue<Ascii>,
    platform: Option<MetadataValue<Ascii>>,
}

impl Bearer {
    fn new(token: &str) -> Bearer {
        let credential = format!("Bearer {token}").parse();
        Bearer {
            credential: credential.expect("a token is plain"),
            platform: None,
        }
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let headers = request.metadata_mut();
        headers.insert("authorization", self.credential.clone());
        if let Some(platform) = &self.platform {
            headers.insert("referee-platform", platform.clone());
        }
        Ok(request)
    }
}

/// A client of games that says who it is.
type Games = GameServiceClient<InterceptedService<Channel, Bearer>>;

async fn games(referee: &Referee, token: &str) -> Games {
    GameServiceClient::with_interceptor(referee.connect().await, Bearer::new(token))
}

/// Holds that none of some secrets stands in a log.
fn check_log(log: &str, secrets: &[&str]) {
    assert!(!log.is_empty(), "the server logs");
    for secret in secrets {
        // The part behind the id, which alone opens something.
        let hidden = &secret[secret.len() - 43..];
        assert!(!log.contains(hidden), "a secret is in the log");
    }
}
