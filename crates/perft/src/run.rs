//! A count of a whole tree in one process: a plan, a counter and a tally.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

use referee_chess::Position;

use crate::counter::{CountError, Counter};
use crate::error::PlanError;
use crate::fast::{LastPly, Means, Processor};
use crate::limits::{
    DEPTH_MAX, RUN_BYTES_MAX, RUN_CHILDREN_MAX, RUN_REST_MIN, RUN_TASK_COST_MIN, RUN_TASKS,
    TASK_POSITIONS_MAX,
};
use crate::plan::Plan;
use crate::refine::Cut;
use crate::spill::{MemorySpill, Spill};
use crate::table::{Table, TableUse};
use crate::tally::{Tally, Total, TotalError};
use crate::task::{Task, TaskSize};

/// How to count, and who is told.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// The instructions to use.
    pub processor: Processor,
    /// How the last ply is counted.
    pub last_ply: LastPly,
    /// The hash table.
    pub table: Option<&'a Table>,
    /// The run stops soon after this becomes true.
    pub cancelled: Option<&'a AtomicBool>,
    /// Called now and then, by any thread, one call at a time.
    pub watch: Option<&'a (dyn Fn(Progress) + Sync)>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// How many positions of the plan are counted.
    pub positions_done: u64,
    /// How many positions there are.
    pub positions: u64,
    /// How many paths are counted so far, each position once for each path that leads to it.
    pub nodes: u128,
    /// The share of the work that is done, from 0 to 1, by an estimate.
    pub share: f64,
}

/// A count of all paths of a depth from a position.
pub struct Run<S: Spill = MemorySpill> {
    counter: Counter,
    plan: Plan<S>,
    tally: Tally,
}

impl<S: Spill> fmt::Debug for Run<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("positions", &self.positions())
            .field("counted", &self.counted())
            .finish_non_exhaustive()
    }
}

/// A run cannot be done.
#[derive(Debug)]
pub enum RunError {
    /// The depth is above [`DEPTH_MAX`].
    Depth(u32),
    /// The threads cannot count.
    Count(CountError),
    /// The tree cannot be cut.
    Plan(PlanError),
    /// The tree is to be cut further down than it is deep.
    Plies {
        /// Where it is to be cut.
        plies: u32,
        /// How deep it is.
        depth: u32,
    },
    /// There are 2 to the power of 128 paths or more.
    TooMany,
    /// The checkpoint is one of another count.
    OtherRun,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(depth) => write!(f, "the depth {depth} is above {DEPTH_MAX}"),
            Self::Count(error) => error.fmt(f),
            Self::Plan(error) => error.fmt(f),
            Self::Plies { plies, depth } => {
                write!(
                    f,
                    "a tree of {depth} plies cannot be cut {plies} plies down"
                )
            }
            Self::TooMany => CountError::TooMany.fmt(f),
            Self::OtherRun => f.write_str(
                "the checkpoint belongs to another position, depth, cut or version: remove \
                 it to begin from the start",
            ),
        }
    }
}

impl core::error::Error for RunError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Count(error) => error.source(),
            Self::Plan(error) => error.source(),
            _ => None,
        }
    }
}

impl From<CountError> for RunError {
    fn from(error: CountError) -> RunError {
        match error {
            CountError::TooMany => RunError::TooMany,
            error => RunError::Count(error),
        }
    }
}

impl From<PlanError> for RunError {
    fn from(error: PlanError) -> RunError {
        match error {
            PlanError::Depth(depth) => RunError::Depth(depth),
            error => RunError::Plan(error),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All is counted.
    Done {
        /// What it came to.
        total: Total,
        /// What was done with the hash table by this process.
        table: TableUse,
    },
    /// It was cancelled; [`Run::checkpoint`] has what is counted so far.
    Cancelled,
}

/// What is counted of a run, to go on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The depth of the whole.
    pub depth: u32,
    /// The fingerprint of the plan.
    pub fingerprint: [u8; 32],
    /// Counts of positions that follow each other, by the number of the first of them.
    pub counted: Vec<(u64, Vec<u128>)>,
}

/// Where the tree of a run is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunCut {
    /// Where that makes the count short, and the plan takes little memory.
    #[default]
    Fitting,
    /// So many plies down, whatever the number of positions there: their plan takes what the place
    /// for sorting gives, and each position eight bytes of memory for its count.
    Plies(u32),
}

impl RunCut {
    fn cut(self, depth: u32) -> Result<Cut, RunError> {
        match self {
            Self::Fitting => Ok(Cut {
                plies_min: 1,
                rest_min: RUN_REST_MIN,
                cost_max: 0,
                children_max: RUN_CHILDREN_MAX,
            }),
            Self::Plies(plies) if plies > depth => Err(RunError::Plies { plies, depth }),
            Self::Plies(plies) => Ok(Cut::at(plies)),
        }
    }
}

impl Run {
    /// Prepares to count the paths of `depth` moves from a position on so many threads (0 for one
    /// on each core): cuts the tree into distinct positions.
    ///
    /// # Errors
    ///
    /// Where depth or threads are above their limits, or the tree cannot be cut.
    pub fn new(position: &Position, depth: u32, threads: usize) -> Result<Run, RunError> {
        let spill = MemorySpill::new(RUN_BYTES_MAX);
        Run::new_in(&spill, position, depth, RunCut::Fitting, threads, None)
    }

