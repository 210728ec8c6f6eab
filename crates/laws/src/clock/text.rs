//! Time controls as PGN writes them.

use core::fmt::Write;

use super::control::{Bonus, Period, PeriodPart, TimeControl, TimeControlError};
use super::limits::{PERIODS_MAX, TIME_CONTROL_LENGTH_MAX};

const SECOND_MS: u64 = 1000;

/// The most digits of whole seconds or of moves that are read; more are out of every range.
const DIGITS_MAX: usize = 12;

impl TimeControl {
    /// Reads the value of a `TimeControl` tag of PGN; `None` where it says `-`, no time control.
    ///
    /// Seconds may have up to three decimals, as engines' tournaments write them. The tag does
    /// not say whether a bonus comes before the first move: it is read as if not, see
    /// [`TimeControl::with_increment_at_start`].
    ///
    /// # Errors
    ///
    /// Where the text is `?`, an hourglass, not a time control, or out of range.
    ///
    /// ```
    /// use referee_laws::{Bonus, Period, TimeControl, TimeControlError};
    ///
    /// let control = TimeControl::read_pgn("40/9000")?.expect("it has one");
    /// let bonus = Bonus::None;
    /// assert_eq!(control.periods(), [Period { moves: Some(40), time_ms: 9_000_000, bonus }]);
    /// assert_eq!(TimeControl::read_pgn("-")?, None);
    /// assert_eq!(TimeControl::read_pgn("?"), Err(TimeControlError::Unknown));
    /// assert_eq!(
    ///     TimeControl::read_pgn("*180"),
    ///     Err(TimeControlError::Hourglass { period: 1 }),
    /// );
    /// # Ok::<(), TimeControlError>(())
    /// ```
    pub fn read_pgn(text: &str) -> Result<Option<TimeControl>, TimeControlError> {
        if text.len() > TIME_CONTROL_LENGTH_MAX {
            return Err(TimeControlError::TextTooLong { length: text.len() });
        }
        match text.trim_ascii() {
            "-" => return Ok(None),
            "?" => return Err(TimeControlError::Unknown),
            "" => return Err(TimeControlError::NoPeriods),
            _ => {}
        }
        let mut periods = Vec::new();
        for (index, field) in text.trim_ascii().split(':').enumerate() {
            if index == PERIODS_MAX {
                return Err(TimeControlError::TooManyPeriods { count: index + 1 });
            }
            periods.push(read_period(field, index + 1)?);
        }
        TimeControl::new(periods, false).map(Some)
    }

    /// Returns the value of a `TimeControl` tag of PGN, or `None` where a period has a delay or
    /// a Bronstein bonus, for which PGN has no sign.
    ///
    /// ```
    /// use referee_laws::{Bonus, TimeControl};
    ///
    /// let engines = TimeControl::sudden_death(10_000, Bonus::Fischer(100))?;
    /// assert_eq!(engines.to_pgn().as_deref(), Some("10+0.1"));
    /// let delay = TimeControl::sudden_death(300_000, Bonus::Delay(5_000))?;
    /// assert_eq!(delay.to_pgn(), None);
    /// # Ok::<(), referee_laws::TimeControlError>(())
    /// ```
    #[must_use]
    pub fn to_pgn(&self) -> Option<String> {
        let mut text = String::new();
        for (index, period) in self.periods().iter().enumerate() {
            if index > 0 {
                text.push(':');
            }
            if let Some(moves) = period.moves {
                write!(text, "{moves}/").ok()?;
            }
            write_seconds(&mut text, period.time_ms);
            match period.bonus {
                Bonus::None => {}
                Bonus::Fischer(ms) => {
                    text.push('+');
                    write_seconds(&mut text, ms);
                }
                Bonus::Bronstein(_) | Bonus::Delay(_) => return None,
            }
        }
        Some(text)
    }
}

fn read_period(field: &str, period: usize) -> Result<Period, TimeControlError> {
    let malformed = |part| TimeControlError::Malformed { period, part };
    if field.starts_with('*') {
        return Err(TimeControlError::Hourglass { period });
    }
    let (moves, time) = match field.split_once('/') {
        Some((moves, time)) => (Some(moves), time),
        None => (None, field),
    };
    let moves = match moves {
        Some(text) => {
            let number = read_whole(text).ok_or_else(|| malformed(PeriodPart::Moves))?;
            // More than a u32 holds is as much out of range as its greatest value.
            Some(u32::try_from(number).unwrap_or(u32::MAX))
        }
        None => None,
    };
    let (seconds, bonus) = match time.split_once('+') {
        Some((seconds, bonus)) => (seconds, Some(bonus)),
        None => (time, None),
    };
    let time_ms = read_seconds(seconds).ok_or_else(|| malformed(PeriodPart::Seconds))?;
    let bonus = match bonus {
        Some(text) => {
            Bonus::Fischer(read_seconds(text).ok_or_else(|| malformed(PeriodPart::Bonus))?)
        }
        None => Bonus::None,
    };
    Ok(Period {
        moves,
        time_ms,
        bonus,
    })
}

/// Reads a number of digits alone, without a sign.
fn read_whole(text: &str) -> Option<u64> {
    let is_number =
        !text.is_empty() && text.len() <= DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Reads seconds with up to three decimals, and returns milliseconds.
fn read_seconds(text: &str) -> Option<u64> {
    let (whole, decimals) = match text.split_once('.') {
        Some((whole, decimals)) if (1..=3).contains(&decimals.len()) => (whole, decimals),
        Some(_) => return None,
        None => (text, "0"),
    };
    let scale = 10u64.pow(3 - decimals.len() as u32);
    Some(read_whole(whole)? * SECOND_MS + read_whole(decimals)? * scale)
}

fn write_seconds(text: &mut String, ms: u64) {
    text.push_str(&(ms / SECOND_MS).to_string());
    let thousandths = ms % SECOND_MS;
    if thousandths > 0 {
        text.push_str(format!(".{thousandths:03}").trim_end_matches('0'));
    }
}
