//! What a parser tells of a text.

use std::borrow::Cow;

use crate::text::{decode, unescape};
use crate::{Fault, Outcome, Place};

/// Is told what a [`Parser`](crate::Parser) meets, in the order of the text.
///
/// Each game is told as `begin_game`, any number of `tag`, `begin_moves` unless there are only
/// tags, the moves with what belongs to them, `outcome` if there is one, and `end_game`. Every
/// variation that begins also ends. `fault` can come at any time, between games too.
///
/// Every method does nothing unless it is written.
pub trait Visitor {
    /// A game begins.
    fn begin_game(&mut self, place: Place) {
        _ = place;
    }

    /// A tag pair, such as `[White "Anna"]`.
    fn tag(&mut self, tag: Tag<'_>) {
        _ = tag;
    }

    /// The tags are over, and the moves begin.
    fn begin_moves(&mut self, place: Place) {
        _ = place;
    }

    /// The number of a move, which carries no meaning (PGN standard 8.2.2).
    fn move_number(&mut self, number: u32) {
        _ = number;
    }

    /// A move, a null move, or what stands in the place of one. Letters of figurines and other
    /// typography have become ASCII; annotations such as `!?` are told apart.
    fn move_text(&mut self, text: &[u8], place: Place) {
        _ = (text, place);
    }

    /// A numeric annotation glyph, also where it was written as `!?` or `+/-`.
    fn nag(&mut self, nag: u8, place: Place) {
        _ = (nag, place);
    }

    /// A comment.
    fn comment(&mut self, comment: Comment<'_>) {
        _ = comment;
    }

    /// A variation begins, in place of the move before it.
    fn begin_variation(&mut self) {}

    /// A variation ends.
    fn end_variation(&mut self) {}

    /// The result at the end of the moves.
    fn outcome(&mut self, outcome: Outcome, place: Place) {
        _ = (outcome, place);
    }

    /// The game is over.
    fn end_game(&mut self, place: Place) {
        _ = place;
    }

    /// Something is wrong with the text.
    fn fault(&mut self, fault: Fault) {
        _ = fault;
    }
}

/// A tag pair as it stands in the text.
#[derive(Clone, Copy, Debug)]
pub struct Tag<'a> {
    /// The name.
    pub name: &'a [u8],
    /// What stands between the quotes, backslashes included.
    pub raw_value: &'a [u8],
    /// Where the pair begins.
    pub place: Place,
}

impl<'a> Tag<'a> {
    /// Returns the name as text.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        decode(self.name)
    }

    /// Returns the value as text, without the backslashes that escape.
    #[must_use]
    pub fn value(&self) -> Cow<'a, str> {
        match unescape(self.raw_value) {
            Cow::Borrowed(bytes) => decode(bytes),
            Cow::Owned(bytes) => Cow::Owned(decode(&bytes).into_owned()),
        }
    }
}

/// A comment as it stands in the text, without its braces or semicolon.
#[derive(Clone, Copy, Debug)]
pub struct Comment<'a> {
    /// The bytes of the comment, cut at [`COMMENT_LENGTH_MAX`](crate::COMMENT_LENGTH_MAX).
    pub raw: &'a [u8],
    /// Where it begins: the place of the brace or semicolon.
    pub place: Place,
}

impl<'a> Comment<'a> {
    /// Returns the comment as text, line ends included.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        decode(self.raw)
    }
}
