//! The limits of counting, each in one place.

/// The greatest depth that is taken. Deeper trees have more paths than any total can tell, but
/// for positions with hardly a move.
pub const DEPTH_MAX: u32 = 40;

/// The smallest and the largest hash table, in MiB.
pub const HASH_MIB_MIN: usize = 1;
/// See [`HASH_MIB_MIN`].
pub const HASH_MIB_MAX: usize = 1 << 20;

/// The greatest number of threads.
pub const THREADS_MAX: usize = 1_024;

/// The greatest number of positions that one suite may have.
pub const SUITE_POSITIONS_MAX: usize = 1_000_000;

/// The greatest number of positions of one task.
pub const TASK_POSITIONS_MAX: usize = 65_536;

/// A task of so many positions at most can be replaced by their children while it is counted: what
/// has more is cut between its positions.
pub const EXPANDED_POSITIONS_MAX: usize = 3;

/// So many positions are sorted at once in memory, which takes 40 bytes for each and as much again
/// at most for the paths that lead to their parents.
pub(crate) const SORT_ROWS_MAX: usize = 1 << 21;

/// So many sorted runs are read side by side.
pub(crate) const MERGE_RUNS_MAX: usize = 128;

/// Sorted runs are written and read in pieces of so many bytes.
pub(crate) const SPILL_BUFFER: usize = 128 << 10;

/// So many positions of a plan are worked on at a time.
pub(crate) const PLAN_CHUNK: usize = 4_096;

/// The plan of a run in one process ends where its children have so few plies left: counting three
/// plies takes about ten times as long as sorting.
pub(crate) const RUN_REST_MIN: u32 = 3;

/// The plan of a run in one process ends where one more ply had more than so many children, each
/// counted once for each first move that leads to its parent.
pub(crate) const RUN_CHILDREN_MAX: u64 = 1 << 23;

/// The memory for the plan of a run in one process, in bytes.
pub(crate) const RUN_BYTES_MAX: usize = 2 << 30;

/// A run is cut into about so many tasks at most, so that a stop loses little.
pub(crate) const RUN_TASKS: u128 = 256;

/// A task of a run has about so many paths at least: threads wait for each other between tasks.
pub(crate) const RUN_TASK_COST_MIN: u128 = 100_000_000;

/// Positions of a task are replaced by their children as long as these have so many plies left.
pub(crate) const BATCH_REST_MIN: u32 = 3;

/// Positions of a task are not replaced where they had more than so many children, each counted
/// once for each position of the task that it belongs to.
pub(crate) const BATCH_CHILDREN_MAX: u64 = 1 << 20;

/// The memory for the children of the positions of a task, in bytes.
pub(crate) const BATCH_BYTES_MAX: usize = 1 << 30;

/// Up to this depth a count fits 64 bits whatever the position: no position has 1,120 moves
/// (see `MoveList::CAPACITY` of `referee-chess`), and 1,120 to the power of 6 is below 2^61.
pub(crate) const NARROW_DEPTH_MAX: u32 = 6;

/// The smallest depth at which a hash table is asked. With two plies as well, a count from the
/// starting position took a fifth longer, and one from Kiwipete a tenth less.
pub(crate) const HASH_DEPTH_MIN: u32 = 3;
