//! The moves of the Universal Chess Interface.

use core::fmt;
use core::str::FromStr;

use crate::generate::castle_targets;
use crate::limits::MOVE_LENGTH_MAX;
use crate::{
    Bitboard, CastlingMode, Move, MoveError, MoveKind, Position, Role, Square, UnreadableMove,
};

/// A move as UCI writes it: two squares, and what a pawn becomes. Whether it is legal depends on
/// the position; null moves cannot be said.
///
/// ```
/// use referee_chess::{Role, UciMove};
///
/// let uci: UciMove = "e7e8q".parse()?;
/// assert_eq!(uci.promotion, Some(Role::Queen));
/// assert_eq!(uci.to_string(), "e7e8q");
/// assert!("e7e8Q".parse::<UciMove>().is_err());
/// assert!("0000".parse::<UciMove>().is_err());
/// # Ok::<(), referee_chess::ParseUciError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UciMove {
    /// The square that the piece leaves.
    pub from: Square,
    /// The square that the piece reaches; for castling in Chess960, that of the own rook.
    pub to: Square,
    /// What a pawn becomes. Reading takes the letter of any piece, `k` and `p` too, so that a
    /// promotion to a king can be refused for what it is.
    pub promotion: Option<Role>,
}

/// The text is not a move in UCI notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseUciError;

impl fmt::Display for ParseUciError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a move in UCI notation is two squares such as e2e4, and q, r, b or n after them",
        )
    }
}

impl core::error::Error for ParseUciError {}

impl UciMove {
    /// Reads the form of a move; upper case letters of promotion are taken where told.
    pub(crate) fn read(text: &str, any_case: bool) -> Option<UciMove> {
        let bytes = text.as_bytes();
        let (squares, promotion) = match bytes.len() {
            4 => (bytes, None),
            5 => {
                let letter = bytes[4] as char;
                if letter.is_ascii_uppercase() && !any_case {
                    return None;
                }
                (&bytes[..4], Some(Role::from_char(letter)?))
            }
            _ => return None,
        };
        let square = |file: u8, rank: u8| {
            let file = crate::File::from_char(file as char)?;
            Some(Square::at(file, crate::Rank::from_char(rank as char)?))
        };
        Some(UciMove {
            from: square(squares[0], squares[1])?,
            to: square(squares[2], squares[3])?,
            promotion,
        })
    }
}

/// Ways in which programs write that a side passes.
const NULL_MOVES: [&str; 5] = ["0000", "--", "Z0", "@@@@", "null"];

/// Returns the text of a move without blanks around it, if it is one that any notation can read.
pub(crate) fn check_text(text: &str) -> Result<&str, UnreadableMove> {
    let length = text.len();
    if length > MOVE_LENGTH_MAX {
        return Err(UnreadableMove::TooLong { length });
    }
    if let Some((offset, found)) = text.char_indices().find(|(_, c)| !c.is_ascii()) {
        return Err(UnreadableMove::NotAscii { offset, found });
    }
    let text = text.trim_ascii();
    if text.is_empty() {
        return Err(UnreadableMove::Empty);
    }
    if NULL_MOVES.contains(&text) {
        return Err(UnreadableMove::NullMove);
    }
    Ok(text)
}

impl FromStr for UciMove {
    type Err = ParseUciError;

    /// Reads a move strictly: lower case only.
    fn from_str(text: &str) -> Result<UciMove, ParseUciError> {
        UciMove::read(text, false).ok_or(ParseUciError)
    }
}

