//! A count on many threads that can be watched, stopped and taken up again.

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;

use rayon::ThreadPoolBuilder;
use referee_chess::{Move, Position};

use crate::fast::{Context, Count, LastPly, Means, Processor};
use crate::frontier::Frontier;
use crate::limits::{DEPTH_MAX, THREADS_MAX, UNITS_PER_THREAD_MIN};
use crate::table::{Table, TableUse};

/// A unit is estimated by counting so many plies of it.
const ESTIMATE_DEPTH: u32 = 2;

/// A run is not cut into units of fewer plies.
const UNIT_DEPTH_MIN: u32 = 3;

/// What to count, and how.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// The number of threads; 0 for one on each core.
    pub threads: usize,
    /// The instructions to use.
    pub processor: Processor,
    /// How the last ply is counted.
    pub last_ply: LastPly,
    /// The hash table.
    pub table: Option<&'a Table>,
    /// The run stops soon after this becomes true.
    pub cancelled: Option<&'a AtomicBool>,
    /// Called after each unit, by any thread, one call at a time.
    pub watch: Option<&'a (dyn Fn(Progress) + Sync)>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// How many units are counted, and how many there are.
    pub units_done: usize,
    /// See `units_done`.
    pub units: usize,
    /// How many paths are counted so far, each unit once for each path that leads to it.
    pub nodes: u128,
    /// The share of the work that is done, from 0 to 1, by an estimate.
    pub share: f64,
}

/// A count that is done in units.
#[derive(Debug)]
pub struct Run {
    depth: u32,
    frontier: Frontier,
    /// The paths of each unit, once counted.
    counts: Vec<Option<u128>>,
    /// How large the tree of each unit is, roughly, for one path to it.
    costs: Vec<u64>,
}

/// A run cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The depth is above [`DEPTH_MAX`].
    Depth(u32),
    /// The number of threads is above [`THREADS_MAX`].
    Threads(usize),
    /// The machine does not give the threads.
    NoThreads,
    /// There are 2 to the power of 128 paths or more.
    TooMany,
    /// The checkpoint is one of another count.
    OtherRun,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(depth) => write!(f, "the depth {depth} is above {DEPTH_MAX}"),
            Self::Threads(threads) => {
                write!(f, "the number of threads {threads} is above {THREADS_MAX}")
            }
            Self::NoThreads => {
                f.write_str("this machine does not start the threads: ask for fewer")
            }
            Self::TooMany => f.write_str("there are 2^128 paths or more: ask for a smaller depth"),
            Self::OtherRun => f.write_str(
                "the checkpoint belongs to another position, depth or version: remove it to \
                 begin anew",
            ),
        }
    }
}

impl core::error::Error for RunError {}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number of paths.
    pub nodes: u128,
    /// The number of paths by first move, in the order of the moves' names.
    pub divide: Vec<(Move, u128)>,
    /// What was done with the hash table.
    pub table: TableUse,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All is counted.
    Done(Total),
    /// It was cancelled; [`Run::checkpoint`] has what is counted so far.
    Cancelled,
}

/// What is counted of a run, to go on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The depth of the whole.
    pub depth: u32,
    /// The plies from the root to the units.
    pub plies: u32,
    /// What tells these units from those of other positions.
    pub fingerprint: u64,
    /// The number of each unit that is counted, and its paths.
    pub counted: Vec<(usize, u128)>,
}

impl Run {
    /// Prepares to count the paths of `depth` moves from a position on some threads (0 for one on
    /// each core): cuts the tree into units.
    ///
    /// # Errors
    ///
    /// Where depth or threads are above their limits.
    pub fn new(position: &Position, depth: u32, threads: usize) -> Result<Run, RunError> {
        if depth > DEPTH_MAX {
            return Err(RunError::Depth(depth));
        }
        if threads > THREADS_MAX {
            return Err(RunError::Threads(threads));
        }
        let threads = if threads == 0 {
            rayon::current_num_threads()
        } else {
            threads
        };
        let units = threads * UNITS_PER_THREAD_MIN;
        let frontier = Frontier::with_units(position, units, depth, UNIT_DEPTH_MIN);
        Ok(Run::of(frontier, depth))
    }

    /// Prepares to count the rest of a tree below a frontier.
    fn of(frontier: Frontier, depth: u32) -> Run {
        let rest = depth.saturating_sub(frontier.plies).min(ESTIMATE_DEPTH);
        let context = Context::new(Means::default());
        let cost = |position| match context.count(position, rest) {
            Count::Done(paths) => u64::try_from(paths).unwrap_or(u64::MAX),
            Count::Cancelled | Count::TooMany => u64::MAX,
        };
        let costs = frontier
            .units
            .iter()
            .map(|unit| cost(&unit.position))
            .collect();
        Run {
            depth,
            counts: vec![None; frontier.units.len()],
            frontier,
            costs,
        }
    }

    /// Prepares to go on from a checkpoint.
    ///
    /// # Errors
    ///
    /// Where the checkpoint is one of another count.
    pub fn resume(position: &Position, checkpoint: &Checkpoint) -> Result<Run, RunError> {
        if checkpoint.depth > DEPTH_MAX || checkpoint.plies > checkpoint.depth.max(1) {
            return Err(RunError::OtherRun);
        }
        let frontier = Frontier::at(position, checkpoint.plies);
        let is_same =
            frontier.plies == checkpoint.plies && frontier.fingerprint() == checkpoint.fingerprint;
        if !is_same {
            return Err(RunError::OtherRun);
        }
        let mut run = Run::of(frontier, checkpoint.depth);
        for &(index, paths) in &checkpoint.counted {
            *run.counts.get_mut(index).ok_or(RunError::OtherRun)? = Some(paths);
        }
        Ok(run)
    }

