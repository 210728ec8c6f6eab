//! The moves of our pawns, summed as sets where it can be.

use referee_chess::rays::line;
use referee_chess::{Sliders, Square};

use super::expand::passed;
use super::leaf::{leaf, leaf_after};
use super::replies::Replies;
use super::sum::{Mover, Sum, View};
use crate::board::{Board, Kind, Side, Squares, ahead, back, bit, east, lowest, size, west};

const A_FILE: u64 = 0x0101_0101_0101_0101;

/// What a double step of ours gives their pawns beside it: a capture en passant for each. That
/// pawn is not pinned and ours shields nothing, so taking is legal.
struct Passing {
    west: u64,
    east: u64,
    /// Beside pinned pawns it is not clear, so the step is made.
    unclear: u64,
}

impl Passing {
    #[inline(always)]
    fn of(replies: &Replies) -> Passing {
        let takers = replies.free_pawns;
        let pinned = replies.their_pawns & !takers;
        Passing {
            west: west_of(takers),
            east: east_of(takers),
            unclear: west_of(pinned) | east_of(pinned),
        }
    }

    #[inline(always)]
    fn captures(&self, double: u64) -> u64 {
        size(double & self.west) + size(double & self.east)
    }
}

/// Adds the moves of one pawn, and returns those that have to be made.
#[inline(always)]
fn add_one<S: Sliders, C: Side>(
    view: &View<'_, S>,
    sum: &mut Sum,
    passing: &Passing,
    from: u64,
    to: u64,
    double: u64,
) -> u64 {
    let critical = view.critical;
    let mover = Mover {
        kind: Kind::Pawn,
        from: lowest(from),
        attacked: west::<C>(from) | east::<C>(from),
        barred: critical.arrivals | critical.strikes.pawns,
        near: critical.guards.pawns,
    };
    let safe = to & !(C::LAST | double & passing.unclear);
    let rest = sum.add_piece::<S, C>(view, &mover, safe);
    let known = safe ^ rest;
    let captures = passing.captures(double & known);
    sum.total = sum.total.wrapping_add(captures);
    to ^ known
}

tuned! {
    /// Adds the moves of our pawns, and returns the replies to those that were made.
    #[inline]
    pub(super) fn add_pawns<S: Sliders, C: Side>(
        view: &View<'_, S>,
        sum: &mut Sum,
        king: Square,
        pinned: u64,
    ) -> u64 {
        let (board, replies, critical) = (view.board, view.replies, view.critical);
        let (them, occupied) = (replies.them, replies.occupied);
        let our_pawns = board.pawns & (occupied ^ them);
        let passing = Passing::of(replies);

        // Pawns that change nothing by leaving go as one set.
        let guards = west::<C::Other>(critical.sole) | east::<C::Other>(critical.sole);
        let special = our_pawns & (pinned | critical.origins | guards | replies.sensitive());
        let plain = our_pawns & !special;
        let single = ahead::<C>(plain) & !occupied;
        let double = ahead::<C>(single & C::THIRD) & !occupied;
        let (to_west, to_east) = (west::<C>(plain), east::<C>(plain));
        let attacked = to_west | to_east;
        let groups = [single | double, to_west & them, to_east & them];
        let strikes = critical.strikes.pawns | critical.guards.pawns;
        let mut barred = critical.arrivals | strikes | C::LAST;
        if attacked & critical.zone != 0 {
            barred |= critical.second;
        }
        let pushes = groups[0] & !(barred | double & passing.unclear);
        let (takes_west, takes_east) = (groups[1] & !barred, groups[2] & !barred);
        sum.arrivals.add(pushes);
        sum.arrivals.add(takes_west);
        sum.arrivals.add(takes_east);
        let moves = size(pushes) + size(takes_west) + size(takes_east);
        let quick = moves.wrapping_mul(replies.count);
        let captures = passing.captures(double & pushes);
        sum.total = sum.total.wrapping_add(quick).wrapping_add(captures);

        let mut made = 0;
        let checks = critical.strikes.pawns;
        let rest = [
            groups[0] ^ pushes,
            groups[1] ^ takes_west,
            groups[2] ^ takes_east,
        ];
        if rest[0] | rest[1] | rest[2] != 0 {
            for (side, rest) in rest.into_iter().enumerate() {
                for to in Squares(rest) {
                    let from = origin::<C>(side, bit(to), plain);
                    let rest = add_one::<S, C>(view, sum, &passing, from, bit(to), double);
                    made += make::<S, C>(view.sliders, board, from, rest, checks);
                }
            }
        }
        for from in Squares(special) {
            let set = bit(from);
            let single = ahead::<C>(set) & !occupied;
            let double = ahead::<C>(single & C::THIRD) & !occupied;
            let attacked = west::<C>(set) | east::<C>(set);
            let mut to = single | double | attacked & them;
            if set & pinned != 0 {
                to &= line(king, from).0;
            }
            let rest = add_one::<S, C>(view, sum, &passing, set, to, double);
            if rest != 0 {
                made += make::<S, C>(view.sliders, board, set, rest, checks);
            }
        }
        made
    }

    /// The number of replies to the moves of one pawn. From the squares of `checks` it checks.
    fn make<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        from: u64,
        to: u64,
        checks: u64,
    ) -> u64 {
        let mut made = 0;
        for to in Squares(to) {
            let to = bit(to);
            if to & C::LAST != 0 {
                for kind in [Kind::Queen, Kind::Rook, Kind::Bishop, Kind::Knight] {
                    let next = board.after_promotion::<C>(from, to, kind);
                    made += leaf::<S, C::Other>(sliders, &next, 0);
                }
            } else {
                let next = board.after::<C>(Kind::Pawn, from, to);
                let is_double = from == back::<C>(back::<C>(to));
                let en_passant = if is_double { passed::<C>(&next, to) } else { 0 };
                made += leaf_after::<S, C::Other>(sliders, &next, to & checks, en_passant);
            }
        }
        made
    }
}

/// Where one of some pawns came from: straight ahead, or towards the a-file or the h-file.
#[inline(always)]
fn origin<C: Side>(side: usize, to: u64, pawns: u64) -> u64 {
    let behind = back::<C>(to);
    match side {
        0 if behind & pawns != 0 => behind,
        0 => back::<C>(behind),
        1 => behind << 1,
        _ => behind >> 1,
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
