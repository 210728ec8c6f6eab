//! Appending and reading entries.

use std::time::Duration;

use referee_store::{
    Answer, AnswerBody, Append, AppendError, Appended, GameHead, GameKey, Problem, RequestKey,
    Store, Write, chain, limits,
};

use super::{
    all_entries, appends, at_once, bytes, check_record, create, entry, game, hash, moved, new_game,
    platform, refusal, request, store_one, writing,
};

pub(crate) async fn appends_in_sequence(store: &dyn Store) {
    let platform = platform("append");
    let row = create(store, new_game(&platform, "g")).await;
    let (mut head, mut last_position) = (row.chain_head, 0);
    for sequence in 1..=5 {
        let write = Write::Entry {
            bytes: vec![sequence as u8; 3],
            private: None,
            describes: None,
            state: 10 + sequence as i32 / 3,
            update_time_us: 2_000 + sequence,
            deadline_us: None,
            asks: false,
        };
        let append = writing(&row.key, sequence - 1, &format!("entry {sequence}"), write);
        let (stored, position, chain) = store_one(store, append).await;
        head = chain::next(&head, &[sequence as u8; 3]);
        assert_eq!((stored, chain), (sequence, head));
        assert!(position > last_position, "{position} after {last_position}");
        last_position = position;

        let now = game(store, &row.key).await;
        assert_eq!((now.sequence, now.chain_head), (sequence, head));
        assert_eq!(now.state, 10 + sequence as i32 / 3);
        assert_eq!(
            (now.create_time_us, now.update_time_us),
            (1_000, 2_000 + sequence)
        );
        assert_eq!(now.genesis, row.genesis);
        let last = now.last_entry.expect("there is an entry");
        assert_eq!((last.sequence, last.position), (sequence, position));
        assert_eq!((last.bytes, last.chain), (vec![sequence as u8; 3], head));
        let stands = GameHead {
            sequence,
            chain: head,
            state: 10 + sequence as i32 / 3,
        };
        assert_eq!(store.head(&row.key).await, Ok(Some(stands)));
    }
    let entries = check_record(store, &row.key).await;
    assert_eq!(entries.len(), 5);
    assert_eq!(entries[2].bytes, [3, 3, 3]);
    assert_eq!(entries[4].position, last_position);
}

pub(crate) async fn appends_within_one_batch(store: &dyn Store) {
    let platform = platform("batch");
    let one = create(store, new_game(&platform, "one")).await.key;
    let two = create(store, new_game(&platform, "two")).await.key;
    // The second sees the first, and the two games do not disturb each other.
    let writes = (0..200).map(|n| entry(if n % 2 == 0 { &one } else { &two }, n / 2));
    for (n, answer) in at_once(appends(store, writes))
        .await
        .into_iter()
        .enumerate()
    {
        match answer {
            Ok(Appended::Stored { sequence, .. }) => assert_eq!(sequence, n as i64 / 2 + 1),
            other => panic!("write {n}: {other:?}"),
        }
    }
    assert_eq!(check_record(store, &one).await.len(), 100);
    assert_eq!(check_record(store, &two).await.len(), 100);

    // A repetition within the batch of the first request.
    let writes = [entry(&one, 100), entry(&one, 100), entry(&one, 101)];
    let answers = at_once(appends(store, writes)).await;
    assert!(
        matches!(answers[0], Ok(Appended::Stored { sequence: 101, .. })),
        "{answers:?}"
    );
    match &answers[1] {
        Ok(Appended::Repeated(answer)) => assert_eq!(answer.sequence, 101),
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(answers[2], Ok(Appended::Stored { sequence: 102, .. })),
        "{answers:?}"
    );
}

