//! The limits of counting, each in one place.

/// The greatest depth that is taken. Deeper trees have more paths than any total can tell, but
/// for positions with hardly a move.
pub const DEPTH_MAX: u32 = 40;

/// A frontier grows by one more ply only while it stays below so many positions.
pub const FRONTIER_MAX: usize = 200_000;

/// A run is cut into at least so many positions for each thread where the tree is large enough.
pub const UNITS_PER_THREAD_MIN: usize = 64;

/// The smallest and the largest hash table, in MiB.
pub const HASH_MIB_MIN: usize = 1;
/// See [`HASH_MIB_MIN`].
pub const HASH_MIB_MAX: usize = 1 << 20;

/// The greatest number of threads.
pub const THREADS_MAX: usize = 1_024;

/// The greatest number of positions that one suite may have.
pub const SUITE_POSITIONS_MAX: usize = 1_000_000;

/// Up to this depth a count fits 64 bits whatever the position: no position has 1,120 moves
/// (see `MoveList::CAPACITY` of `referee-chess`), and 1,120 to the power of 6 is below 2^61.
pub(crate) const NARROW_DEPTH_MAX: u32 = 6;

/// The smallest depth at which a hash table is asked. Counting two plies is quicker than that.
pub(crate) const HASH_DEPTH_MIN: u32 = 3;
