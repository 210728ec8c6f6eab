//! The positions of a command line.

use std::ffi::OsString;

use referee_chess::CastlingMode;

/// What is said where a shell has cut a position at its blanks.
pub(crate) const SPLIT_TIP: &str = "  tip: a position has blanks, so put it in quotes, such as \
                                    '8/8/8/8/8/8/1k6/3K4 w - - 0 1'";
/// The signs that part the ranks of a position.
const RANK_SIGNS: usize = 7;

/// Returns how the rights to castle of a position are read.
pub(crate) fn castling_mode(is_chess960: bool) -> CastlingMode {
    if is_chess960 {
        CastlingMode::Chess960
    } else {
        CastlingMode::Standard
    }
}

/// Whether one of some arguments is the first field of a position alone.
pub(crate) fn is_split(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut arguments = arguments.filter_map(|argument| argument.into_string().ok());
    arguments.any(|text| {
        let is_placement = |c: char| c == '/' || c.is_ascii_digit() || "PNBRQKpnbrqk".contains(c);
        text.matches('/').count() == RANK_SIGNS && text.chars().all(is_placement)
    })
}
