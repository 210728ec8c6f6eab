//! Annotation signs as programs write them in the place of numeric glyphs, alone or glued to a
//! move: `+=`, `±`, `‼`, `N`, `∓→`. They say nothing of whether a move is legal.

use referee_chess::{MoveError, Position, Rank, Role, San, SanAction, UnreadableMove};

use crate::Outcome;
use crate::text::{Ascii, decode, to_ascii};

/// The characters of the longest move: `Ng1xf3=(Q)+`, and one more.
const MOVE_CHARS_MAX: usize = 12;

/// What a sign says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// What a numeric annotation glyph says (PGN standard 10, and those that programs have added).
    Glyph(u8),
    /// Check, mate or en passant, as moves have it.
    OfMove,
    /// Check or mate in words, which the move says by itself.
    Word,
    /// Nothing that is known.
    Unknown,
}

/// The signs, each with what it says. Dashes are hyphens, and of signs that begin alike the longer
/// one is meant.
const SIGNS: &[(&str, Sign)] = {
    use Sign::{Glyph, OfMove, Word};
    &[
        ("e.p.", OfMove),
        ("++--", Glyph(20)),
        ("--++", Glyph(21)),
        ("mate", Word),
        ("e.p", OfMove),
        ("dbl", Word),
        ("dis", Word),
        ("inf", Glyph(13)),
        ("+/=", Glyph(14)),
        ("=/+", Glyph(15)),
        ("+/-", Glyph(16)),
        ("-/+", Glyph(17)),
        ("+--", Glyph(20)),
        ("--+", Glyph(21)),
        ("=/∞", Glyph(44)),
        ("∞/=", Glyph(44)),
        ("-->", Glyph(40)),
        ("++", OfMove),
        ("ep", OfMove),
        ("ch", Word),
        ("+=", Glyph(14)),
        ("=+", Glyph(15)),
        ("+-", Glyph(18)),
        ("-+", Glyph(19)),
        ("↑↑", Glyph(32)),
        ("=∞", Glyph(44)),
        ("∞=", Glyph(44)),
        ("~=", Glyph(44)),
        ("=~", Glyph(44)),
        ("->", Glyph(40)),
        ("=>", Glyph(40)),
        ("/\\", Glyph(140)),
        ("RR", Glyph(145)),
        ("TN", Glyph(146)),
        ("‼", Glyph(3)),
        ("⁇", Glyph(4)),
        ("⁉", Glyph(5)),
        ("⁈", Glyph(6)),
        ("！", Glyph(1)),
        ("？", Glyph(2)),
        ("+", OfMove),
        ("#", OfMove),
        ("†", OfMove),
        ("‡", OfMove),
        ("□", Glyph(7)),
        ("=", Glyph(10)),
        ("~", Glyph(13)),
        ("∞", Glyph(13)),
        ("⩲", Glyph(14)),
        ("⩱", Glyph(15)),
        ("±", Glyph(16)),
        ("∓", Glyph(17)),
        ("⨀", Glyph(22)),
        ("⊙", Glyph(22)),
        ("○", Glyph(26)),
        ("⟳", Glyph(32)),
        ("↻", Glyph(32)),
        ("↑", Glyph(36)),
        ("→", Glyph(40)),
        ("⇒", Glyph(40)),
        ("⯹", Glyph(44)),
        ("©", Glyph(44)),
        ("⇆", Glyph(132)),
        ("⇄", Glyph(132)),
        ("⇌", Glyph(132)),
        ("⊕", Glyph(138)),
        ("∆", Glyph(140)),
        ("Δ", Glyph(140)),
        ("△", Glyph(140)),
        ("∇", Glyph(141)),
        ("▽", Glyph(141)),
        ("⌓", Glyph(142)),
        ("≤", Glyph(143)),
        ("N", Glyph(146)),
        ("D", Glyph(220)),
        ("⇔", Glyph(239)),
        ("⇗", Glyph(240)),
        ("⊞", Glyph(241)),
        ("⟫", Glyph(242)),
        ("»", Glyph(242)),
        ("⟪", Glyph(243)),
        ("«", Glyph(243)),
        ("✕", Glyph(244)),
        ("⊥", Glyph(245)),
    ]
};

