//! A tree, cut into distinct positions that are counted apart.

use referee_chess::{Move, Position};
use sha2::{Digest as _, Sha256};

use crate::error::PlanError;
use crate::fast::Means;
use crate::key::key_to_bytes;
use crate::limits::DEPTH_MAX;
use crate::records::{RecordReader, Share};
use crate::refine::{Cut, Layer, LayerReader, Refinement, estimate};
use crate::spill::{MemorySpill, Spill, SpillRun};
use crate::task::{Task, TaskSize, Tasks};

/// What begins a fingerprint; another number where plans are made or written in another way.
const FINGERPRINT_HEAD: &[u8] = b"referee perft plan 2\n";

/// Returns the legal moves in the order of their names.
pub(crate) fn first_moves(root: &Position) -> Vec<Move> {
    let mut moves: Vec<Move> = root.legal_moves().into_iter().collect();
    moves.sort_by_cached_key(|&mv| root.uci(mv).to_string());
    moves
}

/// The distinct positions that a tree is cut into, with how many paths lead to each.
///
/// A path of moves that ends in mate or stalemate before is no path of the full depth, so it
/// leaves nothing here. Positions that have more plies left come first, and of those that have as
/// many left the one with the lower key, so that any two programs mean the same one by a number.
///
/// The positions are kept in the [`Spill`] that sorted them; while they are sorted, memory is
/// bounded whatever their number.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::{Cut, Means, MemorySpill, Plan};
///
/// let place = MemorySpill::new(1 << 20);
/// let plan = Plan::build(&Position::startpos(), 5, Cut::at(3), &place, Means::default())?;
/// // 8,902 paths lead to 5,362 positions.
/// assert_eq!((plan.positions(), plan.paths()), (5_362, 8_902));
/// # Ok::<(), referee_perft::PlanError>(())
/// ```
#[derive(Debug)]
pub struct Plan<S: Spill = MemorySpill> {
    root: Position,
    depth: u32,
    first_moves: Vec<Move>,
    layers: Vec<Layer<S::Run>>,
    positions: u64,
    paths: u128,
    cost: u128,
    fingerprint: [u8; 32],
}

impl<S: Spill> Plan<S> {
    /// Cuts the tree of `depth` plies below a position. Of the means, processor and cancellation
    /// matter. It sorts on the threads of the `rayon` pool that it is called in.
    ///
    /// # Errors
    ///
    /// Where the depth is above its limit, too many paths lead to one position, the plan is
    /// cancelled, or the place for sorting fails; nothing is left there then.
    pub fn build(
        root: &Position,
        depth: u32,
        cut: Cut,
        spill: &S,
        means: Means<'_>,
    ) -> Result<Plan<S>, PlanError> {
        if depth > DEPTH_MAX {
            return Err(PlanError::Depth(depth));
        }
        let first_moves = first_moves(root);
        let mut layers = Vec::new();
        if depth > 0 {
            let refinement = Refinement {
                cut,
                spill,
                means,
                estimates: true,
            };
            let roots = (0..).zip(&first_moves).map(|(owner, &mv)| {
                let key = root.after_unchecked(mv).exact_key();
                (key, Share { owner, paths: 1 })
            });
            layers = refinement.run(roots, 1, depth - 1)?;
        }
        let mut plan = Plan {
            root: root.clone(),
            depth,
            first_moves,
            layers,
            positions: 0,
            paths: 0,
            cost: 0,
            fingerprint: [0; 32],
        };
        plan.sum_up()?;
        Ok(plan)
    }

