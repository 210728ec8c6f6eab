//! A disk that fails: nothing is acknowledged that is not there, and the store goes on.
//!
//! The test starts itself again under a limit on the size of files, which makes real writes fail
//! as a full disk does; the child lifts the limit later.

use std::process::Command;

use referee_store::{
    AppendError, Appended, CreateError, Fault, GameKey, SqliteOptions, SqliteStore, Store, limits,
};
use suite::{appends, at_once, check_record, create, entry, new_game, refusal, store_one};

#[allow(dead_code, unused_imports, unused_macros)]
mod suite;

const CHILD: &str = "REFEREE_STORE_DISK_CHILD";

/// The child. As a test of its own it has nothing to do.
#[tokio::test]
async fn child() {
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    // Also housekeeping meets the limit.
    let options = SqliteOptions {
        unindexed_entries: 50,
        indexed_per_slice: 20,
        checkpoint_pages: 50,
        cached_heads: limits::CACHED_HEADS_MAX,
    };
    let store = SqliteStore::open_with(&path, options).expect("there is room for an empty store");
    let key = create(&store, new_game("p", "g")).await.key;
    let mut stored = 0;
    let reason = loop {
        match store.append(entry(&key, stored)).await {
            Ok(Appended::Stored { sequence, .. }) => stored = sequence,
            Err(AppendError::Fault(Fault::Failed { reason })) => break reason,
            other => panic!("{other:?}"),
        }
        assert!(
            stored < limits::ENTRIES_PER_GAME_MAX,
            "the limit never took effect"
        );
    };
    println!("after {stored} entries: {reason}");

    // A whole batch fails, and all of it.
    let mut batch = appends(
        &store,
        (stored..stored + 20).map(|sequence| entry(&key, sequence)),
    );
    batch.push(store.append(refusal(&key, stored, "bad")));
    for answer in at_once(batch).await {
        let failed = matches!(answer, Err(AppendError::Fault(Fault::Failed { .. })));
        assert!(failed, "{answer:?}");
    }
    let created = store.create(new_game("p", "h")).await;
    assert!(
        matches!(created, Err(CreateError::Fault(Fault::Failed { .. }))),
        "{created:?}"
    );
    // Reading goes on, and shows what was acknowledged.
    assert_eq!(check_record(&store, &key).await.len() as i64, stored);
    assert_eq!(store.game(&GameKey::new("p", "h")).await, Ok(None));

    let lifted = Command::new("prlimit")
        .args([
            "--fsize=unlimited:unlimited",
            "--pid",
            &std::process::id().to_string(),
        ])
        .status()
        .expect("prlimit runs");
    assert!(lifted.success(), "{lifted}");

    // What failed is repeated under the same request ids, and the game goes on.
    let again = (stored..stored + 500).map(|sequence| entry(&key, sequence));
    for answer in at_once(appends(&store, again)).await {
        assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
    }
    store_one(&store, refusal(&key, stored + 500, "bad")).await;
    create(&store, new_game("p", "h")).await;
    assert_eq!(check_record(&store, &key).await.len() as i64, stored + 500);
    store.close().await.expect("the store closes");

    let store = SqliteStore::open(&path).expect("the store opens");
    assert_eq!(check_record(&store, &key).await.len() as i64, stored + 500);
    println!("the store went on");
}

#[test]
fn a_failing_disk_acknowledges_nothing() {
    let tools = Command::new("sh")
        .args(["-c", "command -v prlimit"])
        .output();
    if !tools.is_ok_and(|output| output.status.success()) {
        println!("skipped: prlimit (util-linux) is not installed");
        return;
    }
    // Limits that hit the log first, and in different places; in blocks of 512 bytes or 1 KiB,
    // as the shell counts. An ignored SIGXFSZ makes the write fail instead of the process.
    for blocks in [400, 411, 433, 600] {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "trap '' XFSZ; ulimit -S -f {blocks} && exec \"$0\" \"$@\""
            ))
            .arg(std::env::current_exe().expect("the test knows itself"))
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env(CHILD, folder.path().join("referee.db"))
            .output()
            .expect("the child starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        println!("{blocks} blocks: {said}");
        let went_on = output.status.success() && said.contains("the store went on");
        assert!(went_on, "{}\n{said}\n{errors}", output.status);
    }
}
