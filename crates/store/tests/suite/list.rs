//! Listing games.

use referee_store::{GameKey, ListCursor, ListFilter, NewGame, Store, Write, limits};

use super::{at_once, create, new_game, platform, store_one, writing};

/// Creates the game `name` at a time and with labels `key=value`.
async fn create_at(store: &dyn Store, platform: &str, name: &str, time: i64, labels: &[&str]) {
    let labels = labels.iter().map(|label| {
        let (key, value) = label.split_once('=').expect("a label is key=value");
        (key.to_owned(), value.to_owned())
    });
    let game = NewGame {
        create_time_us: time,
        labels: labels.collect(),
        ..new_game(platform, name)
    };
    create(store, game).await;
}

/// The names of all games that pass, read in pages of `limit`.
async fn names(
    store: &dyn Store,
    platform: &str,
    filter: &ListFilter,
    limit: usize,
) -> Vec<String> {
    let (mut names, mut after) = (Vec::new(), None);
    loop {
        let page = store
            .list(platform, filter, after, limit)
            .await
            .expect("the store reads");
        assert!(page.games.len() <= limit.max(1));
        for row in page.games {
            assert_eq!(row.key.platform, platform);
            assert_eq!(store.game(&row.key).await, Ok(Some(row.clone())));
            names.push(row.key.game);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return names,
        }
    }
}

pub(crate) async fn counts_games_in_a_state(store: &dyn Store) {
    // A state that no other case has.
    const STATE: i32 = 77;
    let count = async || store.count(STATE).await.expect("the store reads");
    assert_eq!(count().await, 0);
    let platforms = [platform("count-a"), platform("count-b")];
    for platform in &platforms {
        for name in ["a", "b"] {
            let game = NewGame {
                state: STATE,
                ..new_game(platform, name)
            };
            create(store, game).await;
        }
        create_at(store, platform, "c", 1, &[]).await;
    }
    assert_eq!(count().await, 4);
}

pub(crate) async fn lists_newest_first(store: &dyn Store) {
    let platform = platform("list");
    let all = ListFilter::default();
    assert_eq!(names(store, &platform, &all, 10).await, [""; 0]);
    // By the time of creation, not by the order of creation; the later created of two first.
    for (name, time) in [("b", 20), ("a", 10), ("d", 30), ("c", 20), ("e", -40)] {
        create_at(store, &platform, name, time, &[]).await;
    }
    assert_eq!(
        names(store, &platform, &all, 10).await,
        ["d", "c", "b", "a", "e"]
    );
    assert_eq!(names(store, "nobody", &all, 10).await, [""; 0]);
}

pub(crate) async fn lists_by_filter(store: &dyn Store) {
    let platform = platform("filter");
    create_at(store, &platform, "a", 10, &["round=1", "tournament=x"]).await;
    create_at(store, &platform, "b", 20, &["round=2", "tournament=x"]).await;
    create_at(store, &platform, "c", 30, &["round=1", "tournament=y"]).await;
    create_at(store, &platform, "d", 40, &[]).await;
    // Games b and d end with state 2, c with state 3.
    for (name, state) in [("b", 2), ("c", 3), ("d", 2)] {
        let write = Write::Entry {
            bytes: Vec::new(),
            private: None,
            describes: None,
            state,
            update_time_us: 99,
            deadline_us: None,
            asks: false,
        };
        let append = writing(&GameKey::new(&platform, name), 0, "end", write);
        store_one(store, append).await;
    }
    let filter = |states: &[i32], labels: &[&str], min: Option<i64>, max: Option<i64>| ListFilter {
        states: states.to_vec(),
        labels: labels
            .iter()
            .map(|label| label.split_once('=').expect("key=value"))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        min_create_time_us: min,
        max_create_time_us: max,
    };
    for (filter, expected) in [
        (filter(&[], &[], None, None), "d c b a"),
        (filter(&[1], &[], None, None), "a"),
        (filter(&[2], &[], None, None), "d b"),
        (filter(&[2, 1, 2], &[], None, None), "d b a"),
        (filter(&[3, 1], &[], None, None), "c a"),
        (filter(&[4], &[], None, None), ""),
        (filter(&[], &["round=1"], None, None), "c a"),
        (filter(&[], &["round=1", "tournament=x"], None, None), "a"),
        (filter(&[], &["tournament=x", "round=2"], None, None), "b"),
        (filter(&[], &["round=1", "round=2"], None, None), ""),
        (filter(&[], &["round="], None, None), ""),
        (filter(&[1, 3], &["round=1"], None, None), "c a"),
        (filter(&[3], &["round=1"], None, None), "c"),
        (filter(&[], &[], Some(20), None), "d c b"),
        (filter(&[], &[], None, Some(20)), "b a"),
        (filter(&[], &[], Some(20), Some(30)), "c b"),
        (filter(&[], &[], Some(31), Some(30)), ""),
        (filter(&[2], &[], Some(20), Some(39)), "b"),
        (filter(&[], &["round=1"], Some(11), None), "c"),
        (filter(&[], &["round=1"], None, Some(29)), "a"),
    ] {
        for limit in [1, 2, 3, 100] {
            let listed = names(store, &platform, &filter, limit).await.join(" ");
            assert_eq!(listed, expected, "{filter:?} in pages of {limit}");
        }
    }
}

