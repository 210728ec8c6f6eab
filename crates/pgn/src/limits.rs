//! Every limit on what comes from outside, in one place. What is above a limit is cut or passed
//! over with a fault that names the limit; the reader goes on.

/// The bytes of one comment that are kept. The rest is read and dropped.
pub const COMMENT_LENGTH_MAX: usize = 1 << 20;

/// The bytes that all comments of one game may have together, for a [`Game`](crate::Game).
pub const COMMENTS_LENGTH_MAX: usize = 4 << 20;

/// The bytes of the name of a tag.
pub const TAG_NAME_LENGTH_MAX: usize = 255;

/// The bytes of the value of a tag that are kept. The PGN standard allows 255 for a whole line.
pub const TAG_VALUE_LENGTH_MAX: usize = 4096;

/// The bytes of a tag pair with its brackets, blanks included.
pub const TAG_LENGTH_MAX: usize = 16 << 10;

/// The tag pairs of one game.
pub const TAGS_MAX: usize = 256;

/// The bytes of any other token. The PGN standard allows 255 for a symbol.
pub const TOKEN_LENGTH_MAX: usize = 255;

/// The depth of variations that a visitor is told of. Deeper ones are passed over, however deep.
pub const VARIATION_DEPTH_MAX: u64 = 128;

/// The moves of both sides in the main line of one game, for a [`Game`](crate::Game). The longest
/// game that FIDE Laws 9.6.2 allow has below 18,000.
pub const PLIES_MAX: usize = 20_000;

/// The numeric annotation glyphs of one move that are kept.
pub const NAGS_MAX: usize = 16;

/// The faults of one game that are kept; more are counted.
pub const FAULTS_MAX: usize = 64;

/// The hours that a clock in a comment can show.
pub const CLOCK_HOURS_MAX: u64 = 99_999;

/// The bytes of the text that a fault quotes.
pub const QUOTE_LENGTH_MAX: usize = 40;

/// The bytes ahead that are looked at to tell whether a comment was left open before a new game.
pub(crate) const LOOKAHEAD_MAX: usize = 16 << 10;

/// The bytes behind a tag that is there twice that are looked at to tell whether it begins the next
/// game.
pub(crate) const RESTART_LENGTH_MAX: usize = 4 << 10;

/// The width of a line that is written, in characters (PGN standard 4.3).
pub const LINE_WIDTH_MAX: usize = 79;
