//! A cache of two games: who watches is not forgotten with a game that leaves it, and names that no
//! game has do not fill it.

use std::time::Duration;

use referee_api::v1::Seat;
use referee_tests::pair::{CACHED_BY_SECOND, Pair};
use referee_tests::wire::{make_move, on_move};
use tokio::time::timeout;
use tonic::Code;

use super::{act, both, create, next_event, read, try_read, watch};

/// The games that are watched on the server that keeps two.
const WATCHED: usize = 300;

/// The names that are asked for and that no game has.
const UNKNOWN: usize = 1_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_that_is_evicted_keeps_its_watchers() {
    let pair = Pair::start().await;
    let mut servers = both(&pair).await;
    create(&mut servers[1], "evicted").await;
    let mut stream = watch(&mut servers[1], "evicted", Some(0)).await;
    for (ply, text) in ["e4", "e5", "Nf3", "Nc6"].into_iter().enumerate() {
        let begun = pair.server(1).store().reads_of("evicted");
        for number in 0..2 * CACHED_BY_SECOND {
            let id = format!("other-{ply}-{number}");
            create(&mut servers[0], &id).await;
            read(&mut servers[1], &id).await;
        }
        // By the server that the watcher is with, and by the other.
        let writer = &mut servers[1 - ply % 2];
        let moved = act(writer, "evicted", on_move(ply), make_move(text)).await;
        assert_eq!(Some(next_event(&mut stream).await), moved.event);
        if ply % 2 == 0 {
            let read = pair.server(1).store().reads_of("evicted") - begun;
            assert!(
                read > 0,
                "it was in memory all the time, so nothing is shown"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_games_are_watched_than_are_cached() {
    let pair = Pair::start().await;
    let mut servers = both(&pair).await;
    let mut streams = Vec::new();
    for number in 0..WATCHED {
        let id = format!("watched-{number}");
        create(&mut servers[number % 2], &id).await;
        streams.push(watch(&mut servers[1], &id, Some(0)).await);
    }
    for round in 0..2 {
        for number in 0..WATCHED {
            let writer = &mut servers[(number + round) % 2];
            let text = ["e4", "e5"][round];
            let id = format!("watched-{number}");
            let moved = act(writer, &id, on_move(round), make_move(text)).await;
            assert!(moved.event.is_some(), "{moved:?}");
        }
        for stream in &mut streams {
            let event = next_event(stream).await;
            assert_eq!(event.sequence, round as i64 + 1);
        }
    }
    // Each of them once.
    for stream in &mut streams {
        let more = timeout(Duration::from_millis(1), stream.message()).await;
        assert!(more.is_err(), "{more:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_no_game_has_fill_nothing() {
    let pair = Pair::start().await;
    let [mut one, mut two] = both(&pair).await;
    let kept = ["kept-0", "kept-1"];
    let reads = || kept.map(|id| pair.server(1).store().reads_of(id));
    for id in kept {
        create(&mut one, id).await;
        read(&mut two, id).await;
    }
    let before = reads();
    assert!(before.iter().all(|&count| count > 0), "{before:?}");
    for number in 0..UNKNOWN {
        let missing = try_read(&mut two, &format!("unknown-{number}")).await;
        assert_eq!(missing.expect_err("no game").code(), Code::NotFound);
    }
    for id in kept {
        read(&mut two, id).await;
    }
    assert_eq!(reads(), before, "both are still in memory");
    // A third game takes the place of one of them, so that this can be told.
    create(&mut one, "third").await;
    read(&mut two, "third").await;
    for id in kept {
        read(&mut two, id).await;
    }
    assert_ne!(reads(), before, "the cache keeps two games");
    let moved = act(&mut two, kept[0], Seat::White, make_move("e4")).await;
    assert_eq!(moved.sequence, 1);
}
