//! Rule profiles over the wire: listed with their sources, changed for one game, kept with it, and
//! refused where a change makes no sense.

use std::collections::BTreeMap;

use prost::Message;
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FileDescriptorSet};
use referee_api::v1;
use referee_laws::{Allowed, PROFILE_NAMES, Parameters};
use referee_tests::process::Referee;
use referee_tests::wire::{self, details};
use serde_json::Value;
use tonic::Code;

/// A number that no parameter takes and no enum has.
const OUT_OF_RANGE: u64 = 2_000_000_000;

/// The description of `RuleParameters` in the contract.
fn contract() -> DescriptorProto {
    let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET);
    let files = set.expect("the descriptors were encoded by the build").file;
    let mut messages = files.into_iter().flat_map(|file| file.message_type);
    messages
        .find(|message| message.name() == "RuleParameters")
        .expect("the contract has parameters")
}

#[test]
fn the_contract_says_how_many_profiles_there_are() {
    let set = FileDescriptorSet::decode(referee_api::FILE_DESCRIPTOR_SET);
    let files = set.expect("the descriptors were encoded by the build").file;
    let comments = files
        .iter()
        .flat_map(|file| file.source_code_info.iter())
        .flat_map(|info| info.location.iter())
        .map(|location| {
            location
                .leading_comments()
                .split_whitespace()
                .collect::<Vec<_>>()
        });
    let sentence = format!("as this referee was built with: {}.", PROFILE_NAMES.len());
    let stated = comments
        .filter(|words| words.join(" ").contains(&sentence))
        .count();
    assert_eq!(stated, 1, "ListRuleProfiles should say '{sentence}'");
}

/// A profile with one of its parameters changed, by the number of its field.
fn changed(name: &str, field: i32, value: u64) -> v1::RuleProfile {
    let mut bytes = Vec::new();
    // A field with a varint: its number, then three bits that are 0.
    prost::encoding::encode_varint((field as u64) << 3, &mut bytes);
    prost::encoding::encode_varint(value, &mut bytes);
    let overrides = v1::RuleParameters::decode(bytes.as_slice());
    v1::RuleProfile {
        name: name.into(),
        overrides: Some(overrides.expect("the bytes are a field of the message")),
        ..Default::default()
    }
}

fn game_under(rule_profile: v1::RuleProfile) -> v1::Game {
    v1::Game {
        rule_profile: Some(rule_profile),
        ..Default::default()
    }
}

