//! Compiles the protos of the public contract, without protoc.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use prost::Message;

/// The packages of the contract, as folders below `proto`.
const PACKAGES: [&str; 2] = ["referee/v1", "referee/worker/v1"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    // The generators of tonic say nothing about what to watch. A folder is
    // watched with all that is in it.
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", root.display());

    let mut compiler = protox::Compiler::new([&root])?;
    // The comments become documentation in Rust, are shown by clients that read
    // the descriptors through reflection, and are read by tests.
    compiler.include_source_info(true).include_imports(true);
    for package in PACKAGES {
        compiler.open_files(protos(&root.join(package))?)?;
    }
    let descriptors = compiler.file_descriptor_set();

    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        // Maps are encoded in the order of their keys, so that equal messages
        // have equal bytes.
        .btree_map(".")
        // The status of a call is the type that clients already decode.
        .extern_path(".google.rpc", "::tonic_types::pb")
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}

/// The proto files of one folder, sorted, so that the descriptor set is the
/// same wherever it is built.
fn protos(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
