//! Sorts and merges positions in bounded memory: runs that fit are sorted at once and written
//! away, and read back side by side.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::slice::ParallelSliceMut;
use referee_chess::PositionKey;

use crate::error::PlanError;
use crate::limits::{MERGE_RUNS_MAX, SORT_ROWS_MAX};
use crate::records::{RecordReader, RecordWriter, Share};
use crate::spill::{Spill, SpillRun};

type Reader<S> = RecordReader<<<S as Spill>::Run as SpillRun>::Reader>;

/// A position that is to be sorted, and the number of the one that it comes from.
#[derive(Clone, Copy)]
struct Row {
    key: PositionKey,
    parent: u32,
}

/// Takes positions in any order.
pub(crate) struct Sorter<'a, S: Spill> {
    spill: &'a S,
    rows: Vec<Row>,
    /// The shares of the positions that the rows come from: where those of each end, and all.
    ends: Vec<usize>,
    shares: Vec<Share>,
    runs: Vec<S::Run>,
    rows_max: usize,
    merge_max: usize,
}

impl<'a, S: Spill> Sorter<'a, S> {
    pub(crate) fn new(spill: &'a S) -> Sorter<'a, S> {
        Sorter::with_limits(spill, SORT_ROWS_MAX, MERGE_RUNS_MAX)
    }

    /// Sorts so many rows at once, and reads so many runs side by side.
    fn with_limits(spill: &'a S, rows_max: usize, merge_max: usize) -> Sorter<'a, S> {
        Sorter {
            spill,
            rows_max,
            merge_max,
            rows: Vec::new(),
            ends: Vec::new(),
            shares: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds positions to each of which as many paths lead.
    pub(crate) fn add(&mut self, keys: &[PositionKey], shares: &[Share]) -> Result<(), PlanError> {
        if keys.is_empty() {
            return Ok(());
        }
        let is_full = self.rows.len() + keys.len() > self.rows_max
            || self.shares.len() + shares.len() > self.rows_max;
        if is_full && !self.rows.is_empty() {
            self.write_run()?;
        }
        let parent = self.ends.len() as u32;
        self.shares.extend_from_slice(shares);
        self.ends.push(self.shares.len());
        self.rows
            .extend(keys.iter().map(|&key| Row { key, parent }));
        Ok(())
    }

    /// Sorts what is there and writes it away.
    fn write_run(&mut self) -> Result<(), PlanError> {
        self.rows.par_sort_unstable_by_key(|row| row.key);
        let mut writer = RecordWriter::new(self.spill.create()?);
        let mut sum = Sum::default();
        for same in self.rows.chunk_by(|a, b| a.key == b.key) {
            for row in same {
                let parent = row.parent as usize;
                let begin = parent.checked_sub(1).map_or(0, |before| self.ends[before]);
                sum.add(&self.shares[begin..self.ends[parent]]);
            }
            writer.write(same[0].key, 0, sum.finish()?)?;
        }
        self.runs.push(self.spill.finish(writer.finish()?)?);
        self.rows.clear();
        self.ends.clear();
        self.shares.clear();
        Ok(())
    }

    /// Returns all positions in the order of their keys, each once.
    pub(crate) fn finish(mut self) -> Result<Merge<S>, PlanError> {
        if !self.rows.is_empty() {
            self.write_run()?;
        }
        // What was sorted is not needed any more.
        self.rows = Vec::new();
        self.shares = Vec::new();
        while self.runs.len() > self.merge_max {
            let rest = self.runs.split_off(self.merge_max);
            let mut merge = Merge::<S>::new(core::mem::replace(&mut self.runs, rest))?;
            let mut writer = RecordWriter::new(self.spill.create()?);
            while merge.next()? {
                writer.write(merge.key, 0, merge.shares())?;
            }
            self.runs.push(self.spill.finish(writer.finish()?)?);
        }
        Merge::new(self.runs)
    }
}

/// Adds up shares.
#[derive(Default)]
struct Sum {
    shares: Vec<Share>,
    parts: usize,
    is_done: bool,
}

impl Sum {
    fn add(&mut self, shares: &[Share]) {
        if self.is_done {
            self.shares.clear();
            self.parts = 0;
            self.is_done = false;
        }
        self.shares.extend_from_slice(shares);
        self.parts += 1;
    }

    /// Returns what was added since the last time, one share for each owner.
    fn finish(&mut self) -> Result<&[Share], PlanError> {
        self.is_done = true;
        if self.parts > 1 {
            self.shares.sort_unstable_by_key(|share| share.owner);
            let mut last = 0;
            for index in 1..self.shares.len() {
                let share = self.shares[index];
                let into = &mut self.shares[last];
                if into.owner == share.owner {
                    let paths = into.paths.checked_add(share.paths);
                    into.paths = paths.ok_or(PlanError::TooMany)?;
                } else {
                    last += 1;
                    self.shares[last] = share;
                }
            }
            self.shares.truncate(last + 1);
        }
        Ok(&self.shares)
    }
}

/// Sorted runs, read side by side. The runs are given up as soon as it is dropped.
pub(crate) struct Merge<S: Spill> {
    readers: Vec<Reader<S>>,
    /// The next key of each run.
    heads: BinaryHeap<Reverse<(PositionKey, usize)>>,
    sum: Sum,
    pub(crate) key: PositionKey,
    _runs: Vec<S::Run>,
}

impl<S: Spill> Merge<S> {
    fn new(runs: Vec<S::Run>) -> Result<Merge<S>, PlanError> {
        let mut readers = Vec::with_capacity(runs.len());
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (index, run) in runs.iter().enumerate() {
            let mut reader = RecordReader::new(run.open()?);
            if reader.next()? {
                heads.push(Reverse((reader.key, index)));
            }
            readers.push(reader);
        }
        Ok(Merge {
            readers,
            heads,
            sum: Sum::default(),
            key: PositionKey([0; 4]),
            _runs: runs,
        })
    }

    /// Goes on to the next position; false where there is none.
    pub(crate) fn next(&mut self) -> Result<bool, PlanError> {
        let Some(&Reverse((key, _))) = self.heads.peek() else {
            return Ok(false);
        };
        self.key = key;
        while let Some(mut head) = self.heads.peek_mut() {
            let Reverse((next, index)) = *head;
            if next != key {
                break;
            }
            let reader = &mut self.readers[index];
            self.sum.add(&reader.shares);
            if reader.next()? {
                *head = Reverse((reader.key, index));
            } else {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
        self.sum.finish()?;
        Ok(true)
    }

    /// The shares of the position.
    pub(crate) fn shares(&self) -> &[Share] {
        &self.sum.shares
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::spill::MemorySpill;

    #[test]
    fn many_small_runs_come_to_what_a_map_holds() {
        // Numbers that lie far apart, the same ones in every run (a multiplier of D. Knuth's).
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for (rows_max, merge_max) in [(1, 2), (10, 2), (10, 7), (64, 3), (5_000, 128)] {
            let place = MemorySpill::new(1 << 24);
            let mut sorter = Sorter::with_limits(&place, rows_max, merge_max);
            let mut expected: BTreeMap<PositionKey, BTreeMap<u32, u64>> = BTreeMap::new();
            for _ in 0..400 {
                let owners: BTreeMap<u32, u64> = (0..next(4))
                    .map(|_| (next(9) as u32, next(1 << 40)))
                    .collect();
                let shares: Vec<Share> = owners
                    .iter()
                    .map(|(&owner, &paths)| Share { owner, paths })
                    .collect();
                let keys: Vec<PositionKey> = (0..next(8))
                    .map(|_| PositionKey([next(3), 0, next(20), next(5)]))
                    .collect();
                sorter.add(&keys, &shares).expect("there is room");
                for key in keys {
                    let sums = expected.entry(key).or_default();
                    for (&owner, &paths) in &owners {
                        *sums.entry(owner).or_default() += paths;
                    }
                }
            }
            let mut merge = sorter.finish().expect("there is room");
            for (key, sums) in expected {
                assert!(merge.next().expect("it reads"));
                assert_eq!(merge.key, key);
                let found: Vec<(u32, u64)> = merge
                    .shares()
                    .iter()
                    .map(|share| (share.owner, share.paths))
                    .collect();
                assert_eq!(found, Vec::from_iter(sums));
            }
            assert!(!merge.next().expect("it reads"));
            drop(merge);
            assert_eq!(place.used(), 0);
        }
    }

    #[test]
    fn too_many_paths_to_a_position_are_told() {
        let place = MemorySpill::new(1 << 20);
        let share = |paths| Share { owner: 3, paths };
        let key = PositionKey([1, 2, 3, 4]);
        for rows_max in [1, 10] {
            let mut sorter = Sorter::with_limits(&place, rows_max, 2);
            sorter
                .add(&[key], &[share(u64::MAX)])
                .expect("there is room");
            sorter.add(&[key], &[share(1)]).expect("there is room");
            let told = sorter.finish().and_then(|mut merge| merge.next());
            assert!(matches!(told, Err(PlanError::TooMany)));
        }
    }
}
