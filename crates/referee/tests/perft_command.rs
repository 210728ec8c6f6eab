//! `referee perft` as people and scripts run it: totals, JSON, suites, exit codes, and a count
//! that is interrupted and goes on.

#![expect(clippy::disallowed_types, reason = "a process is waited for")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const LONE_KINGS: &str = "8/8/8/8/8/8/1k6/3K4 w - -";

fn perft(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
    command.arg("perft").args(arguments);
    command
}

fn output(command: &mut Command) -> (Output, String) {
    let output = command.output().expect("the binary runs");
    let text = String::from_utf8(output.stdout.clone()).expect("the output is text");
    (output, text)
}

/// A folder of its own for a test, under the folder that cargo keeps for that.
fn folder(name: &str) -> std::path::PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder can be made");
    path
}

#[test]
fn totals_are_the_same_in_every_way() {
    for arguments in [
        &["5"][..],
        &["5", "--threads", "1"],
        &["5", "--hash", "4", "--key-set", "9"],
        &["5", "--hash", "auto"],
        &["5", "--no-bulk", "--portable"],
        &["5", "--detail"],
    ] {
        let (output, text) = output(&mut perft(arguments));
        assert!(output.status.success(), "{arguments:?}");
        assert!(
            text.lines().any(|line| line == "nodes: 4865609"),
            "{arguments:?}: {text}"
        );
    }
}

#[test]
fn json_holds_the_count_of_each_first_move() {
    let (_, text) = output(&mut perft(&[
        "2", "--fen", LONE_KINGS, "--divide", "--json",
    ]));
    let value: serde_json::Value = serde_json::from_str(&text).expect("one object");
    let divide = value["divide"].as_object().expect("moves with counts");
    let sum: u64 = divide.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(value["nodes"].as_u64(), Some(sum));
    assert_eq!(divide.len(), 3, "{text}");
}

#[test]
fn a_tree_is_cut_where_one_says_and_sorted_in_files_that_leave_nothing() {
    let folder = folder("plies");
    for (depth, plies, nodes, positions) in [
        ("5", "5", "4865609", "822518 stand for 4865609"),
        ("6", "4", "119060324", "72078 stand for 197281"),
        ("4", "1", "197281", "20 stand for 20"),
    ] {
        let arguments = [depth, "--plies", plies, "--threads", "2", "--sort-folder"];
        let (found, text) = output(perft(&arguments).arg(&folder));
        assert_eq!(found.status.code(), Some(0), "{found:?}");
        let expected = format!("nodes: {nodes}\npositions: {positions} paths\n");
        assert!(text.starts_with(&expected), "{text}");
        let left = std::fs::read_dir(&folder).expect("the folder is there");
        assert_eq!(left.count(), 0, "{depth} {plies}");
    }
}

#[test]
fn suites_end_with_a_tally_and_a_failure_shows() {
    let folder = folder("suites");
    let good = folder.join("good.epd");
    std::fs::write(&good, format!("{LONE_KINGS} ;D1 3\n")).expect("a file can be written");
    let bad = folder.join("bad.perft");
    let blocks = format!("id kings\nepd {LONE_KINGS}\nperft 1 4\n");
    std::fs::write(&bad, blocks).expect("a file can be written");
    let (found, text) = output(perft(&["--suite"]).arg(&good));
    assert_eq!(found.status.code(), Some(0));
    assert_eq!(text.lines().last(), Some("1 passed, 0 failed"));
    let (found, text) = output(perft(&["--suite"]).arg(&bad));
    assert_eq!(found.status.code(), Some(1));
    assert!(
        text.contains("FAILED at depth 1: expected 4, found 3"),
        "{text}"
    );
    assert_eq!(text.lines().last(), Some("0 passed, 1 failed"));
}

#[test]
fn what_makes_no_sense_is_said_and_exits_64() {
    for arguments in [
        &[][..],
        &["41"],
        &["3", "--fen", "8/8/8/8/8/8/8/8 w - -"],
        &["3", "--hash", "0"],
        &["3", "--hash", "much"],
        &["3", "--threads", "0"],
    ] {
        let (output, _) = output(&mut perft(arguments));
        assert_eq!(output.status.code(), Some(64), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn an_interrupted_count_goes_on_where_it_stopped() {
    let folder = folder("checkpoint");
    let file = folder.join("count.json");
    let start = || {
        let mut command = perft(&["6", "--no-bulk", "--threads", "1", "--checkpoint"]);
        command
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    let child = start().spawn().expect("the binary runs");
    thread::sleep(Duration::from_millis(400));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("kill runs").success());
    let begin = Instant::now();
    let stopped = child.wait_with_output().expect("the process ends");
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(stopped.status.code(), Some(130));
    let text = std::fs::read_to_string(&file).expect("there is a checkpoint");
    let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert!(
        value["counted"]
            .as_array()
            .is_some_and(|counted| !counted.is_empty()),
        "{text}"
    );

    let (output, text) = output(&mut start());
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("goes on from"));
    assert!(
        text.lines().any(|line| line == "nodes: 119060324"),
        "{text}"
    );
    assert!(!file.exists(), "the checkpoint is removed");
}
