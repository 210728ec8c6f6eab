//! Suites: files of positions with their published counts, in two formats.
//!
//! - `.epd`: a position on each line, `FEN ;D1 20 ;D2 400`; spaces around the `;` do not matter.
//! - `.perft`: blocks of the lines `id NAME`, `epd FEN` and `perft DEPTH COUNT`.
//!
//! In both, `#` begins a line that is passed over, and so is a byte order mark before the first
//! line. A FEN may lack its counters. Rights to castle
//! that name files other than by `KQkq` make a position one of Chess960; so do kings and rooks
//! that do not stand as in standard chess.

use core::fmt;

use referee_chess::{CastlingMode, FenError, Position, Tolerance};

use crate::limits::{DEPTH_MAX, SUITE_POSITIONS_MAX};

/// A position of a suite.
#[derive(Clone, Debug)]
pub struct Case {
    /// The number of the line that the position is on, from 1.
    pub line: usize,
    /// The name of the position; empty where it has none.
    pub name: String,
    /// The position.
    pub position: Position,
    /// Depths and published counts, in the order of the file.
    pub counts: Vec<(u32, u128)>,
}

/// A line of a suite that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: SuiteFault,
}

/// What is wrong with a line of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuiteFault {
    /// The position cannot be read.
    Position(FenError),
    /// A count is not a depth from 0 to [`DEPTH_MAX`] and a number; here is what stands there.
    Count(String),
    /// A count comes before any position.
    NoPosition,
    /// The line begins with none of the words of its format; here is the word.
    Word(String),
    /// The suite has more positions than [`SUITE_POSITIONS_MAX`].
    TooMany,
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.fault {
            SuiteFault::Position(error) => error.fmt(f),
            SuiteFault::Count(text) => write!(
                f,
                "\"{text}\" is not a depth from 0 to {DEPTH_MAX} and a number of nodes"
            ),
            SuiteFault::NoPosition => f.write_str("a count comes before any position"),
            SuiteFault::Word(word) => write!(
                f,
                "\"{word}\" begins no line of a suite; expected is id, epd or perft"
            ),
            SuiteFault::TooMany => write!(
                f,
                "the suite has more than {SUITE_POSITIONS_MAX} positions: cut it into parts"
            ),
        }
    }
}

impl core::error::Error for SuiteError {}

/// Reads a suite in either format; a suite is in blocks where its first word is `id` or `epd`.
///
/// ```
/// use referee_perft::read_suite;
///
/// let suite = "8/8/8/8/8/8/1k6/3K4 w - - 0 1 ;D1 3\n";
/// let cases = read_suite(suite)?;
/// assert_eq!(cases[0].counts, [(1, 3)]);
///
/// let blocks = "id lone kings\nepd 8/8/8/8/8/8/1k6/3K4 w - -\nperft 1 3\n";
/// assert_eq!(read_suite(blocks)?[0].name, "lone kings");
/// assert_eq!(read_suite(&format!("\u{feff}{suite}"))?.len(), 1);
/// assert!(read_suite("8/8/8/8/8/8/8/8 w - - ;D1 0").is_err());
/// # Ok::<(), referee_perft::SuiteError>(())
/// ```
///
/// # Errors
///
/// Names the first line that cannot be read, and why.
pub fn read_suite(text: &str) -> Result<Vec<Case>, SuiteError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = (1..)
        .zip(text.lines().map(str::trim))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    let is_blocks = lines
        .peek()
        .is_some_and(|(_, line)| matches!(line.split_whitespace().next(), Some("id" | "epd")));
    let mut reader = Reader::default();
    for (line, text) in lines {
        let read = if is_blocks {
            reader.read_block_line(line, text)
        } else {
            reader.read_epd_line(line, text)
        };
        read.map_err(|fault| SuiteError { line, fault })?;
    }
    Ok(reader.cases)
}

#[derive(Default)]
struct Reader {
    name: String,
    cases: Vec<Case>,
}

impl Reader {
    fn read_epd_line(&mut self, line: usize, text: &str) -> Result<(), SuiteFault> {
        let mut fields = text.split(';').map(str::trim);
        self.add_position(line, fields.next().unwrap_or_default())?;
        for field in fields.filter(|field| !field.is_empty()) {
            let count = field
                .strip_prefix('D')
                .ok_or_else(|| SuiteFault::Count(field.to_owned()))?;
            self.add_count(count)?;
        }
        Ok(())
    }

    fn read_block_line(&mut self, line: usize, text: &str) -> Result<(), SuiteFault> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            "id" => {
                rest.trim().clone_into(&mut self.name);
                Ok(())
            }
            "epd" => self.add_position(line, rest.trim()),
            "perft" => self.add_count(rest.trim()),
            _ => Err(SuiteFault::Word(word.to_owned())),
        }
    }

    fn add_position(&mut self, line: usize, fen: &str) -> Result<(), SuiteFault> {
        if self.cases.len() == SUITE_POSITIONS_MAX {
            return Err(SuiteFault::TooMany);
        }
        self.cases.push(Case {
            line,
            name: core::mem::take(&mut self.name),
            position: read_position(fen, CastlingMode::Standard).map_err(SuiteFault::Position)?,
            counts: Vec::new(),
        });
        Ok(())
    }

    fn add_count(&mut self, text: &str) -> Result<(), SuiteFault> {
        let mut words = text.split_whitespace();
        let depth = words.next().and_then(|word| word.parse().ok());
        let nodes = words.next().and_then(|word| word.parse().ok());
        match (depth, nodes, words.next()) {
            (Some(depth @ 0..=DEPTH_MAX), Some(nodes), None) => {
                let case = self.cases.last_mut().ok_or(SuiteFault::NoPosition)?;
                case.counts.push((depth, nodes));
                Ok(())
            }
            _ => Err(SuiteFault::Count(text.to_owned())),
        }
    }
}

/// Reads a position to count in: in standard chess where rights to castle allow it and the mode
/// does not say otherwise, in Chess960 elsewhere. Positions that could not arise in play are taken
/// as long as each side has one king and the side that is not to move is not in check.
///
/// # Errors
///
/// Names everything that is wrong with the text or the position.
pub fn read_position(fen: &str, mode: CastlingMode) -> Result<Position, FenError> {
    let exact = Tolerance {
        drop_castling_rights: false,
        ..Tolerance::PERFT
    };
    // Dropping rights is the last resort: first both modes are asked to make sense of them.
    Position::from_fen_with(fen, mode, exact)
        .or_else(|_| Position::from_fen_with(fen, CastlingMode::Chess960, exact))
        .or_else(|_| Position::from_fen_with(fen, mode, Tolerance::PERFT))
}
