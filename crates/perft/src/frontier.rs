//! Distinct positions a few plies down a tree, and how many paths lead to each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use referee_chess::{Move, Position, PositionKey};

use crate::limits::FRONTIER_MAX;

/// How many paths lead from the root to a position, by first move: pairs of the number of the
/// move and of paths.
type Paths = Vec<(u32, u128)>;

/// A position of a frontier.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The position.
    pub position: Position,
    /// How many paths lead to it, by first move: the number of the move in
    /// [`Frontier::first_moves`], and the paths.
    pub paths: Vec<(u32, u128)>,
}

impl Unit {
    /// Returns how many paths lead to the position.
    #[must_use]
    pub fn multiplicity(&self) -> u128 {
        self.paths.iter().map(|&(_, paths)| paths).sum()
    }
}

/// The distinct positions some plies down a tree.
///
/// A path of moves that ends in mate or stalemate before is no path of the full depth, so it
/// leaves nothing here. The order depends on the position and the number of plies only, so that
/// two programs can speak of units by their numbers.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The legal moves of the root.
    pub first_moves: Vec<Move>,
    /// How many plies down it is.
    pub plies: u32,
    /// The positions.
    pub units: Vec<Unit>,
}

impl Frontier {
    /// Returns the frontier one ply down: one unit for each first move.
    fn first(position: &Position) -> Frontier {
        let first_moves: Vec<Move> = position.legal_moves().into_iter().collect();
        let units = (0..)
            .zip(&first_moves)
            .map(|(index, &mv)| Unit {
                position: position.after_unchecked(mv),
                paths: vec![(index, 1)],
            })
            .collect();
        Frontier {
            first_moves,
            plies: 1,
            units,
        }
    }

    /// Returns the frontier so many plies down, at least one; nearer to the root where it would
    /// grow above [`FRONTIER_MAX`].
    ///
    /// ```
    /// use referee_chess::Position;
    /// use referee_perft::Frontier;
    ///
    /// // 8,902 paths lead to 5,362 positions.
    /// let frontier = Frontier::at(&Position::startpos(), 3);
    /// assert_eq!(frontier.units.len(), 5_362);
    /// assert_eq!(frontier.units.iter().map(|unit| unit.multiplicity()).sum::<u128>(), 8_902);
    /// ```
    #[must_use]
    pub fn at(position: &Position, plies: u32) -> Frontier {
        let mut frontier = Frontier::first(position);
        while frontier.plies < plies {
            match frontier.next() {
                Some(next) => frontier = next,
                None => break,
            }
        }
        frontier
    }

    /// Returns the nearest frontier that has at least so many units, as long as `depth` leaves
    /// `rest` plies or more below it.
    #[must_use]
    pub fn with_units(position: &Position, units: usize, depth: u32, rest: u32) -> Frontier {
        let mut frontier = Frontier::first(position);
        while frontier.units.len() < units && frontier.plies + rest < depth {
            match frontier.next() {
                Some(next) => frontier = next,
                None => break,
            }
        }
        frontier
    }

    /// Returns the frontier one ply further down, `None` where it would be too large.
    fn next(&self) -> Option<Frontier> {
        let mut units: Vec<Unit> = Vec::new();
        let mut places: HashMap<PositionKey, usize> = HashMap::new();
        for unit in &self.units {
            for mv in &unit.position.legal_moves() {
                let position = unit.position.after_unchecked(mv);
                match places.entry(position.exact_key()) {
                    Entry::Occupied(place) => {
                        add_paths(&mut units[*place.get()].paths, &unit.paths)
                    }
                    Entry::Vacant(place) => {
                        if units.len() == FRONTIER_MAX {
                            return None;
                        }
                        place.insert(units.len());
                        units.push(Unit {
                            position,
                            paths: unit.paths.clone(),
                        });
                    }
                }
            }
        }
        Some(Frontier {
            first_moves: self.first_moves.clone(),
            plies: self.plies + 1,
            units,
        })
    }

    /// Returns a number that tells this frontier from others, to compare it with one that was
    /// computed elsewhere.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.units.iter().fold(0, |sum: u64, unit| {
            (sum.rotate_left(5) ^ unit.position.zobrist())
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(unit.multiplicity() as u64)
        })
    }
}

/// Adds paths by first move; both lists rise by the number of the move.
fn add_paths(into: &mut Paths, more: &[(u32, u128)]) {
    for &(index, paths) in more {
        match into.binary_search_by_key(&index, |&(index, _)| index) {
            Ok(place) => into[place].1 += paths,
            Err(place) => into.insert(place, (index, paths)),
        }
    }
}