    /// Prepares to go on from a checkpoint.
    ///
    /// # Errors
    ///
    /// Those of [`Run::new`], and where the checkpoint is one of another count.
    pub fn resume(
        position: &Position,
        checkpoint: &Checkpoint,
        threads: usize,
    ) -> Result<Run, RunError> {
        let mut run = Run::new(position, checkpoint.depth, threads)?;
        run.go_on_from(checkpoint)?;
        Ok(run)
    }
}

impl<S: Spill + Sync> Run<S>
where
    S::Run: Send,
{
    /// Prepares to count, with the tree cut as one says, and sorted in that place; until
    /// `cancelled` is true.
    ///
    /// # Errors
    ///
    /// Where depth, cut or threads are above their limits, or the tree cannot be cut.
    pub fn new_in(
        spill: &S,
        position: &Position,
        depth: u32,
        cut: RunCut,
        threads: usize,
        cancelled: Option<&AtomicBool>,
    ) -> Result<Run<S>, RunError> {
        if depth > DEPTH_MAX {
            return Err(RunError::Depth(depth));
        }
        let cut = cut.cut(depth)?;
        let counter = Counter::new(threads)?;
        let means = Means {
            cancelled,
            ..Means::default()
        };
        let plan = counter.install(|| Plan::build(position, depth, cut, spill, means))?;
        Ok(Run {
            tally: Tally::new(&plan),
            counter,
            plan,
        })
    }
}

impl<S: Spill> Run<S> {
    /// Takes what an earlier run has counted.
    ///
    /// # Errors
    ///
    /// Where the checkpoint is one of another count.
    pub fn go_on_from(&mut self, checkpoint: &Checkpoint) -> Result<(), RunError> {
        if self.plan.fingerprint() != checkpoint.fingerprint {
            return Err(RunError::OtherRun);
        }
        for (first, counts) in &checkpoint.counted {
            let recorded = self.tally.record(*first, counts);
            recorded.map_err(|_| RunError::OtherRun)?;
        }
        Ok(())
    }

    /// Returns what is counted so far.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            depth: self.plan.depth(),
            fingerprint: self.plan.fingerprint(),
            counted: self.tally.parts(),
        }
    }

    /// Returns how many distinct positions there are to count.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.plan.positions()
    }

    /// Returns how many of them are counted.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.tally.counted()
    }

    /// Counts what is not counted yet.
    ///
    /// # Errors
    ///
    /// Where the total has no room in 128 bits, or the machine has no memory for the work.
    pub fn count(&mut self, options: Options<'_>) -> Result<Ending, RunError> {
        let cost = self.plan.cost();
        let size = TaskSize {
            cost: (cost / RUN_TASKS).max(RUN_TASK_COST_MIN),
            positions: TASK_POSITIONS_MAX,
        };
        let mut account = Account {
            cost,
            positions: self.plan.positions(),
            ..Account::default()
        };
        for task in self.plan.tasks(|_| size) {
            let task = task?;
            for range in self.tally.missing(&task) {
                let part = task.part(range);
                account.count(&self.counter, &mut self.tally, &part, options)?;
            }
            if is_cancelled(options) {
                return Ok(Ending::Cancelled);
            }
            account.finish(&task, &self.tally);
        }
        match self.tally.total(&self.plan) {
            Ok(total) => Ok(Ending::Done {
                total,
                table: account.table,
            }),
            Err(TotalError::TooMany) => Err(RunError::TooMany),
            Err(TotalError::Plan(error)) => Err(RunError::Plan(error)),
            Err(TotalError::Missing(_)) => Ok(Ending::Cancelled),
            Err(TotalError::OtherPlan | TotalError::Order(_)) => Err(RunError::OtherRun),
        }
    }
}

fn is_cancelled(options: Options<'_>) -> bool {
    let flag = options.cancelled;
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// How far a run is; nothing that the total depends on.
#[derive(Default)]
struct Account {
    cost: u128,
    cost_done: u128,
    positions: u64,
    nodes: u128,
    table: TableUse,
}

impl Account {
    /// Counts a part of a task, or as much of it as there is time for.
    fn count(
        &mut self,
        counter: &Counter,
        tally: &mut Tally,
        part: &Task,
        options: Options<'_>,
    ) -> Result<(), RunError> {
        let means = Means {
            processor: options.processor,
            last_ply: options.last_ply,
            table: options.table,
            cancelled: options.cancelled,
        };
        let done = tally.counted();
        let report = |share| {
            if let Some(watch) = options.watch {
                watch(self.progress(done, part, share));
            }
        };
        let counted = counter.count(part, means, Some(&report))?;
        self.table += counted.table;
        for (place, counts) in counted.parts() {
            let first = part.first() + place as u64;
            let recorded = tally.record(first, &counts);
            recorded.map_err(|_| RunError::OtherRun)?;
        }
        Ok(())
    }

    /// Adds a task that is counted.
    fn finish(&mut self, task: &Task, tally: &Tally) {
        self.cost_done = self.cost_done.saturating_add(task.cost());
        for (index, position) in (0..task.len()).zip(task.first()..) {
            let paths = tally.get(position).unwrap_or_default();
            let nodes = paths.saturating_mul(task.multiplicity(index));
            self.nodes = self.nodes.saturating_add(nodes);
        }
    }

    /// How far it is when so much of a part of a task is done.
    fn progress(&self, done: u64, part: &Task, share: f64) -> Progress {
        let cost = self.cost_done as f64 + part.cost() as f64 * share;
        Progress {
            positions_done: done + (part.len() as f64 * share) as u64,
            positions: self.positions,
            nodes: self.nodes,
            share: (cost / (self.cost as f64).max(1.0)).min(1.0),
        }
    }
}
