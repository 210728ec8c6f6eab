//! The embedded engine: the common suite, and what is its own.

mod suite;

use std::fs;
use std::path::Path;
use std::time::Duration;

use referee_store::{
    AnswerBody, AppendError, Appended, CreateError, Created, Fault, GameKey, NewGame, OpenError,
    ReadError, SqliteOptions, SqliteStore, Store, chain, limits,
};
use rusqlite::Connection;
use suite::{
    all_entries, appends, at_once, check_record, create, entry, game, hash, new_game, refusal,
    store_one, store_tests,
};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn open(path: impl AsRef<Path>) -> SqliteStore {
    SqliteStore::open(path).expect("the store opens")
}

fn open_default() -> (SqliteStore, TempDir) {
    let folder = folder();
    (open(folder.path().join("referee.db")), folder)
}

/// A store that indexes, checkpoints and forgets all the time.
fn open_busy() -> (SqliteStore, TempDir) {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = SqliteStore::open_with(path, BUSY).expect("the store opens");
    (store, folder)
}

const BUSY: SqliteOptions = SqliteOptions {
    unindexed_entries: 10,
    indexed_per_slice: 3,
    checkpoint_pages: 8,
    cached_heads: 2,
};

mod defaults {
    use super::*;
    store_tests!(open_default);
}

mod busy {
    use super::*;
    store_tests!(open_busy);
}

/// Writes what the reopened store must still know.
async fn fill(store: &dyn Store) -> GameKey {
    let labels = vec![("round".to_owned(), "1".to_owned())];
    let key = create(
        store,
        NewGame {
            labels,
            ..new_game("p", "g")
        },
    )
    .await
    .key;
    for sequence in 0..25 {
        store_one(store, entry(&key, sequence)).await;
    }
    store_one(store, refusal(&key, 25, "bad")).await;
    key
}

/// Checks what [`fill`] wrote, and that the game goes on.
async fn check_filled(store: &dyn Store, key: &GameKey) {
    assert_eq!(check_record(store, key).await.len(), 25);
    let row = game(store, key).await;
    assert_eq!(row.labels, [("round".to_owned(), "1".to_owned())]);
    assert_eq!(
        store.create(new_game("p", "g")).await,
        Ok(Created::Existing(row))
    );
    for sequence in [0, 7, 24] {
        let repeated = store.append(entry(key, sequence)).await;
        let Ok(Appended::Repeated(answer)) = repeated else {
            panic!("{repeated:?}")
        };
        assert_eq!(answer.sequence, sequence + 1);
    }
    let repeated = store.append(refusal(key, 25, "bad")).await;
    let Ok(Appended::Repeated(answer)) = repeated else {
        panic!("{repeated:?}")
    };
    assert_eq!(answer.body, AnswerBody::Refusal(b"no to bad".to_vec()));
    let reused = NewGame {
        content_hash: hash(9),
        ..new_game("p", "g")
    };
    assert_eq!(
        store.create(reused).await,
        Err(CreateError::RequestIdReused)
    );
    let position = store_one(store, entry(key, 25)).await.1;
    assert_eq!(*store.position().borrow(), position);
    assert_eq!(check_record(store, key).await.len(), 26);
}

#[tokio::test]
async fn a_closed_store_reopens_as_it_was() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    for options in [SqliteOptions::default(), BUSY] {
        let store = SqliteStore::open_with(&path, options).expect("the store opens");
        let key = fill(&store).await;
        store.close().await.expect("the store closes");
        // All is in the one file now.
        let left: Vec<_> = fs::read_dir(folder.path())
            .expect("the folder is readable")
            .map(|file| file.expect("the folder is readable").file_name())
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");

        let store = open(&path);
        check_filled(&store, &key).await;
        store.close().await.expect("the store closes");
        fs::remove_file(&path).expect("the file is there");
    }
}

#[tokio::test]
async fn a_dropped_store_reopens_as_it_was() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let key = fill(&store).await;
    let mut position = store.position();
    drop(store);
    // The writer ends by itself; it lets go of the position last.
    while position.changed().await.is_ok() {}
    check_filled(&open(&path), &key).await;
}

#[tokio::test]
async fn closing_answers_what_waits_and_nothing_later() {
    let (store, folder) = open_default();
    let key = create(&store, new_game("p", "g")).await.key;
    let mut writes = appends(&store, (0..1_500).map(|sequence| entry(&key, sequence)));
    let (position, answers) = (store.position(), {
        let closing = Box::pin(async {
            store.close().await.expect("the store closes");
            Err(AppendError::NotFound)
        });
        writes.push(closing);
        at_once(writes).await
    });
    for (sequence, answer) in answers[..1_500].iter().enumerate() {
        assert!(
            matches!(answer, Ok(Appended::Stored { .. })),
            "{sequence}: {answer:?}"
        );
    }
    assert_eq!(
        store.append(entry(&key, 1_500)).await,
        Err(Fault::Closed.into())
    );
    assert_eq!(
        store.create(new_game("p", "h")).await,
        Err(Fault::Closed.into())
    );
    assert_eq!(store.game(&key).await, Err(ReadError::Fault(Fault::Closed)));
    assert!(position.has_changed().is_err(), "the writer has ended");
    // Closing again is no mistake.
    assert_eq!(store.close().await, Ok(()));

    let store = open(folder.path().join("referee.db"));
    assert_eq!(check_record(&store, &key).await.len(), 1_500);
}

