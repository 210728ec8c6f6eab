//! Moves and what stands between them: numbers, annotations, variations, results.

use super::signs::{
    Sign, Signs, are_signs, ends_as_move, has_form_of_move, plain, split_idea, split_outcome,
    split_signs,
};
use super::{Lexer, Mode, Section};
use crate::limits::{TOKEN_LENGTH_MAX, VARIATION_DEPTH_MAX};
use crate::scan::{CLASS, Class, is_word, word_length};
use crate::text::{quote, to_ascii};
use crate::{FaultKind, Outcome, Place, Visitor};

/// The horizontal ellipsis in UTF-8, which some programs write after the number of a move.
const ELLIPSIS: &[u8] = "…".as_bytes();
const NO_BREAK_SPACE: &[u8] = "\u{a0}".as_bytes();
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl<'a, V: Visitor> Lexer<'a, V> {
    /// Reads words that begin with a letter or a sign, as long as only blanks part them: most
    /// often two moves.
    #[inline]
    pub(super) fn words(&mut self) -> bool {
        loop {
            if !self.word() {
                return false;
            }
            if self.state.mode != Mode::Text {
                // The rest of a word that is too long is passed over, and not the next word.
                return true;
            }
            while self.data.get(self.at) == Some(&b' ') {
                self.at += 1;
            }
            let next = self.data.get(self.at);
            let is_word = next.is_some_and(|&byte| CLASS[usize::from(byte)] == Class::Word);
            if !is_word {
                return true;
            }
        }
    }

    #[inline]
    fn word(&mut self) -> bool {
        let rest = &self.data[self.at..];
        let mut length = 0;
        let mut all = 0;
        while let Some(&byte) = rest.get(length)
            && is_word(byte)
        {
            all |= byte;
            length += 1;
        }
        if length == rest.len() && !self.is_last || length > TOKEN_LENGTH_MAX {
            return self.unended_word(length);
        }
        if !all.is_ascii() {
            return self.typographic_word(length);
        }
        if matches!(rest.get(length), Some(b'.' | b'(' | b'>' | b'\\')) {
            match extension(rest, length, self.is_last) {
                Some(more) => length += more,
                None if !self.is_last => return false,
                None => {}
            }
        }
        let place = self.place(self.at);
        self.at += length;
        let word = &rest[..length];
        if self.is_usual_move(word) {
            self.state.token_line = self.state.line;
            self.state.plies += 1;
            self.visitor.move_text(word, place);
        } else if !self.sign(word, place) {
            self.move_word(word, place);
        }
        true
    }

    /// Whether a word is told as a move without a further look: nearly all are.
    #[inline]
    fn is_usual_move(&self, word: &[u8]) -> bool {
        let state = &self.state;
        let is_main_line = state.section == Section::Moves && state.depth == 0;
        is_main_line && word.len() <= 5 && ends_as_move(word)
    }

    /// A word whose end is not among the bytes at hand, or that is too long.
    #[cold]
    fn unended_word(&mut self, length: usize) -> bool {
        if length <= TOKEN_LENGTH_MAX {
            return false;
        }
        let place = self.place(self.at);
        self.state.token_line = self.state.line;
        self.fault(place, FaultKind::TokenTooLong);
        self.at += length;
        self.state.mode = Mode::SkippedWord;
        true
    }

    /// A word with bytes beyond ASCII.
    #[cold]
    fn typographic_word(&mut self, length: usize) -> bool {
        let word = &self.data[self.at..self.at + length];
        let place = self.place(self.at);
        if word.starts_with(BYTE_ORDER_MARK) {
            self.at += BYTE_ORDER_MARK.len();
            if self.at as u64 + self.state.base == self.state.line_start + 3 {
                // The column of what follows is that which an editor shows.
                self.state.line_start += BYTE_ORDER_MARK.len() as u64;
            }
            return true;
        }
        if word.starts_with(ELLIPSIS) {
            self.at += ELLIPSIS.len();
            return true;
        }
        let blank = word.windows(2).position(|pair| pair == NO_BREAK_SPACE);
        if blank == Some(0) {
            self.at += NO_BREAK_SPACE.len();
            return true;
        }
        let word = &word[..blank.unwrap_or(length)];
        self.at += word.len();
        if self.sign(word, place) {
            return true;
        }
        match to_ascii(word) {
            Some(ascii) => match Outcome::read(ascii.as_slice()) {
                Some((outcome, _)) => self.outcome(outcome, false, place),
                None => self.move_word(ascii.as_slice(), place),
            },
            None => self.move_word(word, place),
        }
        true
    }

    /// Reads a word that begins with a digit: the number of a move, a result, castling with
    /// zeros.
    pub(super) fn digits(&mut self) -> bool {
        match self.spread_outcome() {
            Some(true) => return true,
            Some(false) => {}
            None => return false,
        }
        let rest = &self.data[self.at..];
        let count = rest
            .iter()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(rest.len());
        if count == rest.len() && !self.is_last || count > TOKEN_LENGTH_MAX {
            return self.unended_word(count);
        }
        match rest.get(count) {
            Some(b'.') => return self.number(count),
            Some(&byte) if !is_word(byte) => {}
            None => {}
            Some(_) => return self.number_or_word(count),
        }
        let place = self.place(self.at);
        self.at += count;
        let word = &rest[..count];
        match self.state.section {
            _ if word == b"0000" => self.move_word(word, place),
            Section::Tags | Section::Moves => {
                self.enter_moves(place);
                self.visitor.move_number(read_number(word));
                self.state.token_line = self.state.line;
            }
            Section::Between | Section::Ending => self.stray_text(word, place),
        }
        true
    }

    /// Reads the number of a move with its dots.
    fn number(&mut self, count: usize) -> bool {
        let rest = &self.data[self.at..];
        let dots = rest[count..].iter().position(|&byte| byte != b'.');
        let dots = match dots {
            Some(dots) => dots,
            None if !self.is_last && rest.len() - count <= TOKEN_LENGTH_MAX => return false,
            None => rest.len() - count,
        };
        // More dots are read by themselves, so that nothing depends on how the text was cut.
        let dots = dots.min(TOKEN_LENGTH_MAX);
        let place = self.place(self.at);
        let number = read_number(&rest[..count]);
        let state = &self.state;
        let begins_game = number == 1
            && dots == 1
            && state.plies > 0
            && state.depth == 0
            && state.section == Section::Moves;
        if begins_game && self.is_after_blank_line() {
            self.break_off(self.at);
        }
        self.at += count + dots;
        self.enter_moves(place);
        self.visitor.move_number(number);
        self.state.token_line = self.state.line;
        while self.data.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        true
    }

    /// Reads digits with something other than a dot behind them.
    fn number_or_word(&mut self, count: usize) -> bool {
        let rest = &self.data[self.at..];
        let length = word_length(rest);
        if length == rest.len() && !self.is_last || length > TOKEN_LENGTH_MAX {
            return self.unended_word(length);
        }
        let place = self.place(self.at);
        let word = &rest[..length];
        let ascii = to_ascii(word);
        let text = ascii.as_ref().map_or(word, |ascii| ascii.as_slice());
        match Outcome::read(text) {
            Some((Outcome::BothLose, _)) if !self.ends_both_lose(&rest[length..]) => {
                self.at += length;
                self.move_word(text, place);
            }
            Some((outcome, is_exact)) => {
                self.at += length;
                self.outcome(outcome, is_exact && word.is_ascii(), place);
            }
            None if text[0] == b'0' => {
                self.at += length;
                self.move_word(text, place);
            }
            None if rest[count].is_ascii_alphabetic() || !rest[count].is_ascii() => {
                // A number without a dot, such as `1e4` or `1…e5`; the word is read next.
                self.at += count;
                if rest[count..].starts_with(ELLIPSIS) {
                    self.at += ELLIPSIS.len();
                }
                self.enter_moves(place);
                self.visitor.move_number(read_number(&rest[..count]));
            }
            None => {
                self.at += length;
                self.unexpected(word, place);
            }
        }
        self.state.token_line = self.state.line;
        true
    }

    /// Whether `0-0` is a result and not castling: the tag says so and the line ends. Only the next
    /// byte is looked at, for the piece may end behind it.
    fn ends_both_lose(&self, rest: &[u8]) -> bool {
        let is_end = rest
            .first()
            .is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
        self.state.both_lose && self.state.depth == 0 && is_end
    }

    /// A move, or what stands in the place of one, with what is glued to it.
    #[inline]
    fn move_word(&mut self, word: &[u8], place: Place) {
        if ends_as_move(word) || !self.glued_word(word, place) {
            self.tell_move(word, place);
        }
    }

    /// A move with a result or signs glued to it, or one that is only thought of. Returns whether
    /// the word is one.
    #[cold]
    fn glued_word(&mut self, word: &[u8], place: Place) -> bool {
        if let Some((shorter, outcome)) = split_outcome(word) {
            self.tell_move(shorter, place);
            self.outcome(outcome, false, place);
            return true;
        }
        let text = plain(word);
        if let Some((sign, idea)) = split_idea(&text) {
            self.tell_signs(sign, place);
            self.unexpected(idea.as_bytes(), place);
            return true;
        }
        let Some((written, signs)) = split_signs(&text) else {
            return false;
        };
        self.tell_move(written.as_slice(), place);
        self.tell_signs(signs, place);
        true
    }

    #[inline]
    fn tell_move(&mut self, word: &[u8], place: Place) {
        if self.state.section != Section::Moves && !self.begin_with_move(word, place) {
            return;
        }
        self.state.token_line = self.state.line;
        if self.state.depth == 0 {
            self.state.plies += 1;
        } else if self.state.depth > VARIATION_DEPTH_MAX {
            return;
        }
        self.visitor.move_text(word, place);
    }

    /// Goes on to the moves of a game. Between games, only what has the form of a move begins
    /// one.
    #[cold]
    fn begin_with_move(&mut self, word: &[u8], place: Place) -> bool {
        let is_between = matches!(self.state.section, Section::Between | Section::Ending);
        if is_between && !has_form_of_move(word) {
            self.stray_text(word, place);
            return false;
        }
        self.enter_moves(place);
        true
    }

    /// Goes on to the moves of the game at hand, or of a new one between games.
    #[inline]
    pub(super) fn enter_moves(&mut self, place: Place) {
        if self.state.section == Section::Moves {
            return;
        }
        if self.state.section != Section::Tags {
            self.end_game(self.at);
            self.begin_game(place);
        }
        self.state.section = Section::Moves;
        self.visitor.begin_moves(place);
    }

    /// Text that belongs to no game: the rest of its line is passed over.
    #[cold]
    pub(super) fn stray_text(&mut self, word: &[u8], place: Place) {
        self.fault(place, FaultKind::StrayText { text: quote(word) });
        self.state.token_line = self.state.line;
        self.state.mode = Mode::SkippedLine;
    }

    #[cold]
    fn unexpected(&mut self, word: &[u8], place: Place) {
        self.fault(place, FaultKind::UnexpectedToken { text: quote(word) });
        self.state.token_line = self.state.line;
    }

    pub(super) fn outcome(&mut self, outcome: Outcome, is_exact: bool, place: Place) {
        self.state.token_line = self.state.line;
        if self.state.depth > 0 {
            // Some programs end variations with a result, which is not that of the game.
            return;
        }
        if matches!(self.state.section, Section::Between | Section::Ending) {
            self.fault(place, FaultKind::StrayOutcome);
            return;
        }
        self.enter_moves(place);
        if !is_exact {
            self.fault(place, FaultKind::OutcomeSpelling { outcome });
        }
        self.visitor.outcome(outcome, place);
        self.state.section = Section::Ending;
    }

    /// Annotations that stand for themselves, such as `+/-`, and signs without meaning. Returns
    /// whether the word is nothing else.
    #[inline]
    fn sign(&mut self, word: &[u8], place: Place) -> bool {
        self.state.section == Section::Moves && !ends_as_move(word) && self.signs(word, place)
    }

    #[cold]
    fn signs(&mut self, word: &[u8], place: Place) -> bool {
        let text = plain(word);
        let is_sign = are_signs(&text);
        if is_sign {
            self.tell_signs(&text, place);
        }
        is_sign
    }

    fn tell_signs(&mut self, text: &str, place: Place) {
        self.state.token_line = self.state.line;
        for (written, sign) in Signs(text) {
            match sign {
                Sign::Glyph(nag) => self.annotate(nag, place),
                Sign::OfMove | Sign::Word => {}
                Sign::Unknown => self.unexpected(written.as_bytes(), place),
            }
        }
    }

    fn annotate(&mut self, nag: u8, place: Place) {
        if self.state.depth <= VARIATION_DEPTH_MAX {
            self.visitor.nag(nag, place);
        }
    }

    /// The bytes at hand, as far as a token can be long.
    fn near(&self) -> &'a [u8] {
        let end = self.data.len().min(self.at + TOKEN_LENGTH_MAX);
        &self.data[self.at..end]
    }

    /// Exclamation and question marks.
    pub(super) fn marks(&mut self) -> bool {
        let rest = self.near();
        let length = rest.iter().position(|byte| !matches!(byte, b'!' | b'?'));
        let length = match length {
            Some(length) => length,
            None if !self.is_last && rest.len() < TOKEN_LENGTH_MAX => return false,
            None => rest.len(),
        };
        let place = self.place(self.at);
        self.at += length;
        if self.state.section != Section::Moves {
            self.unexpected(&rest[..length], place);
            return true;
        }
        let nag = match rest[..length.min(2)] {
            [b'!'] => 1,
            [b'?'] => 2,
            [b'!', b'!'] => 3,
            [b'?', b'?'] => 4,
            [b'!', _] => 5,
            _ => 6,
        };
        self.annotate(nag, place);
        self.state.token_line = self.state.line;
        true
    }

    /// A numeric annotation glyph.
    pub(super) fn nag(&mut self) -> bool {
        let rest = &self.near()[1..];
        let count = rest.iter().position(|byte| !byte.is_ascii_digit());
        let count = match count {
            Some(count) => count,
            None if !self.is_last && rest.len() + 1 < TOKEN_LENGTH_MAX => return false,
            None => rest.len(),
        };
        let place = self.place(self.at);
        self.at += 1 + count;
        self.state.token_line = self.state.line;
        match u8::try_from(read_number(&rest[..count])) {
            Ok(nag) if count > 0 && self.state.section == Section::Moves => {
                self.annotate(nag, place);
            }
            _ => self.fault(place, FaultKind::InvalidNag),
        }
        true
    }

    pub(super) fn open_variation(&mut self) {
        let place = self.place(self.at);
        if matches!(self.state.section, Section::Between | Section::Ending) {
            self.stray_text(b"(", place);
            return;
        }
        self.at += 1;
        self.enter_moves(place);
        self.state.token_line = self.state.line;
        self.state.depth += 1;
        if self.state.depth == 1 {
            self.state.variation = place;
        }
        if self.state.depth <= VARIATION_DEPTH_MAX {
            self.visitor.begin_variation();
        } else if self.state.depth == VARIATION_DEPTH_MAX + 1 {
            self.fault(place, FaultKind::VariationTooDeep);
        }
    }

    pub(super) fn close_variation(&mut self) {
        let place = self.place(self.at);
        self.at += 1;
        self.state.token_line = self.state.line;
        if self.state.depth == 0 {
            self.fault(place, FaultKind::UnopenedBracket { found: ')' });
            return;
        }
        if self.state.depth <= VARIATION_DEPTH_MAX {
            self.visitor.end_variation();
        }
        self.state.depth -= 1;
    }
}

