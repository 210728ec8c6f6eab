//! Stores over stores: they answer as the store below, and do what they are for.

#[allow(dead_code, unused_imports)]
mod suite;

use std::sync::Arc;
use std::time::Duration;

use referee_store::wrap::{FaultPlan, Faulty, Metered};
use referee_store::{
    AppendError, Appended, Created, Fault, GameKey, Games, Log, Ready, SqliteStore, Store,
};
use suite::{
    appends, at_once, check_record, create, entry, game, new_game, refusal, request, store_one,
    store_tests,
};
use tempfile::TempDir;

fn open() -> (SqliteStore, TempDir) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let store = SqliteStore::open(folder.path().join("referee.db"));
    (store.expect("the store opens"), folder)
}

mod metered {
    use super::*;

    fn open_metered() -> (Metered<Arc<dyn Store>>, TempDir) {
        let (store, folder) = open();
        let store: Arc<dyn Store> = Arc::new(store);
        (Metered::new(store), folder)
    }

    store_tests!(open_metered);
}

mod faulty {
    use super::*;

    fn open_faulty() -> (Faulty<SqliteStore>, TempDir) {
        open_with(FaultPlan::default())
    }

    store_tests!(open_faulty);
}

fn open_with(plan: FaultPlan) -> (Faulty<SqliteStore>, TempDir) {
    let (store, folder) = open();
    (Faulty::new(store, plan), folder)
}

#[tokio::test]
async fn a_metered_store_counts_by_method() {
    let (store, _folder) = open();
    let store = Metered::new(store);
    let key = create(&store, new_game("p", "g")).await.key;
    for sequence in 0..3 {
        store_one(&store, entry(&key, sequence)).await;
    }
    // What the caller did wrong is counted, and is no fault.
    assert!(store.append(entry(&key, 7)).await.is_err());
    game(&store, &key).await;
    drop(store.head(&key));
    store.close().await.expect("the store closes");
    assert_eq!(store.game(&key).await, Err(Fault::Closed.into()));
    let counted: Vec<_> = store
        .snapshot()
        .into_iter()
        .filter(|stats| stats.calls > 0)
        .map(|stats| {
            let answers = stats.answers;
            assert!(answers.p50 <= answers.p99 && answers.p99 <= answers.max);
            (stats.method, stats.calls, stats.faults, answers.count)
        })
        .collect();
    let expected = [
        ("create", 1, 0, 1),
        ("append", 4, 0, 4),
        ("head", 1, 0, 0),
        ("game", 2, 1, 2),
        ("close", 1, 0, 1),
    ];
    assert_eq!(counted, expected);
}

#[tokio::test]
async fn a_held_disk_shows_nothing_and_reads_go_on() {
    let (store, _folder) = open_with(FaultPlan::default());
    let key = create(&store, new_game("p", "g")).await.key;
    let other = create(&store, new_game("p", "h")).await.key;
    store_one(&store, entry(&key, 0)).await;
    let (row, newest, moved) = (
        game(&store, &key).await,
        store.newest().await,
        store.moved(),
    );

    store.disk().hold();
    let mut writes = appends(&store, (1..20).map(|sequence| entry(&key, sequence)));
    writes.push(store.append(refusal(&other, 0, "no")));
    let created = store.create(new_game("p", "late"));
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(game(&store, &key).await, row);
        assert_eq!(check_record(&store, &key).await.len(), 1);
        assert_eq!(store.answer(&key, &request("entry 2")).await, Ok(None));
        assert_eq!(store.answer(&other, &request("no")).await, Ok(None));
        assert_eq!(store.game(&GameKey::new("p", "late")).await, Ok(None));
        assert_eq!(store.newest().await, newest);
        assert!(moved.has_changed().is_ok_and(|changed| !changed));
    }
    assert_eq!(store.disk().waiting(), 21);
    assert_eq!(store.stats().writes_waiting, 21);
    // One that nobody waits for is made all the same.
    drop(created);

    store.disk().heal();
    for answer in at_once(writes).await {
        assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
    }
    assert_eq!(check_record(&store, &key).await.len(), 20);
    let late = store.create(new_game("p", "late")).await;
    assert!(matches!(late, Ok(Created::Existing(_))), "{late:?}");
    assert_eq!(store.disk().waiting(), 0);
}

#[tokio::test]
async fn a_failing_disk_fails_until_it_is_healed() {
    let (store, _folder) = open_with(FaultPlan::default());
    let key = create(&store, new_game("p", "g")).await.key;
    let full = Fault::ReadOnly {
        reason: "the disk is full".to_owned(),
    };
    store.disk().hold();
    let waiting = store.append(entry(&key, 0));
    store.disk().fail(full.clone());
    assert_eq!(waiting.await, Err(full.clone().into()));
    assert_eq!(store.append(entry(&key, 0)).await, Err(full.clone().into()));
    let fault = full.clone();
    assert_eq!(store.ready().await, Ok(Ready::ReadsOnly { fault }));
    assert_eq!(check_record(&store, &key).await.len(), 0);
    store.disk().heal();
    assert_eq!(store.ready().await, Ok(Ready::Writable));
    store_one(&store, entry(&key, 0)).await;
    // A disk that fails can still be left.
    store.disk().fail(full);
    assert_eq!(store.close().await, Ok(()));
}

/// Writes under a plan: how many writes were stored, failed and are unknown, each repeated until
/// it is known.
async fn fates(plan: FaultPlan) -> (usize, usize, usize) {
    let (store, _folder) = open_with(plan);
    let key = GameKey::new("p", "g");
    while store.create(new_game("p", "g")).await.is_err() {}
    let row = game(&store, &key).await;
    suite::note(&key, row.chain_head);
    let (mut stored, mut failed, mut unknown) = (0, 0, 0);
    let mut sequence = 0;
    while sequence < 100 {
        match store.append(entry(&key, sequence)).await {
            Ok(Appended::Stored { .. }) => {
                stored += 1;
                sequence += 1;
            }
            // Made before, by a write of which nothing was known.
            Ok(Appended::Repeated(_)) => sequence += 1,
            Err(AppendError::Fault(Fault::Unavailable { .. })) => failed += 1,
            Err(AppendError::Fault(Fault::Unknown)) => unknown += 1,
            other => panic!("{other:?}"),
        }
    }
    // Nothing is lost, and nothing is there twice.
    assert_eq!(check_record(&store, &key).await.len(), 100);
    (stored, failed, unknown)
}

#[tokio::test]
async fn faults_come_by_chance_and_the_same_for_the_same_seed() {
    let plan = FaultPlan {
        seed: 7,
        fail_per_mille: 200,
        unknown_per_mille: 200,
        ..FaultPlan::default()
    };
    let first = fates(plan).await;
    let (stored, failed, unknown) = first;
    assert!(stored > 50 && failed > 5 && unknown > 5, "{first:?}");
    assert_eq!(fates(plan).await, first);
    let other = fates(FaultPlan { seed: 8, ..plan }).await;
    assert_ne!(other, first);
}

#[tokio::test]
async fn a_slow_disk_keeps_the_order() {
    let (store, _folder) = open_with(FaultPlan {
        seed: 1,
        delay_max: Duration::from_millis(3),
        ..FaultPlan::default()
    });
    let key = create(&store, new_game("p", "g")).await.key;
    let writes = appends(&store, (0..40).map(|sequence| entry(&key, sequence)));
    for (index, answer) in at_once(writes).await.into_iter().enumerate() {
        match answer {
            Ok(Appended::Stored { sequence, .. }) => assert_eq!(sequence, index as i64 + 1),
            other => panic!("{other:?}"),
        }
    }
}
