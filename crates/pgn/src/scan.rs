//! Looking through bytes, many at a time.

/// The bytes that are compared in one step; the compiler makes vector instructions of it.
const BLOCK: usize = 32;
const STEP: usize = 8;

/// What a line ends with.
pub(crate) const LINE_ENDS: [u8; 2] = [b'\n', b'\r'];

/// Returns where the first of some bytes is.
#[inline]
pub(crate) fn find<const N: usize>(bytes: &[u8], sought: [u8; N]) -> Option<usize> {
    let is_sought = |byte: u8| {
        sought
            .iter()
            .fold(false, |found, &one| found | (byte == one))
    };
    let mut at = 0;
    for block in bytes.chunks_exact(BLOCK) {
        // Or-ing without a branch is what lets the compiler compare the whole block at once.
        if block
            .iter()
            .fold(false, |found, &byte| found | is_sought(byte))
        {
            break;
        }
        at += BLOCK;
    }
    for step in bytes[at..].chunks_exact(STEP) {
        if step
            .iter()
            .fold(false, |found, &byte| found | is_sought(byte))
        {
            break;
        }
        at += STEP;
    }
    let rest = &bytes[at..];
    let index = rest.iter().position(|&byte| is_sought(byte))?;
    Some(at + index)
}

/// What a byte can begin between tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Blank,
    LineEnd,
    /// A letter or a sign that a word can begin with, or a byte beyond ASCII.
    Word,
    Digit,
    Brace,
    Semicolon,
    Bracket,
    OpenParenthesis,
    CloseParenthesis,
    Dollar,
    Asterisk,
    Mark,
    Dot,
    Percent,
    Other,
}

const fn classify(byte: u8) -> Class {
    match byte {
        b' ' | b'\t' | 0x0b | 0x0c => Class::Blank,
        b'\n' | b'\r' => Class::LineEnd,
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => Class::Word,
        b'+' | b'#' | b'=' | b':' | b'-' | b'_' | b'/' | b'@' | b'~' => Class::Word,
        b'0'..=b'9' => Class::Digit,
        b'{' => Class::Brace,
        b';' => Class::Semicolon,
        b'[' => Class::Bracket,
        b'(' => Class::OpenParenthesis,
        b')' => Class::CloseParenthesis,
        b'$' => Class::Dollar,
        b'*' => Class::Asterisk,
        b'!' | b'?' => Class::Mark,
        b'.' => Class::Dot,
        b'%' => Class::Percent,
        _ => Class::Other,
    }
}

/// The class of each byte.
pub(crate) static CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = classify(byte as u8);
        byte += 1;
    }
    table
};

/// Whether a byte goes on a word.
#[inline(always)]
pub(crate) fn is_word(byte: u8) -> bool {
    matches!(CLASS[usize::from(byte)], Class::Word | Class::Digit)
}

/// Returns the length of the word at the beginning.
#[inline(always)]
pub(crate) fn word_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|&byte| !is_word(byte))
        .unwrap_or(bytes.len())
}

/// What ends the name of a tag, for each byte.
static ENDS_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let ends = b" \t\n\r\x0c\"[]{}();%";
    let mut index = 0;
    while index < ends.len() {
        table[ends[index] as usize] = true;
        index += 1;
    }
    table
};

/// Whether a byte ends the name of a tag.
#[inline]
pub(crate) fn ends_name(byte: u8) -> bool {
    ENDS_NAME[usize::from(byte)]
}

/// Returns the length of the name of a tag at the beginning, or `None` where it does not end.
#[inline]
pub(crate) fn name_length(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| ends_name(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_wherever_they_are() {
        for length in 0..100 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(find(&bytes, [b'}']), None);
            for at in 0..length {
                bytes[at] = b'}';
                assert_eq!(find(&bytes, [b'}']), Some(at));
                assert_eq!(find(&bytes, [b'\n', b'\r', b'}']), Some(at));
                bytes[at] = b'a';
            }
        }
    }
}
