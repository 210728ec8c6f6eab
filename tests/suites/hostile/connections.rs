//! Connections that say nothing, or little, or the wrong thing.

use std::time::Duration;

use referee_server::limits::PREFACE_TIMEOUT;
use referee_tests::process::Referee;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::{Honest, PATIENCE, Raw, folder, processor_time, start};

/// How much later than at its limit something may be seen to happen.
const LATE: Duration = Duration::from_secs(10);

/// Waits until the server closes a connection.
async fn until_closed(mut stream: TcpStream) {
    let mut bytes = [0; 64];
    let closed = async { while matches!(stream.read(&mut bytes).await, Ok(read) if read > 0) {} };
    timeout(PATIENCE, closed).await.expect("it is closed");
}

async fn connect(referee: &Referee) -> TcpStream {
    let connecting = TcpStream::connect(referee.address());
    let stream = timeout(PATIENCE, connecting).await.expect("in time");
    stream.expect("it listens")
}

/// T2-76: a process without descriptors takes no time for it, answers who was there and who comes,
/// says so in its log, and recovers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn descriptors_run_out() {
    let folder = folder();
    let referee = Referee::start_under(folder.path(), "ulimit -n 80");
    let mut honest = Honest::begin(&referee).await;
    let mut idle = Vec::new();
    for _ in 0..150 {
        idle.push(connect(&referee).await);
    }
    let before = processor_time(&referee);
    honest.ask_for(Duration::from_secs(3)).await;
    let took = processor_time(&referee) - before;
    assert!(took < 150, "{took} hundredths of a second in three");
    // Who comes now finds a place: those who never said a word give theirs.
    let mut newcomer = Honest::begin_again(&referee).await;
    newcomer.ask_for(Duration::from_millis(500)).await;
    newcomer.check("150 idle connections, as a newcomer");
    let log = referee.log();
    assert!(log.contains("closed to make room"), "{log}");
    drop(idle);
    let mut others = Vec::new();
    for _ in 0..8 {
        others.push(Honest::begin_again(&referee).await);
    }
    for other in &mut others {
        other.ask().await;
    }
    honest.ask().await;
    honest.check("150 idle connections");
}

/// Who does not say what it speaks has a place for a while only, and who speaks something else
/// none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_are_closed() {
    let folder = folder();
    let referee = start(folder.path(), &[]);
    let begun = Instant::now();
    let silent = connect(&referee).await;
    let mut half = connect(&referee).await;
    half.write_all(b"PRI * HTTP/2.0\r\n").await.expect("sent");
    let mut wrong = connect(&referee).await;
    wrong.write_all(b"GET / HTTP/1.1\r\n").await.expect("sent");
    until_closed(wrong).await;
    assert!(begun.elapsed() < PREFACE_TIMEOUT, "it waited for more");
    until_closed(silent).await;
    until_closed(half).await;
    let took = begun.elapsed();
    assert!(took >= PREFACE_TIMEOUT / 2, "closed after {took:?}");
    assert!(took < PREFACE_TIMEOUT + LATE, "closed after {took:?}");
}

/// A great number of connections that are closed and opened again stops nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_connections_is_nobodys_loss() {
    let folder = folder();
    let referee = Referee::start_under(folder.path(), "ulimit -n 128");
    let mut honest = Honest::begin(&referee).await;
    let address = referee.address();
    let flood = tokio::spawn(async move {
        let mut held = std::collections::VecDeque::new();
        loop {
            // With one word said each is a connection like others.
            held.push_back(Raw::open(address, 65_535).await);
            if held.len() > 100 {
                held.pop_front();
            }
            sleep(Duration::from_millis(2)).await;
        }
    });
    honest.ask_for(Duration::from_secs(3)).await;
    flood.abort();
    honest.check("a flood of connections");
}
