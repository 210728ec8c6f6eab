//! `referee conform`: every case is ruled right by a server that runs, and every expectation of a
//! case is one that can fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use referee_tests::process::{Referee, binary};
use referee_tests::{lines, root};
use serde_json::{Value, json};

/// How many cases there are about the Laws: those that were given, and our own.
const LAW_CASES: usize = 235;
/// How many reports can be asked about: all but the records and those with steps in words.
const REPORTS: usize = 110;
/// How many reports are records or steps in words.
const REPORTS_LATER: usize = 66;

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
    let board = data("chess/reports.jsonl");
    let files = [laws.as_path(), &reports, &board];
    let output = conform(&files, Some(&referee), &[]);
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    let own = lines("chess/reports.jsonl").len();
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
    assert_eq!(skipped, REPORTS_LATER, "{out}");
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

/// The cases that one changed expectation makes wrong, each under a name that says what changed.
fn wrong_law_cases() -> Vec<Value> {
    let mut wrong = Vec::new();
    for case in lines("cases/laws.jsonl") {
        let mut push = |mut copy: Value, what: String| {
            let id = copy["id"].as_str().unwrap_or_default();
            copy["id"] = json!(format!("{id} {what}"));
            wrong.push(copy);
        };
        for part in ["expect", "facts"] {
            for (number, changed) in changes(part, &case[part]).into_iter().enumerate() {
                // It says how the facts were checked, and nothing about the game.
                let skip = "skip_start_check";
                if changed.get(skip) != case[part].get(skip) {
                    continue;
                }
                let mut copy = case.clone();
                copy[part] = changed;
                push(copy, format!("{part} {number}"));
            }
        }
        for (number, event) in case["events"].as_array().into_iter().flatten().enumerate() {
            if let Some(changed) = event.get("exp").and_then(|exp| other("exp", exp)) {
                let mut copy = case.clone();
                copy["events"][number]["exp"] = changed;
                push(copy, format!("event {number}"));
            }
        }
    }
    wrong
}

#[test]
fn no_expectation_of_a_case_goes_unchecked() {
    let referee = Referee::start();
    let wrong = wrong_law_cases();
    assert!(wrong.len() > 1_000, "only {} expectations", wrong.len());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("wrong.jsonl");
    let text: Vec<String> = wrong.iter().map(Value::to_string).collect();
    fs::write(&file, text.join("\n")).expect("a file can be written");
    let output = conform(&[&file], Some(&referee), &["--json"]);
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
    assert_eq!(sums["failed"], json!(wrong.len()));
    // A case fails by what the referee answers, not because it cannot be read.
    let unread = verdicts
        .values()
        .find(|case| case["failures"][0]["step"] == "read the case");
    assert_eq!(unread, None);
}
