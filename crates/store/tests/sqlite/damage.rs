//! What is changed in the file of a closed store shows: to who reads the game, and to a check.

use std::fs;

use referee_store::{
    CheckFrom, CheckedGame, CheckedPart, Fault, GameKey, Games, Integrity, ReadError, SqliteStore,
    Store,
};

use crate::suite::{all_entries, at_once, create, entry, new_game, store_one};
use crate::{BUSY, alter, fill, folder, open, open_busy};

/// Changes to a game with 25 entries and a refusal, of which 20 or more entries are in runs: the
/// change, what a reader is told, if anything, and what a check finds.
const CHANGES: &[(&str, Option<&str>, &[&str])] = &[
    ("SELECT 1", None, &[]),
    (
        "UPDATE entries SET bytes = x'00' WHERE sequence = 7",
        Some("entry 7 was changed"),
        &["p/g: entry 7 was changed, or does not follow the one before it"],
    ),
    (
        "UPDATE entries SET bytes = CAST(bytes || 'x' AS BLOB) WHERE sequence = 25",
        Some("entry 25 was changed"),
        &["p/g: entry 25 was changed, or does not follow the one before it"],
    ),
    (
        "UPDATE entries SET chain = zeroblob(32) WHERE sequence = 3",
        Some("entry 3 was changed"),
        &[
            "p/g: entry 3 was changed, or does not follow the one before it",
            "p/g: entry 4 was changed, or does not follow the one before it",
        ],
    ),
    (
        "UPDATE entries SET chain = x'00' WHERE sequence = 3",
        Some("a value makes no sense"),
        &["p/g: it cannot be read: a value makes no sense"],
    ),
    (
        "UPDATE geneses SET bytes = x'01'",
        Some("the genesis"),
        &["p/g: the genesis is not the one that was stored"],
    ),
    (
        "DELETE FROM geneses",
        Some("a row is missing"),
        &["p/g: the genesis is not the one that was stored"],
    ),
    (
        "UPDATE platforms SET name = 'q'",
        Some("the genesis"),
        &["q/g: the genesis is not the one that was stored"],
    ),
    (
        "DELETE FROM entries WHERE sequence = 5",
        Some("entry 5 is missing"),
        &["p/g: entry 5 is missing"],
    ),
    (
        "DELETE FROM entries WHERE sequence = 25",
        Some("a value makes no sense"),
        &["p/g: entry 25 is missing"],
    ),
    (
        "UPDATE entries SET previous = 1 WHERE sequence = 9",
        None,
        &["p/g: entry 9 was changed, or does not follow the one before it"],
    ),
    (
        "DELETE FROM runs WHERE sequence = (SELECT min(sequence) FROM runs)",
        Some("entry 1 is missing"),
        &["p/g: entry 1 is missing"],
    ),
    (
        "DELETE FROM requests WHERE place = (SELECT position FROM entries WHERE sequence = 2)",
        None,
        &[
            "p/g: the request of entry 2 is not where it must be",
            "p/g: the count of requests in the index says ",
        ],
    ),
    (
        "DELETE FROM requests WHERE place < 0",
        None,
        &[
            "p/g: the count of requests in the index says ",
            "p/g: the count of refusals says 1, and there are 0",
            "row 1 of refusals belongs to nothing",
        ],
    ),
    (
        "UPDATE refusal_counts SET refusals = 7",
        None,
        &["p/g: the count of refusals of each scope says 7, and there are 1"],
    ),
    (
        "UPDATE heads SET refusals = 2",
        None,
        &[
            "p/g: the count of requests in the index says ",
            "p/g: the count of refusals says 2, and there are 1",
            "p/g: the count of refusals of each scope says 1, and there are 2",
        ],
    ),
    (
        "UPDATE heads SET seen_2 = ~seen_2",
        None,
        &["p/g: where the game stands is damaged: the filter over the newest requests"],
    ),
    (
        "DELETE FROM blocks",
        None,
        &["p/g: the log does not lead to entry 1"],
    ),
    (
        "INSERT INTO questions VALUES (1, 3, 1, NULL)",
        None,
        &["p/g: the open question is of no entry"],
    ),
    (
        "PRAGMA foreign_keys = off; INSERT INTO deadlines VALUES (77, 5, NULL)",
        None,
        &["row 77 of deadlines belongs to nothing"],
    ),
    (
        "DROP TRIGGER entries_once; INSERT INTO entries SELECT 900, 900, platform_id, 78, 1, 0, \
         request, request_rest, content_hash, update_time_us, chain, bytes FROM entries \
         WHERE sequence = 1",
        None,
        &["row 900 of entries belongs to nothing"],
    ),
];

/// Checks a whole store in parts of so many entries.
async fn check_all(store: &dyn Store, entries: usize) -> CheckedPart {
    let mut all = CheckedPart::default();
    let mut from = Some(CheckFrom::default());
    while let Some(begin) = from {
        let part = store.check(&begin, entries).await.expect("the store reads");
        assert!(part.entries <= entries as u64, "{part:?}");
        all.entries += part.entries;
        all.games.extend(part.games);
        all.findings.extend(part.findings);
        from = part.next;
    }
    all
}

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
    for (change, told, findings) in CHANGES {
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
        for entries in [1, 3, 1_000] {
            let found = check_all(&store, entries).await;
            let found: Vec<String> = found.findings.iter().map(ToString::to_string).collect();
            let is_all = change.contains("blocks") || found.len() == findings.len();
            assert!(is_all, "{change} in parts of {entries}: {found:#?}");
            for (found, expected) in found.iter().zip(*findings) {
                assert!(found.starts_with(expected), "{change}: {found}");
            }
        }
        assert_eq!(store.check_engine(10).await, Ok(Vec::new()), "{change}");
    }
}

#[tokio::test]
async fn a_store_that_is_written_to_meanwhile_is_sound() {
    let (store, _folder) = open_busy();
    let mut keys = Vec::new();
    for name in ["a", "b", "c", "d"] {
        keys.push(create(&store, new_game("p", name)).await.key);
    }
    let write = async {
        for sequence in 0..60 {
            let writes = keys.iter().map(|key| store.append(entry(key, sequence)));
            for answer in at_once(writes.collect()).await {
                answer.expect("it is stored");
            }
        }
    };
    let walk = async {
        let mut count = 0;
        for entries in (1..40).cycle().take(120) {
            let all = check_all(&store, entries).await;
            assert_eq!(all.findings, [], "in parts of {entries}");
            count += all.entries;
        }
        count
    };
    let ((), count) = tokio::join!(write, walk);
    assert!(count > 0, "it saw nothing");
    let all = check_all(&store, 7).await;
    assert_eq!(all.entries, 240);
    let expected = keys.iter().map(|key| CheckedGame {
        key: key.clone(),
        sequence: 60,
        state: 1,
        due_us: None,
    });
    let sequences: Vec<_> = all.games.iter().map(|it| (&it.key, it.sequence)).collect();
    let expected: Vec<CheckedGame> = expected.collect();
    let expected: Vec<_> = expected.iter().map(|it| (&it.key, it.sequence)).collect();
    assert_eq!(sequences, expected);
}

/// Bytes that are flipped in the file: no read gives what is wrong, and whatever a reader cannot
/// see a check or the engine finds.
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
        let found = check_all(&store, 100).await.findings;
        assert_eq!(found.len(), 1, "byte {index}: {found:?}");
        store.close().await.expect("the store closes");
    }
}
