//! Counts the legal moves of one board, without making any.

use referee_chess::Sliders;
use referee_chess::rays::{between, king_attacks, knight_attacks, line, pawn_attacks};

use crate::board::{
    Board, Side, ahead, bishop, bit, can_castle, each, east, is_en_passant_safe, is_many, lowest,
    rook, size, west,
};

tuned! {
    /// Everything that a side attacks, through the king of the other side as well.
    #[inline]
    pub(crate) fn attacked_by<S: Sliders, C: Side>(sliders: S, board: &Board) -> u64 {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let occupied = (us | them) ^ (board.kings & them);
        let pawns = board.pawns & us;
        let mut attacked = west::<C>(pawns) | east::<C>(pawns);
        attacked |= king_attacks(lowest(board.kings & us)).0;
        each(board.knights & us, |from| attacked |= knight_attacks(from).0);
        each(board.diagonals & us, |from| attacked |= bishop(sliders, from, occupied));
        each(board.orthogonals & us, |from| attacked |= rook(sliders, from, occupied));
        attacked
    }

    /// The number of moves that some pawns have to the squares of `goal`, without en passant.
    #[inline]
    pub(crate) fn count_pawns<C: Side>(pawns: u64, occupied: u64, them: u64, goal: u64) -> u64 {
        let single = ahead::<C>(pawns) & !occupied;
        let double = ahead::<C>(single & C::THIRD) & !occupied & goal;
        let single = single & goal;
        let west = west::<C>(pawns) & them & goal;
        let east = east::<C>(pawns) & them & goal;
        let mut count = size(single) + size(double) + size(west) + size(east);
        if (single | west | east) & C::LAST != 0 {
            count += 3 * (size(single & C::LAST) + size(west & C::LAST) + size(east & C::LAST));
        }
        count
    }

    /// The number of legal moves of a side.
    pub(crate) fn leaf<S: Sliders, C: Side>(sliders: S, board: &Board, en_passant: u64) -> u64 {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let occupied = us | them;
        let king = lowest(board.kings & us);
        let (checkers, pinned) = board.checks_and_pins::<C>(king);
        let steps = king_attacks(king).0 & !us;
        let castlers = board.castling & us;
        let mut count = 0;
        if steps | castlers != 0 {
            let attacked = attacked_by::<S, C::Other>(sliders, board);
            count += size(steps & !attacked);
            if checkers == 0 {
                each(castlers, |castler| {
                    let can = can_castle::<S, C>(sliders, board, king, castler, attacked);
                    count += u64::from(can);
                });
            }
        }
        if is_many(checkers) {
            return count;
        }
        let goal = if checkers == 0 {
            !us
        } else {
            checkers | between(king, lowest(checkers)).0
        };
        each(board.knights & us & !pinned, |from| count += size(knight_attacks(from).0 & goal));
        let free = us & !pinned;
        each(board.diagonals & free, |from| {
            count += size(bishop(sliders, from, occupied) & goal);
        });
        each(board.orthogonals & free, |from| {
            count += size(rook(sliders, from, occupied) & goal);
        });
        let pawns = board.pawns & us;
        count += count_pawns::<C>(pawns & !pinned, occupied, them, goal);
        each(pinned & !board.knights, |from| {
            let on_line = goal & line(king, from).0;
            if bit(from) & board.pawns != 0 {
                count += count_pawns::<C>(bit(from), occupied, them, on_line);
            }
            if bit(from) & board.diagonals != 0 {
                count += size(bishop(sliders, from, occupied) & on_line);
            }
            if bit(from) & board.orthogonals != 0 {
                count += size(rook(sliders, from, occupied) & on_line);
            }
        });
        if en_passant != 0 {
            each(pawn_attacks(<C::Other>::COLOR, lowest(en_passant)).0 & pawns, |from| {
                count += u64::from(is_en_passant_safe::<S, C>(
                    sliders, board, king, bit(from), en_passant, checkers,
                ));
            });
        }
        count
    }
}
