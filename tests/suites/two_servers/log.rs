//! What the other server has written.

#![expect(
    clippy::disallowed_types,
    reason = "how soon a server hears of the other is real time"
)]

use std::time::{Duration, Instant};

use prost::Message;
use referee_api::v1::{ListGamesRequest, Seat};
use referee_tests::pair::Pair;
use referee_tests::wire::{self, details, make_move, on_move, resign};
use tokio::time::sleep;
use tonic::Code;

use super::{act, act_on, both, create, events, next_event, read, snapshot, watch};

/// The moves that a game goes to and fro with, for fewer than five times.
const SHUFFLE: [&str; 4] = ["Nf3", "Nf6", "Ng1", "Ng8"];

/// How often it is measured how long an event takes to a watcher on the other server.
const MEASURED: usize = 60;

/// How often that is measured for a watcher that comes when nobody else watches.
const FIRST_MEASURED: usize = 20;

/// What half of these events must keep to. The aim is 100 ms on a machine with nothing else to do;
/// here other tests run as well.
const MEDIAN_MAX: Duration = Duration::from_millis(250);

/// What each of these events must keep to.
const LONGEST_MAX: Duration = Duration::from_secs(5);

/// Both servers have the game in memory; whichever writes, the other shows it with the next answer,
/// compares `expected_sequence` with it, and goes on after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_of_the_other_are_seen_at_once() {
    let pair = Pair::start().await;
    let mut servers = both(&pair).await;
    create(&mut servers[0], "seen").await;
    for games in &mut servers {
        assert_eq!(read(games, "seen").await.sequence, 0);
    }
    for ply in 0..14 {
        let (writer, reader) = (ply % 2, 1 - ply % 2);
        let sequence = ply as i64 + 1;
        let action = || (on_move(ply), make_move(SHUFFLE[ply % 4]));
        // The writer has to know of the entry before, which the other wrote.
        let other = if ply == 0 { 7 } else { sequence - 2 };
        let stale = act_on(&mut servers[writer], "seen", other, action()).await;
        let stale = stale.expect_err("it was decided on another state");
        assert_eq!(stale.code(), Code::Aborted, "{stale:?}");
        assert_eq!(
            details(&stale).metadata["actual_sequence"],
            (sequence - 1).to_string()
        );
        let judged = act_on(&mut servers[writer], "seen", sequence - 1, action()).await;
        assert_eq!(judged.expect("it is not stale").sequence, sequence);

        let games = &mut servers[reader];
        let game = read(games, "seen").await;
        assert_eq!(
            (game.sequence, game.moves.len()),
            (sequence, ply + 1),
            "what the other has written"
        );
        let mut stream = watch(games, "seen", None).await;
        assert_eq!(snapshot(&mut stream).await, game);
        // Nothing of what the other has written is ahead of the record.
        let _resumed = watch(games, "seen", Some(sequence)).await;
        let mut resumed = watch(games, "seen", Some(sequence - 1)).await;
        assert_eq!(next_event(&mut resumed).await.sequence, sequence);
    }
    let request = wire::submit("seen", Seat::White, resign());
    servers[0].submit_action(request).await.expect("judged");
    let export = wire::export_pgn_of("games/seen");
    let exported = wire::export_pgn(&mut servers[1], export).await;
    assert!(exported.expect("exported").contains("0-1"));
    let listed = servers[1].list_games(ListGamesRequest::default()).await;
    let listed = listed.expect("listed").into_inner().games;
    assert_eq!(listed[0].sequence, 15);
    let [first, second] = &mut servers;
    assert_eq!(events(first, "seen").await, events(second, "seen").await);
}

