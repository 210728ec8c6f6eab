//! Counts two plies mostly without making a move.
//!
//! Let the side to move pass, and count the replies once. After most moves the other side has
//! just as many, but for what the two squares of the move change: a line that opens where the
//! piece left, a line or a pawn that is stopped where it arrives, a pawn that finds a capture or
//! loses one. These changes add up square by square, as long as the move leaves alone what
//! decides about check, pins, steps of the king and castling of the other side. Moves that do not
//! are made and their replies counted one by one.
//!
//! "We" are the side to move, "they" are the side that replies. What one of our moves does to
//! their replies is told apart by origin ([`Replies::vacate`]) and arrival ([`settle`]);
//! a move whose two squares act on the same line of the same piece is made.

use referee_chess::rays::{king_attacks, knight_attacks, line};
use referee_chess::{Sliders, Square};

use super::critical::Critical;
use super::expand::{expand, expand_en_passant};
use super::leaf::leaf;
use super::ours::{Ours, SLIDERS_MAX};
use super::pawn_moves::pawn_moves;
use super::replies::Replies;
use super::sum::{Sum, View, settle};
use crate::board::{Board, Kind, Side, bit, can_castle, each, lowest, size};

const CORNERS: u64 = 0x8100_0000_0000_0081;
const E_FILE_BACK_RANKS: u64 = 0x1000_0000_0000_0010;

tuned! {
    /// The number of paths of two moves.
    pub(crate) fn count_two<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
    ) -> u64 {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let king = lowest(board.kings & us);
        let (checkers, pinned) = board.checks_and_pins::<C>(king);
        let many = |set: u64| {
            size(set & board.diagonals) + size(set & board.orthogonals) > SLIDERS_MAX as u64
        };
        let castlers = board.castling & them;
        let unusual = castlers & !CORNERS != 0
            || castlers != 0 && board.kings & them & E_FILE_BACK_RANKS == 0;
        if checkers != 0 || unusual || many(us) || many(them) {
            return count_each_of_two::<S, C>(sliders, board, en_passant);
        }
        count_by_null_move::<S, C>(sliders, board, en_passant, king, pinned)
    }

    #[cold]
    fn count_each_of_two<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
    ) -> u64 {
        let mut total = 0;
        expand::<S, C>(sliders, board, en_passant, |next, en_passant| {
            total += leaf::<S, C::Other>(sliders, next, en_passant);
        });
        total
    }

    #[inline]
    fn count_by_null_move<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        king: Square,
        pinned: u64,
    ) -> u64 {
        let ours = Ours::new::<S, C>(sliders, board);
        let critical = Critical::new::<S, C>(sliders, board, &ours);
        let replies = Replies::new::<S, C>(sliders, board, &ours, &critical);
        let view = View {
            sliders,
            board,
            replies: &replies,
            critical: &critical,
        };
        let us = ours.us;
        let mut sum = Sum::default();
        let mut made = 0;
        let mut make = |kind: Kind, from: Square, to: u64| {
            each(to, |to| {
                let next = board.after::<C>(kind, bit(from), bit(to));
                made += leaf::<S, C::Other>(sliders, &next, 0);
            });
        };
        each(board.knights & us & !pinned, |from| {
            let attacked = knight_attacks(from).0;
            let kind = Kind::Knight;
            make(kind, from, sum.add_piece::<S, C>(&view, kind, from, attacked, attacked & !us));
        });
        ours.each_slider(|kind, from, attacked| {
            let to = attacked & !us;
            let to = if bit(from) & pinned != 0 { to & line(king, from).0 } else { to };
            make(kind, from, sum.add_piece::<S, C>(&view, kind, from, attacked, to));
        });
        let steps = king_attacks(king).0;
        let to = steps & !us & !replies.attacked;
        make(Kind::King, king, sum.add_piece::<S, C>(&view, Kind::King, king, steps, to));
        each(board.castling & us, |castler| {
            if can_castle::<S, C>(sliders, board, king, castler, replies.attacked) {
                let next = board.after_castling::<C>(king, castler);
                made += leaf::<S, C::Other>(sliders, &next, 0);
            }
        });
        made += pawn_moves::<S, C>(&view, &mut sum, king, pinned);
        if en_passant != 0 {
            expand_en_passant::<S, C>(sliders, board, en_passant, 0, &mut |next, _| {
                made += leaf::<S, C::Other>(sliders, next, 0);
            });
        }
        if sum.arrivals.overflow != 0 {
            return count_each_of_two::<S, C>(sliders, board, en_passant);
        }
        let settled = settle::<S, C>(sliders, board, &replies, &sum.arrivals);
        made.wrapping_add(sum.total).wrapping_add(settled)
    }
}
