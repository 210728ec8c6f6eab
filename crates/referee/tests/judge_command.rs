//! `referee judge` as people and scripts run it: findings, JSON, compressed files, standard input,
//! many threads, exit codes, and files that are made to hurt.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A game of each kind, with what is found in it.
const GAMES: &[(&str, &[&str])] = &[
    ("1. e4 e5 2. Nf3 Nc6 1/2-1/2", &[]),
    ("1. f3 e5 2. g4 Qh4# 0-1", &[]),
    ("1. f3 e5 2. g4 Qh4# 1-0", &["result-contradicts-board"]),
    (
        "1. f3 e5 2. g4 Qh4# 3. a3 0-1",
        &["illegal-move", "over-before"],
    ),
    ("1. e4 e5 2. Ke3 Nc6 1-0", &["illegal-move"]),
    ("1. e4 e5 2. Bxe7 -- *", &["illegal-move"]),
    ("1. e4 -- 2. d4 *", &["illegal-move"]),
    ("1. e4 e5 2. novelty 1-0", &["unreadable-move"]),
    (
        "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. Nf3 Nf6 6. Ng1 Ng8 7. Nf3 Nf6 8. Ng1 Ng8 \
         9. e4 1-0",
        &["over-before", "result-contradicts-board"],
    ),
    (
        "[FEN \"8/8/4k3/8/8/3bK3/8/8 w - - 0 1\"]\n\n1. Kxd3 Kd5 1/2-1/2",
        &["over-before"],
    ),
    (
        "[FEN \"8/8/4k3/8/3P4/4K3/8/8 w - - 0 1\"]\n\n1. d5+ Kxd5 1-0",
        &["result-contradicts-board"],
    ),
    (
        "[FEN \"8/8/4k3/8/8/4K3/p7/8 w - - 0 1\"]\n\n1. Kd4 1-0",
        &["winner-cannot-mate"],
    ),
    (
        "[Variant \"Atomic\"]\n\n1. e4 1-0",
        &["unsupported-variant"],
    ),
    ("[FEN \"nonsense\"]\n\n1. e4 *", &["invalid-fen"]),
    ("1. e4 {open", &["unclosed-comment"]),
    ("1. f3 e5 2. g4 Qh4# *", &["result-missing"]),
];

fn judge(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_referee"));
    command.arg("judge").args(arguments).stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> (Output, String) {
    let output = command.output().expect("the binary runs");
    let text = String::from_utf8(output.stdout.clone()).expect("the output is text");
    (output, text)
}

/// A folder of its own for a test, under the folder that cargo keeps for that.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder can be made");
    path
}

fn write(path: &Path, bytes: &[u8]) -> String {
    fs::write(path, bytes).expect("a file can be written");
    path.to_str().expect("the path is text").to_owned()
}

/// The games, numbered by the name of White.
fn text(times: usize) -> String {
    let mut text = String::new();
    for number in 0..times {
        for (index, (game, _)) in GAMES.iter().enumerate() {
            let number = number * GAMES.len() + index;
            text.push_str(&format!("[Event \"x\"]\n[White \"{number}\"]\n"));
            let has_tags = game.starts_with('[');
            text.push_str(if has_tags { "" } else { "\n" });
            text.push_str(game);
            text.push_str("\n\n");
        }
    }
    text
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str::<Value>);
    lines.map(|line| line.expect("each line is JSON")).collect()
}

fn kinds(line: &Value) -> Vec<&str> {
    let findings = line["findings"].as_array().expect("a game has findings");
    findings
        .iter()
        .filter_map(|finding| finding["kind"].as_str())
        .collect()
}

