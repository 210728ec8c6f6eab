//! Code that is generated from the contract as it stands, without an option of the caller's own.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use referee_tests::{root, tool};

use super::{files, protos, run, run_with};

/// The names of the messages and enums at the top of the files of the contract.
fn types() -> Vec<String> {
    let mut types = Vec::new();
    for file in files() {
        let text = fs::read_to_string(protos().join(file)).expect("it was listed");
        let opens = text.lines().filter_map(|line| {
            let rest = line
                .strip_prefix("message ")
                .or_else(|| line.strip_prefix("enum "))?;
            rest.split_whitespace().next()
        });
        types.extend(opens.map(str::to_owned));
    }
    assert!(types.len() > 100, "only {} were found", types.len());
    types
}

/// Every type is a class of its own in the package of the contract.
#[test]
fn java_is_generated() {
    let Some(protoc) = tool("REFEREE_PROTOC", "protoc") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let out = format!("--java_out={}", folder.path().display());
    run(
        &protoc,
        &[vec!["-I.".into(), out], files()].concat(),
        &protos(),
    );
    for name in types() {
        let file = folder.path().join(format!("referee/v1/{name}.java"));
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(text.contains("\npackage referee.v1;"), "{name}");
    }
}

/// Every type is in the namespace of the contract, in the spelling of the language.
#[test]
fn csharp_is_generated() {
    let Some(protoc) = tool("REFEREE_PROTOC", "protoc") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    let out = format!("--csharp_out={}", folder.path().display());
    run(
        &protoc,
        &[vec!["-I.".into(), out], files()].concat(),
        &protos(),
    );
    let mut text = String::new();
    for file in fs::read_dir(folder.path()).expect("the folder is there") {
        let file = file.expect("a file").path();
        let code = fs::read_to_string(&file).expect("what was written can be read");
        let is_named = code.contains("\nnamespace Referee.V1 {");
        assert!(is_named, "{}", file.display());
        text.push_str(&code);
    }
    for name in types() {
        let class = text.contains(&format!("public sealed partial class {name} "));
        let list = text.contains(&format!("public enum {name} "));
        assert!(class || list, "{name}");
    }
}

/// The messages and both services are packages that compile.
#[test]
fn go_is_generated_and_compiles() {
    let (Some(go), Some(buf)) = (tool("REFEREE_GO", "go"), tool("REFEREE_BUF", "buf")) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    for name in ["go.mod", "go.sum", "buf.gen.yaml"] {
        let from = root().join("tests/interop/go").join(name);
        fs::copy(from, folder.path().join(name)).expect("it is there");
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = go.parent().into_iter().map(Path::to_owned);
    let path = env::join_paths(folders.chain(env::split_paths(&path))).expect("a path");
    let off = OsString::from("off");
    let none = OsString::from("0");
    let local = OsString::from("local");
    // What it stands on was fetched by tests/install-tools.
    let variables = [
        ("PATH", path.as_os_str()),
        ("GOPROXY", off.as_os_str()),
        ("CGO_ENABLED", none.as_os_str()),
        ("GOTOOLCHAIN", local.as_os_str()),
    ];
    let proto = protos().display().to_string();
    let contract = format!("{proto}/referee");
    let generate = ["generate", proto.as_str(), "--path", contract.as_str()];
    run_with(&buf, &generate, folder.path(), &variables);
    let package = fs::read_to_string(folder.path().join("v1/game_service_grpc.pb.go"));
    let package = package.expect("the services are generated");
    assert!(package.contains("\npackage refereev1\n"));
    run_with(&go, &["build", "./..."], folder.path(), &variables);
}
