//! The thread that hands tasks to the threads that count, one after the other.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use referee_api::worker::v1::{CountedPart, TaskResult};
use referee_chess::CastlingMode;
use referee_perft::{Counter, Folding, KEY_LENGTH, Means, Table, Task};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::hand::{Counted, Course, Hand, Held, is_expanded};
use crate::limits::FAULT_PAUSE;

/// The hand, and who is told when it changes.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    hand: Mutex<Hand>,
    /// Wakes the thread that counts.
    work: Condvar,
    /// Told when there may be room for more tasks.
    pub(crate) room: Notify,
    /// Told when there may be something to report.
    pub(crate) results: Notify,
}

impl Shared {
    /// Returns the hand, for a moment: nobody waits while holding it.
    pub(crate) fn hand(&self) -> MutexGuard<'_, Hand> {
        // Every change is whole before anything can panic.
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all who wait for a change.
    pub(crate) fn note(&self) {
        self.work.notify_all();
        self.room.notify_one();
        self.results.notify_one();
    }
}

/// What counts.
pub(crate) struct Engine {
    pub(crate) counter: Counter,
    pub(crate) table: Option<Table>,
}

/// Counts what is in the hand until it stops.
pub(crate) fn run(engine: &Engine, shared: &Arc<Shared>) {
    while let Some((held, course)) = next(shared) {
        shared.room.notify_one();
        let (counted, is_fault) = match count(engine, &held, &course) {
            Ok(counted) => (counted, false),
            Err(error) => {
                let lease = held.task.lease;
                tracing::error!(?lease, error, "a task cannot be counted, and is given back");
                (nothing(&held), true)
            }
        };
        if is_fault {
            // It is leased again at once, perhaps to this worker.
            pause(shared);
        }
        shared.hand().end(counted);
        shared.note();
    }
}

