//! Keeping the answers of refusals.

use referee_store::{Answer, AnswerBody, Append, AppendError, Appended, Store};

use super::{
    appends, at_once, check_record, create, entry, game, hash, moved, new_game, platform, refusal,
    request, store_one,
};

pub(crate) async fn keeps_refusals(store: &dyn Store) {
    let platform = platform("refuse");
    let key = create(store, new_game(&platform, "g")).await.key;
    store_one(store, entry(&key, 0)).await;
    let before = game(store, &key).await;
    let (sequence, position, chain) = store_one(store, refusal(&key, 1, "bad")).await;
    assert_eq!((sequence, position, chain), (1, 0, before.chain_head));
    // The game and its sequence stay as they are.
    assert_eq!(game(store, &key).await, before);
    assert_eq!(check_record(store, &key).await.len(), 1);
    store_one(store, entry(&key, 1)).await;

    // A refusal that was judged on a stale state must be judged again.
    let stale = store.append(refusal(&key, 1, "stale")).await;
    assert_eq!(stale, Err(moved(store, &key, 2).await));
    assert_eq!(store.answer(&key, &request("stale")).await, Ok(None));
}

pub(crate) async fn repeats_the_answer_of_a_refusal(store: &dyn Store) {
    let platform = platform("repeat-refusal");
    let key = create(store, new_game(&platform, "g")).await.key;
    store_one(store, refusal(&key, 0, "bad")).await;
    let first = Answer {
        content_hash: hash(3),
        sequence: 0,
        body: AnswerBody::Refusal(b"no to bad".to_vec()),
        private: None,
    };
    for sequence in 0..3 {
        // Even if the move would be legal by now.
        let legal = Append {
            request: request("bad"),
            ..entry(&key, sequence)
        };
        let legal = Append {
            content_hash: hash(3),
            ..legal
        };
        assert_eq!(
            store.append(legal).await,
            Ok(Appended::Repeated(first.clone()))
        );
        let repeated = store.append(refusal(&key, 0, "bad")).await;
        assert_eq!(repeated, Ok(Appended::Repeated(first.clone())));
        store_one(store, entry(&key, sequence)).await;
    }
    assert_eq!(store.answer(&key, &request("bad")).await, Ok(Some(first)));

    // Within one batch.
    let writes = [
        refusal(&key, 3, "twice"),
        refusal(&key, 3, "twice"),
        entry(&key, 3),
    ];
    let answers = at_once(appends(store, writes)).await;
    assert!(
        matches!(answers[0], Ok(Appended::Stored { sequence: 3, .. })),
        "{answers:?}"
    );
    assert!(
        matches!(answers[1], Ok(Appended::Repeated(_))),
        "{answers:?}"
    );
    assert!(
        matches!(answers[2], Ok(Appended::Stored { sequence: 4, .. })),
        "{answers:?}"
    );
}

pub(crate) async fn tells_a_reused_request_id(store: &dyn Store) {
    let platform = platform("reuse");
    let key = create(store, new_game(&platform, "g")).await.key;
    store_one(store, entry(&key, 0)).await;
    store_one(store, refusal(&key, 1, "bad")).await;
    for request_id in ["entry 1", "bad"] {
        for expected_sequence in [0, 1, 2] {
            let other = Append {
                request: request(request_id),
                content_hash: hash(9),
                ..entry(&key, expected_sequence)
            };
            assert_eq!(store.append(other).await, Err(AppendError::RequestIdReused));
            let other = Append {
                content_hash: hash(9),
                ..refusal(&key, expected_sequence, request_id)
            };
            assert_eq!(store.append(other).await, Err(AppendError::RequestIdReused));
        }
    }
    // Another game has request ids of its own, and so has creation.
    let other = create(store, new_game(&platform, "h")).await.key;
    store_one(
        store,
        Append {
            content_hash: hash(9),
            ..entry(&other, 0)
        },
    )
    .await;
    store_one(
        store,
        Append {
            request: request("create g"),
            ..entry(&key, 1)
        },
    )
    .await;
    assert_eq!(check_record(store, &key).await.len(), 2);
}
