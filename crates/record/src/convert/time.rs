//! Durations and moments: those of the contract, milliseconds of a game's time line, microseconds
//! since 1970.

use prost_types::{Duration, Timestamp};
use referee_laws::Time;

use crate::error::Error;
use crate::fields::Fields;

/// Writes milliseconds, which are at most those of the time line of a game.
#[must_use]
pub fn write_ms(ms: u64) -> Duration {
    Duration {
        seconds: i64::try_from(ms / 1_000).unwrap_or(i64::MAX),
        nanos: (ms % 1_000) as i32 * 1_000_000,
    }
}

/// Writes a point of the time line of a game.
#[must_use]
pub fn write_time(time: Time) -> Duration {
    write_ms(time.ms())
}

/// Returns a duration in milliseconds; `None` where it is not whole, negative, or out of range.
///
/// ```
/// use prost_types::Duration;
/// use referee_record::convert::time::whole_ms;
///
/// assert_eq!(whole_ms(Duration { seconds: 1, nanos: 5_000_000 }), Some(1_005));
/// assert_eq!(whole_ms(Duration { seconds: 1, nanos: 5 }), None);
/// assert_eq!(whole_ms(Duration { seconds: -1, nanos: 0 }), None);
/// ```
#[must_use]
pub fn whole_ms(value: Duration) -> Option<u64> {
    let seconds = u64::try_from(value.seconds).ok()?;
    let nanos = u64::try_from(value.nanos).ok()?;
    if nanos >= 1_000_000_000 || nanos % 1_000_000 != 0 {
        return None;
    }
    seconds.checked_mul(1_000)?.checked_add(nanos / 1_000_000)
}

/// Reads a duration of whole milliseconds from 0 to a limit.
pub fn read_ms(
    field: &str,
    value: Option<Duration>,
    ms_max: u64,
    fields: &mut Fields,
) -> Option<u64> {
    let value = value?;
    let ms = whole_ms(value).filter(|&ms| ms <= ms_max);
    if ms.is_none() {
        fields.refuse(
            field,
            format!(
                "must be from 0 to {} seconds, in whole milliseconds",
                ms_max as f64 / 1_000.0
            ),
        );
    }
    Some(ms.unwrap_or_default())
}

/// Reads a duration of a record in milliseconds.
///
/// # Errors
///
/// Where this program could not have written it.
pub fn stored_ms(value: Option<Duration>) -> Result<Option<u64>, Error> {
    value
        .map(|value| whole_ms(value).ok_or_else(|| Error::damaged("a duration")))
        .transpose()
}

/// Reads a point of the time line from a record.
///
/// # Errors
///
/// Where this program could not have written it.
pub fn stored_time(value: Option<Duration>) -> Result<Option<Time>, Error> {
    stored_ms(value)?
        .map(|ms| Time::from_ms(ms).map_err(|_| Error::damaged("a time")))
        .transpose()
}

/// Writes a moment in microseconds since 1970.
#[must_use]
pub fn write_us(time_us: i64) -> Timestamp {
    Timestamp {
        seconds: time_us.div_euclid(1_000_000),
        nanos: time_us.rem_euclid(1_000_000) as i32 * 1_000,
    }
}

/// Returns a moment in microseconds since 1970, a part of one dropped; `None` where it is out of
/// range.
///
/// ```
/// use referee_record::convert::time::{read_us, write_us};
///
/// for time_us in [0, 1, -1, 1_700_000_000_000_001] {
///     assert_eq!(read_us(write_us(time_us)), Some(time_us));
/// }
/// ```
#[must_use]
pub fn read_us(time: Timestamp) -> Option<i64> {
    let us = time.seconds.checked_mul(1_000_000)?;
    us.checked_add(i64::from(time.nanos) / 1_000)
}
