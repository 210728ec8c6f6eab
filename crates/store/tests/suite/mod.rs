//! What every engine must do, written against the trait.
//!
//! Each case works in platforms of its own, so that one store can serve all cases at once; only
//! signs of life belong to the whole store.
//! `store_tests!(open)` makes a test of each case; `open` gives a store and what keeps it alive.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use referee_store::{
    Append, AppendError, Appended, Created, GameKey, GameRow, NewGame, RequestKey, Store,
    StoredEntry, Write, chain, limits,
};

mod create;
mod deadlines;
mod entries;
mod limit;
mod list;
mod liveness;
mod log;
mod order;
mod questions;
mod refusals;
mod tokens;
mod work;

pub(crate) use create::*;
pub(crate) use deadlines::*;
pub(crate) use entries::*;
pub(crate) use limit::*;
pub(crate) use list::*;
pub(crate) use liveness::*;
pub(crate) use log::*;
pub(crate) use order::*;
pub(crate) use questions::*;
pub(crate) use refusals::*;
pub(crate) use tokens::*;
pub(crate) use work::*;

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
            refuses_another_past
            knows_no_unknown_game
            one_writer_wins_each_sequence
            a_failed_write_spoils_no_other
            a_caller_may_stop_waiting
            reads_entries_page_by_page
            answers_within_a_scope
            queues_a_write_when_it_is_called
            writes_in_the_order_of_the_calls
            writes_a_game_once_in_a_batch
            counts_what_it_does
            keeps_refusals
            repeats_the_answer_of_a_refusal
            tells_a_reused_request_id
            names_the_field_of_a_game_that_is_out_of_bounds
            names_the_field_of_a_write_that_is_out_of_bounds
            takes_what_is_within_bounds
            counts_games_in_a_state
            lists_newest_first
            lists_by_filter
            lists_page_by_page
            lists_a_rare_label_in_short_pages
            tails_in_the_order_of_commits
            tails_within_a_platform
            tails_a_quiet_platform
            tails_the_games_with_labels
            tells_what_changed
            tells_that_the_log_moved
            takes_no_cursor_of_another_store
            claims_games_that_are_due
            holds_what_is_claimed
            an_entry_ends_a_claim
            postpones_a_deadline
            bounds_the_games_that_are_due
            keeps_signs_of_life
            finds_the_time_before_the_first_beat
            a_replica_beside_a_live_one_finds_nothing
            finds_what_no_replica_lived_through
            a_clock_that_ran_ahead_is_set_back
            asks_until_it_is_settled
            holds_questions_that_are_claimed
            asks_again_at_once
            bounds_the_questions
            creates_a_job_once_for_each_request
            bounds_the_jobs_of_a_platform
            lists_jobs_newest_first
            one_process_plans_a_job
            a_job_without_tasks_is_counted
            leases_each_task_once
            takes_each_count_once
            a_late_count_is_kept_to_be_compared
            a_count_of_a_lost_lease_is_taken_while_nobody_has_it
            an_expiry_takes_back_nothing_that_was_leased_since
            a_part_splits_its_task
            a_task_can_be_given_back
            a_report_that_cannot_be_right_opens_its_task
            a_dispute_ends_a_job
            a_cancelled_job_is_dropped
            shares_workers_among_jobs
            takes_a_census_of_all_platforms
            children_replace_their_task_until_they_are_counted
            a_part_of_a_child_stays_with_its_parent
            knows_no_unknown_job
            keeps_tokens_as_they_were_issued
            revokes_tokens_within_a_platform
            lists_tokens_page_by_page
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
        private: None,
        state: 1,
        labels: Vec::new(),
        create_time_us: 1_000,
        deadline_us: None,
    }
}

thread_local! {
    /// The links of games as far as this test has made them: of the genesis, then of each entry.
    static LINKS: RefCell<HashMap<GameKey, Vec<[u8; 32]>>> = RefCell::default();
}

