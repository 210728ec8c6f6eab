//! How a service ends, and how its connections do: not ready first, served on, then told to go, in
//! time whatever clients do.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;
use referee_api::v1::watch_game_response::Kind;
use referee_api::v1::watch_games_response::Kind as LogKind;
use referee_api::v1::{WatchGameRequest, WatchGameResponse, WatchGamesRequest, WatchGamesResponse};
use referee_tests::operator::get;
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use tokio::time::Instant;
use tokio::time::{sleep, timeout};
use tonic::{Code, Status, Streaming};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::{Games, SOON, create, folder, play, start, watch};

/// The frame of HTTP/2 that says that a connection ends.
const GOAWAY: u8 = 7;

/// How much later than it should something may happen on a machine that does other work.
const SLACK: Duration = Duration::from_secs(4);

/// A connection that says no more than that it speaks HTTP/2. Its thread says when it is told that
/// the connection ends.
fn listen_for_goaway(address: SocketAddr) -> std::thread::JoinHandle<Option<Instant>> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("it is taken");
    stream.set_read_timeout(Some(SOON)).expect("it can be set");
    std::thread::spawn(move || {
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut rest = vec![0; usize::try_from(length).expect("it is short")];
            stream.read_exact(&mut rest).ok()?;
            if head[3] == GOAWAY {
                return Some(Instant::now());
            }
        }
    })
}

/// Watches a game over a connection on which nothing may be sent to the watcher. What is returned
/// keeps it open.
async fn never_read(address: SocketAddr, id: &str) -> impl Sized {
    let stream = tokio::net::TcpStream::connect(address).await;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let opened = builder
        .handshake::<_, Bytes>(stream.expect("it listens"))
        .await;
    let (mut send, connection) = opened.expect("it speaks HTTP/2");
    tokio::spawn(connection);
    let request = http::Request::post("http://referee/referee.v1.GameService/WatchGame")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(());
    let request = send.send_request(request.expect("a request"), false);
    let (answer, mut body) = request.expect("a call");
    let message = WatchGameRequest {
        name: format!("games/{id}"),
        ..WatchGameRequest::default()
    };
    let framed = wire::frame(0, &message.encode_to_vec());
    body.send_data(framed, true).expect("it is sent");
    (send, answer)
}

/// Reads a stream to the status that it ends with; returns the sequence of its last event.
async fn read_out(mut stream: Streaming<WatchGameResponse>) -> (Option<i64>, Status) {
    let mut last = None;
    loop {
        match stream.message().await {
            Ok(Some(told)) => match told.kind {
                Some(Kind::Event(event)) => last = Some(event.sequence),
                Some(Kind::Snapshot(game)) => last = Some(game.sequence),
                _ => {}
            },
            Ok(None) => panic!("it ends with a status"),
            Err(status) => return (last, status),
        }
    }
}

async fn health(referee: &Referee) -> ServingStatus {
    let request = HealthCheckRequest {
        service: "readiness".into(),
    };
    let answer = HealthClient::new(referee.connect().await)
        .check(request)
        .await;
    answer.expect("the name is known").into_inner().status()
}

