//! Holding the limits.

use referee_store::{
    Append, AppendError, Appended, CreateError, GameKey, InvalidField, ListFilter, NewGame,
    Problem, ReadError, Store, Write, limits,
};

use super::{
    appends, at_once, check_record, create, entry, new_game, platform, refusal, store_one,
};

/// As many writes as may wait at once, with room for those of other tests.
const AT_ONCE: usize = 1_000;

pub(crate) async fn bounds_refusals(store: &dyn Store) {
    let platform = platform("refusals");
    let key = create(store, new_game(&platform, "g")).await.key;
    let requests: Vec<String> = (0..limits::REFUSALS_PER_GAME_MAX)
        .map(|n| n.to_string())
        .collect();
    for requests in requests.chunks(AT_ONCE) {
        let writes = requests.iter().map(|request| refusal(&key, 0, request));
        for answer in at_once(appends(store, writes)).await {
            assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
        }
    }
    let limit = limits::REFUSALS_PER_GAME_MAX;
    let one_more = store.append(refusal(&key, 0, "one more")).await;
    assert_eq!(one_more, Err(AppendError::TooManyRefusals { limit }));
    // Repetitions are still answered, and the game goes on.
    let repeated = store.append(refusal(&key, 0, "0")).await;
    assert!(
        matches!(repeated, Ok(Appended::Repeated(_))),
        "{repeated:?}"
    );
    store_one(store, entry(&key, 0)).await;
}

pub(crate) async fn bounds_entries(store: &dyn Store) {
    let platform = platform("full");
    let key = create(store, new_game(&platform, "g")).await.key;
    let limit = limits::ENTRIES_PER_GAME_MAX;
    for first in (0..limit).step_by(AT_ONCE) {
        let writes = (first..limit.min(first + AT_ONCE as i64)).map(|n| entry(&key, n));
        for answer in at_once(appends(store, writes)).await {
            assert!(matches!(answer, Ok(Appended::Stored { .. })), "{answer:?}");
        }
    }
    assert_eq!(
        store.append(entry(&key, limit)).await,
        Err(AppendError::GameFull { limit })
    );
    let repeated = store.append(entry(&key, limit - 1)).await;
    assert!(
        matches!(repeated, Ok(Appended::Repeated(_))),
        "{repeated:?}"
    );
    store_one(store, refusal(&key, limit, "refused")).await;
    assert_eq!(check_record(store, &key).await.len() as i64, limit);
}

