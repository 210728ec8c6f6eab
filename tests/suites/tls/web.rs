//! Calls from browsers by gRPC-Web, over HTTP/1.1: for pages of the origins on the list, within the
//! same bounds as others, and for nobody where there is no list.

use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use referee_api::v1;
use referee_server::limits::{HEADER_LIST_BYTES_MAX, PREFACE_TIMEOUT};
use referee_tests::process::Referee;
use referee_tests::wire;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::{Encrypted, PATIENCE};

const ORIGIN: &str = "https://play.example.org";
const LIST: &str = "/referee.v1.GameService/ListGames";
const GET: &str = "/referee.v1.GameService/GetGame";
const BINARY: &str = "content-type: application/grpc-web+proto";
const TEXT: &str = "content-type: application/grpc-web-text+proto";

/// A server that pages of one origin may call.
fn start() -> (Referee, TempDir) {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let origins = format!("{ORIGIN},http://localhost:8080");
    let referee = Referee::start_with(folder.path(), &["--grpc-web-origins", &origins]);
    (referee, folder)
}

/// Frames a message as gRPC does.
fn frame(message: &impl prost::Message) -> Vec<u8> {
    wire::frame(0, &message.encode_to_vec()).to_vec()
}

/// What a server answered.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value)
    }

    /// Returns the messages of a binary answer, and its trailers as text.
    fn frames(&self) -> (Vec<Vec<u8>>, String) {
        let mut messages = Vec::new();
        let mut trailers = String::new();
        let mut rest = &self.body[..];
        while let [flag, a, b, c, d, more @ ..] = rest {
            let len = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
            let (one, more) = more.split_at(len);
            match flag {
                0 => messages.push(one.to_vec()),
                _ => trailers.push_str(&String::from_utf8_lossy(one)),
            }
            rest = more;
        }
        assert!(rest.is_empty(), "{self:?}");
        (messages, trailers)
    }
}

/// Sends a request on a connection of its own, and reads the answer to its end.
async fn send(referee: &Referee, line: &str, headers: &[&str], body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(referee.address())
        .await
        .expect("it listens");
    let mut request = format!("{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n");
    for header in headers {
        request.push_str(header);
        request.push_str("\r\n");
    }
    request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let bytes = [request.as_bytes(), body].concat();
    // A server that has seen enough may close before the end.
    let _ = stream.write_all(&bytes).await;
    let mut read = Vec::new();
    let reading = timeout(PATIENCE, stream.read_to_end(&mut read)).await;
    let _ = reading.expect("it answers");
    let end = read.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(end) = end else {
        return Answer {
            status: 0,
            head: String::from_utf8_lossy(&read).into_owned(),
            body: Vec::new(),
        };
    };
    let head = String::from_utf8_lossy(&read[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut answer = Answer {
        status: status.expect("a status"),
        body: read[end + 4..].to_vec(),
        head,
    };
    if answer.header("transfer-encoding") == Some("chunked") {
        answer.body = unchunk(&answer.body);
    }
    answer
}

/// Puts the chunks of a body together.
fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..][..size]);
        rest = &rest[end + 2 + size + 2..];
    }
    body
}

#[tokio::test]
async fn pages_of_the_origins_on_the_list_may_ask_and_others_may_not() {
    let (referee, _folder) = start();
    for (origin, is_let) in [
        (ORIGIN, true),
        ("http://localhost:8080", true),
        ("https://evil.example.org", false),
        ("https://play.example.org.evil.example", false),
        ("null", false),
    ] {
        let origin_header = format!("Origin: {origin}");
        let headers = [
            origin_header.as_str(),
            "Access-Control-Request-Method: POST",
            "Access-Control-Request-Headers: content-type,x-grpc-web,authorization",
        ];
        let asked = send(&referee, &format!("OPTIONS {LIST}"), &headers, b"").await;
        let answered = send(
            &referee,
            &format!("POST {LIST}"),
            &[&origin_header, BINARY],
            &frame(&v1::ListGamesRequest::default()),
        )
        .await;
        for answer in [&asked, &answered] {
            let allowed = answer.header("access-control-allow-origin");
            assert_eq!(allowed, is_let.then_some(origin), "{answer:?}");
        }
        if !is_let {
            continue;
        }
        let may_send = asked.header("access-control-allow-headers");
        let may_send = may_send.unwrap_or_default();
        for name in [
            "authorization",
            "content-type",
            "grpc-timeout",
            "x-grpc-web",
        ] {
            assert!(may_send.contains(name), "{asked:?}");
        }
        let may_read = answered.header("access-control-expose-headers");
        let may_read = may_read.unwrap_or_default();
        for name in ["grpc-status", "grpc-message", "grpc-status-details-bin"] {
            assert!(may_read.contains(name), "{answered:?}");
        }
    }
}

