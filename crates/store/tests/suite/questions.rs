//! Questions that entries leave.

use referee_store::{Append, GameKey, OpenQuestion, Store, Write};

use super::{create, entry, new_game, platform, refusal, store_one, writing};

/// Longer than any test waits.
const HOLD_US: i64 = 1_000;

/// An entry after `expected_sequence` that leaves a question.
pub(crate) fn asking(key: &GameKey, expected_sequence: i64) -> Append {
    let write = Write::Entry {
        bytes: b"asks".to_vec(),
        private: None,
        describes: None,
        state: 1,
        update_time_us: 1,
        deadline_us: None,
        asks: true,
    };
    let id = format!("asks {}", expected_sequence + 1);
    writing(key, expected_sequence, &id, write)
}

/// Claims the open questions, and returns those of a platform: game and sequence.
async fn claim(store: &dyn Store, platform: &str, now_us: i64) -> Vec<(String, i64)> {
    let claimed = store.claim_questions(now_us, HOLD_US, 1_000).await;
    let claimed: Vec<OpenQuestion> = claimed.expect("the store writes");
    claimed
        .into_iter()
        .filter(|question| question.key.platform == platform)
        .map(|question| (question.key.game, question.sequence))
        .collect()
}

async fn settle(store: &dyn Store, key: &GameKey, sequence: i64) {
    let settled = store.settle_question(key.clone(), sequence).await;
    settled.expect("the store writes");
}

fn of(name: &str, sequence: i64) -> (String, i64) {
    (name.to_owned(), sequence)
}

pub(crate) async fn asks_until_it_is_settled(store: &dyn Store) {
    let platform = platform("questions");
    assert_eq!(claim(store, &platform, 0).await, []);
    let one = create(store, new_game(&platform, "one")).await.key;
    let two = create(store, new_game(&platform, "two")).await.key;
    store_one(store, entry(&two, 0)).await;
    assert_eq!(claim(store, &platform, 0).await, []);
    // In the order in which they were asked.
    store_one(store, asking(&two, 1)).await;
    store_one(store, asking(&one, 0)).await;
    // What comes after it and does not ask leaves it open.
    store_one(store, entry(&two, 2)).await;
    store_one(store, refusal(&two, 3, "no")).await;
    assert_eq!(
        claim(store, &platform, 0).await,
        [of("two", 2), of("one", 1)]
    );
    settle(store, &two, 2).await;
    assert_eq!(claim(store, &platform, HOLD_US).await, [of("one", 1)]);
    // Twice, of a game without one, and of no game: nothing happens.
    settle(store, &two, 2).await;
    settle(store, &one, 0).await;
    settle(store, &GameKey::new(&platform, "none"), 1).await;
    assert_eq!(claim(store, &platform, 2 * HOLD_US).await, [of("one", 1)]);
    settle(store, &one, 1).await;
    assert_eq!(claim(store, &platform, i64::MAX).await, []);
}

pub(crate) async fn holds_questions_that_are_claimed(store: &dyn Store) {
    let platform = platform("questions-held");
    let one = create(store, new_game(&platform, "one")).await.key;
    let two = create(store, new_game(&platform, "two")).await.key;
    store_one(store, asking(&one, 0)).await;
    assert_eq!(claim(store, &platform, 0).await, [of("one", 1)]);
    assert_eq!(claim(store, &platform, 0).await, []);
    assert_eq!(claim(store, &platform, HOLD_US - 1).await, []);
    // The one that was never claimed comes before the one whose claim ran out.
    store_one(store, asking(&two, 0)).await;
    assert_eq!(
        claim(store, &platform, HOLD_US).await,
        [of("two", 1), of("one", 1)]
    );
    assert_eq!(claim(store, &platform, 2 * HOLD_US - 1).await, []);
}

pub(crate) async fn asks_again_at_once(store: &dyn Store) {
    let platform = platform("questions-again");
    let key = create(store, new_game(&platform, "g")).await.key;
    store_one(store, asking(&key, 0)).await;
    assert_eq!(claim(store, &platform, 0).await, [of("g", 1)]);
    store_one(store, asking(&key, 1)).await;
    // The claim ended with the entry, and the answer to the first settles nothing.
    settle(store, &key, 1).await;
    assert_eq!(claim(store, &platform, 1).await, [of("g", 2)]);
    settle(store, &key, 2).await;
    assert_eq!(claim(store, &platform, i64::MAX).await, []);
}

pub(crate) async fn bounds_the_questions(store: &dyn Store) {
    let platform = platform("questions-bound");
    for n in 0..7 {
        let key = create(store, new_game(&platform, &n.to_string())).await.key;
        store_one(store, asking(&key, 0)).await;
    }
    let mut claimed = Vec::new();
    for expected in [3, 3, 1, 0] {
        let page = store.claim_questions(0, HOLD_US, 3).await;
        let page = page.expect("the store writes");
        assert_eq!(page.len(), expected);
        claimed.extend(page.into_iter().map(|question| question.key.game));
    }
    assert_eq!(claimed, ["0", "1", "2", "3", "4", "5", "6"]);
}