impl fmt::Display for UciMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from, self.to)?;
        match self.promotion {
            Some(role) => write!(f, "{}", role.to_char()),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for UciMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Position {
    /// Returns a move of this position as UCI writes it: castling is the move of the king in
    /// standard chess (`e1g1`), and the king taking its own rook in Chess960 (`e1h1`).
    #[must_use]
    pub fn uci(&self, mv: Move) -> UciMove {
        let (from, mut to) = (mv.from(), mv.to());
        if mv.is_castle() && self.castling_mode() == CastlingMode::Standard {
            to = castle_targets(from, to).0;
        }
        UciMove {
            from,
            to,
            promotion: mv.promotion(),
        }
    }

    /// Reads a legal move in UCI notation.
    ///
    /// Castling is understood as in [`find_uci`](Self::find_uci). A letter of promotion may be
    /// upper case, which UCI does not have but many programs send; blanks around the text are
    /// passed over. A letter of promotion on any other move is refused, and so are null moves.
    ///
    /// ```
    /// use referee_chess::Position;
    ///
    /// let position = Position::startpos();
    /// let mv = position.read_uci("g1f3")?;
    /// assert_eq!(position.uci(mv).to_string(), "g1f3");
    ///
    /// let error = position.read_uci("f1b5").unwrap_err();
    /// assert_eq!(error.to_string(), "the pawn on e2 stands between the bishop on f1 and b5");
    /// # Ok::<(), referee_chess::MoveError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the text is no move, or none that is legal here.
    pub fn read_uci(&self, text: &str) -> Result<Move, MoveError> {
        let text = check_text(text).map_err(MoveError::Unreadable)?;
        let uci = UciMove::read(text, true).ok_or(MoveError::Unreadable(UnreadableMove::NotUci))?;
        self.resolve_uci(uci)
    }

    /// Returns the legal move that a move in UCI notation is.
    ///
    /// # Errors
    ///
    /// Where it is none: says why.
    pub fn resolve_uci(&self, uci: UciMove) -> Result<Move, MoveError> {
        self.find_uci(uci)
            .ok_or_else(|| MoveError::Illegal(self.explain_illegal(uci)))
    }

    /// Returns the legal move that a move in UCI notation is, or `None` where it is none.
    ///
    /// Castling is taken as the king taking its own rook, in both castling modes, and as the
    /// move of the king to the square where it ends where that is two files away or more. A king
    /// that goes to the next square never castles by that: in Chess960 `f1g1` is a step of the
    /// king, unless its rook with the right to castle stands on `g1`.
    #[must_use]
    pub fn find_uci(&self, uci: UciMove) -> Option<Move> {
        let moves = self.legal_moves_from(Bitboard::of(uci.from));
        let exact = |mv: &Move| mv.to() == uci.to && mv.promotion() == uci.promotion;
        let spans = uci.from.file().index().abs_diff(uci.to.file().index()) >= 2;
        let as_king = |mv: &Move| {
            spans
                && uci.promotion.is_none()
                && mv.kind() == MoveKind::Castle
                && castle_targets(mv.from(), mv.to()).0 == uci.to
        };
        moves
            .into_iter()
            .find(exact)
            .or_else(|| moves.into_iter().find(as_king))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(fen: &str, mode: CastlingMode, uci: &str) -> Option<String> {
        let position = Position::from_fen(fen, mode).expect("the test has a good FEN");
        let mv = position.find_uci(uci.parse().expect("the test has a move"))?;
        Some(position.uci(mv).to_string())
    }

    #[test]
    fn castling_is_read_in_both_ways_and_written_in_one() {
        use CastlingMode::{Chess960, Standard};
        let both = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        let step = "4k3/8/8/8/8/8/8/5K1R w H - 0 1";
        let swap = "4k3/8/8/8/8/8/8/5KR1 w G - 0 1";
        for (fen, mode, uci, written) in [
            (both, Standard, "e1g1", Some("e1g1")),
            (both, Standard, "e1h1", Some("e1g1")),
            (both, Standard, "e1a1", Some("e1c1")),
            (both, Standard, "e1b1", None),
            (both, Standard, "e1f1", Some("e1f1")),
            (both, Chess960, "e1g1", Some("e1h1")),
            (both, Chess960, "e1c1", Some("e1a1")),
            (step, Chess960, "f1g1", Some("f1g1")),
            (step, Chess960, "f1h1", Some("f1h1")),
            (swap, Chess960, "f1g1", Some("f1g1")),
        ] {
            assert_eq!(found(fen, mode, uci).as_deref(), written, "{fen} {uci}");
        }
    }

    #[test]
    fn texts_that_are_no_moves_are_refused() {
        for text in [
            "", "e2", "e2e", "e2e9", "i2e4", "e2e4x", "e7e8qq", "E2E4", "e2é", "--", "e2-e4",
        ] {
            assert_eq!(text.parse::<UciMove>(), Err(ParseUciError), "{text}");
        }
        assert_eq!(UciMove::read("e7e8Q", true), "e7e8q".parse().ok());
    }
}