/// The link that `append` is judged on, and is followed by when it writes `write`.
fn link(key: &GameKey, expected_sequence: i64, write: &Write) -> [u8; 32] {
    LINKS.with_borrow_mut(|links| {
        let links = links.get_mut(key);
        let known = links.zip(usize::try_from(expected_sequence).ok());
        let Some((links, index)) = known.filter(|(links, index)| *index < links.len()) else {
            // Where no test has been, nothing is expected.
            return [0; 32];
        };
        let previous = links[index];
        if let Write::Entry { bytes, .. } = write {
            let next = chain::next(&previous, bytes);
            if links.get(index + 1) != Some(&next) {
                links.truncate(index + 1);
                links.push(next);
            }
        }
        previous
    })
}

/// A write after `expected_sequence`. Of several entries that are made for one place the last
/// counts for those after it.
pub(crate) fn writing(key: &GameKey, expected_sequence: i64, id: &str, write: Write) -> Append {
    Append {
        key: key.clone(),
        expected_sequence,
        previous: link(key, expected_sequence, &write),
        request: RequestKey::new(1, id),
        content_hash: hash(2),
        write,
    }
}

/// What a plain entry with these bytes writes.
pub(crate) fn bytes(bytes: impl Into<Vec<u8>>) -> Write {
    Write::Entry {
        bytes: bytes.into(),
        private: None,
        describes: None,
        state: 1,
        update_time_us: 0,
        deadline_us: None,
        asks: false,
    }
}

/// A plain entry after `expected_sequence`, whose request id tells of the sequence.
pub(crate) fn entry(key: &GameKey, expected_sequence: i64) -> Append {
    let sequence = expected_sequence.saturating_add(1);
    let write = Write::Entry {
        bytes: format!("entry {sequence} of {}", key.game).into_bytes(),
        private: None,
        describes: None,
        state: 1,
        update_time_us: 2_000_i64.saturating_add(expected_sequence),
        deadline_us: None,
        asks: false,
    };
    writing(key, expected_sequence, &format!("entry {sequence}"), write)
}

/// A plain refusal at `expected_sequence`.
pub(crate) fn refusal(key: &GameKey, expected_sequence: i64, id: &str) -> Append {
    let answer = format!("no to {id}").into_bytes();
    Append {
        content_hash: hash(3),
        ..writing(key, expected_sequence, id, Write::Refusal { answer })
    }
}

/// The key of the request that [`writing`] makes.
pub(crate) fn request(id: &str) -> RequestKey {
    RequestKey::new(1, id)
}

pub(crate) fn hash(byte: u8) -> [u8; 32] {
    [byte; 32]
}

/// Creates a game that must be new.
pub(crate) async fn create(store: &dyn Store, game: NewGame) -> GameRow {
    match store.create(game).await {
        Ok(Created::New(row)) => {
            note(&row.key, row.chain_head);
            row
        }
        other => panic!("a new game was expected: {other:?}"),
    }
}

/// Lets tests write to a game whose genesis has this link.
pub(crate) fn note(key: &GameKey, genesis: [u8; 32]) {
    LINKS.with_borrow_mut(|links| links.insert(key.clone(), vec![genesis]));
}

/// The error of a write to a game that stands at this sequence.
pub(crate) async fn moved(store: &dyn Store, key: &GameKey, actual: i64) -> AppendError {
    let chain = game(store, key).await.chain_head;
    AppendError::Moved { actual, chain }
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
    assert_eq!(row.last_entry.as_ref(), entries.last(), "{row:?}");
    assert!(entries.is_sorted_by(|one, next| one.position < next.position));
    entries
}

/// A future in a box, of a write or of anything else.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Waits for all at the same time.
pub(crate) async fn at_once<T>(mut futures: Vec<Boxed<'_, T>>) -> Vec<T> {
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

/// Queues all writes in their order, and returns what waits for them.
pub(crate) fn appends(
    store: &dyn Store,
    writes: impl IntoIterator<Item = Append>,
) -> Vec<Boxed<'static, Result<Appended, AppendError>>> {
    writes
        .into_iter()
        .map(|write| store.append(write))
        .collect()
}
