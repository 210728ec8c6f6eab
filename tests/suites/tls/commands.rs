//! The commands that ask a server, where it encrypts and where they say who they are; and what
//! `serve` says of its own settings.

use std::path::Path;

use bytes::Bytes;
use referee_tests::authority::{Authority, write_secret};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{Encrypted, Said, run_in};

const TOKEN: &str = "rfr_a1b2_secret-of-this-test";

/// Asks a server that encrypts.
struct Asking<'a> {
    encrypted: &'a Encrypted,
    url: String,
}

impl<'a> Asking<'a> {
    fn of(encrypted: &'a Encrypted) -> Asking<'a> {
        let folder = encrypted.folder.path();
        std::fs::write(folder.join("ca"), &encrypted.authority.pem).expect("it is written");
        write_secret(&folder.join("token"), TOKEN);
        Asking {
            url: format!("https://{}", encrypted.referee.address()),
            encrypted,
        }
    }

    fn folder(&self) -> &Path {
        self.encrypted.folder.path()
    }

    fn run(&self, arguments: &[&str]) -> Said {
        let variables = [
            ("REFEREE_CA", "ca"),
            ("REFEREE_TOKEN_FILE", "token"),
            ("REFEREE_SERVER", &self.url),
        ];
        run_in(self.folder(), arguments, &variables)
    }
}

#[test]
fn every_command_that_asks_a_server_does_so_encrypted() {
    let copies = tempfile::tempdir().expect("a folder for temporary files can be made");
    let folder = copies.path().to_str().expect("a plain name");
    let options = ["--backup-folder", folder, "--log", "trace"];
    let encrypted = Encrypted::start_with(&options, None);
    let asking = Asking::of(&encrypted);
    asking
        .run(&["game", "create", "--id", "a", "--white", "Anna"])
        .expect(0, "games/a");
    asking
        .run(&["game", "act", "a", "white", "move", "e4"])
        .expect(0, "accepted");
    asking.run(&["game", "show", "a"]).expect(0, "1. e4");
    asking.run(&["export", "games/a"]).expect(0, "seal");
    asking.run(&["export", "--pgn"]).expect(0, "1. e4");
    let url = asking.url.clone();
    let store = |command| asking.run(&["store", command, "--server", &url]);
    store("verify").expect(0, "1 games");
    store("backup").expect(0, "1 games");
    let cases = referee_tests::root().join("tests/data/cases/laws.jsonl");
    let cases = std::fs::read_to_string(cases).expect("there are cases");
    let few: Vec<&str> = cases.lines().take(5).collect();
    std::fs::write(asking.folder().join("few.jsonl"), few.join("\n")).expect("it is written");
    asking
        .run(&["conform", "few.jsonl", "--target", &url])
        .expect(0, "passed, 0 failed");
    let log = encrypted.referee.log();
    assert!(!log.contains(TOKEN), "the token is in the log");
}

#[test]
fn a_server_that_is_not_believed_is_not_asked_and_the_way_out_is_said() {
    let encrypted = Encrypted::start();
    let asking = Asking::of(&encrypted);
    let folder = asking.folder();
    let show = |url: &str, options: &[&str]| {
        let arguments = ["game", "show", "a", "--server", url];
        run_in(folder, &[&arguments, options].concat(), &[])
    };
    let url = asking.url.as_str();
    std::fs::write(folder.join("other"), Authority::new("another").pem).expect("it is written");
    show(url, &["--ca", "other"])
        .expect(2, "UnknownIssuer")
        .expect(2, "--ca FILE");
    show(url, &["--ca", "none"]).expect(2, "--ca (REFEREE_CA): none: No such file");
    show(url, &["--ca", "token"]).expect(2, "--ca (REFEREE_CA): token: it has no certificate");
    let plain = url.replace("https://", "http://");
    show(&plain, &[]).expect(2, "if the server speaks TLS, use https://");
    let other_name = url.replace("127.0.0.1", "127.0.0.2");
    show(&other_name, &["--ca", "ca"]).expect(2, "cannot reach");
    show(url, &["--ca", "ca", "--certificate", "ca"]).expect(64, "--key");
    let open = referee_tests::process::Referee::start();
    let encrypted_there = format!("https://{}", open.address());
    show(&encrypted_there, &["--ca", "ca"]).expect(2, "may not speak TLS");
}

#[test]
fn a_command_shows_its_certificate() {
    let clients = Authority::new("the authority of clients");
    let encrypted = Encrypted::start_with(&[], Some(&clients.pem));
    let asking = Asking::of(&encrypted);
    let issued = clients.client("club");
    write_secret(&asking.folder().join("crt"), &issued.certificate);
    write_secret(&asking.folder().join("key"), &issued.key);
    let options = ["--certificate", "crt", "--key", "key"];
    asking
        .run(&[&["game", "create", "--id", "a"][..], &options].concat())
        .expect(0, "games/a");
    let said = asking.run(&["game", "show", "a"]);
    assert_eq!(said.code, Some(2), "{}{}", said.out, said.err);
}

/// A server that says what it is told of who asks, and lets nobody in.
async fn overhear() -> (String, mpsc::UnboundedReceiver<Option<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (heard, hears) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let heard = heard.clone();
            tokio::spawn(async move {
                let mut connection = h2::server::Builder::new()
                    .handshake::<_, Bytes>(stream)
                    .await
                    .expect("it speaks HTTP/2");
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let header = request.headers().get("authorization");
                    let header = header.and_then(|value| value.to_str().ok());
                    let _ = heard.send(header.map(str::to_owned));
                    let answer = http::Response::builder()
                        .header("content-type", "application/grpc")
                        .header("grpc-status", "16")
                        .body(())
                        .expect("an answer");
                    let _ = respond.send_response(answer, true);
                }
            });
        }
    });
    (url, hears)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_sent_with_every_call_and_never_where_others_read_it() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let path = folder.path().to_owned();
    write_secret(&path.join("token"), &format!("{TOKEN}\n"));
    std::fs::write(path.join("open"), TOKEN).expect("it is written");
    let (url, mut hears) = overhear().await;
    let run = |arguments: Vec<String>| {
        let path = path.clone();
        tokio::task::spawn_blocking(move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run_in(&path, &arguments, &[])
        })
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for command in [
        format!("game show a --server {url} --token-file token"),
        format!("game watch a --server {url} --token-file token --patience 0"),
        format!("export games/a --server {url} --token-file token"),
        format!("store verify --server {url} --token-file token"),
        format!("store backup --server {url} --token-file token"),
    ] {
        let said = run(words(&command)).await.expect("it ends");
        said.expect(2, "Unauthenticated");
        assert!(!said.err.contains(TOKEN), "{}", said.err);
        let heard = hears.recv().await.expect("it was asked");
        assert_eq!(heard, Some(format!("Bearer {TOKEN}")), "{command}");
    }
    let said = run(words(&format!("game show a --server {url}"))).await;
    said.expect("it ends").expect(2, "Unauthenticated");
    assert_eq!(hears.recv().await, Some(None), "no token was given");
    for (command, code, says) in [
        (
            "game show a --server http://192.0.2.1:9 --token-file token",
            64,
            "--insecure-token",
        ),
        (
            "conform - --target http://192.0.2.1:9 --token-file token",
            64,
            "--insecure-token",
        ),
        (
            "game show a --server http://localhost:1 --token-file token",
            2,
            "cannot reach",
        ),
        (
            "game show a --token-file none",
            2,
            "--token-file (REFEREE_TOKEN_FILE): none: No such",
        ),
        (
            "game show a --token-file open",
            2,
            "every user of this machine may use it",
        ),
        (
            "game show a --server ftp://a --token-file token",
            64,
            "only http and https",
        ),
    ] {
        let said = run(words(command)).await.expect("it ends");
        said.expect(code, says);
        assert!(!said.err.contains(TOKEN), "{}", said.err);
    }
    assert!(hears.try_recv().is_err(), "nobody else asked");
}