#[test]
fn every_kind_of_finding_is_found() {
    let folder = folder("judge-kinds");
    let file = write(&folder.join("games.pgn"), text(1).as_bytes());
    let (output, text) = run(&mut judge(&["--json", &file]));
    assert_eq!(output.status.code(), Some(1), "{text}");
    let lines = lines(&text);
    let (summary, games) = lines.split_last().expect("a summary");
    assert_eq!(games.len(), GAMES.len(), "{text}");
    for (number, (line, (game, expected))) in games.iter().zip(GAMES).enumerate() {
        assert_eq!(line["white"], number.to_string());
        assert_eq!(kinds(line), *expected, "{game}: {line}");
    }
    assert_eq!(summary["summary"]["games"], GAMES.len());
    assert_eq!(summary["summary"]["clean"], 2);
    assert_eq!(summary["summary"]["result_contradictions"], 4);
    let went_on = games[8]["findings"].as_array().expect("findings");
    assert_eq!(went_on[0]["ply"], 16);
    assert_eq!(went_on[0]["article"], "9.6.1");
    let illegal = games[4]["findings"].as_array().expect("findings");
    assert_eq!(
        (&illegal[0]["ply"], &illegal[0]["article"]),
        (&3.into(), &"3.8.1".into())
    );
}

#[test]
fn lines_of_text_can_be_read_by_people() {
    let folder = folder("judge-text");
    let file = write(&folder.join("games.pgn"), text(1).as_bytes());
    let (_, text) = run(&mut judge(&[&file]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), GAMES.len() + 1);
    assert!(
        lines[0].ends_with("games.pgn:1: 0 - ?, 1/2-1/2, 4 plies: clean"),
        "{}",
        lines[0]
    );
    assert!(
        lines[2].contains("the record says 1-0, the board 0-1: Black wins by checkmate. (5.1.1)"),
        "{}",
        lines[2]
    );
    assert!(
        lines[4].contains("illegal at ply 3: line 24, column 13: Ke3 is illegal"),
        "{}",
        lines[4]
    );
    let (_, quiet) = run(&mut judge(&["-q", &file]));
    assert_eq!(quiet.lines().count(), GAMES.len() + 1 - 2);
}

