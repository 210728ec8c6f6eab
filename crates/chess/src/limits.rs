//! Every limit on what comes from outside, in one place.

/// The longest FEN that is read, in bytes, blanks around it included. The longest that means
/// anything, with 32 pieces and counters of five digits, has 93.
pub const FEN_LENGTH_MAX: usize = 128;

/// The longest text of a move that is read, in bytes, blanks around it included. `Qa1xb2+` has
/// 7; there is room for comment signs and `e.p.`.
pub const MOVE_LENGTH_MAX: usize = 16;

/// The greatest halfmove clock and the greatest move number that are taken. The longest game
/// that FIDE Laws 9.6.2 allow has below 9,000 moves of each side.
pub const COUNTER_MAX: u32 = 20_000;

/// How many of the issues of a FEN its error says in words.
pub(crate) const FEN_ISSUES_SHOWN: usize = 3;
