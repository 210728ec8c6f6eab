//! Following the log of all games.

use std::time::Duration;

use referee_store::{GameKey, Store, TailEntry};

use super::{appends, at_once, check_record, create, entry, new_game, platform, store_one};

/// All entries of a platform after a position, in pages of `limit`.
async fn tail(store: &dyn Store, platform: &str, mut after: i64, limit: usize) -> Vec<TailEntry> {
    let mut entries = Vec::new();
    loop {
        let page = store
            .tail(Some(platform), after, limit)
            .await
            .expect("the store reads");
        if page.entries.is_empty() {
            assert_eq!(page.after_position, after);
            return entries;
        }
        assert!(page.entries.len() <= limit);
        assert!(page.after_position > after);
        after = page.after_position;
        entries.extend(page.entries);
    }
}

pub(crate) async fn tails_in_the_order_of_commits(store: &dyn Store) {
    let platform = platform("tail");
    let start = *store.position().borrow();
    let mut keys = Vec::new();
    for name in ["a", "b", "c"] {
        keys.push(create(store, new_game(&platform, name)).await.key);
    }
    for sequence in 0..20 {
        let writes = keys.iter().map(|key| entry(key, sequence));
        at_once(appends(store, writes)).await;
    }
    let log = tail(store, &platform, start, 7).await;
    assert_eq!(log.len(), 60);
    assert!(log.is_sorted_by(|one, next| one.entry.position < next.entry.position));
    for key in &keys {
        let of_game = log.iter().filter(|entry| entry.key == *key);
        let of_game: Vec<_> = of_game.map(|entry| entry.entry.clone()).collect();
        assert_eq!(of_game, check_record(store, key).await);
    }
    // From any position on, in pages of any size, the same.
    for (first, limit) in [(0, 1), (5, 1_000), (59, 3), (60, 3)] {
        let after = if first == 0 {
            start
        } else {
            log[first - 1].entry.position
        };
        assert_eq!(tail(store, &platform, after, limit).await, log[first..]);
    }
}

pub(crate) async fn tails_within_a_platform(store: &dyn Store) {
    let (one, other) = (platform("tail-one"), platform("tail-other"));
    let start = *store.position().borrow();
    let here = create(store, new_game(&one, "g")).await.key;
    let there = create(store, new_game(&other, "g")).await.key;
    for sequence in 0..10 {
        store_one(store, entry(&here, sequence)).await;
        store_one(store, entry(&there, sequence)).await;
    }
    let log = tail(store, &one, start, 4).await;
    assert_eq!(log.len(), 10);
    assert!(log.iter().all(|entry| entry.key == here));
    assert_eq!(tail(store, "nobody", start, 4).await, []);

    // All platforms together, among them those of other tests.
    let (mut both, mut after) = (Vec::new(), start);
    loop {
        let page = store.tail(None, after, 9).await.expect("the store reads");
        if page.entries.is_empty() {
            break;
        }
        after = page.after_position;
        both.extend(page.entries);
    }
    both.retain(|entry| entry.key == here || entry.key == there);
    assert_eq!(both.len(), 20);
    assert!(both.is_sorted_by(|one, next| one.entry.position < next.entry.position));
}

pub(crate) async fn tells_of_new_positions(store: &dyn Store) {
    let platform = platform("position");
    let key: GameKey = create(store, new_game(&platform, "g")).await.key;
    let mut positions = store.position();
    let before = *positions.borrow_and_update();
    let (_, stored, _) = store_one(store, entry(&key, 0)).await;
    assert!(stored > before);
    // Known no later than the answer.
    assert!(*store.position().borrow() >= stored);
    let waited = tokio::time::timeout(
        Duration::from_secs(10),
        positions.wait_for(|position| *position >= stored),
    );
    assert!(
        *waited
            .await
            .expect("no time out")
            .expect("the store is open")
            >= stored
    );
}
