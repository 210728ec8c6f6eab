//! `referee perft --server`, and a service that counts by itself while games are played.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use referee_api::v1::action::Kind;
use referee_api::v1::perft_job::State;
use referee_api::v1::{
    ClockSettings, Game, ListGameEventsRequest, RuleProfile, Seat, StartGame, SubmitActionResponse,
    TimeControl,
};
use referee_tests::process::{Referee, binary, signal};
use referee_tests::wire::{self, make_move, on_move};
use serde_json::Value;
use tokio::time::Instant;

use super::PATIENCE;
use super::station::{Jobs, is_over};

/// A move that takes longer has waited for something.
const MOVE_TIME_MAX: Duration = Duration::from_secs(1);

/// What lets a service count by itself.
const ALONE: [&str; 2] = ["--perft-threads", "1"];

fn perft(referee: &Referee, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.arg("perft").args(arguments);
    command.args(["--server", &format!("http://{}", referee.address())]);
    command.stdin(Stdio::null());
    command
}

async fn output(mut command: Command) -> Output {
    let run = tokio::task::spawn_blocking(move || command.output().expect("the binary runs"));
    run.await.expect("nobody panics")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_alone_completes_a_job_and_prints_what_a_count_here_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let referee = Referee::start_with(folder.path(), &ALONE);
    let fen = "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1";
    let arguments = ["5", "--fen", fen, "--divide", "--json"];
    let there = output(perft(&referee, &arguments)).await;
    assert!(there.status.success(), "{}", text(&there.stderr));
    let here = Command::new(binary()).arg("perft").args(arguments).output();
    let here = here.expect("the binary runs");
    let read =
        |output: &Output| -> Value { serde_json::from_slice(&output.stdout).expect("one object") };
    let (there, here) = (read(&there), read(&here));
    for field in ["nodes", "divide", "fen", "depth"] {
        assert_eq!(there[field], here[field], "{field}");
    }
    assert_eq!(there["nodes"], 3_605_103);
    // A job that is left to itself is found by its name.
    let left = output(perft(&referee, &["5", "--detach"])).await;
    let name = text(&left.stdout).trim_end().to_owned();
    let mut jobs = Jobs::at(referee.address());
    let job = jobs.wait(&name, PATIENCE, is_over).await;
    assert_eq!(job.nodes, "4865609");
    // What the server refuses ends the command, with the field at fault.
    let refused = output(perft(&referee, &["0"])).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("depth"),
        "{}",
        text(&refused.stderr)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_command_cancels_its_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let referee = Referee::start_with(folder.path(), &ALONE);
    let mut command = perft(&referee, &["9"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the binary was built");
    tokio::time::sleep(Duration::from_secs(3)).await;
    signal(child.id(), "INT");
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output());
    let ended = ended.await.expect("nobody panics").expect("it ends");
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    let name = said.lines().find_map(|line| line.split_once(" on http"));
    let (name, _) = name.expect("the job is named");
    assert!(said.contains(&format!("{name} is cancelled")), "{said}");
    let mut jobs = Jobs::at(referee.address());
    let job = jobs.find(name).await.expect("it is kept");
    assert_eq!(job.state(), State::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_survives_a_restart_of_its_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = super::free_address();
    let options = ["--perft-threads", "1"];
    let start = || Referee::start_at(folder.path(), &address.to_string(), &options);
    let referee = start();
    let waiting = tokio::spawn(output(perft(&referee, &["7"])));
    tokio::time::sleep(Duration::from_secs(2)).await;
    referee.kill();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let _again = start();
    let done = tokio::time::timeout(PATIENCE, waiting).await;
    let done = done.expect("it ends").expect("nobody panics");
    let said = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(
        said.lines().any(|line| line == "nodes: 3195901860"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_do_not_wait_for_a_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let referee = Referee::start_with(folder.path(), &ALONE);
    let mut games = referee.games().await;
    let time_control = Some(TimeControl {
        pgn: "300+0".to_owned(),
        ..TimeControl::default()
    });
    let game = Game {
        rule_profile: Some(RuleProfile {
            name: "lichess".to_owned(),
            ..RuleProfile::default()
        }),
        clock_settings: Some(ClockSettings {
            time_control,
            ..ClockSettings::default()
        }),
        ..Game::default()
    };
    let created = games.create_game(wire::create("beside", game)).await;
    created.expect("it is new");
    let start = Kind::StartGame(StartGame {});
    let started = games.submit_action(wire::submit("beside", Seat::Arbiter, start));
    started.await.expect("the clocks run");
    let mut jobs = Jobs::at(referee.address());
    let name = jobs.create(None, 8).await;
    let mut states = Vec::new();
    let mut slowest = Duration::ZERO;
    let knights = ["Nf3", "Nf6", "Ng1", "Ng8", "Nc3", "Nc6", "Nb1", "Nb8"];
    let moves = ["e4", "e5", "d4", "d5", "c4", "c5", "h4", "h5"];
    for (ply, san) in moves.iter().chain(&knights).enumerate() {
        let begin = Instant::now();
        let answer = games
            .submit_action(wire::submit("beside", on_move(ply), make_move(san)))
            .await;
        slowest = slowest.max(begin.elapsed());
        let answer: SubmitActionResponse = answer.expect("it is answered").into_inner();
        let event = answer.event.expect("the move stands");
        assert!(event.r#move.is_some(), "{event:?}");
        let job = jobs.find(&name).await.expect("the server is there");
        states.push(job.state());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    println!("slowest move {slowest:?}, {states:?}");
    assert!(slowest < MOVE_TIME_MAX, "{slowest:?}");
    assert!(states.contains(&State::Running), "{states:?}");
    jobs.cancel(&name).await;
    // Nobody lost time to it: no span of down time is on record.
    let listed = games
        .list_game_events(ListGameEventsRequest {
            parent: "games/beside".to_owned(),
            page_size: 1_000,
            ..ListGameEventsRequest::default()
        })
        .await;
    let events = listed.expect("it is there").into_inner().events;
    let (start, moved) = events.split_first().expect("it was started");
    assert!(start.r#move.is_none(), "{start:?}");
    let are_moves = moved.iter().all(|event| event.r#move.is_some());
    assert!(
        are_moves && moved.len() == moves.len() + knights.len(),
        "{events:?}"
    );
}
