//! A hash table that threads share without locks.
//!
//! An entry is two words: the number of paths, and that number xored with 64 bits of the key
//! (after R. Hyatt and T. Mann, "A lock-less transposition table implementation for parallel
//! search", ICGA Journal, 2002). An entry of which one word was overwritten by another thread
//! does not match its own key, so it is passed over like any other wrong entry. The bucket is
//! chosen by 64 more bits of the key, which are independent of those that are compared.
//!
//! Keys are hashed from the whole board: the products that make one do not wait for each other,
//! so that it takes hardly longer than keeping a key up to date with every move, and there is
//! nothing to keep.

use core::mem::size_of;
use core::sync::atomic::{AtomicU64, Ordering};

use rayon::iter::{IntoParallelIterator as _, ParallelExtend as _, ParallelIterator as _};
use referee_chess::Position;

use crate::board::Board;
use crate::fast::{Count, Means, count};
use crate::limits::{HASH_DEPTH_MIN, HASH_MIB_MAX, HASH_MIB_MIN};

/// So many entries are looked at for each key; together they fill a cache line.
const BUCKET: usize = 4;

/// A table that fits a count has so much room for each entry that it can come to, since entries do
/// not spread evenly over buckets.
const SPARE: u128 = 3;
/// See [`SPARE`].
const SPARE_OF: u128 = 2;

/// So many numbers of its own go into each half of a key: two for each pair of words of a board,
/// and two for the rest.
const SEEDS: usize = 10;

#[derive(Default)]
struct Entry {
    /// The key, xored with `paths`.
    check: AtomicU64,
    /// The number of paths; 0 where the entry is empty.
    paths: AtomicU64,
}

#[derive(Default)]
#[repr(align(64))]
struct Bucket([Entry; BUCKET]);

/// A hash table for numbers of paths, shared by all threads of a run.
///
/// Totals with a table are right but for a chance that [`Table::error_bound`] bounds. A second
/// run with another key set is an independent proof: both are wrong in the same way only if
/// different positions collide under unrelated keys.
pub struct Table {
    buckets: Box<[Bucket]>,
    seeds: [[u64; SEEDS]; 2],
}

/// The key of a position at a depth.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    bucket: u64,
    check: u64,
}

/// The table cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The size in MiB is not from [`HASH_MIB_MIN`] to [`HASH_MIB_MAX`].
    Size(usize),
    /// The machine does not give so many MiB.
    Memory(usize),
}

impl core::fmt::Display for TableError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Size(mib) => write!(
                f,
                "a hash table of {mib} MiB cannot be: the size goes from {HASH_MIB_MIN} to \
                 {HASH_MIB_MAX} MiB"
            ),
            Self::Memory(mib) => write!(
                f,
                "this machine has no {mib} MiB for a hash table: ask for fewer"
            ),
        }
    }
}

impl core::error::Error for TableError {}

/// What a run did with a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableUse {
    /// How often the table was asked.
    pub probes: u64,
    /// How often it knew.
    pub hits: u64,
}

impl core::ops::AddAssign for TableUse {
    fn add_assign(&mut self, other: TableUse) {
        self.probes += other.probes;
        self.hits += other.hits;
    }
}

impl Table {
    /// Returns an empty table of at most so many MiB, and of no more than a count of `depth`
    /// plies from a position can use.
    ///
    /// How many entries that is at most is counted, so that a large `mib` costs a short count
    /// nothing. `key_set` is as for [`Table::new`].
    ///
    /// ```
    /// use referee_chess::Position;
    /// use referee_perft::Table;
    ///
    /// let table = Table::fitting(&Position::startpos(), 7, 65_536, 0)?;
    /// assert!(table.mib() < 10);
    /// # Ok::<(), referee_perft::TableError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Table::new`].
    pub fn fitting(
        position: &Position,
        depth: u32,
        mib: usize,
        key_set: u64,
    ) -> Result<Table, TableError> {
        if !(HASH_MIB_MIN..=HASH_MIB_MAX).contains(&mib) {
            return Err(TableError::Size(mib));
        }
        let per_mib = (1 << 20) / (size_of::<Entry>() as u128 * SPARE / SPARE_OF);
        let entries_max = mib as u128 * per_mib;
        // Each path to a position that is kept is an entry of its own at worst. Where the next ply
        // will hardly fit, it is not counted: that would take long.
        let mut entries = 0u128;
        for plies in 1..=depth.saturating_sub(HASH_DEPTH_MIN) {
            if entries >= entries_max / 8 {
                entries = entries_max;
                break;
            }
            match count(position, plies, Means::default()) {
                Count::Done(paths) => entries = entries.saturating_add(paths),
                _ => entries = entries_max,
            }
        }
        let fitting = usize::try_from(entries / per_mib + 1).unwrap_or(mib);
        Table::new(fitting.min(mib), key_set)
    }

