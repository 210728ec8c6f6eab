//! Holds what the contract promises beyond what `buf lint` can check.

mod descriptors;

use std::collections::BTreeMap;

use descriptors::Contract;
use prost_types::method_options::IdempotencyLevel;
use referee_api::v1::ruling::Reason;
use referee_api::v1::{ErrorReason, GameResult, Termination};
use serde_json::Value;

/// The answers of the conformance cases that are no plain acceptance.
const ANSWERS: &str = "ILLEGAL_MOVE TOUCH_MOVE PROMOTION_MISSING ILLEGAL_PROMOTION_QUEENED \
    MUST_PLAY_INTENDED NOT_YOUR_TURN GAME_OVER NOT_RUNNING NOT_ALLOWED TOO_LATE DEFAULT_TIME \
    NO_OFFER OFFER_NOT_ALLOWED OFFER_TOO_EARLY OFFER_REPEAT OFFER_CONDITIONAL \
    OFFER_CANNOT_WITHDRAW CLAIM_INCORRECT CLAIM_TOO_LATE CLAIM_NOT_ON_MOVE CLAIM_NOT_ALLOWED \
    CLAIM_AFTER_TOUCH CLAIM_CANNOT_WITHDRAW UNKNOWN_CLAIM SCORE_NOT_ALLOWED STANDS";

/// The terminations of the conformance cases, in their spelling.
const TERMINATIONS: &str = "checkmate stalemate dead_position material_draw resignation \
    resignation_no_mate agreement threefold_claim threefold_auto fivefold fifty_claim fifty_auto \
    seventy_five perpetual_check time_forfeit time_no_mate both_flags default_forfeit \
    double_forfeit no_start illegal_moves illegal_moves_no_mate illegal_position_draw \
    claim_opponent_insufficient quickplay_claim sealed_move arbiter_decision signed_result \
    abandonment wrong_initial_position colours_reversed aborted";

/// The results of the conformance cases, as the comments of `GameResult` open.
const RESULTS: [&str; 10] = [
    "*", "1-0", "0-1", "1/2-1/2", "0-0", "1/2-0", "0-1/2", "+/-", "-/+", "-/-",
];

/// The status codes of gRPC, in the order of their numbers.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

#[test]
fn unary_methods_can_be_repeated() {
    let contract = Contract::read();
    let methods = contract.methods();
    assert!(!methods.is_empty(), "the descriptor set has no methods");
    for (name, method) in methods {
        let streams = method.client_streaming() || method.server_streaming();
        let level = method
            .options
            .as_ref()
            .map_or(IdempotencyLevel::IdempotencyUnknown, |options| {
                options.idempotency_level()
            });
        assert!(
            streams || level != IdempotencyLevel::IdempotencyUnknown,
            "{name} is unary and has no idempotency level"
        );
    }
}

#[test]
fn service_config_covers_every_method() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../proto/referee/v1/service_config.json"
    );
    let text = std::fs::read_to_string(path).expect("the service config stands beside the protos");
    let config: Value = serde_json::from_str(&text).expect("the service config is JSON");

    let mut configured = BTreeMap::new();
    for entry in config["methodConfig"]
        .as_array()
        .expect("methodConfig is a list")
    {
        for name in entry["name"].as_array().expect("name is a list") {
            let service = name["service"].as_str().expect("each name has a service");
            let method = name["method"].as_str().expect("each name has a method");
            let full = format!("{service}/{method}");
            let earlier = configured.insert(full.clone(), entry.clone());
            assert!(earlier.is_none(), "{full} is configured twice");
        }
    }
    for (name, method) in Contract::read().methods() {
        let entry = configured.remove(&name);
        let entry = entry.unwrap_or_else(|| panic!("{name} is missing in service_config.json"));
        if method.client_streaming() || method.server_streaming() {
            // A stream lasts as long as a game, and its caller knows where to resume.
            assert!(
                entry.get("timeout").is_none(),
                "{name} is a stream with a timeout"
            );
            assert!(
                entry.get("retryPolicy").is_none(),
                "{name} is a stream and is retried"
            );
        } else {
            assert!(entry["timeout"].is_string(), "{name} has no timeout");
            let retry = &entry["retryPolicy"];
            assert_eq!(retry["maxAttempts"], 4, "{name}");
            assert_eq!(
                retry["retryableStatusCodes"],
                serde_json::json!(["UNAVAILABLE", "RESOURCE_EXHAUSTED"]),
                "{name}"
            );
        }
    }
    assert!(
        configured.is_empty(),
        "configured, but in no proto: {:?}",
        configured.keys()
    );
}

#[test]
fn answers_of_the_cases_have_a_value() {
    for answer in ANSWERS.split_whitespace() {
        let name = format!("REASON_{answer}");
        assert!(Reason::from_str_name(&name).is_some(), "there is no {name}");
    }
    for termination in TERMINATIONS.split_whitespace() {
        // The cases spell this one word in British English.
        let name = termination.replace("colours", "colors").to_uppercase();
        let name = format!("TERMINATION_{name}");
        assert!(
            Termination::from_str_name(&name).is_some(),
            "there is no {name}"
        );
    }
    let comments = Contract::read().enum_comments("GameResult");
    for result in RESULTS {
        let opening = format!("`{result}`");
        assert_eq!(
            comments
                .values()
                .filter(|comment| comment.starts_with(&opening))
                .count(),
            1,
            "GameResult has one value for {result}"
        );
    }
    for name in ["GAME_RESULT_CANCELLED", "GAME_RESULT_ABORTED"] {
        assert!(
            GameResult::from_str_name(name).is_some(),
            "there is no {name}"
        );
    }
}

#[test]
fn error_reasons_name_their_status() {
    let comments = Contract::read().enum_comments("ErrorReason");
    for (name, comment) in comments {
        assert!(
            ErrorReason::from_str_name(&name).is_some(),
            "{name} was not generated"
        );
        let reason = name
            .strip_prefix("ERROR_REASON_")
            .expect("buf lint holds the prefix");
        assert!(reason.len() <= 63, "{reason} is too long for ErrorInfo");
        if reason == "UNSPECIFIED" {
            continue;
        }
        let code = comment
            .strip_prefix('`')
            .and_then(|rest| rest.split_once("`. "));
        let code = code.map(|(code, _)| code).unwrap_or_default();
        assert!(
            CODES[1..].contains(&code),
            "{name} does not open with a status: {comment}"
        );
    }
}

#[test]
fn everything_of_variable_size_in_a_request_has_a_limit() {
    let contract = Contract::read();
    let unbounded = contract.unbounded_request_fields();
    assert!(unbounded.is_empty(), "no `Limit: N` beside {unbounded:#?}");
}
