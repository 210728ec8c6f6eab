//! The table of profiles is whole, each value can be set and read back, and the document of what
//! was chosen is the one that the table gives.

use std::fmt::Write as _;
use std::{env, fs};

use referee_laws::{
    Allowed, Origin, PROFILE_NAMES, ParameterError, Parameters, Profile, ProfileError,
    RapidArticle, Variant,
};

/// What the sources of the table begin with.
const SOURCES: [&str; 12] = [
    "L23 ",
    "AM25 ",
    "ON20",
    "US7",
    "LI",
    "CC",
    "ICS",
    "house 000",
    "house 001",
    "house 002",
    "house 003",
    "house 004",
];

/// The document of what was chosen.
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/PROFILES.md");

fn profile(name: &str) -> Profile {
    Profile::named(name).expect("every name is that of a profile")
}

fn origins(name: &str) -> &'static [Origin] {
    Profile::origins(name).expect("every name is that of a profile")
}

/// Every parameter with its value.
fn words(parameters: &Parameters) -> Vec<(&'static str, String)> {
    let word = |&name| {
        let value = parameters.get(name);
        (name, value.expect("every parameter has a value"))
    };
    Parameters::NAMES.iter().map(word).collect()
}

fn changed(name: &str, overrides: &[(&str, &str)]) -> Parameters {
    let profile = Profile::resolve(name, Variant::Standard, overrides);
    profile.unwrap_or_else(|error| panic!("{error}")).parameters
}

#[test]
fn every_parameter_of_every_profile_has_a_value_and_a_source() {
    for &name in PROFILE_NAMES {
        let profile = profile(name);
        assert_eq!(profile.name, name);
        assert!(!profile.edition.is_empty(), "{name} has no edition");
        let origins = origins(name);
        let named: Vec<&str> = origins.iter().map(|origin| origin.parameter).collect();
        assert_eq!(named, Parameters::NAMES, "{name}");
        for origin in origins {
            let value = profile.parameters.get(origin.parameter);
            let place = format!("{name}.{}", origin.parameter);
            assert_eq!(value.as_deref(), Some(origin.value), "{place}");
            let cites = SOURCES.iter().any(|tag| origin.source.starts_with(tag));
            assert!(
                cites || origin.chosen,
                "{place} cites nothing: {}",
                origin.source
            );
            assert!(origin.source.len() > 1, "{place} has no reason");
        }
    }
}

/// The values that a parameter can have, and one that it cannot.
fn values(name: &str) -> (Vec<String>, Vec<String>) {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    match Parameters::allowed(name).expect("every parameter has values") {
        Allowed::Words(words) => (texts(words), texts(&["", "nonsense", "TRUE", "true "])),
        Allowed::NumberUpTo(max) => {
            let above = u64::from(max) + 1;
            let wrong = [above.to_string(), u64::MAX.to_string(), format!("+{max}")];
            let mut wrong = wrong.to_vec();
            wrong.extend(["", "-1", "1.5", " 1", "١"].map(str::to_owned));
            (vec!["0".into(), "1".into(), max.to_string()], wrong)
        }
        Allowed::HalfPointsUpTo(max) => {
            let above = format!("{}.5/0/0", max / 2);
            let mut wrong = vec![above];
            wrong.extend(
                [
                    "",
                    "1",
                    "1/0",
                    "1/0.5/0/0",
                    "1/.5/0",
                    "1/0.25/0",
                    "-1/0/0",
                    "1/½/0",
                ]
                .map(str::to_owned),
            );
            (
                texts(&["1/0.5/0", "3/1/0", "0/0/0", "2.5/1.5/0.5", "100/100/100"]),
                wrong,
            )
        }
    }
}