    /// Returns an empty table of at most so many MiB. It is cleared by all threads of the pool
    /// that this is called in.
    ///
    /// `key_set` chooses the keys; any two numbers give unrelated ones.
    ///
    /// # Errors
    ///
    /// Where the size is out of range, or the machine has not so much memory.
    pub fn new(mib: usize, key_set: u64) -> Result<Table, TableError> {
        if !(HASH_MIB_MIN..=HASH_MIB_MAX).contains(&mib) {
            return Err(TableError::Size(mib));
        }
        let length = (mib << 20) / size_of::<Bucket>();
        let mut buckets = Vec::new();
        buckets
            .try_reserve_exact(length)
            .map_err(|_| TableError::Memory(mib))?;
        buckets.par_extend((0..length).into_par_iter().map(|_| Bucket::default()));
        let mut state = key_set;
        Ok(Table {
            buckets: buckets.into_boxed_slice(),
            seeds: [(); 2].map(|()| [(); SEEDS].map(|()| next_seed(&mut state))),
        })
    }

    /// Returns the size in MiB.
    #[must_use]
    pub fn mib(&self) -> usize {
        (self.buckets.len() * size_of::<Bucket>()) >> 20
    }

    /// Returns an upper bound of the chance that a run with so many probes took an entry of
    /// another position, or one put together from two: each probe compares 64 bits with at most
    /// four entries. It supposes that keys of different positions are unrelated.
    #[must_use]
    pub fn error_bound(used: TableUse) -> f64 {
        used.probes as f64 * BUCKET as f64 / 2f64.powi(64)
    }

    /// The key of a board at a depth; the depth is part of the key, and so is the side to move.
    #[inline(always)]
    pub(crate) fn key(&self, board: &Board, en_passant: u64, white: bool, depth: u32) -> Key {
        let state = en_passant ^ u64::from(depth) << 1 ^ u64::from(white);
        Key {
            bucket: mix(board, state, &self.seeds[0]),
            check: mix(board, state, &self.seeds[1]),
        }
    }

    /// Has the processor load what is kept for a key, if it can.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: Key) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: it is a hint that every processor of the kind has; it touches no memory that
        // could be missed, and the address is that of a bucket.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(self.bucket(key)).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = key;
    }

    #[inline(always)]
    fn bucket(&self, key: Key) -> &Bucket {
        let index = (u128::from(key.bucket) * self.buckets.len() as u128) >> 64;
        &self.buckets[index as usize]
    }

    /// The number of paths that is kept under a key.
    #[inline(always)]
    pub(crate) fn get(&self, key: Key) -> Option<u64> {
        self.bucket(key).0.iter().find_map(|entry| {
            let paths = entry.paths.load(Ordering::Relaxed);
            let check = entry.check.load(Ordering::Relaxed);
            (paths != 0 && check ^ paths == key.check).then_some(paths)
        })
    }

    /// Keeps a number of paths, in place of the smallest in its bucket.
    #[inline(always)]
    pub(crate) fn put(&self, key: Key, paths: u64) {
        let slot = self
            .bucket(key)
            .0
            .iter()
            .min_by_key(|entry| entry.paths.load(Ordering::Relaxed));
        if let Some(entry) = slot {
            entry.check.store(key.check ^ paths, Ordering::Relaxed);
            entry.paths.store(paths, Ordering::Relaxed);
        }
    }
}