pub(crate) async fn lists_page_by_page(store: &dyn Store) {
    let platform = platform("list-pages");
    for n in 0..30 {
        create_at(store, &platform, &format!("g{n:02}"), n / 4, &["all=yes"]).await;
    }
    let expected: Vec<String> = (0..30).rev().map(|n| format!("g{n:02}")).collect();
    let labeled = ListFilter {
        labels: vec![("all".into(), "yes".into())],
        ..ListFilter::default()
    };
    let in_state = ListFilter {
        states: vec![1, 5],
        ..ListFilter::default()
    };
    for filter in [ListFilter::default(), labeled, in_state] {
        for limit in [0, 1, 7, 29, 30, 31, 5_000] {
            let listed = names(store, &platform, &filter, limit).await;
            assert_eq!(listed, expected, "{filter:?} in pages of {limit}");
        }
        // A full last page says that it is the last.
        let page = store
            .list(&platform, &filter, None, 30)
            .await
            .expect("the store reads");
        assert_eq!((page.games.len(), page.next), (30, None));
        // Games that come while somebody reads are newer than the cursor.
        let page = store
            .list(&platform, &filter, None, 3)
            .await
            .expect("the store reads");
        let cursor = page.next.expect("there is more");
        assert_eq!(cursor.create_time_us, 6);
        // Any cursor is a question, even one that no page gave.
        for (create_time_us, id) in [(i64::MAX, i64::MAX), (i64::MIN, i64::MIN), (0, -1)] {
            let cursor = ListCursor { create_time_us, id };
            let page = store.list(&platform, &filter, Some(cursor), 50).await;
            let expected = if create_time_us == i64::MAX { 30 } else { 0 };
            assert_eq!(page.expect("the store reads").games.len(), expected);
        }
    }
}

pub(crate) async fn lists_a_rare_label_in_short_pages(store: &dyn Store) {
    let platform = platform("rare");
    let count = limits::LIST_EXAMINED_MAX + 50;
    let numbers: Vec<usize> = (0..count).collect();
    for numbers in numbers.chunks(500) {
        let games = numbers.iter().map(|n| {
            let mut labels = vec![("common".to_owned(), "1".to_owned())];
            if *n == 3 {
                labels.push(("rare".into(), "1".into()));
            }
            let create_time_us = *n as i64;
            let name = n.to_string();
            store.create(NewGame {
                create_time_us,
                labels,
                ..new_game(&platform, &name)
            })
        });
        for answer in at_once(games.collect()).await {
            assert!(answer.is_ok(), "{answer:?}");
        }
    }
    let filter = ListFilter {
        labels: vec![("common".into(), "1".into()), ("rare".into(), "1".into())],
        ..ListFilter::default()
    };
    let page = store
        .list(&platform, &filter, None, 10)
        .await
        .expect("the store reads");
    assert_eq!(page.games, []);
    let cursor = page.next.expect("games are left to examine");
    assert_eq!(cursor.create_time_us, 50);
    assert_eq!(names(store, &platform, &filter, 10).await, ["3"]);
}
