//! What is erased is in none of the files.

use std::fs;

use referee_store::{
    Append, AppendError, Appended, CreateError, Created, Deletion, Fault, GameKey, Games,
    ListFilter, Log, LogCursor, NewGame, PrivateText, RequestKey, SqliteStore, Store, Tombstone,
    Write,
};

use super::{
    BUSY, all_entries, create, entry, folder, game, hash, new_game, open, refusal, store_one,
};

/// A name that nothing else has.
fn name(number: usize, turn: usize) -> String {
    format!("person<{turn}.{number}>")
}

fn text(name: &str) -> PrivateText {
    PrivateText {
        salt: *b"salt salt salt !",
        // Of all sizes: some lie on pages of their own.
        bytes: name
            .repeat(1 + name.len() * name.len() % 1_103)
            .into_bytes(),
    }
}

fn labels(name: &str) -> Vec<(String, String)> {
    vec![("player".into(), name.into()), ("round".into(), "1".into())]
}

fn described(key: &GameKey, sequence: i64, chain: [u8; 32], name: &str) -> Append {
    Append {
        key: key.clone(),
        expected_sequence: sequence,
        previous: chain,
        request: RequestKey::new(
            RequestKey::PLATFORM,
            format!("update {} {sequence}", key.game),
        ),
        content_hash: hash(3),
        write: Write::Entry {
            bytes: b"an update".to_vec(),
            private: (!name.is_empty()).then(|| text(name)),
            describes: Some(if name.is_empty() {
                Vec::new()
            } else {
                labels(name)
            }),
            state: 1,
            update_time_us: 5,
            deadline_us: None,
            asks: false,
        },
    }
}

fn deletion(key: &GameKey, sequence: i64, chain: [u8; 32]) -> Deletion {
    Deletion {
        key: key.clone(),
        request_id: format!("delete {}", key.game),
        expected_sequence: sequence,
        previous: chain,
        delete_time_us: 77,
    }
}

/// The bytes of every file of the store.
fn files(folder: &tempfile::TempDir) -> Vec<u8> {
    let files = fs::read_dir(folder.path()).expect("the folder can be read");
    let mut all = Vec::new();
    for file in files {
        all.extend(fs::read(file.expect("a file").path()).expect("the file can be read"));
    }
    all
}

fn has(files: &[u8], name: &str) -> bool {
    files
        .windows(name.len())
        .any(|part| part == name.as_bytes())
}

/// Everything that tells of a name whether it is in a file: all names have the same form, so that
/// one walk over the bytes finds all that are there.
fn names_in(files: &[u8]) -> std::collections::BTreeSet<String> {
    let mut found = std::collections::BTreeSet::new();
    let parts = files
        .windows(7)
        .enumerate()
        .filter(|(_, part)| *part == b"person<");
    for (at, _) in parts {
        let rest = &files[at..files.len().min(at + 24)];
        if let Some(end) = rest.iter().position(|byte| *byte == b'>') {
            found.insert(String::from_utf8_lossy(&rest[..=end]).into_owned());
        }
    }
    found
}

async fn with_remark(store: &SqliteStore, key: &GameKey, name: &str) {
    let mut remark = entry(key, 0);
    if let Write::Entry { private, .. } = &mut remark.write {
        *private = Some(text(name));
    }
    store_one(store, remark).await;
}

