//! What it costs to know who calls, and to encrypt: the same calls to an open server, to one that
//! asks for tokens, and to one that encrypts besides.

use std::path::Path;
use std::process::Command;

use referee_api::v1;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_tests::authority::{self, Authority, write_secret};
use referee_tests::process::{Referee, binary};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::{cpu, median};

/// The calls of a turn, the calls that are open at once, and the rounds of a turn each.
const CALLS: usize = 16_000;
const AT_ONCE: usize = 8;
const ROUNDS: usize = 9;

/// The servers, in the order of the figures.
const SERVERS: [&str; 4] = [
    "open",
    "with a token",
    "encrypted",
    "encrypted with a token",
];

pub(crate) async fn run() {
    let folders: Vec<_> = SERVERS
        .iter()
        .map(|_| tempfile::tempdir().expect("a folder"))
        .collect();
    let authority = Authority::new("everybody");
    let issued = authority.server();
    let mut sides = Vec::new();
    for (index, folder) in folders.iter().enumerate() {
        let (asks, encrypts) = (index % 2 == 1, index >= 2);
        let folder = folder.path();
        let token = asks.then(|| issue(folder));
        let path = |name: &str| folder.join(name).to_str().expect("a plain name").to_owned();
        let (certificate, key) = (path("tls.crt"), path("tls.key"));
        std::fs::write(&certificate, &issued.certificate).expect("it is written");
        write_secret(Path::new(&key), &issued.key);
        // The calls of one client are to be counted, not held up.
        let mut options = vec!["--principal-calls-per-second", "1000000"];
        options.extend(["--platform-calls-per-second", "1000000"]);
        if asks {
            options.push("--require-credentials");
        }
        if encrypts {
            options.extend(["--tls-certificate", &certificate, "--tls-key", &key]);
        }
        let referee = Referee::start_with(folder, &options);
        let channel = match encrypts {
            true => authority::connect(referee.address(), &authority, None).await,
            false => Ok(referee.connect().await),
        };
        let channel = channel.expect("it is served");
        call(&channel, token.as_deref(), CALLS).await;
        sides.push((referee, channel, token));
    }
    let mut ratios = vec![Vec::new(); SERVERS.len()];
    for round in 0..ROUNDS {
        let mut took = [0.0; SERVERS.len()];
        // Who is first changes from round to round.
        for turn in 0..SERVERS.len() {
            let at = (turn + round) % SERVERS.len();
            let (referee, channel, token) = &sides[at];
            let before = cpu::time_of(referee.id());
            call(channel, token.as_deref(), CALLS).await;
            let spent = cpu::time_of(referee.id()) - before;
            took[at] = spent.as_secs_f64() * 1e6 / CALLS as f64;
        }
        println!("us a call: {took:.1?}");
        for (ratios, took_here) in ratios.iter_mut().zip(took) {
            ratios.push(took_here / took[0]);
        }
    }
    for (name, ratios) in SERVERS.iter().zip(ratios).skip(1) {
        println!("{name} / open: {:.3} (median of {ROUNDS})", median(ratios));
    }
}

/// Issues a token in a store that no server runs on.
fn issue(folder: &Path) -> String {
    let output = Command::new(binary())
        .args([
            "token",
            "issue",
            "--role",
            "platform",
            "--principal",
            "club",
        ])
        .arg("--store")
        .arg(folder.join("referee.db"))
        .output()
        .expect("the program runs");
    let printed = String::from_utf8(output.stdout).expect("it is text");
    printed.trim_end().to_owned()
}

/// Makes some calls over a connection that is kept.
async fn call(channel: &Channel, token: Option<&str>, calls: usize) {
    let credential: Option<MetadataValue<Ascii>> =
        token.map(|token| format!("Bearer {token}").parse().expect("a token is plain"));
    let mut asking = Vec::new();
    for _ in 0..AT_ONCE {
        let credential = credential.clone();
        let bearer = move |mut request: Request<()>| -> Result<Request<()>, Status> {
            if let Some(credential) = &credential {
                let headers = request.metadata_mut();
                headers.insert("authorization", credential.clone());
            }
            Ok(request)
        };
        let mut rules: RulesServiceClient<InterceptedService<Channel, _>> =
            RulesServiceClient::with_interceptor(channel.clone(), bearer);
        asking.push(tokio::spawn(async move {
            for _ in 0..calls / AT_ONCE {
                let request = v1::ValidateMoveRequest {
                    position: Some(v1::Position::default()),
                    r#move: "e4".to_owned(),
                    ..v1::ValidateMoveRequest::default()
                };
                let answer = rules.validate_move(request).await;
                answer.expect("it is answered");
            }
        }));
    }
    for one in asking {
        one.await.expect("it asks to its end");
    }
}
