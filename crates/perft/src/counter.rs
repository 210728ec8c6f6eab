//! Counts tasks on threads that live as long as the process.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::PlanError;
use crate::fast::{Context, Count, Means};
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_CHILDREN_MAX, BATCH_REST_MIN, HASH_DEPTH_MIN, THREADS_MAX,
};
use crate::records::{Positions, RecordReader, Share};
use crate::refine::{Cut, Refinement};
use crate::spill::{MemorySpill, SpillRun as _};
use crate::table::TableUse;
use crate::tally::{Sums, stretches};
use crate::task::Task;

/// A thread takes so many positions at a time at most, and at least so many times in all.
const TAKEN_MAX: usize = 64;
const TAKES_MIN: usize = 32;

/// Threads that count, for the life of a process.
///
/// ```
/// use referee_chess::{CastlingMode, Position};
/// use referee_perft::{Counter, Means, Task, key_to_bytes};
///
/// let counter = Counter::new(2)?;
/// let key = key_to_bytes(Position::startpos().exact_key());
/// let task = Task::from_keys(5, CastlingMode::Standard, &[key])?;
/// let counted = counter.count(&task, Means::default(), None)?;
/// assert_eq!(counted.counts, [Some(4_865_609)]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Counter {
    pool: ThreadPool,
}

/// A count cannot be done.
#[derive(Debug)]
pub enum CountError {
    /// The number of threads is above [`THREADS_MAX`].
    Threads(usize),
    /// The machine does not give the threads.
    NoThreads,
    /// A position has 2 to the power of 128 paths or more.
    TooMany,
    /// The positions below those of the task cannot be merged.
    Merge(PlanError),
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(threads) => {
                write!(f, "the number of threads {threads} is above {THREADS_MAX}")
            }
            Self::NoThreads => {
                f.write_str("this machine does not start the threads: ask for fewer")
            }
            Self::TooMany => f.write_str("there are 2^128 paths or more: ask for a smaller depth"),
            Self::Merge(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CountError {}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The paths of each position; `None` where it was stopped before.
    pub counts: Vec<Option<u128>>,
    /// How many distinct positions further down were counted for that.
    pub below: usize,
    /// What was done with the hash table.
    pub table: TableUse,
}

impl Counted {
    /// Returns the parts of the task that are counted whole, by the place of the first position
    /// of each, with the counts.
    #[must_use]
    pub fn parts(&self) -> Vec<(usize, Vec<u128>)> {
        stretches(self.counts.len(), |index| self.counts[index].is_some())
            .into_iter()
            .map(|range| {
                let counts = self.counts[range.clone()].iter().flatten();
                (range.start, counts.copied().collect())
            })
            .collect()
    }
}

/// Told how much of a task is done, from 0 to 1.
pub type Watch<'a> = &'a (dyn Fn(f64) + Sync);

impl Counter {
    /// Starts so many threads; 0 for one on each core.
    ///
    /// # Errors
    ///
    /// Where the number is above [`THREADS_MAX`], or the threads cannot be started.
    pub fn new(threads: usize) -> Result<Counter, CountError> {
        if threads > THREADS_MAX {
            return Err(CountError::Threads(threads));
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|_| CountError::NoThreads)?;
        Ok(Counter { pool })
    }

    /// Returns how many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Does something in which the sorting of a plan is spread over these threads.
    pub fn install<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        self.pool.install(act)
    }

    /// Does something once on each of these threads, such as to lower its priority.
    pub fn on_each_thread(&self, act: impl Fn() + Sync) {
        self.pool.broadcast(|_| act());
    }

