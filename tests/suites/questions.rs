//! Questions about games that went on after a draw. Archives have them, so each is answered by the
//! moves of the pieces alone; a game of the referee's own does not begin with one.

use referee_api::v1::rules_service_client::RulesServiceClient;
use referee_api::v1::{
    AdjudicatePositionRequest, CanMateRequest, ConvertNotationRequest, Game,
    GenerateLegalMovesRequest, IllegalReason, Notation, Position, RuleProfile, Termination,
    ValidateMoveRequest, validate_move_response::Answer,
};
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use referee_tests::{lines, texts};
use serde_json::Value;
use tonic::Status;
use tonic::transport::Channel;

fn position(case: &Value) -> Position {
    Position {
        moves: texts(&case["moves"]),
        ..case["fen"].as_str().map(wire::from_fen).unwrap_or_default()
    }
}

fn profile(case: &Value) -> Option<RuleProfile> {
    Some(RuleProfile {
        name: case["profile"].as_str().unwrap_or_default().to_owned(),
        ..RuleProfile::default()
    })
}

/// Holds what each question about the position comes to.
async fn ask(rules: &mut RulesServiceClient<Channel>, case: &Value) -> Result<(), Status> {
    let id = case["id"].as_str().expect("a case has a name");
    let (position, rule_profile) = (Some(position(case)), profile(case));
    let adjudicate = AdjudicatePositionRequest {
        position: position.clone(),
        rule_profile: rule_profile.clone(),
    };
    let answer = rules.adjudicate_position(adjudicate).await?.into_inner();
    let outcome = answer
        .adjudication
        .unwrap_or_default()
        .outcome
        .unwrap_or_default();
    assert_eq!(
        case["termination"],
        outcome.termination().as_str_name(),
        "{id}"
    );
    let next = case["next"].as_str().expect("a case has a move");
    let validate = ValidateMoveRequest {
        position: position.clone(),
        r#move: next.to_owned(),
        rule_profile: rule_profile.clone(),
    };
    // Where the last position is over as well, no move is legal there.
    let reason = match rules.validate_move(validate).await?.into_inner().answer {
        Some(Answer::Illegal(illegal)) => illegal.reason(),
        _ => IllegalReason::Unspecified,
    };
    let is_over = outcome.termination() != Termination::Unspecified;
    assert_eq!(
        reason == IllegalReason::GameOver,
        is_over,
        "{id}: {reason:?}"
    );
    assert_eq!(
        reason == IllegalReason::Unspecified,
        !is_over,
        "{id}: {reason:?}"
    );
    let generate = GenerateLegalMovesRequest {
        position: position.clone(),
        ..GenerateLegalMovesRequest::default()
    };
    let answer = rules.generate_legal_moves(generate).await?.into_inner();
    assert!(
        answer.moves.iter().any(|one| one.san == next),
        "{id}: {answer:?}"
    );
    let can_mate = CanMateRequest {
        position: position.clone(),
        rule_profile,
        ..CanMateRequest::default()
    };
    let answer = rules.can_mate(can_mate).await?.into_inner();
    assert!(answer.white.is_some() && answer.black.is_some(), "{id}");
    let convert = ConvertNotationRequest {
        position,
        target: Notation::San.into(),
        ..ConvertNotationRequest::default()
    };
    let answer = rules.convert_notation(convert).await?.into_inner();
    assert_eq!(answer.moves, texts(&case["moves"]), "{id}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_went_on_after_a_draw_can_be_asked_about() {
    let referee = Referee::start();
    let mut rules = referee.rules().await;
    let mut games = referee.games().await;
    for case in lines("games/played_on.jsonl") {
        let id = case["id"].as_str().expect("a case has a name");
        let asked = ask(&mut rules, &case).await;
        asked.unwrap_or_else(|status| panic!("{id}: {status:?}"));
        let game = Game {
            initial_position: Some(position(&case)),
            rule_profile: profile(&case),
            ..Game::default()
        };
        let status = games
            .create_game(wire::create(id, game))
            .await
            .expect_err(id);
        let found = details(&status);
        assert_eq!(found.reason, "ILLEGAL_HISTORY", "{id}: {status:?}");
        assert_eq!(found.metadata["illegal_reason"], "GAME_OVER", "{id}");
        assert_eq!(found.metadata["ply"], case["over"].to_string(), "{id}");
    }
}
