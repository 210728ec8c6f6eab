//! Following the log of all games.

use std::time::Duration;

use referee_store::{Change, GameKey, LogCursor, NewGame, ReadError, Store, TailEntry};

use super::{appends, at_once, check_record, create, entry, new_game, platform, store_one};

/// All entries of a platform after a cursor, in pages of `limit`, and the cursor after them.
async fn tail(
    store: &dyn Store,
    platform: &str,
    mut after: LogCursor,
    limit: usize,
) -> (Vec<TailEntry>, LogCursor) {
    let mut entries = Vec::new();
    loop {
        let page = store.tail(platform, &[], &after, limit).await;
        let page = page.expect("the store reads");
        assert!(page.entries.len() <= limit);
        if page.next == after {
            assert_eq!(page.entries, []);
            return (entries, after);
        }
        after = page.next;
        entries.extend(page.entries);
    }
}

/// All changes after a cursor, in pages of `limit`, and the cursor after them.
async fn changes(
    store: &dyn Store,
    mut after: LogCursor,
    limit: usize,
) -> (Vec<Change>, LogCursor) {
    let mut changes = Vec::new();
    loop {
        let page = store.changes(&after, limit).await.expect("the store reads");
        assert!(page.changes.len() <= limit);
        if page.next == after {
            assert_eq!(page.changes, []);
            return (changes, after);
        }
        after = page.next;
        changes.extend(page.changes);
    }
}

async fn newest(store: &dyn Store) -> LogCursor {
    store.newest().await.expect("the store reads")
}

pub(crate) async fn tails_in_the_order_of_commits(store: &dyn Store) {
    let platform = platform("tail");
    let start = newest(store).await;
    let mut keys = Vec::new();
    for name in ["a", "b", "c"] {
        keys.push(create(store, new_game(&platform, name)).await.key);
    }
    for sequence in 0..20 {
        let writes = keys.iter().map(|key| entry(key, sequence));
        at_once(appends(store, writes)).await;
    }
    let (log, end) = tail(store, &platform, start.clone(), 7).await;
    assert_eq!(log.len(), 63);
    assert!(log.is_sorted_by(|one, next| one.entry.position < next.entry.position));
    for key in &keys {
        let of_game = log.iter().filter(|entry| entry.key == *key);
        let of_game: Vec<_> = of_game.map(|entry| entry.entry.clone()).collect();
        assert_eq!(of_game[1..], check_record(store, key).await);
        // It begins with its creation, whose bytes are the genesis.
        let row = store.game(key).await.expect("the store reads");
        let row = row.expect("the game is there");
        let created = &of_game[0];
        assert_eq!((created.sequence, &created.bytes), (0, &row.genesis));
        let link = referee_store::chain::genesis(key, &row.genesis);
        assert_eq!(created.chain, link);
    }
    // From any cursor on, in pages of any size, the same.
    for (count, limit) in [(1, 1), (5, 1_000), (62, 3), (63, 3)] {
        let page = store.tail(&platform, &[], &start, count).await;
        let page = page.expect("the store reads");
        assert_eq!(page.entries, log[..count]);
        // From the place after its last entry as well as from the end of the page.
        let last = page.entries.into_iter().last().map(|entry| entry.cursor);
        for after in last.into_iter().chain([page.next]) {
            let (rest, _) = tail(store, &platform, after, limit).await;
            assert_eq!(rest, log[count..]);
        }
    }
    assert_eq!(tail(store, &platform, start, 1).await.0, log);
    assert_eq!(tail(store, &platform, LogCursor::start(), 9).await.0, log);
    assert_eq!(tail(store, &platform, end, 9).await.0, []);
}

pub(crate) async fn tails_within_a_platform(store: &dyn Store) {
    let (one, other) = (platform("tail-one"), platform("tail-other"));
    let start = newest(store).await;
    let here = create(store, new_game(&one, "g")).await.key;
    let there = create(store, new_game(&other, "g")).await.key;
    for sequence in 0..10 {
        store_one(store, entry(&here, sequence)).await;
        store_one(store, entry(&there, sequence)).await;
    }
    let (log, end) = tail(store, &one, start.clone(), 4).await;
    assert_eq!(log.len(), 11);
    assert!(log.iter().all(|entry| entry.key == here));
    // A watcher of nothing gets on, too.
    let (none, of_nobody) = tail(store, "nobody", start, 4).await;
    assert_eq!((none, of_nobody), (Vec::new(), end));
}

pub(crate) async fn tails_a_quiet_platform(store: &dyn Store) {
    let (quiet, busy) = (platform("tail-quiet"), platform("tail-busy"));
    let start = newest(store).await;
    let rare = create(store, new_game(&quiet, "g")).await.key;
    let mut keys = Vec::new();
    for n in 0..50 {
        keys.push(create(store, new_game(&busy, &n.to_string())).await.key);
    }
    // Thousands of entries of others between any two, and at both ends.
    for round in 0..3 {
        for sequence in 0..20 {
            let writes = keys.iter().map(|key| entry(key, 20 * round + sequence));
            at_once(appends(store, writes)).await;
        }
        if round < 2 {
            store_one(store, entry(&rare, round)).await;
        }
    }
    let (log, end) = tail(store, &quiet, start.clone(), 10).await;
    let sequences: Vec<i64> = log.iter().map(|entry| entry.entry.sequence).collect();
    assert_eq!(sequences, [0, 1, 2]);
    assert_eq!(log[2].key, rare);
    assert_eq!(tail(store, &quiet, end, 10).await.0, []);
    assert_eq!(tail(store, &quiet, start.clone(), 1).await.0, log);
    assert_eq!(tail(store, &busy, start, 100).await.0.len(), 3_050);
}

