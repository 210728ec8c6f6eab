//! Results behind the moves that are spread over several words, or written with decimals:
//! `1 - 0`, `1/2 - 1/2`, `0.5-0.5`.

use super::Lexer;
use crate::limits::TOKEN_LENGTH_MAX;
use crate::scan::is_word;
use crate::{Outcome, Visitor};

/// The half-points of a side as they are written.
const SCORES: [(&[u8], u8); 5] = [(b"1/2", 1), (b"0.5", 1), (b"0,5", 1), (b"1", 2), (b"0", 0)];
/// Hyphen and en dash.
const DASHES: [&[u8]; 2] = [b"-", "–".as_bytes()];

/// What stands at a digit.
#[derive(Debug, PartialEq, Eq)]
enum Spread {
    /// A result of so many bytes.
    Result(Outcome, usize),
    /// None that is spread.
    Nothing,
    /// More bytes are needed to tell.
    Open,
}

impl<V: Visitor> Lexer<'_, V> {
    /// Reads a result that is spread. Returns whether there is one, or `None` where that cannot be
    /// told yet.
    #[inline]
    pub(super) fn spread_outcome(&mut self) -> Option<bool> {
        let may_be = matches!(
            self.data[self.at..],
            [b'0' | b'1', b' ' | b'\t' | b'-', ..]
                | [b'1', b'/', b'2', ..]
                | [b'0', b'.' | b',', b'5', ..]
        );
        if !may_be {
            return Some(false);
        }
        self.read_spread()
    }

    #[cold]
    fn read_spread(&mut self) -> Option<bool> {
        let end = self.data.len().min(self.at + TOKEN_LENGTH_MAX);
        let near = &self.data[self.at..end];
        match read(near) {
            Spread::Result(outcome, length) => {
                let place = self.place(self.at);
                self.at += length;
                self.outcome(outcome, false, place);
                Some(true)
            }
            Spread::Open if !self.is_last && near.len() < TOKEN_LENGTH_MAX => None,
            Spread::Open if self.is_last => match read(&[near, b"\n"].concat()) {
                Spread::Result(outcome, length) => {
                    let place = self.place(self.at);
                    self.at += length;
                    self.outcome(outcome, false, place);
                    Some(true)
                }
                _ => Some(false),
            },
            _ => Some(false),
        }
    }
}

/// The blanks at the beginning.
fn blanks(text: &[u8]) -> usize {
    text.iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count()
}

/// What one of some words says at the beginning, and its length; `Err` where there are too few
/// bytes to tell.
fn word<T: Copy>(text: &[u8], words: &[(&[u8], T)]) -> Result<Option<(T, usize)>, ()> {
    for (word, meaning) in words {
        if text.starts_with(word) {
            return Ok(Some((*meaning, word.len())));
        }
        if word.starts_with(text) {
            return Err(());
        }
    }
    Ok(None)
}

fn read(text: &[u8]) -> Spread {
    try_read(text).unwrap_or(Spread::Open)
}

fn try_read(text: &[u8]) -> Result<Spread, ()> {
    let dashes = DASHES.map(|dash| (dash, ()));
    let Some((white, first)) = word(text, &SCORES)? else {
        return Ok(Spread::Nothing);
    };
    let mut at = first + blanks(&text[first..]);
    let Some(((), dash)) = word(&text[at..], &dashes)? else {
        return Ok(Spread::Nothing);
    };
    at += dash;
    at += blanks(&text[at..]);
    let Some((black, second)) = word(&text[at..], &SCORES)? else {
        return Ok(Spread::Nothing);
    };
    at += second;
    // A hyphen behind it makes it castling, a dot the number of a move.
    match text.get(at) {
        None => return Err(()),
        Some(&byte) if is_word(byte) || byte == b'.' => return Ok(Spread::Nothing),
        Some(_) => {}
    }
    let outcome = match (white, black) {
        (2, 0) => Outcome::WhiteWins,
        (0, 2) => Outcome::BlackWins,
        (1, 1) => Outcome::Draw,
        // Both lose, or castling with zeros: read as a word where it is one.
        _ => return Ok(Spread::Nothing),
    };
    // What is one word is read as one.
    let is_one_word = text[..at].iter().all(|&byte| is_word(byte));
    Ok(match is_one_word {
        true => Spread::Nothing,
        false => Spread::Result(outcome, at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_whatever_parts_them() {
        for (text, outcome) in [
            ("1 - 0\n", Outcome::WhiteWins),
            ("0- 1 ", Outcome::BlackWins),
            ("1 -0\r", Outcome::WhiteWins),
            ("1/2 - 1/2 {", Outcome::Draw),
            ("0.5-0.5\n", Outcome::Draw),
            ("0,5\t–\t0,5;", Outcome::Draw),
        ] {
            let length = text.trim_end_matches([' ', '\n', '\r', '{', ';']).len();
            let expected = Spread::Result(outcome, length);
            assert_eq!(read(text.as_bytes()), expected, "{text:?}");
            for end in 1..=length {
                assert_eq!(
                    read(&text.as_bytes()[..end]),
                    Spread::Open,
                    "{text:?} {end}"
                );
            }
        }
        for text in [
            "1-0\n",
            "1 e4 ",
            "1 - e4 ",
            "0 - 0 ",
            "0 - 0 - 0 ",
            "1 - 0. ",
            "1 - 0-1 ",
            "0.5 Nf3 ",
            "1/2-1/2 ",
            "1 - 1 ",
            "1 - 05 ",
        ] {
            assert_eq!(read(text.as_bytes()), Spread::Nothing, "{text:?}");
        }
    }
}
