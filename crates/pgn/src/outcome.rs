//! Results as records of games write them.

use core::fmt;

/// The result of a game (PGN standard 8.1.1.7), and the scores beyond it that arbiters give (FIDE
/// Laws 5 and 9, Competition Rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Outcome {
    /// `1-0`.
    WhiteWins,
    /// `0-1`.
    BlackWins,
    /// `1/2-1/2`.
    Draw,
    /// `0-0`: both players lose. Not in the PGN standard.
    BothLose,
    /// `1/2-0`: White has half a point, Black has none. Not in the PGN standard.
    WhiteHalf,
    /// `0-1/2`: Black has half a point, White has none. Not in the PGN standard.
    BlackHalf,
    /// `+/-`: White wins by forfeit, without play. In the PGN standard only as `1-0`.
    WhiteWinsForfeit,
    /// `-/+`: Black wins by forfeit, without play. In the PGN standard only as `0-1`.
    BlackWinsForfeit,
    /// `-/-`: both players forfeit. Not in the PGN standard.
    BothForfeit,
    /// `*`: the game goes on, was broken off, or its result is not known.
    #[default]
    Unknown,
}

impl Outcome {
    /// Returns how the result is written, such as `1/2-1/2`.
    ///
    /// ```
    /// use referee_pgn::Outcome;
    ///
    /// assert_eq!(Outcome::Draw.as_str(), "1/2-1/2");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WhiteWins => "1-0",
            Self::BlackWins => "0-1",
            Self::Draw => "1/2-1/2",
            Self::BothLose => "0-0",
            Self::WhiteHalf => "1/2-0",
            Self::BlackHalf => "0-1/2",
            Self::WhiteWinsForfeit => "+/-",
            Self::BlackWinsForfeit => "-/+",
            Self::BothForfeit => "-/-",
            Self::Unknown => "*",
        }
    }

    /// Returns whether the PGN standard has the result.
    #[must_use]
    pub const fn is_standard(self) -> bool {
        matches!(
            self,
            Self::WhiteWins | Self::BlackWins | Self::Draw | Self::Unknown
        )
    }

    /// Returns what the PGN standard has for the result: `*` for what it does not have, except
    /// that a game won by forfeit is won.
    ///
    /// ```
    /// use referee_pgn::Outcome;
    ///
    /// assert_eq!(Outcome::WhiteWinsForfeit.in_standard(), Outcome::WhiteWins);
    /// assert_eq!(Outcome::BothLose.in_standard(), Outcome::Unknown);
    /// ```
    #[must_use]
    pub const fn in_standard(self) -> Outcome {
        match self {
            Self::WhiteWins | Self::WhiteWinsForfeit => Self::WhiteWins,
            Self::BlackWins | Self::BlackWinsForfeit => Self::BlackWins,
            Self::Draw => Self::Draw,
            Self::BothLose
            | Self::WhiteHalf
            | Self::BlackHalf
            | Self::BothForfeit
            | Self::Unknown => Self::Unknown,
        }
    }

    /// Reads a result of a tag: also one by forfeit, in any spelling. Among moves such signs speak
    /// of positions.
    pub(crate) fn read_tag(text: &str) -> Option<Outcome> {
        let plain = plain(text);
        Some(match plain.as_bytes() {
            b"+/-" | b"+:-" | b"+--" => Self::WhiteWinsForfeit,
            b"-/+" | b"-:+" | b"--+" => Self::BlackWinsForfeit,
            b"-/-" | b"-:-" | b"---" => Self::BothForfeit,
            text => return Outcome::read(text).map(|(outcome, _)| outcome),
        })
    }

    /// Reads a result among moves, and says whether it was written as it should be. Colons for
    /// hyphens and a lone `1/2` are taken, too; dashes and `½` have become ASCII before.
    pub(crate) fn read(text: &[u8]) -> Option<(Outcome, bool)> {
        Some(match text {
            b"1-0" => (Self::WhiteWins, true),
            b"0-1" => (Self::BlackWins, true),
            b"1/2-1/2" => (Self::Draw, true),
            b"*" => (Self::Unknown, true),
            b"0-0" => (Self::BothLose, true),
            b"1/2-0" => (Self::WhiteHalf, true),
            b"0-1/2" => (Self::BlackHalf, true),
            b"1:0" => (Self::WhiteWins, false),
            b"0:1" => (Self::BlackWins, false),
            b"1/2" | b"1/2:1/2" | b"0.5-0.5" => (Self::Draw, false),
            _ => return None,
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// More characters than a result has, with all the blanks around its parts.
const PLAIN_LENGTH_MAX: usize = 64;

/// Returns a result of a tag without the blanks, dashes, fractions and decimals that people write.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars().take(PLAIN_LENGTH_MAX) {
        match c {
            // Control characters are written as blanks, so they are read as such.
            c if c.is_whitespace() || c.is_control() => {}
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            '½' => plain.push_str("1/2"),
            ',' => plain.push('.'),
            c => plain.push(c),
        }
    }
    plain
}
