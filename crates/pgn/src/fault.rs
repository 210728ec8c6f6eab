//! What can be wrong with a text, where, and how bad it is.

use core::fmt;

use referee_chess::{FenError, IllegalMove, UciMove, UnreadableMove};

use crate::Outcome;
use crate::limits::{
    COMMENT_LENGTH_MAX, COMMENTS_LENGTH_MAX, NAGS_MAX, PLIES_MAX, TAG_LENGTH_MAX,
    TAG_NAME_LENGTH_MAX, TAG_VALUE_LENGTH_MAX, TAGS_MAX, TOKEN_LENGTH_MAX, VARIATION_DEPTH_MAX,
};

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, from 1. A line ends with LF, CR or CR LF.
    pub line: u64,
    /// The column in bytes, from 1.
    pub column: u64,
    /// The bytes before it.
    pub offset: u64,
}

impl Place {
    /// The beginning of a text.
    pub const START: Place = Place {
        line: 1,
        column: 1,
        offset: 0,
    };
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// How bad a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The text is not as the PGN standard has it, and what it means is plain.
    Warning,
    /// What the game was cannot be told, or not to its end.
    Error,
}

/// Something that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub kind: FaultKind,
}

impl Fault {
    /// Returns how bad it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.kind.severity()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.kind)
    }
}

impl core::error::Error for Fault {}

/// What is wrong. Texts that are quoted are cut at
/// [`QUOTE_LENGTH_MAX`](crate::QUOTE_LENGTH_MAX) bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A move of the main line is not legal.
    IllegalMove {
        /// The move as it is written.
        text: Box<str>,
        /// Why it is not legal.
        illegal: Box<IllegalMove>,
    },
    /// A move of the main line fits more than one legal move.
    AmbiguousMove {
        /// The move as it is written.
        text: Box<str>,
        /// The legal moves that it fits.
        candidates: Box<[UciMove]>,
    },
    /// A word of the main line is no move, number, sign or result.
    UnreadableMove {
        /// The word.
        text: Box<str>,
        /// Why it is no move.
        reason: UnreadableMove,
    },
    /// A null move stands in the main line; no player may pass (FIDE Laws 1.3).
    NullMove {
        /// How it is written.
        text: Box<str>,
    },
    /// The main line has more than [`PLIES_MAX`] moves.
    TooManyMoves,
    /// The `FEN` tag describes no position that can be played from.
    InvalidFen {
        /// All that is wrong with it.
        error: Box<FenError>,
    },
    /// The `FEN` tag was set right, and the game read from what came of it.
    FenRepaired {
        /// What was wrong with it.
        error: Box<FenError>,
    },
    /// The `FEN` tag is empty, and no `SetUp "1"` asks for one; it was passed over.
    EmptyFen,
    /// `SetUp "0"` says that the game began in the initial position, and there is a `FEN`, which
    /// is taken.
    SetUpContradictsFen,
    /// The game is one of Chess960 and does not say from which position.
    UnknownStart,
    /// The rights to castle of the `FEN` are those of Chess960, which no `Variant` names. The
    /// game is read as Chess960.
    UnnamedChess960,
    /// The `Variant` tag names a game with other rules.
    UnsupportedVariant {
        /// Its name.
        name: Box<str>,
    },
    /// There is no result at the end of the moves.
    MissingOutcome,
    /// The result at the end of the moves is not that of the `Result` tag.
    OutcomeMismatch {
        /// The result of the tag.
        tag: Outcome,
        /// The result at the end.
        marker: Outcome,
    },
    /// The `Result` tag has no result.
    UnreadableOutcome {
        /// What it has.
        text: Box<str>,
    },
    /// A result is written in a way that the standard does not have.
    OutcomeSpelling {
        /// What was read.
        outcome: Outcome,
    },
    /// A result stands where there is no game.
    StrayOutcome,
    /// Text stands between games that belongs to none; it was passed over to the end of its line.
    StrayText {
        /// The first word.
        text: Box<str>,
    },
    /// A word or sign has no meaning; it was passed over.
    UnexpectedToken {
        /// What was met.
        text: Box<str>,
    },
    /// A bracket begins no tag pair; what it encloses was passed over.
    UnexpectedBracket,
    /// A brace or parenthesis is closed that was not opened.
    UnopenedBracket {
        /// Which.
        found: char,
    },
    /// A token is longer than [`TOKEN_LENGTH_MAX`]; it was passed over.
    TokenTooLong,
    /// The text is UTF-16 or UTF-32. Nothing of it was read; it must be UTF-8 or ISO 8859-1.
    UnsupportedEncoding,
    /// A comment is not closed before the next game, or the end of the text. The place is where
    /// it begins.
    UnclosedComment,
    /// A variation is not closed at the end of the game. The place is that of the outermost one.
    UnclosedVariation,
    /// A comment is longer than [`COMMENT_LENGTH_MAX`]; the rest of it was dropped.
    CommentTooLong,
    /// The comments of the game are together longer than [`COMMENTS_LENGTH_MAX`]; this one and
    /// those after it were dropped.
    CommentsTooLong,
    /// Variations are nested deeper than [`VARIATION_DEPTH_MAX`]; those that are deeper were
    /// passed over.
    VariationTooDeep,
    /// A tag pair has no closing bracket.
    UnclosedTag,
    /// The value of a tag has no closing quote on its line; it was taken to the end of the line.
    UnclosedTagValue,
    /// The value of a tag has quotes in it without a backslash; it was taken to the last one.
    UnescapedQuote,
    /// The value of a tag ends with a backslash that stands alone, so that the quote behind it
    /// looks like one of the value; the value was taken to the backslash.
    UnescapedBackslash,
    /// The value of a tag stands without quotes.
    UnquotedTagValue,
    /// A tag is there twice. The first value counts.
    DuplicateTag {
        /// Its name.
        name: Box<str>,
    },
    /// The name of a tag is longer than [`TAG_NAME_LENGTH_MAX`]; the tag was dropped.
    TagNameTooLong,
    /// The value of a tag is longer than [`TAG_VALUE_LENGTH_MAX`]; the rest of it was dropped.
    TagValueTooLong,
    /// A tag pair is longer than [`TAG_LENGTH_MAX`]; it was passed over.
    TagTooLong,
    /// There are more than [`TAGS_MAX`] tags; the others were dropped.
    TooManyTags,
    /// A numeric annotation glyph is not one of `$0` to `$255`.
    InvalidNag,
    /// A move has more than [`NAGS_MAX`] annotation glyphs; the others were dropped.
    TooManyNags,
    /// A command such as `[%clk ...]` in a comment has a value that makes no sense; it was
    /// dropped.
    MalformedCommand {
        /// The command with its value.
        text: Box<str>,
    },
}

