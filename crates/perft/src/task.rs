//! Tasks: positions of a plan that are counted together.

use core::fmt;
use core::iter::FusedIterator;
use core::ops::Range;
use core::time::Duration;
use std::collections::BTreeMap;

use referee_chess::{CastlingMode, PositionKey};

use crate::error::PlanError;
use crate::fast::{Processor, count_shallow};
use crate::key::{KEY_LENGTH, KeyError, key_from_bytes, read_key, unpack};
use crate::limits::{DEPTH_MAX, TASK_POSITIONS_MAX};
use crate::records::{Positions, RecordReader, RecordWriter, Share};
use crate::refine::{Layer, LayerReader, estimate, estimate_depth};
use crate::spill::{Spill, SpillRun};

/// Positions that follow each other in a plan and have as many plies left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    first: u64,
    rest: u32,
    cost: u128,
    pub(crate) positions: Positions,
}

/// What somebody sent is no task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskError {
    /// More plies are left than [`DEPTH_MAX`].
    Depth(u32),
    /// There are more positions than [`TASK_POSITIONS_MAX`].
    TooManyPositions(usize),
    /// A key is that of no position.
    Key {
        /// The place of the key, from 0.
        index: usize,
        /// What is wrong with it.
        error: KeyError,
    },
    /// The bytes are not those of a task.
    Damaged,
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(rest) => write!(f, "{rest} plies are left, above {DEPTH_MAX}"),
            Self::TooManyPositions(count) => write!(
                f,
                "the task has {count} positions, above {TASK_POSITIONS_MAX}"
            ),
            Self::Key { index, error } => write!(f, "position {index} of the task: {error}"),
            Self::Damaged => f.write_str("these are not the bytes of a task"),
        }
    }
}

impl core::error::Error for TaskError {}

/// What others say of a task cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportError {
    /// There is not one count for each position.
    Length {
        /// How many positions the task has.
        expected: usize,
        /// How many counts were reported.
        found: usize,
    },
    /// A position cannot have so many paths, whatever the moves.
    AboveBound {
        /// The number of the position in its plan.
        position: u64,
        /// What was reported.
        count: u128,
        /// The most that it can have.
        bound: u128,
    },
    /// The plan has no such positions.
    Unknown {
        /// The number of the first position that is not there.
        position: u64,
    },
    /// Another count was accepted for a position before.
    Disagrees {
        /// The number of the position in its plan.
        position: u64,
        /// What was accepted.
        accepted: u128,
        /// What was reported.
        reported: u128,
    },
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { expected, found } => write!(
                f,
                "the task has {expected} positions, and {found} counts were reported"
            ),
            Self::AboveBound {
                position,
                count,
                bound,
            } => write!(
                f,
                "position {position} cannot have {count} paths: there are at most {bound}"
            ),
            Self::Unknown { position } => write!(f, "the plan has no position {position}"),
            Self::Disagrees {
                position,
                accepted,
                reported,
            } => write!(
                f,
                "position {position} has {reported} paths by this report, {accepted} by one \
                 before"
            ),
        }
    }
}

impl core::error::Error for ReportError {}

impl Task {
    /// Returns a task without positions.
    pub(crate) fn empty(first: u64, rest: u32) -> Task {
        Task {
            first,
            rest,
            cost: 0,
            positions: Positions::default(),
        }
    }

    pub(crate) fn push(&mut self, key: PositionKey, paths: u64, shares: &[Share]) {
        self.cost = self.cost.saturating_add(estimate(paths, self.rest));
        self.positions.push(key, paths, shares);
    }

    /// Returns a task to count positions of which others keep account; it has no shares.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position};
    /// use referee_perft::{Task, key_to_bytes};
    ///
    /// let key = key_to_bytes(Position::startpos().exact_key());
    /// let task = Task::from_keys(5, CastlingMode::Standard, &[key])?;
    /// assert_eq!(task.len(), 1);
    /// assert!(Task::from_keys(5, CastlingMode::Standard, &[[0; 32]]).is_err());
    /// # Ok::<(), referee_perft::TaskError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the plies or the positions are above their limits, or a key is that of no position.
    pub fn from_keys(
        rest: u32,
        mode: CastlingMode,
        keys: &[[u8; KEY_LENGTH]],
    ) -> Result<Task, TaskError> {
        if rest > DEPTH_MAX {
            return Err(TaskError::Depth(rest));
        }
        if keys.len() > TASK_POSITIONS_MAX {
            return Err(TaskError::TooManyPositions(keys.len()));
        }
        let mut task = Task::empty(0, rest);
        for (index, &bytes) in keys.iter().enumerate() {
            let key = key_from_bytes(bytes);
            read_key(key, mode).map_err(|error| TaskError::Key { index, error })?;
            let paths = count_shallow(Processor::Native, key, estimate_depth(rest));
            task.push(key, paths, &[]);
        }
        Ok(task)
    }

