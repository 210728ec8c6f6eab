//! Copies of stores, and what a verification finds.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use referee_store::{
    BackUpError, Course, Deletion, Finding, GameKey, Games, NewGame, OpenError, PrivateText,
    SqliteStore, Store, StoreFile, Upkeep, VerifyCursor,
};
use rusqlite::Connection;

use crate::{BUSY, check_filled, create, entry, fill, folder, new_game, open, store_one};

fn course() -> Arc<Course> {
    Arc::new(Course::default())
}

/// Verifies all of a file.
fn findings(path: &Path) -> Vec<Finding> {
    let mut file = StoreFile::open(path).expect("the file opens");
    let (mut from, mut findings) = (VerifyCursor::default(), Vec::new());
    loop {
        let page = file.verify(&from, &course()).expect("the file is read");
        findings.extend(page.findings);
        match page.next {
            Some(next) => from = next,
            None => return findings,
        }
    }
}

/// Verifies all of a store that is open, and counts its games and entries.
async fn verify(store: &SqliteStore) -> (Vec<Finding>, u64, u64) {
    let (mut from, mut findings, mut games, mut entries) = Default::default();
    loop {
        let page = store.verify(&from, course()).await.expect("it is read");
        findings = [findings, page.findings].concat();
        games += page.games;
        entries += page.entries;
        match page.next {
            Some(next) => from = next,
            None => return (findings, games, entries),
        }
    }
}

/// A closed store with what [`fill`] writes.
async fn filled(folder: &Path) -> PathBuf {
    let path = folder.join("referee.db");
    let store = SqliteStore::open_with(&path, BUSY).expect("the store opens");
    fill(&store).await;
    store.close().await.expect("it closes");
    path
}

#[tokio::test]
async fn every_damage_is_found() {
    let folder = folder();
    let sound = filled(folder.path()).await;
    assert_eq!(findings(&sound), []);
    let cases = include_str!("../../../../tests/data/store/damage.txt");
    let cases = cases.lines().filter(|line| !line.starts_with('#'));
    for (number, case) in cases.enumerate() {
        let [name, sql, expected] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}: three columns");
        };
        let path = folder.path().join(format!("{number}.db"));
        fs::copy(&sound, &path).expect("a copy");
        let connection = Connection::open(&path).expect("it opens");
        let careless = "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON;";
        connection
            .execute_batch(&format!("{careless}{sql}"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        drop(connection);
        let found = findings(&path);
        let (names_game, text) = match expected.strip_prefix("game ") {
            Some(text) => (true, text),
            None => (false, expected),
        };
        let matches = |finding: &Finding| {
            let is_named = finding.key == Some(GameKey::new("p", "g"));
            finding.to_string().contains(text) && (is_named || !names_game)
        };
        assert!(found.iter().any(matches), "{name}: {found:?}");
    }
}

