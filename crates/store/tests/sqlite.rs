//! The embedded engine: the common suite, and what is its own.

mod suite;

use std::fs;
use std::path::Path;
use std::time::Duration;

use referee_store::{
    AnswerBody, AppendError, Appended, CreateError, Created, Fault, GameKey, Games, Log, LogCursor,
    NewGame, OpenError, Questions, ReadError, SqliteOptions, SqliteStore, Store, chain, limits,
};
use rusqlite::Connection;
use suite::{
    Boxed, all_entries, appends, asking, at_once, check_record, create, entry, game, hash,
    new_game, note, refusal, request, store_one, store_tests, writing,
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

    let nowhere = folder.path().join("no/such/folder/referee.db");
    let error = SqliteStore::open(nowhere).expect_err("there is no such folder");
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
    assert!(SqliteStore::open("").is_err());
    assert!(SqliteStore::open(folder.path()).is_err());
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
async fn a_changed_record_shows() {
    use referee_store::chain::ChainError::{Broken, Gap};

    let folder = folder();
    let path = folder.path().join("referee.db");
    let broken = |sequence| Err(Broken { sequence });
    let expected = 5;
    let gap = |found| Err(Gap { expected, found });
    // Changes to entries that are in runs; the way back to newer ones is cut with them.
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
        ("DELETE FROM entries WHERE sequence = 5", gap(6)),
    ] {
        let store = SqliteStore::open_with(&path, BUSY).expect("the store opens");
        let key = fill(&store).await;
        let head = game(&store, &key).await.chain_head;
        store.close().await.expect("the store closes");
        alter(&path, change).expect("sql");

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
        matches!(cut, Err(ReadError::Fault(Fault::Unavailable { .. }))),
        "{cut:?}"
    );
    store.close().await.expect("the store closes");
    // Who cuts with care leaves a chain that holds; the head that was kept elsewhere tells.
    let cut = "UPDATE heads SET sequence = 24, newest = substr(newest, 1, length(newest) - 3), \
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
async fn the_database_takes_nothing_twice() {
    // Of entries that are in the index, and of those that are only in the head.
    for options in [BUSY, SqliteOptions::default()] {
        let folder = folder();
        let path = folder.path().join("referee.db");
        let store = SqliteStore::open_with(&path, options).expect("the store opens");
        let key = fill(&store).await;
        create(&store, new_game("p", "empty")).await;
        store.close().await.expect("the store closes");

        let entries = "SELECT count(*) FROM entries";
        let refusals = "SELECT count(*) FROM refusals";
        let before = (count(&path, entries), count(&path, refusals));
        assert_eq!(before, (25, 1));
        let copy = |sequence: &str, previous: &str, request: &str, game: &str| {
            format!(
                "INSERT INTO entries SELECT (SELECT max(position) FROM entries) + 1, platform_id, \
                 {game}, {sequence}, {previous}, {request}, request_rest, content_hash, \
                 update_time_us, chain, bytes FROM entries"
            )
        };
        let fresh = "x'0102030405060708'";
        let last = "(SELECT position FROM heads WHERE game_id = 1)";
        let of_refusal = "(SELECT request FROM refusals)";
        for sequence in [1, 7, 24, 25] {
            let at = format!("WHERE sequence = {sequence}");
            let refused = format!(
                "INSERT INTO refusals SELECT NULL, game_id, 25, request, request_rest, \
                 content_hash, bytes FROM entries {at}"
            );
            let wrong = [
                // An entry once more, as it is and with another request.
                format!(
                    "{} {at}",
                    copy("sequence", "previous", "request", "game_id")
                ),
                format!("{} {at}", copy("sequence", "previous", fresh, "game_id")),
                format!("{} {at}", copy("sequence", last, fresh, "game_id")),
                // Its request once more, in the next entry or in a refusal.
                format!("{} {at}", copy("26", last, "request", "game_id")),
                refused,
                // The request of a refusal; an entry too far on; one after another past.
                format!("{} {at}", copy("26", last, of_refusal, "game_id")),
                format!("{} {at}", copy("27", last, fresh, "game_id")),
                format!("{} {at}", copy("26", "1", fresh, "game_id")),
                // Of a game that is not there, and one of another game.
                format!("{} {at}", copy("1", "0", fresh, "77")),
                format!("{} {at}", copy("26", last, fresh, "2")),
                // A position once more.
                format!(
                    "INSERT INTO entries SELECT position, platform_id, 2, 1, 0, {fresh}, \
                     request_rest, content_hash, update_time_us, chain, bytes FROM entries {at}"
                ),
            ];
            for insert in &wrong {
                // Whether it is an error or does nothing: nothing is there.
                drop(alter(&path, insert));
                let after = (count(&path, entries), count(&path, refusals));
                assert_eq!(after, before, "{insert}");
            }
        }
        let refused = "INSERT INTO refusals SELECT NULL, game_id, 25, request, request_rest, \
                       content_hash, answer FROM refusals";
        drop(alter(&path, refused));
        assert_eq!(count(&path, refusals), 1);

        // The same statements are right where they follow.
        let next = format!("{} WHERE sequence = 25", copy("26", last, fresh, "game_id"));
        alter(&path, &next).expect("the next entry follows");
        let other = format!("{} WHERE sequence = 25", copy("1", "0", "request", "2"));
        alter(&path, &other).expect("another game has requests of its own");
        assert_eq!(count(&path, entries), 27);
        let store = open(&path);
        assert_eq!(game(&store, &key).await.sequence, 26);
    }
}

#[tokio::test]
async fn positions_and_cursors_outlive_what_they_point_to() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let old = create(&store, new_game("p", "old")).await.key;
    let new = create(&store, new_game("p", "new")).await.key;
    let kept = store_one(&store, entry(&old, 0)).await.1;
    let after_kept = store.newest().await.expect("the store reads");
    store_one(&store, entry(&new, 0)).await;
    let last = store_one(&store, entry(&new, 1)).await.1;
    let end = store.newest().await.expect("the store reads");
    store.close().await.expect("the store closes");

    // The newest entries go, with their game.
    let delete = ["requests", "runs", "entries", "heads", "geneses", "games"]
        .map(|table| format!("DELETE FROM {table} WHERE game_id = 2;"))
        .concat();
    alter(&path, &format!("PRAGMA foreign_keys = on; {delete}")).expect("sql");
    let store = open(&path);
    assert_eq!(store.newest().await, Ok(end.clone()));
    let page = store.changes(&after_kept, 10).await;
    let page = page.expect("the store reads");
    assert_eq!((page.changes, page.next), (Vec::new(), end.clone()));
    let (_, position, _) = store_one(&store, entry(&old, 1)).await;
    assert!(kept < last && last < position, "{kept} {last} {position}");
    for after in [&after_kept, &end] {
        let page = store.tail("p", after, 10).await.expect("the store reads");
        let positions = page.entries.iter().map(|entry| entry.entry.position);
        assert_eq!(positions.collect::<Vec<_>>(), [position]);
    }
    // A cursor is a text that is good in the next life of the store.
    let cursor: LogCursor = end.to_string().parse().expect("it is a cursor");
    store.close().await.expect("the store closes");
    let store = open(&path);
    let page = store.tail("p", &cursor, 10).await.expect("the store reads");
    assert_eq!(page.entries.len(), 1);
    // A game of the same name is another game.
    note(&new, create(&store, new_game("p", "new")).await.chain_head);
    let again = store_one(&store, entry(&new, 0)).await.1;
    assert!(again > position);
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

#[tokio::test]
async fn a_game_takes_so_much_and_no_more() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let key = fill(&store).await;
    store.close().await.expect("the store closes");
    // As if so much had been written: one more of each fits.
    let (entries, refusals) = (limits::ENTRIES_PER_GAME_MAX, limits::REFUSALS_PER_GAME_MAX);
    let nearly = format!(
        "UPDATE entries SET sequence = {last} WHERE sequence = 25;
         UPDATE heads SET sequence = {last}, refusals = {refused};",
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
            let page = store.tail("p", &after, 500).await;
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
                  + (SELECT sum(length(newest)) / 3 FROM heads)";
    assert_eq!(count(&path, listed), GAMES as i64 * ENTRIES);
    let placed = "SELECT (SELECT sum(length(positions)) / 8 FROM runs) \
                  + (SELECT sum(length(newest)) / 3 FROM heads)";
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