pub(crate) async fn names_the_field_that_is_out_of_bounds(store: &dyn Store) {
    let platform = platform("invalid");
    let good = new_game(&platform, "g");
    let long = |bytes: usize| "x".repeat(bytes);
    let too_long = |limit: usize| Problem::TooLong {
        limit,
        actual: limit + 1,
    };
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let many = (0..33)
        .map(|n| (format!("{n:02}"), String::new()))
        .collect();
    let games = [
        (
            "platform",
            Problem::Empty,
            NewGame {
                key: GameKey::new("", "g"),
                ..good.clone()
            },
        ),
        (
            "game",
            Problem::Empty,
            NewGame {
                key: GameKey::new("p", ""),
                ..good.clone()
            },
        ),
        (
            "platform",
            too_long(128),
            NewGame {
                key: GameKey::new(long(129), "g"),
                ..good.clone()
            },
        ),
        (
            "game",
            too_long(128),
            NewGame {
                key: GameKey::new("p", long(129)),
                ..good.clone()
            },
        ),
        (
            "request_id",
            Problem::Empty,
            NewGame {
                request_id: String::new(),
                ..good.clone()
            },
        ),
        (
            "request_id",
            too_long(128),
            NewGame {
                request_id: long(129),
                ..good.clone()
            },
        ),
        (
            "genesis",
            too_long(1 << 20),
            NewGame {
                genesis: vec![0; (1 << 20) + 1],
                ..good.clone()
            },
        ),
        (
            "labels",
            Problem::TooMany {
                limit: 32,
                actual: 33,
            },
            NewGame {
                labels: many,
                ..good.clone()
            },
        ),
        (
            "labels",
            Problem::NotSorted,
            NewGame {
                labels: vec![label("b", ""), label("a", "")],
                ..good.clone()
            },
        ),
        (
            "labels",
            Problem::NotSorted,
            NewGame {
                labels: vec![label("a", "1"), label("a", "2")],
                ..good.clone()
            },
        ),
        (
            "labels.key",
            Problem::Empty,
            NewGame {
                labels: vec![label("", "")],
                ..good.clone()
            },
        ),
        (
            "labels.key",
            too_long(64),
            NewGame {
                labels: vec![label(&long(65), "")],
                ..good.clone()
            },
        ),
        (
            "labels.value",
            too_long(256),
            NewGame {
                labels: vec![label("a", &long(257))],
                ..good.clone()
            },
        ),
    ];
    for (field, problem, game) in games {
        let invalid = InvalidField { field, problem };
        assert_eq!(store.create(game).await, Err(CreateError::Invalid(invalid)));
    }

    let key = create(store, good).await.key;
    let entry_of = |bytes| Write::Entry {
        bytes: vec![0; bytes],
        state: 1,
        update_time_us: 0,
        deadline_us: None,
    };
    let refusal_of = |bytes| Write::Refusal {
        answer: vec![0; bytes],
    };
    let writes = [
        (
            "entry",
            too_long(256 << 10),
            Append {
                write: entry_of((256 << 10) + 1),
                ..entry(&key, 0)
            },
        ),
        (
            "refusal",
            too_long(64 << 10),
            Append {
                write: refusal_of((64 << 10) + 1),
                ..entry(&key, 0)
            },
        ),
        (
            "request_id",
            Problem::Empty,
            Append {
                request_id: String::new(),
                ..entry(&key, 0)
            },
        ),
        (
            "game",
            too_long(128),
            entry(&GameKey::new(&platform, long(129)), 0),
        ),
    ];
    for (field, problem, write) in writes {
        let invalid = InvalidField { field, problem };
        assert_eq!(
            store.append(write).await,
            Err(AppendError::Invalid(invalid))
        );
    }
    assert_eq!(check_record(store, &key).await.len(), 0);

    let filter = ListFilter {
        states: vec![1; 17],
        ..ListFilter::default()
    };
    let problem = Problem::TooMany {
        limit: 16,
        actual: 17,
    };
    let invalid = InvalidField {
        field: "filter.states",
        problem,
    };
    let answer = store.list(&platform, &filter, None, 10).await;
    assert_eq!(answer, Err(ReadError::Invalid(invalid)));
}

pub(crate) async fn takes_what_is_within_bounds(store: &dyn Store) {
    let name = "é".repeat(64);
    let platform = format!("{:é<104}", platform("bounds"));
    let platform = String::from_utf8_lossy(&platform.as_bytes()[..100]).into_owned();
    let labels = (0..32)
        .map(|n| (format!("{n:064}"), "v".repeat(256)))
        .collect();
    let request_id = "r".repeat(128);
    let row = create(
        store,
        NewGame {
            key: GameKey::new(platform, name),
            request_id: request_id.clone(),
            genesis: vec![7; 1 << 20],
            labels,
            create_time_us: i64::MAX,
            state: i32::MIN,
            ..new_game("p", "g")
        },
    )
    .await;
    // Bytes that mean something to a database or to C.
    let odd = "'; DROP TABLE games; -- \0 %_\\";
    for (n, bytes) in [vec![], vec![0; 256 << 10], odd.into()]
        .into_iter()
        .enumerate()
    {
        let write = Write::Entry {
            bytes,
            state: i32::MAX,
            update_time_us: i64::MIN,
            deadline_us: None,
        };
        let append = Append {
            write,
            request_id: format!("{odd}{n}"),
            ..entry(&row.key, n as i64)
        };
        store_one(store, append).await;
    }
    let answer = vec![1; 64 << 10];
    let write = Write::Refusal {
        answer: answer.clone(),
    };
    store_one(
        store,
        Append {
            request_id: request_id.clone(),
            write,
            ..entry(&row.key, 3)
        },
    )
    .await;
    let kept = store
        .answer(&row.key, &request_id)
        .await
        .expect("the store reads");
    let kept = kept.expect("the refusal was kept");
    assert_eq!(kept.body, referee_store::AnswerBody::Refusal(answer));
    let entries = check_record(store, &row.key).await;
    assert_eq!(entries[0].bytes, b"");
    assert_eq!(entries[2].bytes, odd.as_bytes());
    let now = super::game(store, &row.key).await;
    assert_eq!(
        (now.state, now.update_time_us, now.labels),
        (i32::MAX, i64::MIN, row.labels)
    );
}
