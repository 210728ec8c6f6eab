//! Who is served by a server that encrypts, and what becomes of those who are not.

use std::process::Command;
use std::time::Duration;

use referee_server::limits::TLS_HANDSHAKE_TIMEOUT;
use referee_tests::authority::{Authority, expired, for_this_machine, write_secret};
use referee_tests::process::Referee;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::{Encrypted, PATIENCE, ask, connect, run_in};

/// How much later than at its limit something may be seen to happen.
const LATE: Duration = Duration::from_secs(10);

/// Waits until the server closes a connection.
async fn until_closed(mut stream: TcpStream) {
    let mut bytes = [0; 64];
    let closed = async { while matches!(stream.read(&mut bytes).await, Ok(read) if read > 0) {} };
    timeout(PATIENCE, closed).await.expect("it is closed");
}

#[tokio::test]
async fn a_client_that_believes_the_authority_is_served_and_no_other() {
    let encrypted = Encrypted::start();
    ask(encrypted.connect().await).await.expect("it is served");
    let other = Authority::new("another authority");
    let refused = connect(&encrypted.referee, &other, None).await;
    let refused = format!("{:?}", refused.expect_err("the server is not believed"));
    assert!(refused.contains("UnknownIssuer"), "{refused}");
    encrypted.until_logged("a handshake of TLS failed", 1).await;
    // Without encryption nobody is served, and the log says why.
    let plain = encrypted.referee.try_connect().await;
    if let Ok(channel) = plain {
        ask(channel).await.expect_err("it does not speak TLS");
    }
    let mut raw = TcpStream::connect(encrypted.referee.address())
        .await
        .expect("it listens");
    raw.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .expect("sent");
    until_closed(raw).await;
    ask(encrypted.connect().await).await.expect("it is served");
    let log = encrypted.referee.log();
    assert!(!log.contains("panicked"), "{log}");
}

#[tokio::test]
async fn a_client_without_tls_is_told_of_in_the_log() {
    let encrypted = Encrypted::start();
    let mut raw = TcpStream::connect(encrypted.referee.address())
        .await
        .expect("it listens");
    raw.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .expect("sent");
    until_closed(raw).await;
    encrypted
        .until_logged("a client does not speak TLS", 1)
        .await;
}

/// A handshake has a time, and who does not begin it gives its place to whoever does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_client_holds_no_place() {
    let encrypted = Encrypted::start();
    let address = encrypted.referee.address();
    let begun = Instant::now();
    let silent = TcpStream::connect(address).await.expect("it listens");
    let mut half = TcpStream::connect(address).await.expect("it listens");
    // The head of a first message of 512 bytes, which never come.
    half.write_all(&[0x16, 3, 1, 2, 0, 1])
        .await
        .expect("it is sent");
    until_closed(silent).await;
    until_closed(half).await;
    let took = begun.elapsed();
    assert!(took >= TLS_HANDSHAKE_TIMEOUT / 2, "closed after {took:?}");
    assert!(took < TLS_HANDSHAKE_TIMEOUT + LATE, "closed after {took:?}");
    ask(encrypted.connect().await).await.expect("it is served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_clients_make_room_for_others() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let authority = Authority::new("the authority of servers");
    let issued = authority.server();
    let (certificate, key) = (folder.path().join("crt"), folder.path().join("key"));
    write_secret(&certificate, &issued.certificate);
    write_secret(&key, &issued.key);
    let shell = format!(
        "export REFEREE_TLS_CERTIFICATE={} REFEREE_TLS_KEY={}; ulimit -n 80",
        certificate.display(),
        key.display()
    );
    let referee = Referee::start_under(folder.path(), &shell);
    let mut silent = Vec::new();
    for _ in 0..150 {
        silent.push(TcpStream::connect(referee.address()).await.expect("sent"));
    }
    let served = timeout(TLS_HANDSHAKE_TIMEOUT / 2, async {
        while connect(&referee, &authority, None).await.is_err() {}
    });
    served.await.expect("it does not wait for the silent ones");
}

