//! What can speak against the record of a game, as data and in words.

use core::fmt;

use referee_laws::{GameResult, NoMate, Outcome};
use referee_pgn::{Fault, FaultKind, Outcome as Written, Place};

/// Something that speaks against the record of a game.
///
/// [`Display`](fmt::Display) writes a sentence that an arbiter could read out, and
/// [`brief`](Self::brief) a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A move is not legal, so that the rest could not be played. A null move is one, since no
    /// player may pass (1.3).
    IllegalMove {
        /// The half-moves before it.
        ply: u32,
        /// Where it stands, and why it is not legal.
        fault: Fault,
    },
    /// The text cannot be read as a game, or not to its end.
    Unreadable {
        /// Where, and why.
        fault: Fault,
    },
    /// The record tells one result in its tags and another behind the moves.
    ResultsDiffer {
        /// The result of the tags, which is taken.
        tag: Written,
        /// The result behind the moves.
        marker: Written,
        /// Where the second stands.
        place: Place,
    },
    /// The game was over, and went on.
    PlayedOn {
        /// The ply of the position in which it was over.
        ply: u32,
        /// The half-moves of the record after that position, those that could not be played
        /// included; at least 1.
        beyond: u64,
        /// How it was over.
        outcome: Outcome,
    },
    /// The board tells another result than the record.
    ResultConflict {
        /// What the record tells.
        recorded: GameResult,
        /// What the board tells.
        outcome: Outcome,
    },
    /// The record tells that a side has won that could not mate any more, so that neither a flag
    /// nor a resignation nor an illegal move can have won the game (5.1.2, 6.9, 7.5.5).
    WinnerCannotMate {
        /// The proof.
        no_mate: NoMate,
    },
    /// The game ended on the board, and the record tells no result.
    ResultMissing {
        /// What the board tells.
        outcome: Outcome,
    },
}

impl Finding {
    /// Returns the name of the kind, for programs: `illegal-move`. A text that cannot be read has
    /// the name of its [fault](FaultKind::name).
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::IllegalMove { .. } => "illegal-move",
            Self::Unreadable { fault } => fault.kind.name(),
            Self::ResultsDiffer { .. } => "result-mismatch",
            Self::PlayedOn { .. } => "over-before",
            Self::ResultConflict { .. } => "result-contradicts-board",
            Self::WinnerCannotMate { .. } => "winner-cannot-mate",
            Self::ResultMissing { .. } => "result-missing",
        }
    }

    /// Returns the article of the FIDE Laws that the finding rests on, where there is one.
    ///
    /// ```
    /// use referee_laws::Profile;
    /// use referee_review::{Verdict, read_one};
    ///
    /// let reading = read_one(b"1. e4 e5 2. Ke3 *")?;
    /// let verdict = Verdict::of(&reading, &Profile::fide_standard());
    /// assert_eq!(verdict.findings[0].article(), Some("3.8.1"));
    /// # Ok::<(), referee_review::ReadOneError>(())
    /// ```
    #[must_use]
    pub fn article(&self) -> Option<&str> {
        match self {
            Self::IllegalMove { fault, .. } => match &fault.kind {
                FaultKind::IllegalMove { illegal, .. } => Some(illegal.article()),
                _ => Some("1.3"),
            },
            Self::Unreadable { .. } | Self::ResultsDiffer { .. } => None,
            Self::PlayedOn { outcome, .. }
            | Self::ResultConflict { outcome, .. }
            | Self::ResultMissing { outcome } => deciding_article(outcome),
            Self::WinnerCannotMate { .. } => Some("6.9"),
        }
    }

    /// Returns where in the text it is, where it is in one place.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::IllegalMove { fault, .. } | Self::Unreadable { fault } => Some(fault.place),
            Self::ResultsDiffer { place, .. } => Some(*place),
            Self::PlayedOn { .. }
            | Self::ResultConflict { .. }
            | Self::WinnerCannotMate { .. }
            | Self::ResultMissing { .. } => None,
        }
    }

    /// Returns whether the game cannot be played again as the record tells it: a move is missing,
    /// illegal or played after the end, or the result is not that of the board.
    #[must_use]
    pub const fn bars_replay(&self) -> bool {
        match self {
            Self::IllegalMove { .. }
            | Self::Unreadable { .. }
            | Self::PlayedOn { .. }
            | Self::ResultConflict { .. } => true,
            // A result can be signed whatever the board, and what is missing is found again.
            Self::WinnerCannotMate { .. }
            | Self::ResultMissing { .. }
            | Self::ResultsDiffer { .. } => false,
        }
    }

    /// Returns the finding in the words that fit a line among others, with its place and article.
    #[must_use]
    pub const fn brief(&self) -> Brief<'_> {
        Brief(self)
    }
}

fn deciding_article(outcome: &Outcome) -> Option<&str> {
    let first = outcome.citations.first()?;
    Some(&first.article)
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllegalMove { fault, .. } | Self::Unreadable { fault } => {
                write!(f, "{}.", fault.kind)
            }
            Self::ResultsDiffer { tag, marker, .. } => write!(
                f,
                "The record tells {tag} in its tags and {marker} behind the moves."
            ),
            Self::PlayedOn { ply, outcome, .. } => write!(
                f,
                "The game was over after ply {ply} and went on. {}",
                outcome.text
            ),
            Self::ResultConflict { recorded, outcome } => write!(
                f,
                "The record tells {}, and the board another result, {}. {}",
                recorded.score(),
                outcome.result.score(),
                outcome.text
            ),
            Self::WinnerCannotMate { no_mate } => write!(
                f,
                "The record tells that {} has won, who could not mate any more, so neither a flag \
                 nor a resignation can have won the game. {}",
                no_mate.side, no_mate.text
            ),
            Self::ResultMissing { outcome } => write!(
                f,
                "The record tells no result, but the board tells {}. {}",
                outcome.result.score(),
                outcome.text
            ),
        }
    }
}

/// A finding in the words that fit a line among others.
#[derive(Clone, Copy, Debug)]
pub struct Brief<'a>(&'a Finding);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let article = self.0.article().unwrap_or("no article");
        match self.0 {
            Finding::IllegalMove { ply, fault } => {
                write!(f, "illegal at ply {}: {fault}", u64::from(*ply) + 1)
            }
            Finding::Unreadable { fault } => fault.fmt(f),
            Finding::ResultsDiffer { tag, marker, place } => {
                write!(
                    f,
                    "{place}: the tag says {tag}, the end of the moves {marker}"
                )
            }
            Finding::PlayedOn {
                ply,
                beyond,
                outcome,
            } => write!(
                f,
                "over at ply {ply}, {beyond} moves before the end of the record: {} ({article})",
                outcome.text
            ),
            Finding::ResultConflict { recorded, outcome } => write!(
                f,
                "the record says {}, the board {}: {} ({article})",
                recorded.score(),
                outcome.result.score(),
                outcome.text
            ),
            Finding::WinnerCannotMate { no_mate } => write!(
                f,
                "the record says that {} won, which neither flag nor resignation can bring about \
                 (6.9, 5.1.2): {}",
                no_mate.side, no_mate.text
            ),
            Finding::ResultMissing { outcome } => write!(
                f,
                "the record says no result, the board {}: {} ({article})",
                outcome.result.score(),
                outcome.text
            ),
        }
    }
}
