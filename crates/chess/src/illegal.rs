//! Why a text is no legal move, in terms that an arbiter can read out.

use core::fmt;

use crate::limits::MOVE_LENGTH_MAX;
use crate::{Bitboard, Color, File, Piece, Rank, Role, Square, UciMove};

/// A text is no legal move of the position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveError {
    /// The text is no move in the notation that is read.
    Unreadable(UnreadableMove),
    /// The text fits more than one legal move, and none is guessed.
    Ambiguous {
        /// The moves that it fits, two or more, as UCI writes them.
        candidates: Vec<UciMove>,
    },
    /// The text is a move that is not legal.
    Illegal(IllegalMove),
}

impl fmt::Display for MoveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Ambiguous { candidates } => {
                f.write_str("the text fits more than one legal move: ")?;
                write_list(f, candidates.len(), |f, index| candidates[index].fmt(f))
            }
            Self::Illegal(illegal) => illegal.fmt(f),
        }
    }
}

impl core::error::Error for MoveError {}

/// Why a text is no move, whatever the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnreadableMove {
    /// The text is empty.
    Empty,
    /// The text is longer than [`MOVE_LENGTH_MAX`].
    TooLong {
        /// The length of the text in bytes.
        length: usize,
    },
    /// The text has a character that no notation of moves has, such as a Cyrillic letter that
    /// looks like a Latin one.
    NotAscii {
        /// Where it stands: bytes from the beginning of the text.
        offset: usize,
        /// The character.
        found: char,
    },
    /// The text is a null move (`0000`, `--`, `Z0`), which is never legal (FIDE Laws 1.3).
    NullMove,
    /// The text does not have the form of UCI notation.
    NotUci,
    /// The text does not have the form of algebraic notation.
    NotSan,
}

impl fmt::Display for UnreadableMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the text of the move is empty"),
            Self::TooLong { length } => write!(
                f,
                "the text of the move has {length} bytes, and at most {MOVE_LENGTH_MAX} are read"
            ),
            Self::NotAscii { offset, found } => write!(
                f,
                "the character {found:?} (U+{:04X}) at byte {offset} is none that a move is \
                 written with",
                u32::from(*found)
            ),
            Self::NullMove => f.write_str("a null move is not legal"),
            Self::NotUci => f.write_str(
                "the text is no move in UCI notation, which is two squares and the letter of a \
                 promotion, such as e2e4 or e7e8q",
            ),
            Self::NotSan => f.write_str(
                "the text is no move in algebraic notation, such as e4, Nf3, exd5, O-O or e8=Q",
            ),
        }
    }
}

impl core::error::Error for UnreadableMove {}

/// Why a move is not legal. Where several reasons hold, the first in this order is given.
///
/// That a game is over, by mate or otherwise, is not for the board to say: the moves of a mated
/// side are illegal for what each of them does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IllegalReason {
    /// No piece stands on the square of origin, or no piece of the kind that the text names can
    /// reach the square of arrival (FIDE Laws 3.1).
    EmptySquare,
    /// The piece on the square of origin belongs to the opponent (1.2).
    OpponentPiece,
    /// A piece of this kind does not move that way (3.2 to 3.8).
    PieceMovement,
    /// A piece stands in the way (3.5, 3.7.1, 3.7.2, 3.8.2.2).
    PathBlocked,
    /// A piece of the same side stands on the square of arrival (3.1).
    OwnPiece,
    /// No pawn can be taken en passant there now (3.7.3.2).
    NoEnPassant,
    /// The right to castle on that side has been lost (3.8.2.1).
    CastlingRightLost,
    /// The king is in check and cannot castle (3.8.2.2).
    CastlingInCheck,
    /// The king would cross or reach a square that is attacked (3.8.2.2).
    CastlingThroughCheck,
    /// A pawn reaches the last rank and the piece of promotion is missing (3.7.3.3).
    PromotionMissing,
    /// A piece of promotion is named that cannot be chosen, or where no pawn promotes (3.7.3.3).
    PromotionInvalid,
    /// The king moves to a square that is attacked (3.9.2).
    KingIntoCheck,
    /// The king is in check and the move does not end it (3.9.2).
    CheckRemains,
    /// The piece is pinned, or the capture en passant opens a line: the move exposes the own king
    /// (3.9.2).
    KingExposed,
}

