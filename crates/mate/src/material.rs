//! What follows from the pieces alone, wherever they stand.

use referee_chess::{Bitboard, Board, Color, Role};

/// Returns whether a side can never mate with the pieces that are on the board, or will be after
/// captures and promotions. The question is for positions that are not mate already.
///
/// Three cases, each of which stays as it is or becomes another of them with every legal move:
///
/// - The side has nothing but its king.
/// - It has a knight, and the opponent nothing but queens. A knight that gives mate needs men of
///   the opponent to bar its king, and a queen that bars its king can take the knight.
/// - It has bishops that all stand on squares of one color, and nobody has a bishop on the other
///   color, a knight or a pawn. The squares of the other color around the king can only be barred
///   by rooks and queens next to it, which can always take the bishop or step in between.
#[inline]
#[must_use]
pub(crate) fn is_hopeless(board: &Board, winner: Color) -> bool {
    let men = board.color(winner);
    let strong = board.role(Role::Pawn) | board.role(Role::Rook) | board.role(Role::Queen);
    if (men & strong).any() {
        return false;
    }
    let pieces = men - board.role(Role::King);
    if pieces.is_empty() {
        return true;
    }
    let knights = board.role(Role::Knight);
    if (pieces & knights).any() {
        let others = board.color(!winner) - board.role(Role::King) - board.role(Role::Queen);
        return !pieces.more_than_one() && others.is_empty();
    }
    let bishops = board.role(Role::Bishop);
    let is_one_color =
        (bishops & Bitboard::LIGHT).is_empty() || (bishops & Bitboard::DARK).is_empty();
    is_one_color && (board.role(Role::Pawn) | knights).is_empty()
}
