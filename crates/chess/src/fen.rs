//! Forsyth-Edwards Notation.
//!
//! (writing; reading follows)

use core::fmt;

use crate::Setup;

/// A setup, to be written as a FEN.
#[derive(Clone, Copy, Debug)]
pub struct Fen<'a>(pub &'a Setup);

impl fmt::Display for Fen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.board, self.0.turn.to_char())
    }
}
