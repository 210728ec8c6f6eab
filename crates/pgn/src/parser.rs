//! From bytes to tokens and games: a parser that is fed pieces of any size.
//!
//! A token that a piece cuts is kept, and read when there is more; what is kept is bounded by the
//! limits on tokens, and a token is looked at again only when twice as much of it is there, so
//! that time stays linear in the text. Comments, which have no bounds, are read piece by piece.
//!
//! # Where games end
//!
//! A game ends at the end of the line of its result. Where that is missing it ends
//! - at the next tag, if it has moves;
//! - at a tag that is there already, if it has only tags and the tag follows a blank line, or with
//!   those behind it tells of another game; `Event` after a blank line begins a game, too;
//! - at the number 1 of White after a blank line, if it has moves;
//! - at a section of tags that follows a blank line inside a comment that was left open.
//!
//! Comments between games belong to none of them, and are passed over. So is a result between
//! games, with a fault: files have results twice, at the end of a line and on the next, more often
//! than games of which nothing is known but how they ended. Behind tags a result is a game without
//! moves.

mod comment;
mod moves;
mod signs;
mod spread;
mod tag;

use crate::scan::{CLASS, Class, LINE_ENDS, find};
use crate::text::quote;
use crate::{Fault, FaultKind, Place, Visitor};

/// Reads text in pieces and tells a [`Visitor`] what is in it.
///
/// ```
/// use referee_pgn::{Outcome, Parser, Place, Visitor};
///
/// #[derive(Default)]
/// struct Counter { moves: u32, outcomes: Vec<Outcome> }
/// impl Visitor for Counter {
///     fn move_text(&mut self, _text: &[u8], _place: Place) {
///         self.moves += 1;
///     }
///     fn outcome(&mut self, outcome: Outcome, _place: Place) {
///         self.outcomes.push(outcome);
///     }
/// }
///
/// let mut counter = Counter::default();
/// let mut parser = Parser::new();
/// for piece in ["1. e4 e", "5 2. N", "f3 1/", "2-1/2"] {
///     parser.push(piece.as_bytes(), &mut counter);
/// }
/// parser.finish(&mut counter);
/// assert_eq!(counter.moves, 3);
/// assert_eq!(counter.outcomes, [Outcome::Draw]);
/// ```
#[derive(Debug)]
pub struct Parser {
    /// The beginning of a token whose end has not come yet.
    carry: Vec<u8>,
    /// How long `carry` is to become before it is looked at again.
    retry_at: usize,
    state: State,
}

/// What a parser knows of the text before the bytes at hand.
#[derive(Debug)]
struct State {
    mode: Mode,
    section: Section,
    /// The bytes before those at hand.
    base: u64,
    line: u64,
    /// The bytes before the line.
    line_start: u64,
    /// The byte before those at hand.
    last_byte: u8,
    /// The line of the last token, to see blank lines.
    token_line: u64,
    /// Open variations.
    depth: u64,
    /// Where the outermost of them begins.
    variation: Place,
    /// Moves of the main line.
    plies: u64,
    /// The tags of this game, one after the other: name and value of each, and where they end.
    tags: Vec<u8>,
    tag_ends: Vec<(usize, usize)>,
    /// A bit for each name, by its letters.
    name_marks: u64,
    is_tag_dropped: bool,
    /// Whether the tag `Result` is `0-0`, which as a move would be castling.
    both_lose: bool,
    comment: OpenComment,
}

/// A comment that has not ended yet.
#[derive(Debug)]
struct OpenComment {
    place: Place,
    kept: Vec<u8>,
    is_cut: bool,
    /// Whether the line at hand is blank so far.
    is_line_blank: bool,
    /// Whether a line begins here that follows a blank one.
    is_suspect: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Between tokens.
    Text,
    /// In a comment that ends with a brace.
    Comment,
    /// In a comment that ends with the line.
    LineComment,
    /// In a line that is passed over.
    SkippedLine,
    /// In a word that is passed over.
    SkippedWord,
    /// Nothing more is read.
    Dead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// Between games.
    Between,
    /// In the tags of a game.
    Tags,
    /// In its moves.
    Moves,
    /// Between its result and the end of the line.
    Ending,
}

impl Parser {
    /// Returns a parser at the beginning of a text.
    #[must_use]
    pub fn new() -> Parser {
        Parser::starting_at(Place::START)
    }

