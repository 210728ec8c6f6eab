//! Holding the limits.

use referee_store::{
    AppendError, CreateError, GameKey, InvalidField, ListFilter, NewGame, Problem, ReadError,
    Store, Write, limits,
};

use super::{bytes, check_record, create, entry, new_game, platform, request, store_one, writing};

fn too_long(limit: usize) -> Problem {
    Problem::TooLong {
        limit,
        actual: limit + 1,
    }
}

fn too_many(limit: usize) -> Problem {
    Problem::TooMany {
        limit,
        actual: limit + 1,
    }
}

/// A text of one byte more than `limit`.
fn beyond(limit: usize) -> String {
    "x".repeat(limit + 1)
}

/// Labels without values, as many as there are keys.
fn labels(keys: &[&str]) -> Vec<(String, String)> {
    let label = |key: &&str| ((*key).to_owned(), String::new());
    keys.iter().map(label).collect()
}

pub(crate) async fn names_the_field_of_a_game_that_is_out_of_bounds(store: &dyn Store) {
    type Change = Box<dyn Fn(&mut NewGame)>;

    let many: Vec<String> = (0..33).map(|n| format!("{n:02}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (many, long) = (labels(&many), labels(&[&beyond(64)]));
    let value = vec![("a".to_owned(), beyond(256))];
    let with = |labels: Vec<(String, String)>| -> Change {
        Box::new(move |game| game.labels = labels.clone())
    };
    let named = |platform: String, name: String| -> Change {
        Box::new(move |game| game.key = GameKey::new(platform.clone(), name.clone()))
    };
    let asked = |id: String| -> Change { Box::new(move |game| game.request_id = id.clone()) };
    let large: Change = Box::new(|game| game.genesis = vec![0; (1 << 20) + 1]);
    let wrong = [
        ("platform", Problem::Empty, named(String::new(), "g".into())),
        ("game", Problem::Empty, named("p".into(), String::new())),
        ("platform", too_long(128), named(beyond(128), "g".into())),
        ("game", too_long(255), named("p".into(), beyond(255))),
        ("request_id", Problem::Empty, asked(String::new())),
        ("request_id", too_long(128), asked(beyond(128))),
        ("genesis", too_long(1 << 20), large),
        ("labels", too_many(32), with(many)),
        ("labels", Problem::NotSorted, with(labels(&["b", "a"]))),
        ("labels", Problem::NotSorted, with(labels(&["a", "a"]))),
        ("labels.key", Problem::Empty, with(labels(&[""]))),
        ("labels.key", too_long(64), with(long)),
        ("labels.value", too_long(256), with(value)),
    ];
    for (field, problem, change) in wrong {
        let mut game = new_game(&platform("invalid"), "g");
        change(&mut game);
        let invalid = InvalidField { field, problem };
        assert_eq!(store.create(game).await, Err(CreateError::Invalid(invalid)));
    }
}

pub(crate) async fn names_the_field_of_a_write_that_is_out_of_bounds(store: &dyn Store) {
    let platform = platform("invalid");
    let key = create(store, new_game(&platform, "g")).await.key;
    let large = bytes(vec![0; (256 << 10) + 1]);
    let refusal = Write::Refusal {
        answer: vec![0; (64 << 10) + 1],
    };
    let long_name = GameKey::new(&platform, beyond(255));
    let wrong = [
        ("entry", too_long(256 << 10), writing(&key, 0, "a", large)),
        (
            "refusal",
            too_long(64 << 10),
            writing(&key, 0, "a", refusal),
        ),
        (
            "request_id",
            Problem::Empty,
            writing(&key, 0, "", bytes("")),
        ),
        (
            "request_id",
            too_long(128),
            writing(&key, 0, &beyond(128), bytes("")),
        ),
        ("game", too_long(255), entry(&long_name, 0)),
    ];
    for (field, problem, write) in wrong {
        let invalid = InvalidField { field, problem };
        assert_eq!(
            store.append(write).await,
            Err(AppendError::Invalid(invalid))
        );
    }
    assert_eq!(check_record(store, &key).await.len(), 0);

    let states = ListFilter {
        states: vec![1; limits::FILTER_STATES_MAX + 1],
        ..ListFilter::default()
    };
    let label = ("a".to_owned(), String::new());
    let labels = ListFilter {
        labels: vec![label; limits::FILTER_LABELS_MAX + 1],
        ..ListFilter::default()
    };
    for (field, problem, filter) in [
        ("filter.states", too_many(16), states),
        ("filter.labels", too_many(9), labels),
    ] {
        let invalid = InvalidField { field, problem };
        let answer = store.list(&platform, &filter, None, 10).await;
        assert_eq!(answer, Err(ReadError::Invalid(invalid)));
    }
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
            private: None,
            labels,
            create_time_us: i64::MAX,
            state: i32::MIN,
            ..new_game("p", "g")
        },
    )
    .await;
    // Bytes that mean something to a database or to C.
    let odd = "'; DROP TABLE games; -- \0 %_\\";
    let entries = [vec![], vec![0; 256 << 10], odd.into()];
    for (n, bytes) in entries.into_iter().enumerate() {
        let write = Write::Entry {
            bytes,
            private: None,
            describes: None,
            state: i32::MAX,
            update_time_us: i64::MIN,
            deadline_us: None,
            asks: false,
        };
        store_one(
            store,
            writing(&row.key, n as i64, &format!("{odd}{n}"), write),
        )
        .await;
    }
    let answer = vec![1; 64 << 10];
    let write = Write::Refusal {
        answer: answer.clone(),
    };
    store_one(store, writing(&row.key, 3, &request_id, write)).await;
    let kept = store
        .answer(&row.key, &request(&request_id))
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
