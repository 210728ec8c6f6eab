//! What the moves of the last ply are: captures, castlings, promotions, kinds of checks and mates.

use core::ops::AddAssign;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use referee_chess::{Bitboard, File, Move, MoveKind, Position, Square};

use crate::counter::Counter;
use crate::error::PlanError;
use crate::fast::Means;
use crate::key::read_key;
use crate::limits::{DEPTH_MAX, RUN_BYTES_MAX, TASK_POSITIONS_MAX};
use crate::plan::Plan;
use crate::refine::Cut;
use crate::run::RunError;
use crate::spill::MemorySpill;
use crate::task::TaskSize;

/// The tree is not cut into positions with fewer plies left, nor where a ply had more children.
const UNIT_DEPTH_MIN: u32 = 2;
const CHILDREN_MAX: u64 = 1 << 20;

/// Above this depth it is asked whether the count was cancelled.
const CANCEL_DEPTH: u32 = 2;

/// How many moves of the last ply there are of each kind. One move may be of several kinds.
///
/// Published tables differ in whether checks include mates, so both are here: [`checks`] with
/// them, [`checks_without_mates`] without.
///
/// [`checks`]: Statistics::checks
/// [`checks_without_mates`]: Statistics::checks_without_mates
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Statistics {
    /// All moves.
    pub nodes: u128,
    /// Moves that take a piece, en passant included.
    pub captures: u128,
    /// Captures en passant (FIDE Laws 3.7.3.1).
    pub en_passants: u128,
    /// Castlings of either side (3.8.2).
    pub castles: u128,
    /// Promotions; each piece that the pawn can become counts (3.7.3.3).
    pub promotions: u128,
    /// Moves that give check, mates included (3.9).
    pub checks: u128,
    /// Checks that only pieces give which did not move.
    pub discovered_checks: u128,
    /// Checks by two pieces at once.
    pub double_checks: u128,
    /// Double checks by two pieces neither of which moved: a capture en passant can do so.
    pub double_discovered_checks: u128,
    /// Moves that give mate (5.1.1).
    pub checkmates: u128,
    /// Mates that are discovered checks.
    pub discovered_checkmates: u128,
    /// Mates that are double checks.
    pub double_checkmates: u128,
    /// Moves that give stalemate (5.2.1).
    pub stalemates: u128,
}

impl Statistics {
    /// Returns the moves that give check but not mate.
    #[must_use]
    pub fn checks_without_mates(&self) -> u128 {
        self.checks - self.checkmates
    }

    /// Returns each number times `factor`.
    #[must_use]
    fn times(self, factor: u128) -> Statistics {
        Statistics {
            nodes: self.nodes * factor,
            captures: self.captures * factor,
            en_passants: self.en_passants * factor,
            castles: self.castles * factor,
            promotions: self.promotions * factor,
            checks: self.checks * factor,
            discovered_checks: self.discovered_checks * factor,
            double_checks: self.double_checks * factor,
            double_discovered_checks: self.double_discovered_checks * factor,
            checkmates: self.checkmates * factor,
            discovered_checkmates: self.discovered_checkmates * factor,
            double_checkmates: self.double_checkmates * factor,
            stalemates: self.stalemates * factor,
        }
    }

    /// Adds a move of the last ply.
    fn add_move(&mut self, position: &Position, mv: Move) {
        let kind = mv.kind();
        self.nodes += 1;
        let takes = kind == MoveKind::EnPassant
            || !mv.is_castle() && position.board().color(!position.turn()).contains(mv.to());
        self.captures += u128::from(takes);
        self.en_passants += u128::from(kind == MoveKind::EnPassant);
        self.castles += u128::from(mv.is_castle());
        self.promotions += u128::from(mv.promotion().is_some());
        let after = position.after_unchecked(mv);
        let checkers = after.checkers();
        if checkers.is_empty() {
            self.stalemates += u128::from(after.is_stalemate());
            return;
        }
        let is_mate = u128::from(!after.has_legal_moves());
        let is_discovered = u128::from((checkers & arrivals(mv)).is_empty());
        let is_double = u128::from(checkers.more_than_one());
        self.checks += 1;
        self.checkmates += is_mate;
        self.discovered_checks += is_discovered & (1 - is_double);
        self.discovered_checkmates += is_discovered & (1 - is_double) & is_mate;
        self.double_checks += is_double;
        self.double_discovered_checks += is_double & is_discovered;
        self.double_checkmates += is_double & is_mate;
    }
}

