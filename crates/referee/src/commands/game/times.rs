//! Times as people write them and as clocks show them.

use std::fmt::Write as _;

use prost_types::{Duration, Timestamp};
use referee_api::v1;

/// The units of a time, the longest first, in milliseconds.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("ms", 1),
    ("s", 1_000),
];
const FORMS: &str = "write it as 90s, 5m, 1h30m, 1.5s, 5:00 or 1:30:00";

/// Reads a time: `90s`, `1h30m`, `3d`, `2.5s`, `5:00` or `1:30:00`.
pub(super) fn read_time(text: &str) -> Result<Duration, String> {
    let ms = read_ms(text, None).ok_or_else(|| format!("{text:?} is no time: {FORMS}"))?;
    Ok(duration(ms))
}

/// Reads a time in milliseconds; a number alone is one of the given unit.
fn read_ms(text: &str, bare: Option<u64>) -> Option<u64> {
    if text.contains(':') {
        return read_clock(text);
    }
    let mut rest = text;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        let end = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let unit = match unit {
            "" if number == text => bare?,
            "" => return None,
            unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
        };
        total = total.checked_add(scaled(number, unit)?)?;
        rest = after;
    }
    (!text.is_empty()).then_some(total)
}

/// Reads `5:00`, `1:30:00` or `0:42.5`.
fn read_clock(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let (seconds, whole) = parts.split_last()?;
    if whole.len() > 2 || seconds.split('.').next()?.len() != 2 {
        return None;
    }
    let mut total = 0_u64;
    for part in whole {
        total = total.checked_mul(60)?.checked_add(digits(part)?)?;
    }
    total
        .checked_mul(60_000)?
        .checked_add(scaled(seconds, 1_000)?)
}

/// Returns a number of units in milliseconds; it may have decimals as long as whole milliseconds
/// come of it.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let ms = digits(whole)?.checked_mul(unit)?;
    let scale = 10_u64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    let part = digits(decimals)?.checked_mul(unit)?;
    (part % scale == 0).then_some(ms.checked_add(part / scale)?)
}

fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Reads a time control as players say it: minutes and the seconds that each move brings, `5+3`;
/// periods have commas between them and the number of their moves before a slash,
/// `40/90+30,30+30`. Units may be written: `1/3d`, `30s+1s`.
pub(super) fn read_control(
    text: &str,
    bonus_mode: v1::BonusMode,
) -> Result<v1::TimeControl, String> {
    let periods: Option<Vec<_>> = text
        .split(',')
        .map(|period| read_period(period, bonus_mode))
        .collect();
    let periods = periods.ok_or_else(|| {
        format!(
            "{text:?} is no time control: write minutes and the seconds that each move brings, such \
             as 5+3, 90+30, 40/90+30,30+30 or 1/3d"
        )
    })?;
    Ok(v1::TimeControl {
        periods,
        ..v1::TimeControl::default()
    })
}

fn read_period(text: &str, bonus_mode: v1::BonusMode) -> Option<v1::TimePeriod> {
    let (moves, rest) = match text.trim().split_once('/') {
        Some((moves, rest)) => (u32::try_from(digits(moves)?).ok()?, rest),
        None => (0, text.trim()),
    };
    let (time, bonus) = match rest.split_once('+') {
        Some((time, bonus)) => (time, read_ms(bonus, Some(1_000))?),
        None => (rest, 0),
    };
    let mode = match bonus {
        0 => v1::BonusMode::None,
        _ => bonus_mode,
    };
    Some(v1::TimePeriod {
        moves,
        time: Some(duration(read_ms(time, Some(60_000))?)),
        bonus_mode: mode.into(),
        bonus: (bonus > 0).then(|| duration(bonus)),
    })
}

/// Returns milliseconds as the contract has them.
fn duration(ms: u64) -> Duration {
    Duration {
        seconds: (ms / 1_000) as i64,
        nanos: (ms % 1_000) as i32 * 1_000_000,
    }
}

/// Returns a time of the contract in milliseconds.
pub(super) fn ms_of(time: &Duration) -> i64 {
    let seconds = time.seconds.saturating_mul(1_000);
    seconds.saturating_add(i64::from(time.nanos) / 1_000_000)
}

/// Returns the milliseconds from one moment to another; negative where the other was before.
pub(super) fn ms_between(from: &Timestamp, to: &Timestamp) -> i64 {
    let of = |moment: &Timestamp| {
        let seconds = moment.seconds.saturating_mul(1_000);
        seconds.saturating_add(i64::from(moment.nanos) / 1_000_000)
    };
    of(to).saturating_sub(of(from))
}

