//! From bytes to text: UTF-8 or a Latin code page, escapes, figurines and typography.

use std::borrow::Cow;

use crate::limits::{QUOTE_LENGTH_MAX, TOKEN_LENGTH_MAX};

/// Reads bytes as UTF-8 where they are such, and as Windows-1252 elsewhere, which has all of ISO
/// 8859-1, the code of the PGN standard, and is what many files are written in.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| latin(byte)).collect()),
    }
}

/// The characters 0x80 to 0x9f of Windows-1252. ISO 8859-1 has control characters there, which
/// the five that Windows-1252 leaves open keep.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn latin(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Takes off the backslashes before quotes and backslashes (PGN standard 7). Before anything else
/// a backslash stands for itself.
pub(crate) fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        let is_escape = byte == b'\\' && matches!(rest.peek(), Some(b'"' | b'\\'));
        bytes.push(match rest.next_if(|_| is_escape) {
            Some(escaped) => escaped,
            None => byte,
        });
    }
    Cow::Owned(bytes)
}

/// Returns how much of a text has room in so many bytes once its quotes and backslashes have
/// backslashes before them.
pub(crate) fn escaped_end(text: &str, length_max: usize) -> usize {
    // Nearly all texts are short enough even if all of them had to be escaped.
    if 2 * text.len() <= length_max {
        return text.len();
    }
    let mut length = 0;
    for (index, c) in text.char_indices() {
        length += c.len_utf8() + usize::from(matches!(c, '"' | '\\'));
        if length > length_max {
            return index;
        }
    }
    text.len()
}

/// Returns the beginning of an escaped text, at most so long, without half a character or half an
/// escape at its end.
pub(crate) fn cut_escaped(raw: &[u8], length_max: usize) -> &[u8] {
    if raw.len() <= length_max {
        return raw;
    }
    let mut end = length_max;
    while end > 0 && raw[end] & 0xc0 == 0x80 && length_max - end < 3 {
        end -= 1;
    }
    let slashes = raw[..end].iter().rev().take_while(|&&byte| byte == b'\\');
    &raw[..end - slashes.count() % 2]
}

/// Appends a text with every run of blanks and line ends as one blank, and none at its ends. A
/// blank parts it from what is there.
pub(crate) fn append_folded(text: &mut String, more: &str) {
    for word in more.split_ascii_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
    }
}

/// Returns the beginning of some bytes, to be quoted in a fault.
pub(crate) fn quote(bytes: &[u8]) -> Box<str> {
    let cut = &bytes[..bytes.len().min(4 * QUOTE_LENGTH_MAX)];
    let text = match str::from_utf8(cut) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) if error.error_len().is_none() => {
            Cow::Borrowed(str::from_utf8(&cut[..error.valid_up_to()]).unwrap_or_default())
        }
        Err(_) => decode(cut),
    };
    let end = text.floor_char_boundary(QUOTE_LENGTH_MAX);
    text[..end].into()
}

/// A token in ASCII, without room on the heap.
pub(crate) struct Ascii {
    bytes: [u8; TOKEN_LENGTH_MAX],
    length: usize,
}

impl Ascii {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn push(&mut self, text: &[u8]) -> Option<()> {
        let room = self.bytes.get_mut(self.length..self.length + text.len())?;
        room.copy_from_slice(text);
        self.length += text.len();
        Some(())
    }
}

/// Writes a token in ASCII: figurines as letters, dashes as hyphens, `½` as `1/2`. Returns `None`
/// where it has a character that no token has.
pub(crate) fn to_ascii(token: &[u8]) -> Option<Ascii> {
    let mut ascii = Ascii {
        bytes: [0; TOKEN_LENGTH_MAX],
        length: 0,
    };
    for c in decode(token).chars() {
        let text: &[u8] = match c {
            '♔' | '♚' => b"K",
            '♕' | '♛' => b"Q",
            '♖' | '♜' => b"R",
            '♗' | '♝' => b"B",
            '♘' | '♞' => b"N",
            // Pawns have no letter; symbols for text and emoji follow some figurines.
            '♙' | '♟' | '\u{fe0e}' | '\u{fe0f}' | '\u{feff}' => b"",
            '\u{2010}'..='\u{2015}' | '\u{2212}' => b"-",
            '½' => b"1/2",
            '×' | '✕' | '✗' => b"x",
            '†' => b"+",
            '‡' => b"#",
            '=' | '＝' => b"=",
            _ if c.is_ascii() => &[c as u8],
            _ => return None,
        };
        ascii.push(text)?;
    }
    Some(ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_text() {
        assert_eq!(decode("Höhne".as_bytes()), "Höhne");
        assert_eq!(decode(b"H\xf6hne \x93x\x94"), "Höhne “x”");
        assert_eq!(unescape(br#"a \"b\" \\ \c \"#).as_ref(), br#"a "b" \ \c \"#);
        let mut text = String::new();
        append_folded(&mut text, " a\r\n b\t ");
        append_folded(&mut text, " ");
        append_folded(&mut text, "c");
        assert_eq!(text, "a b c");
    }

    #[test]
    fn values_are_cut_between_characters_and_escapes() {
        assert_eq!(cut_escaped("éé".as_bytes(), 3), "é".as_bytes());
        assert_eq!(cut_escaped(b"ab\\\"c", 3), b"ab");
        assert_eq!(cut_escaped(b"ab\\\\c", 4), b"ab\\\\");
        assert_eq!(escaped_end("éé", 3), 2);
        assert_eq!(escaped_end("a\"b", 3), 2);
        assert_eq!(escaped_end("a\"b", 2), 1);
    }

    #[test]
    fn quotes_are_cut_between_characters() {
        for text in ["é".repeat(300), format!("a{}", "é".repeat(300))] {
            let quoted = quote(text.as_bytes());
            assert!(quoted.len() <= QUOTE_LENGTH_MAX && quoted.len() >= QUOTE_LENGTH_MAX - 1);
            assert!(text.starts_with(&*quoted));
        }
    }

    #[test]
    fn typography_becomes_ascii() {
        let ascii = |text: &str| to_ascii(text.as_bytes()).map(|token| token.as_slice().to_vec());
        assert_eq!(ascii("♘f3"), Some(b"Nf3".to_vec()));
        assert_eq!(ascii("½–½"), Some(b"1/2-1/2".to_vec()));
        assert_eq!(ascii("♙e×d5"), Some(b"exd5".to_vec()));
        assert_eq!(ascii("Кf3"), None);
        assert_eq!(
            to_ascii(b"\xbd-\xbd").map(|t| t.as_slice().to_vec()),
            Some(b"1/2-1/2".to_vec())
        );
    }
}