/// Each page of the file, one at a time, is filled with zeros or has some bits changed: whatever
/// that hits, it is found, and the verification comes to its end.
#[tokio::test]
async fn every_damaged_page_is_found() {
    let folder = folder();
    let sound = fs::read(filled(folder.path()).await).expect("the file is read");
    let path = folder.path().join("damaged.db");
    let page_bytes = 4096;
    for page in 0..sound.len() / page_bytes {
        let mut damaged = sound.clone();
        damaged[page * page_bytes..(page + 1) * page_bytes].fill(0);
        fs::write(&path, damaged).expect("it is written");
        match StoreFile::open(&path) {
            Ok(_) => assert_ne!(findings(&path), [], "page {page} of zeros"),
            // Where its description is damaged, it cannot be opened at all.
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

#[tokio::test]
async fn a_store_is_verified_while_it_is_written_to() {
    let folder = folder();
    let store = SqliteStore::open_with(folder.path().join("referee.db"), BUSY);
    let store = Arc::new(store.expect("the store opens"));
    let key = create(&store, new_game("p", "g")).await.key;
    let writer = Arc::clone(&store);
    let writing = tokio::spawn(async move {
        for sequence in 0..400 {
            store_one(&writer, entry(&key, sequence)).await;
        }
    });
    while !writing.is_finished() {
        let (findings, games, _) = verify(&store).await;
        assert_eq!((findings, games), (Vec::new(), 1));
    }
    writing.await.expect("all is written");
    assert_eq!(verify(&store).await, (Vec::new(), 1, 400));
}

#[tokio::test]
async fn a_long_game_is_verified_in_parts() {
    let folder = folder();
    let store = open(folder.path().join("referee.db"));
    let key = create(&store, new_game("p", "g")).await.key;
    for sequence in 0..2_500 {
        store_one(&store, entry(&key, sequence)).await;
    }
    let first = store.verify(&VerifyCursor::games(), course()).await;
    let first = first.expect("it is read");
    assert!((1..2_500).contains(&first.entries), "{}", first.entries);
    assert_eq!(verify(&store).await, (Vec::new(), 1, 2_500));
}

#[tokio::test]
async fn a_copy_of_a_running_store_is_a_store() {
    let folder = folder();
    let store = SqliteStore::open_with(folder.path().join("referee.db"), BUSY);
    let store = Arc::new(store.expect("the store opens"));
    let key = fill(&store).await;
    let other = create(&store, new_game("q", "other")).await.key;
    let writer = Arc::clone(&store);
    let writing = tokio::spawn(async move {
        for sequence in 0..300 {
            store_one(&writer, entry(&other, sequence)).await;
        }
    });
    let mut copies = Vec::new();
    while !writing.is_finished() {
        let target = folder.path().join(format!("copy-{}.db", copies.len()));
        let course = course();
        let done = store.back_up(target.clone(), Arc::clone(&course)).await;
        let done = done.expect("it is copied");
        let bytes = fs::metadata(&target).expect("it is there").len();
        assert_eq!((done.bytes, done.games), (bytes, 2));
        assert_eq!(course.done(), bytes);
        copies.push((target, done.position));
    }
    writing.await.expect("all is written");
    assert!(copies.is_sorted_by_key(|(_, position)| *position));
    for (path, _) in &copies {
        assert_eq!(findings(path), []);
        // Nothing is laid beside a copy that is only read.
        let mut beside = path.clone().into_os_string();
        beside.push("-wal");
        assert!(!Path::new(&beside).exists());
    }
    let (last, _) = copies.last().expect("one was made");
    let copy = open(last);
    check_filled(&copy, &key).await;
    no_parts(folder.path());
}

#[tokio::test]
async fn a_copy_never_takes_the_place_of_a_file() {
    let folder = folder();
    let store = open(folder.path().join("referee.db"));
    fill(&store).await;
    let target = folder.path().join("mine");
    fs::write(&target, "mine").expect("a file");
    let result = store.back_up(target.clone(), course()).await;
    assert_eq!(
        result,
        Err(BackUpError::Exists {
            path: target.clone()
        })
    );
    assert_eq!(fs::read_to_string(&target).expect("it is there"), "mine");
    let nowhere = folder.path().join("nowhere").join("copy.db");
    let result = store.back_up(nowhere, course()).await;
    assert!(matches!(result, Err(BackUpError::Io { .. })), "{result:?}");
    no_parts(folder.path());
}

#[tokio::test]
async fn a_copy_that_is_stopped_leaves_nothing() {
    let folder = folder();
    let store = open(folder.path().join("referee.db"));
    for number in 0..40 {
        let mut game = new_game("p", &format!("g{number}"));
        game.genesis = vec![7; 200_000];
        create(&store, game).await;
    }
    // What a process has left that was killed meanwhile goes with the next copy.
    let left = folder.path().join(".referee-copy-left.part");
    fs::write(&left, "a part").expect("a file");
    let target = folder.path().join("copy.db");
    let course = Arc::new(Course::resting(1));
    course.stop();
    let result = store.back_up(target.clone(), course).await;
    assert_eq!(result, Err(BackUpError::Stopped));
    assert!(!target.exists());
    no_parts(folder.path());
}

#[tokio::test]
async fn what_was_deleted_is_not_copied() {
    let folder = folder();
    let path = filled(folder.path()).await;
    let secret = "what nobody may read any more".repeat(400);
    let connection = Connection::open(&path).expect("it opens");
    connection
        .execute_batch(&format!(
            "PRAGMA secure_delete = OFF; CREATE TABLE kept (x); \
             INSERT INTO kept VALUES ('{secret}'); DROP TABLE kept;"
        ))
        .expect("sql");
    drop(connection);
    let has_secret = |path: &Path| {
        let bytes = fs::read(path).expect("the file is read");
        bytes
            .windows(20)
            .any(|part| part == &secret.as_bytes()[..20])
    };
    assert!(has_secret(&path), "the engine keeps what was deleted");
    let target = folder.path().join("copy.db");
    let mut file = StoreFile::open_alone(&path).expect("nobody has it open");
    file.back_up(&target, &course()).expect("it is copied");
    assert!(!has_secret(&target));
    assert_eq!(findings(&target), []);
}

#[tokio::test]
async fn what_was_forgotten_is_not_copied() {
    let folder = folder();
    let store = open(folder.path().join("referee.db"));
    let secret = b"Ada Lovelace of the first house";
    let row = create(
        &store,
        NewGame {
            private: Some(PrivateText {
                salt: [7; 16],
                bytes: secret.to_vec(),
            }),
            ..new_game("p", "forgotten")
        },
    )
    .await;
    fill(&store).await;
    let copy = async |name: &str| {
        let target = folder.path().join(name);
        let done = store.back_up(target.clone(), course()).await;
        done.expect("it is copied");
        assert_eq!(findings(&target), []);
        let bytes = fs::read(&target).expect("the copy is read");
        (
            target,
            bytes.windows(secret.len()).any(|part| part == secret),
        )
    };
    assert!(copy("before.db").await.1, "what is kept is copied");
    let deletion = Deletion {
        key: row.key.clone(),
        request_id: "delete".into(),
        expected_sequence: 0,
        previous: row.chain_head,
        delete_time_us: 9,
    };
    store.delete(deletion).await.expect("it is deleted");
    let (target, has_secret) = copy("after.db").await;
    assert!(!has_secret);
    let copied = open(target);
    let tombstone = copied.tombstone(&row.key).await.expect("it is read");
    assert!(tombstone.is_some());
}

#[tokio::test]
async fn files_are_opened_for_what_they_are() {
    let folder = folder();
    let store = open(folder.path().join("referee.db"));
    let path = folder.path().join("referee.db");
    let error = StoreFile::open_alone(&path).expect_err("a store has it open");
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    assert_eq!(findings(&path), []);
    store.close().await.expect("it closes");
    let text = folder.path().join("text");
    fs::write(&text, "no store at all").expect("a file");
    let empty = folder.path().join("empty");
    fs::write(&empty, "").expect("a file");
    for (path, foreign) in [
        (&text, true),
        (&empty, false),
        (&folder.path().to_owned(), false),
        (&folder.path().join("nothing"), false),
    ] {
        let error = StoreFile::open(path).expect_err("it is no store");
        assert_eq!(
            matches!(error, OpenError::Foreign { .. }),
            foreign,
            "{error}"
        );
    }
    assert!(!folder.path().join("nothing").exists());
}

fn no_parts(folder: &Path) {
    for entry in fs::read_dir(folder).expect("the folder is read") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_string_lossy();
        assert!(!name.contains(".part"), "{name} is left");
    }
}
