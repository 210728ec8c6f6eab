//! Moves beside a perft job that is planned and counted by the same service.

use std::time::Duration;

use referee_api::v1::game_service_client::GameServiceClient;
use referee_api::v1::perft_job::State;
use referee_api::v1::perft_service_client::PerftServiceClient;
use referee_api::v1::{CancelPerftJobRequest, CreatePerftJobRequest, GetPerftJobRequest, PerftJob};
use referee_tests::process::Referee;
use referee_tests::wire::{create, fresh_id, make_move, on_move, submit};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::transport::Channel;

use crate::{SHUFFLE, endless, median};

/// The players, who move again and again after a rest.
const PLAYERS: usize = 8;
const REST: Duration = Duration::from_millis(20);

/// How long each of both is measured, in turns, and how often.
const ROUND: Duration = Duration::from_secs(8);
const ROUNDS: usize = 5;

/// Deep enough to be planned for some seconds, and not to come to its end.
const DEPTH: u32 = 11;

pub(crate) async fn run() {
    let folder = tempfile::tempdir().expect("a folder");
    let referee = Referee::start_with(folder.path(), &["--perft-threads", "1"]);
    let mut jobs = PerftServiceClient::new(referee.connect().await);
    let mut games = Vec::new();
    for player in 0..PLAYERS {
        let mut client = referee.games().await;
        let id = format!("beside-{player}");
        let created = client.create_game(create(&id, endless())).await;
        created.expect("created");
        games.push((client, id, 0));
    }
    let (mut alone, mut beside) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..ROUNDS {
        note(&mut alone, play(&mut games).await);
        let name = begin(&mut jobs, round).await;
        // From the planning on.
        note(&mut beside, play(&mut games).await);
        println!(
            "round {round}: the job is {:?}",
            state(&mut jobs, &name).await
        );
        let cancel = CancelPerftJobRequest { name };
        jobs.cancel_perft_job(cancel).await.expect("cancelled");
        // Until its tasks are taken out.
        tokio::time::sleep(Duration::from_secs(6)).await;
    }
    for (at, what) in ["median", "99th percentile"].into_iter().enumerate() {
        println!("{what}, alone:  {:.2?} ms", alone[at]);
        println!("{what}, beside: {:.2?} ms", beside[at]);
        let (alone, beside) = (median(alone[at].clone()), median(beside[at].clone()));
        println!(
            "{what}: {alone:.2} and {beside:.2} ms, ratio {:.2}",
            beside / alone
        );
    }
}

/// Notes the median and the 99th percentile of a round.
fn note(into: &mut [Vec<f64>; 2], mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    into[0].push(times[times.len() / 2]);
    into[1].push(times[times.len() * 99 / 100]);
}

async fn begin(jobs: &mut PerftServiceClient<Channel>, round: usize) -> String {
    let created = jobs.create_perft_job(CreatePerftJobRequest {
        perft_job: Some(PerftJob {
            depth: DEPTH,
            ..PerftJob::default()
        }),
        perft_job_id: format!("beside-{round}"),
        request_id: fresh_id(),
    });
    let job = created.await.expect("created").into_inner().perft_job;
    job.expect("it is told").name
}

async fn state(jobs: &mut PerftServiceClient<Channel>, name: &str) -> State {
    let request = GetPerftJobRequest {
        name: name.to_owned(),
    };
    let got = jobs.get_perft_job(request).await.expect("it is there");
    got.into_inner().perft_job.expect("it is told").state()
}

/// Lets all play for a round, and returns how long each move took, in milliseconds.
async fn play(games: &mut Vec<(GameServiceClient<Channel>, String, usize)>) -> Vec<f64> {
    let end = Instant::now() + ROUND;
    let mut players = JoinSet::new();
    for (mut client, id, mut ply) in games.drain(..) {
        players.spawn(async move {
            let mut times = Vec::new();
            while Instant::now() < end {
                let request = submit(&id, on_move(ply), make_move(SHUFFLE[ply % 4]));
                let begun = Instant::now();
                let answer = client.submit_action(request).await;
                times.push(begun.elapsed().as_secs_f64() * 1e3);
                let answer = answer.expect("the move is judged").into_inner();
                assert!(answer.event.is_some(), "{answer:?}");
                ply += 1;
                tokio::time::sleep(REST).await;
            }
            ((client, id, ply), times)
        });
    }
    let mut all = Vec::new();
    while let Some(played) = players.join_next().await {
        let (game, times) = played.expect("the moves are made");
        games.push(game);
        all.extend(times);
    }
    all
}
