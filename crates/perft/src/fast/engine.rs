//! The recursion.

use referee_chess::Sliders;

use super::expand::expand;
use crate::board::{Board, Side};
use crate::fast::{Child, Context};
use crate::limits::{HASH_DEPTH_MIN, NARROW_DEPTH_MAX};
use crate::table::Table;

pub(crate) use super::expand::children;
pub(crate) use super::leaf::leaf;
pub(crate) use super::null::count_two;

tuned! {
    /// The number of paths of `depth` moves, from 1 up; `u128::MAX` where it is not below that,
    /// anything where the context has been cancelled.
    pub(crate) fn count_wide<S: Sliders, C: Side>(
        sliders: S,
        context: &Context<'_>,
        board: &Board,
        en_passant: u64,
        depth: u32,
    ) -> u128 {
        if depth > HASH_DEPTH_MIN && context.is_cancelled() {
            return 0;
        }
        let slot = if depth >= HASH_DEPTH_MIN {
            context.slot::<C>(board, en_passant, depth)
        } else {
            None
        };
        if let Some(paths) = slot.and_then(|slot| context.recall(slot)) {
            return u128::from(paths);
        }
        let mut total = 0u128;
        if depth <= NARROW_DEPTH_MAX {
            total = u128::from(count::<S, C>(sliders, context, board, en_passant, depth));
        } else {
            expand::<S, C>(sliders, board, en_passant, |next, en_passant| {
                total = total.saturating_add(count_wide::<S, C::Other>(
                    sliders, context, next, en_passant, depth - 1,
                ));
            });
        }
        if let (Some(slot), Ok(paths)) = (slot, u64::try_from(total)) {
            context.keep(slot, paths);
        }
        total
    }

    /// The number of paths of `depth` moves, from 1 to [`NARROW_DEPTH_MAX`]; anything where the
    /// context has been cancelled. The table is not asked for the position itself.
    pub(crate) fn count<S: Sliders, C: Side>(
        sliders: S,
        context: &Context<'_>,
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
        if depth > HASH_DEPTH_MIN {
            if context.is_cancelled() {
                return 0;
            }
            if let Some(table) = context.means.table {
                return count_family::<S, C>(sliders, context, table, board, en_passant, depth);
            }
        }
        let mut total = 0;
        expand::<S, C>(sliders, board, en_passant, |next, en_passant| {
            total += count::<S, C::Other>(sliders, context, next, en_passant, depth - 1);
        });
        total
    }

    /// The same with a table: all children are made first, so that what the table has of each is
    /// on its way while the others are made.
    fn count_family<S: Sliders, C: Side>(
        sliders: S,
        context: &Context<'_>,
        table: &Table,
        board: &Board,
        en_passant: u64,
        depth: u32,
    ) -> u64 {
        let mut family = context.family(depth);
        expand::<S, C>(sliders, board, en_passant, |next, en_passant| {
            let key = table.key(next, en_passant, !C::WHITE, depth - 1);
            table.prefetch(key);
            family.push(Child { board: *next, en_passant, key });
        });
        let mut total = 0;
        for child in &family {
            if let Some(paths) = context.recall(child.key) {
                total += paths;
                continue;
            }
            let (board, en_passant) = (&child.board, child.en_passant);
            let paths = count::<S, C::Other>(sliders, context, board, en_passant, depth - 1);
            context.keep(child.key, paths);
            total += paths;
        }
        context.give_back(depth, family);
        total
    }

    /// The number of paths of `depth` moves, each of which is made, those of the last ply too.
    pub(crate) fn count_each<S: Sliders, C: Side>(
        sliders: S,
        context: &Context<'_>,
        board: &Board,
        en_passant: u64,
        depth: u32,
    ) -> u128 {
        if depth == 0 {
            return 1;
        }
        if depth > HASH_DEPTH_MIN && context.is_cancelled() {
            return 0;
        }
        let mut total = 0u128;
        expand::<S, C>(sliders, board, en_passant, |next, en_passant| {
            total = total.saturating_add(count_each::<S, C::Other>(
                sliders, context, next, en_passant, depth - 1,
            ));
        });
        total
    }
}
