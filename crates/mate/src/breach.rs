//! A king that walks to a man that bars a pawn of its own side, and takes it.
//!
//! Where all pawns of a side bar each other with those of the opponent, and it has nothing else to
//! mate with, nothing happens until a king gets through. Its way leads over squares that no pawn
//! of the opponent attacks, and it is known beforehand.

use referee_chess::{Bitboard, Board, Color, Move, Position, Rank, Role, Square};

/// The way of a king to a man that it is to take.
#[derive(Clone, Copy)]
pub(crate) struct Breach {
    barrier: Square,
    /// By square, the steps of the king that are left.
    steps: [u8; 64],
    /// Whose king it is.
    color: Color,
}

/// What a step counts.
const STEP: i32 = 4;

/// The steps from a square that leads nowhere.
const NOWHERE: u8 = 30;

impl Breach {
    /// Returns the way of the winner's king to the man that is best to take, or `None` where the
    /// winner has a queen or a rook, a pawn that is not barred by a man of the opponent, or no way
    /// for its king.
    ///
    /// Pawns of the opponent that can go on will have done so, where `minds_free` is not set.
    pub(crate) fn nearest(position: &Position, winner: Color, minds_free: bool) -> Option<Breach> {
        if !is_barred(position, winner) {
            return None;
        }
        Breach::of(position, winner, minds_free)
    }

    /// Returns the way of the loser's king to a man that bars one of its pawns, where the winner
    /// has more pawns than that and all of them are barred.
    pub(crate) fn nearest_of_loser(position: &Position, winner: Color) -> Option<Breach> {
        let board = position.board();
        let pawns = board.pieces(winner, Role::Pawn);
        if !pawns.more_than_one() || !is_barred(position, winner) {
            return None;
        }
        Breach::of(position, !winner, true)
    }

    fn of(position: &Position, color: Color, minds_free: bool) -> Option<Breach> {
        let board = position.board();
        let pawns = board.pieces(color, Role::Pawn);
        let barriers = barriers(board, color);
        let mut hostile = board.pieces(!color, Role::Pawn);
        if !minds_free {
            hostile &= board.occupied().forward(color);
        }
        let hostile = hostile.forward(!color);
        let open = !(hostile.left() | hostile.right() | pawns);
        let king = position.king(color);
        let ways = (barriers & open).into_iter().map(|barrier| {
            let breach = Breach {
                barrier,
                steps: steps_to(barrier, open),
                color,
            };
            let left = Rank::relative(!color, barrier.rank().index()).index();
            (breach.steps[king.index()] + left, breach)
        });
        let ways = ways.filter(|(_, breach)| breach.steps[king.index()] < NOWHERE);
        let nearest = ways.min_by_key(|&(cost, _)| cost);
        nearest.map(|(_, breach)| breach)
    }

    /// Returns whether a move is the capture that was looked for.
    pub(crate) fn is_done(&self, position: &Position, last: Move) -> bool {
        position.turn() != self.color && last.to() == self.barrier
    }

    /// Returns how far the king is from the man that it is to take.
    pub(crate) fn base(&self, position: &Position) -> i32 {
        STEP * i32::from(self.steps[position.king(self.color).index()])
    }

    /// Returns how far it is after a move, from a position with some distance.
    #[inline]
    pub(crate) fn priority(&self, base: i32, position: &Position, mv: Move) -> i32 {
        if position.turn() == self.color && mv.from() == position.king(self.color) {
            STEP * i32::from(self.steps[mv.to().index()])
        } else {
            base
        }
    }
}

/// Returns whether all that a side can mate with are pawns, and men of the opponent bar them all.
fn is_barred(position: &Position, winner: Color) -> bool {
    let board = position.board();
    let men = board.color(winner);
    let pawns = men & board.role(Role::Pawn);
    let heavy = board.role(Role::Queen) | board.role(Role::Rook);
    let mut behind = board.color(!winner);
    for _ in 0..6 {
        behind |= behind.forward(!winner);
    }
    pawns.any() && (men & heavy).is_empty() && (pawns - behind).is_empty()
}

/// Returns the men of the opponent that stand before pawns of a side, each as the next man on its
/// file.
fn barriers(board: &Board, color: Color) -> Bitboard {
    let mut ahead = board.pieces(color, Role::Pawn).forward(color);
    let mut found = Bitboard::EMPTY;
    for _ in 0..6 {
        found |= ahead & board.color(!color);
        ahead = (ahead - board.occupied()).forward(color);
    }
    found
}

/// Returns, by square, the steps of a king to a square over open squares.
fn steps_to(goal: Square, open: Bitboard) -> [u8; 64] {
    let mut steps = [NOWHERE; 64];
    let mut found = Bitboard::of(goal);
    let mut new = found;
    let mut distance = 0;
    while new.any() && distance < NOWHERE {
        for square in new {
            steps[square.index()] = distance;
        }
        distance += 1;
        let row = new | new.left() | new.right();
        // A king may leave a square to which it could not come.
        new = (row | row.up() | row.down()) - found;
        found |= new;
        for square in new - open {
            steps[square.index()] = distance;
        }
        new &= open;
    }
    steps
}