/// By real time: what is measured is how soon a watcher hears of an event. Time does not pass for
/// the servers, so that no heartbeat brings it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_hears_of_the_other_soon() {
    let pair = Pair::start().await;
    let [mut one, mut two] = both(&pair).await;
    let mut took = Vec::new();
    // Few events of each game, so that no rule ends it.
    for round in 0..MEASURED / 6 {
        let id = format!("soon-{round}");
        create(&mut one, &id).await;
        let mut streams = [
            watch(&mut one, &id, Some(0)).await,
            watch(&mut two, &id, Some(0)).await,
        ];
        for ply in 0..6 {
            let writer = if ply % 2 == 0 { &mut one } else { &mut two };
            let moved = act(writer, &id, on_move(ply), make_move(SHUFFLE[ply % 4])).await;
            let on_disk = Instant::now();
            let heard = next_event(&mut streams[1 - ply % 2]).await;
            took.push(on_disk.elapsed());
            assert_eq!(Some(&heard), moved.event.as_ref());
            let heard = next_event(&mut streams[ply % 2]).await;
            assert_eq!(Some(heard), moved.event);
        }
    }
    check_soon("a watcher", took);
}

/// By real time as well: nobody watches anything before, so that nobody was in a hurry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_watcher_hears_of_the_other_soon() {
    let pair = Pair::start().await;
    let [mut one, mut two] = both(&pair).await;
    let mut took = Vec::new();
    for round in 0..FIRST_MEASURED {
        let id = format!("first-{round}");
        create(&mut one, &id).await;
        // The one before is forgotten, and what follows the log waits for longer.
        sleep(Duration::from_millis(50)).await;
        let mut stream = watch(&mut two, &id, Some(0)).await;
        act(&mut one, &id, Seat::White, make_move("e4")).await;
        let on_disk = Instant::now();
        assert_eq!(next_event(&mut stream).await.sequence, 1);
        took.push(on_disk.elapsed());
    }
    check_soon("the first watcher", took);
}

fn check_soon(who: &str, mut took: Vec<Duration>) {
    took.sort();
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    println!("{who} hears of the other after {median:?}, at most {longest:?}");
    assert!(median < MEDIAN_MAX, "{took:?}");
    assert!(longest < LONGEST_MAX, "{took:?}");
}

/// A request that one has answered gets the same answer from the other; with other content it is
/// refused; another seat may have the same id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_known_to_both() {
    let pair = Pair::start().await;
    let mut servers = both(&pair).await;
    let create = wire::create("", wire::refusing());
    let mut created = Vec::new();
    for games in &mut servers {
        let game = games.create_game(create.clone()).await.expect("created");
        created.push(game.into_inner().encode_to_vec());
    }
    assert_eq!(created[0], created[1], "one game, whoever is asked again");
    let listed = servers[1].list_games(ListGamesRequest::default()).await;
    let listed = listed.expect("listed").into_inner().games;
    assert_eq!(listed.len(), 1);
    let id = listed[0].name.trim_start_matches("games/").to_owned();

    let refused = wire::submit(&id, Seat::White, make_move("e5"));
    let accepted = wire::submit(&id, Seat::White, make_move("e4"));
    for (number, request) in [refused, accepted.clone()].into_iter().enumerate() {
        let mut answers = Vec::new();
        for server in [number, 1 - number, number] {
            let judged = servers[server].submit_action(request.clone()).await;
            answers.push(judged.expect("judged").into_inner());
        }
        assert_eq!(answers[0], answers[1], "the other gives the same answer");
        assert_eq!(answers[0], answers[2]);
        assert_eq!(answers[0].event.is_some(), number == 1);
    }
    let mut other = accepted.clone();
    other.action.as_mut().expect("it has one").kind = Some(resign());
    for games in &mut servers {
        let status = games.submit_action(other.clone()).await;
        let status = status.expect_err("the id stands for something else");
        assert_eq!(details(&status).reason, "REQUEST_ID_REUSED", "{status:?}");
    }
    let mut black = wire::submit(&id, Seat::Black, make_move("e5"));
    let same_id = accepted.action.expect("it has one").request_id;
    black.action.as_mut().expect("it has one").request_id = same_id;
    let judged = servers[0].submit_action(black).await.expect("judged");
    assert_eq!(judged.into_inner().sequence, 2, "ids of seats do not meet");
}
