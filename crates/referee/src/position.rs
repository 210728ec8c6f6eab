//! The positions of a command line.

use referee_chess::CastlingMode;

/// Returns how the rights to castle of a position are read.
pub(crate) fn castling_mode(is_chess960: bool) -> CastlingMode {
    if is_chess960 {
        CastlingMode::Chess960
    } else {
        CastlingMode::Standard
    }
}
