//! `docs/CLOCKS.md`: what makes a flag fall under each profile.

use std::collections::BTreeSet;

use referee_api::v1::{ListRuleProfilesRequest, RuleProfileDescription};
use referee_tests::process::Referee;
use referee_tests::root;

/// What the page tells of each profile.
const PARAMETERS: [&str; 4] = [
    "flag_mode",
    "default_time_ms",
    "increment_at_start",
    "flag_vs_open_offer",
];

fn value<'a>(profile: &'a RuleProfileDescription, parameter: &str) -> &'a str {
    let mut values = profile.sources.iter();
    let found = values.find(|value| value.parameter == parameter);
    &found.expect("every parameter is listed").value
}

fn name(profile: &RuleProfileDescription) -> &str {
    let profile = profile.profile.as_ref();
    &profile.expect("a description has a profile").name
}

/// What the value of `flag_mode` means, in words.
fn who(mode: &str) -> &'static str {
    match mode {
        "clock" => "by itself",
        "observed" => "when a player or the arbiter says so",
        "claimed" => "when the opponent or the arbiter says so",
        other => panic!("{other} is new: say what it means"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_says_who_makes_a_flag_fall() {
    let referee = Referee::start();
    let listed = referee
        .rules()
        .await
        .list_rule_profiles(ListRuleProfilesRequest {})
        .await;
    let profiles = listed.expect("listed").into_inner().profiles;
    let heads = PARAMETERS.map(|name| format!("`{name}`")).join(" | ");
    let mut page = vec![
        format!("| profile | a flag falls | {heads} |"),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    for profile in &profiles {
        let values = PARAMETERS.map(|name| format!("`{}`", value(profile, name)));
        let who = who(value(profile, "flag_mode"));
        page.push(format!(
            "| `{}` | {who} | {} |",
            name(profile),
            values.join(" | ")
        ));
    }
    super::hold("CLOCKS.md", "flags", &page);

    // The README and the contract name those that let it fall by itself.
    let by_itself: BTreeSet<&str> = profiles
        .iter()
        .filter(|profile| value(profile, "flag_mode") == "clock")
        .map(name)
        .collect();
    assert!(
        !by_itself.contains(name(&profiles[0])),
        "the default is in every text"
    );
    for file in ["README.md", "proto/referee/v1/clock.proto"] {
        let text = std::fs::read_to_string(root().join(file)).expect("it is there");
        let text = text
            .replace("\n// ", " ")
            .replace("\n  // ", " ")
            .replace('\n', " ");
        let names: Vec<String> = by_itself.iter().map(|name| format!("`{name}`")).collect();
        let sentence = format!("by itself only under {}", names.join(", "));
        assert!(text.contains(&sentence), "{file} should say '{sentence}'");
    }
}
