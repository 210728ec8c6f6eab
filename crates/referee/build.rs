//! Says which revision of the sources is built: what `REFEREE_REVISION` holds, else what git says
//! of this tree, else "unknown".

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=REFEREE_REVISION");
    let given = std::env::var("REFEREE_REVISION").ok();
    let given = given.filter(|given| !given.trim().is_empty());
    let revision = given.or_else(revision_of_tree);
    let revision = revision.as_deref().map_or("unknown", str::trim);
    println!("cargo:rustc-env=REFEREE_REVISION={revision}");
}

/// Asks git, but for a tree that only lies within one of another project.
fn revision_of_tree() -> Option<String> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if Path::new(&root).canonicalize().ok()? != here.canonicalize().ok()? {
        return None;
    }
    // The log of HEAD grows with each commit and each switch.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join(log);
    println!("cargo:rerun-if-changed={}", log.display());
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