fn parameters(game: Option<v1::Game>) -> v1::RuleParameters {
    let profile = game.and_then(|game| game.rule_profile);
    let parameters = profile.and_then(|profile| profile.parameters);
    parameters.expect("a game says which parameters are in force")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_profile_is_listed_with_the_source_of_every_parameter() {
    let contract = contract();
    let mut fields: Vec<&str> = contract.field.iter().map(|field| field.name()).collect();
    fields.sort_unstable();
    let referee = Referee::start();
    let mut rules = referee.rules().await;
    let listed = rules
        .list_rule_profiles(v1::ListRuleProfilesRequest {})
        .await;
    let listed = listed
        .expect("the profiles are listed")
        .into_inner()
        .profiles;
    let mut names = Vec::new();
    for description in &listed {
        let profile = description.profile.as_ref().expect("each is a profile");
        names.push(profile.name.as_str());
        assert!(!profile.edition.is_empty(), "{}", profile.name);
        assert_eq!(profile.overrides, None, "{}", profile.name);
        let mut named: Vec<&str> = description
            .sources
            .iter()
            .map(|source| source.parameter.as_str())
            .collect();
        named.sort_unstable();
        assert_eq!(named, fields, "{}", profile.name);
        for source in &description.sources {
            let place = format!("{}.{}", profile.name, source.parameter);
            assert!(
                !source.value.is_empty() && !source.source.is_empty(),
                "{place}"
            );
        }
        // A game that changes nothing is played under what is listed.
        let mut games = referee.games().await;
        let id = profile.name.replace('_', "-");
        let asked = v1::RuleProfile {
            name: profile.name.clone(),
            ..Default::default()
        };
        let created = games
            .create_game(wire::create(&id, game_under(asked)))
            .await;
        let created = created.expect("a known profile").into_inner().game;
        assert_eq!(
            Some(parameters(created)),
            profile.parameters,
            "{}",
            profile.name
        );
    }
    assert_eq!(names, PROFILE_NAMES);
}

/// What a parameter is called in JSON, and its value there.
fn in_json(parameter: &str, value: &str, json: &Value) -> (String, bool) {
    let mut name = String::new();
    for (index, part) in parameter.split('_').enumerate() {
        let (first, rest) = part.split_at(1);
        let first = if index == 0 {
            first.to_owned()
        } else {
            first.to_uppercase()
        };
        name.push_str(&first);
        name.push_str(rest);
    }
    let found = &json[&name];
    let agrees = match found {
        Value::Bool(flag) => value == flag.to_string(),
        Value::Number(number) => value == number.to_string(),
        // The name of an enum's value ends with the word.
        Value::String(word) => {
            let ending = format!("_{}", value.replace('.', "").to_uppercase());
            word.ends_with(&ending)
        }
        Value::Object(points) => {
            let half = |name: &str| points.get(name).and_then(Value::as_u64).unwrap_or(0);
            let texts = ["winHalfPoints", "drawHalfPoints", "lossHalfPoints"]
                .map(|name| (half(name) as f64 / 2.0).to_string());
            value == texts.join("/")
        }
        _ => false,
    };
    (format!("{name} = {found}"), agrees)
}

#[test]
fn the_values_beside_the_sources_are_those_in_force() {
    let Some(program) = referee_tests::tool("REFEREE_GRPCURL", "grpcurl") else {
        return;
    };
    let referee = Referee::start();
    let output = std::process::Command::new(program)
        .args(["-plaintext", &referee.address().to_string()])
        .arg("referee.v1.RulesService/ListRuleProfiles")
        .output()
        .expect("grpcurl was found before");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("grpcurl writes JSON");
    let profiles = listed["profiles"].as_array().expect("a list of profiles");
    assert_eq!(profiles.len(), PROFILE_NAMES.len());
    let mut compared = 0;
    for profile in profiles {
        let name = &profile["profile"]["name"];
        let parameters = &profile["profile"]["parameters"];
        for source in profile["sources"].as_array().expect("a list of sources") {
            let parameter = source["parameter"].as_str().expect("each is named");
            let value = source["value"].as_str().expect("each has a value");
            let (found, agrees) = in_json(parameter, value, parameters);
            assert!(agrees, "{name}: {parameter} is {value}, but {found}");
            compared += 1;
        }
    }
    assert_eq!(compared, PROFILE_NAMES.len() * Parameters::NAMES.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_out_of_range_is_refused_by_its_name() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let mut refused = 0;
    for field in &contract().field {
        if !matches!(field.r#type(), Type::Uint32 | Type::Enum) {
            continue;
        }
        let profile = changed("lichess", field.number(), OUT_OF_RANGE);
        let asked = games
            .create_game(wire::create("p", game_under(profile)))
            .await;
        let status = asked.expect_err(field.name());
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        let told = details(&status);
        assert_eq!(told.reason, "INVALID_FIELD");
        let name = format!("game.rule_profile.overrides.{}", field.name());
        assert_eq!(told.fields, [name]);
        refused += 1;
    }
    let flags = Parameters::NAMES.iter().filter(|name| {
        let allowed = Parameters::allowed(name);
        allowed == Some(Allowed::Words(&["true", "false"]))
    });
    // All but the flags, and the points, which are a message.
    assert_eq!(refused, Parameters::NAMES.len() - flags.count() - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_profile_is_named_at_once_with_the_way_out() {
    let referee = Referee::start();
    let mut rules = referee.rules().await;
    let overrides = v1::RuleParameters {
        illegal_limit: Some(101),
        takeback: 9,
        points: Some(v1::Points {
            win_half_points: Some(201),
            draw_half_points: Some(1),
            loss_half_points: Some(300),
        }),
        ..Default::default()
    };
    let profile = v1::RuleProfile {
        name: "fide".into(),
        overrides: Some(overrides),
        ..Default::default()
    };
    let request = v1::AdjudicatePositionRequest {
        rule_profile: Some(profile),
        ..Default::default()
    };
    let status = rules
        .adjudicate_position(request)
        .await
        .expect_err("it is wrong");
    let mut fields = details(&status).fields;
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "rule_profile.name",
            "rule_profile.overrides.illegal_limit",
            "rule_profile.overrides.points.draw_half_points",
            "rule_profile.overrides.points.loss_half_points",
            "rule_profile.overrides.points.win_half_points",
            "rule_profile.overrides.takeback",
        ]
    );
    let message = status.message();
    for part in ["from 0 to 100", "from 0 to 200", "house_captures"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
}

/// The guidelines are never for blitz (III.2.2).
#[tokio::test(flavor = "multi_thread")]
async fn what_a_profile_fixes_is_refused_by_its_field() {
    let referee = Referee::start();
    let mut games = referee.games().await;
    let profile = v1::RuleProfile {
        name: "fide_blitz".into(),
        overrides: Some(v1::RuleParameters {
            guideline_iii: Some(true),
            ..Default::default()
        }),
        ..Default::default()
    };
    let created = games
        .create_game(wire::create("blitz", game_under(profile)))
        .await;
    let status = created.expect_err("it is wrong");
    let field = "game.rule_profile.overrides.guideline_iii";
    assert_eq!(details(&status).fields, [field]);
    let text = "cannot be changed in fide_blitz, it is false";
    assert!(status.message().contains(text), "{}", status.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_keeps_the_parameters_it_was_created_with() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    let mut asked = BTreeMap::new();
    for name in PROFILE_NAMES {
        let overrides = v1::RuleParameters {
            rapid_article: v1::RapidArticle::A4.into(),
            wrong_claim_penalty_ms: Some(7),
            fifty: v1::DrawRule::Off.into(),
            points: Some(v1::Points {
                win_half_points: Some(6),
                draw_half_points: Some(2),
                loss_half_points: Some(0),
            }),
            ..Default::default()
        };
        let profile = v1::RuleProfile {
            name: (*name).into(),
            overrides: Some(overrides),
            ..Default::default()
        };
        let id = name.replace('_', "-");
        let created = games
            .create_game(wire::create(&id, game_under(profile)))
            .await;
        let resolved = parameters(created.expect("it makes sense").into_inner().game);
        assert_eq!(resolved.wrong_claim_penalty_ms, Some(7), "{name}");
        assert_eq!(resolved.fifty(), v1::DrawRule::Off, "{name}");
        asked.insert(id, resolved);
    }
    let blitz = &asked["fide-blitz"];
    assert_eq!(
        blitz.illegal_window_moves,
        Some(0),
        "A.4 reaches the whole game"
    );
    assert_eq!(
        blitz.illegal_penalty_ms,
        Some(120_000),
        "B.2 keeps two minutes"
    );
    referee.kill();

    let referee = Referee::start_in(folder.path());
    let mut games = referee.games().await;
    for (id, resolved) in asked {
        let move_made = wire::submit(&id, v1::Seat::White, wire::make_move("e4"));
        games
            .submit_action(move_made)
            .await
            .expect("the game goes on");
        let request = v1::GetGameRequest {
            name: format!("games/{id}"),
        };
        let game = games
            .get_game(request)
            .await
            .expect("it is there")
            .into_inner()
            .game;
        assert_eq!(parameters(game), resolved, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_decides_whether_a_repetition_has_to_be_claimed() {
    let referee = Referee::start();
    let mut rules = referee.rules().await;
    let moves = ["Nf3", "Nf6", "Ng1", "Ng8"].repeat(2);
    let position = v1::Position {
        moves: moves.into_iter().map(str::to_owned).collect(),
        ..Default::default()
    };
    for (name, termination) in [
        ("", v1::Termination::Unspecified),
        ("uscf", v1::Termination::Unspecified),
        ("fide_online", v1::Termination::ThreefoldAuto),
        ("chesscom", v1::Termination::ThreefoldAuto),
        ("house_software", v1::Termination::ThreefoldAuto),
    ] {
        let request = v1::AdjudicatePositionRequest {
            position: Some(position.clone()),
            rule_profile: Some(v1::RuleProfile {
                name: name.into(),
                ..Default::default()
            }),
        };
        let answer = rules
            .adjudicate_position(request)
            .await
            .expect("it can be judged");
        let outcome = answer
            .into_inner()
            .adjudication
            .and_then(|found| found.outcome);
        let found = outcome.map(|outcome| outcome.termination());
        assert_eq!(found, Some(termination), "{name}");
    }
}
