//! The embedded engine: the common suite, and what is its own.

mod damage;
mod files;
mod forget;
mod reopening;
#[path = "../suite/mod.rs"]
mod suite;
mod truth;
mod uniqueness;
mod upkeep;

use std::fs;
use std::path::Path;
use std::time::Duration;

use referee_store::{
    AnswerBody, AppendError, Appended, CreateError, Created, Fault, GameKey, Games, Log, LogCursor,
    NewGame, Questions, ReadError, SqliteOptions, SqliteStore, Store, Write, chain, limits,
};
use rusqlite::Connection;
use suite::{
    Boxed, all_entries, appends, at_once, check_record, create, entry, game, hash, new_game,
    refusal, request, store_one, store_tests, writing,
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
    for sequence in 0..24 {
        store_one(store, entry(&key, sequence)).await;
    }
    let mut last = entry(&key, 24);
    if let Write::Entry { deadline_us, .. } = &mut last.write {
        *deadline_us = Some(9_000);
    }
    store_one(store, last).await;
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

/// Does `change` to the file of a closed store.
fn alter(path: &Path, change: &str) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch(change)
}

/// The number that a question to the file of a closed store gives.
fn count(path: &Path, question: &str) -> i64 {
    let connection = Connection::open(path).expect("the database opens");
    let count = connection.query_row(question, [], |row| row.get(0));
    count.expect("sql")
}

#[tokio::test]
async fn a_cut_record_shows() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let key = fill(&store).await;
    let row = game(&store, &key).await;
    store.close().await.expect("the store closes");
    // Who cuts without care leaves a game whose last entry is not there: an error, and no game
    // that looks well.
    alter(&path, "DELETE FROM entries WHERE sequence = 25").expect("sql");
    let store = open(&path);
    let cut = store.game(&key).await;
    assert!(
        matches!(cut, Err(ReadError::Fault(Fault::Damaged { .. }))),
        "{cut:?}"
    );
    store.close().await.expect("the store closes");
    // Who cuts with care leaves a chain that holds; the head that was kept elsewhere tells.
    let cut = "UPDATE heads SET sequence = 24, newest = newest - 1, \
               position = (SELECT max(position) FROM entries)";
    alter(&path, cut).expect("sql");
    let store = open(&path);
    let entries = all_entries(&store, &key).await;
    assert_eq!(entries.len(), 24);
    let head = chain::verify(&key, &row.genesis, &entries).expect("what is left holds");
    assert_eq!(head, game(&store, &key).await.chain_head);
    assert_ne!(head, row.chain_head);
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

#[tokio::test]
async fn a_game_takes_so_much_and_no_more() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let key = fill(&store).await;
    store.close().await.expect("the store closes");
    // As if so much had been written: one more of each fits.
    let (entries, refusals) = (limits::ENTRIES_PER_GAME_MAX, limits::REFUSALS_PER_SCOPE_MAX);
    let nearly = format!(
        "UPDATE entries SET sequence = {last} WHERE sequence = 25;
         UPDATE heads SET sequence = {last};
         UPDATE refusal_counts SET refusals = {refused};",
        last = entries - 1,
        refused = refusals - 1,
    );
    alter(&path, &nearly).expect("sql");
    let store = open(&path);
    let head = game(&store, &key).await.chain_head;
    let judged = |mut append: referee_store::Append, sequence, previous| {
        append.expected_sequence = sequence;
        append.previous = previous;
        append
    };
    let refuse = |id: &str, sequence, previous| judged(refusal(&key, 0, id), sequence, previous);
    store_one(&store, refuse("fits", entries - 1, head)).await;
    let limit = refusals;
    assert_eq!(
        store.append(refuse("too many", entries - 1, head)).await,
        Err(AppendError::TooManyRefusals { limit })
    );
    let write = |id: &str| writing(&key, 0, id, suite::bytes(id));
    let (_, _, head) = store_one(&store, judged(write("last"), entries - 1, head)).await;
    let limit = entries;
    assert_eq!(
        store.append(judged(write("beyond"), entries, head)).await,
        Err(AppendError::GameFull { limit })
    );
    // Repetitions are still answered.
    for id in ["last", "fits"] {
        let content_hash = if id == "fits" { hash(3) } else { hash(2) };
        let mut again = judged(write(id), 0, head);
        again.content_hash = content_hash;
        let again = store.append(again).await;
        assert!(matches!(again, Ok(Appended::Repeated(_))), "{again:?}");
        let answer = store.answer(&key, &request(id)).await;
        assert!(answer.is_ok_and(|answer| answer.is_some()));
    }
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_are_whole_while_the_index_is_written() {
    const GAMES: usize = 40;
    const ENTRIES: i64 = 100;

    let folder = folder();
    let options = SqliteOptions {
        newest_requests: 9,
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
            let writes = appends(&store, keys.iter().map(|key| entry(key, sequence)));
            for answer in at_once(writes).await {
                assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
            }
        }
    };
    let read = async {
        let mut checked = 0;
        loop {
            let key = &keys[checked % GAMES];
            let count = check_record(&store, key).await.len() as i64;
            // What was acknowledged is there.
            assert!(game(&store, key).await.sequence >= count);
            if count > 0 {
                let id = format!("entry {}", 1 + checked as i64 % count);
                let answer = store.answer(key, &request(&id)).await;
                assert!(answer.is_ok_and(|it| it.is_some()), "{id} of {key:?}");
            }
            checked += 1;
            if count == ENTRIES {
                return checked;
            }
        }
    };
    // A second reader walks the log.
    let follow = async {
        let (mut after, mut seen) = (LogCursor::start(), 0);
        while seen < GAMES as i64 * ENTRIES {
            let page = store.tail("p", &[], &after, 500).await;
            let page = page.expect("the store reads");
            after = page.next;
            seen += page.entries.len() as i64;
        }
    };
    let ((), checked, ()) = tokio::join!(write, read, follow);
    assert!(
        checked > GAMES,
        "only {checked} records were read meanwhile"
    );
    for key in &keys {
        assert_eq!(check_record(&store, key).await.len() as i64, ENTRIES);
    }
    store.close().await.expect("the store closes");

    // Head and index together have what the entries say.
    let listed = "SELECT (SELECT count(*) FROM requests) \
                  + (SELECT sum(newest) FROM heads)";
    assert_eq!(count(&path, listed), GAMES as i64 * ENTRIES);
    let placed = "SELECT (SELECT sum(length(positions)) / 8 FROM runs) \
                  + (SELECT sum(newest) FROM heads)";
    assert_eq!(count(&path, placed), GAMES as i64 * ENTRIES);
    let misplaced = "SELECT count(*) FROM requests LEFT JOIN entries ON position = place \
                     WHERE entries.request IS NOT requests.request";
    assert_eq!(count(&path, misplaced), 0);
    let connection = Connection::open(&path).expect("the database opens");
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("sql");
    assert_eq!(check, "ok");
}
