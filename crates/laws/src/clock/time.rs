//! A point of a game's time line.

use core::fmt;

use super::limits::TIME_MS_MAX;

/// A point of a game's time line, in milliseconds since an origin that the caller keeps.
///
/// It is never negative and at most [`TIME_MS_MAX`].
///
/// ```
/// use referee_laws::Time;
///
/// let start = Time::from_ms(1_000)?;
/// let move_received = start.checked_add_ms(59_000).expect("the line is long enough");
/// assert_eq!(move_received.ms(), 60_000);
/// assert_eq!(move_received.since(start), 59_000);
/// assert_eq!(start.since(move_received), 0);
/// # Ok::<(), referee_laws::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A time beyond the end of the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeError {
    /// What was given, in milliseconds.
    pub ms: u64,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a time of {} ms is after the last that can be told; give at most {TIME_MS_MAX} ms \
             since the origin",
            self.ms
        )
    }
}

impl core::error::Error for TimeError {}

impl Time {
    /// The beginning of the time line.
    pub const ORIGIN: Time = Time(0);

    /// Returns the point that is `ms` milliseconds after the origin.
    ///
    /// # Errors
    ///
    /// Where `ms` is above [`TIME_MS_MAX`].
    pub const fn from_ms(ms: u64) -> Result<Time, TimeError> {
        if ms > TIME_MS_MAX {
            return Err(TimeError { ms });
        }
        Ok(Time(ms))
    }

    /// Returns the milliseconds since the origin, 0 to [`TIME_MS_MAX`].
    #[must_use]
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// Returns the point `ms` milliseconds later, or `None` where the time line ends before.
    #[must_use]
    pub const fn checked_add_ms(self, ms: u64) -> Option<Time> {
        match self.0.checked_add(ms) {
            Some(sum) if sum <= TIME_MS_MAX => Some(Time(sum)),
            _ => None,
        }
    }

    /// Returns the milliseconds that passed since an earlier point; 0 where `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}
