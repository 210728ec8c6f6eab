//! Makes every legal move of one board.

use referee_chess::rays::{between, king_attacks, knight_attacks, line, pawn_attacks};
use referee_chess::{PositionKey, Sliders, Square};

use super::leaf::attacked_by;
use crate::board::{
    Board, Kind, Side, ahead, back, bishop, bit, can_castle, each, east, is_en_passant_safe,
    is_many, lowest, rook, west,
};
use crate::key::pack;

/// The pieces that a pawn can become (FIDE Laws 3.7.3.3).
const PROMOTIONS: [Kind; 4] = [Kind::Queen, Kind::Knight, Kind::Rook, Kind::Bishop];

/// The square behind a pawn that has just made a double step, as a set; empty where no pawn
/// stands ready to take it there. Whether taking is legal is not asked here.
#[inline(always)]
pub(crate) fn passed<C: Side>(board: &Board, to: u64) -> u64 {
    let behind = back::<C>(to);
    let takers = board.pawns & board.of::<C::Other>();
    if (west::<C>(behind) | east::<C>(behind)) & takers != 0 {
        behind
    } else {
        0
    }
}

tuned! {
    /// Visits the board after each move of some pawns to squares of `goal`, without en passant.
    #[inline]
    pub(crate) fn expand_pawns<C: Side>(
        board: &Board,
        pawns: u64,
        goal: u64,
        visit: &mut impl FnMut(&Board, u64),
    ) {
        let them = board.of::<C::Other>();
        let occupied = board.of::<C>() | them;
        let single = ahead::<C>(pawns) & !occupied;
        let double = ahead::<C>(single & C::THIRD) & !occupied & goal;
        each(double, |to| {
            let to = bit(to);
            let next = board.after::<C>(Kind::Pawn, back::<C>(back::<C>(to)), to);
            let en_passant = passed::<C>(&next, to);
            visit(&next, en_passant);
        });
        let single = single & goal;
        // Each arrival is one step ahead of its origin, with or without a step aside.
        let mut arrive = |to: u64, from: fn(u64) -> u64| {
            each(to & !C::LAST, |to| {
                visit(&board.after::<C>(Kind::Pawn, from(bit(to)), bit(to)), 0);
            });
            each(to & C::LAST, |to| {
                for kind in PROMOTIONS {
                    visit(&board.after_promotion::<C>(from(bit(to)), bit(to), kind), 0);
                }
            });
        };
        arrive(single, |to| back::<C>(to));
        arrive(west::<C>(pawns) & them & goal, |to| back::<C>(to << 1));
        arrive(east::<C>(pawns) & them & goal, |to| back::<C>(to >> 1));
    }

    /// Visits the board after each capture en passant.
    #[inline]
    pub(crate) fn expand_en_passant<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        checkers: u64,
        visit: &mut impl FnMut(&Board, u64),
    ) {
        let us = board.of::<C>();
        let king = lowest(board.kings & us);
        let takers = pawn_attacks(<C::Other>::COLOR, lowest(en_passant)).0 & board.pawns & us;
        each(takers, |from| {
            let from = bit(from);
            if is_en_passant_safe::<S, C>(sliders, board, king, from, en_passant, checkers) {
                visit(&board.after_en_passant::<C>(from, en_passant), 0);
            }
        });
    }

    /// Visits the board after each legal move, with the square of a possible capture en passant.
    #[inline]
    pub(crate) fn expand<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        mut visit: impl FnMut(&Board, u64),
    ) {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let occupied = us | them;
        let king = lowest(board.kings & us);
        let (checkers, pinned) = board.checks_and_pins::<C>(king);
        if !is_many(checkers) {
            let goal = if checkers == 0 {
                !us
            } else {
                checkers | between(king, lowest(checkers)).0
            };
            let mut piece = |kind: Kind, from: Square, to: u64| {
                let to = if bit(from) & pinned != 0 { to & line(king, from).0 } else { to };
                each(to & goal, |to| visit(&board.after::<C>(kind, bit(from), bit(to)), 0));
            };
            each(board.knights & us & !pinned, |from| {
                piece(Kind::Knight, from, knight_attacks(from).0);
            });
            each(board.diagonals & !board.orthogonals & us, |from| {
                piece(Kind::Bishop, from, bishop(sliders, from, occupied));
            });
            each(board.orthogonals & !board.diagonals & us, |from| {
                piece(Kind::Rook, from, rook(sliders, from, occupied));
            });
            each(board.orthogonals & board.diagonals & us, |from| {
                let to = rook(sliders, from, occupied) | bishop(sliders, from, occupied);
                piece(Kind::Queen, from, to);
            });
            let pawns = board.pawns & us;
            expand_pawns::<C>(board, pawns & !pinned, goal, &mut visit);
            each(pawns & pinned, |from| {
                expand_pawns::<C>(board, bit(from), goal & line(king, from).0, &mut visit);
            });
            if en_passant != 0 {
                expand_en_passant::<S, C>(sliders, board, en_passant, checkers, &mut visit);
            }
        }
        let steps = king_attacks(king).0 & !us;
        let castlers = if checkers == 0 { board.castling & us } else { 0 };
        if steps | castlers != 0 {
            let attacked = attacked_by::<S, C::Other>(sliders, board);
            each(steps & !attacked, |to| {
                visit(&board.after::<C>(Kind::King, bit(king), bit(to)), 0);
            });
            each(castlers, |castler| {
                if can_castle::<S, C>(sliders, board, king, castler, attacked) {
                    visit(&board.after_castling::<C>(king, castler), 0);
                }
            });
        }
    }

    /// Whether a capture en passant is legal.
    fn can_take<S: Sliders, C: Side>(sliders: S, board: &Board, en_passant: u64) -> bool {
        let us = board.of::<C>();
        let king = lowest(board.kings & us);
        let (checkers, _) = board.checks_and_pins::<C>(king);
        let takers = pawn_attacks(<C::Other>::COLOR, lowest(en_passant)).0 & board.pawns & us;
        let mut can = false;
        each(takers, |from| {
            can |= is_en_passant_safe::<S, C>(
                sliders, board, king, bit(from), en_passant, checkers,
            );
        });
        can
    }

    /// Adds the key of the position after each legal move.
    pub(crate) fn children<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        into: &mut Vec<PositionKey>,
    ) {
        expand::<S, C>(sliders, board, en_passant, |next, passed| {
            let is_real = passed != 0 && can_take::<S, C::Other>(sliders, next, passed);
            into.push(pack(next, if is_real { passed } else { 0 }, !C::WHITE));
        });
    }
}
