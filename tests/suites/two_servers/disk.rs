//! A disk that is slow or fails: what is not on it is shown to nobody, and nobody waits for it who
//! only asks.

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1::{
    ClaimKind, ListGamesRequest, Seat, SubmitActionRequest, SubmitActionResponse,
    WatchGameResponse, game,
};
use referee_store::Fault;
use referee_store::wrap::{Disk, FaultPlan, Faulty};
use referee_tests::pair::{Pair, PairOptions};
use referee_tests::wire::{self, claim, details, make_move};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

use super::{
    Games, act, act_on, both, create, events, next_event, read, snapshot, try_act, try_read, watch,
};

/// How long something may take that does not wait for the disk, on a machine that is busy.
const AT_ONCE: Duration = Duration::from_secs(5);

/// How long nothing is heard of what is not on disk.
const SILENCE: Duration = Duration::from_millis(300);

/// Two servers on a disk that waits and fails when the test says so.
pub(super) async fn pair_on_disk() -> (Pair, Disk) {
    let mut disk = None;
    let pair = Pair::start_over(PairOptions::default(), |store| {
        let store = Faulty::new(store, FaultPlan::default());
        disk = Some(store.disk().clone());
        Arc::new(store)
    })
    .await;
    (pair, disk.expect("the store was wrapped"))
}

