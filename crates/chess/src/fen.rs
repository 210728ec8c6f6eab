//! Forsyth-Edwards Notation (PGN standard 16.1), X-FEN and Shredder-FEN, in and out.
//!
//! # What is read
//!
//! Six fields, one blank between them: pieces, side to move, castling, en passant, halfmove
//! clock, move number; or the first four of them, as in EPD, and the counters are 0 and 1; or the
//! word `startpos`, by which programs name the position in which the game begins. The strict
//! readers make no guess and drop nothing. What carries no meaning is no fault for them either:
//! blanks around the text, and the order of the castling letters. Castling rights are read in
//! every form, in both castling modes:
//!
//! - `K` and `Q` name the rook in the corner in standard chess, and in Chess960 the outermost
//!   rook on that side of the king (X-FEN);
//! - the letter of a file names the rook on that file (Shredder-FEN, and X-FEN for an inner rook).
//!
//! With a [`Tolerance`], the text may have any number of blanks between fields; with `counter`,
//! one of the counters may be missing (it becomes 1); with `drop_castling_rights`,
//! a right may be named twice. Underscores for blanks, opcodes of EPD, a slash after the last
//! rank, capital letters for the side to move or the en passant square, and a text of fewer than
//! four fields are refused always, since no two programs agree on what they mean.
//!
//! # What is written
//!
//! [`Fen`] writes the castling rights as X-FEN does: `KQkq` in that order, the letter of a file
//! only for an inner rook, which in standard chess is plain FEN. [`ShredderFen`] writes the
//! letters of the files. A FEN made from a position names the en passant square only where the
//! capture is legal, so that equal positions (FIDE Laws 9.2.3) have equal FENs but for the
//! counters.

mod error;
#[cfg(test)]
mod tests;
mod write;

pub use error::{FenError, FenFault, FenField, FenIssue};
pub use write::{Epd, Fen, ShredderFen};

use crate::limits::FEN_LENGTH_MAX;
use crate::{
    Bitboard, Board, CastlingMode, Color, File, Piece, Position, PositionIssue, Rank, Role, Setup,
    Square, Tolerance,
};

/// The name of the position in which the game begins, and its FEN.
const STARTPOS: &str = "startpos";
const STARTPOS_FEN: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

impl Setup {
    /// Reads a FEN strictly, and does not ask whether the position makes sense.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Setup};
    ///
    /// let setup = Setup::from_fen("8/8/8/8/8/8/8/8 w - - 0 1", CastlingMode::Standard)?;
    /// assert!(setup.board.occupied().is_empty());
    ///
    /// let error = Setup::from_fen("8/8/8/9/8/8/8 x - - 0 1", CastlingMode::Standard).unwrap_err();
    /// assert_eq!(error.issues.len(), 3, "{error}");
    /// # Ok::<(), referee_chess::FenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Names every fault of the text.
    pub fn from_fen(text: &str, castling_mode: CastlingMode) -> Result<Setup, FenError> {
        Setup::from_fen_with(text, castling_mode, Tolerance::STRICT)
    }

    /// Reads a FEN with some faults let pass, and does not ask whether the position makes sense.
    ///
    /// # Errors
    ///
    /// Names every fault of the text that is not let pass.
    pub fn from_fen_with(
        text: &str,
        castling_mode: CastlingMode,
        tolerance: Tolerance,
    ) -> Result<Setup, FenError> {
        let reading = read(text, castling_mode, tolerance);
        if reading.issues.is_empty() {
            Ok(reading.setup)
        } else {
            Err(FenError {
                issues: reading.issues,
            })
        }
    }
}

