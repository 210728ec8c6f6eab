//! Every error against what the contract says beside its reason.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::FileDescriptorSet;

use super::*;

/// One error of each kind that the contract tells apart.
fn errors() -> Vec<ServiceError> {
    let name = || "games/board-1".to_owned();
    let violation = |limit| Violation {
        field: "field".to_owned(),
        description: "is wrong".to_owned(),
        limit,
    };
    let invalid = |error: Invalid| ServiceError::Invalid(error);
    vec![
        invalid(Invalid::InvalidFields(vec![violation(None)])),
        invalid(Invalid::InvalidFields(vec![violation(Some((1, 2)))])),
        invalid(Invalid::InvalidPosition {
            field: "position.fen".to_owned(),
            issues: vec!["MISSING_KING"],
            description: "White has no king".to_owned(),
        }),
        invalid(Invalid::IllegalHistory {
            field: "position.moves[0]".to_owned(),
            ply: 0,
            text: "e5".to_owned(),
            reason: "UNREACHABLE",
            description: "no pawn reaches e5".to_owned(),
        }),
        ServiceError::InvalidText {
            field: "pgn",
            description: "is no game".to_owned(),
            line: 1,
            column: 2,
            ply: Some(3),
        },
        ServiceError::InvalidPageToken,
        ServiceError::RequestIdReused {
            request_id: "move-1".to_owned(),
        },
        ServiceError::StreamProtocol {
            field: "join",
            description: "comes first",
        },
        ServiceError::GameNotFound { name: name() },
        ServiceError::GameDeleted {
            name: name(),
            at_us: Some(1_700_000_000_000_000),
        },
        ServiceError::GameNotFinished { name: name() },
        ServiceError::NameTaken { name: name() },
        ServiceError::SequenceMismatch {
            expected: 1,
            actual: 2,
        },
        ServiceError::SequenceAhead {
            after: 2,
            actual: 1,
        },
        ServiceError::CursorLost {
            after: "cursor".to_owned(),
        },
        ServiceError::GameFull {
            name: name(),
            what: "events",
            limit: 1,
        },
        ServiceError::BackupRefused {
            reason: "there is no room",
            limit: Some(1),
        },
        ServiceError::PerftJobNotFound { name: name() },
        ServiceError::PerftJobNotFinished { name: name() },
        ServiceError::PerftJobsFull {
            what: "jobs",
            limit: 1,
        },
        ServiceError::SessionNotFound,
        ServiceError::GeneratorUnknown {
            generator: "fast-0".to_owned(),
            known: vec!["fast-1", "fast-2"],
        },
        ServiceError::PerftCredentialsRequired {
            field: "perft_job.redundancy",
        },
        ServiceError::WorkerShutOut {
            credential: "default/w1".to_owned(),
            reason: "counted 7 paths".to_owned(),
        },
        ServiceError::PerftJobNotCounted { name: name() },
        ServiceError::SlowConsumer,
        ServiceError::overloaded(),
        ServiceError::DeadlineExceeded,
        ServiceError::ShuttingDown,
        ServiceError::StreamEnded {
            by: EndedBy::ShuttingDown,
            resume: Some(Resume::AfterSequence(7)),
        },
        ServiceError::StreamEnded {
            by: EndedBy::ConnectionAge,
            resume: Some(Resume::AfterCursor("1-7".to_owned())),
        },
        ServiceError::StoreUnavailable { reason: "is gone" },
        ServiceError::RecordDamaged {
            what: "entry 3".to_owned(),
        },
        ServiceError::CredentialRefused(crate::error::Refusal::Expired),
        ServiceError::RoleDenied {
            action: "CreateGame".to_owned(),
            roles: "platform,operator".to_owned(),
            description: "is not allowed",
        },
        ServiceError::AllowanceSpent {
            holder: "principal",
            what: "calls a second",
            limit: 50,
            retry_after: limits::RETRY_DELAY,
        },
        ServiceError::TokenNotFound {
            name: "tokens/0123456789abcdef".to_owned(),
        },
        ServiceError::TokensFull { limit: 1 },
        ServiceError::MalformedMessage {
            reason: "no message".to_owned(),
        },
        ServiceError::MessageTooLarge { limit: 1 },
        ServiceError::InvariantBroken {
            what: "a test".to_owned(),
        },
    ]
}

/// Returns what the contract says of each reason, without the prefix.
fn contract() -> BTreeMap<String, String> {
    let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET).expect("descriptors");
    let file = set
        .file
        .iter()
        .find(|file| file.name().ends_with("/error_reason.proto"))
        .expect("the contract has its reasons");
    let reasons = &file.enum_type[0].value;
    let locations = file.source_code_info.iter().flat_map(|info| &info.location);
    let said = locations.filter_map(|location| match location.path[..] {
        [5, 0, 2, index] => {
            let name = reasons[index as usize].name();
            let words: Vec<&str> = location.leading_comments().split_whitespace().collect();
            Some((name.replace("ERROR_REASON_", ""), words.join(" ")))
        }
        _ => None,
    });
    said.filter(|(name, _)| name != "UNSPECIFIED").collect()
}

/// Returns the words in backquotes behind `Keys` that are names of keys.
fn keys(said: &str) -> BTreeSet<&str> {
    let behind = said.split_once("Keys").map_or("", |(_, behind)| behind);
    let quoted = behind.split('`').skip(1).step_by(2);
    let is_key = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    quoted.filter(is_key).collect()
}

#[test]
fn every_status_is_as_the_contract_says() {
    let contract = contract();
    let mut missing: BTreeSet<&str> = contract.keys().map(String::as_str).collect();
    for error in errors() {
        let status = Status::from(error.clone());
        let details = status.get_error_details();
        let info = details.error_info().expect("every error has its reason");
        assert_eq!(info.domain, DOMAIN, "{error:?}");
        let said = &contract[&info.reason];
        missing.remove(info.reason.as_str());
        let code = format!("{:?}", status.code()).to_lowercase();
        let stated = said.split('`').nth(1).unwrap_or_default();
        assert_eq!(code, stated.replace('_', "").to_lowercase(), "{error:?}");
        let sent: BTreeSet<&str> = info.metadata.keys().map(String::as_str).collect();
        if said.contains("Keys, of a stream") {
            assert!(sent.is_subset(&keys(said)), "{error:?}");
            continue;
        }
        // A field that is missing or malformed is no text with places, unless it says so.
        if info.reason != "INVALID_FIELD" || !sent.is_empty() {
            assert_eq!(sent, keys(said), "{error:?}");
        }
        let has = |detail: &str| said.contains(detail);
        assert_eq!(
            details.bad_request().is_some(),
            has("BadRequest"),
            "{error:?}"
        );
        assert_eq!(
            details.retry_info().is_some(),
            has("RetryInfo"),
            "{error:?}"
        );
    }
    assert!(missing.is_empty(), "no error has the reason {missing:?}");
}

/// What a client that retries by itself looks at: when to come back, or that it need not.
#[test]
fn what_is_turned_away_says_when_to_come_back() {
    let pushback = |error: ServiceError| {
        let status = Status::from(error);
        let value = status.metadata().get(PUSHBACK)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let delay = limits::RETRY_DELAY.as_millis().to_string();
    assert_eq!(pushback(ServiceError::overloaded()), Some(delay));
    let never = ServiceError::MessageTooLarge { limit: 1 };
    assert_eq!(pushback(never), Some("-1".to_owned()));
    assert_eq!(pushback(ServiceError::ShuttingDown), None);
}