    /// Returns a parser for a text that begins at a place of a greater one, between two games.
    #[must_use]
    pub fn starting_at(place: Place) -> Parser {
        Parser {
            carry: Vec::new(),
            retry_at: 0,
            state: State {
                mode: Mode::Text,
                section: Section::Between,
                base: place.offset,
                line: place.line,
                line_start: place.offset.saturating_sub(place.column - 1),
                last_byte: 0,
                token_line: place.line,
                depth: 0,
                variation: place,
                plies: 0,
                tags: Vec::new(),
                tag_ends: Vec::new(),
                name_marks: 0,
                is_tag_dropped: false,
                both_lose: false,
                comment: OpenComment {
                    place,
                    kept: Vec::new(),
                    is_cut: false,
                    is_line_blank: false,
                    is_suspect: false,
                },
            },
        }
    }

    /// Reads the next piece of the text.
    pub fn push<V: Visitor>(&mut self, piece: &[u8], visitor: &mut V) {
        let mut rest = piece;
        while !self.carry.is_empty() && !rest.is_empty() {
            // The token is ended with a little of the piece, and the rest read where it is.
            let wanted = self.retry_at.saturating_sub(self.carry.len());
            let taken = wanted.max(64).min(rest.len());
            self.carry.extend_from_slice(&rest[..taken]);
            rest = &rest[taken..];
            if self.carry.len() < self.retry_at {
                return;
            }
            let read = run(&mut self.state, &self.carry, false, visitor);
            let left = self.carry.len() - read;
            if left <= taken {
                rest = &piece[piece.len() - rest.len() - left..];
                self.carry.clear();
                if left > 0 && rest.len() == left {
                    break;
                }
            } else {
                self.carry.drain(..read);
                self.retry_at = 2 * self.carry.len();
            }
        }
        if !rest.is_empty() {
            let read = run(&mut self.state, rest, false, visitor);
            self.carry.extend_from_slice(&rest[read..]);
            self.retry_at = 2 * self.carry.len();
        }
    }

    /// Ends the text.
    pub fn finish<V: Visitor>(mut self, visitor: &mut V) {
        let read = run(&mut self.state, &self.carry, true, visitor);
        debug_assert!(read == self.carry.len() || self.state.mode == Mode::Dead);
        let mut lexer = Lexer {
            state: &mut self.state,
            data: &[],
            at: 0,
            is_last: true,
            visitor,
        };
        lexer.end_text();
    }
}

impl Default for Parser {
    fn default() -> Parser {
        Parser::new()
    }
}

/// Reads as many whole tokens as there are, and returns their bytes.
fn run<V: Visitor>(state: &mut State, data: &[u8], is_last: bool, visitor: &mut V) -> usize {
    let mut lexer = Lexer {
        state,
        data,
        at: 0,
        is_last,
        visitor,
    };
    if lexer.state.base == 0 && lexer.state.mode == Mode::Text && !lexer.accept_encoding() {
        return 0;
    }
    loop {
        let goes_on = match lexer.state.mode {
            Mode::Text => lexer.text(),
            Mode::Comment => lexer.comment_body(),
            Mode::LineComment => lexer.line_comment_body(),
            Mode::SkippedLine => lexer.skipped_line(),
            Mode::SkippedWord => lexer.skipped_word(),
            Mode::Dead => {
                lexer.at = data.len();
                false
            }
        };
        if !goes_on {
            break;
        }
    }
    let at = lexer.at;
    state.base += at as u64;
    if at > 0 {
        state.last_byte = data[at - 1];
    }
    at
}

/// Reads the bytes at hand. Its functions return `false` where more bytes are needed.
struct Lexer<'a, V> {
    state: &'a mut State,
    data: &'a [u8],
    at: usize,
    is_last: bool,
    visitor: &'a mut V,
}