pub(crate) async fn repeats_the_answer_of_an_entry(store: &dyn Store) {
    let platform = platform("repeat");
    let key = create(store, new_game(&platform, "g")).await.key;
    for sequence in 0..3 {
        store_one(store, entry(&key, sequence)).await;
    }
    let first = Answer {
        content_hash: hash(2),
        sequence: 1,
        body: AnswerBody::Entry(b"entry 1 of g".to_vec()),
        private: None,
    };
    // At whatever sequence the repetition was judged, and whatever it would write now.
    let write = Write::Refusal {
        answer: b"judged anew".to_vec(),
    };
    for expected_sequence in [0, 1, 3, 77] {
        let same = Append {
            expected_sequence,
            ..entry(&key, 0)
        };
        assert_eq!(
            store.append(same.clone()).await,
            Ok(Appended::Repeated(first.clone()))
        );
        let judged_anew = Append {
            write: write.clone(),
            ..same
        };
        assert_eq!(
            store.append(judged_anew).await,
            Ok(Appended::Repeated(first.clone()))
        );
    }
    assert_eq!(
        store.answer(&key, &request("entry 1")).await,
        Ok(Some(first))
    );
    assert_eq!(store.answer(&key, &request("entry 4")).await, Ok(None));
    assert_eq!(check_record(store, &key).await.len(), 3);
}

pub(crate) async fn refuses_a_stale_sequence(store: &dyn Store) {
    let platform = platform("stale");
    let key = create(store, new_game(&platform, "g")).await.key;
    store_one(store, entry(&key, 0)).await;
    store_one(store, entry(&key, 1)).await;
    for (n, expected_sequence) in [-1, 0, 1, 3, i64::MAX, i64::MIN].into_iter().enumerate() {
        let stale = Append {
            expected_sequence,
            ..writing(&key, 2, &format!("stale {n}"), bytes("stale"))
        };
        let moved = moved(store, &key, 2).await;
        assert_eq!(store.append(stale.clone()).await, Err(moved));
        // It left nothing behind: judged again it is a first request.
        let again = Append {
            expected_sequence: 2,
            ..stale
        };
        assert_eq!(store.answer(&key, &again.request).await, Ok(None));
    }
    assert_eq!(check_record(store, &key).await.len(), 2);
}

pub(crate) async fn refuses_another_past(store: &dyn Store) {
    let platform = platform("past");
    let key = create(store, new_game(&platform, "g")).await.key;
    store_one(store, entry(&key, 0)).await;
    // At the right sequence, but judged on a copy that had another entry there, or none.
    let genesis = entry(&key, 0).previous;
    for previous in [genesis, hash(7), [0; 32]] {
        let moved = moved(store, &key, 1).await;
        let of_another = Append {
            previous,
            ..entry(&key, 1)
        };
        assert_eq!(store.append(of_another).await, Err(moved.clone()));
        let of_another = Append {
            previous,
            ..refusal(&key, 1, "no")
        };
        assert_eq!(store.append(of_another).await, Err(moved));
        assert_eq!(store.answer(&key, &request("entry 2")).await, Ok(None));
        assert_eq!(store.answer(&key, &request("no")).await, Ok(None));
    }
    // A repetition is answered wherever its copy is.
    let repeated = Append {
        previous: hash(7),
        ..entry(&key, 0)
    };
    let repeated = store.append(repeated).await;
    assert!(
        matches!(repeated, Ok(Appended::Repeated(_))),
        "{repeated:?}"
    );
    store_one(store, entry(&key, 1)).await;
    assert_eq!(check_record(store, &key).await.len(), 2);
}