    /// Finds what is told of the whole plan.
    fn sum_up(&mut self) -> Result<(), PlanError> {
        let mut hash = Sha256::new();
        hash.update(FINGERPRINT_HEAD);
        hash.update(key_to_bytes(self.root.exact_key()));
        hash.update([self.root.castling_mode() as u8]);
        hash.update(self.depth.to_le_bytes());
        let mut positions = 0u64;
        let mut paths = 0u128;
        let mut cost = 0u128;
        let mut bytes = Vec::new();
        self.each(|rest, record| {
            positions += 1;
            cost = cost.saturating_add(estimate(record.estimate, rest));
            bytes.clear();
            bytes.extend_from_slice(&key_to_bytes(record.key));
            bytes.extend_from_slice(&rest.to_le_bytes());
            bytes.extend_from_slice(&(record.shares.len() as u32).to_le_bytes());
            for share in &record.shares {
                paths += u128::from(share.paths);
                bytes.extend_from_slice(&share.owner.to_le_bytes());
                bytes.extend_from_slice(&share.paths.to_le_bytes());
            }
            hash.update(&bytes);
            Ok(())
        })?;
        hash.update(positions.to_le_bytes());
        self.positions = positions;
        self.paths = paths;
        self.cost = cost;
        self.fingerprint = hash.finalize().into();
        Ok(())
    }

    /// Visits all positions in their order, with how many plies are left.
    pub(crate) fn each(
        &self,
        mut visit: impl FnMut(u32, &LayerReader<S>) -> Result<(), PlanError>,
    ) -> Result<(), PlanError> {
        for layer in &self.layers {
            let mut reader = RecordReader::new(layer.run.open()?);
            while reader.next()? {
                visit(layer.rest, &reader)?;
            }
        }
        Ok(())
    }

    /// Returns the depth of the whole tree.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the position at the root of the tree.
    #[must_use]
    pub fn root(&self) -> &Position {
        &self.root
    }

    /// Returns the legal moves of the root in the order of their names.
    #[must_use]
    pub fn first_moves(&self) -> &[Move] {
        &self.first_moves
    }

    /// Returns how many distinct positions there are.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// Returns how many paths lead to the positions.
    #[must_use]
    pub fn paths(&self) -> u128 {
        self.paths
    }

    /// Returns how many plies are left below positions, and how many positions have so many
    /// left; the most plies first.
    pub fn rests(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.layers
            .iter()
            .map(|layer| (layer.rest, layer.positions))
    }

    /// Returns a SHA-256 hash over root, depth, and each position with its paths by first move,
    /// to compare the plan with one that was made elsewhere.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Returns the estimated number of paths below all positions, one path to each.
    #[must_use]
    pub fn cost(&self) -> u128 {
        self.cost
    }

    /// Cuts the plan into tasks, each of positions that follow each other and have as many plies
    /// left. How large they are is asked for each number of plies that are left.
    ///
    /// ```
    /// use referee_chess::Position;
    /// use referee_perft::{Cut, Means, MemorySpill, Plan, TaskSize};
    ///
    /// let place = MemorySpill::new(1 << 20);
    /// let plan = Plan::build(&Position::startpos(), 5, Cut::at(3), &place, Means::default())?;
    /// let size = TaskSize { cost: u128::MAX, positions: 1_000 };
    /// let tasks = plan.tasks(|_| size).collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(tasks.len(), 6);
    /// # Ok::<(), referee_perft::PlanError>(())
    /// ```
    pub fn tasks<'a>(&'a self, size: impl Fn(u32) -> TaskSize + 'a) -> Tasks<'a, S> {
        Tasks::new(&self.layers, Box::new(size))
    }

    /// Returns about so many tasks of one position each from all over the plan, to find out how
    /// long counting takes.
    ///
    /// # Errors
    ///
    /// Where the positions cannot be read back.
    pub fn sample(&self, count: u64) -> Result<Vec<Task>, PlanError> {
        let step = (self.positions / count.max(1)).max(1);
        let mut number = 0;
        let mut sample = Vec::new();
        self.each(|rest, record| {
            // From the middle of each stretch, so that none is the lowest of its ply.
            if number % step == step / 2 {
                let mut task = Task::empty(number, rest);
                task.push(record.key, record.estimate, &record.shares);
                sample.push(task);
            }
            number += 1;
            Ok(())
        })?;
        Ok(sample)
    }
}
