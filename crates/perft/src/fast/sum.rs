//! The sum over our moves: each has the replies to a null move, but for what its squares change.

use referee_chess::rays::{king_attacks, knight_attacks, pawn_attacks};
use referee_chess::{Sliders, Square};

use super::critical::Critical;
use super::ours::{Lines, SLIDERS_MAX};
use super::replies::Replies;
use crate::board::{Board, Kind, Side, Squares, back, bishop, bit, rook, size};
use crate::lines::beyond;

/// Our moves by square of arrival, counted in binary: one set for each digit.
#[derive(Default)]
pub(super) struct Arrivals {
    digits: [u64; 3],
    /// Squares with more moves than the digits can tell; hardly a position of a game has any.
    pub(super) overflow: u64,
}

impl Arrivals {
    #[inline(always)]
    pub(super) fn add(&mut self, set: u64) {
        let [ones, twos, fours] = self.digits;
        let two = ones & set;
        let four = twos & two;
        self.digits = [ones ^ set, twos ^ two, fours ^ four];
        self.overflow |= fours & four;
    }

    #[inline(always)]
    fn any(&self) -> u64 {
        self.digits[0] | self.digits[1] | self.digits[2]
    }

    /// How many moves arrive on a square.
    #[inline(always)]
    fn at(&self, square: Square) -> u64 {
        let digit = |index: usize| self.digits[index] >> square.index() & 1;
        digit(0) + 2 * digit(1) + 4 * digit(2)
    }

    /// How many moves arrive on the squares of a set.
    #[inline(always)]
    fn on(&self, set: u64) -> u64 {
        size(self.digits[0] & set) + 2 * size(self.digits[1] & set) + 4 * size(self.digits[2] & set)
    }
}

/// What a piece of a known kind attacks on an occupied board.
#[inline(always)]
fn attacks<S: Sliders, C: Side>(sliders: S, kind: Kind, from: Square, occupied: u64) -> u64 {
    match kind {
        Kind::Pawn => pawn_attacks(C::COLOR, from).0,
        Kind::Knight => knight_attacks(from).0,
        Kind::Bishop => bishop(sliders, from, occupied),
        Kind::Rook => rook(sliders, from, occupied),
        Kind::Queen => bishop(sliders, from, occupied) | rook(sliders, from, occupied),
        Kind::King => king_attacks(from).0,
    }
}

/// One of our pieces and what is to be known of it.
pub(super) struct Mover {
    pub(super) kind: Kind,
    pub(super) from: Square,
    /// What it attacks where it stands.
    pub(super) attacked: u64,
    /// Where it must not go for its replies to be known.
    pub(super) barred: u64,
    /// Where it changes what their king can step to.
    pub(super) near: u64,
}

/// The sum that is being built.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) total: u64,
    pub(super) arrivals: Arrivals,
}

impl Sum {
    /// Adds those moves of one piece whose replies are known, and returns those that have to be
    /// made.
    #[inline(always)]
    pub(super) fn add_piece<S: Sliders, C: Side>(
        &mut self,
        view: &View<'_, S>,
        mover: &Mover,
        to: u64,
    ) -> u64 {
        let View {
            replies, critical, ..
        } = view;
        let from = bit(mover.from);
        if from & critical.origins != 0 {
            return to;
        }
        let mut known = to & !mover.barred;
        if mover.attacked & critical.zone != 0 {
            known &= !critical.second;
        }
        let mut each_has = replies.count;
        if from & replies.sensitive() != 0 {
            let vacated = replies.vacate::<S, C>(view.sliders, mover.from);
            known &= !vacated.except;
            each_has = each_has.wrapping_add(vacated.gain);
            let mutual = size(known & vacated.mutual) * vacated.weight;
            self.total = self.total.wrapping_add(mutual);
        }
        self.arrivals.add(known);
        let near = if mover.attacked & critical.sole != 0 {
            known
        } else {
            known & mover.near
        };
        let quick = size(known ^ near).wrapping_mul(each_has);
        self.total = self.total.wrapping_add(quick);
        if near != 0 {
            self.add_around_king::<S, C>(view, mover, near, each_has);
        }
        to ^ known
    }

    /// Adds moves that only change what their king can step to.
    #[inline(always)]
    pub(super) fn add_around_king<S: Sliders, C: Side>(
        &mut self,
        view: &View<'_, S>,
        mover: &Mover,
        to: u64,
        each_has: u64,
    ) {
        let critical = view.critical;
        let kept = critical.once & !(mover.attacked & !critical.twice);
        let others = each_has.wrapping_sub(critical.king_moves);
        let occupied = view.replies.occupied ^ bit(mover.from);
        for to in Squares(to) {
            let now = kept | attacks::<S, C>(view.sliders, mover.kind, to, occupied);
            let has = others.wrapping_add(critical.king_moves(now));
            self.total = self.total.wrapping_add(has);
        }
    }
}

/// All that bears on our moves.
pub(super) struct View<'a, S> {
    pub(super) sliders: S,
    pub(super) board: &'a Board,
    pub(super) replies: &'a Replies,
    pub(super) critical: &'a Critical,
}

/// By how much their replies grow because of the squares on which our moves arrive. `lines` is
/// what their sliding pieces attack.
#[inline(always)]
pub(super) fn settle<S: Sliders, C: Side>(
    sliders: S,
    board: &Board,
    replies: &Replies,
    lines: &Lines,
    arrivals: &Arrivals,
) -> u64 {
    let quiet = !replies.occupied;
    let (west, east) = (replies.west & quiet, replies.east & quiet);
    let before_double = back::<C::Other>(replies.double);
    let mut total = arrivals.on(west).wrapping_add(arrivals.on(east));
    total = total
        .wrapping_sub(arrivals.on(replies.single))
        .wrapping_sub(arrivals.on(replies.double))
        .wrapping_sub(arrivals.on(before_double));
    let any = arrivals.any();
    if any & replies.last & (west | east | replies.single) != 0 {
        let last = replies.last;
        let promoting = arrivals
            .on(west & last)
            .wrapping_add(arrivals.on(east & last))
            .wrapping_sub(arrivals.on(replies.single & last));
        total = total.wrapping_add(promoting.wrapping_mul(3));
    }
    for taken in Squares(any & replies.them) {
        let gain = replies.capture::<S, C>(sliders, board, taken);
        total = total.wrapping_add(gain.wrapping_mul(arrivals.at(taken)));
    }
    if replies.lines & any & quiet == 0 {
        return total;
    }
    let mut index = 0;
    for sliding in [replies.diagonals, replies.orthogonals] {
        for from in Squares(sliding) {
            let attacks = lines[index & (SLIDERS_MAX - 1)];
            index += 1;
            let to = attacks & !replies.them;
            for square in Squares(attacks & any & quiet) {
                let lost = size(beyond(from, square) & to);
                total = total.wrapping_sub(lost * arrivals.at(square));
            }
        }
    }
    total
}
