//! The recursion, compiled for the processor at hand.

use referee_chess::Sliders;

use super::expand::expand;
use super::leaf::leaf;
use super::null::count_two;
use crate::board::{Board, Side};

tuned! {
    /// The number of paths of `depth` moves, at least one.
    pub(crate) fn count<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        depth: u32,
    ) -> u64 {
        if depth <= 1 {
            return leaf::<S, C>(sliders, board, en_passant);
        }
        if depth == 2 {
            return count_two::<S, C>(sliders, board, en_passant);
        }
        let mut total = 0;
        expand::<S, C>(sliders, board, en_passant, |next, en_passant| {
            total += count::<S, C::Other>(sliders, next, en_passant, depth - 1);
        });
        total
    }
}
