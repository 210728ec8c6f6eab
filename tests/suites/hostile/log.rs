//! A log that nobody reads.

use std::io::Read as _;
use std::time::Duration;

use referee_api::v1;
use referee_tests::process::Referee;
use referee_tests::wire;

use super::{Honest, PATIENCE, folder};

/// Makes the referee log a line with each call that it gets.
const TALKATIVE: [&str; 2] = ["--log", "trace"];

/// Plays while the log goes nowhere, and stops the referee.
async fn play_and_stop(mut referee: Referee, what: &str) {
    let mut honest = Honest::begin(&referee).await;
    let mut games = referee.games().await;
    for number in 0..50 {
        let id = format!("game-{number}");
        let created = games.create_game(wire::create(&id, v1::Game::default()));
        created.await.expect("created");
        honest.ask().await;
    }
    referee.terminate();
    let ended = tokio::task::block_in_place(|| referee.wait(PATIENCE));
    let ended = ended.expect("waited").expect("it ended");
    assert_eq!(ended.code(), Some(0), "{what}");
    honest.check(what);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_whose_reader_is_gone_ends_nothing() {
    let folder = folder();
    let (referee, log) = Referee::start_piped(folder.path(), &TALKATIVE);
    drop(log);
    play_and_stop(referee, "a log whose reader is gone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_nobody_reads_stops_nothing_and_says_what_is_missing() {
    let folder = folder();
    let (referee, mut log) = Referee::start_piped(folder.path(), &TALKATIVE);
    let mut honest = Honest::begin(&referee).await;
    // Much more than a pipe holds and the queue before it.
    honest.ask_for(Duration::from_secs(3)).await;
    let reading = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = log.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    honest.ask_for(Duration::from_secs(1)).await;
    honest.check("a log that nobody reads");
    play_and_stop_after(referee).await;
    let text = reading.join().expect("it reads");
    assert!(text.contains("lines of the log are missing here count="));
    assert!(text.contains("draining"), "it goes on after that");
}

async fn play_and_stop_after(mut referee: Referee) {
    referee.terminate();
    let ended = tokio::task::block_in_place(|| referee.wait(PATIENCE));
    assert_eq!(ended.expect("waited").expect("it ended").code(), Some(0));
}