#[test]
fn settings_are_shown_with_where_they_come_from_and_no_secret() {
    let encrypted = Encrypted::start();
    let folder = encrypted.folder.path();
    let key = encrypted.mounted.path(super::KEY);
    let certificate = encrypted.mounted.path(super::CERTIFICATE);
    let variables = [
        ("REFEREE_TLS_KEY", key.as_str()),
        ("REFEREE_TLS_CERTIFICATE", &certificate),
        ("REFEREE_LISTN", "127.0.0.1:1"),
        ("REFEREE_SERVICE_HOST", "10.0.0.1"),
    ];
    let arguments = [
        "serve",
        "--print-config",
        "--threads",
        "3",
        "--store",
        "never",
    ];
    let said = run_in(folder, &arguments, &variables);
    said.expect(0, "");
    let row = |name: &str| -> Vec<&str> {
        let mut rows = said
            .out
            .lines()
            .map(|row| row.split("  ").collect::<Vec<_>>());
        let row = rows.find(|row| row[0] == name);
        let row = row.unwrap_or_else(|| panic!("{name} is not in {}", said.out));
        row.into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect()
    };
    let secret = format!("<file {key}>");
    assert_eq!(row("--threads"), ["--threads", "3", "--threads"]);
    assert_eq!(row("--listen"), ["--listen", "127.0.0.1:50051", "default"]);
    assert_eq!(row("--tls-key"), ["--tls-key", &secret, "REFEREE_TLS_KEY"]);
    assert_eq!(row("--signing-key"), ["--signing-key", "(none)", "default"]);
    assert_eq!(
        row("--insecure-listen"),
        ["--insecure-listen", "false", "default"]
    );
    assert_eq!(row("--log"), ["--log", "info", "default"]);
    assert!(said.err.contains("REFEREE_LISTN"), "{}", said.err);
    assert!(said.err.contains("REFEREE_LISTEN"), "{}", said.err);
    assert!(!said.err.contains("SERVICE_HOST"), "{}", said.err);
    let said = run_in(
        folder,
        &["serve", "--check-config", "--store", "never"],
        &variables,
    );
    said.expect(0, "");
    assert!(!folder.join("never").exists(), "a store was made");
    let exposed = ["serve", "--check-config", "--listen", "0.0.0.0:0"];
    run_in(folder, &exposed, &[]).expect(64, "--insecure-listen");
    run_in(folder, &exposed, &variables[..2]).expect(0, "");
}
