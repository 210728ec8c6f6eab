//! Keeps account of what was counted of a plan.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;

use referee_chess::{Move, Position};

use crate::error::PlanError;
use crate::limits::TASK_POSITIONS_MAX;
use crate::plan::{Plan, first_moves};
use crate::records::Share;
use crate::spill::Spill;
use crate::task::{ReportError, Task, TaskSize};

/// What stands for a position that is not counted, and for one whose count is among the wide ones.
const NONE: u64 = u64::MAX;
const WIDE: u64 = u64::MAX - 1;

/// So many positions are read from a plan at a time.
const SUMMED_AT_ONCE: TaskSize = TaskSize {
    cost: u128::MAX,
    positions: TASK_POSITIONS_MAX,
};

/// What came of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// How many positions were counted by it.
    pub new: usize,
    /// How many had been counted before, with the same counts.
    pub repeated: usize,
}

/// There is no total.
#[derive(Debug)]
pub enum TotalError {
    /// So many positions are not counted.
    Missing(u64),
    /// The tally is one of another plan.
    OtherPlan,
    /// The task that begins with this position does not follow the one before.
    Order(u64),
    /// There are 2 to the power of 128 paths or more.
    TooMany,
    /// The plan cannot be read back.
    Plan(PlanError),
}

impl fmt::Display for TotalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(count) => write!(f, "{count} positions are not counted"),
            Self::OtherPlan => f.write_str("the counts are those of another plan"),
            Self::Order(first) => write!(
                f,
                "the task at position {first} does not follow the one before, or lacks counts"
            ),
            Self::TooMany => f.write_str("there are 2^128 paths or more: ask for a smaller depth"),
            Self::Plan(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for TotalError {}

/// What a tree comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// The number of paths.
    pub nodes: u128,
    /// The number of paths by first move, in the order of the moves' names.
    pub divide: Vec<(Move, u128)>,
    /// How many distinct positions were counted, each once.
    pub positions: u64,
    /// How many paths lead to these positions.
    pub paths: u128,
}

/// The counts of the positions of a plan.
///
/// Each position is counted once: what is reported again, late or by somebody else, is compared
/// with what was accepted and never added. There is no running sum; the total is computed from
/// all counts when all are there. It takes eight bytes of memory for each position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    fingerprint: [u8; 32],
    counts: Vec<u64>,
    /// Counts with no room among the others.
    wide: BTreeMap<usize, u128>,
    counted: u64,
}

impl Tally {
    /// Returns a tally of a plan in which nothing is counted.
    #[must_use]
    pub fn new<S: Spill>(plan: &Plan<S>) -> Tally {
        Tally {
            fingerprint: plan.fingerprint(),
            counts: vec![NONE; plan.positions() as usize],
            wide: BTreeMap::new(),
            counted: 0,
        }
    }

    /// Returns how many positions are counted.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.counted
    }

    /// Returns the count of a position, given by its number in the plan, if there is one.
    #[must_use]
    pub fn get(&self, position: u64) -> Option<u128> {
        let index = usize::try_from(position).ok()?;
        match *self.counts.get(index)? {
            NONE => None,
            WIDE => self.wide.get(&index).copied(),
            count => Some(u128::from(count)),
        }
    }

    /// Takes a report of the counts of a task or a part of one; all of it or, where anything is
    /// wrong with it, nothing.
    ///
    /// # Errors
    ///
    /// Where the report cannot be right ([`Task::check`]), or disagrees with one that was
    /// accepted; which of the two is wrong is not known then.
    pub fn accept(&mut self, task: &Task, counts: &[u128]) -> Result<Accepted, ReportError> {
        task.check(counts)?;
        self.record(task.first(), counts)
    }

    /// Takes counts of positions that follow each other, without asking whether they can be right:
    /// own ones, or those that were accepted before and kept elsewhere.
    ///
    /// # Errors
    ///
    /// Where the plan has no such positions, or another count was accepted for one of them.
    pub fn record(&mut self, first: u64, counts: &[u128]) -> Result<Accepted, ReportError> {
        let end = first.saturating_add(counts.len() as u64);
        if end > self.counts.len() as u64 {
            return Err(ReportError::Unknown {
                position: first.max(self.counts.len() as u64),
            });
        }
        let mut accepted = Accepted {
            new: 0,
            repeated: 0,
        };
        for (position, &reported) in (first..).zip(counts) {
            match self.get(position) {
                None => accepted.new += 1,
                Some(count) if count == reported => accepted.repeated += 1,
                Some(count) => {
                    return Err(ReportError::Disagrees {
                        position,
                        accepted: count,
                        reported,
                    });
                }
            }
        }
        for (index, &count) in (first as usize..).zip(counts) {
            self.counts[index] = match u64::try_from(count) {
                Ok(count) if count < WIDE => count,
                _ => {
                    self.wide.insert(index, count);
                    WIDE
                }
            };
        }
        self.counted += accepted.new as u64;
        Ok(accepted)
    }

    /// Returns the parts of a task that are not counted, by the places of their positions.
    #[must_use]
    pub fn missing(&self, task: &Task) -> Vec<Range<usize>> {
        stretches(task.len(), |index| {
            self.get(task.first() + index as u64).is_none()
        })
    }

    /// Returns the parts of the plan that are counted, by the number of the first position of
    /// each, with the counts.
    #[must_use]
    pub fn parts(&self) -> Vec<(u64, Vec<u128>)> {
        let is_there = |index: usize| self.counts[index] != NONE;
        stretches(self.counts.len(), is_there)
            .into_iter()
            .map(|range| {
                let counts = range.clone().filter_map(|index| self.get(index as u64));
                (range.start as u64, counts.collect())
            })
            .collect()
    }

    /// Adds all up: each count as often as paths lead to its position.
    ///
    /// # Errors
    ///
    /// Where positions are not counted, the sum has no room, or the plan is another one or cannot
    /// be read.
    pub fn total<S: Spill>(&self, plan: &Plan<S>) -> Result<Total, TotalError> {
        if plan.fingerprint() != self.fingerprint {
            return Err(TotalError::OtherPlan);
        }
        if self.counted < plan.positions() {
            return Err(TotalError::Missing(plan.positions() - self.counted));
        }
        let mut summation = Summation::new(plan.root(), plan.depth());
        for task in plan.tasks(|_| SUMMED_AT_ONCE) {
            let task = task.map_err(TotalError::Plan)?;
            let counts: Vec<u128> = (task.first()..)
                .take(task.len())
                .filter_map(|position| self.get(position))
                .collect();
            summation.add(&task, &counts)?;
        }
        summation.finish(plan.positions())
    }
}

