//! The moves of our pawns, summed as sets where it can be.

use referee_chess::rays::line;
use referee_chess::{Sliders, Square};

use super::expand::passed;
use super::leaf::leaf;
use super::replies::Vacated;
use super::sum::{Sum, View};
use crate::board::{Kind, Side, ahead, back, bit, each, east, lowest, size, west};

const A_FILE: u64 = 0x0101_0101_0101_0101;

tuned! {
    /// Adds the moves of our pawns, and returns the replies to those that were made.
    #[inline]
    pub(super) fn pawn_moves<S: Sliders, C: Side>(
        view: &View<'_, S>,
        sum: &mut Sum,
        king: Square,
        pinned: u64,
    ) -> u64 {
        let (board, replies, critical) = (view.board, view.replies, view.critical);
        let them = replies.them;
        let occupied = replies.occupied;
        let our_pawns = board.pawns & (occupied ^ them);
        let mut made = 0;
        let mut make = |from: u64, to: u64| {
            each(to, |to| {
                let to = bit(to);
                if to & C::LAST != 0 {
                    for kind in [Kind::Queen, Kind::Rook, Kind::Bishop, Kind::Knight] {
                        let next = board.after_promotion::<C>(from, to, kind);
                        made += leaf::<S, C::Other>(view.sliders, &next, 0);
                    }
                } else {
                    let next = board.after::<C>(Kind::Pawn, from, to);
                    let is_double = from == back::<C>(back::<C>(to));
                    let en_passant = if is_double { passed::<C>(&next, to) } else { 0 };
                    made += leaf::<S, C::Other>(view.sliders, &next, en_passant);
                }
            });
        };
        // A double step beside their pawns gives each one more reply: en passant. That pawn is
        // not pinned and ours shields nothing, so taking is legal. Pinned ones are left out here.
        let takers = replies.free_pawns;
        let pinned_takers = replies.their_pawns & !takers;
        let unclear = west_of(pinned_takers) | east_of(pinned_takers);
        let passing = |double: u64| {
            size(double & west_of(takers)) + size(double & east_of(takers))
        };

        // Pawns that change nothing by leaving go as one set.
        let guards = west::<C::Other>(critical.sole) | east::<C::Other>(critical.sole);
        let special = our_pawns & (pinned | critical.origins | guards | replies.sensitive());
        let plain = our_pawns & !special;
        let single = ahead::<C>(plain) & !occupied;
        let double = ahead::<C>(single & C::THIRD) & !occupied;
        let (to_west, to_east) = (west::<C>(plain), east::<C>(plain));
        let attacked = to_west | to_east;
        for (to, double, side) in [
            (single | double, double, 0),
            (to_west & them, 0, 1),
            (to_east & them, 0, 2),
        ] {
            let safe = to & !(C::LAST | double & unclear);
            let vacated = Vacated::default();
            let known = sum.add_quickly::<S>(view, Kind::Pawn, attacked, safe, vacated);
            sum.total = sum.total.wrapping_add(passing(double & known));
            each(to & !known, |to| {
                let behind = back::<C>(bit(to));
                let from = match side {
                    0 if behind & plain != 0 => behind,
                    0 => back::<C>(behind),
                    1 => behind << 1,
                    _ => behind >> 1,
                };
                let to = bit(to);
                let known = sum.add_around_king::<S, C>(
                    view,
                    Kind::Pawn,
                    lowest(from),
                    west::<C>(from) | east::<C>(from),
                    to & safe,
                    vacated,
                );
                sum.total = sum.total.wrapping_add(passing(double & known));
                make(from, to & !known);
            });
        }
        each(special, |from| {
            let set = bit(from);
            let goal = if set & pinned != 0 { line(king, from).0 } else { !0 };
            let single = ahead::<C>(set) & !occupied;
            let double = ahead::<C>(single & C::THIRD) & !occupied;
            let attacked = west::<C>(set) | east::<C>(set);
            let to = (single | double | attacked & them) & goal;
            let safe = to & !(C::LAST | double & unclear);
            let rest = sum.add_piece::<S, C>(view, Kind::Pawn, from, attacked, safe);
            let known = safe & !rest;
            sum.total = sum.total.wrapping_add(passing(double & known));
            make(set, to & !known);
        });
        made
    }
}

/// One square towards the a-file.
#[inline(always)]
fn west_of(set: u64) -> u64 {
    (set & !A_FILE) >> 1
}

/// One square towards the h-file.
#[inline(always)]
fn east_of(set: u64) -> u64 {
    (set << 1) & !A_FILE
}