/// Waits a moment, unless the work ends.
fn pause(shared: &Shared) {
    let until = Instant::now() + FAULT_PAUSE;
    let mut hand = shared.hand();
    while !hand.is_stopping {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let waited = shared.work.wait_timeout(hand, left);
        hand = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Waits for the next task; `None` where there are no more.
fn next(shared: &Shared) -> Option<(Held, Arc<Course>)> {
    let mut hand = shared.hand();
    loop {
        if hand.is_stopping {
            return None;
        }
        if let Some(begun) = hand.begin(Instant::now()) {
            return Some(begun);
        }
        hand = shared
            .work
            .wait(hand)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// What is reported of a task of which nothing was counted.
fn nothing(held: &Held) -> Counted {
    Counted {
        result: TaskResult {
            lease: held.task.lease,
            ..TaskResult::default()
        },
        nodes: 0.0,
        elapsed: Duration::ZERO,
    }
}

/// Counts a task, or as much of it as there is time for.
fn count(engine: &Engine, held: &Held, course: &Course) -> Result<Counted, String> {
    let begin = Instant::now();
    let (keys, rest) = held.task.keys.as_chunks::<KEY_LENGTH>();
    if !rest.is_empty() {
        return Err(format!(
            "its keys end in the middle of one, after {}",
            keys.len()
        ));
    }
    let mode = match held.task.chess960 {
        true => CastlingMode::Chess960,
        false => CastlingMode::Standard,
    };
    let task = Task::from_keys(held.task.rest, mode, keys).map_err(|error| error.to_string())?;
    let table = engine.table.as_ref();
    let means = Means {
        table: table.filter(|_| !held.task.without_table),
        cancelled: Some(&course.stop),
        ..Means::default()
    };
    let watch = |share: f64| {
        course
            .share
            .store((share * 1_000.0) as u32, Ordering::Relaxed);
    };
    let children = is_expanded(&held.task).then(|| task.children()).flatten();
    let subject = children.as_ref().unwrap_or(&task);
    let counted = engine.counter.count(subject, means, Some(&watch));
    let counted = counted.map_err(|error| error.to_string())?;
    let elapsed = begin.elapsed();
    let whole = match &children {
        Some(children) => fold(&task, children, &counted)?,
        None => None,
    };
    let parts = match &whole {
        Some(counts) => vec![(0, counts.clone())],
        None => counted.parts(),
    };
    let nodes = parts.iter().flat_map(|(_, counts)| counts);
    let nodes: f64 = nodes.map(|&n| n as f64).sum();
    let parts = parts.into_iter();
    let parts: Vec<CountedPart> = parts
        .map(|(first, counts)| write_part(first, &counts))
        .collect();
    let threads = u32::try_from(engine.counter.threads()).unwrap_or(u32::MAX);
    Ok(Counted {
        result: TaskResult {
            lease: held.task.lease,
            parts,
            probes: counted.table.probes,
            children: children.is_some() && whole.is_none(),
            thread_time: prost_types::Duration::try_from(elapsed.saturating_mul(threads)).ok(),
        },
        nodes,
        elapsed,
    })
}

/// Returns the counts of the positions of a task by those of their children; `None` where these are
/// not all there.
fn fold(
    task: &Task,
    children: &Task,
    counted: &referee_perft::Counted,
) -> Result<Option<Vec<u128>>, String> {
    let counts: Option<Vec<u128>> = counted.counts.iter().copied().collect();
    let (Some(counts), Some(mut folding)) = (counts, Folding::new(task)) else {
        return Ok(None);
    };
    let folded = folding.add(children, &counts);
    let folded = folded.and_then(|()| folding.finish());
    folded.map(Some).map_err(|error| error.to_string())
}

/// Writes counts of positions that follow each other.
fn write_part(first: usize, counts: &[u128]) -> CountedPart {
    let high: Vec<u64> = counts.iter().map(|count| (count >> 64) as u64).collect();
    let is_narrow = high.iter().all(|&half| half == 0);
    CountedPart {
        first: u32::try_from(first).unwrap_or(u32::MAX),
        counts: counts.iter().map(|&count| count as u64).collect(),
        counts_high: if is_narrow { Vec::new() } else { high },
    }
}

#[cfg(test)]
mod tests {
    use referee_chess::Position;
    use referee_perft::key_to_bytes;

    use super::*;

    fn engine() -> Engine {
        Engine {
            counter: Counter::new(2).expect("threads can be started"),
            table: None,
        }
    }

    fn held(keys: Vec<u8>, rest: u32) -> Held {
        Held {
            session: Vec::new(),
            task: referee_api::worker::v1::Task {
                keys: keys.into(),
                rest,
                ..Default::default()
            },
        }
    }

    #[test]
    fn a_task_is_counted_and_a_stop_leaves_nothing_false() {
        let keys = key_to_bytes(Position::startpos().exact_key()).repeat(2);
        let course = Course::default();
        let counted = count(&engine(), &held(keys.clone(), 5), &course).expect("it is sound");
        let [part] = &counted.result.parts[..] else {
            panic!("{counted:?}");
        };
        assert_eq!((part.first, &part.counts[..]), (0, &[4_865_609; 2][..]));
        assert!(part.counts_high.is_empty());
        assert_eq!(course.share.load(Ordering::Relaxed), 1_000);
        let stopped = Course::default();
        stopped.stop.store(true, Ordering::Relaxed);
        let counted = count(&engine(), &held(keys, 9), &stopped).expect("it ends");
        assert!(counted.result.parts.is_empty());
    }

    #[test]
    fn a_heavy_position_is_stopped_between_its_children() {
        let keys = key_to_bytes(Position::startpos().exact_key()).to_vec();
        let course = Course::default();
        let counted = count(&engine(), &held(keys.clone(), 6), &course).expect("it is sound");
        assert!(!counted.result.children, "it is whole");
        assert_eq!(counted.result.parts[0].counts, [119_060_324]);
        // Stopped when some are done.
        let course = Course::default();
        let counted = std::thread::scope(|scope| {
            scope.spawn(|| {
                while course.share.load(Ordering::Relaxed) < 200 {
                    std::thread::yield_now();
                }
                course.stop.store(true, Ordering::Relaxed);
            });
            count(&engine(), &held(keys, 7), &course).expect("it ends")
        });
        assert!(counted.result.children);
        let starting = CastlingMode::Standard;
        let root = [key_to_bytes(Position::startpos().exact_key())];
        let task = Task::from_keys(7, starting, &root).expect("a position");
        let children = task.children().expect("plies are left");
        let done: usize = counted.result.parts.iter().map(|it| it.counts.len()).sum();
        assert!((1..children.len()).contains(&done), "{done} of 20");
        for part in &counted.result.parts {
            let first = part.first as usize;
            let again = children.part(first..first + 1);
            let again = engine().counter.count(&again, Means::default(), None);
            let again = again.expect("counted").counts;
            assert_eq!(again, [Some(u128::from(part.counts[0]))]);
        }
    }

    #[test]
    fn what_is_no_task_is_told() {
        let refused = count(&engine(), &held(vec![0; 31], 4), &Course::default());
        assert!(refused.is_err_and(|text| text.contains("middle")));
        let refused = count(&engine(), &held(vec![7; 32], 4), &Course::default());
        assert!(refused.is_err_and(|text| text.contains("position 0")));
    }

    #[test]
    fn wide_counts_go_in_two_halves() {
        let part = write_part(3, &[5, (7 << 64) + 9]);
        assert_eq!(
            (part.first, part.counts, part.counts_high),
            (3, vec![5, 9], vec![0, 7])
        );
    }
}