/// Adds up the tasks of a plan: each count as often as paths lead to its position.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::{Cut, Means, MemorySpill, Plan, Summation, TaskSize};
///
/// let place = MemorySpill::new(1 << 20);
/// let start = Position::startpos();
/// let plan = Plan::build(&start, 3, Cut::at(3), &place, Means::default())?;
/// let size = TaskSize { cost: u128::MAX, positions: 1_000 };
/// let mut summation = Summation::new(&start, 3);
/// for task in plan.tasks(|_| size) {
///     let task = task?;
///     // No plies are left, so each position is one path.
///     summation.add(&task, &vec![1; task.len()])?;
/// }
/// assert_eq!(summation.finish(plan.positions())?.nodes, 8_902);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Summation {
    depth: u32,
    first_moves: Vec<Move>,
    sums: Sums,
    next: u64,
    paths: u128,
}

impl Summation {
    /// Returns the sum of no tasks.
    #[must_use]
    pub fn new(root: &Position, depth: u32) -> Summation {
        let first_moves = first_moves(root);
        Summation {
            depth,
            sums: Sums::new(first_moves.len()),
            first_moves,
            next: 0,
            paths: 0,
        }
    }

    /// Adds the next task of the plan, with a count for each of its positions.
    ///
    /// # Errors
    ///
    /// Where the task is not the next one or has another number of positions, and where a sum has
    /// no room.
    pub fn add(&mut self, task: &Task, counts: &[u128]) -> Result<(), TotalError> {
        if task.first() != self.next || task.len() != counts.len() {
            return Err(TotalError::Order(task.first()));
        }
        for (index, &count) in counts.iter().enumerate() {
            self.sums
                .add(count, task.shares(index))
                .ok_or(TotalError::TooMany)?;
            self.paths += task.multiplicity(index);
        }
        self.next += task.len() as u64;
        Ok(())
    }

    /// Returns the total of a plan that has so many positions.
    ///
    /// # Errors
    ///
    /// Where it has more or fewer than were added, or the total has no room.
    pub fn finish(self, positions: u64) -> Result<Total, TotalError> {
        if self.next > positions {
            return Err(TotalError::OtherPlan);
        }
        if self.next < positions {
            return Err(TotalError::Missing(positions - self.next));
        }
        let (nodes, divide) = if self.depth == 0 {
            // The tree of no moves is its root, and that is one path.
            (Some(1), Vec::new())
        } else {
            let moves = self.first_moves.into_iter();
            (self.sums.total(), moves.zip(self.sums.0).collect())
        };
        Ok(Total {
            nodes: nodes.ok_or(TotalError::TooMany)?,
            divide,
            positions,
            paths: self.paths,
        })
    }
}

/// Sums by owner, each of them exact.
#[derive(Clone, Debug)]
pub(crate) struct Sums(pub(crate) Vec<u128>);

impl Sums {
    pub(crate) fn new(owners: usize) -> Sums {
        Sums(vec![0; owners])
    }

    /// Adds a count as often as each owner has paths to it; `None` where a sum has no room.
    pub(crate) fn add(&mut self, count: u128, shares: &[Share]) -> Option<()> {
        for share in shares {
            let sum = self.0.get_mut(share.owner as usize)?;
            *sum = sum.checked_add(count.checked_mul(u128::from(share.paths))?)?;
        }
        Some(())
    }

    fn total(&self) -> Option<u128> {
        self.0
            .iter()
            .try_fold(0u128, |total, &sum| total.checked_add(sum))
    }
}

/// Returns the longest stretches of the numbers below `length` of which something holds.
pub(crate) fn stretches(length: usize, holds: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begin = None;
    for index in 0..=length {
        if index < length && holds(index) {
            begin.get_or_insert(index);
        } else if let Some(begin) = begin.take() {
            found.push(begin..index);
        }
    }
    found
}
