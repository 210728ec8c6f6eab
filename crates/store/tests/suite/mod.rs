//! What every engine must do, written against the trait.
//!
//! Each case works in platforms of its own, so that one store can serve all cases at once; only
//! signs of life belong to the whole store.
//! `store_tests!(open)` makes a test of each case; `open` gives a store and what keeps it alive.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use referee_store::{
    Append, AppendError, Appended, BoxFuture, Created, GameKey, GameRow, NewGame, Store,
    StoredEntry, Write, chain, limits,
};

mod create;
mod entries;
mod limit;
mod list;
mod refusals;
mod tail;
mod times;

pub(crate) use create::*;
pub(crate) use entries::*;
pub(crate) use limit::*;
pub(crate) use list::*;
pub(crate) use refusals::*;
pub(crate) use tail::*;
pub(crate) use times::*;

/// Makes one test of each case of the suite.
macro_rules! store_tests {
    ($open:path: $($case:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let (store, _kept) = $open();
                suite::$case(&store).await;
            }
        )*
    };
    ($open:path) => {
        store_tests! { $open:
            creates_a_game
            creates_once_for_each_request
            creates_once_within_a_batch
            creates_within_a_platform
            appends_in_sequence
            appends_within_one_batch
            repeats_the_answer_of_an_entry
            refuses_a_stale_sequence
            knows_no_unknown_game
            one_writer_wins_each_sequence
            a_failed_write_spoils_no_other
            a_caller_may_stop_waiting
            reads_entries_page_by_page
            keeps_refusals
            repeats_the_answer_of_a_refusal
            tells_a_reused_request_id
            bounds_refusals
            bounds_entries
            names_the_field_that_is_out_of_bounds
            takes_what_is_within_bounds
            lists_newest_first
            lists_by_filter
            lists_page_by_page
            lists_a_rare_label_in_short_pages
            tails_in_the_order_of_commits
            tails_within_a_platform
            tells_of_new_positions
            names_games_that_are_due
            postpones_a_deadline
            bounds_the_games_that_are_due
            keeps_signs_of_life
        }
    };
}
pub(crate) use store_tests;

/// A platform that no other case uses, in this process or another.
fn platform(case: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{case}-{}-{count}", std::process::id())
}

/// A plain game.
pub(crate) fn new_game(platform: &str, game: &str) -> NewGame {
    NewGame {
        key: GameKey::new(platform, game),
        request_id: format!("create {game}"),
        content_hash: hash(1),
        genesis: format!("genesis of {game}").into_bytes(),
        state: 1,
        labels: Vec::new(),
        create_time_us: 1_000,
        deadline_us: None,
    }
}

/// A plain entry after `expected_sequence`, whose request id tells of the sequence.
pub(crate) fn entry(key: &GameKey, expected_sequence: i64) -> Append {
    Append {
        key: key.clone(),
        expected_sequence,
        request_id: format!("entry {}", expected_sequence + 1),
        content_hash: hash(2),
        write: Write::Entry {
            bytes: format!("entry {} of {}", expected_sequence + 1, key.game).into_bytes(),
            state: 1,
            update_time_us: 2_000 + expected_sequence,
            deadline_us: None,
        },
    }
}

/// A plain refusal at `expected_sequence`.
pub(crate) fn refusal(key: &GameKey, expected_sequence: i64, request_id: &str) -> Append {
    Append {
        key: key.clone(),
        expected_sequence,
        request_id: request_id.to_owned(),
        content_hash: hash(3),
        write: Write::Refusal {
            answer: format!("no to {request_id}").into_bytes(),
        },
    }
}

pub(crate) fn hash(byte: u8) -> [u8; 32] {
    [byte; 32]
}

/// Creates a game that must be new.
pub(crate) async fn create(store: &dyn Store, game: NewGame) -> GameRow {
    match store.create(game).await {
        Ok(Created::New(row)) => row,
        other => panic!("a new game was expected: {other:?}"),
    }
}

/// Appends a write that must be stored, and returns its sequence, position and link.
pub(crate) async fn store_one(store: &dyn Store, append: Append) -> (i64, i64, [u8; 32]) {
    match store.append(append).await {
        Ok(Appended::Stored {
            sequence,
            position,
            chain,
        }) => (sequence, position, chain),
        other => panic!("a stored write was expected: {other:?}"),
    }
}

/// The game, which must exist.
pub(crate) async fn game(store: &dyn Store, key: &GameKey) -> GameRow {
    store
        .game(key)
        .await
        .expect("the store reads")
        .expect("the game exists")
}

/// All entries of a game, page by page.
pub(crate) async fn all_entries(store: &dyn Store, key: &GameKey) -> Vec<StoredEntry> {
    let mut entries: Vec<StoredEntry> = Vec::new();
    loop {
        let after = entries.last().map_or(0, |last| last.sequence);
        let page = store
            .entries(key, after, limits::PAGE_ROWS_MAX)
            .await
            .expect("the store reads");
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
    }
}

/// Checks that a game's entries count from 1 without gaps, that their chain holds, and that the
/// game stands at the last of them.
pub(crate) async fn check_record(store: &dyn Store, key: &GameKey) -> Vec<StoredEntry> {
    let row = game(store, key).await;
    let mut entries = all_entries(store, key).await;
    // Entries may have come between the two questions.
    assert!(
        entries.len() as i64 >= row.sequence,
        "{} entries, {row:?}",
        entries.len()
    );
    chain::verify(key, &row.genesis, &entries).expect("the whole chain holds");
    entries.truncate(row.sequence as usize);
    let head = chain::verify(key, &row.genesis, &entries).expect("the chain holds");
    assert_eq!(head, row.chain_head, "{row:?}");
    assert!(entries.is_sorted_by(|one, next| one.position < next.position));
    entries
}

/// Starts all writes in their order before it waits for any, so that they share batches.
pub(crate) async fn at_once<T>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *result = Some(value),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    results.into_iter().flatten().collect()
}

/// The writes as futures for [`at_once`].
pub(crate) fn appends(
    store: &dyn Store,
    writes: impl IntoIterator<Item = Append>,
) -> Vec<BoxFuture<'_, Result<Appended, AppendError>>> {
    writes
        .into_iter()
        .map(|write| store.append(write))
        .collect()
}
