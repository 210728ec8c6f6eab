//! The sum over our moves: each has the replies to a null move, but for what its squares change.

use referee_chess::rays::{king_attacks, knight_attacks, line, pawn_attacks};
use referee_chess::{Sliders, Square};

use super::critical::{Critical, can_castle_usually};
use super::replies::{Replies, Vacated};
use crate::board::{Board, Kind, Side, back, bishop, bit, each, lowest, rook, size};

/// Our moves by square of arrival, counted in binary: one set for each digit.
#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) digits: [u64; 4],
    /// Squares with more moves than the digits can tell; no position of a game has any.
    pub(super) overflow: u64,
}

impl Arrivals {
    #[inline(always)]
    pub(super) fn add(&mut self, set: u64) {
        let mut carry = set;
        for digit in &mut self.digits {
            let next = *digit & carry;
            *digit ^= carry;
            carry = next;
        }
        self.overflow |= carry;
    }

    #[inline(always)]
    pub(super) fn any(&self) -> u64 {
        self.digits[0] | self.digits[1] | self.digits[2] | self.digits[3]
    }

    /// How many moves arrive on a square.
    #[inline(always)]
    pub(super) fn at(&self, square: Square) -> u64 {
        let digit = |index: usize| self.digits[index] >> square.index() & 1;
        digit(0) + 2 * digit(1) + 4 * digit(2) + 8 * digit(3)
    }
}

/// What a piece of a known kind attacks on an occupied board.
#[inline(always)]
pub(super) fn attacks<S: Sliders, C: Side>(
    sliders: S,
    kind: Kind,
    from: Square,
    occupied: u64,
) -> u64 {
    match kind {
        Kind::Pawn => pawn_attacks(C::COLOR, from).0,
        Kind::Knight => knight_attacks(from).0,
        Kind::Bishop => bishop(sliders, from, occupied),
        Kind::Rook => rook(sliders, from, occupied),
        Kind::Queen => bishop(sliders, from, occupied) | rook(sliders, from, occupied),
        Kind::King => king_attacks(from).0,
    }
}

/// The sum that is being built.
#[derive(Default)]
pub(super) struct Sum {
    pub(super) total: u64,
    pub(super) arrivals: Arrivals,
}

impl Sum {
    /// Adds the moves of one piece, or of several pawns, whose replies are known, and returns
    /// those that have to be made. `attacked` is what a piece attacks where it stands.
    #[inline(always)]
    pub(super) fn add_piece<S: Sliders, C: Side>(
        &mut self,
        view: &View<'_, S>,
        kind: Kind,
        from: Square,
        attacked: u64,
        to: u64,
    ) -> u64 {
        let View {
            replies, critical, ..
        } = view;
        if bit(from) & critical.origins != 0 {
            return to;
        }
        let vacated = if bit(from) & replies.sensitive() != 0 {
            replies.vacate::<S, C>(view.sliders, from)
        } else {
            Vacated::default()
        };
        let known = self.add_quickly::<S>(view, kind, attacked, to, vacated);
        let rest = to & !known;
        if rest == 0 {
            return 0;
        }
        rest & !self.add_around_king::<S, C>(view, kind, from, attacked, rest, vacated)
    }

    /// Adds those moves that do not touch the surroundings of their king, and returns them.
    #[inline(always)]
    pub(super) fn add_quickly<S: Sliders>(
        &mut self,
        view: &View<'_, S>,
        kind: Kind,
        attacked: u64,
        to: u64,
        vacated: Vacated,
    ) -> u64 {
        let critical = view.critical;
        if attacked & critical.sole != 0 {
            return 0;
        }
        let mut known =
            to & !(critical.arrivals | critical.strikes.of(kind) | critical.guards.of(kind));
        if attacked & critical.zone != 0 {
            known &= !critical.second;
        }
        known &= !vacated.except;
        let each_has = view.replies.count.wrapping_add(vacated.gain);
        self.total = self
            .total
            .wrapping_add(size(known).wrapping_mul(each_has))
            .wrapping_add(size(known & vacated.mutual) * vacated.weight);
        self.arrivals.add(known);
        known
    }

    /// Adds those moves that only change what their king can step to, and returns them.
    #[inline(always)]
    pub(super) fn add_around_king<S: Sliders, C: Side>(
        &mut self,
        view: &View<'_, S>,
        kind: Kind,
        from: Square,
        attacked: u64,
        to: u64,
        vacated: Vacated,
    ) -> u64 {
        let critical = view.critical;
        let mut known = to & !(critical.arrivals | critical.strikes.of(kind) | vacated.except);
        if attacked & critical.zone != 0 {
            known &= !critical.second;
        }
        let kept = critical.once & !(attacked & !critical.twice);
        let each_has = view.replies.count.wrapping_add(vacated.gain);
        let each_has = each_has.wrapping_sub(critical.king_moves);
        each(known, |to| {
            let occupied = view.replies.occupied ^ bit(from);
            let now = kept | attacks::<S, C>(view.sliders, kind, to, occupied);
            let moves = view.king_moves(now);
            self.total = self.total.wrapping_add(each_has.wrapping_add(moves));
        });
        self.total = self
            .total
            .wrapping_add(size(known & vacated.mutual) * vacated.weight);
        self.arrivals.add(known);
        known
    }
}

/// All that bears on our moves.
pub(super) struct View<'a, S> {
    pub(super) sliders: S,
    pub(super) board: &'a Board,
    pub(super) replies: &'a Replies,
    pub(super) critical: &'a Critical,
}

impl<S: Sliders> View<'_, S> {
    /// How many steps and castlings their king has while we attack some squares.
    #[inline(always)]
    pub(super) fn king_moves(&self, attacked: u64) -> u64 {
        let them = self.replies.them;
        let mut count = size(self.critical.steps & !attacked);
        each(self.board.castling & them, |castler| {
            let king = lowest(self.board.kings & them);
            count += u64::from(can_castle_usually(
                king,
                castler,
                self.replies.occupied,
                attacked,
            ));
        });
        count
    }
}

/// By how much their replies grow because of the squares on which our moves arrive.
#[inline(always)]
pub(super) fn settle<S: Sliders, C: Side>(
    sliders: S,
    board: &Board,
    replies: &Replies,
    arrivals: &Arrivals,
) -> u64 {
    let mut total = 0u64;
    let before_double = back::<C::Other>(replies.double);
    let mut weight = 1u64;
    for digit in arrivals.digits {
        let quiet = digit & !replies.occupied;
        let last = quiet & replies.last;
        let gained = size(quiet & replies.west)
            + size(quiet & replies.east)
            + 3 * (size(last & replies.west) + size(last & replies.east));
        let lost = size(quiet & replies.single)
            + size(quiet & replies.double)
            + size(quiet & before_double)
            + 3 * size(last & replies.single);
        total = total.wrapping_add(weight.wrapping_mul(gained.wrapping_sub(lost)));
        weight *= 2;
    }
    let any = arrivals.any();
    each(any & replies.them, |taken| {
        let gain = replies.capture::<S, C>(sliders, board, taken);
        total = total.wrapping_add(gain.wrapping_mul(arrivals.at(taken)));
    });
    let quiet = any & !replies.occupied;
    replies.each_slider(|from, attacks| {
        let to = attacks & !replies.them;
        each(attacks & quiet, |square| {
            let upward = !1u64 << square.index();
            let side = if square > from {
                upward
            } else {
                bit(square) - 1
            };
            let lost = size(line(from, square).0 & side & to);
            total = total.wrapping_sub(lost * arrivals.at(square));
        });
    });
    total
}