    /// Returns the positions with their shares as bytes, about 26 for each position of a large
    /// plan, to keep them until the counts come.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = RecordWriter::new(Vec::new());
        for (index, &key) in self.keys().iter().enumerate() {
            let written = writer.write(key, self.positions.estimates[index], self.shares(index));
            // Memory refuses nothing.
            let _ = written;
        }
        writer.finish().unwrap_or_default()
    }

    /// Returns the task that was kept as bytes. `first` and `rest` are what [`Task::first`] and
    /// [`Task::rest`] were.
    ///
    /// # Errors
    ///
    /// Where these are not the bytes of a task, or it is above its limits.
    pub fn from_bytes(first: u64, rest: u32, bytes: &[u8]) -> Result<Task, TaskError> {
        if rest > DEPTH_MAX {
            return Err(TaskError::Depth(rest));
        }
        let mut task = Task::empty(first, rest);
        let mut reader = RecordReader::new(bytes);
        while reader.next().map_err(|_| TaskError::Damaged)? {
            if task.len() == TASK_POSITIONS_MAX {
                return Err(TaskError::TooManyPositions(task.len() + 1));
            }
            task.push(reader.key, reader.estimate, &reader.shares);
        }
        Ok(task)
    }

    /// Returns the number of its first position in the plan.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns how many plies are left below each position.
    #[must_use]
    pub fn rest(&self) -> u32 {
        self.rest
    }

    /// Returns how many positions it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns whether it has no positions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many paths there are below all positions, roughly.
    #[must_use]
    pub fn cost(&self) -> u128 {
        self.cost
    }

    /// Returns the keys of the positions, which rise.
    #[must_use]
    pub fn keys(&self) -> &[PositionKey] {
        &self.positions.keys
    }

    /// Returns how many paths lead from each first move to a position, given by its place in the
    /// task.
    #[must_use]
    pub fn shares(&self, index: usize) -> &[Share] {
        self.positions.shares(index)
    }

    /// Returns how many paths lead to a position, given by its place in the task.
    #[must_use]
    pub fn multiplicity(&self, index: usize) -> u128 {
        let shares = self.shares(index).iter();
        shares.map(|share| u128::from(share.paths)).sum()
    }

    /// Returns a part of the task, by the places of its positions; those that are not there are
    /// left out.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Task {
        let range = range.start.min(self.len())..range.end.min(self.len());
        let mut part = Task::empty(self.first + range.start as u64, self.rest);
        for index in range {
            part.push(
                self.positions.keys[index],
                self.positions.estimates[index],
                self.shares(index),
            );
        }
        part
    }

    /// Checks what somebody reports: one count for each position, none above what the pieces of
    /// the position allow.
    ///
    /// # Errors
    ///
    /// Where it cannot be right.
    pub fn check(&self, counts: &[u128]) -> Result<(), ReportError> {
        if counts.len() != self.len() {
            return Err(ReportError::Length {
                expected: self.len(),
                found: counts.len(),
            });
        }
        for (index, (&key, &count)) in self.keys().iter().zip(counts).enumerate() {
            let bound = bound(key, self.rest);
            if count > bound {
                return Err(ReportError::AboveBound {
                    position: self.first + index as u64,
                    count,
                    bound,
                });
            }
        }
        Ok(())
    }
}

/// The most moves of a knight, a bishop and a rook, and of a king with both castlings. A pawn may
/// become a queen, which has no more than 27.
const KNIGHT_MOVES: u32 = 8;
const BISHOP_MOVES: u32 = 13;
const ROOK_MOVES: u32 = 14;
const QUEEN_MOVES: u32 = 27;
const KING_MOVES: u32 = 10;

/// Returns a number that the paths of `rest` moves cannot exceed: those of two moves, and for each
/// further ply the most moves that the pieces of the side have on an empty board.
#[must_use]
pub(crate) fn bound(key: PositionKey, rest: u32) -> u128 {
    let (board, _, turn) = unpack(key);
    let most = |color: usize| {
        let own = board.colors[color];
        let count = |set: u64| (set & own).count_ones();
        let queens = board.diagonals & board.orthogonals;
        let moves = QUEEN_MOVES * count(board.pawns | queens)
            + ROOK_MOVES * count(board.orthogonals & !queens)
            + BISHOP_MOVES * count(board.diagonals & !queens)
            + KNIGHT_MOVES * count(board.knights)
            + KING_MOVES;
        u128::from(moves)
    };
    let us = turn.index();
    let mut paths = u128::from(count_shallow(Processor::Native, key, rest.min(2)));
    for ply in 2..rest {
        let mover = if ply % 2 == 0 { us } else { 1 - us };
        paths = paths.saturating_mul(most(mover));
    }
    paths
}