impl Position {
    /// Reads a FEN strictly: the text has to be in order and the position fit to be played from.
    ///
    /// Rights to castle that cannot be, an en passant square that no pawn can just have passed
    /// over, a check that cannot have come about, more pieces than promotions can explain and an
    /// en passant square beside a halfmove clock above 0 are refused.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position};
    ///
    /// let fen = "r3k2r/8/8/8/8/8/8/R3K2R w qkQK - 0 1";
    /// let position = Position::from_fen(fen, CastlingMode::Standard)?;
    /// assert_eq!(position.to_string(), "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
    ///
    /// let begin = Position::from_fen("startpos", CastlingMode::Standard)?;
    /// assert_eq!(begin, Position::startpos());
    /// let begin = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    /// let begin = Position::from_fen(begin, CastlingMode::Standard)?;
    /// assert_eq!(begin, Position::startpos());
    ///
    /// let fen = "4k3/8/8/8/8/8/8/8 w K - -5 1";
    /// let error = Position::from_fen(fen, CastlingMode::Standard).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "halfmove clock, byte 24: found '-'; expected is a number from 0 up; \
    ///      White has no king; \
    ///      a right to castle names h1, where no king and rook stand ready for it",
    /// );
    /// # Ok::<(), referee_chess::FenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Names everything that is wrong, faults of the text and of the position together. Of a
    /// position that cannot be read as a whole, only what does not hang on the unread part is
    /// judged.
    pub fn from_fen(text: &str, castling_mode: CastlingMode) -> Result<Position, FenError> {
        Position::from_fen_with(text, castling_mode, Tolerance::STRICT)
    }

    /// Reads a FEN with some problems let pass; the position is set right where it has to be.
    /// What was dropped or set right is what [`from_fen`](Position::from_fen) would have refused.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position, Tolerance};
    ///
    /// // The black pawn on d5 is not there, and neither are the counters.
    /// let fen = "4k3/8/8/4P3/8/8/8/4K3 w - d6";
    /// let position = Position::from_fen_with(fen, CastlingMode::Standard, Tolerance::LENIENT)?;
    /// assert_eq!(position.to_string(), "4k3/8/8/4P3/8/8/8/4K3 w - - 0 1");
    /// # Ok::<(), referee_chess::FenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Names everything that is wrong and not let pass.
    pub fn from_fen_with(
        text: &str,
        castling_mode: CastlingMode,
        tolerance: Tolerance,
    ) -> Result<Position, FenError> {
        let Reading {
            setup,
            mut issues,
            has_board,
            has_turn,
        } = read(text, castling_mode, tolerance);
        let position = match Position::from_setup_with(&setup, tolerance) {
            Ok(position) if issues.is_empty() => return Ok(position),
            Ok(_) => Vec::new(),
            Err(error) => error.issues,
        };
        let is_known = |issue: &PositionIssue| {
            let hangs_on_turn = matches!(
                issue,
                PositionIssue::EnPassantSquare(_)
                    | PositionIssue::OpponentInCheck
                    | PositionIssue::ImpossibleCheck(_)
            );
            match issue {
                PositionIssue::Counter => true,
                _ => has_board && (has_turn || !hangs_on_turn),
            }
        };
        issues.extend(
            position
                .into_iter()
                .filter(is_known)
                .map(FenIssue::Position),
        );
        Err(FenError { issues })
    }
}

/// What came of reading a text. Fields that could not be read are as in [`Setup::empty`].
struct Reading {
    setup: Setup,
    issues: Vec<FenIssue>,
    has_board: bool,
    has_turn: bool,
}

fn read(text: &str, castling_mode: CastlingMode, tolerance: Tolerance) -> Reading {
    let mut reader = Reader {
        setup: Setup::empty(castling_mode),
        tolerance,
        issues: Vec::new(),
    };
    if text.len() > FEN_LENGTH_MAX {
        let length = text.len();
        reader.fault(FenField::Board, 0, FenFault::TooLong { length });
        return reader.finish(false, false);
    }
    // The name of a position stands for its FEN.
    let text = match text.trim_ascii() {
        STARTPOS => STARTPOS_FEN,
        _ => text,
    };
    let fields = split(text, tolerance != Tolerance::STRICT);
    let end = text.trim_ascii_end().len();
    let field = |index: usize| fields.get(index).copied().unwrap_or((end, ""));
    let has_board = reader.board(field(0));
    let has_turn = reader.turn(field(1));
    reader.castling(field(2));
    reader.en_passant(field(3));
    let may_lack = fields.len() == 4 || tolerance.counter && fields.len() >= 4;
    if !may_lack || fields.len() > 4 {
        reader.setup.halfmove_clock = reader.number(FenField::HalfmoveClock, field(4), 0);
    }
    if !may_lack || fields.len() > 5 {
        reader.setup.fullmove_number = reader.number(FenField::FullmoveNumber, field(5), 1);
    }
    if let Some(&(offset, rest)) = fields.get(6) {
        let found = rest.chars().next().unwrap_or(' ');
        reader.fault(FenField::End, offset, FenFault::Unexpected { found });
    }
    reader.finish(has_board, has_turn)
}

