//! Counts with the legal moves of [`Position`], one by one. Slow, and the oracle of every shortcut.

use referee_chess::Position;

/// Returns the number of paths of exactly `depth` legal moves from a position. Draws end no path,
/// since a draw by claim or by count is no rule of how pieces move.
///
/// The moves of the last ply are counted without making them.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::simple;
///
/// assert_eq!(simple::count(&Position::startpos(), 3), 8_902);
/// ```
#[must_use]
pub fn count(position: &Position, depth: u32) -> u128 {
    match depth {
        0 => 1,
        1 => u128::from(position.count_legal_moves()),
        _ => position
            .legal_moves()
            .into_iter()
            .map(|mv| count(&position.after_unchecked(mv), depth - 1))
            .sum(),
    }
}

/// Returns what [`count`] returns, with every move made, those of the last ply too.
///
/// ```
/// use referee_chess::Position;
/// use referee_perft::simple;
///
/// assert_eq!(simple::count_each(&Position::startpos(), 3), 8_902);
/// ```
#[must_use]
pub fn count_each(position: &Position, depth: u32) -> u128 {
    if depth == 0 {
        return 1;
    }
    position
        .legal_moves()
        .into_iter()
        .map(|mv| count_each(&position.after_unchecked(mv), depth - 1))
        .sum()
}
