//! The fast counter: one source, compiled twice, chosen by what the processor can do.
//!
//! A binary for every x86-64 processor may not use the instructions that count bits, find the
//! lowest one and clear it, of which counting does little else; so everything hot is compiled a
//! second time with them.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};

use referee_chess::sliders::Portable;
use referee_chess::{Color, Position, PositionKey};

use crate::board::{Black, Board, Side, White};
use crate::key::unpack;
use crate::limits::NARROW_DEPTH_MAX;
use crate::table::{Key, Table, TableUse};

macro_rules! tuned {
    ($($function:item)*) => { $($function)* };
}

/// The squares from which steps of a king might be attacked.
macro_rules! zone {
    ($king:expr, $steps:expr) => {
        crate::lines::Zone::of($steps)
    };
}

/// For every processor.
#[path = "fast/hot.rs"]
mod plain;

#[cfg(target_arch = "x86_64")]
macro_rules! tuned {
    ($($function:item)*) => {
        $(#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")] $function)*
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! zone {
    ($king:expr, $steps:expr) => {{
        let beside = referee_chess::rays::king_attacks($king).0;
        crate::lines::Zone::of_steps($king, core::arch::x86_64::_pext_u64($steps, beside))
    }};
}

/// For x86-64 processors with instructions on single bits: Intel since 2013, AMD since 2015.
#[cfg(target_arch = "x86_64")]
#[path = "fast/hot.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the same source is compiled for other processors"
)]
mod bits;

/// Calls a function of the hot module that is right for the processor, compiled for a side.
macro_rules! tuned_call {
    (@in $module:ident, $sliders:expr, $turn:expr, $function:ident($($argument:expr),*)) => {
        match $turn {
            Color::White => {
                $module::engine::$function::<_, White>($sliders, $($argument),*)
            }
            Color::Black => {
                $module::engine::$function::<_, Black>($sliders, $($argument),*)
            }
        }
    };
    ($processor:expr, $turn:expr, $function:ident $arguments:tt) => {{
        #[cfg(target_arch = "x86_64")]
        if $processor == Processor::Native
            && has_bit_instructions()
            && let Some(pext) = referee_chess::sliders::Pext::detect()
        {
            // SAFETY: the processor has all the instructions that the module is compiled for.
            return unsafe { tuned_call!(@in bits, pext, $turn, $function $arguments) };
        }
        tuned_call!(@in plain, Portable, $turn, $function $arguments)
    }};
}

/// Which instructions a count is done with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processor {
    /// Those that this processor has.
    #[default]
    Native,
    /// Those that every processor of its kind has.
    Portable,
}

/// How the last ply is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastPly {
    /// Its moves are counted without making them, and so are most of those before.
    #[default]
    Bulk,
    /// Each move is made. Slow, for comparison; a table is not asked.
    Each,
}

/// What counting needs besides a position.
#[derive(Clone, Copy, Default)]
pub struct Means<'a> {
    /// The instructions to use.
    pub processor: Processor,
    /// How the last ply is counted.
    pub last_ply: LastPly,
    /// The hash table.
    pub table: Option<&'a Table>,
    /// Counting stops soon after this becomes true.
    pub cancelled: Option<&'a AtomicBool>,
}

/// What a count came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The number of paths.
    Done(u128),
    /// It was cancelled.
    Cancelled,
    /// There are 2 to the power of 128 paths or more.
    TooMany,
}

/// What the recursion carries along, for one thread.
pub(crate) struct Context<'a> {
    pub(crate) means: Means<'a>,
    probes: Cell<u64>,
    hits: Cell<u64>,
    /// Room for the children of a position at each depth, kept from one to the next.
    families: [Cell<Vec<Child>>; NARROW_DEPTH_MAX as usize + 1],
}

/// A child of a position, and its key in the table.
pub(crate) struct Child {
    pub(crate) board: Board,
    pub(crate) en_passant: u64,
    pub(crate) key: Key,
}

