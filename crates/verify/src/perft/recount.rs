//! A share of the positions is counted again, by other means than usual: where few plies are left
//! by the second generator, deeper by the fast one without a table and with the instructions that
//! every processor has.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use referee_chess::{CastlingMode, PositionKey};
use referee_perft::{Means, Processor, Task, key_to_bytes, oracle, read_key};

use super::PerftDemand;
use super::report::PerftReport;
use crate::limits::{ORACLE_REST_MAX, RECOUNTED_AT_ONCE};

/// Numbers of which the same seed makes the same ones (SplitMix64, by S. Vigna, public domain).
pub(super) struct Seeded(u64);

impl Seeded {
    pub(super) fn new(seed: u64) -> Seeded {
        Seeded(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// A position to count again.
struct Drawn {
    number: u64,
    key: PositionKey,
    rest: u32,
    told: u128,
}

/// Positions that wait to be counted again.
pub(super) struct Recount {
    mode: CastlingMode,
    drawn: Vec<Drawn>,
}

impl Recount {
    pub(super) fn new(mode: CastlingMode) -> Recount {
        Recount {
            mode,
            drawn: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, number: u64, key: PositionKey, rest: u32, told: u128) {
        self.drawn.push(Drawn {
            number,
            key,
            rest,
            told,
        });
    }

    /// Counts what waits, if that is much or the record is at its end.
    pub(super) fn run(&mut self, is_end: bool, demand: &PerftDemand<'_>, report: &mut PerftReport) {
        if self.drawn.len() < RECOUNTED_AT_ONCE && !is_end {
            return;
        }
        let drawn = std::mem::take(&mut self.drawn);
        let (shallow, deep): (Vec<Drawn>, Vec<Drawn>) =
            drawn.into_iter().partition(|it| it.rest <= ORACLE_REST_MAX);
        let found = self.count_by_oracle(&shallow, demand);
        report.by_second_generator += found.iter().flatten().count() as u64;
        compare(&shallow, &found, report);
        let found = self.count_fast(&deep, demand);
        compare(&deep, &found, report);
    }

    /// Counts on all threads; what was not counted before the end is none.
    fn count_by_oracle(&self, drawn: &[Drawn], demand: &PerftDemand<'_>) -> Vec<Option<u128>> {
        let next = AtomicUsize::new(0);
        let count = || {
            let mut found = Vec::new();
            while !demand.cancelled.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(it) = drawn.get(at) else { break };
                if let Ok(position) = read_key(it.key, self.mode) {
                    found.push((at, oracle::count(&position, it.rest)));
                }
            }
            found
        };
        let mut counts = vec![None; drawn.len()];
        let parts: Vec<Vec<(usize, u128)>> = thread::scope(|scope| {
            let threads = (0..demand.counter.threads()).map(|_| scope.spawn(count));
            let threads: Vec<_> = threads.collect();
            let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
            ended.map(Result::unwrap_or_default).collect()
        });
        for (at, count) in parts.into_iter().flatten() {
            counts[at] = Some(count);
        }
        counts
    }

    fn count_fast(&self, drawn: &[Drawn], demand: &PerftDemand<'_>) -> Vec<Option<u128>> {
        let means = Means {
            processor: Processor::Portable,
            cancelled: Some(demand.cancelled),
            ..Means::default()
        };
        let mut counts = Vec::new();
        // Positions of a record have fewer plies left the further on they stand.
        for group in drawn.chunk_by(|one, other| one.rest == other.rest) {
            let rest = group.first().map_or(0, |it| it.rest);
            let keys: Vec<_> = group.iter().map(|it| key_to_bytes(it.key)).collect();
            let counted = Task::from_keys(rest, self.mode, &keys)
                .ok()
                .and_then(|task| demand.counter.count(&task, means, None).ok());
            match counted {
                Some(counted) => counts.extend(counted.counts),
                None => counts.extend(vec![None; group.len()]),
            }
        }
        counts
    }
}

fn compare(drawn: &[Drawn], found: &[Option<u128>], report: &mut PerftReport) {
    for (it, found) in drawn.iter().zip(found) {
        match found {
            None => report.fault(Some(it.number), "could not be counted again"),
            Some(found) => {
                report.recounted += 1;
                if *found != it.told {
                    let text = format!("has {found} paths, and {} in the record", it.told);
                    report.fault(Some(it.number), text);
                }
            }
        }
    }
}
