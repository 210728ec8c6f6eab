//! The embedded engine: the common suite, and what is its own.

mod suite;

use std::fs;
use std::path::Path;
use std::time::Duration;

use referee_store::{
    AnswerBody, Appended, CreateError, Created, Fault, GameKey, Games, Log, NewGame, OpenError,
    Questions, ReadError, SqliteOptions, SqliteStore, Store, limits,
};
use rusqlite::Connection;
use suite::{
    Boxed, all_entries, appends, asking, at_once, check_record, create, entry, game, hash,
    new_game, refusal, request, store_one, store_tests,
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
    newest_requests: 5,
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
    store_one(store, entry(key, 25)).await;
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
    let mut moved = store.moved();
    drop(store);
    // The writer ends by itself; it lets go of the signal last.
    while moved.changed().await.is_ok() {}
    check_filled(&open(&path), &key).await;
}

#[tokio::test]
async fn closing_answers_what_waits_and_nothing_later() {
    let (store, folder) = open_default();
    let key = create(&store, new_game("p", "g")).await.key;
    let games = (0..1_500).map(|n| store.create(new_game("p", &n.to_string())));
    let games: Vec<Boxed<'_, _>> = games.collect();
    let writes = appends(&store, (0..30).map(|sequence| entry(&key, sequence)));
    let moved = store.moved();
    let closed = store.close();
    // From the call on, nothing is let in.
    let late = store.append(entry(&key, 30)).await;
    assert_eq!(late, Err(Fault::Closed.into()));
    let late = store.create(new_game("p", "h")).await;
    assert_eq!(late, Err(Fault::Closed.into()));
    assert_eq!(store.game(&key).await, Err(ReadError::Fault(Fault::Closed)));
    assert_eq!(store.newest().await, Err(ReadError::Fault(Fault::Closed)));

    assert_eq!(closed.await, Ok(()));
    for answer in at_once(games).await {
        assert!(matches!(answer, Ok(Created::New(_))), "{answer:?}");
    }
    for answer in at_once(writes).await {
        assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
    }
    assert!(moved.has_changed().is_err(), "the writer has ended");
    // Closing again is no mistake.
    assert_eq!(store.close().await, Ok(()));

    let store = open(folder.path().join("referee.db"));
    assert_eq!(check_record(&store, &key).await.len(), 30);
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
}

#[tokio::test]
async fn files_of_other_versions_are_left_alone() {
    let folder = folder();
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
                known: 3,
                ..
            }
        ),
        "{error}"
    );

    let older = folder.path().join("older.db");
    open(&older).close().await.expect("the store closes");
    let connection = Connection::open(&older).expect("the database opens");
    connection
        .pragma_update(None, "user_version", 2)
        .expect("sql");
    drop(connection);
    let before = fs::read(&older).expect("the file is readable");
    let error = SqliteStore::open(&older).expect_err("it is older");
    assert!(
        matches!(
            error,
            OpenError::OlderSchema {
                found: 2,
                oldest: 3,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("name another file"), "{error}");
    assert_eq!(fs::read(&older).expect("the file is readable"), before);
}

#[test]
fn a_file_that_cannot_be_there_is_an_error() {
    let folder = folder();
    let nowhere = folder.path().join("no/such/folder/referee.db");
    let error = SqliteStore::open(nowhere).expect_err("there is no such folder");
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(SqliteStore::open("").is_err());
    assert!(SqliteStore::open(folder.path()).is_err());
}

#[tokio::test]
async fn questions_and_claims_survive() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let key = create(&store, new_game("p", "g")).await.key;
    let other = create(&store, new_game("p", "h")).await.key;
    store_one(&store, asking(&key, 0)).await;
    store_one(&store, asking(&other, 0)).await;
    let claimed = store.claim_questions(100, 50, 1).await;
    let claimed = claimed.expect("the store writes");
    assert_eq!((claimed.len(), &claimed[0].key), (1, &key));
    store.close().await.expect("the store closes");

    let store = open(&path);
    let claimed = store.claim_questions(149, 50, 9).await;
    let claimed = claimed.expect("the store writes");
    assert_eq!((claimed.len(), &claimed[0].key), (1, &other));
    let claimed = store.claim_questions(150, 50, 9).await;
    let claimed = claimed.expect("the store writes");
    assert_eq!((claimed.len(), &claimed[0].key), (1, &key));
    let settled = store.settle_question(key, 1).await;
    assert_eq!(settled, Ok(()));
    store.close().await.expect("the store closes");

    let store = open(&path);
    let claimed = store.claim_questions(i64::MAX, 50, 9).await;
    let claimed = claimed.expect("the store writes");
    assert_eq!((claimed.len(), &claimed[0].key), (1, &other));
}

