//! What a store must still know when it is opened again.

use std::fs;

use referee_store::{
    Appended, Beat, Created, DownSpan, Fault, Games, Liveness, Log, LogCursor, Questions,
    ReadError, ReplicaId, SqliteOptions, SqliteStore, Store,
};

use crate::suite::{
    Boxed, appends, asking, at_once, check_record, create, entry, new_game, note, store_one,
};
use crate::{BUSY, alter, check_filled, fill, folder, open, open_default};

#[tokio::test]
async fn a_closed_store_reopens_as_it_was() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    for options in [SqliteOptions::default(), BUSY] {
        let store = SqliteStore::open_with(&path, options).expect("the store opens");
        let key = fill(&store).await;
        store.close().await.expect("the store closes");
        // All is in the one file now, beside the lock and the witness.
        let left: Vec<_> = fs::read_dir(folder.path())
            .expect("the folder is readable")
            .map(|file| file.expect("the folder is readable").file_name())
            .collect();
        assert_eq!(left.len(), 3, "{left:?}");

        let store = open(&path);
        check_filled(&store, &key).await;
        store.close().await.expect("the store closes");
        for name in left {
            fs::remove_file(folder.path().join(name)).expect("the file is there");
        }
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
        let page = store
            .tail("p", &[], after, 10)
            .await
            .expect("the store reads");
        let positions = page.entries.iter().map(|entry| entry.entry.position);
        assert_eq!(positions.collect::<Vec<_>>(), [position]);
    }
    // A cursor is a text that is good in the next life of the store.
    let cursor: LogCursor = end.to_string().parse().expect("it is a cursor");
    store.close().await.expect("the store closes");
    let store = open(&path);
    let page = store
        .tail("p", &[], &cursor, 10)
        .await
        .expect("the store reads");
    assert_eq!(page.entries.len(), 1);
    // A game of the same name is another game.
    note(&new, create(&store, new_game("p", "new")).await.chain_head);
    let again = store_one(&store, entry(&new, 0)).await.1;
    assert!(again > position);
}

#[tokio::test]
async fn questions_survive_and_the_claims_of_a_dead_process_do_not() {
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
    assert_eq!(claimed.len(), 2, "nobody else can hold one: {claimed:?}");
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

/// What cursors are covered by is read by each process over the store, and by no other store.
#[tokio::test]
async fn the_key_for_cursors_is_of_the_store() {
    let folder = folder();
    let path = folder.path().join("referee.db");
    let store = open(&path);
    let key = store.cover_key().await.expect("the store reads");
    assert_eq!(key.len(), 32);
    store.close().await.expect("the store closes");
    let again = open(&path).cover_key().await.expect("the store reads");
    assert_eq!(again, key);
    let other = open(folder.path().join("other.db"));
    assert_ne!(other.cover_key().await.expect("the store reads"), key);
}
