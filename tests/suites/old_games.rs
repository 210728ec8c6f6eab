//! Games of before are read as they were: every store under `tests/data/old_games` is opened, and
//! what is shown of each game is compared with what was shown when the store was written.
//!
//! `tests/other-rules` does the same with a server of other profiles, limits and parameters.

use std::fs;
use std::path::PathBuf;

use referee_tests::old_games::{check, write};
use referee_tests::root;

/// The stores that are kept.
fn stores() -> Vec<PathBuf> {
    let folder = root().join("tests/data/old_games");
    let found = fs::read_dir(folder).expect("the stores are there");
    let mut stores: Vec<PathBuf> = found
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    stores.sort();
    stores
}

#[tokio::test(flavor = "multi_thread")]
async fn old_games_are_read_as_they_were() {
    let stores = stores();
    assert!(!stores.is_empty(), "no store is kept");
    for store in stores {
        let faults = check(&store).await;
        let store = store.display();
        assert!(faults.is_empty(), "{store}:\n{}", faults.join("\n"));
    }
}

/// The command that makes a store still makes one, of games that can be read.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_can_be_made() {
    let folder = tempfile::tempdir().expect("a folder for temporary files can be made");
    write(folder.path()).await;
    let faults = check(folder.path()).await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
