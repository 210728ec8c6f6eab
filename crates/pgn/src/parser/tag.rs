//! Tag pairs, also those that are not written as they should be.

use super::{Lexer, Mode, Section};
use crate::limits::{
    RESTART_LENGTH_MAX, TAG_LENGTH_MAX, TAG_NAME_LENGTH_MAX, TAG_VALUE_LENGTH_MAX, TAGS_MAX,
    TOKEN_LENGTH_MAX,
};
use crate::scan::{LINE_ENDS, find, name_length};
use crate::tags::ROSTER;
use crate::text::{cut_escaped, quote};
use crate::visitor::Tag;
use crate::{FaultKind, Place, Visitor};

/// What stands at a bracket.
enum Found<'a> {
    /// A tag pair of so many bytes.
    Pair {
        name: &'a [u8],
        value: &'a [u8],
        length: usize,
        fault: Option<FaultKind>,
    },
    /// No tag pair.
    Nothing,
    /// More bytes are needed to tell.
    Open,
}

impl<'a, V: Visitor> Lexer<'a, V> {
    /// Reads a tag pair.
    pub(super) fn bracket(&mut self) -> bool {
        let rest = &self.data[self.at..];
        // What is read of a text must not depend on how it was cut into pieces.
        let is_cut = rest.len() > TAG_LENGTH_MAX;
        let rest = &rest[..rest.len().min(TAG_LENGTH_MAX)];
        let is_last = self.is_last && !is_cut;
        let place = self.place(self.at);
        let in_moves = self.state.section == Section::Moves;
        match read_pair(rest, is_last, in_moves) {
            Found::Open if !is_cut => return false,
            Found::Open => {
                self.fault(place, FaultKind::TagTooLong);
                self.state.token_line = self.state.line;
                self.state.mode = Mode::SkippedLine;
            }
            Found::Nothing => return self.skip_bracket(),
            Found::Pair {
                name,
                value,
                length,
                fault,
            } => {
                let is_next =
                    match self.begins_next_game(name, value, &self.data[self.at + length..]) {
                        Some(is_next) => is_next,
                        None => return false,
                    };
                self.begin_tag(is_next, place);
                if let Some(kind) = fault {
                    self.fault(place, kind);
                }
                self.tell_tag(name, value, place);
                self.pass(length);
                self.state.token_line = self.state.line;
            }
        }
        true
    }

    /// Passes over bytes that may have line ends.
    fn pass(&mut self, length: usize) {
        let end = self.at + length;
        while let Some(offset) = find(&self.data[self.at..end], LINE_ENDS) {
            self.at += offset;
            self.line_end();
        }
        self.at = end;
    }

    /// A bracket that begins no tag: what it encloses on its line is passed over. Returns `false`
    /// where its end may be still to come.
    fn skip_bracket(&mut self) -> bool {
        let rest = &self.data[self.at..];
        let near = &rest[1..rest.len().min(TOKEN_LENGTH_MAX)];
        let length = match find(near, [b']', b'[', b'\n', b'\r']) {
            Some(end) if near[end] == b']' => end + 2,
            None if !self.is_last && rest.len() < TOKEN_LENGTH_MAX => return false,
            _ => 1,
        };
        self.fault(self.place(self.at), FaultKind::UnexpectedBracket);
        self.state.token_line = self.state.line;
        self.at += length;
        true
    }

    /// Ends the game at hand where the tag is one of the next.
    fn begin_tag(&mut self, is_next: bool, place: Place) {
        if is_next {
            self.break_off(self.at);
            self.begin_game(place);
            self.state.section = Section::Tags;
        }
    }

    /// Whether a tag is one of the next game. Returns `None` where the text behind it, which tells,
    /// has not come yet.
    fn begins_next_game(&self, name: &[u8], value: &[u8], behind: &[u8]) -> Option<bool> {
        if self.state.section != Section::Tags {
            return Some(true);
        }
        let after_blank = self.is_after_blank_line();
        match self.value_of(name) {
            Some(_) if after_blank => Some(true),
            Some(first) if is_own(name) => self.has_restarted(first != begin_of(value), behind),
            Some(_) => Some(false),
            None => Some(after_blank && name == b"Event" && !self.state.tag_ends.is_empty()),
        }
    }

