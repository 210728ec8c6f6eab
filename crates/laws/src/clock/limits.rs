//! Every limit of the clocks, in one place.

const SECOND_MS: u64 = 1000;
const HOUR_MS: u64 = 3600 * SECOND_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The latest point of a time line, in milliseconds: the greatest whole number that every
/// reader of JSON takes exactly, some 285,000 years.
pub const TIME_MS_MAX: u64 = (1 << 53) - 1;

/// The most time that one period can put on a clock, in milliseconds: 100 days.
pub const PERIOD_MS_MAX: u64 = 100 * DAY_MS;

/// The greatest bonus for one move, in milliseconds: an hour.
pub const BONUS_MS_MAX: u64 = HOUR_MS;

/// The most time that a clock can show, in milliseconds: 1000 days. All periods together are
/// below it; what penalties and bonuses would add above it is not credited.
pub const CLOCK_MS_MAX: u64 = 1000 * DAY_MS;

/// The greatest number of periods of a time control.
pub const PERIODS_MAX: usize = 8;

/// The greatest number of moves of one period.
pub const PERIOD_MOVES_MAX: u32 = 1000;

/// The greatest number of moves that a side can have made. It is the greatest move number of a
/// position that is taken.
pub const MOVES_MADE_MAX: u32 = referee_chess::COUNTER_MAX;

/// The longest text of a time control that is read, in bytes, blanks around it included. Eight
/// periods with all their digits have 215.
pub const TIME_CONTROL_LENGTH_MAX: usize = 256;