/// Returns the fields with their offsets. One blank divides fields, unless any number may.
fn split(text: &str, any_blanks: bool) -> Vec<(usize, &str)> {
    let start = text.len() - text.trim_ascii_start().len();
    let mut fields = Vec::new();
    let mut offset = start;
    let is_blank = |c: char| c == ' ' || (any_blanks && c.is_ascii_whitespace());
    for field in text.trim_ascii().split(is_blank) {
        if !(any_blanks && field.is_empty()) {
            fields.push((offset, field));
        }
        offset += field.len() + 1;
    }
    fields
}

struct Reader {
    setup: Setup,
    tolerance: Tolerance,
    issues: Vec<FenIssue>,
}

impl Reader {
    fn fault(&mut self, field: FenField, offset: usize, fault: FenFault) {
        self.issues.push(FenIssue::Text {
            field,
            offset,
            fault,
        });
    }

    fn finish(self, has_board: bool, has_turn: bool) -> Reading {
        Reading {
            setup: self.setup,
            issues: self.issues,
            has_board,
            has_turn,
        }
    }

    /// Reads the pieces, and returns whether all of them could be read.
    fn board(&mut self, (offset, text): (usize, &str)) -> bool {
        let known = self.issues.len();
        if text.is_empty() {
            self.fault(FenField::Board, offset, FenFault::Missing);
            return false;
        }
        let ranks = text.split('/').count();
        if ranks != 8 {
            self.fault(FenField::Board, offset, FenFault::RankCount { ranks });
        }
        let mut board = Board::empty();
        let mut start = offset;
        for (index, rank) in (0..8).rev().filter_map(Rank::new).zip(text.split('/')) {
            self.rank(&mut board, index, (start, rank));
            start += rank.len() + 1;
        }
        let is_whole = self.issues.len() == known;
        if is_whole {
            self.setup.board = board;
        }
        is_whole
    }

    fn rank(&mut self, board: &mut Board, rank: Rank, (offset, text): (usize, &str)) {
        let known = self.issues.len();
        let mut squares = 0;
        let mut after_digit = false;
        for (index, c) in text.char_indices() {
            let is_digit = matches!(c, '1'..='8') && !after_digit;
            if is_digit {
                squares += c as usize - '0' as usize;
            } else if let Some(piece) = Piece::from_char(c) {
                if let Some(file) = u8::try_from(squares).ok().and_then(File::new) {
                    board.put(Square::at(file, rank), piece);
                }
                squares += 1;
            } else {
                // A digit after a digit is no way to write the sum.
                let fault = FenFault::Unexpected { found: c };
                self.fault(FenField::Board, offset + index, fault);
            }
            after_digit = is_digit;
        }
        // What an unknown character stands for is unknown, and so is the length of the rank.
        if squares != 8 && self.issues.len() == known {
            let fault = FenFault::RankLength { rank, squares };
            self.fault(FenField::Board, offset, fault);
        }
    }

    /// Reads the side to move, and returns whether it could be read.
    fn turn(&mut self, (offset, text): (usize, &str)) -> bool {
        let mut chars = text.chars();
        let turn = match chars.next() {
            Some('w') => Color::White,
            Some('b') => Color::Black,
            Some(found) => {
                self.fault(FenField::Turn, offset, FenFault::Unexpected { found });
                return false;
            }
            None => {
                self.fault(FenField::Turn, offset, FenFault::Missing);
                return false;
            }
        };
        if let Some(found) = chars.next() {
            self.fault(FenField::Turn, offset + 1, FenFault::Unexpected { found });
            return false;
        }
        self.setup.turn = turn;
        true
    }

