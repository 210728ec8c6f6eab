//! Deadlines, signs of life, and the spans without them.

use referee_store::{
    Append, AppendError, Beat, DownSpan, DueGame, GameKey, NewGame, Postponement, Store, Write,
};

use super::{create, entry, new_game, platform, refusal, store_one};

/// An entry after `expected_sequence` that leaves the game with this deadline.
fn timed(key: &GameKey, expected_sequence: i64, deadline_us: Option<i64>) -> Append {
    let write = Write::Entry {
        bytes: b"timed".to_vec(),
        state: 1,
        update_time_us: 1,
        deadline_us,
    };
    Append {
        write,
        ..entry(key, expected_sequence)
    }
}

/// The times at which the games of a platform are named by `until_us`, by the names of the games.
async fn named(store: &dyn Store, platform: &str, until_us: i64) -> Vec<(String, i64)> {
    let due = store.due(until_us, 1_000).await.expect("the store reads");
    due.into_iter()
        .filter(|due| due.key.platform == platform)
        .map(|due| (due.key.game, due.due_us))
        .collect()
}

async fn postpone(
    store: &dyn Store,
    key: &GameKey,
    expected_sequence: i64,
    deadline_us: Option<i64>,
) -> Result<(), AppendError> {
    let postponement = Postponement {
        key: key.clone(),
        expected_sequence,
        deadline_us,
    };
    store.postpone(postponement).await
}

pub(crate) async fn names_games_that_are_due(store: &dyn Store) {
    let platform = platform("due");
    for (name, deadline_us) in [
        ("a", Some(30)),
        ("b", Some(10)),
        ("c", None),
        ("d", Some(20)),
    ] {
        let new = NewGame {
            deadline_us,
            ..new_game(&platform, name)
        };
        create(store, new).await;
    }
    let at = |name: &str, time| (name.to_owned(), time);
    assert_eq!(named(store, &platform, 9).await, []);
    assert_eq!(
        named(store, &platform, 20).await,
        [at("b", 10), at("d", 20)]
    );
    let all = named(store, &platform, i64::MAX).await;
    assert_eq!(all, [at("b", 10), at("d", 20), at("a", 30)]);

    // An entry without a deadline ends it, one with an earlier one moves it.
    store_one(store, timed(&GameKey::new(&platform, "b"), 0, None)).await;
    store_one(store, timed(&GameKey::new(&platform, "c"), 0, Some(5))).await;
    store_one(store, timed(&GameKey::new(&platform, "a"), 0, Some(15))).await;
    let all = named(store, &platform, i64::MAX).await;
    assert_eq!(all, [at("c", 5), at("a", 15), at("d", 20)]);

    // A refusal moves nothing.
    store_one(store, refusal(&GameKey::new(&platform, "c"), 1, "no")).await;
    assert_eq!(named(store, &platform, 5).await, [at("c", 5)]);
}

pub(crate) async fn postpones_a_deadline(store: &dyn Store) {
    let platform = platform("postpone");
    let new = NewGame {
        deadline_us: Some(10),
        ..new_game(&platform, "g")
    };
    let key = create(store, new).await.key;
    store_one(store, timed(&key, 0, Some(50))).await;
    // Whether it is still named at 10 is the engine's affair; from now on it is not.
    let stale = postpone(store, &key, 0, Some(60)).await;
    assert_eq!(stale, Err(AppendError::SequenceMismatch { actual: 1 }));
    assert_eq!(postpone(store, &key, 1, Some(50)).await, Ok(()));
    assert_eq!(named(store, &platform, 49).await, []);
    assert_eq!(named(store, &platform, 50).await, [("g".to_owned(), 50)]);
    assert_eq!(postpone(store, &key, 1, None).await, Ok(()));
    assert_eq!(named(store, &platform, i64::MAX).await, []);

    let unknown = postpone(store, &GameKey::new(&platform, "none"), 0, None).await;
    assert_eq!(unknown, Err(AppendError::NotFound));
    let empty = postpone(store, &GameKey::new(&platform, ""), 0, None).await;
    assert!(matches!(empty, Err(AppendError::Invalid(_))), "{empty:?}");
}

pub(crate) async fn bounds_the_games_that_are_due(store: &dyn Store) {
    let platform = platform("due-bound");
    for number in 0..40 {
        let new = NewGame {
            // Earlier than those of any other test, so that they come first.
            deadline_us: Some(-1_000 - number),
            ..new_game(&platform, &format!("g{number}"))
        };
        create(store, new).await;
    }
    let due: Vec<DueGame> = store.due(-1_000, 25).await.expect("the store reads");
    let times: Vec<i64> = due.iter().map(|due| due.due_us).collect();
    let expected: Vec<i64> = (0..25).map(|number| -1_039 + number).collect();
    assert_eq!(times, expected);
}

pub(crate) async fn keeps_signs_of_life(store: &dyn Store) {
    let beat = |at_us| Beat {
        at_us,
        silence_max_us: 5,
    };
    assert_eq!(store.heartbeat().await, Ok(None));
    assert_eq!(store.beat(beat(100)).await, Ok(None));
    assert_eq!(store.beat(beat(105)).await, Ok(None));
    assert_eq!(store.heartbeat().await, Ok(Some(105)));
    let span = DownSpan {
        from_us: 105,
        to_us: 111,
    };
    assert_eq!(store.beat(beat(111)).await, Ok(Some(span)));
    // One that is late changes nothing.
    assert_eq!(store.beat(beat(111)).await, Ok(None));
    assert_eq!(store.beat(beat(50)).await, Ok(None));
    assert_eq!(store.heartbeat().await, Ok(Some(111)));
    assert_eq!(store.down_spans(110, 10).await, Ok(vec![span]));
    assert_eq!(store.down_spans(111, 10).await, Ok(Vec::new()));
}
