//! Names the revision of what judges: a hash over the sources of the rooms that a ruling comes from
//! and over the contract that it is written in. It is the same with and without version control, in
//! every folder and on every system, and a change elsewhere in the project does not change it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};

/// The folders that are hashed, from the folder of this package.
const FOLDERS: [&str; 5] = [
    "../chess/src",
    "../mate/src",
    "../laws/src",
    "../record/src",
    "../../proto/referee/v1",
];

/// How many digits of the hash name the revision.
const DIGITS: usize = 12;

fn main() {
    let revision = revision().unwrap_or_else(|error| panic!("the sources cannot be read: {error}"));
    println!("cargo:rustc-env=REFEREE_JUDGE_REVISION={revision}");
}

fn revision() -> io::Result<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut hash = Sha256::new();
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={folder}");
        let root = here.join(folder);
        let mut files = Vec::new();
        list(&root, String::new(), &mut files)?;
        files.sort();
        for (name, path) in files {
            let text = fs::read(path)?;
            // A checkout may end lines in another way.
            let text: Vec<u8> = text.into_iter().filter(|&byte| byte != b'\r').collect();
            for part in [folder.as_bytes(), name.as_bytes(), &text] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
    }
    let digits = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    Ok(digits[..DIGITS].to_owned())
}

/// Lists the files below a folder, each with its path from there, written with `/`.
fn list(folder: &Path, prefix: String, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