impl FaultKind {
    /// Returns how bad a fault of this kind is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self {
            Self::IllegalMove { .. }
            | Self::AmbiguousMove { .. }
            | Self::UnreadableMove { .. }
            | Self::NullMove { .. }
            | Self::TooManyMoves
            | Self::InvalidFen { .. }
            | Self::UnknownStart
            | Self::UnsupportedVariant { .. }
            | Self::UnsupportedEncoding
            | Self::UnclosedComment
            | Self::UnclosedVariation
            | Self::TokenTooLong
            | Self::TagTooLong => Severity::Error,
            _ => Severity::Warning,
        }
    }

    /// Returns the name of the kind, for programs: `illegal-move`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::IllegalMove { .. } => "illegal-move",
            Self::AmbiguousMove { .. } => "ambiguous-move",
            Self::UnreadableMove { .. } => "unreadable-move",
            Self::NullMove { .. } => "null-move",
            Self::TooManyMoves => "too-many-moves",
            Self::InvalidFen { .. } => "invalid-fen",
            Self::FenRepaired { .. } => "fen-repaired",
            Self::EmptyFen => "empty-fen",
            Self::SetUpContradictsFen => "setup-contradicts-fen",
            Self::UnknownStart => "unknown-start",
            Self::UnnamedChess960 => "unnamed-chess960",
            Self::UnsupportedVariant { .. } => "unsupported-variant",
            Self::MissingOutcome => "missing-result",
            Self::OutcomeMismatch { .. } => "result-mismatch",
            Self::UnreadableOutcome { .. } => "unreadable-result",
            Self::OutcomeSpelling { .. } => "result-spelling",
            Self::StrayOutcome => "stray-result",
            Self::StrayText { .. } => "stray-text",
            Self::UnexpectedToken { .. } => "unexpected-token",
            Self::UnexpectedBracket => "unexpected-bracket",
            Self::UnopenedBracket { .. } => "unopened-bracket",
            Self::TokenTooLong => "token-too-long",
            Self::UnsupportedEncoding => "unsupported-encoding",
            Self::UnclosedComment => "unclosed-comment",
            Self::UnclosedVariation => "unclosed-variation",
            Self::CommentTooLong => "comment-too-long",
            Self::CommentsTooLong => "comments-too-long",
            Self::VariationTooDeep => "variation-too-deep",
            Self::UnclosedTag => "unclosed-tag",
            Self::UnclosedTagValue => "unclosed-tag-value",
            Self::UnescapedQuote => "unescaped-quote",
            Self::UnescapedBackslash => "unescaped-backslash",
            Self::UnquotedTagValue => "unquoted-tag-value",
            Self::DuplicateTag { .. } => "duplicate-tag",
            Self::TagNameTooLong => "tag-name-too-long",
            Self::TagValueTooLong => "tag-value-too-long",
            Self::TagTooLong => "tag-too-long",
            Self::TooManyTags => "too-many-tags",
            Self::InvalidNag => "invalid-nag",
            Self::TooManyNags => "too-many-nags",
            Self::MalformedCommand { .. } => "malformed-command",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllegalMove { text, illegal } => write!(f, "{text} is illegal: {illegal}"),
            Self::AmbiguousMove { text, candidates } => {
                write!(f, "{text} fits more than one legal move:")?;
                for candidate in candidates {
                    write!(f, " {candidate}")?;
                }
                Ok(())
            }
            Self::UnreadableMove { text, reason } => write!(f, "{text:?} is no move: {reason}"),
            Self::NullMove { text } => write!(f, "{text}: no player may pass"),
            Self::TooManyMoves => write!(f, "the game has more than {PLIES_MAX} moves"),
            Self::InvalidFen { error } => write!(f, "the FEN cannot be played from: {error}"),
            Self::FenRepaired { error } => write!(f, "the FEN was set right: {error}"),
            Self::EmptyFen => f.write_str("the FEN is empty; the usual start was taken"),
            Self::SetUpContradictsFen => {
                f.write_str("SetUp is \"0\", and there is a FEN; the FEN was taken")
            }
            Self::UnknownStart => f.write_str(
                "a game of Chess960 without a FEN does not say from which position it began",
            ),
            Self::UnnamedChess960 => f.write_str(
                "the rights to castle are those of Chess960, which no Variant tag names",
            ),
            Self::UnsupportedVariant { name } => write!(
                f,
                "the variant {name:?} is not known; standard chess and Chess960 are"
            ),
            Self::MissingOutcome => f.write_str("no result ends the game"),
            Self::OutcomeMismatch { tag, marker } => write!(
                f,
                "the result is {tag} in the tag and {marker} at the end of the moves"
            ),
            Self::UnreadableOutcome { text } => {
                write!(f, "the tag Result has {text:?}, which is no result")
            }
            Self::OutcomeSpelling { outcome } => {
                write!(f, "the result is not written as {outcome}")
            }
            Self::StrayOutcome => f.write_str("a result stands where there is no game"),
            Self::StrayText { text } => {
                write!(f, "text that belongs to no game, beginning with {text:?}")
            }
            Self::UnexpectedToken { text } => write!(f, "{text:?} has no meaning here"),
            Self::UnexpectedBracket => f.write_str("a bracket begins no tag pair"),
            Self::UnopenedBracket { found } => write!(f, "{found} closes nothing"),
            Self::TokenTooLong => write!(f, "a word has more than {TOKEN_LENGTH_MAX} bytes"),
            Self::UnsupportedEncoding => {
                f.write_str("the text is UTF-16 or UTF-32; UTF-8 and ISO 8859-1 are read")
            }
            Self::UnclosedComment => f.write_str("the comment is not closed"),
            Self::UnclosedVariation => f.write_str("the variation is not closed"),
            Self::CommentTooLong => {
                write!(f, "the comment has more than {COMMENT_LENGTH_MAX} bytes")
            }
            Self::CommentsTooLong => write!(
                f,
                "the comments of the game have more than {COMMENTS_LENGTH_MAX} bytes"
            ),
            Self::VariationTooDeep => write!(
                f,
                "variations are nested more than {VARIATION_DEPTH_MAX} deep"
            ),
            Self::UnclosedTag => f.write_str("the tag pair has no closing bracket"),
            Self::UnclosedTagValue => f.write_str("the value of the tag has no closing quote"),
            Self::UnescapedQuote => {
                f.write_str("the value of the tag has quotes in it without a backslash")
            }
            Self::UnescapedBackslash => {
                f.write_str("the value of the tag ends with a backslash that is not doubled")
            }
            Self::UnquotedTagValue => f.write_str("the value of the tag has no quotes"),
            Self::DuplicateTag { name } => write!(f, "the tag {name} is there twice"),
            Self::TagNameTooLong => write!(
                f,
                "the name of the tag has more than {TAG_NAME_LENGTH_MAX} bytes"
            ),
            Self::TagValueTooLong => write!(
                f,
                "the value of the tag has more than {TAG_VALUE_LENGTH_MAX} bytes"
            ),
            Self::TagTooLong => write!(f, "the tag pair has more than {TAG_LENGTH_MAX} bytes"),
            Self::TooManyTags => write!(f, "the game has more than {TAGS_MAX} tags"),
            Self::InvalidNag => f.write_str("the annotation glyph is none of $0 to $255"),
            Self::TooManyNags => write!(f, "a move has more than {NAGS_MAX} annotation glyphs"),
            Self::MalformedCommand { text } => write!(f, "the command {text} makes no sense"),
        }
    }
}
