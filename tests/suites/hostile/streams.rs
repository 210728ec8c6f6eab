//! Streams that nobody reads.

use std::time::Duration;

use referee_api::v1;
use referee_server::limits::CONNECTION_UNSENT_BYTES_MAX;
use referee_tests::wire;
use tokio::time::sleep;

use super::{EXPORT, Honest, REST_BYTES, Raw, WATCH, folder, memory, start};

/// The events of the game that is read.
const EVENTS: usize = 300;

/// Plays a game in which the knights go to and fro, which no rule of it ends.
async fn play(honest: &mut Honest) {
    let overrides = v1::RuleParameters {
        fivefold: Some(false),
        seventy_five: Some(false),
        ..v1::RuleParameters::default()
    };
    let game = v1::Game {
        rule_profile: Some(v1::RuleProfile {
            overrides: Some(overrides),
            ..v1::RuleProfile::default()
        }),
        ..v1::Game::default()
    };
    let created = honest.games.create_game(wire::create("long", game)).await;
    created.expect("created");
    let moves = ["Nf3", "Nf6", "Ng1", "Ng8"].iter().cycle();
    for (ply, text) in moves.take(EVENTS).enumerate() {
        let request = wire::submit("long", wire::on_move(ply), wire::make_move(text));
        let answer = honest.games.submit_action(request).await;
        let answer = answer.expect("judged").into_inner();
        assert!(answer.event.is_some(), "{answer:?}");
    }
}

/// Streams of clients that read nothing take what a connection may take, and nothing once the
/// connection is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_nobody_reads_are_bounded_in_bytes() {
    const CONNECTIONS: usize = 3;
    const STREAMS: usize = 400;
    let folder = folder();
    let referee = start(folder.path(), &[]);
    let mut honest = Honest::begin(&referee).await;
    play(&mut honest).await;
    let before = memory(&referee);
    let mut attacks = Vec::new();
    for _ in 0..CONNECTIONS {
        let raw = Raw::open(referee.address(), 0).await;
        let mut answers = Vec::new();
        for stream in 0..STREAMS {
            let name = "games/long".to_owned();
            let answer = if stream % 2 == 0 {
                let request = v1::ExportGameRequest { name };
                raw.ask(EXPORT, &request).await
            } else {
                let request = v1::WatchGameRequest {
                    name,
                    after_sequence: Some(0),
                    ..v1::WatchGameRequest::default()
                };
                raw.ask(WATCH, &request).await
            };
            answers.push(answer);
            if stream % 50 == 0 {
                honest.ask().await;
            }
        }
        attacks.push((raw, answers));
    }
    honest.ask_for(Duration::from_secs(3)).await;
    let taken = memory(&referee);
    println!("memory: {} MiB before, {} MiB", before >> 20, taken >> 20);
    // What is unsent, and as much for what waits in queues and for the tasks.
    let allowed = 2 * (CONNECTIONS * CONNECTION_UNSENT_BYTES_MAX) as u64 + before + REST_BYTES;
    assert!(taken < allowed, "{} MiB", taken >> 20);
    drop(attacks);
    sleep(Duration::from_millis(500)).await;
    honest.ask_for(Duration::from_secs(1)).await;
    println!("memory: {} MiB once they are gone", memory(&referee) >> 20);
    honest.check("streams that nobody reads");
}
