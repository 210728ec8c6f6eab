//! `docs/ERRORS.md`: each reason of an error, against the contract.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;
use prost_types::FileDescriptorSet;
use referee_api::v1::ErrorReason;

/// The details that a status can have beside its `ErrorInfo`.
const DETAILS: [&str; 2] = ["BadRequest", "RetryInfo"];

/// Returns what the contract says of each reason, without the prefix.
fn contract() -> BTreeMap<String, String> {
    let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET).expect("descriptors");
    let file = set
        .file
        .iter()
        .find(|file| file.name().ends_with("/error_reason.proto"));
    let file = file.expect("the contract has its reasons");
    let reasons = file.enum_type.first().expect("they are an enum");
    let mut said = BTreeMap::new();
    for location in file.source_code_info.iter().flat_map(|info| &info.location) {
        // The enum is the first of the file, and its values are field 2 of its descriptor.
        if let [5, 0, 2, index] = location.path[..] {
            let value = &reasons.value[index as usize];
            let words = location.leading_comments().split_whitespace();
            said.insert(short(value.name()), words.collect::<Vec<_>>().join(" "));
        }
    }
    let known = (1..).map_while(|number| ErrorReason::try_from(number).ok());
    let known: BTreeSet<String> = known.map(|reason| short(reason.as_str_name())).collect();
    said.retain(|name, _| name != "UNSPECIFIED");
    assert_eq!(
        said.keys().cloned().collect::<BTreeSet<_>>(),
        known,
        "numbers without gaps"
    );
    said
}

fn short(name: &str) -> String {
    name.trim_start_matches("ERROR_REASON_").to_owned()
}

/// Returns the words in backquotes that are names of keys.
fn keys(text: &str) -> BTreeSet<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_key = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    quoted.filter(is_key).collect()
}

#[test]
fn the_page_has_every_reason() {
    let contract = contract();
    let mut open: BTreeSet<&str> = contract.keys().map(String::as_str).collect();
    let page = super::read("ERRORS.md");
    for line in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line
            .split(" | ")
            .map(|cell| cell.trim_matches(['|', ' ']))
            .collect();
        let [reason, status, details, of, when, way_out] = cells[..] else {
            panic!("six cells are expected: {line}");
        };
        let reason = reason.trim_matches('`');
        assert!(
            open.remove(reason),
            "{reason} is no reason, or stands twice"
        );
        let said = &contract[reason];
        assert!(
            said.starts_with(&format!("{status}. ")),
            "{reason} is {status}? {said}"
        );
        for detail in DETAILS {
            assert_eq!(
                details.contains(detail),
                said.contains(detail),
                "{reason}: {detail}"
            );
        }
        let in_contract = said.split_once("Keys").map(|(_, rest)| keys(rest));
        assert_eq!(keys(of), in_contract.unwrap_or_default(), "{reason}: keys");
        assert!(
            when.ends_with('.') && way_out.ends_with('.'),
            "{reason}: sentences"
        );
    }
    assert!(open.is_empty(), "docs/ERRORS.md lacks {open:?}");
}
