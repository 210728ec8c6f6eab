//! What is built on the contract by others: small backends of platforms, in Python with generated
//! stubs and in Node, and the code that is generated for Go, Java and C#.

mod backends;
mod generated;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use referee_tests::root;

/// Returns the folder of the protos.
fn protos() -> PathBuf {
    root().join("proto")
}

/// Returns the protos of the contract, as they are named where they import each other.
fn files() -> Vec<String> {
    let folder = std::fs::read_dir(protos().join("referee/v1")).expect("the contract is there");
    let names = folder.map(|entry| entry.expect("a file").file_name());
    let mut files: Vec<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".proto"))
        .map(|name| format!("referee/v1/{name}"))
        .collect();
    files.sort();
    assert!(files.len() > 10, "only {files:?} were found");
    files
}

/// Runs a program in a folder and holds that it ends well.
fn run(program: &Path, arguments: &[impl AsRef<OsStr>], folder: &Path) -> Output {
    run_with(program, arguments, folder, &[])
}

/// Does so with further variables.
fn run_with(
    program: &Path,
    arguments: &[impl AsRef<OsStr>],
    folder: &Path,
    variables: &[(&str, &OsStr)],
) -> Output {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .envs(variables.iter().copied())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} {}: {said}",
        program.display(),
        output.status
    );
    output
}