/// Returns how far a word goes on behind a byte that no word has: with `e.p.`, `(Q)`, or a sign
/// such as `->`. Returns `None` where that cannot be told yet.
fn extension(rest: &[u8], length: usize, is_last: bool) -> Option<usize> {
    let more = &rest[length..];
    match (rest[length - 1], more) {
        (b'e', [b'.', b'p', b'.', ..]) => Some(3),
        (b'e', [b'.', b'p', _, ..]) => Some(2),
        (b'e', [b'.'] | [b'.', b'p']) => None,
        (b'1' | b'8' | b'=', [b'(', piece, b')', ..]) if b"QRBNqrbn".contains(piece) => Some(3),
        (b'1' | b'8' | b'=', [b'('] | [b'(', _]) => None,
        (b'-' | b'=', [b'>', ..]) => Some(1),
        // An idea can be glued to its sign, as in `/\Nf6`.
        (b'/', [b'\\', idea @ ..]) => match word_length(idea) {
            length if length >= TOKEN_LENGTH_MAX => Some(1),
            length if length == idea.len() && !is_last => None,
            length => Some(1 + length),
        },
        _ => Some(0),
    }
}

fn read_number(digits: &[u8]) -> u32 {
    digits.iter().fold(0u32, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u32::from(digit & 0xf))
    })
}
