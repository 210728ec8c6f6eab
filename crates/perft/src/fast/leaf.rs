//! Counts the legal moves of one board, without making any.

use referee_chess::rays::{
    between, bishop_rays, king_attacks, knight_attacks, line, pawn_attacks, rook_rays,
};
use referee_chess::{Sliders, Square};

use crate::board::{
    Board, Side, Squares, ahead, bishop, bit, can_castle, each, east, is_en_passant_safe, is_many,
    lowest, rook, size, west,
};
use crate::lines::{CASTLING_PATHS, CASTLING_ZONES, CROSSED, knights_near};

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
        let king = lowest(board.kings & board.of::<C>());
        let leapers = knight_attacks(king).0 & board.knights
            | pawn_attacks(C::COLOR, king).0 & board.pawns;
        leaf_after::<S, C>(sliders, board, leapers & board.of::<C::Other>(), en_passant)
    }

    /// The number of legal moves of a side that a known knight or pawn checks, or none.
    pub(crate) fn leaf_after<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        leapers: u64,
        en_passant: u64,
    ) -> u64 {
        let us = board.of::<C>();
        let them = board.of::<C::Other>();
        let occupied = us | them;
        let king = lowest(board.kings & us);
        let snipers =
            (rook_rays(king).0 & board.orthogonals | bishop_rays(king).0 & board.diagonals) & them;
        let mut checkers = leapers;
        let mut pinned = 0;
        for sniper in Squares(snipers) {
            let shield = between(king, sniper).0 & occupied;
            if !is_many(shield) {
                pinned |= shield & us;
                checkers |= if shield == 0 { bit(sniper) } else { 0 };
            }
        }
        let steps = king_attacks(king).0 & !us;
        let castlers = if checkers == 0 { board.castling & us } else { 0 };
        let mut count = 0;
        if steps | castlers != 0 {
            count = count_king_moves::<S, C>(sliders, board, king, steps, castlers);
        }
        if is_many(checkers) {
            return count;
        }
        let goal = if checkers == 0 {
            !us
        } else {
            checkers | between(king, lowest(checkers)).0
        };
        let free = us & !pinned;
        for from in Squares(board.knights & free) {
            count += size(knight_attacks(from).0 & goal);
        }
        for from in Squares(board.diagonals & free) {
            count += size(bishop(sliders, from, occupied) & goal);
        }
        for from in Squares(board.orthogonals & free) {
            count += size(rook(sliders, from, occupied) & goal);
        }
        count += count_pawns::<C>(board.pawns & free, occupied, them, goal);
        for from in Squares(pinned & !board.knights) {
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
        }
        if en_passant != 0 {
            count += count_en_passant::<S, C>(sliders, board, en_passant, checkers);
        }
        count
    }

    /// The number of legal captures en passant.
    #[cold]
    fn count_en_passant<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        en_passant: u64,
        checkers: u64,
    ) -> u64 {
        let us = board.of::<C>();
        let king = lowest(board.kings & us);
        let takers = pawn_attacks(<C::Other>::COLOR, lowest(en_passant)).0 & board.pawns & us;
        let mut count = 0;
        for from in Squares(takers) {
            count += u64::from(is_en_passant_safe::<S, C>(
                sliders, board, king, bit(from), en_passant, checkers,
            ));
        }
        count
    }

    /// The number of legal steps of a king, and of castlings. Of what the other side attacks, that
    /// is looked up which may reach a square that the king goes to or crosses.
    #[inline]
    fn count_king_moves<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        king: Square,
        steps: u64,
        castlers: u64,
    ) -> u64 {
        let them = board.of::<C::Other>();
        let occupied = board.of::<C>() | them;
        let pawns = board.pawns & them;
        let mut attacked = west::<C::Other>(pawns) | east::<C::Other>(pawns);
        attacked |= king_attacks(lowest(board.kings & them)).0;
        let mut knights = board.knights & them & knights_near(king);
        let mut zone = zone!(king, steps & !attacked);
        // What the king crosses, towards either side; all where it cannot castle.
        let mut crossed = [!0; 2];
        if castlers != 0 {
            if bit(king) != C::KING_HOME || castlers & !(C::CORNERS[0] | C::CORNERS[1]) != 0 {
                return count_king_moves_anywhere::<S, C>(sliders, board, king, steps, castlers);
            }
            for side in 0..2 {
                let is_clear = occupied & CASTLING_PATHS[side] << C::FIRST == 0;
                if castlers & C::CORNERS[side] != 0 && is_clear {
                    crossed[side] = CROSSED[side] << C::FIRST;
                    let wider = &CASTLING_ZONES[C::COLOR.index()][side];
                    zone.bishops |= wider.bishops;
                    zone.rooks |= wider.rooks;
                    knights = board.knights & them;
                }
            }
        }
        let seen_through = occupied ^ bit(king);
        for from in Squares(knights) {
            attacked |= knight_attacks(from).0;
        }
        for from in Squares(board.diagonals & them & zone.bishops) {
            attacked |= bishop(sliders, from, seen_through);
        }
        for from in Squares(board.orthogonals & them & zone.rooks) {
            attacked |= rook(sliders, from, seen_through);
        }
        size(steps & !attacked)
            + u64::from(crossed[0] & attacked == 0)
            + u64::from(crossed[1] & attacked == 0)
    }

    /// The same where king and rooks stand as in Chess960.
    #[cold]
    fn count_king_moves_anywhere<S: Sliders, C: Side>(
        sliders: S,
        board: &Board,
        king: Square,
        steps: u64,
        castlers: u64,
    ) -> u64 {
        let attacked = attacked_by::<S, C::Other>(sliders, board);
        let mut count = size(steps & !attacked);
        for castler in Squares(castlers) {
            count += u64::from(can_castle::<S, C>(sliders, board, king, castler, attacked));
        }
        count
    }
}
