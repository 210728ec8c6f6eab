//! A disk that fails: nothing is acknowledged that is not there, and the store goes on.
//!
//! The test starts itself again under a limit on the size of files, which makes real writes fail
//! as a full disk does; the child lifts the limit later.

use std::process::Command;

use referee_store::{
    Append, AppendError, Appended, CreateError, Deadlines, Fault, GameKey, Games, Ready,
    SqliteOptions, SqliteStore, Store, limits,
};
use suite::{
    appends, at_once, bytes, check_record, create, new_game, note, refusal, store_one, writing,
};

#[allow(dead_code, unused_imports, unused_macros)]
mod suite;

const CHILD: &str = "REFEREE_STORE_DISK_CHILD";
/// The pages of the log at which the child checkpoints.
const CHECKPOINT: &str = "REFEREE_STORE_DISK_CHECKPOINT";

/// A large entry after `sequence`.
fn large(key: &GameKey, sequence: i64) -> Append {
    let id = format!("entry {}", sequence + 1);
    writing(key, sequence, &id, bytes(vec![7; 3_000]))
}

/// Says whether an answer is that the disk takes nothing.
fn is_read_only<T>(answer: &Result<T, AppendError>) -> bool {
    matches!(answer, Err(AppendError::Fault(Fault::ReadOnly { .. })))
}

/// The child, which fills the disk as far as it may.
async fn child(path: &str) {
    let checkpoint_pages = std::env::var(CHECKPOINT).expect("the parent says when");
    let options = SqliteOptions {
        newest_requests: 8,
        checkpoint_pages: checkpoint_pages.parse().expect("it is a number"),
        cached_heads: limits::CACHED_HEADS_MAX,
    };
    let store = SqliteStore::open_with(path, options).expect("there is room for an empty store");
    let key = create(&store, new_game("p", "g")).await.key;
    let others = (0..20).map(|n| store.create(new_game("p", &n.to_string())));
    let mut games = Vec::new();
    for created in at_once(others.collect()).await {
        let row = created.expect("there is room for the games").into_row();
        note(&row.key, row.chain_head);
        games.push(row.key);
    }
    let stored = fill(&store, &key).await;
    check_full(&store, &key, &games, stored).await;
    lift_limit();

    // What failed is repeated under the same request ids, and the game goes on.
    let again = (stored..stored + 60).map(|sequence| large(&key, sequence));
    for answer in at_once(appends(&store, again)).await {
        assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
    }
    store_one(&store, refusal(&key, stored + 60, "bad")).await;
    for answer in at_once(appends(&store, games.iter().map(|game| large(game, 0)))).await {
        assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
    }
    assert_eq!(store.ready().await, Ok(Ready::Writable));
    create(&store, new_game("p", "h")).await;
    assert_eq!(check_record(&store, &key).await.len() as i64, stored + 60);
    store.close().await.expect("the store closes");

    let store = SqliteStore::open(path).expect("the store opens");
    assert_eq!(check_record(&store, &key).await.len() as i64, stored + 60);
    println!("the store went on");
}

/// Appends to a game until the disk takes nothing, not even what is small, so that it does not hang
/// on how writes are put together whether one of them fits; returns the number of entries.
async fn fill(store: &SqliteStore, key: &GameKey) -> i64 {
    let mut stored = 0;
    for size in [3_000, 1] {
        let reason = loop {
            let id = format!("entry {}", stored + 1);
            let entry = writing(key, stored, &id, bytes(vec![7; size]));
            match store.append(entry).await {
                Ok(Appended::Stored { sequence, .. }) => stored = sequence,
                Err(AppendError::Fault(Fault::ReadOnly { reason })) => break reason,
                other => panic!("{other:?}"),
            }
            assert!(
                stored < limits::ENTRIES_PER_GAME_MAX,
                "the limit never took effect"
            );
        };
        println!("after {stored} entries: {reason}");
    }
    stored
}

/// Checks what a store does on a full disk, in which a game has so many entries and others none.
async fn check_full(store: &SqliteStore, key: &GameKey, games: &[GameKey], stored: i64) {
    // A whole batch fails, and all of it.
    let mut batch = appends(store, games.iter().map(|game| large(game, 0)));
    batch.push(store.append(refusal(key, stored, "bad")));
    for answer in at_once(batch).await {
        assert!(is_read_only(&answer), "{answer:?}");
    }
    // What waited for a write that failed is not written over it.
    let game = appends(store, (stored..stored + 3).map(|it| large(key, it)));
    for (index, answer) in at_once(game).await.into_iter().enumerate() {
        let refused = match &answer {
            Err(AppendError::Moved { actual, .. }) => index > 0 && *actual == stored,
            answer => index == 0 && is_read_only(answer),
        };
        assert!(refused, "{answer:?}");
    }
    let created = store.create(new_game("p", "h")).await;
    assert!(
        matches!(created, Err(CreateError::Fault(Fault::ReadOnly { .. }))),
        "{created:?}"
    );
    // A claim that finds nothing writes nothing, and says nothing of the disk.
    let due = store.claim_due(1, 1, 1, 10).await;
    assert_eq!(due, Ok(Vec::new()));
    let ready = store.ready().await;
    assert!(
        matches!(
            ready,
            Ok(Ready::ReadsOnly {
                fault: Fault::ReadOnly { .. }
            })
        ),
        "{ready:?}"
    );
    // Reading goes on, and shows what was acknowledged.
    assert_eq!(check_record(store, key).await.len() as i64, stored);
    assert_eq!(store.game(&GameKey::new("p", "h")).await, Ok(None));
}

/// Lets the files of this process grow again.
fn lift_limit() {
    let lifted = Command::new("prlimit")
        .args([
            "--fsize=unlimited:unlimited",
            "--pid",
            &std::process::id().to_string(),
        ])
        .status()
        .expect("prlimit runs");
    assert!(lifted.success(), "{lifted}");
}

#[tokio::test]
async fn a_failing_disk_acknowledges_nothing() {
    if let Ok(path) = std::env::var(CHILD) {
        return child(&path).await;
    }
    let tools = Command::new("sh")
        .args(["-c", "command -v prlimit"])
        .output();
    if !tools.is_ok_and(|output| output.status.success()) {
        println!("skipped: prlimit (util-linux) is not installed");
        return;
    }
    // Limits that hit the log first, and such that hit the database in a checkpoint, in different
    // places; in blocks of 512 bytes or 1 KiB, as the shell counts. An ignored SIGXFSZ makes the
    // write fail instead of the process.
    for (blocks, checkpoint_pages) in [(660, 500), (671, 500), (760, 50), (793, 50)] {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "trap '' XFSZ; ulimit -S -f {blocks} && exec \"$0\" \"$@\""
            ))
            .arg(std::env::current_exe().expect("the test knows itself"))
            .args(["--exact", "a_failing_disk_acknowledges_nothing"])
            .args(["--nocapture", "--test-threads=1"])
            .env(CHILD, folder.path().join("referee.db"))
            .env(CHECKPOINT, checkpoint_pages.to_string())
            .output()
            .expect("the child starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        println!("{blocks} blocks: {said}");
        let went_on = output.status.success() && said.contains("the store went on");
        assert!(went_on, "{}\n{said}\n{errors}", output.status);
    }
}