#[test]
fn what_is_set_is_read_back_and_changes_nothing_else() {
    let standard = profile("fide_standard").parameters;
    for &name in Parameters::NAMES {
        let (right, wrong) = values(name);
        let mut seen = Vec::new();
        for value in right {
            let mut parameters = standard;
            parameters.set(name, &value).expect("the value is allowed");
            assert_eq!(parameters.get(name).as_ref(), Some(&value), "{name}");
            assert!(
                !seen.contains(&parameters),
                "{name}: two values are the same"
            );
            seen.push(parameters);
            let other = words(&parameters)
                .into_iter()
                .filter(|(other, _)| *other != name);
            for (other, value) in other {
                assert_eq!(standard.get(other), Some(value), "{name} changed {other}");
            }
        }
        for value in wrong {
            let mut parameters = standard;
            let error = parameters
                .set(name, &value)
                .expect_err("the value is not allowed");
            assert!(error.to_string().starts_with(name), "{error}");
            assert_eq!(parameters, standard, "{name}: {value:?} changed something");
        }
    }
}

#[test]
fn errors_name_the_parameter_and_the_way_out() {
    let mut parameters = profile("fide_standard").parameters;
    for (name, value, text) in [
        (
            "threefold",
            "sometimes",
            "threefold must be one of claim, claim_by_either, automatic, off",
        ),
        (
            "illegal_limit",
            "101",
            "illegal_limit must be a whole number from 0 to 100",
        ),
        (
            "points",
            "3-1-0",
            "points must be win/draw/loss, such as 1/0.5/0, each a multiple of 0.5 from 0 to 100",
        ),
    ] {
        let error = parameters.set(name, value).expect_err("it is wrong");
        assert_eq!(error.to_string(), text);
    }
    let unknown = parameters
        .set("castling", "true")
        .expect_err("there is none");
    let text = unknown.to_string();
    assert!(
        Parameters::NAMES.iter().all(|name| text.contains(name)),
        "{text}"
    );
    assert_eq!(parameters.get("castling"), None);
    assert_eq!(Parameters::allowed("castling"), None);
}

#[test]
fn unknown_profiles_are_refused_with_the_list_of_those_known() {
    for name in ["fide", "FIDE_STANDARD", "lichess ", "fide_rapid@A.4"] {
        let errors = [
            Profile::named(name).expect_err("there is none").to_string(),
            Profile::resolve(name, Variant::Standard, &[])
                .expect_err("there is none")
                .to_string(),
            Profile::origins(name)
                .expect_err("there is none")
                .to_string(),
        ];
        for text in errors {
            assert!(
                PROFILE_NAMES.iter().all(|known| text.contains(known)),
                "{text}"
            );
        }
    }
    assert_eq!(profile(""), Profile::fide_standard());
}

#[test]
fn every_wrong_override_is_told_by_its_place() {
    let overrides = [
        ("fifty", "off"),
        ("fifty", "?"),
        ("castling", "true"),
        ("abort_plies", "x"),
    ];
    let error = Profile::resolve("lichess", Variant::Standard, &overrides);
    let Err(ProfileError::Overrides(errors)) = error else {
        panic!("{error:?}");
    };
    let places: Vec<usize> = errors.iter().map(|(place, _)| *place).collect();
    assert_eq!(places, [1, 2, 3]);
    assert_eq!(errors[1].1, ParameterError::UnknownName);
}

/// The guidelines are never for blitz (III.2.2), whatever an event says; elsewhere it may announce
/// them.
#[test]
fn what_a_profile_fixes_cannot_be_changed() {
    let announced = [("guideline_iii", "true")];
    let error = Profile::resolve("fide_blitz", Variant::Standard, &announced);
    let (parameter, value) = ("guideline_iii", "false");
    let fixed = ParameterError::Fixed { parameter, value };
    assert_eq!(error, Err(ProfileError::Overrides(vec![(0, fixed)])));
    assert!(!changed("fide_blitz", &[("guideline_iii", "false")]).guideline_iii);
    assert!(changed("fide_rapid", &announced).guideline_iii);
}

#[test]
fn the_parameters_in_force_bring_back_the_same_profile() {
    let articles = ["A.4", "A.5"];
    for &name in PROFILE_NAMES {
        for article in articles {
            for other in [("fifty", "off"), ("illegal_window_moves", "7")] {
                let parameters = changed(name, &[other, ("rapid_article", article)]);
                let stored = words(&parameters);
                let stored: Vec<(&str, &str)> = stored
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect();
                assert_eq!(
                    changed(name, &stored),
                    parameters,
                    "{name} {article} {other:?}"
                );
            }
        }
    }
}

