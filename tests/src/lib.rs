//! What the suites share: the real binary, authorities and certificates, two servers over one
//! store, stores of old games, the wire, the oracle, the sources as syntax trees, where the data
//! is, and what to do where a tool is missing.

#![forbid(unsafe_code)]

pub mod apart;
pub mod authority;
pub mod circles;
pub mod deployment;
pub mod json;
pub mod jwt;
pub mod line;
pub mod old_games;
pub mod operator;
pub mod oracle;
pub mod pair;
pub mod process;
pub mod sources;
pub mod wire;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the folder of the whole project.
///
/// # Panics
///
/// Where this package does not stand in a folder of the project.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .expect("the suites stand in a folder of the project")
        .to_owned()
}

/// Reads a file of `tests/data` with one JSON value a line.
///
/// # Panics
///
/// Where the file cannot be read or holds nothing, or a line is no JSON.
#[must_use]
pub fn lines(file: &str) -> Vec<Value> {
    let path = root().join("tests/data").join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{file}:{}: {error}", number + 1))
    };
    let values: Vec<Value> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(read)
        .collect();
    assert!(!values.is_empty(), "{file} holds nothing");
    values
}

/// Returns the texts of a JSON list; none where there is no list.
#[must_use]
pub fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Finds a tool: the file that the variable names, or else the program on the path. Where there is
/// none, the reason is printed and the test is to return; with `REFEREE_TOOLS_REQUIRED` set, as
/// `tests/run` does, that is a failure.
///
/// # Panics
///
/// Where the tool is missing and required.
#[must_use]
pub fn tool(variable: &str, program: &str) -> Option<PathBuf> {
    let named = env::var_os(variable).map(PathBuf::from);
    let on_path = || {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .map(|folder| folder.join(program))
            .find(|file| file.is_file())
    };
    let found = named.filter(|file| file.is_file()).or_else(on_path);
    if found.is_none() {
        let reason = format!(
            "no {program}: it is not on the path and {variable} names no file; tests/install-tools \
             installs it"
        );
        assert!(env::var_os("REFEREE_TOOLS_REQUIRED").is_none(), "{reason}");
        println!("skipped: {reason}");
    }
    found
}
