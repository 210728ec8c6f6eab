//! What the tables of the embedded engine hold by themselves, and what is seen when somebody
//! changes them.

#[allow(dead_code, unused_imports, unused_macros)]
mod suite;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use referee_store::{
    AppendError, Appended, Fault, GameKey, Games, Log, LogCursor, NewGame, ReadError,
    SqliteOptions, SqliteStore, Store, chain, limits,
};
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use suite::{
    all_entries, appends, at_once, check_record, create, entry, game, hash, new_game, note,
    refusal, request, store_one, writing,
};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn open(path: impl AsRef<Path>) -> SqliteStore {
    SqliteStore::open(path).expect("the store opens")
}

/// Options with which all but the newest requests are in the index.
const BUSY: SqliteOptions = SqliteOptions {
    newest_requests: 5,
    checkpoint_pages: 8,
    cached_heads: 2,
};

/// Writes 25 entries and a refusal.
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

/// The insertion of a copy of one of the entries of the first game, as the next one of the log.
fn copy(of: i64, sequence: &str, previous: &str, request: &str, game: &str) -> String {
    format!(
        "INSERT INTO entries SELECT (SELECT max(position) FROM entries) + 1, platform_id, {game}, \
         {sequence}, {previous}, {request}, request_rest, content_hash, update_time_us, chain, \
         bytes FROM entries WHERE sequence = {of}"
    )
}

/// The insertion of a refusal at sequence 25 that copies a row of a table.
fn refuse(answer: &str, from: &str) -> String {
    format!(
        "INSERT INTO refusals SELECT NULL, game_id, 25, request, request_rest, content_hash, \
         {answer} FROM {from}"
    )
}

/// A request that nobody made.
const FRESH: &str = "x'0102030405060708'";
/// The position of the last entry of the first game.
const LAST: &str = "(SELECT position FROM heads WHERE game_id = 1)";

/// What the database must not take after [`fill`], built on the entry `of`.
fn wrong(of: i64) -> Vec<String> {
    let of_refusal = "(SELECT request FROM refusals)";
    vec![
        // The entry once more, as it is and with another request.
        copy(of, "sequence", "previous", "request", "game_id"),
        copy(of, "sequence", "previous", FRESH, "game_id"),
        copy(of, "sequence", LAST, FRESH, "game_id"),
        // Its request once more, in the next entry or in a refusal; that of a refusal.
        copy(of, "26", LAST, "request", "game_id"),
        refuse("bytes", &format!("entries WHERE sequence = {of}")),
        refuse("answer", "refusals"),
        copy(of, "26", LAST, of_refusal, "game_id"),
        // An entry too far on, and one after another past.
        copy(of, "27", LAST, FRESH, "game_id"),
        copy(of, "26", "1", FRESH, "game_id"),
        // Of a game that is not there, and one of another game.
        copy(of, "1", "0", FRESH, "77"),
        copy(of, "26", LAST, FRESH, "2"),
        // A position once more.
        format!(
            "INSERT INTO entries SELECT position, platform_id, 2, 1, 0, {FRESH}, request_rest, \
             content_hash, update_time_us, chain, bytes FROM entries WHERE sequence = {of}"
        ),
    ]
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
        let rows = || {
            let rows = |table| count(&path, &format!("SELECT count(*) FROM {table}"));
            (rows("entries"), rows("refusals"))
        };
        assert_eq!(rows(), (25, 1));
        for insert in [1, 7, 24, 25].into_iter().flat_map(wrong) {
            // Whether it is an error or does nothing: nothing is there.
            drop(alter(&path, &insert));
            assert_eq!(rows(), (25, 1), "{insert}");
        }
        // The same statements are right where they follow.
        let next = copy(25, "26", LAST, FRESH, "game_id");
        alter(&path, &next).expect("the next entry follows");
        let other = copy(25, "1", "0", "request", "2");
        alter(&path, &other).expect("another game has requests of its own");
        assert_eq!(rows(), (27, 1));
        let store = open(&path);
        assert_eq!(game(&store, &key).await.sequence, 26);
    }
}

/// Ids of requests that the head of a game cannot tell apart: the first three bytes of their
/// digests are the same.
fn ids_of_one_print() -> [String; 2] {
    let mut seen = HashMap::new();
    for n in 0_u32.. {
        let id = format!("request {n}");
        let digest = Sha256::new().chain_update([1]).chain_update(&id).finalize();
        if let Some(first) = seen.insert([digest[0], digest[1], digest[2]], id.clone()) {
            return [first, id];
        }
    }
    panic!("there are more ids than prints")
}

#[tokio::test]
async fn requests_of_one_print_are_told_apart() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let [one, other] = ids_of_one_print();
    // The second one is another entry in one game, and a refusal in the other.
    let entries = create(&store, new_game("p", "entries")).await.key;
    let refusals = create(&store, new_game("p", "refusals")).await.key;
    for key in [&entries, &refusals] {
        let first = writing(key, 0, &one, suite::bytes("one"));
        store_one(&store, first.clone()).await;
        assert_eq!(store.answer(key, &request(&other)).await, Ok(None));
        let second = if *key == entries {
            writing(key, 1, &other, suite::bytes("other"))
        } else {
            refusal(key, 1, &other)
        };
        store_one(&store, second.clone()).await;
        for (repeated, sequence) in [(first, 1), (second, i64::from(*key == entries) + 1)] {
            match store.append(repeated).await {
                Ok(Appended::Repeated(answer)) => assert_eq!(answer.sequence, sequence),
                answer => panic!("{answer:?}"),
            }
        }
        check_record(&store, key).await;
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
    check_index(&path, GAMES as i64 * ENTRIES);
}

/// Head and index together have what the entries say.
fn check_index(path: &Path, entries: i64) {
    let listed = "SELECT (SELECT count(*) FROM requests) \
                  + (SELECT sum(length(newest)) / 3 FROM heads)";
    assert_eq!(count(path, listed), entries);
    let placed = "SELECT (SELECT sum(length(positions)) / 8 FROM runs) \
                  + (SELECT sum(length(newest)) / 3 FROM heads)";
    assert_eq!(count(path, placed), entries);
    let misplaced = "SELECT count(*) FROM requests LEFT JOIN entries ON position = place \
                     WHERE entries.request IS NOT requests.request";
    assert_eq!(count(path, misplaced), 0);
    let connection = Connection::open(path).expect("the database opens");
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("sql");
    assert_eq!(check, "ok");
}