/// A folder with files that fit and files that do not.
fn folder_of_files() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let authority = Authority::new("the authority of servers");
    let issued = authority.server();
    let old = authority.issue(|params| {
        for_this_machine(params);
        expired(params);
    });
    let early = authority.issue(|params| {
        for_this_machine(params);
        params.not_before = rcgen::date_time_ymd(2900, 1, 1);
        params.not_after = rcgen::date_time_ymd(2901, 1, 1);
    });
    for (name, text) in [
        ("crt", issued.certificate.as_str()),
        ("key", &issued.key),
        ("other.key", &authority.server().key),
        ("old.crt", &old.certificate),
        ("old.key", &old.key),
        ("early.crt", &early.certificate),
        ("early.key", &early.key),
        ("empty", ""),
        ("text", "no PEM at all"),
        ("long", &" ".repeat((1 << 20) + 1)),
        ("open.key", &issued.key),
    ] {
        write_secret(&folder.path().join(name), text);
    }
    let mode = Command::new("chmod")
        .args(["644", "open.key"])
        .current_dir(folder.path())
        .status();
    assert!(mode.expect("there is a chmod command").success());
    folder
}

/// What cannot be served with is said at the start, by the option and the file.
#[test]
fn a_server_does_not_begin_with_files_that_do_not_fit() {
    let folder = folder_of_files();
    let certificate = "--tls-certificate (REFEREE_TLS_CERTIFICATE): ";
    let key = "--tls-key (REFEREE_TLS_KEY): ";
    let authorities = "--tls-client-ca (REFEREE_TLS_CLIENT_CA): ";
    for (files, option, says) in [
        (
            ["crt", "other.key", "crt"],
            key,
            "not the key of the certificate in crt",
        ),
        (
            ["crt", "open.key", "crt"],
            key,
            "every user of this machine may use it (mode 0644)",
        ),
        (["crt", "empty", "crt"], key, "no private key"),
        (["crt", "crt", "crt"], key, "no private key"),
        (["crt", "none", "crt"], key, "none: No such file"),
        (["none", "key", "crt"], certificate, "none: No such file"),
        (["text", "key", "crt"], certificate, "no certificate"),
        (
            ["long", "key", "crt"],
            certificate,
            "longer than 1048576 bytes",
        ),
        (["old.crt", "old.key", "crt"], certificate, "expired"),
        (
            ["early.crt", "early.key", "crt"],
            certificate,
            "not good yet",
        ),
        (["crt", "key", "empty"], authorities, "no certificate"),
    ] {
        let [a, b, c] = files;
        let arguments = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--tls-certificate",
            a,
            "--tls-key",
            b,
            "--tls-client-ca",
            c,
        ];
        let said = run_in(folder.path(), &arguments, &[]);
        said.expect(2, option).expect(2, says);
        assert!(!said.err.contains("PRIVATE KEY-----\nM"), "{}", said.err);
        let checked = [&arguments[..], &["--check-config"]].concat();
        run_in(folder.path(), &checked, &[])
            .expect(2, option)
            .expect(2, says);
    }
    assert!(
        !folder.path().join("referee.db").exists(),
        "a store was made"
    );
}

#[test]
fn grpcurl_is_served() {
    let Some(program) = referee_tests::tool("REFEREE_GRPCURL", "grpcurl") else {
        return;
    };
    let encrypted = Encrypted::start();
    let authority = encrypted.folder.path().join("ca");
    std::fs::write(&authority, &encrypted.authority.pem).expect("it is written");
    let address = encrypted.referee.address().to_string();
    let run = |options: &[&str]| {
        let mut command = Command::new(&program);
        let output = command
            .args(options)
            .args([address.as_str(), "list"])
            .output();
        output.expect("grpcurl was found before")
    };
    let authority = authority.to_str().expect("a plain name");
    let output = run(&["-cacert", authority]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("referee.v1.GameService"), "{output:?}");
    assert!(!run(&[]).status.success(), "no authority of this machine");
    let plain = run(&["-plaintext", "-max-time", "5"]);
    assert!(!plain.status.success(), "it does not speak TLS");
}

#[tokio::test]
async fn no_secret_is_in_a_log() {
    let encrypted = Encrypted::start_with(&["--log", "trace"], None);
    ask(encrypted.connect().await).await.expect("it is served");
    let log = encrypted.referee.log();
    assert!(log.contains("listening"), "{log}");
    let body = encrypted.issued.key.lines().nth(1).expect("a key");
    assert!(!log.contains(body), "the key is in the log");
}