impl<'a> Context<'a> {
    pub(crate) fn new(means: Means<'a>) -> Context<'a> {
        Context {
            means,
            probes: Cell::new(0),
            hits: Cell::new(0),
            families: Default::default(),
        }
    }

    /// Room for the children of a position at a depth, empty.
    #[inline(always)]
    pub(crate) fn family(&self, depth: u32) -> Vec<Child> {
        self.families
            .get(depth as usize)
            .map(Cell::take)
            .unwrap_or_default()
    }

    /// Takes the room back.
    #[inline(always)]
    pub(crate) fn give_back(&self, depth: u32, mut family: Vec<Child>) {
        family.clear();
        if let Some(place) = self.families.get(depth as usize) {
            place.set(family);
        }
    }

    /// What was done with the table.
    pub(crate) fn table_use(&self) -> TableUse {
        TableUse {
            probes: self.probes.get(),
            hits: self.hits.get(),
        }
    }

    #[inline(always)]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.means
            .cancelled
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub(crate) fn slot<C: Side>(&self, board: &Board, en_passant: u64, depth: u32) -> Option<Key> {
        let table = self.means.table?;
        Some(table.key(board, en_passant, C::WHITE, depth))
    }

    #[inline(always)]
    pub(crate) fn recall(&self, key: Key) -> Option<u64> {
        self.probes.set(self.probes.get() + 1);
        let found = self.means.table?.get(key);
        self.hits.set(self.hits.get() + u64::from(found.is_some()));
        found
    }

    /// Keeps a number of paths, unless it is the leavings of a cancelled count.
    #[inline(always)]
    pub(crate) fn keep(&self, key: Key, paths: u64) {
        if let Some(table) = self.means.table
            && paths != 0
            && !self.is_cancelled()
        {
            table.put(key, paths);
        }
    }

    /// Counts the paths of `depth` moves from a position.
    pub(crate) fn count(&self, position: &Position, depth: u32) -> Count {
        let (board, en_passant) = Board::new(position);
        self.count_board(&board, en_passant, position.turn(), depth)
    }

    /// Counts the paths of `depth` moves from the position that has a key.
    pub(crate) fn count_key(&self, key: PositionKey, depth: u32) -> Count {
        let (board, en_passant, turn) = unpack(key);
        self.count_board(&board, en_passant, turn, depth)
    }

    fn count_board(&self, board: &Board, en_passant: u64, turn: Color, depth: u32) -> Count {
        if depth == 0 {
            return Count::Done(1);
        }
        let paths = self.dispatch(board, en_passant, turn, depth);
        if self.is_cancelled() {
            Count::Cancelled
        } else if paths == u128::MAX {
            Count::TooMany
        } else {
            Count::Done(paths)
        }
    }

    fn dispatch(&self, board: &Board, en_passant: u64, turn: Color, depth: u32) -> u128 {
        match self.means.last_ply {
            LastPly::Bulk => tuned_call!(
                self.means.processor,
                turn,
                count_wide(self, board, en_passant, depth)
            ),
            LastPly::Each => tuned_call!(
                self.means.processor,
                turn,
                count_each(self, board, en_passant, depth)
            ),
        }
    }
}

/// Adds the key of the position after each legal move in the position that has a key.
pub(crate) fn add_children(processor: Processor, key: PositionKey, into: &mut Vec<PositionKey>) {
    let (board, en_passant, turn) = unpack(key);
    tuned_call!(processor, turn, children(&board, en_passant, into));
}

/// Returns the number of paths of one or two moves from the position that has a key, 1 for none.
pub(crate) fn count_shallow(processor: Processor, key: PositionKey, depth: u32) -> u64 {
    let (board, en_passant, turn) = unpack(key);
    match depth {
        0 => 1,
        1 => tuned_call!(processor, turn, leaf(&board, en_passant)),
        _ => tuned_call!(processor, turn, count_two(&board, en_passant)),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_bit_instructions() -> bool {
    std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("lzcnt")
        && std::is_x86_feature_detected!("popcnt")
}

/// Returns the number of paths of exactly `depth` legal moves from a position, on one thread.
/// Draws end no path.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::{Count, Means, Processor, count};
///
/// let start = Position::startpos();
/// assert_eq!(count(&start, 5, Means::default()), Count::Done(4_865_609));
/// let portable = Means { processor: Processor::Portable, ..Means::default() };
/// assert_eq!(count(&start, 4, portable), Count::Done(197_281));
/// ```
#[must_use]
pub fn count(position: &Position, depth: u32, means: Means<'_>) -> Count {
    Context::new(means).count(position, depth)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use referee_chess::Role;

    use super::*;
    use crate::suite::read_suite;

    /// The children of a position have the keys that its legal moves lead to.
    fn check(position: &Position) {
        let mut expected = Vec::new();
        for mv in &position.legal_moves() {
            expected.push(position.after_unchecked(mv).exact_key());
        }
        expected.sort_unstable();
        for processor in [Processor::Native, Processor::Portable] {
            let mut found = Vec::new();
            add_children(processor, position.exact_key(), &mut found);
            found.sort_unstable();
            assert_eq!(found, expected, "{position}, {processor:?}");
        }
    }

    /// Double steps after which a pawn stands ready to take but must not: it is pinned along the
    /// rank with the other one, along a file and a diagonal, and has to answer a check.
    const BARRED: [&str; 4] = [
        "8/8/8/8/k1p4R/8/3P4/4K3 w - - 0 1",
        "4k3/8/8/8/4p3/8/3P4/4R1K1 w - - 0 1",
        "6B1/8/8/8/2p5/1k6/3P4/4K3 w - - 0 1",
        "8/8/7k/8/4p3/8/3P4/2B1K3 w - - 0 1",
    ];

    #[test]
    fn children_have_their_exact_keys() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/perft");
        let mut texts = vec![BARRED.join("\n")];
        for name in ["standard.epd", "chess960.epd", "odd_positions.epd"] {
            texts.push(fs::read_to_string(folder.join(name)).expect("the suite is there"));
        }
        let mut barred = [0; 4];
        for (text, barred) in texts.iter().zip(&mut barred) {
            for case in read_suite(text).expect("the suite can be read") {
                check(&case.position);
                for mv in &case.position.legal_moves() {
                    let next = case.position.after_unchecked(mv);
                    let takers = next.passed().is_some_and(|square| {
                        let from = referee_chess::rays::pawn_attacks(!next.turn(), square);
                        (from & next.board().pieces(next.turn(), Role::Pawn)).any()
                    });
                    *barred += usize::from(takers && next.en_passant().is_none());
                    check(&next);
                }
            }
        }
        assert_eq!(barred[0], BARRED.len());
        println!("barred in the suites: {barred:?}");
    }
}
