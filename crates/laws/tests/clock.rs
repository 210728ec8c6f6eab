//! The clocks, played from data: time controls, scripts, and the cases of the conformance suite.

use std::fs;

use referee_laws::{
    Bonus, ClockChange, ClockSetup, Clocks, Color, LedgerLine, Period, Time, TimeControl, adds_up,
};
use serde_json::Value;

/// Reads a file of the test data: a value for each line, with the number of the line.
fn read_lines(name: &str) -> Vec<(usize, Value)> {
    let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.is_empty());
    lines
        .map(|(line, number)| {
            let value = serde_json::from_str(line);
            (
                number,
                value.unwrap_or_else(|error| panic!("{name}:{number}: {error}")),
            )
        })
        .collect()
}

fn number(value: &Value) -> Option<u64> {
    assert!(value.is_u64() || value.is_null(), "{value} is not a number");
    value.as_u64()
}

fn time(value: &Value) -> Time {
    let ms = number(value).expect("a time is given");
    Time::from_ms(ms).expect("the time is on the line")
}

fn side(value: &Value) -> Option<Color> {
    match value.as_str() {
        Some("w") => Some(Color::White),
        Some("b") => Some(Color::Black),
        None => None,
        Some(other) => panic!("{other} is not a side"),
    }
}

fn period(value: &Value) -> Period {
    let mode = value[2].as_str().expect("a period has a mode");
    let bonus_ms = number(&value[3]).expect("a period has a bonus");
    Period {
        moves: number(&value[0]).map(|moves| moves as u32),
        time_ms: number(&value[1]).expect("a period has a time"),
        bonus: Bonus::of(mode, bonus_ms).expect("the mode is known"),
    }
}

fn periods(value: &Value) -> Vec<Period> {
    value
        .as_array()
        .expect("periods are a list")
        .iter()
        .map(period)
        .collect()
}

#[test]
fn time_controls_are_read_and_written() {
    let lines = read_lines("clock/controls.jsonl");
    assert!(
        lines.len() > 40,
        "there are only {} time controls",
        lines.len()
    );
    for (number, case) in lines {
        let text = case["text"].as_str().expect("a case has a text");
        let read = TimeControl::read_pgn(text);
        if let Some(reason) = case["error"].as_str() {
            let error = read.expect_err(text).to_string();
            assert!(error.contains(reason), "line {number}, {text}: {error}");
            continue;
        }
        let control = read.unwrap_or_else(|error| panic!("line {number}, {text}: {error}"));
        let expected = case.get("periods").expect("a case has periods or an error");
        let Some(control) = control else {
            assert!(
                expected.is_null(),
                "line {number}: {text} is a time control"
            );
            continue;
        };
        assert_eq!(
            control.periods(),
            periods(expected),
            "line {number}: {text}"
        );
        assert_eq!(
            control.to_pgn().as_deref(),
            case["pgn"].as_str(),
            "line {number}: {text}"
        );
    }
}

fn control(value: &Value, increment_at_start: bool) -> Option<TimeControl> {
    let control = match value {
        Value::Null => None,
        Value::String(text) => TimeControl::read_pgn(text).expect("the control is read"),
        other => Some(TimeControl::new(periods(&other["periods"]), false).expect("it is sound")),
    };
    control.map(|control| control.with_increment_at_start(increment_at_start))
}

fn setup(value: &Value) -> ClockSetup {
    let moves = |name: &str| number(&value[name]).unwrap_or(0) as u32;
    ClockSetup {
        left_ms: [number(&value["w_ms"]), number(&value["b_ms"])],
        moves: [moves("w_moves"), moves("b_moves")],
    }
}

/// Fails where a value has a field that nobody looks at, so that no check is lost by a slip.
fn check_fields(value: &Value, known: &[&str], place: &str) {
    for name in value.as_object().expect("it has fields").keys() {
        assert!(
            known.contains(&name.as_str()),
            "{place}: nobody knows the field {name}"
        );
    }
}

fn play_step(clocks: &Clocks, step: &Value, place: &str) -> ClockChange {
    let at = time(&step["at"]);
    let this = || side(&step["side"]).unwrap_or_else(|| panic!("{place}: which side?"));
    let ms = |name: &str| number(&step[name]).unwrap_or_else(|| panic!("{place}: no {name}"));
    match step["do"].as_str().expect("a step does something") {
        "start" => clocks.start(this(), at),
        "move" => clocks.complete_move(this(), at),
        "unpressed" => clocks.complete_unpressed(this(), at),
        "fall" => clocks.fall(this(), at),
        "arrive" => clocks.arrive(this(), at),
        "switch" => clocks.switch_to(this(), at),
        "pause" => clocks.pause(at),
        "resume" => clocks.resume(side(&step["side"]), at),
        "stop" => clocks.stop(at),
        "penalize" => clocks.penalize(this(), ms("deduct_ms"), ms("credit_opponent_ms"), at),
        "grant" => clocks.grant(this(), ms("ms"), at),
        "take_back" => clocks.take_back_credit(this(), ms("ms"), at),
        "set" => clocks.set(this(), ms("ms"), at),
        "set_moves" => clocks.set_moves(this(), ms("count") as u32, at),
        "stand_still" => clocks.stand_still(time(&step["from"]), at),
        "bonus" => {
            let mode = step["mode"].as_str().expect("a bonus has a mode");
            let bonus = Bonus::of(mode, ms("ms")).expect("the mode is known");
            clocks
                .change_bonus(bonus, at)
                .unwrap_or_else(|error| panic!("{place}: {error}"))
        }
        "read" => ClockChange {
            clocks: clocks.clone(),
            lines: Vec::new(),
        },
        other => panic!("{place}: nobody can do {other}"),
    }
}