impl AddAssign for Statistics {
    fn add_assign(&mut self, other: Statistics) {
        self.nodes += other.nodes;
        self.captures += other.captures;
        self.en_passants += other.en_passants;
        self.castles += other.castles;
        self.promotions += other.promotions;
        self.checks += other.checks;
        self.discovered_checks += other.discovered_checks;
        self.double_checks += other.double_checks;
        self.double_discovered_checks += other.double_discovered_checks;
        self.checkmates += other.checkmates;
        self.discovered_checkmates += other.discovered_checkmates;
        self.double_checkmates += other.double_checkmates;
        self.stalemates += other.stalemates;
    }
}

/// The squares on which the moved pieces arrive; two where the move castles (3.8.2).
fn arrivals(mv: Move) -> Bitboard {
    if !mv.is_castle() {
        return Bitboard::of(mv.to());
    }
    let (king, rook) = (mv.from(), mv.to());
    let (king_file, rook_file) = if rook > king {
        (File::G, File::F)
    } else {
        (File::C, File::D)
    };
    Bitboard::of(Square::at(king_file, king.rank()))
        | Bitboard::of(Square::at(rook_file, king.rank()))
}

/// Counts the paths of exactly `depth` moves and what their last moves are. Depth 0 has one path
/// and no move.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::statistics;
///
/// let found = statistics(&Position::startpos(), 4);
/// assert_eq!((found.nodes, found.captures, found.checkmates), (197_281, 1_576, 8));
/// ```
#[must_use]
pub fn statistics(position: &Position, depth: u32) -> Statistics {
    let mut found = Statistics::default();
    if depth == 0 {
        found.nodes = 1;
    } else {
        visit(position, depth, &AtomicBool::new(false), &mut found);
    }
    found
}

/// Returns what [`statistics`] returns, counted on so many threads (0 for one on each core); `None`
/// where `cancelled` became true.
///
/// # Errors
///
/// Where depth or threads are above their limits, or the threads cannot be started.
pub fn statistics_on_threads(
    position: &Position,
    depth: u32,
    threads: usize,
    cancelled: &AtomicBool,
) -> Result<Option<Statistics>, RunError> {
    if depth > DEPTH_MAX {
        return Err(RunError::Depth(depth));
    }
    let counter = Counter::new(threads)?;
    if depth <= 1 {
        return Ok(Some(statistics(position, depth)));
    }
    let cut = Cut {
        plies_min: 1,
        rest_min: UNIT_DEPTH_MIN,
        cost_max: 0,
        children_max: CHILDREN_MAX,
    };
    let means = Means {
        cancelled: Some(cancelled),
        ..Means::default()
    };
    let spill = MemorySpill::new(RUN_BYTES_MAX);
    let size = TaskSize {
        cost: u128::MAX,
        positions: TASK_POSITIONS_MAX,
    };
    let mode = position.castling_mode();
    let parts = || -> Result<Statistics, PlanError> {
        let plan = Plan::build(position, depth, cut, &spill, means)?;
        let mut found = Statistics::default();
        for task in plan.tasks(|_| size) {
            let task = task?;
            let one = |index: usize| -> Result<Statistics, PlanError> {
                let position = read_key(task.keys()[index], mode)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                let mut found = Statistics::default();
                visit(&position, task.rest(), cancelled, &mut found);
                Ok(found.times(task.multiplicity(index)))
            };
            let places = (0..task.len()).into_par_iter();
            found += places
                .map(one)
                .try_reduce(Statistics::default, |mut sum, part| {
                    sum += part;
                    Ok(sum)
                })?;
        }
        Ok(found)
    };
    match counter.install(parts) {
        Ok(found) => Ok((!cancelled.load(Ordering::Relaxed)).then_some(found)),
        Err(PlanError::Cancelled) => Ok(None),
        Err(error) => Err(RunError::Plan(error)),
    }
}

fn visit(position: &Position, depth: u32, cancelled: &AtomicBool, found: &mut Statistics) {
    if depth > CANCEL_DEPTH && cancelled.load(Ordering::Relaxed) {
        return;
    }
    for mv in &position.legal_moves() {
        if depth == 1 {
            found.add_move(position, mv);
        } else {
            visit(&position.after_unchecked(mv), depth - 1, cancelled, found);
        }
    }
}