/// How large a task becomes. It ends where either is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSize {
    /// The estimated number of paths.
    pub cost: u128,
    /// The number of positions, at most [`TASK_POSITIONS_MAX`].
    pub positions: usize,
}

/// The tasks of a plan, in the order of their positions.
pub struct Tasks<'a, S: Spill> {
    layers: core::slice::Iter<'a, Layer<S::Run>>,
    open: Option<(u32, LayerReader<S>)>,
    size: Box<dyn Fn(u32) -> TaskSize + 'a>,
    next: u64,
}

impl<'a, S: Spill> Tasks<'a, S> {
    pub(crate) fn new(
        layers: &'a [Layer<S::Run>],
        size: Box<dyn Fn(u32) -> TaskSize + 'a>,
    ) -> Tasks<'a, S> {
        Tasks {
            layers: layers.iter(),
            open: None,
            size,
            next: 0,
        }
    }

    fn read(&mut self) -> Result<Option<Task>, PlanError> {
        loop {
            if let Some((rest, reader)) = &mut self.open {
                let size = (self.size)(*rest);
                let positions = size.positions.clamp(1, TASK_POSITIONS_MAX);
                let mut task = Task::empty(self.next, *rest);
                while task.len() < positions && (task.is_empty() || task.cost < size.cost) {
                    if !reader.next()? {
                        self.open = None;
                        break;
                    }
                    task.push(reader.key, reader.estimate, &reader.shares);
                }
                if !task.is_empty() {
                    self.next += task.len() as u64;
                    return Ok(Some(task));
                }
            }
            let Some(layer) = self.layers.next() else {
                return Ok(None);
            };
            self.open = Some((layer.rest, RecordReader::new(layer.run.open()?)));
        }
    }
}

impl<S: Spill> Iterator for Tasks<'_, S> {
    type Item = Result<Task, PlanError>;

    fn next(&mut self) -> Option<Self::Item> {
        let task = self.read();
        if task.is_err() {
            self.open = None;
            self.layers = [].iter();
        }
        task.transpose()
    }
}

impl<S: Spill> FusedIterator for Tasks<'_, S> {}

/// How long counting takes, as found out by counting some tasks.
///
/// ```
/// use std::time::Duration;
/// use referee_chess::Position;
/// use referee_perft::{Calibration, Cut, Means, MemorySpill, Plan};
///
/// let place = MemorySpill::new(1 << 20);
/// let plan = Plan::build(&Position::startpos(), 6, Cut::at(3), &place, Means::default())?;
/// let mut calibration = Calibration::default();
/// for task in plan.sample(64)? {
///     // Had each of them taken so long on one thread, tasks of four seconds were small ones.
///     calibration.add(&task, Duration::from_millis(100));
/// }
/// let size = calibration.task_size(3, Duration::from_secs(4));
/// for task in plan.tasks(|_| size).collect::<Result<Vec<_>, _>>()? {
///     assert!(task.len() < 200);
/// }
/// # Ok::<(), referee_perft::PlanError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// For each number of plies left, the cost that was counted and the time in seconds.
    by_rest: BTreeMap<u32, (f64, f64)>,
}

impl Calibration {
    /// Adds that a task took so much time of threads: the time of each of them together.
    pub fn add(&mut self, task: &Task, thread_time: Duration) {
        let (cost, seconds) = self.by_rest.entry(task.rest).or_default();
        *cost += task.cost as f64;
        *seconds += thread_time.as_secs_f64();
    }

    /// Returns the estimated paths that a thread counts in a second where so many plies are left;
    /// as nothing of that kind was counted, of those with the next number of plies. `None` before
    /// anything was counted.
    #[must_use]
    pub fn rate(&self, rest: u32) -> Option<f64> {
        let nearest = self
            .by_rest
            .iter()
            .min_by_key(|(found, _)| found.abs_diff(rest));
        nearest.map(|(_, (cost, seconds))| cost.max(1.0) / seconds.max(1e-9))
    }

    /// Returns the size of tasks that take about so much time of a thread; the largest before
    /// anything was counted.
    #[must_use]
    pub fn task_size(&self, rest: u32, thread_time: Duration) -> TaskSize {
        let cost = self.rate(rest).map_or(u128::MAX, |rate| {
            // A conversion to whole numbers ends at the greatest one.
            (rate * thread_time.as_secs_f64()) as u128
        });
        TaskSize {
            cost,
            positions: TASK_POSITIONS_MAX,
        }
    }
}