    /// Whether a tag that is there twice, without a blank line between the two, begins the tags of
    /// another game: a second one follows it that is there twice, and one of them says something
    /// else than at first. Otherwise somebody has written a tag twice.
    fn has_restarted(&self, mut differs: bool, behind: &[u8]) -> Option<bool> {
        let is_cut = behind.len() > RESTART_LENGTH_MAX;
        let behind = &behind[..behind.len().min(RESTART_LENGTH_MAX)];
        let is_last = self.is_last || is_cut;
        let mut at = 0;
        let mut is_second = false;
        for _ in 0..ROSTER.len() {
            let blanks = behind[at..]
                .iter()
                .position(|byte| !byte.is_ascii_whitespace());
            let Some(blanks) = blanks else {
                return is_last.then_some(false);
            };
            if has_blank_line(&behind[at..at + blanks]) || behind[at + blanks] != b'[' {
                return Some(false);
            }
            at += blanks;
            match read_pair(&behind[at..], is_last, false) {
                Found::Pair {
                    name,
                    value,
                    length,
                    ..
                } => {
                    at += length;
                    if let Some(first) = self.value_of(name).filter(|_| is_own(name)) {
                        is_second = true;
                        differs |= first != begin_of(value);
                    }
                }
                Found::Nothing => return Some(false),
                Found::Open => return None,
            }
            if is_second && differs {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The value of a tag of the game at hand, or the begin of it.
    fn value_of(&self, name: &[u8]) -> Option<&[u8]> {
        if self.state.name_marks & name_mark(name) == 0 {
            return None;
        }
        let mut start = 0;
        self.state.tag_ends.iter().find_map(|&(name_end, end)| {
            let is_same = &self.state.tags[start..name_end] == name;
            start = end;
            is_same.then(|| &self.state.tags[name_end..end])
        })
    }

    /// Tells of a tag, within the limits.
    fn tell_tag(&mut self, name: &[u8], value: &[u8], place: Place) {
        if name.len() > TAG_NAME_LENGTH_MAX {
            self.fault(place, FaultKind::TagNameTooLong);
            return;
        }
        if self.value_of(name).is_some() {
            let name = quote(name);
            self.fault(place, FaultKind::DuplicateTag { name });
            return;
        }
        if self.state.tag_ends.len() == TAGS_MAX {
            if !self.state.is_tag_dropped {
                self.state.is_tag_dropped = true;
                self.fault(place, FaultKind::TooManyTags);
            }
            return;
        }
        self.state.name_marks |= name_mark(name);
        self.state.tags.extend_from_slice(name);
        let name_end = self.state.tags.len();
        self.state.tags.extend_from_slice(begin_of(value));
        self.state.tag_ends.push((name_end, self.state.tags.len()));
        if value.len() > TAG_VALUE_LENGTH_MAX {
            self.fault(place, FaultKind::TagValueTooLong);
        }
        if name == b"Result" {
            self.state.both_lose = value == b"0-0";
        }
        let raw_value = cut_escaped(value, TAG_VALUE_LENGTH_MAX);
        self.visitor.tag(Tag {
            name,
            raw_value,
            place,
        });
    }
}

/// As much of a value as is kept to be compared.
fn begin_of(value: &[u8]) -> &[u8] {
    &value[..value.len().min(TOKEN_LENGTH_MAX)]
}

/// Whether a tag says which game it is, or how it began: no game has two of such.
fn is_own(name: &[u8]) -> bool {
    name == b"FEN" || ROSTER.iter().any(|(tag, _)| tag.as_bytes() == name)
}

/// Whether a line without text is among blanks.
fn has_blank_line(blanks: &[u8]) -> bool {
    let lines = blanks
        .iter()
        .enumerate()
        .filter(|&(index, &byte)| match byte {
            b'\n' => index == 0 || blanks[index - 1] != b'\r',
            byte => byte == b'\r',
        });
    lines.count() > 1
}

/// A bit that tells most names apart, so that they need not be compared.
fn name_mark(name: &[u8]) -> u64 {
    let sum = |sum: u64, &byte: &u8| sum.wrapping_mul(31).wrapping_add(u64::from(byte));
    1 << (name.iter().fold(0, sum) & 63)
}

/// Reads a tag pair at a bracket. Among moves, only what has the form of one up to the quote of
/// its value is one.
fn read_pair(rest: &[u8], is_last: bool, in_moves: bool) -> Found<'_> {
    let open = if is_last { Found::Nothing } else { Found::Open };
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    let skip_blanks = |from: usize| {
        let blanks = rest[from..].iter().position(|byte| !is_blank(byte));
        blanks.map(|blanks| from + blanks)
    };
    let Some(name_start) = skip_blanks(1) else {
        return open;
    };
    let Some(name_length) = name_length(&rest[name_start..]) else {
        return open;
    };
    let name = &rest[name_start..name_start + name_length];
    if name.is_empty() {
        return Found::Nothing;
    }
    let Some(quote) = skip_blanks(name_start + name_length) else {
        return open;
    };
    match rest[quote] {
        b'"' => read_value(rest, name, quote + 1, is_last),
        _ if in_moves => Found::Nothing,
        _ => read_unquoted(rest, name, name_start + name_length, is_last),
    }
}

/// Reads the value behind the opening quote, to the end of the pair.
fn read_value<'a>(rest: &'a [u8], name: &'a [u8], start: usize, is_last: bool) -> Found<'a> {
    let pair = |value, length, fault| Found::Pair {
        name,
        value,
        length,
        fault,
    };
    let mut end = start;
    loop {
        end += find(&rest[end..], [b'"', b'\\', b'\n', b'\r']).unwrap_or(rest.len() - end);
        match rest.get(end) {
            Some(b'"') => break,
            Some(b'\\') if matches!(rest.get(end + 1), Some(b'"' | b'\\')) => end += 2,
            Some(b'\n' | b'\r') => return read_unclosed(rest, name, start, end),
            Some(_) => end += 1,
            None if is_last => return read_unclosed(rest, name, start, rest.len()),
            None => return Found::Open,
        }
    }
    let value = &rest[start..end];
    let blanks = rest[end + 1..]
        .iter()
        .position(|byte| !byte.is_ascii_whitespace());
    match blanks.map(|blanks| end + 1 + blanks) {
        Some(next) if rest[next] == b']' => return pair(value, next + 1, None),
        // Another tag or the end: only the closing bracket is missing.
        Some(next) if rest[next] == b'[' => {
            return pair(value, end + 1, Some(FaultKind::UnclosedTag));
        }
        None if is_last => return pair(value, end + 1, Some(FaultKind::UnclosedTag)),
        None => return Found::Open,
        Some(_) => {}
    }
    let line_end = match find(&rest[end..], LINE_ENDS) {
        Some(length) => end + length,
        None if is_last => rest.len(),
        None => return Found::Open,
    };
    if let Some(found) = read_backslash_end(rest, name, start, line_end) {
        return found;
    }
    match last_quote(&rest[end + 1..line_end], &[]) {
        Some((quote, length)) => pair(
            &rest[start..end + 1 + quote],
            end + 1 + length,
            Some(FaultKind::UnescapedQuote),
        ),
        None => pair(value, line_end, Some(FaultKind::UnclosedTag)),
    }
}

/// Reads a value that ends with a backslash which was not doubled, as paths of files do, so that
/// the quote behind it looks like one of the value.
fn read_backslash_end<'a>(
    rest: &'a [u8],
    name: &'a [u8],
    start: usize,
    line_end: usize,
) -> Option<Found<'a>> {
    let (quote, length) = last_quote(&rest[start..line_end], b"\\")?;
    Some(Found::Pair {
        name,
        value: &rest[start..start + quote],
        length: start + length,
        fault: Some(FaultKind::UnescapedBackslash),
    })
}

