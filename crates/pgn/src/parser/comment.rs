//! Comments, which have no bounds: they are read piece by piece, and kept up to a limit.

use super::{Lexer, Mode, Section};
use crate::limits::{COMMENT_LENGTH_MAX, LOOKAHEAD_MAX, VARIATION_DEPTH_MAX};
use crate::scan::{LINE_ENDS, find};
use crate::visitor::Comment;
use crate::{FaultKind, Visitor};

/// What a game begins with.
const EVENT: &[u8] = b"[Event \"";

/// What lines that look like tags in a comment are.
enum Suspicion {
    /// The tags of the next game: the comment was left open.
    NextGame,
    /// Part of the comment.
    Comment,
    /// The line end has another byte.
    Undecided,
    /// More bytes are needed to tell.
    Open,
}

impl<'a, V: Visitor> Lexer<'a, V> {
    /// Begins a comment.
    pub(super) fn open_comment(&mut self, byte: u8) {
        let place = self.place(self.at);
        self.at += 1;
        let comment = &mut self.state.comment;
        comment.place = place;
        comment.is_cut = false;
        comment.is_suspect = false;
        comment.is_line_blank = false;
        self.state.mode = match byte {
            b'{' => Mode::Comment,
            _ => Mode::LineComment,
        };
    }

    /// Reads on in a comment that ends with a brace.
    pub(super) fn comment_body(&mut self) -> bool {
        let data = self.data;
        let start = self.at;
        loop {
            if self.state.comment.is_suspect {
                match self.suspect() {
                    Suspicion::Comment => self.state.comment.is_suspect = false,
                    Suspicion::Undecided => {}
                    Suspicion::Open => {
                        self.keep(&data[start..self.at]);
                        return false;
                    }
                    Suspicion::NextGame => {
                        let place = self.state.comment.place;
                        self.fault(place, FaultKind::UnclosedComment);
                        self.close_comment(&data[start..self.at]);
                        return true;
                    }
                }
            }
            let rest = &data[self.at..];
            let length = find(rest, [b'}', b'\n', b'\r']).unwrap_or(rest.len());
            let comment = &mut self.state.comment;
            comment.is_line_blank &= rest[..length].trim_ascii().is_empty();
            self.at += length;
            match rest.get(length) {
                None => {
                    self.keep(&data[start..]);
                    return false;
                }
                Some(b'}') => {
                    self.at += 1;
                    self.close_comment(&data[start..self.at - 1]);
                    return true;
                }
                Some(&byte) => {
                    if byte == b'\r' || self.byte_before(self.at) != b'\r' {
                        let comment = &mut self.state.comment;
                        comment.is_suspect = comment.is_line_blank;
                        comment.is_line_blank = true;
                    }
                    self.line_end();
                }
            }
        }
    }

    /// Whether the line at hand, which follows a blank one in a comment, begins the tags of the
    /// next game: `Event`, at least one more tag, and a blank line or the end of the text.
    fn suspect(&self) -> Suspicion {
        let rest = &self.data[self.at..];
        if rest.first() == Some(&b'\n') && self.byte_before(self.at) == b'\r' {
            return Suspicion::Undecided;
        }
        if !rest.starts_with(EVENT) {
            let may_become = EVENT.starts_with(rest) && !self.is_last;
            return if may_become {
                Suspicion::Open
            } else {
                Suspicion::Comment
            };
        }
        let verdict = |tags: u32| match tags {
            2.. => Suspicion::NextGame,
            _ => Suspicion::Comment,
        };
        let mut tags = 0;
        let mut after_return = false;
        for line in rest.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_whole = line.ends_with(b"\n") || line.ends_with(b"\r") || self.is_last;
            let is_second = after_return && line == b"\n";
            after_return = line.ends_with(b"\r");
            let text = line.trim_ascii();
            match is_whole {
                _ if is_second => {}
                true if text.starts_with(b"[") && text.ends_with(b"\"]") => tags += 1,
                true if text.is_empty() => return verdict(tags),
                true => return Suspicion::Comment,
                false => break,
            }
        }
        if self.is_last || rest.len() > LOOKAHEAD_MAX {
            return verdict(tags);
        }
        Suspicion::Open
    }

    /// Reads on in a comment that ends with the line.
    pub(super) fn line_comment_body(&mut self) -> bool {
        let rest = &self.data[self.at..];
        match find(rest, LINE_ENDS) {
            Some(length) => {
                self.at += length;
                self.close_comment(&rest[..length]);
                true
            }
            None => {
                self.keep(rest);
                self.at = self.data.len();
                false
            }
        }
    }

    /// Keeps a part of the comment, as far as the limit allows.
    fn keep(&mut self, part: &[u8]) {
        let comment = &mut self.state.comment;
        let room = COMMENT_LENGTH_MAX - comment.kept.len();
        comment.is_cut |= part.len() > room;
        comment
            .kept
            .extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Ends the comment, whose last part is at hand, and tells of it.
    pub(super) fn close_comment(&mut self, tail: &[u8]) {
        self.state.mode = Mode::Text;
        self.state.token_line = self.state.line;
        let is_kept = self.state.comment.kept.is_empty() && tail.len() <= COMMENT_LENGTH_MAX;
        if !is_kept {
            self.keep(tail);
        }
        let place = self.state.comment.place;
        if self.state.comment.is_cut {
            self.fault(place, FaultKind::CommentTooLong);
        }
        let is_told =
            self.state.section != Section::Between && self.state.depth <= VARIATION_DEPTH_MAX;
        if is_told {
            let raw = if is_kept {
                tail
            } else {
                &self.state.comment.kept
            };
            self.visitor.comment(Comment { raw, place });
        }
        self.state.comment.kept.clear();
        // The memory of a long comment is given back.
        self.state.comment.kept.shrink_to(LOOKAHEAD_MAX);
    }
}
