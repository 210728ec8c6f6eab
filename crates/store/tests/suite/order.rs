//! When writes are queued, in which order and in which batches they are made.

use referee_store::{AppendError, Appended, Beat, Fault, Liveness, ReplicaId, Store, StoreStats};

use super::{
    Boxed, appends, at_once, bytes, check_record, create, entry, new_game, platform, store_one,
    writing,
};

/// Does nothing but wait for its turn in the queue.
async fn pass(store: &dyn Store) {
    let beat = Beat {
        replica: ReplicaId(1),
        at_us: i64::MIN,
        silence_max_us: i64::MAX,
        stopping: false,
    };
    Liveness::beat(store, beat).await.expect("the store writes");
}

pub(crate) async fn queues_a_write_when_it_is_called(store: &dyn Store) {
    let platform = platform("queue");
    let key = create(store, new_game(&platform, "g")).await.key;
    // Never polled.
    drop(store.append(entry(&key, 0)));
    drop(store.create(new_game(&platform, "h")));
    let later = store.append(entry(&key, 1));
    pass(store).await;
    let stored = later.await;
    assert!(
        matches!(stored, Ok(Appended::Stored { sequence: 2, .. })),
        "{stored:?}"
    );
    assert_eq!(check_record(store, &key).await.len(), 2);
    let created = store.create(new_game(&platform, "h")).await;
    assert!(created.is_ok_and(|created| matches!(created, referee_store::Created::Existing(_))));
}

pub(crate) async fn writes_in_the_order_of_the_calls(store: &dyn Store) {
    let platform = platform("order");
    let mut keys = Vec::new();
    for name in ["a", "b", "c"] {
        keys.push(create(store, new_game(&platform, name)).await.key);
    }
    // Of two that were judged on the same state the one that was called first is stored, whoever
    // waits for which.
    let mut waiting = Vec::new();
    for sequence in 0..30 {
        for key in &keys {
            for rival in 0..2 {
                let id = format!("{sequence} {rival}");
                let mut append = writing(key, sequence, &id, bytes(id.clone()));
                if rival == 1 {
                    // The entries that follow are made after the first.
                    let first = writing(key, sequence, &id, bytes(format!("{sequence} 0")));
                    append.previous = first.previous;
                }
                waiting.push((rival, store.append(append)));
            }
        }
    }
    waiting.reverse();
    for (rival, answer) in waiting {
        match (rival, answer.await) {
            (0, Ok(Appended::Stored { .. })) | (1, Err(AppendError::Moved { .. })) => {}
            other => panic!("{other:?}"),
        }
    }
    for key in &keys {
        let entries = check_record(store, key).await;
        for (sequence, entry) in entries.iter().enumerate() {
            assert_eq!(entry.bytes, format!("{sequence} 0").into_bytes());
        }
        assert_eq!(entries.len(), 30);
    }
}

/// The batches that a number of writes took.
async fn batches(
    store: &dyn Store,
    writes: Vec<Boxed<'static, Result<Appended, AppendError>>>,
    before: StoreStats,
) -> u64 {
    let stored = at_once(writes).await;
    assert!(
        stored
            .iter()
            .all(|answer| matches!(answer, Ok(Appended::Stored { .. }))),
        "{stored:?}"
    );
    store.stats().batches - before.batches
}

pub(crate) async fn writes_a_game_once_in_a_batch(store: &dyn Store) {
    const WRITES: i64 = 60;

    let platform = platform("once");
    let key = create(store, new_game(&platform, "g")).await.key;
    let before = store.stats();
    let writes = appends(store, (0..WRITES).map(|sequence| entry(&key, sequence)));
    assert_eq!(batches(store, writes, before).await, WRITES as u64);

    // The writes of many games share a few.
    let mut keys = Vec::new();
    for n in 0..WRITES {
        keys.push(create(store, new_game(&platform, &n.to_string())).await.key);
    }
    let before = store.stats();
    let writes = appends(store, keys.iter().map(|key| entry(key, 0)));
    let shared = batches(store, writes, before).await;
    assert!(shared < WRITES as u64 / 2, "{shared} batches");
}

pub(crate) async fn counts_what_it_does(store: &dyn Store) {
    let platform = platform("stats");
    let key = create(store, new_game(&platform, "g")).await.key;
    let before = store.stats();
    for sequence in 0..10 {
        store_one(store, entry(&key, sequence)).await;
    }
    let unknown = store.append(entry(&key, 77)).await;
    assert!(unknown.is_err());
    let stats = store.stats();
    assert_eq!(stats.writes - before.writes, 11);
    assert_eq!(stats.batches - before.batches, 11);
    assert_eq!((stats.failed, stats.reads_waiting), (0, 0));
    assert!(!stats.commit_p50.is_zero() && stats.commit_p50 <= stats.commit_p99);
    assert_eq!(store.ready().await, Ok(referee_store::Ready::Writable));
    let stats = store.stats();
    assert_eq!((stats.writes_waiting, stats.bytes_waiting), (0, 0));

    assert_eq!(store.close().await, Ok(()));
    assert_eq!(
        store.append(entry(&key, 10)).await,
        Err(Fault::Closed.into())
    );
}