    /// Reads the rights to castle. The pieces have been read before.
    fn castling(&mut self, (offset, text): (usize, &str)) {
        if text.is_empty() {
            self.fault(FenField::Castling, offset, FenFault::Missing);
        }
        if text == "-" {
            return;
        }
        for (index, letter) in text.char_indices() {
            let offset = offset + index;
            match castling_rook(&self.setup, letter) {
                None => {
                    let fault = FenFault::Unexpected { found: letter };
                    self.fault(FenField::Castling, offset, fault);
                }
                Some(rook) if self.setup.castling_rooks.contains(rook) => {
                    if !self.tolerance.drop_castling_rights {
                        self.fault(FenField::Castling, offset, FenFault::Repeated { letter });
                    }
                }
                Some(rook) => self.setup.castling_rooks |= Bitboard::of(rook),
            }
        }
    }

    fn en_passant(&mut self, (offset, text): (usize, &str)) {
        let mut fault = |offset, fault| self.fault(FenField::EnPassant, offset, fault);
        let mut chars = text.chars();
        let file = match chars.next() {
            None => return fault(offset, FenFault::Missing),
            Some('-') if text.len() == 1 => return,
            Some(c) => match File::from_char(c) {
                Some(file) => file,
                None => {
                    // A minus that does not stand alone is followed by the fault.
                    let (at, found) = match chars.next() {
                        Some(next) if c == '-' => (offset + 1, next),
                        _ => (offset, c),
                    };
                    return fault(at, FenFault::Unexpected { found });
                }
            },
        };
        let rank = match chars.next().map(|c| (c, Rank::from_char(c))) {
            None => return fault(offset + 1, FenFault::Unfinished),
            Some((_, Some(rank))) => rank,
            Some((found, None)) => return fault(offset + 1, FenFault::Unexpected { found }),
        };
        if let Some(found) = chars.next() {
            return fault(offset + 2, FenFault::Unexpected { found });
        }
        self.setup.en_passant = Some(Square::at(file, rank));
    }

    /// Reads a number; one too great for 32 bits becomes the greatest of them, which no position
    /// allows.
    fn number(&mut self, field: FenField, (offset, text): (usize, &str), default: u32) -> u32 {
        if text.is_empty() {
            self.fault(field, offset, FenFault::Missing);
            return default;
        }
        let mut number = 0u32;
        for (index, found) in text.char_indices() {
            let Some(digit) = found.to_digit(10) else {
                self.fault(field, offset + index, FenFault::Unexpected { found });
                return default;
            };
            number = number.saturating_mul(10).saturating_add(digit);
        }
        number
    }
}

/// Returns the square of the rook that a castling letter names, or `None` where it is no such
/// letter. Where no rook fits, the square is one on which none can castle, for the judgment of
/// the position to find.
fn castling_rook(setup: &Setup, letter: char) -> Option<Square> {
    let color = if letter.is_ascii_uppercase() {
        Color::White
    } else {
        Color::Black
    };
    let home = Rank::relative(color, 0);
    let side = match letter.to_ascii_lowercase() {
        'k' => File::H,
        'q' => File::A,
        c => return File::from_char(c).map(|file| Square::at(file, home)),
    };
    let outermost = match setup.castling_mode {
        CastlingMode::Standard => None,
        CastlingMode::Chess960 => outermost_rook(&setup.board, color, side),
    };
    Some(outermost.unwrap_or(Square::at(side, home)))
}

/// Returns the rook of a side on its first rank that stands nearest to the a- or h-file, where
/// its king stands on the same rank and further in.
fn outermost_rook(board: &Board, color: Color, side: File) -> Option<Square> {
    let home = Bitboard::rank(Rank::relative(color, 0));
    let king = board.pieces(color, Role::King).only()?;
    let mut rooks = (board.pieces(color, Role::Rook) & home).into_iter();
    let rook = if side == File::A {
        rooks.next().filter(|&rook| rook < king)
    } else {
        rooks.last().filter(|&rook| rook > king)
    }?;
    home.contains(king).then_some(rook)
}