#[test]
fn the_article_for_rapid_chess_changes_what_depends_on_it() {
    let dependent = |name: &str, overrides: &[(&str, &str)]| {
        let parameters = changed(name, overrides);
        (
            parameters.illegal_window_moves,
            parameters.illegal_penalty_ms,
            parameters.wrong_claim_penalty_ms,
        )
    };
    let supervised = ("rapid_article", "A.4");
    for name in ["fide_rapid", "fide_blitz"] {
        assert_eq!(profile(name).parameters.rapid_article, RapidArticle::A5);
        assert_eq!(dependent(name, &[]), (1, 60_000, 60_000), "{name}");
        assert_eq!(
            dependent(name, &[("rapid_article", "A.5")]),
            (1, 60_000, 60_000),
            "{name}"
        );
    }
    assert_eq!(dependent("fide_rapid", &[supervised]), (0, 60_000, 60_000));
    assert_eq!(
        dependent("fide_blitz", &[supervised]),
        (0, 120_000, 120_000)
    );
    // What is changed by name holds, whichever comes first.
    let window = ("illegal_window_moves", "5");
    assert_eq!(dependent("fide_blitz", &[supervised, window]).0, 5);
    assert_eq!(dependent("fide_blitz", &[window, supervised]).0, 5);
    let twice = [("rapid_article", "A.4"), ("rapid_article", "A.5")];
    assert_eq!(dependent("fide_blitz", &twice), (1, 60_000, 60_000));
    // Elsewhere the article is of no effect.
    let standard = changed("fide_standard", &[("rapid_article", "A.5")]);
    assert_eq!(standard.illegal_window_moves, 0);
}

/// Writes the document that the table gives.
fn document() -> String {
    let mut text = String::from(
        "# What was chosen\n\n\
         The profiles and the source of every value stand in `src/profile/profiles.tsv`. This page \
         lists the\nvalues that the documents which were read do not state, with the reason for \
         each. It is written by\n`REFEREE_WRITE=1 cargo test -p referee-laws --test profiles`, \
         and a test holds it to the table.\n\n\
         `fide_rapid` and `fide_blitz` are under A.5 and B.3 unless `rapid_article` is `A.4`. Then \
         an illegal\nmove can be corrected in the whole game, and in blitz (B.2) the penalties are \
         those of the\ncompetition rules.\n\n\
         | short | document |\n|---|---|\n\
         | L23 | FIDE Laws of Chess in force since 2023-01-01 (E.01), appendices and guidelines |\n\
         | AM25 | FIDE Arbiters' Manual 2025 |\n\
         | ON20 | FIDE Online Chess Regulations of 2020, articles 1 to 5 |\n\
         | US7 | US Chess rulebook, 7th edition, excerpts |\n\
         | LI | lichess, the sources of scalachess and lila as of 2026-08 |\n\
         | CC | chess.com, help pages |\n\
         | ICS | ICC and FICS, help pages |\n\
         | house 000 to 004 | the five house rule documents |\n",
    );
    for &name in PROFILE_NAMES {
        let edition = profile(name).edition;
        let chosen: Vec<&Origin> = origins(name)
            .iter()
            .filter(|origin| origin.chosen)
            .collect();
        let all = Parameters::NAMES.len();
        write!(
            text,
            "\n## {name}\n\n`{edition}`; chosen are {} of {all}.\n\n| parameter | value | why |\n\
             |---|---|---|\n",
            chosen.len()
        )
        .expect("a text takes everything");
        for Origin {
            parameter,
            value,
            source,
            ..
        } in chosen
        {
            writeln!(text, "| `{parameter}` | `{value}` | {source} |").expect("as above");
        }
    }
    text
}

#[test]
fn the_document_lists_what_was_chosen() {
    let expected = document();
    if env::var_os("REFEREE_WRITE").is_some() {
        fs::write(DOCUMENT, &expected).expect("the document can be written");
    }
    let actual = fs::read_to_string(DOCUMENT).unwrap_or_default();
    assert!(
        actual == expected,
        "PROFILES.md is not what the table gives; REFEREE_WRITE=1 writes it anew"
    );
}
