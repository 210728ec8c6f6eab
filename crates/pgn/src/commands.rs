//! Commands in comments: `[%clk 1:30:00]`, `[%emt 0:00:04]`, `[%eval 0.25]`.

use core::fmt;
use core::time::Duration;

use crate::limits::CLOCK_HOURS_MAX;
use crate::scan::find;
use crate::text::{append_folded, decode};

/// What an engine thinks of a position, from White's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eval {
    /// In hundredths of a pawn.
    Centipawns {
        /// More is better for White.
        score: i32,
        /// The depth of the search in plies, where it is given.
        depth: Option<u32>,
    },
    /// Mate in so many moves: by White, or by Black where it is negative.
    Mate {
        /// The number of moves.
        moves: i32,
        /// The depth of the search in plies, where it is given.
        depth: Option<u32>,
    },
}

impl fmt::Display for Eval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let depth = match *self {
            Self::Centipawns { score, depth } => {
                let sign = if score < 0 { "-" } else { "" };
                let score = score.unsigned_abs();
                write!(f, "{sign}{}.{:02}", score / 100, score % 100)?;
                depth
            }
            Self::Mate { moves, depth } => {
                write!(f, "#{moves}")?;
                depth
            }
        };
        match depth {
            Some(depth) => write!(f, ",{depth}"),
            None => Ok(()),
        }
    }
}

/// A time as the clock of a comment shows it, `1:02:03.5`.
pub(crate) struct ClockTime(pub(crate) Duration);

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        write!(
            f,
            "{}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )?;
        let mut fraction = self.0.subsec_nanos();
        if fraction == 0 {
            return Ok(());
        }
        let mut digits = 9;
        while fraction.is_multiple_of(10) {
            fraction /= 10;
            digits -= 1;
        }
        write!(f, ".{fraction:0digits$}")
    }
}

/// Reads `H:MM:SS`, also without leading zeros, without hours, and with a fraction of a second.
pub(crate) fn read_clock(bytes: &[u8]) -> Option<Duration> {
    let whole = bytes.iter().position(|byte| matches!(byte, b'.' | b','));
    let (whole, fraction) = bytes.split_at(whole.unwrap_or(bytes.len()));
    let mut seconds = 0u64;
    let mut field = 0u64;
    let mut digits = 0;
    let mut fields = 1;
    for &byte in whole {
        match byte {
            b'0'..=b'9' if digits < 9 => {
                field = 10 * field + u64::from(byte - b'0');
                digits += 1;
            }
            // Minutes stand behind hours, and without them can be any number.
            b':' if digits > 0 && fields < 3 && (fields == 1 || field < 60) => {
                seconds = 60 * (seconds + field);
                field = 0;
                digits = 0;
                fields += 1;
            }
            _ => return None,
        }
    }
    if fields == 1 || digits == 0 || field >= 60 {
        return None;
    }
    duration(seconds + field, fraction)
}

/// Reads the time that a move took: as a clock, or in seconds alone, `0.25`. What a clock shows is
/// not read so, for it may as well be minutes.
fn read_elapsed(bytes: &[u8]) -> Option<Duration> {
    let whole = bytes.iter().position(|byte| matches!(byte, b'.' | b','));
    let (whole, fraction) = bytes.split_at(whole.unwrap_or(bytes.len()));
    let is_number = (1..=9).contains(&whole.len()) && whole.iter().all(u8::is_ascii_digit);
    if !is_number {
        return read_clock(bytes);
    }
    let digit = |number: u64, &byte: &u8| 10 * number + u64::from(byte - b'0');
    duration(whole.iter().fold(0, digit), fraction)
}

/// Whole seconds and what follows them: nothing, or a point or a comma and digits.
fn duration(seconds: u64, fraction: &[u8]) -> Option<Duration> {
    let mut nanos = 0;
    let mut unit = 100_000_000;
    for &byte in fraction.iter().skip(1) {
        if !byte.is_ascii_digit() {
            return None;
        }
        // What is finer than nanoseconds is dropped.
        nanos += u32::from(byte - b'0') * unit;
        unit /= 10;
    }
    (seconds < (CLOCK_HOURS_MAX + 1) * 3600).then(|| Duration::new(seconds, nanos))
}

/// Reads `0.25`, `-1.5`, `#3`, `#-3`, each with or without a depth behind a comma.
pub(crate) fn read_eval(text: &str) -> Option<Eval> {
    let (score, depth) = match text.split_once(',') {
        Some((score, depth)) => (score.trim(), Some(depth.trim().parse().ok()?)),
        None => (text, None),
    };
    if let Some(moves) = score.strip_prefix('#') {
        let moves = moves.parse().ok()?;
        return Some(Eval::Mate { moves, depth });
    }
    let (sign, digits) = match score.as_bytes().first()? {
        b'-' => (-1, &score[1..]),
        b'+' => (1, &score[1..]),
        _ => (1, score),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || whole.len() > 6 {
        return None;
    }
    // Rounded to hundredths by the third digit.
    let digit = |index: usize| {
        let digit = fraction.as_bytes().get(index).map_or(0, |byte| byte - b'0');
        i32::from(digit)
    };
    let hundredths = digit(0) * 10 + digit(1) + i32::from(digit(2) >= 5);
    let score = sign * (whole.parse::<i32>().ok()? * 100 + hundredths);
    Some(Eval::Centipawns { score, depth })
}

/// What the comments of a move say beside their text.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    pub(crate) clock: Option<Duration>,
    pub(crate) elapsed: Option<Duration>,
    pub(crate) eval: Option<Eval>,
}

