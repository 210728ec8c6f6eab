//! Times of the contract as whole numbers.

use prost_types::{Duration, Timestamp};
use referee_api::v1;

/// Returns a duration in milliseconds.
///
/// # Errors
///
/// Where it is negative, no whole number of milliseconds, or malformed.
pub(crate) fn ms_of(value: Option<Duration>) -> Result<Option<u64>, String> {
    let Some(value) = value else {
        return Ok(None);
    };
    let seconds = u64::try_from(value.seconds).ok();
    let nanos = u64::try_from(value.nanos).ok();
    let nanos = nanos.filter(|nanos| nanos % 1_000_000 == 0 && *nanos < 1_000_000_000);
    seconds
        .zip(nanos)
        .and_then(|(seconds, nanos)| seconds.checked_mul(1_000)?.checked_add(nanos / 1_000_000))
        .map(Some)
        .ok_or_else(|| {
            format!(
                "{} s and {} ns are no whole milliseconds from 0 up",
                value.seconds, value.nanos
            )
        })
}

/// Returns a point of the time line of a game in milliseconds.
///
/// # Errors
///
/// Where it is on nobody's clock, negative, no whole number of milliseconds, or malformed.
pub(crate) fn line_ms_of(value: Option<v1::GameTime>) -> Result<Option<u64>, String> {
    use v1::game_time::Kind;
    let Some(value) = value else {
        return Ok(None);
    };
    match value.kind {
        Some(Kind::PlatformTime(span)) => ms_of(Some(span)),
        Some(Kind::Instant(Timestamp { seconds, nanos })) => {
            ms_of(Some(Duration { seconds, nanos }))
        }
        None => Err("a time is by nobody's clock".into()),
    }
}

/// Returns a timestamp in microseconds since 1970; whatever it says fits.
pub(crate) fn us_of(time: &Timestamp) -> i128 {
    i128::from(time.seconds) * 1_000_000 + i128::from(time.nanos) / 1_000
}