#[tokio::test]
async fn one_process_at_a_time() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let link = folder.path().join("link.db");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    for name in [&path, &link] {
        let error = SqliteStore::open(name).expect_err("the store is open already");
        assert!(matches!(error, OpenError::Locked { .. }), "{error}");
        assert!(
            error
                .to_string()
                .contains("referee.db is open in another process"),
            "{error}"
        );
    }
    store.close().await.expect("the store closes");
    open(&link);
}

#[tokio::test]
async fn foreign_and_newer_files_are_left_alone() {
    let folder = folder();
    let text = folder.path().join("text.db");
    fs::write(
        &text,
        "no database at all, and long enough to be looked at by an engine\n".repeat(20),
    )
    .expect("a file");
    let theirs = folder.path().join("theirs.db");
    let connection = Connection::open(&theirs).expect("a database");
    connection
        .execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .expect("sql");
    drop(connection);
    for path in [&text, &theirs] {
        let before = fs::read(path).expect("the file is readable");
        let error = SqliteStore::open(path).expect_err("it is not ours");
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
        assert!(
            error.to_string().contains("is not a store of this program"),
            "{error}"
        );
        assert_eq!(fs::read(path).expect("the file is readable"), before);
    }

    let newer = folder.path().join("newer.db");
    open(&newer).close().await.expect("the store closes");
    let connection = Connection::open(&newer).expect("the database opens");
    connection
        .pragma_update(None, "user_version", 99)
        .expect("sql");
    drop(connection);
    let error = SqliteStore::open(&newer).expect_err("it is newer");
    assert!(
        matches!(
            error,
            OpenError::NewerSchema {
                found: 99,
                known: 2,
                ..
            }
        ),
        "{error}"
    );

    let nowhere = folder.path().join("no/such/folder/referee.db");
    let error = SqliteStore::open(nowhere).expect_err("there is no such folder");
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(SqliteStore::open("").is_err());
    assert!(SqliteStore::open(folder.path()).is_err());
}

