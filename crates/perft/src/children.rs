//! Below one position: a task that is heavier than it seemed is replaced by the children of its
//! positions, which are counted apart, and their counts make up its own.

use referee_chess::PositionKey;

use crate::fast::{Processor, add_children, count_shallow};
use crate::records::Share;
use crate::refine::estimate_depth;
use crate::tally::{Sums, TotalError};
use crate::task::Task;

impl Task {
    /// Returns the positions one ply further down as a task: each once, in the order of their
    /// keys, owned by the places of those positions of this task that they follow. The first has
    /// the number 0. `None` where no ply is left.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position};
    /// use referee_perft::{Task, key_to_bytes};
    ///
    /// let key = key_to_bytes(Position::startpos().exact_key());
    /// let task = Task::from_keys(5, CastlingMode::Standard, &[key])?;
    /// let children = task.children().expect("five plies are left");
    /// assert_eq!((children.len(), children.rest()), (20, 4));
    /// # Ok::<(), referee_perft::TaskError>(())
    /// ```
    #[must_use]
    pub fn children(&self) -> Option<Task> {
        let rest = self.rest().checked_sub(1)?;
        let processor = Processor::Native;
        let mut found: Vec<(PositionKey, u32)> = Vec::new();
        let mut below = Vec::new();
        for (owner, &key) in (0..).zip(self.keys()) {
            below.clear();
            add_children(processor, key, &mut below);
            found.extend(below.iter().map(|&child| (child, owner)));
        }
        found.sort_unstable();
        let mut children = Task::empty(0, rest);
        let mut shares: Vec<Share> = Vec::new();
        for same in found.chunk_by(|one, other| one.0 == other.0) {
            shares.clear();
            for of_owner in same.chunk_by(|one, other| one.1 == other.1) {
                shares.push(Share {
                    owner: of_owner[0].1,
                    paths: of_owner.len() as u64,
                });
            }
            let key = same[0].0;
            let paths = count_shallow(processor, key, estimate_depth(rest));
            children.push(key, paths, &shares);
        }
        Some(children)
    }
}

/// Adds the counts of the children of a task up to those of its positions.
///
/// ```
/// use referee_chess::{CastlingMode, Position};
/// use referee_perft::{Counter, Folding, Means, Task, key_to_bytes};
///
/// let key = key_to_bytes(Position::startpos().exact_key());
/// let task = Task::from_keys(5, CastlingMode::Standard, &[key])?;
/// let children = task.children().expect("five plies are left");
/// let counted = Counter::new(1)?.count(&children, Means::default(), None)?;
/// let counts: Vec<u128> = counted.counts.into_iter().flatten().collect();
/// let mut folding = Folding::new(&task).expect("five plies are left");
/// // Part by part, as they may have been counted by several.
/// folding.add(&children.part(0..7), &counts[..7])?;
/// folding.add(&children.part(7..20), &counts[7..])?;
/// assert_eq!(folding.finish()?, [4_865_609]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Folding {
    children: Task,
    sums: Sums,
    next: usize,
}

impl Folding {
    /// Begins with a task; `None` where no ply is left below its positions.
    #[must_use]
    pub fn new(task: &Task) -> Option<Folding> {
        Some(Folding {
            children: task.children()?,
            sums: Sums::new(task.len()),
            next: 0,
        })
    }

    /// Returns the number of the child that comes next.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next as u64
    }

    /// Adds a part of the children, with a count for each.
    ///
    /// # Errors
    ///
    /// Where it is not the part that comes next, or has other positions than the children of the
    /// task, and where a sum has no room.
    pub fn add(&mut self, part: &Task, counts: &[u128]) -> Result<(), TotalError> {
        let end = self.next + part.len();
        if *part != self.children.part(self.next..end) || part.len() != counts.len() {
            return Err(TotalError::Order(part.first()));
        }
        for (index, &count) in counts.iter().enumerate() {
            self.sums
                .add(count, part.shares(index))
                .ok_or(TotalError::TooMany)?;
        }
        self.next = end;
        Ok(())
    }

    /// Returns the counts of the positions of the task.
    ///
    /// # Errors
    ///
    /// Where children are missing.
    pub fn finish(self) -> Result<Vec<u128>, TotalError> {
        let missing = self.children.len() - self.next;
        if missing > 0 {
            return Err(TotalError::Missing(missing as u64));
        }
        Ok(self.sums.0)
    }
}

