//! Compares what can be read from the store with what the model says.

use std::sync::Arc;

use referee_store::{
    Deadlines, DownSpan, GameHead, GameRow, Games, ListFilter, Liveness, Log, LogCursor,
    RequestKey, SqliteStore, Upkeep, VerifyCursor, chain,
};

use crate::history::PLATFORMS;
use crate::reference::Model;

/// The row as the model gives it, which knows no positions.
pub(crate) fn strip(mut row: GameRow) -> GameRow {
    if let Some(last) = &mut row.last_entry {
        assert!(last.position > 0, "{last:?}");
        last.position = 0;
    }
    row
}

/// Compares everything that can be read.
pub(crate) async fn compare(store: &SqliteStore, model: &Model) {
    for (key, game) in &model.games {
        let row = store.game(key).await.expect("the store reads");
        assert_eq!(row.map(strip).as_ref(), Some(&game.row));
        let head = GameHead {
            sequence: game.row.sequence,
            chain: game.row.chain_head,
            state: game.row.state,
        };
        assert_eq!(store.head(key).await, Ok(Some(head)));
        let entries = store.entries(key, 0, 1_000).await.expect("the store reads");
        let head = chain::verify(key, &game.row.genesis, &entries).expect("the chain holds");
        assert_eq!(
            (entries.len() as i64, head),
            (game.row.sequence, game.row.chain_head)
        );
        let middle = game.row.sequence / 2;
        let rest = store
            .entries(key, middle, 3)
            .await
            .expect("the store reads");
        let end = entries.len().min(middle as usize + 3);
        assert_eq!(rest, entries[middle as usize..end]);
        for (scope, request) in (0..2).flat_map(|scope| (0..20).map(move |it| (scope, it))) {
            let request = RequestKey::new(scope, format!("r{request}"));
            let answer = store.answer(key, &request).await.expect("the store reads");
            assert_eq!(
                answer.as_ref(),
                game.answers.get(&request),
                "{request:?} of {key:?}"
            );
        }
    }
    for (key, tombstone) in &model.tombstones {
        assert_eq!(store.tombstone(key).await, Ok(Some(*tombstone)));
        assert_eq!(store.game(key).await, Ok(None));
        assert_eq!(store.head(key).await, Ok(None));
        assert_eq!(store.entries(key, 0, 10).await, Ok(Vec::new()));
    }
    verify(store).await;
    compare_logs(store, model).await;
    for platform in PLATFORMS {
        compare_lists(store, model, platform).await;
    }
}

/// A store that nobody damaged is sound: its deadlines among all else.
async fn verify(store: &SqliteStore) {
    let mut from = VerifyCursor::games();
    loop {
        let page = store.verify(&from, Arc::default()).await;
        let page = page.expect("the store reads");
        assert_eq!(page.findings, []);
        match page.next {
            Some(next) => from = next,
            None => return,
        }
    }
}

/// The log has the entries of each game in their order, each once, in both ways to read it.
async fn compare_logs(store: &SqliteStore, model: &Model) {
    let (mut changed, mut after) = (Vec::new(), LogCursor::start());
    loop {
        let page = store.changes(&after, 5).await.expect("the store reads");
        changed.extend(page.changes.into_iter().map(|it| (it.key, it.sequence)));
        if page.next == after {
            break;
        }
        after = page.next;
    }
    assert_eq!(store.newest().await, Ok(after));
    for platform in PLATFORMS {
        let (mut log, mut after) = (Vec::new(), LogCursor::start());
        loop {
            let page = store.tail(platform, &[], &after, 5).await;
            let page = page.expect("the store reads");
            for it in page.entries {
                if let Some(tombstone) = it.deleted {
                    assert_eq!(model.tombstones.get(&it.key), Some(&tombstone));
                    log.push((it.key, it.entry));
                    continue;
                }
                let game = &model.games[&it.key];
                let last = game.row.last_entry.as_ref();
                if let Some(last) = last.filter(|last| last.sequence == it.entry.sequence) {
                    assert_eq!(it.entry.private, last.private);
                }
                assert_eq!(it.labels, model.games[&it.key].row.labels, "{:?}", it.key);
                log.push((it.key, it.entry));
            }
            if page.next == after {
                break;
            }
            after = page.next;
        }
        assert!(log.is_sorted_by(|(_, one), (_, next)| one.position < next.position));
        let log: Vec<_> = log
            .into_iter()
            .map(|(key, it)| {
                let is_deleted = model.tombstones.contains_key(&key);
                (key, (!is_deleted).then_some(it.sequence))
            })
            .collect();
        let of_platform = changed.iter().filter(|(key, _)| key.platform == platform);
        let entries = log.iter().filter(|(_, sequence)| *sequence != Some(0));
        assert!(entries.eq(of_platform));
        for (key, game) in model
            .games
            .iter()
            .filter(|(key, _)| key.platform == platform)
        {
            let of_game: Vec<i64> = log
                .iter()
                .filter(|it| it.0 == *key)
                .filter_map(|it| it.1)
                .collect();
            // Each begins with its creation.
            assert_eq!(of_game, (0..=game.row.sequence).collect::<Vec<_>>());
        }
    }
}

/// No game is named later than at its deadline, and none that has no deadline.
///
/// The claims of this check hold nothing, so that the history goes on as if they were not.
pub(crate) async fn compare_times(store: &SqliteStore, model: &mut Model) {
    for until in [-1, 0, 5, 12, 40] {
        let due = store.claim_due(i64::MIN, until, 0, 100).await;
        let due = due.expect("the store writes");
        model.claim_due(&due, i64::MIN, until, 100, 0);
    }
    assert_eq!(store.last_beat().await, Ok(model.last_beat()));
    for after in [-1, 0, 10, 30] {
        let spans = model.down_spans.iter().filter(|span| span.to_us > after);
        let spans: Vec<DownSpan> = spans.copied().collect();
        assert_eq!(store.down_spans(after, 100).await, Ok(spans.clone()));
        let first = spans[..spans.len().min(1)].to_vec();
        assert_eq!(store.down_spans(after, 1).await, Ok(first));
    }
}

async fn compare_lists(store: &SqliteStore, model: &Model, platform: &str) {
    let label = |value: &str| vec![("label".to_owned(), value.to_owned())];
    for filter in [
        ListFilter::default(),
        ListFilter {
            states: vec![0, 2],
            ..ListFilter::default()
        },
        ListFilter {
            labels: label("1"),
            ..ListFilter::default()
        },
        ListFilter {
            labels: label("0"),
            states: vec![1],
            ..ListFilter::default()
        },
        ListFilter {
            min_create_time_us: Some(1),
            max_create_time_us: Some(1),
            ..ListFilter::default()
        },
    ] {
        let (mut games, mut after) = (Vec::new(), None);
        loop {
            let page = store
                .list(platform, &filter, after, 2)
                .await
                .expect("the store reads");
            games.extend(page.games.into_iter().map(strip));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(games, model.list(platform, &filter), "{filter:?}");
    }
}