fn wait(referee: &mut Referee) -> Option<i32> {
    let ended = tokio::task::block_in_place(|| referee.wait(SOON));
    ended.expect("waited").expect("it ended").code()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_is_not_ready_then_serves_on_then_ends_in_time() {
    let (delay, drain) = (Duration::from_secs(4), Duration::from_secs(3));
    let folder = folder();
    let options = ["--drain-delay-seconds", "4", "--drain-timeout-seconds", "3"];
    let mut referee = start(&folder, &options);
    let admin = referee.admin();
    let mut games = referee.games().await;
    create(&mut games, "drained").await;
    let watched = watch(&mut games, "drained", None).await;
    let reader = tokio::spawn(read_out(watched));
    // One that never reads, on a connection of its own, and one that says nothing.
    let unread = never_read(referee.address(), "drained").await;
    let silent = TcpStream::connect(referee.address()).expect("it listens");
    let told = listen_for_goaway(referee.address());

    let begun = Instant::now();
    referee.terminate();
    super::soon("it is not ready", || get(admin, "/ready").status == 503).await;
    assert!(begun.elapsed() < delay, "at once, and not after the delay");
    assert!(get(admin, "/ready").body.contains("shutting down"));
    assert_eq!(
        get(admin, "/live").status,
        200,
        "a process that drains is alive"
    );
    assert_eq!(health(&referee).await, ServingStatus::NotServing);
    // Over a new connection, as of somebody who has not heard of it.
    let mut late = referee.games().await;
    let mut sequence = 0;
    for ply in 0..4 {
        sequence = play(&mut late, "drained", ply).await;
    }
    assert!(
        begun.elapsed() < delay,
        "the machine is too slow for this test"
    );

    let ended = timeout(SOON, reader).await.expect("it ends");
    let (last, status) = ended.expect("nobody panics");
    assert!(begun.elapsed() >= delay, "streams go on meanwhile");
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let found = details(&status);
    assert_eq!(found.reason, "SHUTTING_DOWN", "{status:?}");
    assert_eq!(last, Some(sequence), "nothing is missed");
    let after = found.metadata.get("after_sequence");
    assert_eq!(after, Some(&sequence.to_string()), "{status:?}");
    let goaway = told.join().expect("nobody panics").expect("it is told");
    assert!(goaway >= begun + delay, "connections stay meanwhile");
    assert_eq!(wait(&mut referee), Some(0));
    let took = begun.elapsed();
    assert!(took < delay + drain + SLACK, "it took {took:?}");
    drop((unread, silent));

    // Where it ended it goes on.
    let referee = start(&folder, &[]);
    let mut games = referee.games().await;
    play(&mut games, "drained", 4).await;
    let mut again = watch(&mut games, "drained", last).await;
    let told = again.message().await.expect("told").expect("it goes on");
    match told.kind {
        Some(Kind::Event(event)) => assert_eq!(event.sequence, sequence + 1),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_and_a_second_signal_do_not_wait() {
    for signals in [&["INT"][..], &["TERM", "TERM"], &["TERM", "INT"]] {
        let folder = folder();
        let mut referee = start(&folder, &["--drain-delay-seconds", "60"]);
        let mut games = referee.games().await;
        create(&mut games, "hurried").await;
        let begun = Instant::now();
        for name in signals {
            referee_tests::process::signal(referee.id(), name);
            let admin = referee.admin();
            super::soon("it is not ready", || {
                // It may have ended already.
                let asked = referee_tests::operator::try_ask(admin, "GET", "/ready", "", "");
                asked.map_or(true, |answer| answer.status == 503)
            })
            .await;
        }
        assert_eq!(wait(&mut referee), Some(0), "{signals:?}");
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(15), "{signals:?} took {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_connections_end_and_their_streams_say_where_to_resume() {
    let folder = folder();
    let options = [
        "--connection-age-max-seconds",
        "1",
        "--connection-age-grace-seconds",
        "1",
    ];
    let referee = start(&folder, &options);
    let begun = Instant::now();
    let told = listen_for_goaway(referee.address());
    let mut games = referee.games().await;
    create(&mut games, "aged").await;
    let mut watching = referee.games().await;
    let watched = watch(&mut watching, "aged", None).await;
    let reader = tokio::spawn(read_out(watched));
    let request = WatchGamesRequest {
        after_cursor: Some(String::new()),
        ..WatchGamesRequest::default()
    };
    let mut all = watching
        .watch_games(request)
        .await
        .expect("watched")
        .into_inner();
    let log = tokio::spawn(async move { read_log(&mut all).await });
    // A client that comes back by itself notices nothing.
    let mut sequence = 0;
    for ply in 0..4 {
        sequence = play(&mut games, "aged", ply).await;
        sleep(Duration::from_millis(700)).await;
    }
    let goaway = told.join().expect("nobody panics").expect("it is told");
    let age = goaway - begun;
    let least = Duration::from_millis(900);
    assert!(
        (least..Duration::from_millis(1_100) + SLACK).contains(&age),
        "{age:?}"
    );
    let ended = timeout(SOON, reader).await.expect("it ends");
    let (last, status) = ended.expect("nobody panics");
    assert!(begun.elapsed() >= 2 * least, "calls have some grace");
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert!(
        status.message().contains("the connection is old"),
        "{status:?}"
    );
    let after = details(&status).metadata.get("after_sequence").cloned();
    assert_eq!(after, last.map(|last| last.to_string()), "{status:?}");
    let (seen, status) = timeout(SOON, log)
        .await
        .expect("it ends")
        .expect("no panic");
    let cursor = details(&status).metadata.get("after_cursor").cloned();
    let cursor = cursor.expect("it names the place");
    let rest = read_to_new_game(&mut referee.games().await, cursor).await;
    let whole: Vec<String> = seen.into_iter().chain(rest).collect();
    let mut wanted = vec!["games/aged@0".to_owned()];
    wanted.extend((1..=sequence).map(|number| format!("games/aged@{number}")));
    wanted.push("games/newer@0".to_owned());
    assert_eq!(whole, wanted, "nothing is missed and nothing comes twice");
}

/// Creates a game, and reads the stream of all games from a cursor to that.
async fn read_to_new_game(games: &mut Games, cursor: String) -> Vec<String> {
    create(games, "newer").await;
    let request = WatchGamesRequest {
        after_cursor: Some(cursor),
        ..WatchGamesRequest::default()
    };
    let all = games.watch_games(request).await;
    let mut all = all.expect("watched").into_inner();
    let mut read = Vec::new();
    while read.last() != Some(&"games/newer@0".to_owned()) {
        let told = all.message().await.expect("told").expect("it goes on");
        read.extend(name_of(told));
    }
    read
}

/// What a message of the stream of all games is about; none of a checkpoint.
fn name_of(told: WatchGamesResponse) -> Option<String> {
    match told.kind? {
        LogKind::Created(game) => Some(format!("{}@0", game.name)),
        LogKind::Event(watched) => {
            let sequence = watched.event?.sequence;
            Some(format!("{}@{sequence}", watched.name))
        }
        _ => None,
    }
}

/// Reads the stream of all games to the status that it ends with.
async fn read_log(all: &mut Streaming<WatchGamesResponse>) -> (Vec<String>, Status) {
    let mut seen = Vec::new();
    loop {
        match all.message().await {
            Ok(Some(told)) => seen.extend(name_of(told)),
            Ok(None) => panic!("it ends with a status"),
            Err(status) => return (seen, status),
        }
    }
}
