//! Replaces positions by their children, ply by ply: a plan is made by it, and what a plan left
//! heavy is split by it when it is counted.

use core::sync::atomic::Ordering;

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSlice;
use referee_chess::PositionKey;

use crate::error::PlanError;
use crate::fast::{Means, Processor, add_children, count_shallow};
use crate::limits::PLAN_CHUNK;
use crate::records::{Positions, RecordReader, RecordWriter, Share};
use crate::sorter::{Merge, Sorter};
use crate::spill::{Spill, SpillRun};

/// A position is estimated by counting two plies. Where so few are left, it is by one ply, as
/// counting another would take too long beside what is estimated.
const ESTIMATE_BY_ONE_PLY_MAX: u32 = 3;

/// So many positions are expanded by a thread at a time.
const EXPAND_CHUNK: usize = 64;

/// Which positions of a tree are replaced by their children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// All positions fewer plies than this below the root are replaced.
    pub plies_min: u32,
    /// A position is never replaced where its children would have fewer plies left than this.
    pub rest_min: u32,
    /// Further down than `plies_min` a position is replaced where its tree is estimated to have
    /// more paths than this.
    pub cost_max: u128,
    /// Further down than `plies_min` nothing is replaced where all positions of a ply together
    /// have more children than this, each counted once for each owner of its parent: so large
    /// is what has to be sorted.
    pub children_max: u64,
}

impl Cut {
    /// Returns the cut at so many plies below the root, whatever that costs.
    #[must_use]
    pub fn at(plies: u32) -> Cut {
        Cut {
            plies_min: plies,
            rest_min: 0,
            cost_max: u128::MAX,
            children_max: 0,
        }
    }
}

/// Returns how many plies are counted for the estimate of a position.
pub(crate) fn estimate_depth(rest: u32) -> u32 {
    match rest {
        0 => 0,
        1..=ESTIMATE_BY_ONE_PLY_MAX => 1,
        _ => 2,
    }
}

/// Returns how many paths of `rest` moves a position has, roughly, where it has `paths` of as
/// many as [`estimate_depth`] tells.
///
/// As if all plies had as many moves as these. It is a number of whole arithmetic, so that all
/// programs cut a tree alike.
#[must_use]
pub(crate) fn estimate(paths: u64, rest: u32) -> u128 {
    let paths = u128::from(paths);
    if estimate_depth(rest) < 2 {
        return paths.saturating_pow(rest);
    }
    let pairs = paths.saturating_pow(rest / 2);
    if rest.is_multiple_of(2) {
        pairs
    } else {
        pairs.saturating_mul(paths.isqrt())
    }
}

/// Positions with as many plies left, sorted by key.
#[derive(Debug)]
pub(crate) struct Layer<R> {
    pub(crate) rest: u32,
    pub(crate) run: R,
    pub(crate) positions: u64,
}

/// Reads the positions of a layer back.
pub(crate) type LayerReader<S> = RecordReader<<<S as Spill>::Run as SpillRun>::Reader>;

/// What is made of a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    /// It is left as it is.
    Keep,
    /// All is replaced.
    Replace,
    /// What costs more than that is replaced.
    ReplaceAbove(u128),
}

/// Refines a tree below some roots.
pub(crate) struct Refinement<'a, S: Spill> {
    pub(crate) cut: Cut,
    pub(crate) spill: &'a S,
    /// Of these, processor and cancellation matter.
    pub(crate) means: Means<'a>,
    /// Whether positions that are left get an estimate.
    pub(crate) estimates: bool,
}