/// Returns where the quote is that closes a value in which others stand, and the bytes up to the
/// closing bracket: the first quote behind certain bytes with a bracket behind it that ends the
/// line, or that another bracket follows.
fn last_quote(line: &[u8], before: &[u8]) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let quote = from + find(&line[from..], [b'"'])?;
        from = quote + 1;
        if !line[..quote].ends_with(before) {
            continue;
        }
        let behind = line[from..].trim_ascii_start();
        let Some(after) = behind.strip_prefix(b"]") else {
            continue;
        };
        if matches!(after.trim_ascii_start().first(), None | Some(b'[')) {
            return Some((quote, line.len() - after.len()));
        }
    }
}

/// Reads a value that has no closing quote on its line.
fn read_unclosed<'a>(rest: &'a [u8], name: &'a [u8], start: usize, end: usize) -> Found<'a> {
    if let Some(found) = read_backslash_end(rest, name, start, end) {
        return found;
    }
    let value = rest[start..end].trim_ascii_end();
    Found::Pair {
        name,
        value: value.strip_suffix(b"]").unwrap_or(value),
        length: end,
        fault: Some(FaultKind::UnclosedTagValue),
    }
}

/// Reads a value without quotes, up to the closing bracket on the same line.
fn read_unquoted<'a>(rest: &'a [u8], name: &'a [u8], start: usize, is_last: bool) -> Found<'a> {
    let Some(length) = find(&rest[start..], [b']', b'[', b'\n', b'\r']) else {
        return if is_last { Found::Nothing } else { Found::Open };
    };
    if rest[start + length] != b']' {
        return Found::Nothing;
    }
    Found::Pair {
        name,
        value: rest[start..start + length].trim_ascii(),
        length: start + length + 1,
        fault: Some(FaultKind::UnquotedTagValue),
    }
}