fn line_text(line: &LedgerLine) -> String {
    let left = line.left_ms.map_or("none".into(), |ms| ms.to_string());
    format!(
        "{} {} {} -{} +{} ={left}",
        line.side.to_char(),
        line.cause.name(),
        line.elapsed_ms,
        line.charged_ms,
        line.credited_ms
    )
}

fn check_step(change: &ClockChange, step: &Value, place: &str) {
    let clocks = &change.clocks;
    let at = time(&step["at"]);
    if let Some(lines) = step.get("lines") {
        let written: Vec<String> = change.lines.iter().map(line_text).collect();
        assert_eq!(Value::from(written), *lines, "{place}");
    }
    for (name, color) in [("w", Color::White), ("b", Color::Black)] {
        if let Some(left) = step.get(name) {
            assert_eq!(clocks.left_at(color, at), number(left), "{place}: {name}");
        }
    }
    if let Some(running) = step.get("running") {
        assert_eq!(clocks.running, side(running), "{place}: running");
    }
    if let Some(deadline) = step.get("deadline") {
        assert_eq!(
            clocks.deadline().map(Time::ms),
            number(deadline),
            "{place}: deadline"
        );
    }
    if let Some(down) = step.get("down") {
        let flags = Color::ALL
            .into_iter()
            .filter(|&it| clocks.is_flag_down(it, at));
        let flags: String = flags.map(Color::to_char).collect();
        assert_eq!(Some(flags.as_str()), down.as_str(), "{place}: down");
    }
    if let Some(moves) = step.get("moves") {
        let made = vec![clocks.white.moves, clocks.black.moves];
        assert_eq!(Value::from(made), *moves, "{place}: moves");
    }
    if let Some(periods) = step.get("periods") {
        let reached = vec![clocks.white.period, clocks.black.period];
        assert_eq!(Value::from(reached), *periods, "{place}: periods");
    }
}

/// What a step can say.
const STEP_FIELDS: [&str; 18] = [
    "do",
    "at",
    "side",
    "ms",
    "count",
    "from",
    "mode",
    "deduct_ms",
    "credit_opponent_ms",
    "lines",
    "w",
    "b",
    "running",
    "deadline",
    "down",
    "moves",
    "periods",
    "why",
];

#[test]
fn scripts_play_as_written() {
    let scripts = read_lines("clock/scripts.jsonl");
    assert!(
        scripts.len() > 40,
        "there are only {} scripts",
        scripts.len()
    );
    for (_, script) in scripts {
        let id = script["id"].as_str().expect("a script has a name");
        let known = [
            "id",
            "law",
            "why",
            "white",
            "black",
            "increment_at_start",
            "setup",
            "steps",
        ];
        check_fields(&script, &known, id);
        let is_first = script["increment_at_start"].as_bool().unwrap_or(false);
        let white = control(&script["white"], is_first);
        let black = script
            .get("black")
            .map_or(white.clone(), |it| control(it, is_first));
        let mut clocks = Clocks::new(white, black, setup(&script["setup"])).expect(id);
        for (number, step) in script["steps"].as_array().expect(id).iter().enumerate() {
            let place = format!("{id}, step {number}");
            check_fields(step, &STEP_FIELDS, &place);
            let change = play_step(&clocks, step, &place);
            assert_eq!(adds_up(&clocks, &change), Ok(()), "{place}");
            check_step(&change, step, &place);
            clocks = change.clocks;
        }
    }
}

/// The cases of the conformance suite that are about what a clock shows after a move.
const CLOCK_CASES: [&str; 7] = ["K24", "K26", "K27", "K28", "K29", "K30", "K31"];

#[test]
fn clock_cases_of_the_conformance_suite_hold() {
    let mut played = Vec::new();
    for (_, case) in read_lines("cases/laws.jsonl") {
        let id = case["id"].as_str().expect("a case has a name").to_owned();
        if !CLOCK_CASES.contains(&id.as_str()) {
            continue;
        }
        let clock = &case["setup"]["clock"];
        let mode = clock["mode"].as_str().expect("a clock has a mode");
        let bonus = Bonus::of(mode, number(&clock["inc_ms"]).unwrap_or(0)).expect("it is known");
        let periods = clock["periods"]
            .as_array()
            .expect("a clock has periods")
            .iter();
        let periods = periods.map(|period| Period {
            moves: number(&period["moves"]).map(|moves| moves as u32),
            time_ms: number(&period["ms"]).expect("a period has a time"),
            bonus,
        });
        let is_first = clock["increment_at_start"].as_bool().unwrap_or(false);
        let control = TimeControl::new(periods.collect(), is_first).expect(&id);
        let clocks = Clocks::new(Some(control.clone()), Some(control), setup(&case["setup"]));
        let mut now = Time::ORIGIN;
        let mut clocks = clocks.expect(&id).start(Color::White, now).clocks;
        for event in case["events"].as_array().expect("a case has events") {
            let elapsed_ms = number(&event["elapsed_ms"]).expect("the move took time");
            now = now
                .checked_add_ms(elapsed_ms)
                .expect("the line is long enough");
            let change = clocks.complete_move(side(&event["by"]).expect("a side moves"), now);
            assert_eq!(adds_up(&clocks, &change), Ok(()), "{id}");
            clocks = change.clocks;
        }
        let expected = number(&case["expect"]["clock"]["w_ms"]);
        assert_eq!(clocks.white.left_ms, expected, "{id}");
        played.push(id);
    }
    assert_eq!(played, CLOCK_CASES);
}
