//! What is changed in the file of a closed store shows to who reads the game.

use std::fs;

use referee_store::{Fault, GameKey, Games, ReadError, SqliteStore, Store};

use crate::suite::{all_entries, entry, store_one};
use crate::{BUSY, alter, fill, folder, open};

/// Changes to a game with 25 entries, and what a reader is told, if anything.
const CHANGES: &[(&str, Option<&str>)] = &[
    ("SELECT 1", None),
    (
        "UPDATE entries SET bytes = x'00' WHERE sequence = 7",
        Some("entry 7 was changed"),
    ),
    (
        "UPDATE entries SET bytes = CAST(bytes || 'x' AS BLOB) WHERE sequence = 25",
        Some("entry 25 was changed"),
    ),
    (
        "UPDATE entries SET chain = zeroblob(32) WHERE sequence = 3",
        Some("entry 3 was changed"),
    ),
    (
        "UPDATE entries SET chain = x'00' WHERE sequence = 3",
        Some("a value makes no sense"),
    ),
    ("UPDATE geneses SET bytes = x'01'", Some("the genesis")),
    ("DELETE FROM geneses", Some("a row is missing")),
    ("UPDATE platforms SET name = 'q'", Some("the genesis")),
    (
        "DELETE FROM entries WHERE sequence = 5",
        Some("entry 5 is missing"),
    ),
    (
        "DELETE FROM entries WHERE sequence = 25",
        Some("a value makes no sense"),
    ),
    (
        "DELETE FROM runs WHERE sequence = (SELECT min(sequence) FROM runs)",
        Some("entry 1 is missing"),
    ),
];

/// What a reader of the game is told.
async fn read(store: &dyn Store, key: &GameKey) -> Option<String> {
    let read = async {
        store.game(key).await?;
        let (mut after, mut count) = (0, 0);
        loop {
            let page = store.entries(key, after, 4).await?;
            let Some(last) = page.last() else {
                return Ok(count);
            };
            after = last.sequence;
            count += page.len();
        }
    };
    match read.await {
        Ok(count) => {
            assert_eq!(count, 25, "nothing is left out");
            None
        }
        Err(ReadError::Fault(Fault::Damaged { what })) => Some(what),
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_changed_record_shows() {
    for (change, told) in CHANGES {
        let folder = folder();
        let path = folder.path().join("referee.db");
        let store = SqliteStore::open_with(&path, BUSY).expect("the store opens");
        let key = fill(&store).await;
        store.close().await.expect("the store closes");
        alter(&path, change).expect("sql");

        let store = open(&path);
        let platform = if change.contains("'q'") { "q" } else { "p" };
        let heard = read(&store, &GameKey::new(platform, &*key.game)).await;
        assert_eq!(heard.is_some(), told.is_some(), "{change}: {heard:?}");
        let heard = heard.unwrap_or_default();
        assert!(
            heard.contains(told.unwrap_or_default()),
            "{change}: {heard}"
        );
    }
}

/// Bytes that are flipped in the file: no read gives what is wrong.
#[tokio::test]
async fn a_flipped_byte_is_found() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let key = fill(&store).await;
    store_one(&store, entry(&key, 25)).await;
    let sound = all_entries(&store, &key).await;
    store.close().await.expect("the store closes");
    let bytes = fs::read(&path).expect("the file is readable");
    // Within the bytes of an entry: each of them, wherever it lies.
    let needle = &sound[11].bytes;
    let at = bytes.windows(needle.len()).position(|it| it == needle);
    let at = at.expect("the entry is in the file");
    for index in 0..needle.len() {
        let mut flipped = bytes.clone();
        flipped[at + index] ^= 0x04;
        fs::write(&path, flipped).expect("the file is written");
        let store = open(&path);
        let page = store.entries(&key, 0, 100).await;
        assert!(
            matches!(page, Err(ReadError::Fault(Fault::Damaged { .. }))),
            "byte {index}: {page:?}"
        );
        store.close().await.expect("the store closes");
    }
}