/// Waits until something waits for the disk.
pub(super) async fn wait_for_held(disk: &Disk) {
    let held = async {
        while disk.waiting() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(AT_ONCE, held).await.expect("a write comes");
}

/// A game with one move, and who watches it on each server.
async fn begin(pair: &Pair, id: &str) -> ([Games; 2], [Streaming<WatchGameResponse>; 2]) {
    let [mut one, mut two] = both(pair).await;
    create(&mut one, id).await;
    let moved = act(&mut one, id, Seat::White, make_move("e4")).await;
    assert_eq!(moved.sequence, 1);
    for games in [&mut one, &mut two] {
        assert_eq!(read(games, id).await.sequence, 1);
    }
    let streams = [
        watch(&mut one, id, Some(1)).await,
        watch(&mut two, id, Some(1)).await,
    ];
    ([one, two], streams)
}

/// Waits for an answer that does not wait for the disk.
async fn at_once<T>(what: &str, answer: impl Future<Output = T>) -> T {
    let answered = timeout(AT_ONCE, answer).await;
    answered.unwrap_or_else(|_| panic!("{what} waits for the disk"))
}

/// Asks everything that can be asked, of both servers, and finds the game after its first move.
async fn check_shown(servers: &mut [Games; 2], id: &str) {
    for games in servers {
        let game = at_once("GetGame", read(games, id)).await;
        assert_eq!((game.sequence, game.moves.len()), (1, 1), "{game:?}");
        assert_eq!(game.state(), game::State::Active);
        let mut stream = at_once("WatchGame", watch(games, id, None)).await;
        assert_eq!(snapshot(&mut stream).await, game);
        let events = at_once("ListGameEvents", events(games, id)).await;
        assert_eq!(events.len(), 1);
        let listed = games.list_games(ListGamesRequest::default());
        let listed = at_once("ListGames", listed).await.expect("listed");
        let listed = listed.into_inner().games;
        assert_eq!(listed[0].sequence, 1, "{listed:?}");
        let stale = act_on(games, id, 0, (Seat::Black, make_move("e5")));
        let stale = at_once("expected_sequence", stale).await;
        let stale = stale.expect_err("it was decided on an older state");
        assert_eq!(stale.code(), Code::Aborted, "{stale:?}");
        assert_eq!(details(&stale).metadata["actual_sequence"], "1");
        let unknown = at_once("an unknown name", try_read(games, "unknown")).await;
        assert_eq!(unknown.expect_err("no game").code(), Code::NotFound);
        let unknown = try_act(games, "unknown", Seat::White, make_move("e4"));
        let unknown = at_once("an action without a game", unknown).await;
        assert_eq!(unknown.expect_err("no game").code(), Code::NotFound);
    }
}

/// Nobody who watches hears anything.
async fn check_silent(streams: &mut [Streaming<WatchGameResponse>; 2]) {
    for stream in streams {
        let heard = timeout(SILENCE, stream.message()).await;
        assert!(heard.is_err(), "{heard:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_shown_before_it_is_on_a_slow_disk() {
    let (pair, disk) = pair_on_disk().await;
    let (mut servers, mut streams) = begin(&pair, "slow").await;
    // A move, and the end of the game behind it.
    disk.hold();
    let moving = spawn_act(&servers[0], "slow", Seat::Black, make_move("e5"));
    wait_for_held(&disk).await;
    check_shown(&mut servers, "slow").await;
    check_silent(&mut streams).await;
    // Decided on what is on its way to the disk, so it waits for that.
    let mut games = servers[0].clone();
    let next = (Seat::White, wire::resign());
    let next = tokio::spawn(async move { act_on(&mut games, "slow", 2, next).await });
    check_shown(&mut servers, "slow").await;
    assert!(
        !moving.is_finished() && !next.is_finished(),
        "an answer waits for the disk"
    );
    disk.heal();
    let moved = moving.await.expect("it ends").expect("judged");
    let resigned = next.await.expect("it ends").expect("judged");
    assert_eq!((moved.sequence, resigned.sequence), (2, 3));
    for (games, stream) in servers.iter_mut().zip(&mut streams) {
        assert_eq!(Some(next_event(stream).await), moved.event);
        assert_eq!(Some(next_event(stream).await), resigned.event);
        let game = read(games, "slow").await;
        assert_eq!((game.sequence, game.moves.len()), (3, 2));
    }
}

/// A refusal is kept before it is told, so that a repetition gets the same one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_waits_for_a_slow_disk() {
    let (pair, disk) = pair_on_disk().await;
    let (mut servers, mut streams) = begin(&pair, "refused").await;
    disk.hold();
    let refusing = spawn_act(&servers[1], "refused", Seat::White, make_move("d4"));
    wait_for_held(&disk).await;
    check_shown(&mut servers, "refused").await;
    assert!(!refusing.is_finished(), "an answer waits for the disk");
    disk.heal();
    let refused = refusing.await.expect("it ends").expect("judged");
    assert!(refused.event.is_none(), "{refused:?}");
    check_silent(&mut streams).await;
}

pub(super) fn spawn_act(
    games: &Games,
    id: &str,
    seat: Seat,
    kind: referee_api::v1::action::Kind,
) -> tokio::task::JoinHandle<Result<SubmitActionResponse, Status>> {
    let (mut games, id) = (games.clone(), id.to_owned());
    tokio::spawn(async move { try_act(&mut games, &id, seat, kind).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_shown_that_a_disk_did_not_take() {
    let (pair, disk) = pair_on_disk().await;
    let (mut servers, mut streams) = begin(&pair, "failed").await;
    let reason = || "as the test says".to_owned();
    let faults = [
        Fault::Unavailable { reason: reason() },
        Fault::ReadOnly { reason: reason() },
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        disk.fail(fault);
        let black = (Seat::Black, make_move("e5"));
        let failed = try_act(&mut servers[number], "failed", black.0, black.1).await;
        let failed = failed.expect_err("the disk does not take it");
        assert_eq!(failed.code(), Code::Unavailable, "{failed:?}");
        assert_eq!(details(&failed).reason, "STORE_UNAVAILABLE", "{failed:?}");
        check_shown(&mut servers, "failed").await;
        check_silent(&mut streams).await;
        disk.heal();
    }
    // The next action works, through either server.
    let moved = act(&mut servers[1], "failed", Seat::Black, make_move("e5")).await;
    assert_eq!(moved.sequence, 2, "{moved:?}");
    let moved = act(&mut servers[0], "failed", Seat::White, make_move("Nf3")).await;
    assert_eq!(moved.sequence, 3, "{moved:?}");
    for stream in &mut streams {
        assert_eq!(next_event(stream).await.sequence, 2);
        assert_eq!(next_event(stream).await.sequence, 3);
    }
}

/// Where it is not known whether a write is on disk, the answer is an error; a repetition gets
/// what came of it, from either server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repetition_tells_what_came_of_a_write() {
    let (pair, disk) = pair_on_disk().await;
    let (mut servers, mut streams) = begin(&pair, "unknown-end").await;
    let moves = [
        (Seat::Black, make_move("e5")),
        (Seat::White, make_move("Nf3")),
        (Seat::Black, make_move("Nc6")),
        (Seat::White, claim(ClaimKind::Fifty, None)),
    ];
    for (number, (seat, kind)) in moves.into_iter().enumerate() {
        let (asked, repeated) = (number % 2, usize::from(number == 1 || number == 2));
        let request = wire::submit("unknown-end", seat, kind);
        // It is written and the answer is lost, or it is not written.
        let store = pair.server(asked).store();
        if number < 2 {
            store.lose_answers(true);
        } else {
            disk.fail(Fault::Unknown);
        }
        let lost = servers[asked].submit_action(request.clone()).await;
        let lost = lost.expect_err("nobody knows whether it is on disk");
        assert_eq!(lost.code(), Code::Unavailable, "{lost:?}");
        store.lose_answers(false);
        disk.heal();
        let sequence = number as i64 + 2;
        let again = repeat(&mut servers[repeated], &request).await;
        assert_eq!(again.sequence, sequence, "{again:?}");
        let twice = repeat(&mut servers[1 - repeated], &request).await;
        assert_eq!(twice, again, "it is written once");
        for (games, stream) in servers.iter_mut().zip(&mut streams) {
            assert_eq!(read(games, "unknown-end").await.sequence, sequence);
            assert_eq!(Some(next_event(stream).await), again.event);
        }
    }
}

async fn repeat(games: &mut Games, request: &SubmitActionRequest) -> SubmitActionResponse {
    let answer = games.submit_action(request.clone()).await;
    answer.expect("it is answered now").into_inner()
}
