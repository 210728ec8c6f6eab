//! Deadlines, and the claims on games that are due.

use referee_store::{Append, AppendError, DueGame, GameKey, NewGame, Postponement, Store, Write};

use super::{create, entry, moved, new_game, platform, refusal, store_one, writing};

const HOLD_US: i64 = 1_000;

/// An entry after `expected_sequence` that leaves the game with this deadline.
fn timed(key: &GameKey, expected_sequence: i64, deadline_us: Option<i64>) -> Append {
    let write = Write::Entry {
        bytes: b"timed".to_vec(),
        private: None,
        describes: None,
        state: 1,
        update_time_us: 1,
        deadline_us,
        asks: false,
    };
    let id = format!("timed {}", expected_sequence + 1);
    writing(key, expected_sequence, &id, write)
}

async fn create_due(
    store: &dyn Store,
    platform: &str,
    name: &str,
    deadline_us: Option<i64>,
) -> GameKey {
    let new = NewGame {
        deadline_us,
        ..new_game(platform, name)
    };
    create(store, new).await.key
}

/// Claims what is due by `until_us`, and returns what is of a platform: game and time.
async fn claim(
    store: &dyn Store,
    platform: &str,
    now_us: i64,
    until_us: i64,
) -> Vec<(String, i64)> {
    let due = store.claim_due(now_us, until_us, HOLD_US, 1_000).await;
    due.expect("the store writes")
        .into_iter()
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

fn at(name: &str, time: i64) -> (String, i64) {
    (name.to_owned(), time)
}

pub(crate) async fn claims_games_that_are_due(store: &dyn Store) {
    let platform = platform("due");
    for (name, deadline_us) in [
        ("a", Some(30)),
        ("b", Some(10)),
        ("c", None),
        ("d", Some(20)),
    ] {
        create_due(store, &platform, name, deadline_us).await;
    }
    assert_eq!(claim(store, &platform, 0, 9).await, []);
    let due = claim(store, &platform, 0, 20).await;
    assert_eq!(due, [at("b", 10), at("d", 20)]);
    let due = claim(store, &platform, HOLD_US, i64::MAX).await;
    assert_eq!(due, [at("b", 10), at("d", 20), at("a", 30)]);

    // An entry without a deadline ends it, one with an earlier one moves it.
    store_one(store, timed(&GameKey::new(&platform, "b"), 0, None)).await;
    store_one(store, timed(&GameKey::new(&platform, "c"), 0, Some(5))).await;
    store_one(store, timed(&GameKey::new(&platform, "a"), 0, Some(15))).await;
    let due = claim(store, &platform, 2 * HOLD_US, i64::MAX).await;
    assert_eq!(due, [at("c", 5), at("a", 15), at("d", 20)]);

    // A refusal moves nothing.
    store_one(store, refusal(&GameKey::new(&platform, "c"), 1, "no")).await;
    let due = claim(store, &platform, 3 * HOLD_US, 5).await;
    assert_eq!(due, [at("c", 5)]);
}

pub(crate) async fn holds_what_is_claimed(store: &dyn Store) {
    let platform = platform("due-held");
    create_due(store, &platform, "one", Some(10)).await;
    create_due(store, &platform, "two", Some(20)).await;
    assert_eq!(claim(store, &platform, 10, 10).await, [at("one", 10)]);
    // Nobody else gets it, and it keeps nothing from the others.
    assert_eq!(claim(store, &platform, 10, 10).await, []);
    assert_eq!(claim(store, &platform, 11, 20).await, [at("two", 20)]);
    assert_eq!(claim(store, &platform, 9 + HOLD_US, 20).await, []);
    // Who claimed them has died: they come again, each in its time.
    assert_eq!(
        claim(store, &platform, 10 + HOLD_US, 20).await,
        [at("one", 10)]
    );
    assert_eq!(
        claim(store, &platform, 11 + HOLD_US, 20).await,
        [at("two", 20)]
    );
    // It is not due because its claim ran out.
    assert_eq!(claim(store, &platform, i64::MAX, 9).await, []);
}

pub(crate) async fn an_entry_ends_a_claim(store: &dyn Store) {
    let platform = platform("due-ended");
    let key = create_due(store, &platform, "g", Some(10)).await;
    assert_eq!(claim(store, &platform, 10, 10).await, [at("g", 10)]);
    // The new deadline is later than the old one, and comes before the claim would end.
    store_one(store, timed(&key, 0, Some(50))).await;
    assert_eq!(claim(store, &platform, 49, 49).await, []);
    assert_eq!(claim(store, &platform, 50, 50).await, [at("g", 50)]);
    // So does a postponement, even to the same time.
    assert_eq!(claim(store, &platform, 50, 50).await, []);
    assert_eq!(postpone(store, &key, 1, Some(50)).await, Ok(()));
    assert_eq!(claim(store, &platform, 51, 51).await, [at("g", 50)]);
    // And an entry that leaves the deadline as it was.
    store_one(store, timed(&key, 1, Some(50))).await;
    assert_eq!(claim(store, &platform, 52, 52).await, [at("g", 50)]);
}

pub(crate) async fn postpones_a_deadline(store: &dyn Store) {
    let platform = platform("postpone");
    let key = create_due(store, &platform, "g", Some(10)).await;
    store_one(store, timed(&key, 0, Some(50))).await;
    // Whether it is still named at 10 is the engine's affair; from now on it is not.
    let stale = postpone(store, &key, 0, Some(60)).await;
    assert_eq!(stale, Err(moved(store, &key, 1).await));
    assert_eq!(postpone(store, &key, 1, Some(50)).await, Ok(()));
    assert_eq!(claim(store, &platform, 0, 49).await, []);
    assert_eq!(claim(store, &platform, 0, 50).await, [at("g", 50)]);
    assert_eq!(postpone(store, &key, 1, None).await, Ok(()));
    assert_eq!(claim(store, &platform, i64::MAX, i64::MAX).await, []);

    let unknown = postpone(store, &GameKey::new(&platform, "none"), 0, None).await;
    assert_eq!(unknown, Err(AppendError::NotFound));
    let empty = postpone(store, &GameKey::new(&platform, ""), 0, None).await;
    assert!(matches!(empty, Err(AppendError::Invalid(_))), "{empty:?}");
    // An entry that is not timed leaves no deadline behind.
    store_one(store, entry(&key, 1)).await;
    assert_eq!(claim(store, &platform, i64::MAX, i64::MAX).await, []);
}

pub(crate) async fn bounds_the_games_that_are_due(store: &dyn Store) {
    let platform = platform("due-bound");
    for number in 0..40 {
        // Earlier than those of any other test, so that they come first.
        let deadline_us = Some(-1_000 - number);
        create_due(store, &platform, &format!("g{number}"), deadline_us).await;
    }
    let mut times = Vec::new();
    for expected in [25, 15, 0] {
        let due = store.claim_due(0, -1_000, HOLD_US, 25).await;
        let due: Vec<DueGame> = due.expect("the store writes");
        assert_eq!(due.len(), expected);
        times.extend(due.iter().map(|due| due.due_us));
    }
    let expected: Vec<i64> = (0..40).map(|number| -1_039 + number).collect();
    assert_eq!(times, expected);
}
