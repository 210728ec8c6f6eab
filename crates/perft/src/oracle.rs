//! Counts with the second generator of `referee-chess`, which shares no code with the one that
//! everything else here rests on: it decides who is wrong.

use referee_chess::mailbox::Mailbox;
use referee_chess::{Position, PositionKey, Tolerance};

/// Returns the number of paths of exactly `depth` legal moves from a position. It takes time that
/// grows with the count: about a second for two or three million.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::oracle;
///
/// assert_eq!(oracle::count(&Position::startpos(), 3), 8_902);
/// ```
#[must_use]
pub fn count(position: &Position, depth: u32) -> u128 {
    Mailbox::from(&position.to_setup()).perft(depth)
}

/// Returns the keys of the positions that one legal move leads to, which rise. No two moves lead to
/// the same one.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::oracle;
///
/// assert_eq!(oracle::children(&Position::startpos()).len(), 20);
/// ```
#[must_use]
pub fn children(position: &Position) -> Vec<PositionKey> {
    let board = Mailbox::from(&position.to_setup());
    let mut keys: Vec<PositionKey> = board
        .legal_moves()
        .into_iter()
        .filter_map(|mv| {
            let setup = board.after_unchecked(mv).to_setup();
            let child = Position::from_setup_with(&setup, Tolerance::PERFT);
            // A legal move leads to a position that can be counted from.
            child.ok().map(|child| child.exact_key())
        })
        .collect();
    keys.sort_unstable();
    keys
}
