//! How the value of a parameter is written in the table, in overrides and in cases.

use core::fmt;

/// The values that a parameter can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allowed {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number from 0 to this one.
    NumberUpTo(u32),
    /// Points for a win, a draw and a loss, each up to this number of half-points.
    HalfPointsUpTo(u32),
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Words(words) => write!(f, "one of {}", words.join(", ")),
            Allowed::NumberUpTo(max) => write!(f, "a whole number from 0 to {max}"),
            Allowed::HalfPointsUpTo(max) => write!(
                f,
                "win/draw/loss, such as 1/0.5/0, each a multiple of 0.5 from 0 to {}",
                HalfPoints(*max)
            ),
        }
    }
}

/// A kind of value. `max` is the greatest number; other kinds have no use for it.
pub(super) trait Value: Copy {
    /// Reads a value; `None` where the text is not one of [`Value::allowed`].
    fn read(text: &str, max: u32) -> Option<Self>;
    /// Writes the value as [`Value::read`] reads it.
    fn write(self) -> String;
    /// Returns what can be read.
    fn allowed(max: u32) -> Allowed;
}

impl Value for bool {
    fn read(text: &str, _: u32) -> Option<bool> {
        match text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    fn write(self) -> String {
        self.to_string()
    }

    fn allowed(_: u32) -> Allowed {
        Allowed::Words(&["true", "false"])
    }
}

impl Value for u32 {
    fn read(text: &str, max: u32) -> Option<u32> {
        // The library's own reading takes a sign as well.
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number)?;
        (number <= max).then_some(number)
    }

    fn write(self) -> String {
        self.to_string()
    }

    fn allowed(max: u32) -> Allowed {
        Allowed::NumberUpTo(max)
    }
}

/// The points that a game is worth (10.1), in half-points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Points {
    /// For a win.
    pub win: u32,
    /// For a draw.
    pub draw: u32,
    /// For a loss.
    pub loss: u32,
}

/// Writes points for a win, a draw and a loss, such as `1/0.5/0`.
impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [win, draw, loss] = [self.win, self.draw, self.loss].map(HalfPoints);
        write!(f, "{win}/{draw}/{loss}")
    }
}

impl Value for Points {
    fn read(text: &str, max: u32) -> Option<Points> {
        let mut parts = text.split('/').map(|part| read_half_points(part, max));
        let points = Points {
            win: parts.next()??,
            draw: parts.next()??,
            loss: parts.next()??,
        };
        parts.next().is_none().then_some(points)
    }

    fn write(self) -> String {
        self.to_string()
    }

    fn allowed(max: u32) -> Allowed {
        Allowed::HalfPointsUpTo(max)
    }
}

fn read_half_points(text: &str, max: u32) -> Option<u32> {
    let (whole, half) = match text.strip_suffix(".5") {
        Some(whole) => (whole, 1),
        None => (text, 0),
    };
    let whole = u32::read(whole, max / 2)?;
    let points = whole * 2 + half;
    (points <= max).then_some(points)
}

/// Half-points, shown as points.
struct HalfPoints(u32);

impl fmt::Display for HalfPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = if self.0 % 2 == 1 { ".5" } else { "" };
        write!(f, "{}{half}", self.0 / 2)
    }
}