#[tokio::test]
async fn a_call_is_answered_in_bytes_and_as_text() {
    let (referee, _folder) = start();
    let request = frame(&v1::CreateGameRequest {
        game_id: "a".to_owned(),
        request_id: "create".to_owned(),
        game: Some(v1::Game::default()),
    });
    let line = "POST /referee.v1.GameService/CreateGame";
    let answer = send(&referee, line, &[BINARY, "x-grpc-web: 1"], &request).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let (messages, trailers) = answer.frames();
    let created = v1::CreateGameResponse::decode(&messages[0][..]).expect("an answer");
    assert_eq!(created.game.expect("a game").name, "games/a");
    assert!(trailers.contains("grpc-status:0"), "{trailers:?}");
    let name = "games/a".to_owned();
    let text = STANDARD.encode(frame(&v1::GetGameRequest { name }));
    let line = format!("POST {GET}");
    let headers = [TEXT, "accept: application/grpc-web-text+proto"];
    let mut answer = send(&referee, &line, &headers, text.as_bytes()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    // Each part is encoded by itself, with its own padding.
    let text = String::from_utf8(answer.body.clone()).expect("it is text");
    let ends: Vec<usize> = text.match_indices('=').map(|(at, _)| at).collect();
    let mut bytes = Vec::new();
    let mut from = 0;
    for (index, at) in ends.iter().enumerate() {
        if ends.get(index + 1) != Some(&(at + 1)) {
            bytes.extend(STANDARD.decode(&text[from..=*at]).expect("base64"));
            from = at + 1;
        }
    }
    bytes.extend(STANDARD.decode(&text[from..]).expect("base64"));
    answer.body = bytes;
    let (messages, trailers) = answer.frames();
    let read = v1::GetGameResponse::decode(&messages[0][..]).expect("an answer");
    assert_eq!(read.game.expect("a game").name, "games/a");
    assert!(trailers.contains("grpc-status:0"), "{trailers:?}");
}

#[tokio::test]
async fn an_error_has_its_status_and_details() {
    let (referee, _folder) = start();
    let name = "games/none".to_owned();
    let request = frame(&v1::GetGameRequest { name });
    let origin = format!("Origin: {ORIGIN}");
    let answer = send(
        &referee,
        &format!("POST {GET}"),
        &[&origin, BINARY],
        &request,
    )
    .await;
    assert_eq!(answer.header("grpc-status"), Some("5"), "{answer:?}");
    assert!(
        answer.header("grpc-status-details-bin").is_some(),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_stream_is_read_as_it_comes() {
    let (referee, _folder) = start();
    let mut games = referee.games().await;
    let game = wire::create("a", v1::Game::default());
    games.create_game(game).await.expect("created");
    let mut stream = TcpStream::connect(referee.address())
        .await
        .expect("it listens");
    let body = frame(&v1::WatchGameRequest {
        name: "games/a".to_owned(),
        ..v1::WatchGameRequest::default()
    });
    let head = format!(
        "POST /referee.v1.GameService/WatchGame HTTP/1.1\r\nHost: a\r\n{BINARY}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(&body).await.expect("sent");
    let mut read = Vec::new();
    let mut until = async |text: &[u8]| {
        let reading = async {
            while !read.windows(text.len()).any(|part| part == text) {
                assert!(stream.read_buf(&mut read).await.expect("it is open") > 0);
            }
        };
        timeout(PATIENCE, reading).await.expect("it comes");
    };
    until(b"games/a").await;
    let action = wire::submit("a", v1::Seat::White, wire::make_move("e4"));
    games.submit_action(action).await.expect("answered");
    until(b"e4").await;
}

/// What is not for browsers, too much or too slow gets no further than with HTTP/2.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_call_is_turned_away() {
    let (referee, _folder) = start();
    let body = frame(&v1::ListGamesRequest::default());
    let post = format!("POST {LIST}");
    let plain = send(&referee, &post, &["content-type: application/grpc"], &body).await;
    assert_eq!(plain.status, 400, "{plain:?}");
    let page = send(&referee, "GET /", &[], b"").await;
    assert_eq!(page.status, 400, "{page:?}");
    let long = "a".repeat(HEADER_LIST_BYTES_MAX as usize);
    let long = send(
        &referee,
        &post,
        &[BINARY, &format!("x-long: {long}")],
        &body,
    )
    .await;
    assert!([0, 400, 431].contains(&long.status), "{long:?}");
    let announced = [0, 0xff, 0xff, 0xff, 0xff];
    let huge = send(&referee, &post, &[BINARY], &announced).await;
    let status = huge.header("grpc-status").map(str::to_owned);
    let (_, trailers) = huge.frames();
    assert!(
        status.is_some() || trailers.contains("grpc-status"),
        "{huge:?}"
    );
    let begun = Instant::now();
    let mut slow = TcpStream::connect(referee.address())
        .await
        .expect("it listens");
    slow.write_all(b"POST / HTTP/1.1\r\nHost: a\r\n")
        .await
        .expect("sent");
    let mut bytes = Vec::new();
    let closed = timeout(PATIENCE, slow.read_to_end(&mut bytes)).await;
    let _ = closed.expect("it is closed");
    let took = begun.elapsed();
    assert!(took < PREFACE_TIMEOUT + Duration::from_secs(10), "{took:?}");
    // Beside all of it HTTP/2 is served.
    let mut games = referee.games().await;
    let listed = games.list_games(v1::ListGamesRequest::default());
    listed.await.expect("it is served");
}

#[tokio::test]
async fn without_a_list_nothing_but_http_2_is_spoken() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = Referee::start_in(folder.path());
    let body = frame(&v1::ListGamesRequest::default());
    let answer = send(&referee, &format!("POST {LIST}"), &[BINARY], &body).await;
    assert_eq!(answer.status, 0, "{answer:?}");
    assert!(answer.head.is_empty(), "{answer:?}");
}

#[test]
fn a_browser_that_encrypts_chooses_what_it_speaks() {
    let Some(curl) = referee_tests::tool("REFEREE_CURL", "curl") else {
        return;
    };
    let encrypted = Encrypted::start_with(&["--grpc-web-origins", ORIGIN], None);
    let folder = encrypted.folder.path();
    std::fs::write(folder.join("ca"), &encrypted.authority.pem).expect("it is written");
    std::fs::write(folder.join("body"), frame(&v1::ListGamesRequest::default()))
        .expect("it is written");
    let url = format!("https://{}{LIST}", encrypted.referee.address());
    for version in ["--http1.1", "--http2"] {
        let output = Command::new(&curl)
            .current_dir(folder)
            .args(["-sS", version, "--cacert", "ca", "-H", BINARY])
            .args(["-H", &format!("Origin: {ORIGIN}"), "--data-binary", "@body"])
            .args(["-o", "answer", "-w", "%{http_code} %{http_version}", &url])
            .output()
            .expect("curl was found before");
        let said = String::from_utf8_lossy(&output.stdout);
        let spoken = version.trim_start_matches("--http");
        assert_eq!(said, format!("200 {spoken}"), "{output:?}");
        let answer = std::fs::read(folder.join("answer")).expect("an answer");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("grpc-status:0"), "{answer:?}");
    }
}