impl<S: Spill> Refinement<'_, S> {
    /// Replaces positions until the cut is reached. The roots are so many plies down, and as many
    /// are left below them. Returns what stands, fewer plies left the further on.
    pub(crate) fn run(
        &self,
        roots: impl IntoIterator<Item = (PositionKey, Share)>,
        plies: u32,
        rest: u32,
    ) -> Result<Vec<Layer<S::Run>>, PlanError> {
        let mut layers = Vec::new();
        let mut sorter = Sorter::new(self.spill);
        for (key, share) in roots {
            sorter.add(&[key], &[share])?;
        }
        for down in 0..=rest {
            let (plies, rest) = (plies + down, rest - down);
            let (layer, children) = self.settle(sorter.finish()?, plies, rest)?;
            sorter = Sorter::new(self.spill);
            match self.action(plies, rest, children) {
                Action::Keep => {
                    layers.push(layer);
                    break;
                }
                Action::Replace => self.replace(layer, 0, &mut sorter, None)?,
                Action::ReplaceAbove(cost_max) => {
                    let mut kept = RecordWriter::new(self.spill.create()?);
                    self.replace(layer, cost_max, &mut sorter, Some(&mut kept))?;
                    layers.push(Layer {
                        rest,
                        positions: kept.written,
                        run: self.spill.finish(kept.finish()?)?,
                    });
                }
            }
        }
        layers.retain(|layer| layer.positions > 0);
        Ok(layers)
    }

    fn action(&self, plies: u32, rest: u32, children: u64) -> Action {
        let Cut {
            plies_min,
            rest_min,
            cost_max,
            children_max,
        } = self.cut;
        if rest == 0 || rest - 1 < rest_min {
            Action::Keep
        } else if plies < plies_min {
            Action::Replace
        } else if cost_max == u128::MAX || children > children_max {
            Action::Keep
        } else if cost_max == 0 {
            Action::Replace
        } else {
            Action::ReplaceAbove(cost_max)
        }
    }

    /// Writes sorted positions away with their estimates, and counts their children.
    fn settle(
        &self,
        mut merge: Merge<S>,
        plies: u32,
        rest: u32,
    ) -> Result<(Layer<S::Run>, u64), PlanError> {
        let mut writer = RecordWriter::new(self.spill.create()?);
        let mut children = 0u64;
        let mut chunk = Positions::default();
        let may_stay = plies >= self.cut.plies_min || rest <= self.cut.rest_min;
        let processor = self.means.processor;
        loop {
            let more = merge.next()?;
            if more {
                chunk.push(merge.key, 0, merge.shares());
            }
            if chunk.len() < PLAN_CHUNK && more {
                continue;
            }
            self.check_cancelled()?;
            if may_stay && self.estimates {
                chunk.estimates = measure(&chunk.keys, processor, estimate_depth(rest));
            }
            if may_stay && rest > self.cut.rest_min {
                let moves = measure(&chunk.keys, processor, 1);
                for (index, moves) in moves.into_iter().enumerate() {
                    let entries = moves * chunk.shares(index).len() as u64;
                    children = children.saturating_add(entries);
                }
            }
            for index in 0..chunk.len() {
                let estimate = chunk.estimates[index];
                writer.write(chunk.keys[index], estimate, chunk.shares(index))?;
            }
            chunk.clear();
            if !more {
                break;
            }
        }
        let positions = writer.written;
        let run = self.spill.finish(writer.finish()?)?;
        let layer = Layer {
            rest,
            run,
            positions,
        };
        Ok((layer, children))
    }

    /// Adds the children of those positions of a layer that cost more than `cost_max` to a
    /// sorter, and writes the others to `kept`; of all positions where nothing is to be kept.
    fn replace(
        &self,
        layer: Layer<S::Run>,
        cost_max: u128,
        sorter: &mut Sorter<'_, S>,
        mut kept: Option<&mut RecordWriter<S::Writer>>,
    ) -> Result<(), PlanError> {
        let mut reader = RecordReader::new(layer.run.open()?);
        let mut chunk = Positions::default();
        loop {
            let more = reader.next()?;
            if more {
                match &mut kept {
                    Some(kept) if estimate(reader.estimate, layer.rest) <= cost_max => {
                        kept.write(reader.key, reader.estimate, &reader.shares)?;
                    }
                    _ => chunk.push(reader.key, 0, &reader.shares),
                }
            }
            if chunk.len() < PLAN_CHUNK && more {
                continue;
            }
            self.check_cancelled()?;
            self.expand(&chunk, sorter)?;
            chunk.clear();
            if !more {
                return Ok(());
            }
        }
    }

    fn expand(&self, parents: &Positions, sorter: &mut Sorter<'_, S>) -> Result<(), PlanError> {
        let processor = self.means.processor;
        let parts: Vec<(Vec<PositionKey>, Vec<usize>)> = parents
            .keys
            .par_chunks(EXPAND_CHUNK)
            .map(|keys| {
                let mut children = Vec::new();
                let ends = keys.iter().map(|&key| {
                    add_children(processor, key, &mut children);
                    children.len()
                });
                let ends = ends.collect();
                (children, ends)
            })
            .collect();
        let mut index = 0;
        for (children, ends) in parts {
            let mut begin = 0;
            for end in ends {
                sorter.add(&children[begin..end], parents.shares(index))?;
                begin = end;
                index += 1;
            }
        }
        Ok(())
    }

    fn check_cancelled(&self) -> Result<(), PlanError> {
        match self.means.cancelled {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(PlanError::Cancelled),
            _ => Ok(()),
        }
    }
}

/// Counts a few plies of each position.
fn measure(keys: &[PositionKey], processor: Processor, depth: u32) -> Vec<u64> {
    keys.par_iter()
        .with_min_len(EXPAND_CHUNK)
        .map(|&key| count_shallow(processor, key, depth))
        .collect()
}
