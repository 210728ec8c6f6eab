//! Questions that take long to answer.

use std::time::Duration;

use referee_api::v1;
use referee_server::limits::{SOLVER_BYTES_MAX, SOLVERS_AT_ONCE_MAX};
use referee_tests::wire;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{Honest, MATE, PATIENCE, REST_BYTES, Raw, folder, memory, processor_time, start};

/// A position of which it takes a million others to say whether White can mate.
const HARD: &str = "8/B4b2/2k5/1p1p4/1P1Pp1pB/1pp1P1P1/1p6/bK3b2 b - - 0 1";

fn question() -> v1::CanMateRequest {
    v1::CanMateRequest {
        position: Some(wire::from_fen(HARD)),
        side: v1::Color::White.into(),
        budget_nodes: 10_000_000,
        ..v1::CanMateRequest::default()
    }
}

/// Resignations and questions that need the solver take what the solver may take, and what nobody
/// waits for any more stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_solver_is_bounded_in_bytes_and_stops_for_nobody() {
    let folder = folder();
    let referee = start(folder.path(), &[]);
    let mut honest = Honest::begin(&referee).await;
    let mut games = referee.games().await;
    let mut resigned = JoinSet::new();
    for number in 0..6 {
        let id = format!("hard-{number}");
        let created = games.create_game(wire::create(&id, wire::game_from(HARD)));
        created.await.expect("created");
        let mut games = games.clone();
        resigned.spawn(async move {
            let request = wire::submit(&id, v1::Seat::Black, wire::resign());
            games.submit_action(request).await
        });
    }
    let raw = Raw::open(referee.address(), 65_535).await;
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(raw.ask(MATE, &question()).await);
    }
    let mut most = 0;
    for _ in 0..10 {
        honest.ask_for(Duration::from_millis(500)).await;
        most = most.max(memory(&referee));
    }
    println!("memory: {} MiB", most >> 20);
    let allowed = SOLVERS_AT_ONCE_MAX as u64 * SOLVER_BYTES_MAX * 5 / 4 + REST_BYTES;
    assert!(most < allowed, "{} MiB", most >> 20);
    drop((answers, raw));
    while let Some(answer) = timeout(PATIENCE, resigned.join_next())
        .await
        .expect("in time")
    {
        // Each is judged, or refused for load.
        let _ = answer.expect("nobody panics");
    }
    // The second looks of the resignations may go on; the twenty questions do not.
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let before = processor_time(&referee);
        sleep(Duration::from_secs(1)).await;
        if processor_time(&referee) - before < 30 {
            break;
        }
    }
    assert!(begun.elapsed() < PATIENCE, "it works for nobody");
    honest.check("questions to the solver");
}

/// The process ends within its drain time whatever it works on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_exit_waits_for_no_solver() {
    let folder = folder();
    let mut referee = start(folder.path(), &["--drain-timeout-seconds", "2"]);
    let mut games = referee.games().await;
    let mut calls = JoinSet::new();
    for number in 0..4 {
        let id = format!("hard-{number}");
        let created = games.create_game(wire::create(&id, wire::game_from(HARD)));
        created.await.expect("created");
        let mut games = games.clone();
        calls.spawn(async move {
            let request = wire::submit(&id, v1::Seat::Black, wire::resign());
            let _ = games.submit_action(request).await;
        });
    }
    let raw = Raw::open(referee.address(), 65_535).await;
    for _ in 0..8 {
        let answer = raw.ask(MATE, &question()).await;
        calls.spawn(async move {
            let _ = answer.await;
        });
    }
    sleep(Duration::from_millis(500)).await;
    let begun = Instant::now();
    referee.terminate();
    let ended = tokio::task::block_in_place(|| referee.wait(PATIENCE));
    let took = begun.elapsed();
    let ended = ended.expect("waited").expect("it ended");
    println!("ended after {took:?}");
    assert_eq!(ended.code(), Some(0));
    assert!(took < Duration::from_secs(5), "ended after {took:?}");
}