/// Hashes a board: pairs of words are multiplied to 128 bits after each was added to a number of
/// its own, and the products are added up (after J. Black and others, "UMAC: fast and secure
/// message authentication", Crypto, 1999). Two given boards have the same sum for at most one
/// choice of numbers in 2 to the power of 64. What follows spreads the sum over 64 bits.
#[inline(always)]
fn mix(board: &Board, state: u64, seeds: &[u64; SEEDS]) -> u64 {
    let product = |a: u64, b: u64, index: usize| {
        u128::from(a.wrapping_add(seeds[index])) * u128::from(b.wrapping_add(seeds[index + 1]))
    };
    let sum = product(board.colors[0], board.colors[1], 0)
        .wrapping_add(product(board.pawns, board.knights, 2))
        .wrapping_add(product(board.diagonals, board.orthogonals, 4))
        .wrapping_add(product(board.kings, board.castling, 6))
        .wrapping_add(product(state, 0, 8));
    let (low, high) = (sum as u64, (sum >> 64) as u64);
    fold(
        low ^ 0x9e37_79b9_7f4a_7c15,
        high ^ low.rotate_left(29) ^ 0xd6e8_feb8_6659_fd93,
    ) ^ high
}

/// Multiplies to 128 bits and folds them.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The next number of a sequence in which all 64-bit numbers come once (splitmix64).
fn next_seed(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use referee_chess::Position;

    use super::*;

    #[test]
    fn a_table_keeps_what_it_was_given_and_knows_nothing_else() {
        let table = Table::new(1, 7).expect("1 MiB is there");
        assert_eq!(table.mib(), 1);
        let (board, _) = Board::new(&Position::startpos());
        let key = table.key(&board, 0, true, 5);
        assert_eq!(table.get(key), None);
        table.put(key, 4_865_609);
        assert_eq!(table.get(key), Some(4_865_609));
        for (en_passant, white, depth) in [(0, true, 4), (0, false, 5), (1 << 20, true, 5)] {
            assert_eq!(table.get(table.key(&board, en_passant, white, depth)), None);
        }
        assert_eq!(Table::new(1, 8).map(|other| other.get(key)), Ok(None));
    }

    #[test]
    fn half_an_entry_is_no_entry() {
        let table = Table::new(1, 7).expect("1 MiB is there");
        let (board, _) = Board::new(&Position::startpos());
        let key = table.key(&board, 0, true, 5);
        table.put(key, 1_000);
        for entry in &table.bucket(key).0 {
            if entry.paths.load(Ordering::Relaxed) == 1_000 {
                entry.paths.store(1_001, Ordering::Relaxed);
            }
        }
        assert_eq!(table.get(key), None);
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert_eq!(Table::new(0, 0).err(), Some(TableError::Size(0)));
        let size = HASH_MIB_MAX + 1;
        assert_eq!(Table::new(size, 0).err(), Some(TableError::Size(size)));
    }

    #[test]
    fn one_bit_changes_half_of_the_key() {
        let (board, _) = Board::new(&Position::startpos());
        let mut seen = HashSet::new();
        let mut changed = 0;
        let seeds = core::array::from_fn(|index| next_seed(&mut (index as u64)));
        let base = mix(&board, 0, &seeds);
        seen.insert(base);
        for square in 0..64 {
            for word in 0..7 {
                let mut other = board;
                let words = [
                    &mut other.colors[0],
                    &mut other.pawns,
                    &mut other.knights,
                    &mut other.diagonals,
                    &mut other.orthogonals,
                    &mut other.kings,
                    &mut other.castling,
                ];
                for (index, target) in words.into_iter().enumerate() {
                    if index == word {
                        *target ^= 1 << square;
                    }
                }
                let key = mix(&other, 0, &seeds);
                assert!(seen.insert(key), "two boards with one key");
                changed += (key ^ base).count_ones();
            }
        }
        let mean = f64::from(changed) / (64.0 * 7.0);
        assert!((30.0..34.0).contains(&mean), "{mean} bits change");
    }
}