/// A move that is not legal, with the pieces and squares that make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllegalMove {
    /// The reason.
    pub reason: IllegalReason,
    /// The square of origin; `None` where algebraic notation fits no piece.
    pub from: Option<Square>,
    /// The square of arrival; for castling, where the move was to end as it was written.
    pub to: Square,
    /// The piece that was to move; `None` where no piece stands on the square of origin.
    pub piece: Option<Piece>,
    /// The pieces that make the move illegal: those that pin, give check, attack or stand in the
    /// way.
    pub pieces: Vec<(Square, Piece)>,
    /// The squares that make the move illegal: those attacked or blocked; for a pinned piece,
    /// those between the king and the piece that pins, the king's own included.
    pub squares: Bitboard,
    pub(crate) article: &'static str,
    /// The file and the rank that the text names of the piece, where no piece fits.
    pub(crate) within: (Option<File>, Option<Rank>),
    pub(crate) turn: Color,
    pub(crate) king: Square,
    pub(crate) promotion: Option<Role>,
    pub(crate) is_en_passant: bool,
    pub(crate) is_kingside: bool,
}

impl IllegalMove {
    /// Returns the article of the FIDE Laws that forbids the move, such as `3.9.2`.
    #[must_use]
    pub fn article(&self) -> &'static str {
        self.article
    }

    /// Returns the piece of promotion that the text names, whatever it is.
    #[must_use]
    pub fn promotion(&self) -> Option<Role> {
        self.promotion
    }

    /// Whether the piece could make the move on some board: it can reach the square of arrival, or
    /// could capture there.
    pub(crate) fn is_near(&self) -> bool {
        self.reason > IllegalReason::PieceMovement || self.article == "3.7.3"
    }

    /// Whether a pawn is said to capture straight ahead.
    fn is_straight_capture(&self) -> bool {
        let is_straight = self.from.is_some_and(|from| from.file() == self.to.file());
        is_straight && self.article == "3.7.3"
    }

    /// Writes the pieces that make the move illegal.
    fn write_pieces(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, self.pieces.len(), |f, index| {
            let (square, piece) = self.pieces[index];
            write!(f, "the {} on {square}", piece.role)
        })
    }

    /// Writes the squares that make the move illegal.
    fn write_squares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut squares = self.squares.into_iter();
        write_list(f, squares.len(), |f, _| match squares.next() {
            Some(square) => write!(f, "{square}"),
            None => Ok(()),
        })
    }

    /// Writes that no piece of a kind can reach the square, of those that the text names.
    fn write_unreachable(&self, f: &mut fmt::Formatter<'_>, role: Role) -> fmt::Result {
        write!(f, "{} has no {role}", self.turn)?;
        match self.within {
            (Some(file), Some(rank)) => write!(f, " on {}", Square::at(file, rank))?,
            (Some(file), None) => write!(f, " on the {}-file", file.to_char())?,
            (None, Some(rank)) => write!(f, " on rank {}", rank.to_char())?,
            (None, None) => {}
        }
        write!(f, " that can reach {}", self.to)
    }

    /// Writes how the piece does move.
    fn write_rule(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.article {
            "3.2" => "a bishop moves along diagonals",
            "3.3" => "a rook moves along ranks and files",
            "3.4" => "a queen moves along ranks, files and diagonals",
            "3.6" => "a knight moves two squares straight and one to the side",
            "3.7.2" => "a pawn moves two squares forward only from where it started",
            "3.7.3" => "a pawn moves diagonally only to capture, one square forward",
            "3.8.1" => "a king moves to a neighboring square, and otherwise only to castle",
            _ => "a pawn moves straight forward, and captures diagonally",
        })
    }

    fn write_blocked(&self, f: &mut fmt::Formatter<'_>, who: Named) -> fmt::Result {
        let stands = if self.pieces.len() == 1 {
            "stands"
        } else {
            "stand"
        };
        match self.article {
            "3.5" => {
                self.write_pieces(f)?;
                write!(f, " {stands} between {who} and {}", self.to)
            }
            "3.8.2.2" => {
                self.write_pieces(f)?;
                write!(f, " {stands} in the way of castling")
            }
            _ => {
                write!(f, "{who} is blocked by ")?;
                self.write_pieces(f)
            }
        }
    }

    fn write_exposed(&self, f: &mut fmt::Formatter<'_>, who: Named) -> fmt::Result {
        let king = self.king;
        if self.is_en_passant {
            let to = self.to;
            write!(
                f,
                "{who} cannot take en passant on {to}, which would open the king on {king} to "
            )?;
        } else {
            write!(f, "{who} is pinned to its king on {king} by ")?;
        }
        self.write_pieces(f)
    }

    fn write_promotion_invalid(&self, f: &mut fmt::Formatter<'_>, who: Named) -> fmt::Result {
        match self.promotion {
            Some(role @ (Role::King | Role::Pawn)) => write!(
                f,
                "a pawn can become a queen, a rook, a bishop or a knight, and not a {role}"
            ),
            _ => write!(f, "{who} does not promote by going to {}", self.to),
        }
    }
}

