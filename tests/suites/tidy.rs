//! What is true of every source file of the project.

use std::fs;
use std::path::{Path, PathBuf};

/// The greatest number of lines of a source file.
const FILE_LINES_MAX: usize = 600;

/// Files that are longer for a reason: the corrections of perft's two-ply counting hang together,
/// each on what the one before has established.
const LONG_FILES: [&str; 1] = ["crates/perft/src/fast/null.rs"];
/// The greatest number of characters of a line.
const LINE_CHARS_MAX: usize = 100;

/// Folders that hold nothing that was written by hand.
const SKIPPED: [&str; 4] = ["target", "data", "corpus", "outside"];

/// What no source file may hold. The words are put together here, so that this file does not.
fn banned() -> Vec<(String, &'static str)> {
    let word = |parts: [&str; 2]| parts.concat();
    vec![
        (word(["todo", "!("]), "unfinished"),
        (word(["unimplemented", "!("]), "unfinished"),
        (word(["dbg", "!("]), "left from a search for a bug"),
        (word(["#[ig", "nore"]), "a test that does not run"),
        (
            word(["#[should_", "panic"]),
            "a test that cannot say where it panics",
        ),
        (word(["FIX", "ME"]), "unfinished"),
        (word(["/ro", "ot/"]), "a path of one machine"),
        (word(["/ho", "me/"]), "a path of one machine"),
        (word(["/wo", "rk/"]), "a path of one machine"),
    ]
}

#[test]
fn sources_are_short_and_finished() {
    let mut files = Vec::new();
    collect(&referee_tests::root(), &mut files);
    assert!(files.len() > 50, "only {} sources were found", files.len());
    let mut faults = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).expect("a source is a text");
        inspect(file, &text, &mut faults);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn inspect(file: &Path, text: &str, faults: &mut Vec<String>) {
    let root = referee_tests::root();
    let name = file.strip_prefix(&root).unwrap_or(file).display();
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX && !LONG_FILES.iter().any(|long| file.ends_with(long)) {
        faults.push(format!("{name}: {lines} lines, above {FILE_LINES_MAX}"));
    }
    if !text.starts_with("//!") && !text.starts_with("#!") {
        faults.push(format!(
            "{name}: the first line does not say what the module does"
        ));
    }
    let banned = banned();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        let chars = line.chars().count();
        // A single text that cannot be broken, such as a position, may be longer.
        if chars > LINE_CHARS_MAX && !line.contains('"') {
            faults.push(format!(
                "{place}: {chars} characters, above {LINE_CHARS_MAX}"
            ));
        }
        if line.ends_with(' ') || line.contains('\t') {
            faults.push(format!("{place}: a blank at the end, or a tab"));
        }
        for (word, why) in &banned {
            if line.contains(word) {
                faults.push(format!("{place}: {word} is {why}"));
            }
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder of the project can be read");
    for entry in entries.map(|entry| entry.expect("an entry of a folder can be read")) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                collect(&path, files);
            }
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
}
