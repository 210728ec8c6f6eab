//! Faults that people met in other programs: each case of `reports.jsonl` about files of games,
//! and our own of the same kinds.

mod support;

use std::fs;

use referee_pgn::{Note, Reading, Severity};
use serde_json::Value;
use support::{read, read_in_pieces, root};

/// Returns the cases from the field and our own.
fn cases() -> Vec<Value> {
    let mut cases = Vec::new();
    for name in [
        "cases/reports.jsonl",
        "cases/turn2.jsonl",
        "pgn/cases.jsonl",
        "pgn/reports.jsonl",
    ] {
        let path = root().join("tests/data").join(name);
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()));
        let lines = text.lines().filter(|line| !line.is_empty());
        let found = lines
            .map(|line| serde_json::from_str::<Value>(line).expect("each line is a case in JSON"));
        cases.extend(found.filter(|case| case["kind"] == "pgn"));
    }
    cases
}

/// The bytes of a case. A long text is made by what its `generator` says.
fn input(case: &Value) -> Vec<u8> {
    let input = &case["input"];
    if let Some(text) = input["b64"].as_str() {
        return decode_base64(text);
    }
    let text = input["text"].as_str().expect("a case has a text");
    match input.get("generator") {
        None => text.as_bytes().to_vec(),
        Some(_) => {
            // The text is cut where `…[300176 bytes]…` stands; words fill the gap.
            let (head, tail) = text.split_once('…').expect("a cut text has an ellipsis");
            let (note, tail) = tail.split_once('…').expect("a cut text has two");
            let digits: String = note.chars().filter(char::is_ascii_digit).collect();
            let length: usize = digits.parse().expect("the note has a length");
            let gap = length.saturating_sub(head.len() + tail.len());
            let words = "word ".repeat(gap / 5 + 1);
            format!("{head} {words}{tail}").into_bytes()
        }
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let bytes: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').collect();
    let mut decoded = Vec::new();
    for group in bytes.chunks(4) {
        let bits = group.iter().fold(0, |bits, &byte| bits << 6 | value(byte));
        let bits = bits << (6 * (4 - group.len()));
        decoded.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    decoded
}

fn check(case: &Value) -> Result<(), String> {
    let expect = &case["expect"];
    let text = input(case);
    let (readings, stray) = read(&text);
    let pieces = read_in_pieces(&text, 7);
    if format!("{:?}", (&readings, &stray)) != format!("{pieces:?}") {
        return Err("what is read depends on how the text is cut".to_owned());
    }
    let summary = || {
        let faults: Vec<String> = readings
            .iter()
            .flat_map(|reading| &reading.faults)
            .chain(&stray)
            .map(ToString::to_string)
            .collect();
        format!("{} games, faults {faults:#?}", readings.len())
    };
    for key in expect
        .as_object()
        .expect("an expectation is an object")
        .keys()
    {
        let value = &expect[key];
        let is_met = match key.as_str() {
            "games" => value == readings.len(),
            "games_any" => value
                .as_array()
                .is_some_and(|list| list.iter().any(|games| games == readings.len())),
            "plies" => {
                let plies: Vec<usize> = readings.iter().map(|r| r.game.moves.len()).collect();
                *value == Value::from(plies) && readings.iter().all(|r| r.unplayed == 0)
            }
            "board" => {
                let boards = readings.iter().map(|reading| {
                    let fen = reading.game.final_position().to_string();
                    Value::from(fen.split(' ').next())
                });
                *value == Value::from(boards.collect::<Vec<_>>())
            }
            "clocks" => has_clocks(&readings[0], value),
            "illegal_at" => has_illegal_move(&readings[0], value),
            "error" => {
                let mut readings = readings.iter();
                *value == readings.any(|reading| reading.first_error().is_some())
            }
            "faults" => {
                let names = readings
                    .iter()
                    .flat_map(|reading| &reading.faults)
                    .chain(&stray);
                let names: Vec<&str> = names.map(|fault| fault.kind.name()).collect();
                *value == Value::from(names)
            }
            "places" => {
                let places = readings
                    .iter()
                    .flat_map(|reading| &reading.faults)
                    .chain(&stray);
                let places: Vec<Value> = places
                    .map(|fault| Value::from(vec![fault.place.line, fault.place.column]))
                    .collect();
                *value == Value::from(places)
            }
            "tags" => {
                readings
                    .iter()
                    .zip(value.as_array().expect("a list"))
                    .all(|(reading, tags)| {
                        let mut tags = tags.as_object().expect("tags by name").iter();
                        tags.all(|(name, value)| reading.game.tags.get(name) == value.as_str())
                    })
            }
            "results" => {
                let results = readings
                    .iter()
                    .map(|r| Value::from(r.game.outcome.as_str()));
                *value == Value::from(results.collect::<Vec<_>>())
            }
            "comments" => *value == notes(&readings[0], |note| Value::from(&*note.comment)),
            "nags" => *value == notes(&readings[0], |note| Value::from(&*note.nags)),
            // The syntax is in order; that the game was over long before is for the judge to say.
            "after_end" => readings[0].first_error().is_none(),
            "lenient" => true,
            other => return Err(format!("the test does not know {other}")),
        };
        if !is_met {
            return Err(format!("{key} is not {value}: {}", summary()));
        }
    }
    // A case that expects moves expects that nothing of them was lost.
    let is_good = expect.get("plies").is_some() && expect.get("faults").is_none();
    let error = readings.iter().find_map(Reading::first_error);
    match error {
        Some(error) if is_good && expect["error"] != true => Err(format!("{error}")),
        _ => Ok(()),
    }
}

/// Something out of the note of every move.
fn notes(reading: &Reading, part: impl Fn(&Note) -> Value) -> Value {
    let game = &reading.game;
    let parts = (0..game.moves.len()).map(|index| part(game.notes.get(index)));
    Value::from(parts.collect::<Vec<_>>())
}

fn has_clocks(reading: &Reading, expected: &Value) -> bool {
    let expected = expected.as_array().expect("a list of clocks").iter();
    let mut clocks = expected.enumerate().map(|(index, expected)| {
        let clock = reading.game.notes.get(index).clock;
        clock.map(|clock| clock.as_secs_f64()) == expected.as_f64()
    });
    clocks.all(|is_same| is_same)
}

/// The game is read up to the move, which is reported as an error at the place where it stands.
fn has_illegal_move(reading: &Reading, expected: &Value) -> bool {
    let error = reading.first_error();
    let is_move = error.is_some_and(|fault| {
        matches!(fault.kind.name(), "illegal-move" | "null-move")
            && fault.severity() == Severity::Error
    });
    is_move && *expected == reading.game.moves.len() && reading.unplayed > 0
}

#[test]
fn every_report_about_files_is_answered_rightly() {
    let cases = cases();
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let found = check(case).err()?;
            Some(format!("{}: {found}\n  {}", case["id"], case["why"]))
        })
        .collect();
    assert!(cases.len() >= 34, "only {} cases were found", cases.len());
    assert!(
        wrong.is_empty(),
        "{} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
