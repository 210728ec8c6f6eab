//! A hash table that threads share without locks.
//!
//! An entry is two words: the number of paths, and that number xored with 64 bits of the key
//! (after R. Hyatt and T. Mann, "A lock-less transposition table implementation for parallel
//! search", ICGA Journal, 2002). An entry of which one word was overwritten by another thread
//! does not match its own key, so it is passed over like any other wrong entry. The bucket is
//! chosen by 64 more bits of the key, which are independent of those that are compared.

use core::mem::size_of;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::board::Board;
use crate::limits::{HASH_MIB_MAX, HASH_MIB_MIN};

/// So many entries are looked at for each key; together they fill a cache line.
const BUCKET: usize = 4;

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
    seeds: [u64; 2],
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
    /// Returns an empty table of at most so many MiB.
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
        buckets.resize_with(length, Bucket::default);
        let mut state = key_set;
        Ok(Table {
            buckets: buckets.into_boxed_slice(),
            seeds: [next_seed(&mut state), next_seed(&mut state)],
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
            bucket: mix(board, state, self.seeds[0]),
            check: mix(board, state, self.seeds[1]),
        }
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

/// Multiplies to 128 bits and folds them.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Hashes a board: pairs of words are multiplied after they were masked with numbers of their own,
/// so that each bit of the result depends on all of them.
#[inline(always)]
fn mix(board: &Board, state: u64, seed: u64) -> u64 {
    const MASKS: [u64; 8] = [
        0x9e37_79b9_7f4a_7c15,
        0xbf58_476d_1ce4_e5b9,
        0x94d0_49bb_1331_11eb,
        0xd6e8_feb8_6659_fd93,
        0xa076_1d64_78bd_642f,
        0xe703_7ed1_a0b4_28db,
        0x8ebc_6af0_9c88_c6e3,
        0x5899_65cc_7537_4cc3,
    ];
    let mut sum = seed;
    let mut step = |a: u64, b: u64, index: usize| {
        sum = fold(
            a ^ MASKS[index] ^ sum,
            b ^ MASKS[index + 1] ^ sum.rotate_left(32),
        ) ^ sum;
    };
    step(board.colors[0], board.colors[1], 0);
    step(board.pawns, board.knights, 1);
    step(board.diagonals, board.orthogonals, 2);
    step(board.kings, board.castling, 3);
    step(state, seed, 4);
    fold(sum ^ MASKS[6], sum.rotate_left(29) ^ MASKS[7])
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
        let base = mix(&board, 0, 1);
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
                let key = mix(&other, 0, 1);
                assert!(seen.insert(key), "two boards with one key");
                changed += (key ^ base).count_ones();
            }
        }
        let mean = f64::from(changed) / (64.0 * 7.0);
        assert!((30.0..34.0).contains(&mean), "{mean} bits change");
    }
}
