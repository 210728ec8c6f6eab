//! A durable move at ply 4,900 beside one at ply 10.

use referee_api::v1::game_service_client::GameServiceClient;
use referee_tests::process::Referee;
use referee_tests::wire::{create, make_move, on_move, submit};
use tokio::task::JoinSet;
use tonic::transport::Channel;

use crate::{SHUFFLE, cpu, endless, median};

type Games = GameServiceClient<Channel>;

/// The players who move at once.
const AT_ONCE: usize = 10;

/// The moves of each player in a round.
const MOVES: usize = 300;

/// How often both are measured, in turns.
const ROUNDS: usize = 5;

/// Where the moves of the long games are in the middle.
const LATE: usize = 4_900;

/// Where the moves of the short games begin, and how many there are in each: ply 10 is in the
/// middle.
const EARLY: usize = 5;
const EARLY_MOVES: usize = 10;

pub(crate) async fn run() {
    let referee = Referee::start();
    let games = referee.games().await;
    let begin = LATE - ROUNDS * MOVES / 2;
    for_each_player(&games, move |mut games, player| async move {
        let id = format!("long-{player}");
        create_game(&mut games, &id).await;
        play(&mut games, &id, 0..begin).await;
    })
    .await;
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let name = move |player, number| format!("short-{round}-{player}-{number}");
        for_each_player(&games, move |mut games, player| async move {
            for number in 0..MOVES / EARLY_MOVES {
                let id = name(player, number);
                create_game(&mut games, &id).await;
                play(&mut games, &id, 0..EARLY).await;
            }
        })
        .await;
        let before = cpu::time_of(referee.id());
        for_each_player(&games, move |mut games, player| async move {
            for number in 0..MOVES / EARLY_MOVES {
                let plies = EARLY..EARLY + EARLY_MOVES;
                play(&mut games, &name(player, number), plies).await;
            }
        })
        .await;
        let between = cpu::time_of(referee.id());
        for_each_player(&games, move |mut games, player| async move {
            let first = begin + round * MOVES;
            play(&mut games, &format!("long-{player}"), first..first + MOVES).await;
        })
        .await;
        let after = cpu::time_of(referee.id());
        let a_move = |from: std::time::Duration, to: std::time::Duration| {
            (to - from).as_secs_f64() * 1e6 / (AT_ONCE * MOVES) as f64
        };
        early.push(a_move(before, between));
        late.push(a_move(between, after));
    }
    println!("microseconds of processor time for a move, in {ROUNDS} rounds");
    println!("at ply 10:    {early:.0?}");
    println!("at ply 4,900: {late:.0?}");
    let (early, late) = (median(early), median(late));
    println!(
        "medians {early:.0} and {late:.0}: ratio {:.2}",
        late / early
    );
}

/// Does something for each player at once.
async fn for_each_player<F: Future<Output = ()> + Send + 'static>(
    games: &Games,
    work: impl Fn(Games, usize) -> F,
) {
    let mut players = JoinSet::new();
    for player in 0..AT_ONCE {
        players.spawn(work(games.clone(), player));
    }
    while let Some(played) = players.join_next().await {
        played.expect("the moves are made");
    }
}

async fn create_game(games: &mut Games, id: &str) {
    let created = games.create_game(create(id, endless())).await;
    created.expect("the game is created");
}

async fn play(games: &mut Games, id: &str, plies: std::ops::Range<usize>) {
    for ply in plies {
        let request = submit(id, on_move(ply), make_move(SHUFFLE[ply % 4]));
        let answer = games.submit_action(request).await;
        let answer = answer.expect("the move is judged").into_inner();
        assert!(answer.event.is_some(), "{answer:?}");
    }
}