pub(crate) async fn tails_the_games_with_labels(store: &dyn Store) {
    let platform = platform("tail-labels");
    let start = newest(store).await;
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let (open, first) = (label("event", "open"), label("round", "1"));
    let labels = [
        vec![open.clone(), first.clone()],
        vec![open.clone(), label("round", "2")],
        vec![label("event", "other"), first.clone()],
        Vec::new(),
    ];
    let mut keys = Vec::new();
    for (number, labels) in labels.iter().enumerate() {
        let game = NewGame {
            labels: labels.clone(),
            ..new_game(&platform, &number.to_string())
        };
        keys.push(create(store, game).await.key);
    }
    for sequence in 0..300 {
        let writes = keys.iter().map(|key| entry(key, sequence));
        at_once(appends(store, writes)).await;
    }
    let end = newest(store).await;
    for (wanted, of) in [
        (vec![], vec![0, 1, 2, 3]),
        (vec![open.clone()], vec![0, 1]),
        (vec![first.clone()], vec![0, 2]),
        (vec![first.clone(), open.clone()], vec![0]),
        (vec![label("round", "3")], vec![]),
    ] {
        let (mut found, mut after) = (Vec::new(), start.clone());
        loop {
            let page = store.tail(&platform, &wanted, &after, 50).await;
            let page = page.expect("the store reads");
            if page.next == after {
                break;
            }
            after = page.next;
            found.extend(page.entries);
        }
        assert_eq!(after, end, "the cursor moves on past what has other labels");
        assert_eq!(found.len(), 301 * of.len(), "{wanted:?}");
        for entry in found {
            let number = keys.iter().position(|key| *key == entry.key);
            let number = number.expect("it is one of the games");
            assert!(of.contains(&number), "{wanted:?}: game {number}");
            assert_eq!(entry.labels, labels[number]);
        }
    }
    let many = vec![first; 10];
    let tail = store.tail(&platform, &many, &start, 1).await;
    assert!(matches!(tail, Err(ReadError::Invalid(_))), "{tail:?}");
}

pub(crate) async fn tells_what_changed(store: &dyn Store) {
    let (one, other) = (platform("changes-one"), platform("changes-other"));
    let start = newest(store).await;
    let here = create(store, new_game(&one, "g")).await.key;
    let there = create(store, new_game(&other, "g")).await.key;
    let mut expected = Vec::new();
    for sequence in 0..10 {
        for key in [&here, &there] {
            let (sequence, _, _) = store_one(store, entry(key, sequence)).await;
            let (key, sequence) = (key.clone(), Some(sequence));
            expected.push(Change { key, sequence });
        }
    }
    for limit in [1, 7, 20, 1_000] {
        let (found, end) = changes(store, start.clone(), limit).await;
        assert_eq!(found, expected, "in pages of {limit}");
        assert_eq!(end, newest(store).await);
        assert_eq!(changes(store, end.clone(), limit).await, (Vec::new(), end));
    }
    // The two ways to read meet in their cursors.
    let page = store.changes(&start, 10).await.expect("the store reads");
    let (rest, _) = tail(store, &one, page.next, 100).await;
    assert_eq!(rest.first().map(|entry| entry.entry.sequence), Some(6));
}

pub(crate) async fn tells_that_the_log_moved(store: &dyn Store) {
    let platform = platform("moved");
    let key: GameKey = create(store, new_game(&platform, "g")).await.key;
    let mut moved = store.moved();
    let before = (*moved.borrow_and_update(), newest(store).await);
    store_one(store, entry(&key, 0)).await;
    // Known no later than the answer.
    assert_ne!(*store.moved().borrow(), before.0);
    assert_ne!(newest(store).await, before.1);
    let waited = tokio::time::timeout(Duration::from_secs(10), moved.changed());
    waited
        .await
        .expect("no time out")
        .expect("the store is open");
}

pub(crate) async fn takes_no_cursor_of_another_store(store: &dyn Store) {
    for text in ["-1", "+1", "01", "1.5", "x", "99999999999999999999", "1:2"] {
        let cursor: LogCursor = text.parse().expect("it could be of some store");
        let tail = store.tail("p", &[], &cursor, 10).await;
        assert!(
            matches!(tail, Err(ReadError::Invalid(_))),
            "{text}: {tail:?}"
        );
        let changes = store.changes(&cursor, 10).await;
        assert!(
            matches!(changes, Err(ReadError::Invalid(_))),
            "{text}: {changes:?}"
        );
    }
    for text in ["", "two words", "é", "a\n", &"1".repeat(1_025)] {
        assert!(text.parse::<LogCursor>().is_err(), "{text}");
    }
    // One that is ahead of the log tells no changes, and stays where it is: what was read before
    // may be gone. Who tails the log is told that it is not of this log.
    let ahead: LogCursor = i64::MAX.to_string().parse().expect("it is a number");
    let tail = store.tail("p", &[], &ahead, 10).await;
    assert!(matches!(tail, Err(ReadError::Invalid(_))), "{tail:?}");
    let page = store.changes(&ahead, 10).await.expect("the store reads");
    assert_eq!((page.changes, page.next), (Vec::new(), ahead));
}
