//! Files of positions with known verdicts, and what we say about them.
//!
//! A line is two characters and a FEN: `W` or `-` for whether White can mate, `B` or `-` for Black.
//! Or it is fields parted by tabs: a FEN, whether White can mate and whether Black can, each `yes`
//! or `no` and what else follows in the field, and further fields that are not looked at. Lines
//! that begin with `#`, empty lines and a heading that begins with `fen` say nothing. Each side is
//! one query.
//!
//! ```
//! use referee_mate::Budget;
//! use referee_mate::suite::{cases, judge};
//!
//! let text = "# Only White has a rook.\nW- 8/8/4k3/3R4/2K5/8/8/8 b - -\n";
//! let mut passed = 0;
//! for case in cases(text) {
//!     let case = case.expect("the line is right");
//!     let verdicts = judge(&case, Budget::FULL, &|| false);
//!     passed += verdicts.iter().filter(|verdict| verdict.is_passed()).count();
//! }
//! assert_eq!(passed, 2);
//! ```

use core::fmt;

use referee_chess::{CastlingMode, Color, Position, Tolerance};

use crate::can_mate;
use crate::verdict::{Budget, CanMate};

/// One line of a suite: a position, and for White and Black whether they can mate.
#[derive(Clone, Debug)]
pub struct Case {
    /// The number of the line, from 1.
    pub line: usize,
    /// The FEN as it was written.
    pub fen: String,
    /// The position.
    pub position: Position,
    /// Whether White and Black can mate.
    pub expected: [bool; 2],
}

/// Why a line of a suite cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl core::error::Error for CaseError {}

/// The verdict on one side of one position.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The side that was asked about.
    pub winner: Color,
    /// Whether it can mate, as the file says.
    pub expected: bool,
    /// What we say.
    pub answer: CanMate,
}

impl Verdict {
    /// Returns whether the answer is the expected one; `Unknown` never is.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        match self.answer {
            CanMate::Yes(_) => self.expected,
            CanMate::No(_) => !self.expected,
            CanMate::Unknown { .. } => false,
        }
    }

    /// Returns whether the answer is a wrong one; `Unknown` is not.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        !self.is_passed() && !matches!(self.answer, CanMate::Unknown { .. })
    }
}

/// Reads a suite. Pieces may be impossible, as in composed problems; counters may be missing.
///
/// # Errors
///
/// A line that is none gives its number and the reason, and the next ones are read all the same.
///
/// ```
/// use referee_mate::suite::cases;
///
/// let mut lines = cases("W? 8/8/4k3/3R4/2K5/8/8/8 b - -\n-- 8/8/4k3/8/2K5/8/8/8 b");
/// let error = lines.next().expect("there are two lines").expect_err("W? are no marks");
/// assert_eq!(error.to_string(), "line 1: expected WB, W-, -B or --, not W?");
/// let case = lines.next().expect("there are two lines").expect("this one is right");
/// assert_eq!((case.line, case.expected), (2, [false, false]));
/// ```
pub fn cases(text: &str) -> impl Iterator<Item = Result<Case, CaseError>> + '_ {
    text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') || line.starts_with("fen\t") {
            return None;
        }
        Some(
            case(line)
                .map_err(|reason| CaseError {
                    line: index + 1,
                    reason,
                })
                .map(|case| Case {
                    line: index + 1,
                    ..case
                }),
        )
    })
}

fn case(line: &str) -> Result<Case, String> {
    let (expected, fen) = if line.contains('\t') {
        tabbed(line)?
    } else {
        marked(line)?
    };
    let fen = fen.trim();
    let position =
        Position::from_fen_with(&completed(fen), CastlingMode::Standard, Tolerance::PERFT)
            .map_err(|error| error.to_string())?;
    Ok(Case {
        line: 0,
        fen: fen.to_owned(),
        position,
        expected,
    })
}

/// Reads two characters and a FEN.
fn marked(line: &str) -> Result<([bool; 2], &str), String> {
    let (marks, fen) = line
        .split_once(' ')
        .ok_or("a line is two characters, a space and a FEN")?;
    let expected = match marks {
        "WB" => [true, true],
        "W-" => [true, false],
        "-B" => [false, true],
        "--" => [false, false],
        _ => return Err(format!("expected WB, W-, -B or --, not {marks}")),
    };
    Ok((expected, fen))
}

/// Reads a FEN and two answers, parted by tabs.
fn tabbed(line: &str) -> Result<([bool; 2], &str), String> {
    let mut fields = line.split('\t');
    let fen = fields.next().unwrap_or_default();
    let mut answer = |side: &str| {
        let field = fields.next().unwrap_or_default();
        match field.split_whitespace().next() {
            Some("yes") => Ok(true),
            Some("no") => Ok(false),
            _ => Err(format!(
                "expected yes or no for whether {side} can mate, not {field:?}"
            )),
        }
    };
    Ok(([answer("White")?, answer("Black")?], fen))
}

/// Returns a FEN with the fields at its end that some files leave out.
fn completed(fen: &str) -> String {
    let fields = fen.split_whitespace().count();
    let missing = ["w", "-", "-", "0", "1"]
        .into_iter()
        .skip(fields.saturating_sub(1));
    missing.fold(fen.to_owned(), |fen, field| fen + " " + field)
}

/// Asks about both sides of a position, White first.
///
/// ```
/// use referee_mate::suite::{cases, judge};
/// use referee_mate::{Budget, CanMate, Proof};
///
/// let case = cases("-- 8/8/4k3/8/2K5/8/8/8 b - -").next().expect("there is one line");
/// let [white, black] = judge(&case.expect("it is right"), Budget::FULL, &|| false);
/// assert_eq!(white.answer, CanMate::No(Proof::Material));
/// assert!(black.is_passed() && !black.is_wrong());
/// ```
#[must_use]
pub fn judge(case: &Case, budget: Budget, cancel: &dyn Fn() -> bool) -> [Verdict; 2] {
    Color::ALL.map(|winner| Verdict {
        winner,
        expected: case.expected[winner.index()],
        answer: can_mate(&case.position, winner, budget, cancel),
    })
}