#[tokio::test]
async fn a_changed_record_shows() {
    use referee_store::chain::ChainError::{Broken, Gap};

    let folder = folder();
    let path = folder.path().join("referee.db");
    let broken = |sequence| Err(Broken { sequence });
    for (change, expected) in [
        ("SELECT 1", Ok(())),
        (
            "UPDATE entries SET bytes = x'00' WHERE sequence = 7",
            broken(7),
        ),
        (
            "UPDATE entries SET bytes = CAST(bytes || 'x' AS BLOB) WHERE sequence = 25",
            broken(25),
        ),
        (
            "UPDATE entries SET chain = zeroblob(32) WHERE sequence = 3",
            broken(3),
        ),
        ("UPDATE geneses SET bytes = x'01'", broken(1)),
        ("UPDATE games SET name = 'h'", broken(1)),
        ("UPDATE platforms SET name = 'q'", broken(1)),
        (
            "DELETE FROM entries WHERE sequence = 5",
            Err(Gap {
                expected: 5,
                found: 6,
            }),
        ),
    ] {
        let store = open(&path);
        let key = fill(&store).await;
        let head = game(&store, &key).await.chain_head;
        store.close().await.expect("the store closes");
        let connection = Connection::open(&path).expect("the database opens");
        connection.execute_batch(change).expect("sql");
        drop(connection);

        let store = open(&path);
        let names = [key, GameKey::new("p", "h"), GameKey::new("q", "g")];
        let mut found = None;
        for key in &names {
            if let Some(row) = store.game(key).await.expect("the store reads") {
                found = Some((key, row.genesis));
            }
        }
        let (key, genesis) = found.expect("the game has one of the names");
        let entries = all_entries(&store, key).await;
        let verdict = chain::verify(key, &genesis, &entries);
        assert_eq!(
            verdict.map(|found| assert_eq!(found, head)),
            expected,
            "{change}"
        );
        store.close().await.expect("the store closes");
        fs::remove_file(&path).expect("the file is there");
    }

    // A cut tail leaves a chain that holds; the head that was kept elsewhere tells.
    let store = open(&path);
    let key = fill(&store).await;
    let row = game(&store, &key).await;
    store.close().await.expect("the store closes");
    let connection = Connection::open(&path).expect("the database opens");
    let cut =
        "DELETE FROM entries WHERE sequence = 25; DELETE FROM entry_index WHERE sequence = 25";
    connection.execute_batch(cut).expect("sql");
    drop(connection);
    let store = open(&path);
    let entries = all_entries(&store, &key).await;
    let head = chain::verify(&key, &row.genesis, &entries).expect("what is left holds");
    assert_ne!(head, row.chain_head);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_loses_nothing() {
    let (store, folder) = open_default();
    let key = create(&store, new_game("p", "g")).await.key;
    // Another connection holds the writer up, as no process of ours ever would.
    let blocker = Connection::open(folder.path().join("referee.db")).expect("the database opens");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("sql");
    // All writes are put in while it does, on a loaded machine, too.
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        blocker.execute_batch("ROLLBACK").expect("sql");
    });

    let count = limits::QUEUE_WRITES_MAX + limits::BATCH_WRITES_MAX + 100;
    let writes = (0..count).map(|sequence| entry(&key, sequence as i64));
    let answers = at_once(appends(&store, writes)).await;
    release.join().expect("the blocker ends");
    let full = Fault::Overloaded {
        queue: "writes",
        limit: limits::QUEUE_WRITES_MAX,
    };
    let stored = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Appended::Stored { .. })));
    let stored = stored.count();
    let refused = answers
        .iter()
        .filter(|answer| **answer == Err(full.clone().into()))
        .count();
    assert_eq!((stored, refused), (stored, count - stored), "nothing else");
    assert!(
        (limits::QUEUE_WRITES_MAX..count).contains(&stored),
        "{stored}"
    );
    assert_eq!(check_record(&store, &key).await.len(), stored);

    // So many bytes may not wait either.
    let large = |n: usize| {
        let mut game = new_game("p", &format!("large {n}"));
        game.genesis = vec![0; limits::GENESIS_BYTES_MAX];
        store.create(game)
    };
    let answers = at_once((0..100).map(large).collect()).await;
    let full = Fault::Overloaded {
        queue: "bytes of writes",
        limit: limits::QUEUE_BYTES_MAX,
    };
    let refused = answers
        .iter()
        .filter(|answer| **answer == Err(full.clone().into()))
        .count();
    assert!((1..100 - 60).contains(&refused), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_whole_while_the_index_is_written() {
    const GAMES: usize = 40;
    const ENTRIES: i64 = 400;

    let folder = folder();
    let options = SqliteOptions {
        unindexed_entries: 700,
        indexed_per_slice: 100,
        checkpoint_pages: 64,
        cached_heads: 30,
    };
    let path = folder.path().join("referee.db");
    let store = SqliteStore::open_with(&path, options).expect("the store opens");
    let mut keys = Vec::new();
    for n in 0..GAMES {
        keys.push(create(&store, new_game("p", &n.to_string())).await.key);
    }
    let write = async {
        for sequence in 0..ENTRIES {
            for answer in
                at_once(appends(&store, keys.iter().map(|key| entry(key, sequence)))).await
            {
                assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
            }
        }
    };
    let read = async {
        let mut checked = 0;
        while *store.position().borrow() < GAMES as i64 * ENTRIES {
            let key = &keys[checked % GAMES];
            let count = check_record(&store, key).await.len() as i64;
            // What was acknowledged is there.
            assert!(game(&store, key).await.sequence >= count);
            if count > 0 {
                let request_id = format!("entry {}", 1 + checked as i64 % count);
                let answer = store
                    .answer(key, &request_id)
                    .await
                    .expect("the store reads");
                assert!(answer.is_some(), "{request_id} of {key:?}");
            }
            checked += 1;
        }
        checked
    };
    let ((), checked, _) = tokio::join!(write, read, async {
        // A second reader, which walks the log.
        let (mut after, mut seen) = (0, 0);
        while seen < GAMES as i64 * ENTRIES {
            let page = store
                .tail(Some("p"), after, 500)
                .await
                .expect("the store reads");
            after = page.after_position;
            seen += page.entries.len() as i64;
        }
    });
    assert!(
        checked > GAMES,
        "only {checked} records were read meanwhile"
    );
    for key in &keys {
        assert_eq!(check_record(&store, key).await.len() as i64, ENTRIES);
    }
    store.close().await.expect("the store closes");

    // The index on disk is what the entries say.
    let connection = Connection::open(&path).expect("the database opens");
    let differences: i64 = connection
        .query_row(
            "SELECT count(*) FROM (SELECT game_id, sequence, position FROM entries \
             EXCEPT SELECT game_id, sequence, position FROM entry_index)",
            [],
            |row| row.get(0),
        )
        .expect("sql");
    assert_eq!(differences, 0);
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("sql");
    assert_eq!(check, "ok");
}