pub(crate) async fn answers_within_a_scope(store: &dyn Store) {
    let platform = platform("scope");
    let key = create(store, new_game(&platform, "g")).await.key;
    let scoped = |scope, sequence, text: &str| Append {
        request: RequestKey::new(scope, "same"),
        ..writing(&key, sequence, "", bytes(text))
    };
    for (sequence, scope) in [(0, 0), (1, 1), (2, 255)] {
        let text = format!("scope {scope}");
        store_one(store, scoped(scope, sequence, &text)).await;
    }
    let refused = Append {
        request: RequestKey::new(2, "same"),
        ..refusal(&key, 3, "")
    };
    store_one(store, refused).await;
    for (scope, sequence) in [(0, 1), (1, 2), (255, 3)] {
        let answer = store.answer(&key, &RequestKey::new(scope, "same")).await;
        let answer = answer.expect("the store reads").expect("it was answered");
        let text = format!("scope {scope}").into_bytes();
        assert_eq!(
            (answer.sequence, answer.body),
            (sequence, AnswerBody::Entry(text))
        );
    }
    let refused = store.answer(&key, &RequestKey::new(2, "same")).await;
    let refused = refused.expect("the store reads").expect("it was answered");
    assert_eq!(refused.body, AnswerBody::Refusal(b"no to ".to_vec()));
    let other = store.answer(&key, &RequestKey::new(3, "same")).await;
    assert_eq!(other, Ok(None));
    assert_eq!(check_record(store, &key).await.len(), 3);
}

pub(crate) async fn knows_no_unknown_game(store: &dyn Store) {
    let platform = platform("unknown");
    let key = GameKey::new(&platform, "g");
    assert_eq!(
        store.append(entry(&key, 0)).await,
        Err(AppendError::NotFound)
    );
    // Neither in a platform that has games.
    create(store, new_game(&platform, "other")).await;
    assert_eq!(
        store.append(entry(&key, 0)).await,
        Err(AppendError::NotFound)
    );
    assert_eq!(store.game(&key).await, Ok(None));
    assert_eq!(store.entries(&key, 0, 10).await, Ok(Vec::new()));
    assert_eq!(store.answer(&key, &request("entry 1")).await, Ok(None));
    assert_eq!(store.head(&key).await, Ok(None));
    // Names are compared byte by byte.
    assert_eq!(
        store.game(&GameKey::new(&platform, "Other")).await,
        Ok(None)
    );
    assert_eq!(
        store.game(&GameKey::new(&platform, "other ")).await,
        Ok(None)
    );
}

pub(crate) async fn one_writer_wins_each_sequence(store: &dyn Store) {
    const WRITERS: usize = 24;
    const WINS: usize = 10;

    let platform = platform("race");
    let row = create(store, new_game(&platform, "g")).await;
    let (key, genesis) = (row.key, row.chain_head);
    let writer = |writer: usize| {
        let key = &key;
        async move {
            let (mut won, mut sequence, mut previous) = (Vec::new(), 0, genesis);
            while won.len() < WINS {
                let id = format!("{writer} {} {sequence}", won.len());
                let append = Append {
                    key: key.clone(),
                    expected_sequence: sequence,
                    previous,
                    request: request(&id),
                    content_hash: hash(2),
                    write: bytes(id),
                };
                match store.append(append).await {
                    Ok(Appended::Stored {
                        sequence: stored,
                        chain,
                        ..
                    }) => {
                        assert_eq!(stored, sequence + 1);
                        won.push((stored, writer));
                        (sequence, previous) = (stored, chain);
                    }
                    Err(AppendError::Moved { actual, chain }) => {
                        assert_ne!(actual, sequence);
                        (sequence, previous) = (actual, chain);
                    }
                    other => panic!("{other:?}"),
                }
                tokio::task::yield_now().await;
            }
            won
        }
    };
    let futures = (0..WRITERS).map(|n| Box::pin(writer(n)) as _).collect();
    let mut won: Vec<(i64, usize)> = at_once(futures).await.concat();
    won.sort_unstable();
    let entries = check_record(store, &key).await;
    assert_eq!(entries.len(), WRITERS * WINS);
    for (entry, (sequence, writer)) in entries.iter().zip(won) {
        assert_eq!(entry.sequence, sequence);
        let text = String::from_utf8_lossy(&entry.bytes);
        assert!(
            text.starts_with(&format!("{writer} ")),
            "entry {sequence}: {text}"
        );
    }
}