impl<'a, V: Visitor> Lexer<'a, V> {
    /// Refuses a text whose first bytes are those of UTF-16 or UTF-32. Returns `false` where they
    /// are not there yet.
    fn accept_encoding(&mut self) -> bool {
        let is_foreign = match *self.data {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, ..] | [_, 0, ..] => true,
            [_, _, ..] => false,
            _ => return self.is_last,
        };
        if is_foreign {
            let place = self.place(0);
            self.fault(place, FaultKind::UnsupportedEncoding);
            self.state.mode = Mode::Dead;
        }
        true
    }

    /// Reads tokens until the mode changes or the bytes are at their end.
    fn text(&mut self) -> bool {
        while let Some(&byte) = self.data.get(self.at) {
            let goes_on = match CLASS[usize::from(byte)] {
                Class::Blank => {
                    self.at += 1;
                    true
                }
                Class::LineEnd => {
                    self.line_end();
                    if self.state.section == Section::Ending {
                        self.end_game(self.at);
                    }
                    true
                }
                Class::Word => self.words(),
                Class::Digit => self.digits(),
                Class::Dot => {
                    self.at += 1;
                    true
                }
                Class::Brace | Class::Semicolon => {
                    self.open_comment(byte);
                    true
                }
                Class::Bracket => self.bracket(),
                Class::OpenParenthesis => {
                    self.open_variation();
                    true
                }
                Class::CloseParenthesis => {
                    self.close_variation();
                    true
                }
                Class::Dollar => self.nag(),
                Class::Asterisk => {
                    let place = self.place(self.at);
                    self.at += 1;
                    self.outcome(crate::Outcome::Unknown, true, place);
                    true
                }
                Class::Mark => self.marks(),
                Class::Percent if self.place(self.at).column == 1 => {
                    self.state.token_line = self.state.line;
                    self.state.mode = Mode::SkippedLine;
                    true
                }
                Class::Percent | Class::Other => {
                    self.other(byte);
                    true
                }
            };
            if !goes_on {
                return false;
            }
            if self.state.mode != Mode::Text {
                return true;
            }
        }
        false
    }

    /// The place of a byte at hand, which is on the line at hand.
    #[inline]
    fn place(&self, at: usize) -> Place {
        let offset = self.state.base + at as u64;
        Place {
            line: self.state.line,
            column: offset - self.state.line_start + 1,
            offset,
        }
    }

    fn fault(&mut self, place: Place, kind: FaultKind) {
        self.visitor.fault(Fault { place, kind });
    }

    /// Whether a blank line parts the last token from the one at hand.
    #[inline]
    fn is_after_blank_line(&self) -> bool {
        self.state.line > self.state.token_line + 1
    }

    /// Passes over a line end. The line feed after a carriage return ends no other line.
    #[inline]
    fn line_end(&mut self) {
        let is_second = self.data[self.at] == b'\n' && self.byte_before(self.at) == b'\r';
        self.at += 1;
        self.state.line_start = self.state.base + self.at as u64;
        if is_second {
            return;
        }
        self.state.line += 1;
    }

    #[inline]
    fn byte_before(&self, at: usize) -> u8 {
        match at.checked_sub(1) {
            Some(before) => self.data[before],
            None => self.state.last_byte,
        }
    }

    /// Passes over the rest of the line, without its end.
    fn skipped_line(&mut self) -> bool {
        let rest = &self.data[self.at..];
        match find(rest, LINE_ENDS) {
            Some(length) => {
                self.at += length;
                self.state.mode = Mode::Text;
                true
            }
            None => {
                self.at = self.data.len();
                false
            }
        }
    }

    fn skipped_word(&mut self) -> bool {
        self.at += crate::scan::word_length(&self.data[self.at..]);
        if self.at < self.data.len() {
            self.state.mode = Mode::Text;
        }
        self.at < self.data.len()
    }

    /// A byte that begins nothing.
    fn other(&mut self, byte: u8) {
        let place = self.place(self.at);
        match byte {
            b'}' => self.fault(place, FaultKind::UnopenedBracket { found: '}' }),
            _ => {
                let text = quote(&self.data[self.at..=self.at]);
                self.fault(place, FaultKind::UnexpectedToken { text });
            }
        }
        self.state.token_line = self.state.line;
        self.at += 1;
    }

    fn begin_game(&mut self, place: Place) {
        self.state.tags.clear();
        self.state.tag_ends.clear();
        self.state.name_marks = 0;
        self.state.is_tag_dropped = false;
        self.state.both_lose = false;
        self.state.plies = 0;
        self.state.depth = 0;
        self.visitor.begin_game(place);
    }

    /// Ends the game at hand, with a fault where it has no result.
    fn break_off(&mut self, at: usize) {
        if matches!(self.state.section, Section::Tags | Section::Moves) {
            let place = self.place(at);
            self.close_variations();
            self.fault(place, FaultKind::MissingOutcome);
        }
        self.end_game(at);
    }

    fn close_variations(&mut self) {
        if self.state.depth == 0 {
            return;
        }
        let place = self.state.variation;
        self.fault(place, FaultKind::UnclosedVariation);
        let told = self.state.depth.min(crate::VARIATION_DEPTH_MAX);
        for _ in 0..told {
            self.visitor.end_variation();
        }
        self.state.depth = 0;
    }

    fn end_game(&mut self, at: usize) {
        if self.state.section != Section::Between {
            let place = self.place(at);
            self.visitor.end_game(place);
            self.state.section = Section::Between;
        }
    }

    /// Ends what is open at the end of the text.
    fn end_text(&mut self) {
        match self.state.mode {
            Mode::Comment => {
                let place = self.state.comment.place;
                self.fault(place, FaultKind::UnclosedComment);
                self.close_comment(&[]);
            }
            Mode::LineComment => self.close_comment(&[]),
            _ => {}
        }
        self.break_off(0);
    }
}