#[cfg(test)]
mod tests {
    use referee_chess::{CastlingMode, Position};

    use super::*;
    use crate::fast::Means;
    use crate::{Counter, key_to_bytes};

    /// Two positions that have children in common, one that is mate and one without a ply left.
    const FENS: [&str; 4] = [
        "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1",
        "4k3/8/8/8/8/8/8/R2K3R w - - 0 1",
        "R5k1/5ppp/8/8/8/8/8/4K3 b - - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    ];

    fn task(rest: u32) -> Task {
        let mut keys = FENS.map(|fen| {
            let position = Position::from_fen(fen, CastlingMode::Standard);
            position.expect("a position").exact_key()
        });
        keys.sort_unstable();
        let keys = keys.map(key_to_bytes);
        Task::from_keys(rest, CastlingMode::Standard, &keys).expect("positions")
    }

    fn count(task: &Task) -> Vec<u128> {
        let counter = Counter::new(1).expect("a thread");
        let counted = counter.count(task, Means::default(), None);
        let counts = counted.expect("counted").counts.into_iter();
        counts.map(|count| count.expect("whole")).collect()
    }

    #[test]
    fn children_come_to_the_counts_of_their_parents() {
        for rest in 1..=5 {
            let task = task(rest);
            let children = task.children().expect("there are plies");
            assert!(children.keys().is_sorted_by(|one, other| one < other));
            let all: u128 = (0..children.len())
                .map(|at| children.multiplicity(at))
                .sum();
            assert_eq!(all, count(&self::task(1)).iter().sum::<u128>());
            assert!((children.len() as u128) < all, "some are in common");
            let counts = count(&children);
            for step in [1, 7, children.len()] {
                let mut folding = Folding::new(&task).expect("there are plies");
                for at in (0..children.len()).step_by(step) {
                    let end = (at + step).min(children.len());
                    let bytes = children.part(at..end).to_bytes();
                    let part = Task::from_bytes(at as u64, rest - 1, &bytes).expect("kept");
                    folding.add(&part, &counts[at..end]).expect("the next");
                }
                assert_eq!(folding.finish().expect("all"), count(&task));
            }
        }
        assert!(task(0).children().is_none());
    }

    #[test]
    fn what_is_not_all_of_the_children_once_is_refused() {
        let task = task(3);
        let children = task.children().expect("there are plies");
        let counts = count(&children);
        let new = || Folding::new(&task).expect("there are plies");
        let half = children.len() / 2;
        let (one, two) = (children.part(0..half), children.part(half..children.len()));
        assert!(new().add(&two, &counts[half..]).is_err(), "not the first");
        assert!(new().add(&one, &counts[1..half]).is_err(), "too few");
        assert!(new().add(&task, &[1; 4]).is_err(), "others");
        let mut folding = new();
        folding.add(&one, &counts[..half]).expect("the first");
        assert!(folding.add(&one, &counts[..half]).is_err(), "twice");
        let missing = folding.clone().finish();
        assert!(matches!(missing, Err(TotalError::Missing(left)) if left as usize == two.len()));
        folding.add(&two, &counts[half..]).expect("the next");
        assert!(folding.finish().is_ok());
        let mut full = new();
        let most = vec![u128::MAX; children.len()];
        assert!(matches!(
            full.add(&children, &most),
            Err(TotalError::TooMany)
        ));
    }
}
