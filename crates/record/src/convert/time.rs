//! Durations and moments: those of the contract, milliseconds of a game's time line, microseconds
//! since 1970.

use std::ops::RangeInclusive;

use prost_types::{Duration, Timestamp};
use referee_api::v1;
use referee_laws::{Keeper, Time};

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

/// Writes a point of the time line of a game: an instant where the referee keeps the time, a
/// duration on the platform's own line where the platform does.
///
/// ```
/// use referee_api::v1::game_time::Kind;
/// use referee_laws::{Keeper, Time};
/// use referee_record::convert::time::{stored_time, write_time};
///
/// let time = Time::from_ms(1_500)?;
/// let told = write_time(time, Keeper::Platform);
/// assert!(matches!(told.kind, Some(Kind::PlatformTime(_))));
/// let stamped = write_time(time, Keeper::Referee);
/// assert!(matches!(stamped.kind, Some(Kind::Instant(_))));
/// assert_eq!(stored_time(Some(stamped))?, Some(time));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn write_time(time: Time, keeper: Keeper) -> v1::GameTime {
    use v1::game_time::Kind;
    let span = write_ms(time.ms());
    let kind = match keeper {
        Keeper::Referee => Kind::Instant(Timestamp {
            seconds: span.seconds,
            nanos: span.nanos,
        }),
        Keeper::Platform => Kind::PlatformTime(span),
    };
    v1::GameTime { kind: Some(kind) }
}

/// Writes a duration that is not longer than the contract can say.
#[must_use]
pub fn write_duration(duration: std::time::Duration) -> Duration {
    Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: duration.subsec_nanos() as i32,
    }
}

/// Returns a duration as the standard library has it; `None` where it is negative or malformed.
/// The library's own conversion normalizes, and overflows on the ends of the range.
#[must_use]
pub(crate) fn duration_of(value: Duration) -> Option<std::time::Duration> {
    let seconds = u64::try_from(value.seconds).ok()?;
    let nanos = u32::try_from(value.nanos).ok()?;
    (nanos < 1_000_000_000).then(|| std::time::Duration::new(seconds, nanos))
}

/// Returns a duration in milliseconds; `None` where it is not whole, negative, or malformed.
///
/// ```
/// use prost_types::Duration;
/// use referee_record::convert::time::{whole_ms, write_ms};
///
/// assert_eq!(whole_ms(write_ms(1_005)), Some(1_005));
/// assert_eq!(whole_ms(Duration { seconds: 1, nanos: 5 }), None);
/// assert_eq!(whole_ms(Duration { seconds: -1, nanos: 0 }), None);
/// ```
#[must_use]
pub fn whole_ms(value: Duration) -> Option<u64> {
    let duration = duration_of(value)?;
    if duration.subsec_nanos() % 1_000_000 != 0 {
        return None;
    }
    u64::try_from(duration.as_millis()).ok()
}

/// Reads a duration within a range; one that is wrong is refused, and read as the default.
pub fn read_duration(
    field: &str,
    value: Option<Duration>,
    default: std::time::Duration,
    range: RangeInclusive<std::time::Duration>,
    fields: &mut Fields,
) -> std::time::Duration {
    let Some(value) = value else { return default };
    match duration_of(value) {
        Some(duration) if range.contains(&duration) => duration,
        _ => {
            let (low, high) = (range.start().as_secs(), range.end().as_secs());
            fields.refuse(field, format!("must be from {low} to {high} seconds"));
            default
        }
    }
}

/// Reads a duration of whole milliseconds from 0 to a limit; one that is wrong is refused, and read
/// as 0.
pub fn read_ms(
    field: &str,
    value: Option<Duration>,
    ms_max: u64,
    fields: &mut Fields,
) -> Option<u64> {
    let value = value?;
    let ms = whole_ms(value).filter(|&ms| ms <= fields.limit(ms_max));
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
pub fn stored_time(value: Option<v1::GameTime>) -> Result<Option<Time>, Error> {
    use v1::game_time::Kind;
    let Some(value) = value else { return Ok(None) };
    let span = match value.kind {
        None => return Err(Error::damaged("a time")),
        Some(Kind::PlatformTime(span)) => span,
        Some(Kind::Instant(instant)) => Duration {
            seconds: instant.seconds,
            nanos: instant.nanos,
        },
    };
    stored_ms(Some(span))?
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

/// The moments that a timestamp can tell, in seconds since 1970: the years from 1 to 9999.
const SECONDS: RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Reads a moment in microseconds since 1970; a part of a microsecond counts as begun.
pub fn read_moment(field: &str, time: Option<Timestamp>, fields: &mut Fields) -> Option<i64> {
    let time = time?;
    if !(0..1_000_000_000).contains(&time.nanos) || !SECONDS.contains(&time.seconds) {
        fields.refuse(field, "must be from the year 1 to the year 9999");
        return None;
    }
    Some(time.seconds * 1_000_000 + (i64::from(time.nanos) + 999) / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_milliseconds_are_read() {
        let duration = |seconds, nanos| Duration { seconds, nanos };
        for (value, ms) in [
            (duration(0, 0), Some(0)),
            (duration(2, 1_000_000), Some(2_001)),
            (duration(0, 999_000_000), Some(999)),
            (duration(0, 999_999), None),
            (duration(0, 1_000_000_000), None),
            (duration(0, -1_000_000), None),
            (duration(-1, 0), None),
            (duration(i64::MIN, i32::MIN), None),
            (duration(i64::MAX, 999_000_000), None),
        ] {
            assert_eq!(whole_ms(value), ms, "{value:?}");
        }
    }

    #[test]
    fn a_part_of_a_microsecond_is_begun_when_read_and_dropped_when_stored() {
        let time = |seconds, nanos| Timestamp { seconds, nanos };
        let read = |time| {
            let mut fields = Fields::default();
            let read = read_moment("time", Some(time), &mut fields);
            assert_eq!(read.is_some(), fields.finish().is_ok());
            read
        };
        assert_eq!(read(time(1, 1_001)), Some(1_000_002));
        assert_eq!(read_us(time(1, 1_001)), Some(1_000_001));
        assert_eq!(read(time(-1, 0)), Some(-1_000_000));
        assert_eq!(read(time(253_402_300_800, 0)), None);
        assert_eq!(read(time(0, -1)), None);
        assert_eq!(read_us(time(i64::MAX, 0)), None);
    }
}
