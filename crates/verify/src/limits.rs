//! Every limit of the checks, in one place. What a record can hold is written down here a second
//! time, since what made the record is not asked; a test compares the two.

/// The longest part of a record file, in bytes: a genesis of 1 MiB and its text about persons in
/// base64, with room for blanks.
pub const RECORD_PART_BYTES_MAX: u64 = 2 << 20;
/// The random bytes that text about persons is bound with.
pub const SALT_BYTES: usize = 16;
/// The greatest number of problems that are named for one file; of the rest only the number is.
pub const PROBLEMS_NAMED_MAX: usize = 100;
/// With more problems than this the rest of a record is no longer judged: who made it up should
/// not have us work through all of it.
pub const PROBLEMS_FOLLOWED_MAX: u64 = 1_000;
/// How much of a value is shown where two differ, in characters.
pub const VALUE_SHOWN_CHARS_MAX: usize = 160;
/// The greatest number of entries of a game.
pub const ENTRIES_MAX: i64 = 65_536;
/// The greatest number of moves of a mating line: as many as a game can have.
pub const MATING_LINE_MOVES_MAX: usize = 20_000;
/// The latest time on the time line of a game, in milliseconds.
pub const TIME_MS_MAX: u64 = (1 << 53) - 1;
/// The most time that a clock can show, in milliseconds: 1,000 days.
pub const CLOCK_MS_MAX: u64 = 1_000 * 24 * 60 * 60 * 1_000;
/// A plan whose positions are all replaced for more plies than this is not cut again.
pub const PLAN_PLIES_MAX: u32 = 12;
/// A plan that goes on up to more children than this is not cut again.
pub const PLAN_CHILDREN_MAX: u64 = 1 << 24;
/// Positions with so few plies left are counted again by the second generator.
pub const ORACLE_REST_MAX: u32 = 4;
/// So many positions are counted again at a time.
pub const RECOUNTED_AT_ONCE: usize = 1_024;
