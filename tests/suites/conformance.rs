//! `referee conform`: every case is ruled right by a server that runs, and every expectation of a
//! case is one that can fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use referee_api::v1;
use referee_tests::process::{Referee, binary};
use referee_tests::{lines, root};
use serde_json::{Value, json};

/// How many cases there are about the Laws, besides those of our own.
const LAW_CASES: usize = 235;
/// How many reports can be asked about: all but those with steps in words.
const REPORTS: usize = 145;
/// How many reports are steps in words.
const REPORTS_LATER: usize = 31;

fn data(file: &str) -> PathBuf {
    root().join("tests/data").join(file)
}

/// Runs the command, against a server that runs where one is given.
fn conform(files: &[&Path], target: Option<&Referee>, more: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command
        .args(["--log", "warn", "conform"])
        .args(files)
        .args(more);
    if let Some(referee) = target {
        command
            .arg("--target")
            .arg(format!("http://{}", referee.address()));
    }
    command.output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The verdict of each case by its id, and the sums, as `--json` writes them.
fn verdicts(output: &Output) -> (BTreeMap<String, Value>, Value) {
    let out = text(&output.stdout);
    let mut lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let sums = lines.pop().expect("the sums come last");
    let name = |case: &Value| case["id"].as_str().unwrap_or_default().to_owned();
    (
        lines.into_iter().map(|case| (name(&case), case)).collect(),
        sums,
    )
}

#[test]
fn every_case_is_ruled_right_by_a_server_that_runs() {
    let referee = Referee::start();
    let (laws, reports) = (data("cases/laws.jsonl"), data("cases/reports.jsonl"));
    let files = [
        "cases/own.jsonl",
        "cases/own_laws.jsonl",
        "cases/arbiters.jsonl",
        "cases/turn2.jsonl",
        "cases/own_reports.jsonl",
        "chess/reports.jsonl",
        "pgn/reports.jsonl",
    ];
    let own: Vec<Value> = files.iter().flat_map(|file| lines(file)).collect();
    // The steps of a sequence are words; see the suite `sequences`.
    let own_later = own.iter().filter(|case| case["kind"] == "sequence").count();
    let own = own.len() - own_later;
    let own_files = files.map(data);
    let mut files = vec![laws.as_path(), &reports];
    files.extend(own_files.iter().map(PathBuf::as_path));
    let output = conform(&files, Some(&referee), &[]);
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    let last = format!("{} passed, 0 failed", LAW_CASES + REPORTS + own);
    assert_eq!(out.lines().last(), Some(last.as_str()), "{out}");
    // Nothing is passed over in silence.
    let skipped: usize = out
        .lines()
        .filter_map(|line| {
            line.strip_prefix("skipped ")?
                .split(' ')
                .next()?
                .parse::<usize>()
                .ok()
        })
        .sum();
    assert_eq!(skipped, REPORTS_LATER + own_later, "{out}");
    assert_eq!(text(&output.stderr), "", "no field of a case is unknown");
}

#[test]
fn a_server_of_its_own_rules_the_same() {
    let laws = data("cases/laws.jsonl");
    let output = conform(&[&laws], None, &["--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (verdicts, sums) = verdicts(&output);
    assert_eq!(verdicts.len(), LAW_CASES);
    assert_eq!(
        sums,
        json!({"passed": LAW_CASES, "failed": 0, "skipped": 0})
    );
}

/// `referee conform` counts with the moves of the referee; the counter of our own is held as well.
#[test]
fn the_counts_of_reports_are_those_of_the_counter() {
    let reports = lines("cases/reports.jsonl").into_iter();
    let counts: Vec<Value> = reports.filter(|case| case["kind"] == "perft").collect();
    assert!(counts.len() >= 5, "only {} counts", counts.len());
    for case in counts {
        let input = &case["input"];
        let mut command = Command::new(binary());
        command.arg("perft").arg(input["depth"].to_string());
        command.args(["--fen", input["fen"].as_str().unwrap_or_default(), "--json"]);
        if input["x960"] == true {
            command.arg("--chess960");
        }
        let output = command.output().expect("the binary runs");
        let counted: Value = serde_json::from_str(&text(&output.stdout)).unwrap_or_default();
        assert_eq!(counted["nodes"], case["expect"]["nodes"], "{case}");
    }
}

/// Another value of the same kind, which the referee must not answer with.
fn other(key: &str, value: &Value) -> Option<Value> {
    Some(match (key, value) {
        ("start_rejected" | "start_illegal", _) => return None,
        ("result", Value::String(text)) if text == "1-0" => json!("0-1"),
        ("result", Value::String(_)) => json!("1-0"),
        ("termination", Value::String(text)) if text == "checkmate" => json!("stalemate"),
        ("termination", Value::String(_)) => json!("checkmate"),
        ("exp", Value::String(text)) if text == "ok" => json!("NO_OFFER"),
        ("exp", Value::String(_)) => json!("ok"),
        ("mode", Value::String(_)) => json!("bronstein"),
        (_, Value::String(text)) if text.len() == 1 => json!("X"),
        (_, Value::String(text)) => json!(format!("{text}0")),
        (_, Value::Bool(flag)) => json!(!flag),
        (_, Value::Number(number)) => json!(number.as_i64()? + 1),
        _ => return None,
    })
}

/// Every way to change one expectation below a value.
fn changes(key: &str, value: &Value) -> Vec<Value> {
    if let Value::Object(fields) = value {
        let mut all = Vec::new();
        for (name, inner) in fields {
            for changed in changes(name, inner) {
                let mut copy = value.clone();
                copy[name] = changed;
                all.push(copy);
            }
        }
        return all;
    }
    other(key, value).into_iter().collect()
}

/// What nearly every case expects.
const COMMON: [&str; 4] = ["result", "over", "final_fen", "helpmate_possible"];
/// Of how many of those one is changed. It shares no factor with their number in a case.
const COMMON_STEP: usize = 7;

/// The cases that one changed expectation makes wrong, each under a name that says what changed.
fn wrong_law_cases() -> Vec<Value> {
    let (mut wrong, mut turn) = (Vec::new(), 0);
    let cases = lines("cases/laws.jsonl").into_iter();
    for case in cases.chain(lines("cases/own.jsonl")) {
        let mut push = |mut copy: Value, what: String| {
            let id = copy["id"].as_str().unwrap_or_default();
            copy["id"] = json!(format!("{id} {what}"));
            wrong.push(copy);
        };
        let events = case["events"].as_array().cloned().unwrap_or_default();
        // Two bishops of one color beside eight pawns: what an illegal move left can be played
        // on, but no question can be asked about it alone.
        let is_illegal = events.iter().any(|event| event["exp"] == "STANDS");
        for part in ["expect", "facts"] {
            for (number, changed) in changes(part, &case[part]).into_iter().enumerate() {
                // It says how the facts were checked, and nothing about the game.
                let is_changed = |field| changed.get(field) != case[part].get(field);
                if is_changed("skip_start_check") || is_illegal && is_changed("helpmate_possible") {
                    continue;
                }
                // What nearly every case expects is changed in some of them.
                let is_common = COMMON.iter().any(|field| is_changed(field));
                turn += usize::from(is_common);
                if is_common && !turn.is_multiple_of(COMMON_STEP) {
                    continue;
                }
                let mut copy = case.clone();
                copy[part] = changed;
                push(copy, format!("{part} {number}"));
            }
        }
        for (number, event) in events.iter().enumerate() {
            if let Some(changed) = event.get("exp").and_then(|exp| other("exp", exp)) {
                let mut copy = case.clone();
                copy["events"][number]["exp"] = changed;
                push(copy, format!("event {number}"));
            }
        }
    }
    wrong
}

/// Asks about cases that are all wrong, and returns what was said of them: that each fails.
fn fail_all(referee: &Referee, wrong: &[Value]) -> (BTreeMap<String, Value>, Value) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("wrong.jsonl");
    write_lines(&file, wrong);
    let output = conform(&[&file], Some(referee), &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let (verdicts, sums) = verdicts(&output);
    let passed: Vec<&String> = verdicts
        .iter()
        .filter(|(_, case)| case["verdict"] != "failed")
        .map(|(id, _)| id)
        .collect();
    assert!(
        passed.is_empty(),
        "these pass although they are wrong: {passed:?}"
    );
    (verdicts, sums)
}

#[test]
fn no_expectation_of_a_case_goes_unchecked() {
    let referee = Referee::start();
    let wrong = wrong_law_cases();
    assert!(wrong.len() > 500, "only {} expectations", wrong.len());
    let (verdicts, sums) = fail_all(&referee, &wrong);
    assert_eq!(sums["failed"], json!(wrong.len()));
    // A case fails by what the referee answers, not because it cannot be read.
    let unread = verdicts
        .values()
        .find(|case| case["failures"][0]["step"] == "read the case");
    assert_eq!(unread, None);
}

/// Every way to change one thing that is expected of a record, also in lists.
fn record_changes(key: &str, value: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut push = |place: &Value, inner: &Value| {
        for changed in record_changes("", inner) {
            let mut copy = value.clone();
            match place {
                Value::String(name) => copy[name.as_str()] = changed,
                index => copy[index.as_u64().unwrap_or_default() as usize] = changed,
            }
            all.push(copy);
        }
    };
    match value {
        // Any of them is right.
        Value::Array(_) if key == "games_any" => return vec![json!([99])],
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                push(&json!(index), inner);
            }
            // No more and no less than is expected.
            all.push(json!([list.clone(), vec![json!(1)]].concat()));
        }
        Value::Object(fields) => {
            for (name, inner) in fields {
                push(&json!(name), inner);
            }
        }
        Value::Null => all.push(json!(1)),
        Value::Number(number) => match number.as_u64() {
            Some(number) => all.push(json!(number + 1)),
            None => all.push(json!(number.as_f64().unwrap_or_default() + 0.25)),
        },
        other_value => all.extend(other(key, other_value)),
    }
    all
}

/// The reports about records that one changed expectation makes wrong.
fn wrong_records() -> Vec<Value> {
    let mut wrong = Vec::new();
    let cases = lines("cases/reports.jsonl").into_iter();
    for case in cases.chain(lines("pgn/reports.jsonl")) {
        if case["kind"] != "pgn" {
            continue;
        }
        let expected = case["expect"].as_object().cloned().unwrap_or_default();
        // It allows an error, and this referee reads every one of them without.
        for (key, value) in expected.iter().filter(|(key, _)| *key != "lenient") {
            for (number, changed) in record_changes(key, value).into_iter().enumerate() {
                let mut copy = case.clone();
                let id = case["id"].as_str().unwrap_or_default();
                copy["id"] = json!(format!("{id} {key} {number}"));
                copy["expect"][key] = changed;
                wrong.push(copy);
            }
        }
    }
    wrong
}

/// The reports that one changed expectation makes wrong. What a lenient or a strict referee may
/// answer either way is left out.
fn wrong_reports() -> Vec<Value> {
    let mut wrong = wrong_records();
    assert!(wrong.len() > 80, "only {} about records", wrong.len());
    for case in lines("cases/reports.jsonl") {
        let is_soft = ["lenient", "fen_may_reject"]
            .iter()
            .any(|soft| case["expect"][*soft] == true);
        let is_other = ["pgn", "sequence"].iter().any(|kind| case["kind"] == *kind);
        // A shallow count fails as a deep one does, and is asked for in no time.
        let is_deep = case["kind"] == "perft" && case["input"]["depth"].as_u64() > Some(1);
        if is_soft || is_other || is_deep || case.get("misread").is_some() {
            continue;
        }
        let expected = case["expect"].as_object().cloned().unwrap_or_default();
        for (key, value) in &expected {
            let changed = match (key.as_str(), value) {
                // Men that suffice may still stand so that they cannot mate, and so on.
                ("insuff_w" | "insuff_b", _) | (_, Value::Null) => continue,
                // A position that may also be read leniently cannot be refused wrongly.
                ("accept", _) if expected.contains_key("or_fen") => continue,
                ("exclude" | "or_fen" | "fen_any", _) => continue,
                ("exact" | "include", _) => vec![json!(["a1a1"])],
                ("claim_with_move", Value::String(_)) => vec![json!("a1a1")],
                ("ruling", _) => vec![json!("1-0 stalemate")],
                _ => changes(key, value),
            };
            for (number, changed) in changed.into_iter().enumerate() {
                let mut copy = case.clone();
                let id = case["id"].as_str().unwrap_or_default();
                copy["id"] = json!(format!("{id} {key} {number}"));
                copy["expect"][key] = changed;
                wrong.push(copy);
            }
        }
    }
    wrong
}

fn write_lines(file: &Path, cases: &[Value]) {
    let text: Vec<String> = cases.iter().map(Value::to_string).collect();
    fs::write(file, text.join("\n")).expect("a file can be written");
}

#[test]
fn no_expectation_of_a_report_goes_unchecked() {
    let referee = Referee::start();
    let mut wrong = wrong_reports();
    assert!(wrong.len() > 160, "only {} expectations", wrong.len());
    // The reason for which a case that misreads the Laws is refused is held as well.
    let misread = lines("cases/reports.jsonl")
        .into_iter()
        .find(|case| case.get("misread").is_some());
    let mut misread = misread.expect("one case misreads the Laws");
    misread["misread"]["issue"] = json!("IMPOSSIBLE_CHECK");
    wrong.push(misread);
    let (verdicts, _) = fail_all(&referee, &wrong);
    assert_eq!(verdicts.len(), wrong.len());
}

/// A case that passes.
fn good_case() -> Value {
    json!({
        "id": "good", "profile": "fide_standard", "start": "startpos", "why": "it is ordinary",
        "events": [{"t": "move", "by": "w", "uci": "e2e4", "exp": "ok"}],
        "expect": {"result": "*", "over": false},
    })
}

/// Cases that cannot be read, each with what is said of it.
fn unreadable_cases() -> Vec<(Value, &'static str)> {
    let change = |path: &str, value: Value| {
        let mut case = good_case();
        *case.pointer_mut(path).expect("the path is there") = value;
        case["id"] = json!(path);
        case
    };
    let mut cases = vec![
        (
            change("/start", json!(7)),
            "start: must be a text, but is a number",
        ),
        (change("/profile", Value::Null), "profile: is missing"),
        (
            change("/events", json!("none")),
            "events: must be a list, but is a text",
        ),
        (
            change("/events/0", json!(1)),
            "events[0]: must be an object, but is a number",
        ),
        (
            change("/events/0/t", json!("fly")),
            "events[0].t: 'fly' is no kind of event",
        ),
        (
            change("/events/0/by", json!("x")),
            "events[0].by: must be w or b, but is 'x'",
        ),
        (
            change("/events/0/by", Value::Null),
            "events[0].by: is missing",
        ),
        (
            change("/events/0/exp", json!("maybe")),
            "events[0].exp: 'maybe' is no answer",
        ),
        (change("/expect", Value::Null), "expect: is missing"),
        (
            change("/expect/result", json!("2-0")),
            "expect.result: must be one of",
        ),
        (
            change("/expect", json!({"winner": "w"})),
            "expect.winner: is not known",
        ),
    ];
    let with = |key: &str, value: Value| {
        let mut case = good_case();
        case[key] = value;
        case["id"] = json!(key);
        case
    };
    cases.push((
        with("overrides", json!({"threefold": "sometimes"})),
        "overrides.threefold: must be one of claim, automatic",
    ));
    cases.push((
        with("setup", json!({"clock": {"periods": [{"moves": 40}]}})),
        "setup.clock.periods[0].ms: is missing",
    ));
    cases.push((
        json!({"id": "kind", "kind": "poem", "input": {}, "expect": {}}),
        "kind: 'poem' is no kind of report",
    ));
    cases.push((json!({"id": "bare"}), "events: is missing"));
    cases
}

#[test]
fn a_case_that_cannot_be_read_fails_by_its_line_and_field() {
    let cases = unreadable_cases();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("cases.jsonl");
    let mut all: Vec<Value> = cases.iter().map(|(case, _)| case.clone()).collect();
    all.push(good_case());
    write_lines(&file, &all);
    let output = conform(&[&file], None, &[]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    for (number, (_, reason)) in cases.iter().enumerate() {
        let expected = format!("{}:{}: {reason}", file.display(), number + 1);
        assert!(out.contains(&expected), "{expected} is missing in:\n{out}");
    }
    let last = format!("1 passed, {} failed", cases.len());
    assert_eq!(out.lines().last(), Some(last.as_str()));
}

#[test]
fn a_field_that_nobody_knows_is_told() {
    let mut case = good_case();
    case["events"][0]["colour"] = json!("green");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("cases.jsonl");
    write_lines(&file, &[case]);
    let output = conform(&[&file], None, &[]);
    assert!(output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains("cases.jsonl:1: events[0].colour: is not known"),
        "{said}"
    );
}

#[test]
fn games_that_are_left_on_a_server_can_be_found() {
    let referee = Referee::start();
    let output = conform(&[&data("cases/own.jsonl")], Some(&referee), &[]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let games = runtime.block_on(async {
        let listed = referee
            .games()
            .await
            .list_games(v1::ListGamesRequest::default())
            .await;
        listed.expect("games are listed").into_inner().games
    });
    assert!(!games.is_empty());
    for game in games {
        assert!(game.labels.contains_key("conformance"), "{:?}", game.labels);
    }
}

#[test]
fn what_makes_no_sense_is_told_before_anything_is_played() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file can be written");
        path
    };
    let good = good_case().to_string();
    let unread = file("unread.jsonl", &format!("{good}\n\n{{\"id\": \n"));
    let nameless = file("nameless.jsonl", &format!("{good}\n{{\"events\": []}}\n"));
    let long = file(
        "long.jsonl",
        &format!("{good}\n\"{}\"\n", "x".repeat(5 << 20)),
    );
    let good = file("good.jsonl", &good);
    let missing = folder.path().join("missing.jsonl");
    let cases: [(&Path, &[&str], i32, &str); 8] = [
        (&unread, &[], 2, "unread.jsonl:3: is no JSON"),
        (&nameless, &[], 2, "nameless.jsonl:2: id: is missing"),
        (
            &long,
            &[],
            2,
            "long.jsonl:2: the line is longer than 4194304 bytes",
        ),
        (&missing, &[], 2, "missing.jsonl: cannot be read"),
        (folder.path(), &[], 2, "is a folder"),
        (
            &good,
            &["--target", "referee:1"],
            64,
            "--target: referee:1 is no address",
        ),
        (
            &good,
            &["--target", "http://"],
            64,
            "use one such as http://127.0.0.1:50051",
        ),
        // Nobody listens on the port of the discard protocol.
        (
            &good,
            &["--target", "http://127.0.0.1:9"],
            2,
            "http://127.0.0.1:9 cannot be reached",
        ),
    ];
    for (file, more, code, reason) in cases {
        let output = conform(&[file], None, more);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{reason}: {said}");
        assert!(said.contains(reason), "{reason} is missing in: {said}");
        assert_eq!(text(&output.stdout), "", "{reason}: nothing was played");
    }
    let output = conform(&[], None, &[]);
    assert_eq!(output.status.code(), Some(64), "no file is given");
}