    /// Counts the positions of a task on all threads. `watch` is called now and then, by any
    /// thread, one call at a time.
    ///
    /// Positions are replaced by their children as long as that pays, so that a heavy one is
    /// spread over threads, and what several have below them in common is counted once. Where it
    /// is cancelled, those positions are told that were whole by then.
    ///
    /// # Errors
    ///
    /// Where a position has too many paths, or there is no memory for its children.
    pub fn count(
        &self,
        task: &Task,
        means: Means<'_>,
        watch: Option<Watch<'_>>,
    ) -> Result<Counted, CountError> {
        let means = Means {
            // The positions differ, so that the table would know none of them.
            table: means.table.filter(|_| task.rest() > HASH_DEPTH_MIN),
            ..means
        };
        let stopped = Counted {
            counts: vec![None; task.len()],
            below: 0,
            table: TableUse::default(),
        };
        let below = match self.pool.install(|| below(task, means)) {
            Ok(below) => below,
            Err(PlanError::Cancelled) => return Ok(stopped),
            Err(error) => return Err(CountError::Merge(error)),
        };
        let work = Work {
            below: &below,
            order: order(&below),
            next: AtomicUsize::new(0),
            taken: (below.len() / (self.threads() * TAKES_MIN)).clamp(1, TAKEN_MAX),
            done: Mutex::new(0),
            is_too_many: AtomicBool::new(false),
            watch,
        };
        let found = self.pool.broadcast(|_| work.run(means));
        if work.is_too_many.into_inner() {
            return Err(CountError::TooMany);
        }
        let mut counts = vec![None; below.len()];
        let mut table = TableUse::default();
        for (part, used) in found {
            for (index, count) in part {
                counts[index] = Some(count);
            }
            table += used;
        }
        let mut sums = Sums::new(task.len());
        let mut is_whole = vec![true; task.len()];
        for (index, count) in counts.into_iter().enumerate() {
            let shares = below.positions.shares(index);
            match count {
                Some(count) => sums.add(count, shares).ok_or(CountError::TooMany)?,
                None => shares
                    .iter()
                    .for_each(|share| is_whole[share.owner as usize] = false),
            }
        }
        let whole = sums.0.into_iter().zip(is_whole);
        Ok(Counted {
            counts: whole
                .map(|(sum, is_whole)| is_whole.then_some(sum))
                .collect(),
            below: below.len(),
            table,
        })
    }
}

/// Distinct positions below those of a task, which own their shares.
struct Below {
    rests: Vec<u32>,
    positions: Positions,
}

impl Below {
    fn len(&self) -> usize {
        self.positions.len()
    }
}

/// Replaces the positions of a task by their children.
fn below(task: &Task, means: Means<'_>) -> Result<Below, PlanError> {
    let spill = MemorySpill::new(BATCH_BYTES_MAX);
    let refinement = Refinement {
        cut: Cut {
            plies_min: 0,
            // A table finds as quickly as sorting what is there more than once.
            rest_min: BATCH_REST_MIN + u32::from(means.table.is_some()),
            cost_max: 0,
            children_max: BATCH_CHILDREN_MAX,
        },
        spill: &spill,
        means,
        estimates: false,
    };
    let roots = (0..).zip(task.keys()).map(|(owner, &key)| {
        let share = Share { owner, paths: 1 };
        (key, share)
    });
    let mut below = Below {
        rests: Vec::new(),
        positions: Positions::default(),
    };
    for layer in refinement.run(roots, 0, task.rest())? {
        let mut reader = RecordReader::new(layer.run.open()?);
        while reader.next()? {
            below.rests.push(layer.rest);
            below.positions.push(reader.key, 0, &reader.shares);
        }
    }
    Ok(below)
}

/// The order of counting: what the first positions of the task need comes first, so that they are
/// whole soon.
fn order(below: &Below) -> Vec<usize> {
    let mut order: Vec<usize> = (0..below.len()).collect();
    order.sort_by_key(|&index| {
        below
            .positions
            .shares(index)
            .first()
            .map(|share| share.owner)
    });
    order
}

/// What the threads share.
struct Work<'a> {
    below: &'a Below,
    order: Vec<usize>,
    next: AtomicUsize,
    taken: usize,
    done: Mutex<usize>,
    is_too_many: AtomicBool,
    watch: Option<Watch<'a>>,
}

impl Work<'_> {
    /// Counts until nothing is left, on one thread.
    fn run(&self, means: Means<'_>) -> (Vec<(usize, u128)>, TableUse) {
        let context = Context::new(means);
        let mut found = Vec::new();
        'all: loop {
            let begin = self.next.fetch_add(self.taken, Ordering::Relaxed);
            let end = (begin + self.taken).min(self.order.len());
            if begin >= end {
                break;
            }
            for &index in &self.order[begin..end] {
                let key = self.below.positions.keys[index];
                match context.count_key(key, self.below.rests[index]) {
                    Count::Done(paths) => found.push((index, paths)),
                    Count::Cancelled => break 'all,
                    Count::TooMany => {
                        self.is_too_many.store(true, Ordering::Relaxed);
                        self.next.store(self.order.len(), Ordering::Relaxed);
                        break 'all;
                    }
                }
            }
            if let Some(watch) = self.watch {
                let mut done = self
                    .done
                    .lock()
                    .unwrap_or_else(|poison| poison.into_inner());
                *done += end - begin;
                watch(*done as f64 / self.order.len() as f64);
            }
        }
        (found, context.table_use())
    }
}