/// Takes the commands out of a comment, and appends what is left of it to a text: words, and
/// commands that are not known. `report` is told of each command with a value that makes no
/// sense.
///
/// Archives have such a comment after every move, most often with nothing but one command in it,
/// so this works on bytes and makes text of what is left only.
pub(crate) fn take_commands(
    comment: &[u8],
    text: &mut String,
    mut report: impl FnMut(&[u8]),
) -> Commands {
    let mut commands = Commands::default();
    if let Some(body) = single_command(comment)
        && commands.read(body) == Some(true)
    {
        return commands;
    }
    let mut rest = comment;
    let mut from = 0;
    while let Some(start) = find(&rest[from..], [b'[']).map(|offset| from + offset) {
        if rest.get(start + 1) != Some(&b'%') {
            from = start + 1;
            continue;
        }
        let Some(length) = find(&rest[start..], [b']']) else {
            // It would be taken for a command with whatever text follows it one day.
            report(&rest[start..]);
            rest = &rest[..start];
            break;
        };
        let end = start + length + 1;
        let is_read = commands.read(&rest[start + 2..end - 1]);
        if is_read == Some(false) {
            report(&rest[start..end]);
        }
        // A command that is not known stays in the text.
        let left = if is_read.is_none() { end } else { start };
        append(text, &rest[..left]);
        rest = &rest[end..];
        from = 0;
    }
    append(text, rest);
    commands
}

/// Returns what stands between the brackets of a comment that is nothing but one command.
fn single_command(comment: &[u8]) -> Option<&[u8]> {
    let command = comment.trim_ascii();
    let body = command.strip_prefix(b"[%")?.strip_suffix(b"]")?;
    (!body.contains(&b']')).then_some(body)
}

impl Commands {
    /// Reads a command, and returns whether it made sense; `None` where it is not known.
    fn read(&mut self, body: &[u8]) -> Option<bool> {
        let blank = body.iter().position(u8::is_ascii_whitespace);
        let (name, value) = body.split_at(blank.unwrap_or(body.len()));
        let value = value.trim_ascii();
        Some(match name {
            b"clk" => set(&mut self.clock, read_clock(value)),
            b"emt" => set(&mut self.elapsed, read_elapsed(value)),
            // What is not ASCII is no value.
            b"eval" => set(
                &mut self.eval,
                read_eval(str::from_utf8(value).unwrap_or_default()),
            ),
            _ => return None,
        })
    }
}

fn append(text: &mut String, bytes: &[u8]) {
    if bytes.iter().any(|byte| !byte.is_ascii_whitespace()) {
        append_folded(text, &decode(bytes));
    }
}

/// Sets a value that was read; the last one counts.
fn set<T>(target: &mut Option<T>, value: Option<T>) -> bool {
    let is_read = value.is_some();
    if is_read {
        *target = value;
    }
    is_read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_and_written() {
        for (text, millis, written) in [
            ("1:30:57", 5_457_000, "1:30:57"),
            ("0:0:4", 4_000, "0:00:04"),
            ("01:31:05.25", 5_465_250, "1:31:05.25"),
            ("10:00", 600_000, "0:10:00"),
            ("90:00", 5_400_000, "1:30:00"),
            ("0:00:00.001", 1, "0:00:00.001"),
        ] {
            let time = read_clock(text.as_bytes()).unwrap_or_else(|| panic!("{text} is a clock"));
            assert_eq!(time.as_millis(), millis, "{text}");
            assert_eq!(ClockTime(time).to_string(), written);
        }
        for text in [
            "",
            "5",
            "1:",
            ":1",
            "1:2:3:4",
            "0:00:60",
            "0:60:00",
            "1:3\n:4",
            "-1:00:00",
            "1:00:00.x",
            "100000:00:00",
            "9999999999:00:00",
            "1:+1:00",
        ] {
            assert_eq!(read_clock(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_time_of_a_move_is_read_in_seconds_too() {
        for (text, millis) in [
            ("0", 0),
            ("12", 12_000),
            ("0.01", 10),
            ("75,5", 75_500),
            ("0:01:15", 75_000),
            ("999999999", 0),
            ("-1", 0),
            ("1.x", 0),
            ("", 0),
        ] {
            let time = read_elapsed(text.as_bytes()).map_or(0, |time| time.as_millis());
            assert_eq!(time, millis, "{text}");
        }
    }

    #[test]
    fn evaluations_are_read_and_written() {
        for (text, written) in [
            ("0.25", "0.25"),
            ("-0.05", "-0.05"),
            ("+1.5,20", "1.50,20"),
            ("3", "3.00"),
            ("0.256", "0.26"),
            ("0.999", "1.00"),
            ("#-3", "#-3"),
            ("#5,30", "#5,30"),
        ] {
            let eval = read_eval(text).unwrap_or_else(|| panic!("{text} is an evaluation"));
            assert_eq!(eval.to_string(), written, "{text}");
        }
        for text in ["", "-", "#", "x", "1.x", "1.", "0.25,", "1e9", "99999999"] {
            assert_eq!(read_eval(text), None, "{text}");
        }
    }

    #[test]
    fn commands_are_taken_out_of_comments() {
        let mut text = String::from("before");
        let mut bad = Vec::new();
        let comment = b" a [%clk 0:01:00]\n[%cal Ge2e4] b [%eval 0.1][%emt x] c [%clk";
        let commands = take_commands(comment, &mut text, |command| bad.push(command.to_vec()));
        assert_eq!(text, "before a [%cal Ge2e4] b c");
        assert_eq!(commands.clock, Some(Duration::from_secs(60)));
        assert_eq!(commands.elapsed, None);
        assert_eq!(
            commands.eval,
            Some(Eval::Centipawns {
                score: 10,
                depth: None
            })
        );
        assert_eq!(bad, [&b"[%emt x]"[..], b"[%clk"]);
    }
}
