//! Why a move is illegal, through the wire: the article, the pieces, the squares and the words of
//! `tests/data/chess/illegal.jsonl`, as a question and as a ruling in a game.

use std::collections::BTreeSet;

use referee_api::v1;
use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_tests::process::Referee;
use referee_tests::{lines, wire};
use serde_json::Value;
use tonic::transport::Channel;

/// `KingExposed` in the data is `KING_EXPOSED` in the contract.
fn reason_of(case: &Value) -> v1::IllegalReason {
    let mut name = "ILLEGAL_REASON".to_owned();
    for letter in case["reason"].as_str().unwrap_or_default().chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    v1::IllegalReason::from_str_name(&name).unwrap_or_else(|| panic!("{name} is no reason"))
}

fn words(value: &Value) -> BTreeSet<String> {
    value
        .as_str()
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

fn check(case: &Value, illegal: &v1::IllegalMove) {
    assert_eq!(illegal.reason(), reason_of(case), "{case}");
    let article = illegal
        .citation
        .as_ref()
        .map(|citation| citation.article.as_str());
    assert_eq!(article, case["article"].as_str(), "{case}");
    let pieces: BTreeSet<String> = illegal
        .pieces
        .iter()
        .map(|piece| piece.square.clone())
        .collect();
    assert_eq!(pieces, words(&case["pieces"]), "{case}");
    assert_eq!(
        illegal.squares.iter().cloned().collect::<BTreeSet<_>>(),
        words(&case["squares"])
    );
    let said = illegal.text.to_lowercase();
    let expected = case["text"].as_str().unwrap_or_default().to_lowercase();
    assert!(said.contains(&expected), "{case} says: {said}");
    for piece in &illegal.pieces {
        assert_ne!(piece.color(), v1::Color::Unspecified, "{case}");
        assert_ne!(piece.kind(), v1::PieceKind::Unspecified, "{case}");
    }
}

fn position(case: &Value) -> v1::Position {
    let position = wire::from_fen(case["fen"].as_str().unwrap_or_default());
    let moves = case["moves"].as_str().unwrap_or_default();
    v1::Position {
        moves: moves.split_whitespace().map(str::to_owned).collect(),
        variant: match case["x960"] == true {
            true => v1::Variant::Chess960.into(),
            false => v1::Variant::Unspecified.into(),
        },
        ..position
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_illegal_move_is_explained() {
    let referee = Referee::start();
    let (mut rules, mut games) = (referee.rules().await, referee.games().await);
    let cases = lines("chess/illegal.jsonl");
    assert!(cases.len() >= 50, "only {} cases", cases.len());
    let mut explained = 0;
    for (number, case) in cases.iter().enumerate() {
        let text = case["move"].as_str().unwrap_or_default();
        let question = v1::ValidateMoveRequest {
            position: Some(position(case)),
            r#move: text.to_owned(),
            rule_profile: None,
        };
        let answer = rules.validate_move(question).await;
        let answer = answer
            .unwrap_or_else(|status| panic!("{case}: {status:?}"))
            .into_inner();
        let Some(v1::validate_move_response::Answer::Illegal(illegal)) = answer.answer else {
            panic!("{case}: {answer:?}");
        };
        let is_over = is_over(&mut rules, case).await;
        if is_over {
            // Nothing can be moved where the game is over, and that is said first.
            assert_eq!(illegal.reason(), v1::IllegalReason::GameOver, "{case}");
        } else {
            check(case, &illegal);
            explained += 1;
        }

        let id = format!("illegal-{number}");
        let game = v1::Game {
            initial_position: Some(position(case)),
            rule_profile: Some(refusing()),
            ..v1::Game::default()
        };
        let created = games.create_game(wire::create(&id, game)).await;
        let created = created.unwrap_or_else(|status| panic!("{case}: {status:?}"));
        let game = created.into_inner().game.expect("an answer has a game");
        // A game may be set up in a dead position, and goes on there (5.2.2: it has not arisen).
        let is_finished = game.state() == v1::game::State::Finished;
        assert!(is_over || !is_finished, "{case}");
        if is_over {
            continue;
        }
        let seat = if game.fen.contains(" w ") {
            v1::Seat::White
        } else {
            v1::Seat::Black
        };
        let request = wire::submit(&id, seat, wire::make_move(text));
        let response = games
            .submit_action(request)
            .await
            .expect("a ruling is an answer");
        let response = response.into_inner();
        let ruling = response.ruling.expect("an answer has a ruling");
        assert_eq!(ruling.verdict(), v1::ruling::Verdict::Refused, "{case}");
        assert_eq!(
            ruling.illegal_move.as_ref(),
            Some(&illegal),
            "{case}: said as in a question"
        );
        assert_eq!(
            ruling.citations.first(),
            illegal.citation.as_ref(),
            "{case}"
        );
        assert!(
            response.event.is_none() && response.sequence == 0,
            "{case}: no trace is left"
        );
    }
    assert!(
        explained >= 40,
        "only {explained} cases are of games that go on"
    );
}

/// Rules with illegal moves only refused, so that none leaves a trace.
fn refusing() -> v1::RuleProfile {
    v1::RuleProfile {
        overrides: Some(v1::RuleParameters {
            illegal_policy: v1::IllegalPolicy::Refuse.into(),
            promotion_missing: v1::PromotionMissing::Refuse.into(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

async fn is_over(rules: &mut RulesServiceClient<Channel>, case: &Value) -> bool {
    let request = v1::AdjudicatePositionRequest {
        position: Some(position(case)),
        rule_profile: None,
    };
    let judged = rules
        .adjudicate_position(request)
        .await
        .expect("judged")
        .into_inner();
    let outcome = judged
        .adjudication
        .and_then(|found| found.outcome)
        .expect("an outcome");
    outcome.result() != v1::GameResult::Ongoing
}

/// The order of adjudication, claims and evidence, on positions whose ends are plain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_rest_on_evidence_that_can_be_checked() {
    use v1::evidence::Kind;
    let referee = Referee::start();
    let mut rules = referee.rules().await;
    let mut judge = async |fen: &str, moves: &[&str]| {
        let moves = moves.iter().map(|&text| text.to_owned()).collect();
        let position = Some(v1::Position {
            moves,
            ..wire::from_fen(fen)
        });
        let request = v1::AdjudicatePositionRequest {
            position,
            rule_profile: None,
        };
        let found = rules
            .adjudicate_position(request)
            .await
            .expect("judged")
            .into_inner();
        found.adjudication.expect("an answer judges")
    };
    let found = judge("7k/8/6K1/8/8/8/8/R7 w - - 149 120", &["a1a8"]).await;
    let outcome = found.outcome.expect("it is over");
    assert_eq!(
        outcome.termination(),
        v1::Termination::Checkmate,
        "mate goes before 9.6.2"
    );
    let Some(Kind::Check(check)) = outcome.evidence[0].kind.clone() else {
        panic!("{outcome:?}");
    };
    assert_eq!(check.king_square, "h8");
    assert_eq!(check.attackers[0].square, "a8");

    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let shuffle = ["g1f3", "g8f6", "f3g1", "f6g8"].repeat(4);
    let found = judge(start, &shuffle).await;
    assert_eq!(found.repetition_plies, [0, 4, 8, 12, 16]);
    let outcome = found.outcome.expect("it is over");
    assert_eq!(outcome.termination(), v1::Termination::Fivefold);
    assert_eq!(outcome.citations[0].article, "9.6.1");
    let Some(Kind::Repetition(repetition)) = outcome.evidence[0].kind.clone() else {
        panic!("{outcome:?}");
    };
    assert_eq!(repetition.plies, [0, 4, 8, 12, 16]);
    assert!(
        found.available_claims.is_empty(),
        "nothing can be claimed in a game that is over"
    );

    let found = judge("4k3/8/8/8/8/8/8/R3K3 w Q - 150 120", &[]).await;
    let outcome = found.outcome.expect("it is over");
    assert_eq!(outcome.termination(), v1::Termination::SeventyFive);
    let Some(Kind::MoveCount(count)) = outcome.evidence[0].kind.clone() else {
        panic!("{outcome:?}");
    };
    assert_eq!((count.halfmove_clock, count.last_reset_ply), (150, 0));

    let found = judge("8/8/3k4/8/2b5/8/4B3/4K3 w - - 0 1", &[]).await;
    let outcome = found.outcome.clone().expect("it is over");
    assert_eq!(outcome.termination(), v1::Termination::DeadPosition);
    let proofs = outcome
        .evidence
        .iter()
        .filter(|one| matches!(one.kind, Some(Kind::NoMate(_))));
    assert_eq!(proofs.count(), 2, "a proof for each side");
    assert_eq!(found.white_can_mate(), v1::CanMate::No);
    assert_eq!(found.black_can_mate(), v1::CanMate::No);
}