impl fmt::Display for IllegalMove {
    /// Writes one sentence, without a capital letter and a dot, that an arbiter could read out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = Named(self.piece, self.from);
        let (to, turn, king) = (self.to, self.turn, self.king);
        match self.reason {
            IllegalReason::EmptySquare => match (self.from, self.piece) {
                (None, Some(piece)) => self.write_unreachable(f, piece.role),
                (from, _) => write!(f, "there is no piece on {}", from.unwrap_or(to)),
            },
            IllegalReason::OpponentPiece => {
                write!(f, "{who} belongs to {}, and {turn} has the move", !turn)
            }
            IllegalReason::PieceMovement if self.is_straight_capture() => write!(
                f,
                "{who} cannot capture on {to}: a pawn moves straight forward, and captures \
                 diagonally"
            ),
            IllegalReason::PieceMovement => {
                write!(f, "{who} cannot go to {to}: ")?;
                self.write_rule(f)
            }
            IllegalReason::PathBlocked => self.write_blocked(f, who),
            IllegalReason::OwnPiece => {
                write!(f, "{who} cannot go to {to}, where its own side has ")?;
                self.write_pieces(f)
            }
            IllegalReason::NoEnPassant => write!(
                f,
                "{who} cannot take en passant on {to}: only a pawn that has just moved two squares \
                 past it can be taken"
            ),
            IllegalReason::CastlingRightLost => {
                let side = if self.is_kingside { "king" } else { "queen" };
                write!(f, "{turn} has lost the right to castle on the {side}side")
            }
            IllegalReason::CastlingInCheck => {
                write!(
                    f,
                    "the king on {king} cannot castle while it is in check from "
                )?;
                self.write_pieces(f)
            }
            IllegalReason::CastlingThroughCheck => {
                f.write_str("the king cannot castle by way of ")?;
                self.write_squares(f)?;
                f.write_str(", attacked by ")?;
                self.write_pieces(f)
            }
            IllegalReason::PromotionMissing => write!(
                f,
                "{who} reaches the last rank on {to}, and the queen, rook, bishop or knight that \
                 it becomes is not named"
            ),
            IllegalReason::PromotionInvalid => self.write_promotion_invalid(f, who),
            IllegalReason::KingIntoCheck => {
                write!(f, "the king cannot go to {to}, which is attacked by ")?;
                self.write_pieces(f)
            }
            IllegalReason::CheckRemains => {
                write!(f, "the king on {king} stays in check from ")?;
                self.write_pieces(f)
            }
            IllegalReason::KingExposed => self.write_exposed(f, who),
        }
    }
}

impl core::error::Error for IllegalMove {}

/// A piece with its square, as one speaks of it.
#[derive(Clone, Copy)]
struct Named(Option<Piece>, Option<Square>);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Named(Some(piece), Some(square)) => write!(f, "the {} on {square}", piece.role),
            Named(Some(piece), None) => write!(f, "the {}", piece.role),
            Named(None, _) => f.write_str("the piece"),
        }
    }
}

/// Writes items as `a`, `a and b`, or `a, b and c`.
fn write_list(
    f: &mut fmt::Formatter<'_>,
    count: usize,
    mut item: impl FnMut(&mut fmt::Formatter<'_>, usize) -> fmt::Result,
) -> fmt::Result {
    for index in 0..count {
        f.write_str(match index {
            0 => "",
            _ if index + 1 == count => " and ",
            _ => ", ",
        })?;
        item(f, index)?;
    }
    Ok(())
}
