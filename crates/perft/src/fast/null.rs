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
use super::leaf::{leaf, leaf_after};
use super::ours::{DIAGONAL, ORTHOGONAL, Ours, SLIDERS_MAX, SLIDING};
use super::pawn_moves::add_pawns;
use super::replies::Replies;
use super::sum::{Mover, Sum, View, settle};
use crate::board::{Board, Kind, Side, Squares, bit, can_castle, lowest, size};

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
        // Hardly ever are there so many in all.
        let many = many(us | them) && (many(us) || many(them));
        let castlers = board.castling & them;
        let unusual = castlers & !CORNERS != 0
            || castlers != 0 && board.kings & them & E_FILE_BACK_RANKS == 0;
        if checkers != 0 || unusual || many {
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
        let mut our_lines = [0; SLIDERS_MAX];
        let mut their_lines = [0; SLIDERS_MAX];
        let ours = Ours::new::<S, C>(sliders, board, &mut our_lines);
        let critical = Critical::new::<S, C>(sliders, board, &ours, &our_lines);
        let replies =
            Replies::new::<S, C>(sliders, board, &ours, &critical, &mut their_lines);
        let view = View { sliders, board, replies: &replies, critical: &critical };
        let us = ours.us;
        let mut sum = Sum::default();
        let mut made = 0;
        for from in Squares(board.knights & us & !pinned) {
            let mover = mover(&critical, Kind::Knight, from, knight_attacks(from).0);
            for to in Squares(sum.add_piece::<S, C>(&view, &mover, mover.attacked & !us)) {
                let next = board.after::<C>(Kind::Knight, bit(from), bit(to));
                let check = bit(to) & critical.strikes.knights;
                made += leaf_after::<S, C::Other>(sliders, &next, check, 0);
            }
        }
        let (strikes, near) = (critical.strikes.sliding(), critical.guards.sliding());
        let mut index = 0;
        for kind in 0..SLIDING.len() {
            let barred = critical.arrivals | strikes[kind];
            for from in Squares(ours.sliders[kind]) {
                let attacked = our_lines[index & (SLIDERS_MAX - 1)];
                index += 1;
                let mut to = attacked & !us;
                if bit(from) & pinned != 0 {
                    to &= line(king, from).0;
                }
                if to == 0 {
                    continue;
                }
                let near = near[kind];
                let mover = Mover { kind: SLIDING[kind], from, attacked, barred, near };
                for to in Squares(sum.add_piece::<S, C>(&view, &mover, to)) {
                    let (from, to) = (bit(from), bit(to));
                    let next =
                        board.after_slide::<C>(DIAGONAL[kind], ORTHOGONAL[kind], from, to);
                    made += leaf_after::<S, C::Other>(sliders, &next, 0, 0);
                }
            }
        }
        let steps = king_attacks(king).0;
        let to = steps & !us & !replies.attacked;
        if to != 0 {
            let mover = mover(&critical, Kind::King, king, steps);
            for to in Squares(sum.add_piece::<S, C>(&view, &mover, to)) {
                let next = board.after::<C>(Kind::King, bit(king), bit(to));
                made += leaf_after::<S, C::Other>(sliders, &next, 0, 0);
            }
        }
        made += add_pawns::<S, C>(&view, &mut sum, king, pinned);
        if en_passant | board.castling & us != 0 {
            let attacked = replies.attacked;
            made += make_rare_moves::<S, C>(sliders, board, en_passant, king, attacked);
        }
        if sum.arrivals.overflow != 0 {
            return count_each_of_two::<S, C>(sliders, board, en_passant);
        }
        let settled = settle::<S, C>(sliders, board, &replies, &their_lines, &sum.arrivals);
        made.wrapping_add(sum.total).wrapping_add(settled)
    }

    /// The number of replies to castling and to captures en passant.
    #[inline]
    fn make_rare_moves<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        king: Square,
        attacked: u64,
    ) -> u64 {
        let mut made = 0;
        for castler in Squares(board.castling & board.of::<C>()) {
            if can_castle::<S, C>(sliders, board, king, castler, attacked) {
                let next = board.after_castling::<C>(king, castler);
                made += leaf::<S, C::Other>(sliders, &next, 0);
            }
        }
        if en_passant != 0 {
            expand_en_passant::<S, C>(sliders, board, en_passant, 0, &mut |next, _| {
                made += leaf::<S, C::Other>(sliders, next, 0);
            });
        }
        made
    }
}

/// What is to be known of a piece that is a king or a knight.
#[inline(always)]
fn mover(critical: &Critical, kind: Kind, from: Square, attacked: u64) -> Mover {
    Mover {
        kind,
        from,
        attacked,
        barred: critical.arrivals | critical.strikes.of(kind),
        near: critical.guards.of(kind),
    }
}
