//! Squares, files and ranks.

use core::fmt;
use core::str::FromStr;

use crate::Color;

/// A file of the board, `a` to `h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct File(u8);

impl File {
    /// The a-file.
    pub const A: File = File(0);
    /// The c-file, where the king of either side ends when it castles towards the a-file.
    pub const C: File = File(2);
    /// The d-file.
    pub const D: File = File(3);
    /// The e-file.
    pub const E: File = File(4);
    /// The f-file.
    pub const F: File = File(5);
    /// The g-file.
    pub const G: File = File(6);
    /// The h-file.
    pub const H: File = File(7);

    /// Returns the file with a number from 0 (`a`) to 7 (`h`), or `None` outside of that range.
    #[must_use]
    pub const fn new(index: u8) -> Option<File> {
        if index < 8 { Some(File(index)) } else { None }
    }

    /// Returns the number of the file, 0 for `a` to 7 for `h`.
    #[inline]
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Reads a file from its letter, `a` to `h` in lower case.
    #[must_use]
    pub const fn from_char(c: char) -> Option<File> {
        match c {
            'a'..='h' => Some(File(c as u8 - b'a')),
            _ => None,
        }
    }

    /// Returns the letter of the file in lower case.
    #[must_use]
    pub const fn to_char(self) -> char {
        (b'a' + self.0) as char
    }
}

/// A rank of the board, 1 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rank(u8);

impl Rank {
    /// The first rank.
    pub const FIRST: Rank = Rank(0);
    /// The eighth rank.
    pub const EIGHTH: Rank = Rank(7);

    /// Returns the rank with a number from 0 (the first) to 7 (the eighth), or `None` outside of
    /// that range.
    #[must_use]
    pub const fn new(index: u8) -> Option<Rank> {
        if index < 8 { Some(Rank(index)) } else { None }
    }

    /// Returns the number of the rank, 0 for the first to 7 for the eighth.
    #[inline]
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// Reads a rank from its digit, `1` to `8`.
    #[must_use]
    pub const fn from_char(c: char) -> Option<Rank> {
        match c {
            '1'..='8' => Some(Rank(c as u8 - b'1')),
            _ => None,
        }
    }

    /// Returns the digit of the rank.
    #[must_use]
    pub const fn to_char(self) -> char {
        (b'1' + self.0) as char
    }

    /// Returns the rank that a side calls its own `index`th, counted from 0.
    #[must_use]
    pub const fn relative(color: Color, index: u8) -> Rank {
        match color {
            Color::White => Rank(index & 7),
            Color::Black => Rank(7 - (index & 7)),
        }
    }
}

/// A square of the board.
///
/// ```
/// use referee_chess::Square;
///
/// let e4: Square = "e4".parse().expect("e4 is a square");
/// assert_eq!(e4.to_string(), "e4");
/// assert_eq!(e4.index(), 28);
/// assert!("j9".parse::<Square>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Square(u8);

impl Square {
    /// Returns the square with a number from 0 (`a1`) over 1 (`b1`) to 63 (`h8`), or `None`
    /// outside of that range.
    #[inline]
    #[must_use]
    pub const fn new(index: u8) -> Option<Square> {
        if index < 64 {
            Some(Square(index))
        } else {
            None
        }
    }

    /// Returns the square for the lowest six bits of a number.
    #[inline]
    #[must_use]
    pub const fn from_low_bits(index: u8) -> Square {
        Square(index & 63)
    }

    /// Returns the square where a file and a rank meet.
    #[inline]
    #[must_use]
    pub const fn at(file: File, rank: Rank) -> Square {
        Square(rank.0 << 3 | file.0)
    }

    /// Returns the number of the square, 0 for `a1` to 63 for `h8`.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        // The mask changes nothing, and tells the compiler that indices into tables of 64 fit.
        (self.0 & 63) as usize
    }

    /// Returns the file of the square.
    #[inline]
    #[must_use]
    pub const fn file(self) -> File {
        File(self.0 & 7)
    }

    /// Returns the rank of the square.
    #[inline]
    #[must_use]
    pub const fn rank(self) -> Rank {
        Rank(self.0 >> 3)
    }

    /// Returns the square `files` to the right and `ranks` up, or `None` off the board.
    #[must_use]
    pub const fn offset(self, files: i8, ranks: i8) -> Option<Square> {
        let file = (self.0 & 7) as i8 + files;
        let rank = (self.0 >> 3) as i8 + ranks;
        if file < 0 || file > 7 || rank < 0 || rank > 7 {
            None
        } else {
            Some(Square((rank << 3 | file) as u8))
        }
    }

    /// Returns whether the square is a light one, such as `h1` (FIDE Laws 2.1).
    #[must_use]
    pub const fn is_light(self) -> bool {
        ((self.0 & 7) + (self.0 >> 3)) & 1 == 1
    }

    /// Returns all squares, `a1` first and `h8` last.
    pub fn all() -> impl DoubleEndedIterator<Item = Square> {
        (0..64).map(Square)
    }
}

/// The text is not the name of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseSquareError;

impl fmt::Display for ParseSquareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a square is a letter from a to h and a digit from 1 to 8, such as e4")
    }
}

impl core::error::Error for ParseSquareError {}

impl FromStr for Square {
    type Err = ParseSquareError;

    fn from_str(text: &str) -> Result<Square, ParseSquareError> {
        let &[file, rank] = text.as_bytes() else {
            return Err(ParseSquareError);
        };
        match (File::from_char(file as char), Rank::from_char(rank as char)) {
            (Some(file), Some(rank)) => Ok(Square::at(file, rank)),
            _ => Err(ParseSquareError),
        }
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.file().to_char(), self.rank().to_char())
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