/// Many games, so that pages of every tree split and are joined again.
#[tokio::test]
async fn what_is_erased_is_in_no_file_when_the_call_returns() {
    const GAMES: usize = 160;
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = SqliteStore::open_with(&path, BUSY).expect("the store opens");
    let mut keys = Vec::new();
    for number in 0..GAMES {
        let game = NewGame {
            private: Some(text(&name(number, 0))),
            labels: labels(&name(number, 0)),
            ..new_game("p", &format!("g{number}"))
        };
        keys.push(create(&store, game).await.key);
    }
    for (number, key) in keys.iter().enumerate() {
        with_remark(&store, key, &name(number, 1)).await;
    }
    assert_eq!(names_in(&files(&folder)).len(), 2 * GAMES);
    let mut left: std::collections::BTreeSet<String> = names_in(&files(&folder));
    // In an order that is that of no tree.
    for number in (0..GAMES).map(|it| it * 67 % GAMES) {
        let key = &keys[number];
        let row = game(&store, key).await;
        assert_eq!(row.labels, labels(&name(number, 0)));
        let (_, _, chain) =
            store_one(&store, described(key, 1, row.chain_head, &name(number, 2))).await;
        left.remove(&name(number, 0));
        left.insert(name(number, 2));
        assert!(!has(&files(&folder), &name(number, 0)), "game {number}");
        if number % 2 == 0 {
            let deleted = store.delete(deletion(key, 2, chain)).await;
            assert_eq!(deleted, Ok(Tombstone { delete_time_us: 77 }));
            left.remove(&name(number, 1));
            left.remove(&name(number, 2));
        } else if number % 3 == 0 {
            store_one(&store, described(key, 2, chain, "")).await;
            left.remove(&name(number, 2));
        }
        if number % 16 < 2 {
            assert_eq!(names_in(&files(&folder)), left, "game {number}");
        }
    }
    assert_eq!(names_in(&files(&folder)), left);
    store.close().await.expect("the store closes");
    assert_eq!(names_in(&files(&folder)), left);
    // A copy of the store has no more than the store.
    let store = open(&path);
    assert_eq!(names_in(&files(&folder)), left);
    for (number, key) in keys
        .iter()
        .enumerate()
        .filter(|(number, _)| number % 2 == 1)
    {
        let row = game(&store, key).await;
        let is_described = number % 3 != 0;
        assert_eq!(row.description.is_some(), is_described);
        let labels = if is_described {
            labels(&name(number, 2))
        } else {
            Vec::new()
        };
        assert_eq!(row.labels, labels);
        let remark = &all_entries(&store, key).await[0];
        assert_eq!(remark.private, Some(text(&name(number, 1))));
    }
}

/// An update takes the place of the description, and is found again by its request.
#[tokio::test]
async fn a_game_is_found_by_the_labels_that_it_has() {
    let folder = folder();
    let store = open(folder.path().join("referee.db"));
    let new = NewGame {
        private: Some(text("old")),
        labels: labels("old"),
        ..new_game("p", "g")
    };
    let key = create(&store, new.clone()).await.key;
    let other = create(&store, new_game("p", "h")).await;
    store_one(&store, entry(&key, 0)).await;
    let row = game(&store, &key).await;
    let update = described(&key, 1, row.chain_head, "new");
    store_one(&store, update.clone()).await;
    let found = async |name: &str| {
        let filter = ListFilter {
            labels: labels(name),
            ..ListFilter::default()
        };
        let page = store.list("p", &filter, None, 10).await;
        page.expect("the store reads").games.len()
    };
    assert_eq!((found("old").await, found("new").await), (0, 1));
    // Who follows the old labels is told of the update, and of nothing else.
    for (wanted, sequences) in [("old", vec![2]), ("new", vec![0, 1, 2])] {
        let tail = store
            .tail("p", &labels(wanted), &LogCursor::start(), 10)
            .await;
        let entries = tail.expect("the store reads").entries;
        let told: Vec<i64> = entries.iter().map(|it| it.entry.sequence).collect();
        assert_eq!(told, sequences, "{wanted}");
        assert!(entries.iter().all(|it| it.labels == labels("new")));
    }
    // The answer is kept; what the creation said is not.
    let Ok(Appended::Repeated(answer)) = store.append(update.clone()).await else {
        panic!("it was written before")
    };
    assert_eq!((answer.sequence, answer.private), (2, Some(text("new"))));
    let Ok(Created::Existing(row)) = store.create(new.clone()).await else {
        panic!("it was created before")
    };
    assert_eq!(row.description.expect("it has one").sequence, 2);
    // Ids are those of the platform.
    let elsewhere = Append {
        key: other.key.clone(),
        expected_sequence: 0,
        previous: other.chain_head,
        ..update.clone()
    };
    assert_eq!(
        store.append(elsewhere).await,
        Err(AppendError::RequestIdReused)
    );
    let of_creation = Append {
        request: RequestKey::new(RequestKey::PLATFORM, new.request_id.as_str()),
        expected_sequence: 2,
        ..update.clone()
    };
    assert_eq!(
        store.append(of_creation).await,
        Err(AppendError::RequestIdReused)
    );
    let third = NewGame {
        request_id: update.request.id.clone(),
        ..new_game("p", "third")
    };
    assert_eq!(store.create(third).await, Err(CreateError::RequestIdReused));
}

