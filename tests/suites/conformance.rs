//! The conformance cases and reports that need neither clocks nor hands, through the wire.

use std::collections::HashMap;

use referee_api::v1;
use referee_tests::process::Referee;
use referee_tests::{lines, texts, wire};
use serde_json::Value;

/// Kinds of events that the service takes so far.
const KINDS: [&str; 7] = [
    "moves", "move", "offer", "accept", "decline", "claim", "resign",
];

fn is_expressible(case: &Value) -> bool {
    let events = case["events"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    // Positions that only the mate solver proves dead, and hands and clocks, come later.
    case["profile"] == "fide_standard"
        && case.get("setup").is_none()
        && case["overrides"].as_object().is_none_or(|all| {
            all.keys().all(|key| key == "min_moves_for_agreement")
        })
        && case["expect"]["start_rejected"].is_null()
        && events.iter().all(|event| {
            let kind = event["t"].as_str().unwrap_or_default();
            let exp = event["exp"].as_str().unwrap_or_default();
            KINDS.contains(&kind)
                && ["two_hands", "detected", "claimed", "condition", "elapsed_ms", "ply"]
                    .iter()
                    .all(|key| event.get(key).is_none())
                && (kind != "claim" || ["threefold", "fifty"].iter().any(|one| event["kind"] == *one))
                // A completed illegal move is penalized by a later issue; one that is not completed
                // costs nothing and is refused, as every illegal move is here.
                && (event["completed"] == false
                    || kind != "move"
                    || !["ILLEGAL_MOVE", "STANDS", "ILLEGAL_PROMOTION_QUEENED"].contains(&exp))
        })
}

fn requests_of(event: &Value, turn: v1::Seat) -> Vec<(v1::Seat, v1::action::Kind)> {
    let by = if event["by"] == "b" {
        v1::Seat::Black
    } else {
        v1::Seat::White
    };
    let text = event["uci"].as_str().unwrap_or_default();
    match event["t"].as_str().unwrap_or_default() {
        "moves" => {
            let mut seat = turn;
            let mut requests = Vec::new();
            for text in texts(&event["uci"]) {
                requests.push((seat, wire::make_move(&text)));
                seat = wire::other(seat);
            }
            requests
        }
        "move" => vec![(by, wire::make_move(text))],
        "offer" => vec![(by, wire::offer())],
        "accept" => vec![(by, wire::answer(true))],
        "decline" => vec![(by, wire::answer(false))],
        "resign" => vec![(by, wire::resign())],
        _ => {
            let claim = if event["kind"] == "fifty" {
                v1::DrawClaim::Fifty
            } else {
                v1::DrawClaim::Threefold
            };
            vec![(by, wire::claim(claim, event["intended"].as_str()))]
        }
    }
}

fn answer_code(ruling: &v1::Ruling) -> String {
    match ruling.verdict() {
        v1::ruling::Verdict::Accepted if ruling.improper => "ok_improper".into(),
        v1::ruling::Verdict::Accepted => "ok".into(),
        _ => ruling
            .reason()
            .as_str_name()
            .trim_start_matches("REASON_")
            .into(),
    }
}

/// The cases that rest on a dead position which material does not prove, by their ids: the mate
/// solver decides them.
const NEEDS_THE_MATE_SOLVER: &str = "dead_position resignation_no_mate";

#[tokio::test(flavor = "multi_thread")]
async fn conformance_cases_that_can_be_told_are_ruled_right() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let (mut ran, mut later, mut failures) = (0, 0, Vec::new());
    for case in lines("cases/laws.jsonl") {
        if !is_expressible(&case) {
            later += 1;
            continue;
        }
        let id = case["id"].as_str().unwrap_or_default();
        let mut game = match case["start"].as_str() {
            Some("startpos") | None => v1::Game::default(),
            Some(fen) => wire::game_from(fen),
        };
        let moves = case["overrides"]["min_moves_for_agreement"].as_u64();
        let overrides = moves.map(|moves| v1::RuleParameters {
            min_moves_for_agreement: Some(moves as u32),
            ..Default::default()
        });
        let variant = if case["variant"] == "chess960" {
            v1::Variant::Chess960
        } else {
            v1::Variant::Unspecified
        };
        game.rule_profile = Some(v1::RuleProfile {
            variant: variant.into(),
            overrides,
            ..Default::default()
        });
        let name = format!("case-{}", id.to_lowercase());
        let created = games
            .create_game(wire::create(&name, game))
            .await
            .expect(id)
            .into_inner();
        let fen = created
            .game
            .as_ref()
            .map(|game| game.fen.clone())
            .unwrap_or_default();
        let mut turn = if fen.contains(" b ") {
            v1::Seat::Black
        } else {
            v1::Seat::White
        };
        let mut wrong = None;
        for event in case["events"].as_array().into_iter().flatten() {
            let mut answer = String::new();
            for (seat, kind) in requests_of(event, turn) {
                let request = wire::submit(&name, seat, kind);
                let response = games.submit_action(request).await.expect(id).into_inner();
                answer = answer_code(response.ruling.as_ref().expect("a ruling"));
                if response.event.is_some_and(|event| event.r#move.is_some()) {
                    turn = wire::other(turn);
                }
            }
            let expected = event["exp"].as_str().unwrap_or("ok");
            if answer != expected {
                wrong = Some(format!("{id}: {event} got {answer}"));
            }
        }
        let request = v1::GetGameRequest {
            name: format!("games/{name}"),
        };
        let game = games
            .get_game(request)
            .await
            .expect(id)
            .into_inner()
            .game
            .expect("a game");
        let outcome = game.outcome.unwrap_or_default();
        let termination = outcome
            .termination()
            .as_str_name()
            .trim_start_matches("TERMINATION_");
        let result = match outcome.result() {
            v1::GameResult::WhiteWins => "1-0",
            v1::GameResult::BlackWins => "0-1",
            v1::GameResult::Draw => "1/2-1/2",
            _ => "*",
        };
        let expected = &case["expect"];
        let named = expected["termination"].as_str().unwrap_or_default();
        if expected["result"]
            .as_str()
            .is_some_and(|wanted| wanted != result)
            || (!named.is_empty() && !termination.eq_ignore_ascii_case(named))
        {
            wrong = Some(format!(
                "{id}: {result} by {termination}, expected {expected}"
            ));
        }
        match wrong {
            Some(_) if NEEDS_THE_MATE_SOLVER.split(' ').any(|kind| kind == named) => later += 1,
            Some(wrong) => failures.push(wrong),
            None => ran += 1,
        }
    }
    println!("{ran} cases ruled right, {later} for later issues");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(ran >= 50, "only {ran} cases ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn repetition_and_counts_are_judged_by_the_laws() {
    let referee = Referee::start();
    let mut rules = referee.rules().await;
    let mut ran = 0;
    for case in lines("cases/reports.jsonl") {
        let kind = case["kind"].as_str().unwrap_or_default();
        let expected = &case["expect"];
        if !["rep", "claim", "status", "statusafter"].contains(&kind) || expected["dead"] == true {
            continue;
        }
        let (id, input) = (case["id"].as_str().unwrap_or_default(), &case["input"]);
        let mut position = wire::from_fen(input["fen"].as_str().unwrap_or_default());
        position.moves = texts(&input["moves"]);
        let request = v1::AdjudicatePositionRequest {
            position: Some(position),
            rule_profile: None,
        };
        let found = rules
            .adjudicate_position(request)
            .await
            .expect(id)
            .into_inner();
        let found = found.adjudication.expect("judged");
        let outcome = found.outcome.clone().unwrap_or_default();
        let is_over = outcome.result() != v1::GameResult::Ongoing;
        let claims: HashMap<&str, v1::DrawClaim> = found
            .available_claims
            .iter()
            .map(|claim| (claim.intended_move.as_str(), claim.claim()))
            .collect();
        for (key, value) in expected.as_object().into_iter().flatten() {
            let holds = match key.as_str() {
                "count" => value.as_u64() == Some(u64::from(found.repetitions)),
                "third" => value.as_bool() == Some(found.repetitions >= 3),
                "auto_over" => value.as_bool() == Some(is_over),
                "claim_with_move" => value.as_str().is_none_or(|text| claims.contains_key(text)),
                "claim50" => {
                    value.as_bool()
                        == Some(claims.values().any(|claim| *claim == v1::DrawClaim::Fifty))
                }
                "ongoing" => value.as_bool() == Some(!is_over),
                "checkmate" => {
                    value.as_bool() == Some(outcome.termination() == v1::Termination::Checkmate)
                }
                "stalemate" => {
                    value.as_bool() == Some(outcome.termination() == v1::Termination::Stalemate)
                }
                "insufficient" => {
                    value.as_bool() == Some(outcome.termination() == v1::Termination::DeadPosition)
                }
                _ => true,
            };
            assert!(holds, "{id}: {key} is not {value}: {found:?}");
        }
        ran += 1;
    }
    assert!(ran >= 15, "only {ran} cases ran");
}
