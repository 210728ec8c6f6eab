//! Writing a setup as FEN, X-FEN, Shredder-FEN and EPD.

use core::fmt;

use super::castling_rook;
use crate::{Bitboard, Color, Rank, Setup, Square};

/// A setup, to be written as a FEN: plain in standard chess, X-FEN in Chess960.
///
/// ```
/// use referee_chess::{CastlingMode, Fen, Setup, ShredderFen};
///
/// let text = "6k1/8/8/8/8/8/8/RR2K2R w HB - 0 1";
/// let setup = Setup::from_fen(text, CastlingMode::Chess960)?;
/// assert_eq!(Fen(&setup).to_string(), "6k1/8/8/8/8/8/8/RR2K2R w KB - 0 1");
/// assert_eq!(ShredderFen(&setup).to_string(), text);
/// # Ok::<(), referee_chess::FenError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fen<'a>(pub &'a Setup);

/// A setup, to be written as a Shredder-FEN: rights to castle are letters of files.
#[derive(Clone, Copy, Debug)]
pub struct ShredderFen<'a>(pub &'a Setup);

/// A setup, to be written as the four fields of an Extended Position Description (PGN standard
/// 16.2), without opcodes: a FEN without its counters.
///
/// ```
/// use referee_chess::{Epd, Position};
///
/// let setup = Position::startpos().to_setup();
/// assert_eq!(Epd(&setup).to_string(), "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Epd<'a>(pub &'a Setup);

impl fmt::Display for Fen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fen(setup) = self;
        let (halfmoves, fullmoves) = (setup.halfmove_clock, setup.fullmove_number);
        write!(f, "{} {halfmoves} {fullmoves}", Epd(setup))
    }
}

impl fmt::Display for ShredderFen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShredderFen(setup) = self;
        write_four(f, setup, file_letter)?;
        write!(f, " {} {}", setup.halfmove_clock, setup.fullmove_number)
    }
}

impl fmt::Display for Epd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_four(f, self.0, xfen_letter)
    }
}

/// Writes the first four fields.
fn write_four(
    f: &mut fmt::Formatter<'_>,
    setup: &Setup,
    letter: fn(&Setup, Color, Square) -> char,
) -> fmt::Result {
    write!(f, "{} {} ", setup.board, setup.turn.to_char())?;
    let mut none = true;
    for color in Color::ALL {
        let home = Bitboard::rank(Rank::relative(color, 0));
        // Towards the h-file comes first.
        for index in (0..8).rev() {
            let file = (setup.castling_rooks & home).into_iter();
            for rook in file.filter(|rook| rook.file().index() == index) {
                let letter = letter(setup, color, rook);
                write!(
                    f,
                    "{}",
                    match color {
                        Color::White => letter.to_ascii_uppercase(),
                        Color::Black => letter,
                    }
                )?;
                none = false;
            }
        }
    }
    if none {
        f.write_str("-")?;
    }
    match setup.en_passant {
        Some(square) => write!(f, " {square}"),
        None => f.write_str(" -"),
    }
}

fn file_letter(_setup: &Setup, _color: Color, rook: Square) -> char {
    rook.file().to_char()
}

/// `k` and `q` where they are read back as the same rook.
fn xfen_letter(setup: &Setup, color: Color, rook: Square) -> char {
    let is_named_by = |letter: char| {
        let letter = match color {
            Color::White => letter.to_ascii_uppercase(),
            Color::Black => letter,
        };
        castling_rook(setup, letter) == Some(rook)
    };
    ['k', 'q']
        .into_iter()
        .find(|&letter| is_named_by(letter))
        .unwrap_or(rook.file().to_char())
}