/// Writes a time as a clock shows it: `1:29:58`, `4:58`, and below a minute `0:42.1`.
pub(super) fn on_clock(ms: i64) -> String {
    let ms = ms.max(0);
    match ms {
        0..60_000 => format!("0:{:02}.{}", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{}:{:02}", ms / 60_000, ms / 1_000 % 60),
        _ => format!(
            "{}:{:02}:{:02}",
            ms / 3_600_000,
            ms / 60_000 % 60,
            ms / 1_000 % 60
        ),
    }
}

/// Writes a time to the millisecond, for arithmetic: `4:58.188`, `1:30:00`.
pub(super) fn exact(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let ms = ms.unsigned_abs();
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    let mut text = match hours {
        0 => format!("{sign}{minutes}:{seconds:02}"),
        _ => format!("{sign}{hours}:{minutes:02}:{seconds:02}"),
    };
    push_decimals(&mut text, ms % 1_000);
    text
}

/// Writes a span of time in seconds: `4.812 s`.
pub(super) fn span(ms: i64) -> String {
    let mut text = (ms.unsigned_abs() / 1_000).to_string();
    push_decimals(&mut text, ms.unsigned_abs() % 1_000);
    if ms < 0 {
        text.insert(0, '-');
    }
    text.push_str(" s");
    text
}

/// Returns a time that is taken or given: in seconds, from ten minutes up as a clock has it.
pub(super) fn amount(ms: i64) -> String {
    match ms {
        600_000.. => exact(ms),
        _ => span(ms),
    }
}

fn push_decimals(text: &mut String, ms: u64) {
    if ms > 0 {
        // Writing into a text does not fail.
        let _ = write!(text, ".{ms:03}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, ms) in [
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("3d", 259_200_000),
            ("2.5s", 2_500),
            ("250ms", 250),
            ("0s", 0),
            ("5:00", 300_000),
            ("1:30:00", 5_400_000),
            ("0:42.5", 42_500),
        ] {
            assert_eq!(read_time(text), Ok(duration(ms)), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "-5s",
            "5x",
            "1.2.3s",
            "5:0",
            "1:2:3:04",
            ":30",
            "5m3",
            "0.0001s",
            "99999999999999999999d",
            "1e3s",
            "٣s",
            "5 m",
        ] {
            let error = read_time(text).expect_err(text);
            assert!(error.contains("write it as 90s"), "{error}");
        }
    }

    #[test]
    fn controls_are_read_in_minutes_and_seconds() {
        let read = |text: &str| {
            let control = read_control(text, v1::BonusMode::Fischer)?;
            let mut words = Vec::new();
            for period in control.periods {
                let bonus = period.bonus.as_ref().map_or(0, ms_of);
                let time = ms_of(&period.time.expect("a period has its time"));
                words.push(format!("{}/{time}+{bonus}", period.moves));
            }
            Ok::<String, String>(words.join(" "))
        };
        assert_eq!(read("5+3").as_deref(), Ok("0/300000+3000"));
        assert_eq!(read("90").as_deref(), Ok("0/5400000+0"));
        assert_eq!(
            read("40/90+30, 30+30").as_deref(),
            Ok("40/5400000+30000 0/1800000+30000")
        );
        assert_eq!(read("1/3d").as_deref(), Ok("1/259200000+0"));
        assert_eq!(read("30s+0.1").as_deref(), Ok("0/30000+100"));
        for text in ["", "a", "5+", "+3", "/5", "5,,5", "5+3+1", "-"] {
            assert!(read(text).expect_err(text).contains("such as 5+3"));
        }
    }

    #[test]
    fn clocks_show_what_is_left() {
        assert_eq!(on_clock(5_398_999), "1:29:58");
        assert_eq!(on_clock(298_188), "4:58");
        assert_eq!(on_clock(42_199), "0:42.1");
        assert_eq!(on_clock(-1), "0:00.0");
        assert_eq!(exact(298_188), "4:58.188");
        assert_eq!(exact(300_500), "5:00.5");
        assert_eq!(exact(5_400_000), "1:30:00");
        assert_eq!(span(4_812), "4.812 s");
        assert_eq!(span(120_000), "120 s");
        assert_eq!(span(-50), "-0.05 s");
    }
}
