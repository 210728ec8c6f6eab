//! Who can still mate: the command line, the question over the wire, and what it does to games.

use std::process::Command;

use referee_api::v1;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_tests::oracle::Oracle;
use referee_tests::process::Referee;
use referee_tests::wire::{self, make_move, resign};
use serde_json::Value;

/// A blocked position with kings and pawns only: neither side can mate.
const DEAD: &str = "4k3/8/8/p2p2p1/P2P2P1/8/8/4K3 w - - 0 1";

fn can_mate(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(referee_tests::process::binary())
        .arg("can-mate")
        .args(arguments)
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is text");
    (
        output.status.code().unwrap_or(-1),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Plays a line with the other generator, and returns the side that is mated at its end.
fn mated_by(fen: &str, line: &[String]) -> Option<v1::Color> {
    let mut oracle = Oracle::from_fen(fen);
    for uci in line {
        oracle.play(uci).expect("the line is legal");
    }
    oracle.is_checkmate().then(|| {
        if oracle.is_white_to_move() {
            v1::Color::Black
        } else {
            v1::Color::White
        }
    })
}

#[test]
fn the_command_answers_with_a_line_or_a_proof() {
    let fen = "8/8/8/4k3/7n/8/3B4/4K3 w - - 0 1";
    let (code, out, _) = can_mate(&[fen, "--json"]);
    assert_eq!(code, 0, "{out}");
    let answers: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect();
    assert_eq!(answers.len(), 2, "one for each side: {out}");
    for (answer, winner) in answers.iter().zip([v1::Color::White, v1::Color::Black]) {
        assert_eq!(answer["can_mate"], "yes", "{answer}");
        let line: Vec<String> = serde_json::from_value(answer["line"].clone()).expect("a line");
        assert_eq!(mated_by(fen, &line), Some(winner), "{answer}");
    }
    let (code, out, _) = can_mate(&[DEAD, "--side", "white"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("White: no (blocked_structure): "), "{out}");
}

#[test]
fn the_command_turns_nonsense_down() {
    for arguments in [
        &["8/8/8/8/8/8/8/8 w - - 0 1"][..],
        &["nonsense"],
        &[],
        &[DEAD, "--suite", "some.txt"],
        &[DEAD, "--budget", "0"],
        &[DEAD, "--side", "green"],
    ] {
        let (code, _, error) = can_mate(arguments);
        assert_eq!(code, 64, "{arguments:?}: {error}");
        assert!(error.starts_with("error: "), "{arguments:?}: {error}");
    }
}

#[test]
fn the_command_runs_suites() {
    let own = referee_tests::root().join("tests/data/dead/own_vectors.tsv");
    let (code, out, error) = can_mate(&["--suite", &own.display().to_string()]);
    assert_eq!(
        (code, out.as_str()),
        (0, "126 passed, 0 failed\n"),
        "{error}"
    );

    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let suite = folder.path().join("suite.txt");
    let text = format!("# one right and one wrong\n-- {DEAD}\n\nW- {DEAD}\n");
    std::fs::write(&suite, text).expect("the suite is written");
    let name = suite.display().to_string();
    let (code, out, _) = can_mate(&["--suite", &name]);
    assert_eq!(code, 1);
    assert!(out.contains(":4: White: expected yes, got no"), "{out}");
    assert!(out.ends_with("3 passed, 1 failed\n"), "{out}");

    std::fs::write(&suite, "XY 8/8/8/8/8/8/8/8 w").expect("the suite is written");
    let (code, _, error) = can_mate(&["--suite", &name]);
    assert_eq!(code, 2);
    assert!(error.contains(":1: expected WB, W-, -B or --"), "{error}");
}

async fn rules(referee: &Referee) -> RulesServiceClient<tonic::transport::Channel> {
    RulesServiceClient::new(referee.connect().await)
}

#[tokio::test]
async fn the_question_over_the_wire_has_its_answer() {
    let referee = Referee::start();
    let mut rules = rules(&referee).await;
    let fen = "8/8/8/4k3/3q4/8/3N4/4K3 b - - 0 1";
    let request = v1::CanMateRequest {
        position: Some(wire::from_fen(fen)),
        ..v1::CanMateRequest::default()
    };
    let answer = rules.can_mate(request.clone()).await.expect("answered");
    let answer = answer.into_inner();
    let (white, black) = (answer.white.expect("asked"), answer.black.expect("asked"));
    assert_eq!(white.can_mate(), v1::CanMate::No);
    let proof = white.no_mate.expect("a proof");
    assert_eq!(proof.kind(), v1::no_mate_evidence::Kind::Material);
    assert_eq!(black.can_mate(), v1::CanMate::Yes);
    let line = black.mating_line.expect("a line").moves;
    assert_eq!(mated_by(fen, &line), Some(v1::Color::Black));

    let one = v1::CanMateRequest {
        side: v1::Color::Black.into(),
        ..request.clone()
    };
    let one = rules.can_mate(one).await.expect("answered").into_inner();
    assert!(one.white.is_none() && one.black.is_some());

    let too_much = v1::CanMateRequest {
        budget_nodes: 10_000_001,
        ..request
    };
    let error = rules.can_mate(too_much).await.expect_err("above the limit");
    assert_eq!(error.code(), tonic::Code::InvalidArgument);
    assert!(error.message().contains("budget_nodes"), "{error:?}");
}

/// Submits, and returns the event.
async fn act(
    games: &mut v1::game_service_client::GameServiceClient<tonic::transport::Channel>,
    request: v1::SubmitActionRequest,
) -> v1::GameEvent {
    let answer = games.submit_action(request).await.expect("a ruling");
    answer.into_inner().event.expect("an event")
}

#[tokio::test]
async fn a_game_ends_by_what_can_and_cannot_be_mated() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    // FEN, who resigns, the termination, and whether the evidence is a line.
    let cases = [
        (
            "8/8/8/4k3/7n/8/3B4/4K3 w - - 0 1",
            v1::Seat::White,
            v1::Termination::Resignation,
            true,
        ),
        (
            "8/8/4k3/3R4/2K5/8/8/8 b - - 0 1",
            v1::Seat::White,
            v1::Termination::ResignationNoMate,
            false,
        ),
        (
            "7b/1k5B/7b/8/1p1p1p1p/1PpP1P1P/2P3K1/N7 b - - 0 1",
            v1::Seat::White,
            v1::Termination::ResignationNoMate,
            false,
        ),
    ];
    for (number, (fen, seat, termination, has_line)) in cases.into_iter().enumerate() {
        let id = format!("resigns-{number}");
        let create = wire::create(&id, wire::game_from(fen));
        games.create_game(create).await.expect("created");
        let event = act(&mut games, wire::submit(&id, seat, resign())).await;
        let outcome = event.outcome.expect("an outcome");
        assert_eq!(outcome.termination(), termination, "{fen}: {outcome:?}");
        assert!(!outcome.provisional, "{fen}");
        let lines = outcome
            .evidence
            .iter()
            .filter_map(|evidence| match &evidence.kind {
                Some(v1::evidence::Kind::MatingLine(line)) => Some(line.moves.clone()),
                _ => None,
            });
        let lines: Vec<Vec<String>> = lines.collect();
        assert_eq!(!lines.is_empty(), has_line, "{fen}: {outcome:?}");
        for line in lines {
            assert_eq!(mated_by(fen, &line), Some(v1::Color::Black), "{fen}");
        }
    }
}

/// A position that only the whole solver proves dead is found in the background, and the game is
/// drawn on the ply at which it arose.
#[tokio::test]
async fn a_dead_position_is_found_after_the_move() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    // After the pawn is taken everything is blocked for good, which the quick look sees or not.
    let fen = "8/8/1p3k2/1Pp1p1p1/2P1P1P1/5K2/8/8 w - - 0 1";
    let create = wire::create("walls", wire::game_from(fen));
    games.create_game(create).await.expect("created");
    act(
        &mut games,
        wire::submit("walls", v1::Seat::White, make_move("Ke2")),
    )
    .await;
    let mut watch = games
        .watch_game(v1::WatchGameRequest {
            name: "games/walls".into(),
            after_sequence: Some(0),
            heartbeat_interval: None,
            correction_time: None,
        })
        .await
        .expect("watched")
        .into_inner();
    let mut last = None;
    while let Some(told) = watch.message().await.expect("the stream goes on") {
        if let Some(v1::watch_game_response::Kind::Event(event)) = told.kind {
            last = Some(event);
        }
    }
    let outcome = last.and_then(|event| event.outcome).expect("an outcome");
    assert_eq!(outcome.termination(), v1::Termination::DeadPosition);
    assert_eq!(outcome.evidence.len(), 2, "{outcome:?}");
}