    /// Returns what is counted so far.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let counted = self.counts.iter().enumerate();
        Checkpoint {
            depth: self.depth,
            plies: self.frontier.plies,
            fingerprint: self.frontier.fingerprint(),
            counted: counted
                .filter_map(|(index, &paths)| Some((index, paths?)))
                .collect(),
        }
    }

    /// Returns how many units there are.
    #[must_use]
    pub fn units(&self) -> usize {
        self.frontier.units.len()
    }

    /// Counts what is not counted yet, the largest units first.
    ///
    /// # Errors
    ///
    /// Where the threads cannot be started, or the total has no room in 128 bits.
    pub fn count(&mut self, options: Options<'_>) -> Result<Ending, RunError> {
        if options.threads > THREADS_MAX {
            return Err(RunError::Threads(options.threads));
        }
        if self.depth == 0 {
            return Ok(Ending::Done(Total {
                nodes: 1,
                divide: Vec::new(),
                table: TableUse::default(),
            }));
        }
        let mut order: Vec<usize> = (0..self.counts.len())
            .filter(|&index| self.counts[index].is_none())
            .collect();
        order.sort_by_key(|&index| core::cmp::Reverse(self.costs[index]));
        let pool = ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .build()
            .map_err(|_| RunError::NoThreads)?;
        let state = Mutex::new(State::new(self));
        let next = AtomicUsize::new(0);
        pool.broadcast(|_| {
            let used = self.work(&order, &next, options, &state);
            let mut state = state.lock().unwrap_or_else(|poison| poison.into_inner());
            state.table += used;
        });
        let state = state
            .into_inner()
            .unwrap_or_else(|poison| poison.into_inner());
        self.counts = state.counts;
        if state.is_too_many {
            return Err(RunError::TooMany);
        }
        if self.counts.iter().any(Option::is_none) {
            return Ok(Ending::Cancelled);
        }
        self.total(state.table).map(Ending::Done)
    }

    /// Counts units until none is left, on one thread.
    fn work(
        &self,
        order: &[usize],
        next: &AtomicUsize,
        options: Options<'_>,
        state: &Mutex<State>,
    ) -> TableUse {
        let context = Context::new(Means {
            processor: options.processor,
            last_ply: options.last_ply,
            table: options.table,
            cancelled: options.cancelled,
        });
        let rest = self.depth - self.frontier.plies;
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if context.is_cancelled() {
                break;
            }
            let count = context.count(&self.frontier.units[index].position, rest);
            let mut state = state.lock().unwrap_or_else(|poison| poison.into_inner());
            match count {
                Count::Done(paths) => {
                    state.add(self, index, paths);
                    if let Some(watch) = options.watch {
                        watch(state.progress());
                    }
                }
                Count::Cancelled => break,
                Count::TooMany => {
                    state.is_too_many = true;
                    next.store(order.len(), Ordering::Relaxed);
                }
            }
        }
        context.table_use()
    }

    /// Adds up the units, each as often as paths lead to it.
    fn total(&self, table: TableUse) -> Result<Total, RunError> {
        let mut sums = vec![0u128; self.frontier.first_moves.len()];
        for (unit, count) in self.frontier.units.iter().zip(&self.counts) {
            for &(index, paths) in &unit.paths {
                let sum = &mut sums[index as usize];
                *sum = count
                    .and_then(|count| count.checked_mul(paths))
                    .and_then(|product| sum.checked_add(product))
                    .ok_or(RunError::TooMany)?;
            }
        }
        let nodes = sums
            .iter()
            .try_fold(0u128, |total, &sum| total.checked_add(sum))
            .ok_or(RunError::TooMany)?;
        let mut divide: Vec<(Move, u128)> = self
            .frontier
            .first_moves
            .iter()
            .copied()
            .zip(sums)
            .collect();
        divide.sort_by_cached_key(|(mv, _)| format!("{mv:?}"));
        Ok(Total {
            nodes,
            divide,
            table,
        })
    }
}

/// What the threads of a run share.
struct State {
    counts: Vec<Option<u128>>,
    units_done: usize,
    nodes: u128,
    cost_done: f64,
    cost: f64,
    table: TableUse,
    is_too_many: bool,
}

impl State {
    fn new(run: &Run) -> State {
        let mut state = State {
            counts: vec![None; run.counts.len()],
            units_done: 0,
            nodes: 0,
            cost_done: 0.0,
            cost: run.costs.iter().map(|&cost| cost as f64).sum(),
            table: TableUse::default(),
            is_too_many: false,
        };
        for (index, count) in run.counts.iter().enumerate() {
            if let &Some(paths) = count {
                state.add(run, index, paths);
            }
        }
        state
    }

    fn add(&mut self, run: &Run, index: usize, paths: u128) {
        let multiplicity = run.frontier.units[index].multiplicity();
        self.counts[index] = Some(paths);
        self.units_done += 1;
        self.nodes = self
            .nodes
            .saturating_add(paths.saturating_mul(multiplicity));
        self.cost_done += run.costs[index] as f64;
    }

    fn progress(&self) -> Progress {
        let share = if self.cost > 0.0 {
            self.cost_done / self.cost
        } else {
            1.0
        };
        Progress {
            units_done: self.units_done,
            units: self.counts.len(),
            nodes: self.nodes,
            share: share.min(1.0),
        }
    }
}