#[tokio::test]
async fn of_a_game_that_was_deleted_its_name_is_left() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = SqliteStore::open_with(&path, BUSY).expect("the store opens");
    let new = NewGame {
        private: Some(text("old")),
        labels: labels("old"),
        deadline_us: Some(1),
        ..new_game("p", "g")
    };
    let key = create(&store, new.clone()).await.key;
    for sequence in 0..23 {
        store_one(&store, entry(&key, sequence)).await;
    }
    store_one(&store, refusal(&key, 23, "bad")).await;
    let before = store.newest().await.expect("the store reads");
    let chain = game(&store, &key).await.chain_head;
    let stale = store.delete(deletion(&key, 22, chain)).await;
    assert_eq!(stale, Err(AppendError::Moved { actual: 23, chain }));
    let buried = Tombstone { delete_time_us: 77 };
    let last = deletion(&key, 23, chain);
    assert_eq!(store.delete(last.clone()).await, Ok(buried));
    assert_eq!(
        store.delete(last.clone()).await,
        Ok(buried),
        "the same again"
    );
    for turn in 0..2 {
        assert_eq!(store.tombstone(&key).await, Ok(Some(buried)), "{turn}");
        assert_eq!(store.game(&key).await, Ok(None));
        assert_eq!(store.entries(&key, 0, 10).await, Ok(Vec::new()));
        let all = ListFilter::default();
        let page = store
            .list("p", &all, None, 10)
            .await
            .expect("the store reads");
        assert_eq!(page.games, []);
        let other = Deletion {
            request_id: "other".into(),
            ..last.clone()
        };
        assert_eq!(store.delete(other).await, Err(AppendError::Deleted));
        assert_eq!(
            store.append(entry(&key, 3)).await,
            Err(AppendError::Deleted)
        );
        assert_eq!(store.create(new.clone()).await, Err(CreateError::NameTaken));
    }
    // The log tells of the deletion, after all that was told before, and of nothing else.
    for after in [LogCursor::start(), before] {
        let tail = store.tail("p", &labels("any"), &after, 10).await;
        let tail = tail.expect("the store reads");
        assert_eq!(tail.entries.len(), 1);
        let entry = &tail.entries[0];
        assert_eq!((&entry.key, entry.deleted), (&key, Some(buried)));
        let changes = store.changes(&after, 10).await.expect("the store reads");
        let changed: Vec<_> = changes.changes.iter().map(|it| it.sequence).collect();
        assert_eq!(changed, [None]);
    }
    // The tables have no row of it but the one with its name, and the one with its request.
    let count = |path: &std::path::Path| {
        let connection = rusqlite::Connection::open(path).expect("the file opens");
        let mut counts = Vec::new();
        for table in [
            "games",
            "geneses",
            "heads",
            "entries",
            "refusals",
            "refusal_counts",
            "runs",
            "requests",
            "labels",
            "text_places",
            "deadlines",
            "questions",
            "platform_requests",
        ] {
            let sql = format!("SELECT count(*) FROM {table}");
            let rows: i64 = connection
                .query_row(&sql, [], |row| row.get(0))
                .expect("a count");
            counts.push(rows);
        }
        counts
    };
    assert_eq!(count(&path), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    store.close().await.expect("the store closes");
    let store = open(&path);
    assert_eq!(store.delete(last).await, Ok(buried));
    let next = create(&store, new_game("p", "next")).await;
    store_one(&store, entry(&next.key, 0)).await;
}

/// A reader that stands still keeps the log, and what is in it.
#[tokio::test]
async fn what_a_reader_keeps_in_the_log_is_not_said_to_be_erased() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let new = NewGame {
        private: Some(text(&name(1, 0))),
        ..new_game("p", "g")
    };
    let row = create(&store, new).await;
    let reader = rusqlite::Connection::open(&path).expect("the file opens");
    reader.execute_batch("BEGIN").expect("sql");
    let count = |_: &rusqlite::Row<'_>| Ok(());
    reader
        .query_row("SELECT count(*) FROM games", [], count)
        .expect("a count");
    let update = described(&row.key, 0, row.chain_head, &name(1, 1));
    assert_eq!(
        store.append(update.clone()).await,
        Err(AppendError::Fault(Fault::Unknown))
    );
    assert!(has(&files(&folder), &name(1, 0)), "it is in the log");
    // Other writes go on meanwhile.
    let other = create(&store, new_game("p", "other")).await;
    store_one(&store, entry(&other.key, 0)).await;
    drop(reader);
    // The same request waits until it is so.
    let Ok(Appended::Repeated(answer)) = store.append(update).await else {
        panic!("it was written before")
    };
    assert_eq!(answer.sequence, 1);
    assert!(!has(&files(&folder), &name(1, 0)));
}