/// Whether a word ends as nearly all moves do: with a square, a check sign behind it, or castling.
/// No sign is glued to such a word.
#[inline]
pub(super) fn ends_as_move(word: &[u8]) -> bool {
    match word {
        [.., b'a'..=b'h', b'1'..=b'8'] | [.., b'a'..=b'h', b'1'..=b'8', b'+' | b'#'] => {
            word[0].is_ascii_alphabetic()
        }
        b"O-O" | b"O-O-O" => true,
        _ => false,
    }
}

/// A word as text in which signs can be looked up: with hyphens for dashes, and without what only
/// chooses between the forms of a character.
pub(super) fn plain(word: &[u8]) -> String {
    let plain = |c: char| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{2044}' | '\u{2215}' => Some('/'),
        '＋' => Some('+'),
        '＝' => Some('='),
        '\u{fe0e}' | '\u{fe0f}' | '\u{feff}' => None,
        _ => Some(c),
    };
    decode(word).chars().filter_map(plain).collect()
}

/// Takes the signs off the beginning of a text, one after the other.
pub(super) struct Signs<'a>(pub(super) &'a str);

impl<'a> Iterator for Signs<'a> {
    type Item = (&'a str, Sign);

    fn next(&mut self) -> Option<(&'a str, Sign)> {
        let text = self.0;
        let known = SIGNS.iter().find(|(sign, _)| text.starts_with(sign));
        let (length, sign) = match known {
            Some((known, sign)) => (known.len(), *sign),
            None => {
                let end = text.find(|c| !is_foreign(c)).unwrap_or(text.len());
                (end, Sign::Unknown)
            }
        };
        let (first, rest) = text.split_at(length);
        self.0 = rest;
        (length > 0).then_some((first, sign))
    }
}

/// Whether a character is neither part of a move nor of a word, nor stands for a move that is not
/// made, as dashes and `@@@@` do: a sign that somebody has made up.
fn is_foreign(c: char) -> bool {
    let is_of_move = matches!(
        c,
        '-' | '@' | '.' | '(' | ')' | '=' | '+' | '#' | '♔'..='♟' | '½'
    );
    !c.is_alphanumeric() && !is_of_move
}

/// Whether a text is nothing but signs.
pub(super) fn are_signs(text: &str) -> bool {
    let mut signs = Signs(text);
    let count = signs.by_ref().count();
    count > 0 && signs.0.is_empty()
}

/// Parts the signs from a move that they are glued to. `None` where the word is not a move with
/// signs behind it that say more than the move does.
pub(super) fn split_signs(text: &str) -> Option<(Ascii, &str)> {
    let ends = text.char_indices().map(|(index, _)| index);
    for end in ends.take(MOVE_CHARS_MAX + 1).skip(2) {
        let (head, signs) = text.split_at(end);
        if !are_signs(signs) {
            continue;
        }
        let Some(written) = to_ascii(head.as_bytes()) else {
            continue;
        };
        if has_form_of_move(written.as_slice()) && !goes_on(written.as_slice(), signs) {
            let says_more = Signs(signs).any(|(_, sign)| sign != Sign::OfMove);
            return says_more.then_some((written, signs));
        }
    }
    None
}

/// Parts a sign from the move that it is glued to from before: one that has not been played, but is
/// meant by the move before it, prevented by it, or would have been better or worse.
pub(super) fn split_idea(text: &str) -> Option<(&str, &str)> {
    let (sign, said) = Signs(text).next()?;
    let idea = &text[sign.len()..];
    let is_idea = matches!(said, Sign::Glyph(140..=143))
        && to_ascii(idea.as_bytes()).is_some_and(|idea| has_form_of_move(idea.as_slice()));
    is_idea.then_some((sign, idea))
}

/// Whether what stands behind a move is part of it: the piece that a pawn becomes.
fn goes_on(written: &[u8], behind: &str) -> bool {
    let san = str::from_utf8(written).ok().map(str::parse::<San>);
    let Some(Ok(San {
        action:
            SanAction::Go {
                role: Role::Pawn,
                to,
                promotion: None,
                ..
            },
        ..
    })) = san
    else {
        return false;
    };
    let piece = behind.strip_prefix(['=', '/', '(']).unwrap_or(behind);
    matches!(to.rank(), Rank::FIRST | Rank::EIGHTH) && piece.starts_with(char::is_alphabetic)
}

/// Parts a result from a move that it is glued to.
pub(super) fn split_outcome(word: &[u8]) -> Option<(&[u8], Outcome)> {
    if !matches!(word, [.., b'-' | b'/', b'0' | b'1' | b'2']) {
        return None;
    }
    for (text, outcome) in [
        (&b"1/2-1/2"[..], Outcome::Draw),
        (b"1-0", Outcome::WhiteWins),
        (b"0-1", Outcome::BlackWins),
    ] {
        if let Some(shorter) = word.strip_suffix(text)
            && has_form_of_move(shorter)
        {
            return Some((shorter, outcome));
        }
    }
    None
}

pub(super) fn has_form_of_move(word: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(word) else {
        return false;
    };
    match text.parse::<San>() {
        Ok(_) => true,
        Err(UnreadableMove::NullMove) => true,
        Err(_) => matches!(
            Position::startpos().read_uci(text),
            Ok(_) | Err(MoveError::Illegal(_))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(word: &str) -> Option<(String, Vec<Sign>)> {
        let text = plain(word.as_bytes());
        let (written, signs) = split_signs(&text)?;
        let written = String::from_utf8_lossy(written.as_slice()).into_owned();
        Some((written, Signs(signs).map(|(_, sign)| sign).collect()))
    }

    #[test]
    fn longer_signs_are_looked_up_first() {
        for (index, (longer, _)) in SIGNS.iter().enumerate() {
            for (shorter, _) in &SIGNS[..index] {
                assert!(
                    !longer.starts_with(shorter),
                    "{longer} is hidden by {shorter}"
                );
            }
        }
    }

    #[test]
    fn every_sign_can_be_alone_and_behind_a_move() {
        for &(text, sign) in SIGNS {
            assert!(are_signs(text), "{text}");
            let found = split(&format!("Nf3{text}"));
            match sign {
                Sign::OfMove => assert_eq!(found, None, "{text}"),
                _ => assert_eq!(found, Some(("Nf3".to_owned(), vec![sign])), "{text}"),
            }
        }
    }

    #[test]
    fn what_is_part_of_a_move_is_no_sign() {
        for word in [
            "e8=N", "e8/N", "e8N", "exd1=N+", "e7e8N", "e2-e4", "Nf3+", "O-O-O", "0-0", "exd6e.p.",
            "Nb1-c3", "--", "Кf3", "novelty", "Nf3-", "♘f3",
        ] {
            assert_eq!(split(word), None, "{word}");
        }
        for word in ["-", "--", "@@@@", "N1", "Nf3", "", "♘", "a"] {
            assert!(!are_signs(word), "{word}");
        }
    }

    #[test]
    fn signs_are_parted_from_every_kind_of_move() {
        use Sign::{Glyph, OfMove, Unknown};
        for (word, written, signs) in [
            ("e8=N+-", "e8=N", &[Glyph(18)][..]),
            ("Ne8N", "Ne8", &[Glyph(146)]),
            ("e4N", "e4", &[Glyph(146)]),
            ("O-O-O=", "O-O-O", &[Glyph(10)]),
            ("♘f3±", "Nf3", &[Glyph(16)]),
            ("Qxe4+∓", "Qxe4", &[OfMove, Glyph(17)]),
            ("Nb1-c3+/−", "Nb1-c3", &[Glyph(16)]),
            ("e2e4±↑", "e2e4", &[Glyph(16), Glyph(36)]),
            ("e4★", "e4", &[Unknown]),
        ] {
            let found = split(word);
            assert_eq!(found, Some((written.to_owned(), signs.to_vec())), "{word}");
        }
    }
}
