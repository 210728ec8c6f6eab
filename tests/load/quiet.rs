//! Many games that are watched and in which nothing happens.

use std::time::Duration;

use referee_api::v1::WatchGameRequest;
use referee_tests::process::Referee;
use referee_tests::wire::create;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::{cpu, endless};

/// The games.
const GAMES: usize = 20_000;

/// The streams of one connection; the service takes 1,000.
const STREAMS: usize = 800;

/// How long the streams are left alone before it is measured.
const SETTLE: Duration = Duration::from_secs(20);

/// How long it is measured: some heartbeats of each stream.
const MEASURE: Duration = Duration::from_secs(60);

pub(crate) async fn run() {
    let referee = Referee::start();
    let mut connections = JoinSet::new();
    for first in (0..GAMES).step_by(STREAMS) {
        let mut games = referee.games().await;
        connections.spawn(async move {
            let mut streams = Vec::new();
            for number in first..GAMES.min(first + STREAMS) {
                let id = format!("quiet-{number}");
                let created = games.create_game(create(&id, endless())).await;
                created.expect("the game is created");
                let request = WatchGameRequest {
                    name: format!("games/{id}"),
                    after_sequence: Some(0),
                    ..WatchGameRequest::default()
                };
                let watched = games.watch_game(request).await;
                streams.push(watched.expect("the game is watched").into_inner());
            }
            streams
        });
    }
    let mut readers = JoinSet::new();
    while let Some(streams) = connections.join_next().await {
        for mut stream in streams.expect("the games are watched") {
            readers.spawn(async move { while matches!(stream.message().await, Ok(Some(_))) {} });
        }
    }
    sleep(SETTLE).await;
    assert_eq!(readers.len(), GAMES);
    let (before, begun) = (cpu::time_of(referee.id()), Instant::now());
    sleep(MEASURE).await;
    let (took, elapsed) = (cpu::time_of(referee.id()) - before, begun.elapsed());
    let ended = readers.try_join_next();
    assert!(ended.is_none(), "a stream ended");
    let share = 100.0 * took.as_secs_f64() / elapsed.as_secs_f64();
    println!("{GAMES} quiet watched games take {share:.1} % of a core");
}