#[tokio::test]
async fn nobody_lives_in_a_store_that_was_closed() {
    use referee_store::{Beat, DownSpan, Liveness, ReplicaId};

    let folder = folder();
    let path = folder.path().join("referee.db");
    let beat = |replica, at_us| Beat {
        replica: ReplicaId(replica),
        at_us,
        silence_max_us: 5_000,
        stopping: false,
    };
    let store = open(&path);
    store.beat(beat(1, 1_000)).await.expect("the store writes");
    let mut moved = store.moved();
    // Killed, as it were: it never said that it stops.
    drop(store);
    while moved.changed().await.is_ok() {}
    let store = open(&path);
    assert_eq!(store.last_beat().await, Ok(Some(1_000)));
    let beaten = store.beat(beat(2, 1_700)).await.expect("the store writes");
    let span = DownSpan {
        id: 1,
        from_us: 1_000,
        to_us: 1_700,
    };
    assert_eq!((beaten.newest_span, beaten.found), (1, Some(span)));
    store.close().await.expect("the store closes");
    let store = open(&path);
    assert_eq!(store.down_spans(0, 10).await, Ok(vec![span]));
    let beaten = store.beat(beat(3, 1_701)).await.expect("the store writes");
    assert_eq!(beaten.newest_span, 2);
}

#[tokio::test]
async fn a_claim_of_nothing_writes_nothing() {
    use referee_store::Deadlines;

    let (store, folder) = open_default();
    let key = create(&store, new_game("p", "g")).await.key;
    store_one(&store, entry(&key, 0)).await;
    let log = folder.path().join("referee.db-wal");
    let size = || fs::metadata(&log).expect("the log is there").len();
    let before = size();
    for now_us in 0..50 {
        let due = store.claim_due(now_us, i64::MAX, 10, 100).await;
        assert_eq!(due, Ok(Vec::new()));
        let open = store.claim_questions(now_us, 10, 100).await;
        assert_eq!(open, Ok(Vec::new()));
    }
    assert_eq!(size(), before);
    store_one(&store, entry(&key, 1)).await;
    assert!(size() > before);
}

/// Keeps the writer of a store from writing, as no process of ours ever would.
fn block(folder: &TempDir) -> Connection {
    let blocker = Connection::open(folder.path().join("referee.db")).expect("the database opens");
    blocker.execute_batch("BEGIN IMMEDIATE").expect("sql");
    blocker
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_loses_nothing() {
    let (store, folder) = open_default();
    let blocker = block(&folder);
    let count = limits::QUEUE_WRITES_MAX + 100;
    let games = (0..count).map(|n| store.create(new_game("p", &n.to_string())));
    let games: Vec<Boxed<'_, _>> = games.collect();
    assert_eq!(store.stats().writes_waiting, limits::QUEUE_WRITES_MAX);
    // What is refused is refused before anything is written.
    let full = Fault::Overloaded {
        queue: "writes",
        limit: limits::QUEUE_WRITES_MAX,
        retry_after: limits::OVERLOADED_RETRY_AFTER,
    };
    let one_more = store.create(new_game("p", "one more")).await;
    assert_eq!(one_more, Err(full.clone().into()));
    blocker.execute_batch("ROLLBACK").expect("sql");
    for (n, answer) in at_once(games).await.into_iter().enumerate() {
        if n < limits::QUEUE_WRITES_MAX {
            assert!(matches!(answer, Ok(Created::New(_))), "{n}: {answer:?}");
        } else {
            assert_eq!(answer, Err(full.clone().into()), "{n}");
        }
    }

    // So many bytes may not wait either.
    let blocker = block(&folder);
    let large = |n: usize| {
        let mut game = new_game("p", &format!("large {n}"));
        game.genesis = vec![0; limits::GENESIS_BYTES_MAX];
        store.create(game)
    };
    let games: Vec<Boxed<'_, _>> = (0..70).map(large).collect();
    blocker.execute_batch("ROLLBACK").expect("sql");
    let answers = at_once(games).await;
    let full = Fault::Overloaded {
        queue: "bytes of writes",
        limit: limits::QUEUE_BYTES_MAX,
        retry_after: limits::OVERLOADED_RETRY_AFTER,
    };
    let fits = limits::QUEUE_BYTES_MAX / (limits::GENESIS_BYTES_MAX + 512);
    for (n, answer) in answers.into_iter().enumerate() {
        if n < fits {
            assert!(answer.is_ok(), "{n}: {answer:?}");
        } else {
            assert_eq!(answer, Err(full.clone().into()), "{n}");
        }
    }
    assert_eq!(store.stats().bytes_waiting, 0);
}

#[tokio::test]
async fn reads_do_not_wait_for_a_slow_disk() {
    let (store, folder) = open_default();
    let key = fill(&store).await;
    let (row, newest) = (game(&store, &key).await, store.newest().await);
    let blocker = block(&folder);
    let write = store.append(entry(&key, 25));
    // Many times longer than any read takes, and less than the writer waits for the lock.
    for _ in 0..20 {
        let read = tokio::time::timeout(Duration::from_secs(2), async {
            assert_eq!(game(&store, &key).await, row);
            assert_eq!(all_entries(&store, &key).await.len(), 25);
            assert_eq!(store.answer(&key, &request("entry 26")).await, Ok(None));
            assert_eq!(store.newest().await, newest);
        });
        read.await.expect("reads go on");
    }
    blocker.execute_batch("ROLLBACK").expect("sql");
    let stored = write.await;
    assert!(
        matches!(stored, Ok(Appended::Stored { sequence: 26, .. })),
        "{stored:?}"
    );
    assert_eq!(check_record(&store, &key).await.len(), 26);
}