pub(crate) async fn a_failed_write_spoils_no_other(store: &dyn Store) {
    let platform = platform("spoil");
    let key = create(store, new_game(&platform, "g")).await.key;
    let first = entry(&key, 0);
    let too_long = writing(&key, 1, &"x".repeat(1_000), bytes("too long"));
    let reused = Append {
        content_hash: hash(9),
        ..first.clone()
    };
    let stale = Append {
        request: request("stale"),
        ..first.clone()
    };
    let unknown = entry(&GameKey::new(&platform, "unknown"), 0);
    let writes = [first, too_long, reused, stale, unknown, entry(&key, 1)];
    let answers = at_once(appends(store, writes)).await;
    assert!(
        matches!(answers[0], Ok(Appended::Stored { sequence: 1, .. })),
        "{answers:?}"
    );
    match &answers[1] {
        Err(AppendError::Invalid(invalid)) => {
            assert_eq!(invalid.field, "request_id");
            assert_eq!(
                invalid.problem,
                Problem::TooLong {
                    limit: 128,
                    actual: 1_000
                }
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(answers[2], Err(AppendError::RequestIdReused));
    assert!(
        matches!(answers[3], Err(AppendError::Moved { actual: 1, .. })),
        "{answers:?}"
    );
    assert_eq!(answers[4], Err(AppendError::NotFound));
    assert!(
        matches!(answers[5], Ok(Appended::Stored { sequence: 2, .. })),
        "{answers:?}"
    );
    check_record(store, &key).await;
}

pub(crate) async fn a_caller_may_stop_waiting(store: &dyn Store) {
    let platform = platform("impatient");
    let key = create(store, new_game(&platform, "g")).await.key;
    // Sent, and given up before the answer can come.
    let _ = tokio::time::timeout(Duration::ZERO, store.append(entry(&key, 0))).await;
    let answer = store.append(entry(&key, 0)).await;
    match answer {
        Ok(Appended::Stored { sequence, .. }) => assert_eq!(sequence, 1),
        Ok(Appended::Repeated(answer)) => assert_eq!(answer.sequence, 1),
        Err(error) => panic!("{error}"),
    }
    assert_eq!(check_record(store, &key).await.len(), 1);
}

pub(crate) async fn reads_entries_page_by_page(store: &dyn Store) {
    let platform = platform("pages");
    let key = create(store, new_game(&platform, "g")).await.key;
    let writes = (0..1_100).map(|sequence| entry(&key, sequence));
    at_once(appends(store, writes)).await;
    let all = all_entries(store, &key).await;
    assert_eq!(all.len(), 1_100);
    for (after, limit, expected) in [
        (0, 1, 0..1),
        (0, 10, 0..10),
        (7, 10, 7..17),
        (-5, 3, 0..3),
        (i64::MIN, 3, 0..3),
        (1_095, 10, 1_095..1_100),
        (1_100, 10, 0..0),
        (i64::MAX, 10, 0..0),
        (0, usize::MAX, 0..limits::PAGE_ROWS_MAX),
        (0, 0, 0..1),
    ] {
        let page = store
            .entries(&key, after, limit)
            .await
            .expect("the store reads");
        assert_eq!(page, all[expected], "after {after}, at most {limit}");
    }

    // Large entries make short pages, and none is left out.
    let large = create(store, new_game(&platform, "large")).await.key;
    let writes = (0..20).map(|sequence| {
        let write = bytes(vec![sequence as u8; limits::ENTRY_BYTES_MAX]);
        writing(&large, sequence, &format!("entry {sequence}"), write)
    });
    at_once(appends(store, writes)).await;
    let page = store
        .entries(&large, 0, 100)
        .await
        .expect("the store reads");
    assert_eq!(page.len(), limits::PAGE_BYTES / limits::ENTRY_BYTES_MAX);
    assert_eq!(check_record(store, &large).await.len(), 20);
}
