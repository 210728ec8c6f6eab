//! What can be wrong with a FEN.

use core::fmt;

use crate::limits::{FEN_ISSUES_SHOWN, FEN_LENGTH_MAX};
use crate::{PositionIssue, Rank};

/// A field of a FEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenField {
    /// The pieces, the eighth rank first.
    Board,
    /// The side to move.
    Turn,
    /// The rights to castle.
    Castling,
    /// The en passant square.
    EnPassant,
    /// The half-moves since the last capture or move of a pawn.
    HalfmoveClock,
    /// The number of the move.
    FullmoveNumber,
    /// What follows the sixth field.
    End,
}

impl FenField {
    /// Returns what the field is to hold, in plain English.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Board => {
                "eight ranks divided by slashes, each of eight squares, as letters from pnbrqk \
                 and PNBRQK and digits from 1 to 8"
            }
            Self::Turn => "w or b",
            Self::Castling => "-, or letters from KQkq or of the files of the rooks",
            Self::EnPassant => "-, or a square such as e3",
            Self::HalfmoveClock => "a number from 0 up",
            Self::FullmoveNumber => "a number from 1 up",
            Self::End => "nothing after the sixth field",
        }
    }
}

impl fmt::Display for FenField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Board => "piece placement",
            Self::Turn => "side to move",
            Self::Castling => "castling rights",
            Self::EnPassant => "en passant square",
            Self::HalfmoveClock => "halfmove clock",
            Self::FullmoveNumber => "move number",
            Self::End => "end of the FEN",
        })
    }
}

/// What is wrong with the text of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenFault {
    /// The whole text is longer than [`FEN_LENGTH_MAX`]; nothing of it was read.
    TooLong {
        /// The length of the text in bytes.
        length: usize,
    },
    /// The field is not there, or is empty.
    Missing,
    /// A character stands where it cannot.
    Unexpected {
        /// The character.
        found: char,
    },
    /// The field ends too early.
    Unfinished,
    /// There are not eight ranks.
    RankCount {
        /// How many there are.
        ranks: usize,
    },
    /// A rank does not have eight squares.
    RankLength {
        /// The rank.
        rank: Rank,
        /// How many squares it has.
        squares: usize,
    },
    /// A right to castle is named a second time.
    Repeated {
        /// The letter that names it again.
        letter: char,
    },
}

/// One thing that is wrong with a FEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenIssue {
    /// The text of a field is wrong.
    Text {
        /// The field.
        field: FenField,
        /// Where the fault is: bytes from the beginning of the text, blanks included.
        offset: usize,
        /// The fault.
        fault: FenFault,
    },
    /// The text can be read, but the position cannot be played from.
    Position(PositionIssue),
}

impl fmt::Display for FenIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, offset, fault) = match self {
            Self::Position(issue) => return issue.fmt(f),
            Self::Text {
                field,
                offset,
                fault,
            } => (field, offset, fault),
        };
        let expected = field.expected();
        match fault {
            FenFault::TooLong { length } => {
                write!(
                    f,
                    "the FEN has {length} bytes, and at most {FEN_LENGTH_MAX} are read"
                )
            }
            FenFault::Missing => {
                write!(f, "{field}, byte {offset}: missing; expected is {expected}")
            }
            FenFault::Unexpected { found } => write!(
                f,
                "{field}, byte {offset}: found {found:?}; expected is {expected}"
            ),
            FenFault::Unfinished => {
                write!(
                    f,
                    "{field}, byte {offset}: ends too early; expected is {expected}"
                )
            }
            FenFault::RankCount { ranks } => write!(
                f,
                "{field}, byte {offset}: found {ranks} ranks; expected are eight"
            ),
            FenFault::RankLength { rank, squares } => write!(
                f,
                "{field}, byte {offset}: found {squares} squares on rank {}; expected are eight",
                rank.to_char()
            ),
            FenFault::Repeated { letter } => write!(
                f,
                "{field}, byte {offset}: {letter:?} names a right again; expected is each \
                 right once"
            ),
        }
    }
}

/// A text is no FEN, or no FEN of a position that can be played from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenError {
    /// All that is wrong with it; never empty.
    pub issues: Vec<FenIssue>,
}

impl FenError {
    /// Returns whether the text itself is at fault, not only the position that it describes.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        self.issues
            .iter()
            .any(|issue| matches!(issue, FenIssue::Text { .. }))
    }

    /// Returns what is wrong with the position, apart from faults of the text.
    pub fn position_issues(&self) -> impl Iterator<Item = PositionIssue> + '_ {
        self.issues.iter().filter_map(|issue| match issue {
            FenIssue::Position(issue) => Some(*issue),
            FenIssue::Text { .. } => None,
        })
    }
}

impl fmt::Display for FenError {
    /// Says the first few of the issues: one for each field, and one where the text ends too early.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = Vec::new();
        let mut is_missing = false;
        let is_news = |issue: &&FenIssue| match issue {
            FenIssue::Position(_) => true,
            FenIssue::Text { field, fault, .. } => {
                let is_known = fields.contains(field);
                fields.push(*field);
                let is_missed = matches!(fault, FenFault::Missing);
                let is_known = is_known || is_missed && is_missing;
                is_missing |= is_missed;
                !is_known
            }
        };
        let shown: Vec<&FenIssue> = self
            .issues
            .iter()
            .filter(is_news)
            .take(FEN_ISSUES_SHOWN)
            .collect();
        for (index, issue) in shown.iter().enumerate() {
            write!(f, "{}{issue}", if index == 0 { "" } else { "; " })?;
        }
        match self.issues.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl core::error::Error for FenError {}
