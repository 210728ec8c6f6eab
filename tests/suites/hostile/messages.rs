//! Requests that are begun and not ended.

use std::time::Duration;

use bytes::Bytes;
use referee_api::v1;
use referee_server::limits::{
    CONNECTION_RECEIVED_BYTES_MAX, FIRST_MESSAGE_TIMEOUT, MESSAGE_BYTES_MAX, VERIFY_STREAMS_MAX,
};
use referee_tests::wire;
use tokio::time::{Instant, timeout};
use tokio_stream::StreamExt as _;

use super::{
    GET, Honest, IMPORT, PATIENCE, PLAY, REST_BYTES, Raw, VERIFY, folder, memory, pour, start,
    status,
};

/// The head of a message of the greatest length.
fn head() -> Bytes {
    wire::frame(0, &vec![7; MESSAGE_BYTES_MAX]).slice(..5)
}

/// Two connections with messages of the greatest length that never end take what two connections
/// may take, and are told so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_never_end_are_bounded_in_bytes() {
    const CALLS: usize = 60;
    let folder = folder();
    let referee = start(folder.path(), &[]);
    let mut honest = Honest::begin(&referee).await;
    let mut attacks = Vec::new();
    let mut refused = 0;
    for _ in 0..2 {
        let raw = Raw::open(referee.address(), 65_535).await;
        for _ in 0..CALLS {
            let (answer, mut body) = raw.call(IMPORT).await.expect("a call");
            let bytes = [head(), Bytes::from(vec![7; MESSAGE_BYTES_MAX / 2])].concat();
            let sent = pour(&mut body, bytes.into()).await;
            honest.ask().await;
            if sent < MESSAGE_BYTES_MAX / 2 {
                let ended = timeout(PATIENCE, status(answer)).await.expect("an end");
                assert_eq!(ended.as_deref(), Some("8"), "RESOURCE_EXHAUSTED");
                refused += 1;
            } else {
                attacks.push((answer, body));
            }
        }
        attacks.push({
            // The connection stays open as long as its calls.
            let (answer, body) = raw.call(GET).await.expect("a call");
            std::mem::forget(raw);
            (answer, body)
        });
    }
    honest.ask_for(Duration::from_secs(1)).await;
    let taken = memory(&referee);
    let allowed = 2 * 2 * CONNECTION_RECEIVED_BYTES_MAX as u64 + REST_BYTES;
    println!("memory: {} MiB, {refused} refused", taken >> 20);
    assert!(taken < allowed, "{} MiB", taken >> 20);
    assert!(refused >= 2 * (CALLS - CONNECTION_RECEIVED_BYTES_MAX / MESSAGE_BYTES_MAX - 1));
    honest.check("messages that never end");
}

/// Who opens a stream to play and never joins is not waited for, nor is who has a text verified
/// and never sends it; meanwhile the places are taken, and then they are free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_messages_are_not_waited_for_for_long() {
    let folder = folder();
    let referee = start(folder.path(), &[]);
    let mut honest = Honest::begin(&referee).await;
    let raw = Raw::open(referee.address(), 65_535).await;
    let begun = Instant::now();
    let mut silent = Vec::new();
    for _ in 0..VERIFY_STREAMS_MAX {
        silent.push(raw.call(VERIFY).await.expect("a call"));
    }
    for _ in 0..200 {
        silent.push(raw.call(PLAY).await.expect("a call"));
    }
    honest.ask_for(Duration::from_secs(1)).await;
    for (answer, _body) in silent {
        let ended = timeout(PATIENCE, status(answer)).await.expect("an end");
        assert_eq!(ended.as_deref(), Some("4"), "DEADLINE_EXCEEDED");
    }
    let took = begun.elapsed();
    assert!(took >= FIRST_MESSAGE_TIMEOUT / 2, "after {took:?}");
    assert!(
        took < FIRST_MESSAGE_TIMEOUT + Duration::from_secs(15),
        "after {took:?}"
    );
    let mut rules = referee.rules().await;
    let text = v1::VerifyGamesRequest {
        kind: Some(v1::verify_games_request::Kind::Pgn("1. e4 *\n".into())),
    };
    let verdicts = rules.verify_games(tokio_stream::once(text)).await;
    let verdicts: Vec<_> = verdicts.expect("a place").into_inner().collect().await;
    assert!(matches!(verdicts.as_slice(), [Ok(_)]), "{verdicts:?}");
    honest.check("streams that never begin");
}
