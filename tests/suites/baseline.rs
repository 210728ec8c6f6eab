//! The promise of the contract: `tests/run` compares the protos with `proto/baseline.binpb`, the
//! contract that was released last. Here the comparison itself is held: what breaks a contract is
//! caught, and what adds to it is not.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use referee_tests::{lines, root, texts, tool};
use serde_json::Value;

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder can be made");
    for entry in fs::read_dir(from).expect("the protos are there") {
        let path = entry.expect("the folder can be read").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("the file can be copied");
        }
    }
}

/// Puts a text in the place of another, which stands there once.
fn replace(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from:?} is to stand once");
    text.replacen(from, to, 1)
}

fn change(folder: &Path, case: &Value) {
    let word = |field: &str| case[field].as_str().unwrap_or_default();
    let path = folder.join(word("file"));
    let text = fs::read_to_string(&path).expect("the proto is there");
    let mut text = replace(&text, word("from"), word("to"));
    if let [from, to] = texts(&case["also"]).as_slice() {
        text = replace(&text, from, to);
    }
    fs::write(&path, text).expect("the copy can be written");
}

#[test]
fn what_breaks_the_contract_is_caught() {
    let Some(buf) = tool("REFEREE_BUF", "buf") else {
        return;
    };
    let run = |folder: &Path, arguments: &[&str]| -> Output {
        let mut command = Command::new(&buf);
        let output = command.args(arguments).current_dir(folder).output();
        output.expect("buf runs")
    };
    let work = tempfile::tempdir().expect("a folder for temporary files can be made");
    let before = work.path().join("before.binpb");
    let before = before.to_str().expect("a plain name");
    let built = run(&root().join("proto"), &["build", "-o", before]);
    assert!(built.status.success(), "{built:?}");
    for (number, case) in lines("contract/changes.jsonl").iter().enumerate() {
        let folder = work.path().join(number.to_string());
        copy(&root().join("proto"), &folder);
        change(&folder, case);
        let built = run(&folder, &["build"]);
        assert!(built.status.success(), "{case}: {built:?}");
        let compared = run(&folder, &["breaking", "--against", before]);
        let is_broken = case["breaks"] != "";
        assert_eq!(
            compared.status.success(),
            !is_broken,
            "{case}: {compared:?}"
        );
    }
}
