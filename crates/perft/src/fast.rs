//! The fast counter: one source, compiled twice, chosen by what the processor can do.
//!
//! A binary for every x86-64 processor may not use the instructions that count bits, find the
//! lowest one and clear it, of which counting does little else; so everything hot is compiled a
//! second time with them.

use referee_chess::sliders::Portable;
use referee_chess::{Color, Position};

use crate::board::{Black, Board, White};

macro_rules! tuned {
    ($($function:item)*) => { $($function)* };
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

/// For x86-64 processors with instructions on single bits: Intel since 2013, AMD since 2015.
#[cfg(target_arch = "x86_64")]
#[path = "fast/hot.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "the same source is compiled for other processors"
)]
mod bits;

/// How a count is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processor {
    /// With the instructions that this processor has.
    #[default]
    Native,
    /// With the instructions that every processor has.
    Portable,
}

/// Returns the number of paths of `depth` legal moves, from 1 up, below 2 to the power of 64.
pub(crate) fn count(board: &Board, en_passant: u64, turn: Color, depth: u32, on: Processor) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if on == Processor::Native
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("lzcnt")
        && std::is_x86_feature_detected!("popcnt")
    {
        if let Some(pext) = referee_chess::sliders::Pext::detect() {
            // SAFETY: the processor has all the instructions that were asked for.
            return unsafe {
                match turn {
                    Color::White => bits::engine::count::<_, White>(pext, board, en_passant, depth),
                    Color::Black => bits::engine::count::<_, Black>(pext, board, en_passant, depth),
                }
            };
        }
    }
    match turn {
        Color::White => plain::engine::count::<_, White>(Portable, board, en_passant, depth),
        Color::Black => plain::engine::count::<_, Black>(Portable, board, en_passant, depth),
    }
}

/// Returns the number of paths of exactly `depth` legal moves from a position, on one thread and
/// without a hash table.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::{Processor, count_paths};
///
/// assert_eq!(count_paths(&Position::startpos(), 5, Processor::Native), 4_865_609);
/// assert_eq!(count_paths(&Position::startpos(), 4, Processor::Portable), 197_281);
/// ```
#[must_use]
pub fn count_paths(position: &Position, depth: u32, on: Processor) -> u128 {
    if depth == 0 {
        return 1;
    }
    let (board, en_passant) = Board::new(position);
    u128::from(count(&board, en_passant, position.turn(), depth, on))
}