#[test]
fn a_profile_changes_what_is_found() {
    let folder = folder("judge-profile");
    let (_, fivefold) = (0, GAMES[8].0);
    let file = write(&folder.join("games.pgn"), fivefold.as_bytes());
    let (_, text) = run(&mut judge(&["--json", "--profile", "fide_online", &file]));
    let online = &lines(&text)[0];
    // Online, the third occurrence ends the game by itself (5.4.1).
    assert_eq!(online["findings"][0]["ply"], 8, "{text}");
    let (output, _) = run(&mut judge(&["--profile", "nobody", &file]));
    assert_eq!(output.status.code(), Some(64));
    let (output, _) = run(&mut judge(&[]));
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn nothing_depends_on_compression_threads_or_where_the_text_comes_from() {
    let folder = folder("judge-ways");
    // Many batches, most of them cut in the middle of a block that is read.
    let text = text(1_500);
    let plain = write(&folder.join("games.pgn"), text.as_bytes());
    let expected = run(&mut judge(&["--json", &plain])).1;
    let count = lines(&expected).len();
    assert_eq!(count, 1_500 * GAMES.len() + 1);
    let in_order = lines(&expected)[..count - 1]
        .iter()
        .enumerate()
        .all(|(number, line)| line["white"].as_str() == Some(&*number.to_string()));
    assert!(in_order, "the games are written in their order");

    let one = run(&mut judge(&["--json", "--threads", "1", &plain])).1;
    assert!(one == expected, "one thread finds the same");

    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder
        .write_all(text.as_bytes())
        .expect("it is written to memory");
    let gzip = encoder.finish().expect("it is written to memory");
    let zstandard = zstd::encode_all(text.as_bytes(), 1).expect("it is written to memory");
    for (name, bytes) in [("games.pgn.gz", gzip), ("games.pgn.zst", zstandard)] {
        let file = write(&folder.join(name), &bytes);
        let found = run(&mut judge(&["--json", &file])).1;
        assert!(
            found.replace(&file, &plain) == expected,
            "{name} is read as the plain text"
        );
    }

    let mut child = judge(&["--json", "-"]);
    child.stdin(File::open(&plain).expect("the file is there"));
    let found = run(&mut child).1;
    assert!(
        found.replace("\"-\"", &format!("{plain:?}")) == expected,
        "so is standard input"
    );
}

#[test]
fn a_game_that_is_too_long_for_a_batch_is_judged_while_it_is_read() {
    let folder = folder("judge-long");
    let path = folder.join("long.pgn");
    let mut file = io::BufWriter::new(File::create(&path).expect("a file can be made"));
    writeln!(
        file,
        "[White \"first\"]\n\n1. e4 e5 *\n\n[White \"long\"]\n\n1. e4 {{"
    )
    .expect("written");
    for _ in 0..400_000 {
        writeln!(file, "{}", "word ".repeat(12)).expect("written");
    }
    let tail = "}} e5 2. Ke3 *\n\n[White \"last\"]\n\n1. e4 e4 *\n".replace("}}", "}");
    file.write_all(tail.as_bytes()).expect("written");
    file.flush().expect("written");
    drop(file);
    let path = path.to_str().expect("the path is text");
    let (output, text) = run(&mut judge(&["--json", "--warnings", path]));
    assert_eq!(output.status.code(), Some(1));
    let lines = lines(&text);
    assert_eq!(lines.len(), 4, "{text}");
    assert_eq!(lines[1]["warnings"][0]["kind"], "comment-too-long");
    assert_eq!(lines[1]["findings"][0]["line"], 400_008);
    assert_eq!(lines[2]["line"], 400_010);
    assert_eq!(lines[2]["findings"][0]["line"], 400_012, "{text}");
}

#[test]
fn bombs_and_broken_files_are_refused() {
    let folder = folder("judge-bombs");
    let good = write(&folder.join("good.pgn"), b"1. e4 e5 *\n");
    // Blanks, of which gzip makes a thousandth, and Zstandard next to nothing.
    let blanks = || io::repeat(b' ').take(100 << 20);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    io::copy(&mut blanks(), &mut encoder).expect("it is written to memory");
    let gzip = encoder.finish().expect("it is written to memory");
    let zstandard = zstd::encode_all(blanks(), 1).expect("it is written to memory");
    let cut = gzip[..1_000].to_vec();
    for (name, bytes, why) in [
        ("bomb.gz", gzip, "expands to more than"),
        ("bomb.zst", zstandard, "expands to more than"),
        ("cut.gz", cut, ""),
    ] {
        let file = write(&folder.join(name), &bytes);
        let (output, text) = run(&mut judge(&["--json", &file, &good]));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(
            error.contains(name) && error.contains(why),
            "{name}: {error}"
        );
        // The next file is judged all the same.
        let lines = lines(&text);
        assert_eq!(
            lines[lines.len() - 1]["summary"]["games"],
            1,
            "{name}: {text}"
        );
        assert_eq!(lines[lines.len() - 1]["summary"]["failed_files"], 1);
    }
    let missing = folder.join("missing.pgn");
    let (output, _) = run(&mut judge(&[
        missing.to_str().expect("the path is text"),
        &good,
    ]));
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing.pgn"));
}

#[test]
fn clean_games_leave_the_exit_code_of_success() {
    let folder = folder("judge-clean");
    let file = write(&folder.join("good.pgn"), b"1. e4 e5 1-0\n\n1. d4 *\n");
    let (output, text) = run(&mut judge(&[&file]));
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
fn zstandard_may_begin_with_a_frame_that_is_passed_over() {
    let cup =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cases/turn2/cup.pgn.zst");
    let (output, text) = run(&mut judge(&[cup.to_str().expect("the path is text")]));
    assert_eq!(output.status.code(), Some(0), "{text}");
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("40 games, 240 plies: 40 clean"), "{last}");
}

#[test]
fn a_file_that_is_none_of_games_is_named_and_not_clean() {
    let folder = folder("judge-others");
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let packed = zstd::encode_all(&tar[..], 1).expect("it is written to memory");
    let text = b"[Event \"x\"]\n\n1. e4 *\n";
    let twice = zstd::encode_all(&zstd::encode_all(&text[..], 1).expect("memory")[..], 1);
    let files: [(&str, &[u8], &str); 11] = [
        ("a.zip", b"PK\x03\x04\x14\0", "a Zip archive"),
        ("a.bz2", b"BZh91AY&SY", "bzip2"),
        ("a.xz", b"\xfd7zXZ\0", "xz"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c", "7-Zip"),
        ("a.tar", &tar, "a tar archive"),
        ("a.tar.zst", &packed, "a tar archive"),
        ("a.zst.zst", &twice.expect("memory"), "a second time"),
        ("a.html", b"<!doctype html><html>", "a web page"),
        ("empty.pgn", b"", "no game"),
        ("result.pgn", b"1-0\n", "no game"),
        ("chance.pgn", b"\x90\x01\xaa zq\n\x13\x05 w", "no game"),
    ];
    for (name, bytes, why) in files {
        let file = write(&folder.join(name), bytes);
        let (output, text) = run(&mut judge(&[&file]));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {text}");
        assert!(error.contains(why), "{name}: {error}");
        assert!(text.ends_with("1 files failed\n"), "{name}: {text}");
    }
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let folder = folder("judge-control");
    let game = "[White \"a\u{1b}[31mred\u{9b}32m\u{202e}\"]\n[Black \"\u{7f}\u{7}b\"]\n\n1. e4 \u{1b}[2J e5 \
                2. \u{9b}x *\n\u{1b}]0;title\n";
    let file = write(&folder.join("a\u{1b}[31m.pgn"), game.as_bytes());
    let missing = folder.join("\u{1b}[2Jmissing.pgn");
    let missing = missing.to_str().expect("the path is text");
    for arguments in [&["--warnings"][..], &["--json", "--warnings"], &[]] {
        let (output, text) = run(judge(arguments).args([&file, missing]));
        let error = String::from_utf8(output.stderr).expect("text");
        let is_bad = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(is_bad), "{text:?}");
        assert!(!error.contains(is_bad), "{error:?}");
        assert!(error.contains("\\u{1b}[2Jmissing.pgn"), "{error:?}");
        if arguments.contains(&"--json") {
            let white = &lines(&text)[0]["white"];
            assert_eq!(white, "a\u{1b}[31mred\u{9b}32m\u{202e}", "nothing is lost");
        } else {
            assert!(text.contains("a\\u{1b}[31mred\\u{9b}32m"), "{text:?}");
        }
    }
}

#[test]
fn two_results_that_differ_are_found() {
    let folder = folder("judge-results");
    let text =
        "[Result \"1-0\"]\n\n1. e4 e5 1/2-1/2\n\n[Result \"1-0\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n";
    let file = write(&folder.join("games.pgn"), text.as_bytes());
    let (output, text) = run(&mut judge(&["--json", &file]));
    assert_eq!(output.status.code(), Some(1), "{text}");
    let lines = lines(&text);
    assert_eq!(kinds(&lines[0]), ["result-mismatch"]);
    let found = &lines[0]["findings"][0];
    assert_eq!(
        (&found["recorded"], &found["marker"]),
        (&"1-0".into(), &"1/2-1/2".into())
    );
    assert_eq!((&found["line"], &found["column"]), (&3.into(), &10.into()));
    assert_eq!(
        kinds(&lines[1]),
        ["result-mismatch", "result-contradicts-board"]
    );
    assert_eq!(lines[2]["summary"]["doubtful_results"], 2);
    let (_, text) = run(&mut judge(&[&file]));
    assert!(
        text.contains("the tag says 1-0, the end of the moves 1/2-1/2"),
        "{text}"
    );
}
