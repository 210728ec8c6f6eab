//! Looking at the record of a whole game: where it was over before it went on, and whether the
//! result that it tells can be.

use core::fmt;

use referee_chess::{Color, Move, Position};

use crate::adjudicate::{end_at_start, end_on_board};
use crate::counts::CaptureCount;
use crate::history::{History, HistoryError};
use crate::mate::{CanMate, NoMate, Purpose, Question, Tier, examine};
use crate::outcome::{GameResult, Outcome};
use crate::profile::Profile;

/// What a review finds against a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The game was over, and went on.
    PlayedOn {
        /// The ply of the position in which it was over.
        ply: u32,
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

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlayedOn { ply, outcome } => {
                write!(
                    f,
                    "The game was over after ply {ply} and went on. {}",
                    outcome.text
                )
            }
            Self::ResultConflict { recorded, outcome } => write!(
                f,
                "The record tells {}, but the board tells {}. {}",
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

/// What a review tells of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The ply of the position in which the game was over, or the last one.
    pub ply: u32,
    /// How it was over by itself.
    pub outcome: Option<Outcome>,
    /// What was found against the record, in the order of the game; at most two.
    pub findings: Vec<Finding>,
}

impl Review {
    /// Reviews a game: legal moves from a position, whether the record goes on after them with what
    /// could not be played, and the result that it tells, where it tells one.
    ///
    /// The first end decides: what is played after it is not looked at.
    ///
    /// # Errors
    ///
    /// Where there are more than [`History::MOVES_MAX`] moves.
    ///
    /// ```
    /// use referee_chess::Position;
    /// use referee_laws::{Color, Finding, GameResult, Profile, Review};
    ///
    /// let mut position = Position::startpos();
    /// let mut moves = Vec::new();
    /// for san in ["f3", "e5", "g4", "Qh4#"] {
    ///     let mv = position.read_san(san)?;
    ///     position.play_unchecked(mv);
    ///     moves.push(mv);
    /// }
    /// let told = Some(GameResult::Win(Color::White));
    /// let rules = Profile::fide_standard();
    /// let review = Review::of(&Position::startpos(), &moves, false, told, &rules)?;
    /// assert!(matches!(review.findings[..], [Finding::ResultConflict { .. }]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(
        start: &Position,
        moves: &[Move],
        goes_on: bool,
        recorded: Option<GameResult>,
        profile: &Profile,
    ) -> Result<Review, HistoryError> {
        let mut history = History::new(start.clone());
        let captures = CaptureCount::at_start(start);
        let mut outcome = end_at_start(&history, captures, profile);
        for &mv in moves {
            if outcome.is_some() {
                break;
            }
            history.play(mv)?;
            outcome = end_on_board(&history, captures, profile);
        }
        let mut findings: Vec<Finding> = Vec::new();
        let ply = history.ply();
        let Some(end) = &outcome else {
            if let Some(GameResult::Win(winner)) = recorded.filter(|_| !goes_on)
                && let Some(no_mate) = cannot_mate(&history, winner, profile)
            {
                findings.push(Finding::WinnerCannotMate { no_mate });
            }
            return Ok(Review {
                ply,
                outcome,
                findings,
            });
        };
        if goes_on || (ply as usize) < moves.len() {
            findings.push(Finding::PlayedOn {
                ply,
                outcome: end.clone(),
            });
        }
        match recorded {
            None => findings.push(Finding::ResultMissing {
                outcome: end.clone(),
            }),
            Some(recorded) if end.result != recorded => findings.push(Finding::ResultConflict {
                recorded,
                outcome: end.clone(),
            }),
            Some(_) => {}
        }
        Ok(Review {
            ply,
            outcome,
            findings,
        })
    }
}

/// The quick proof that a side cannot mate, where the profile lets nobody win so.
fn cannot_mate(history: &History, winner: Color, profile: &Profile) -> Option<NoMate> {
    let parameters = &profile.parameters;
    if !parameters.resign_no_mate_draw {
        return None;
    }
    let question = Question {
        test: parameters.flag_exception,
        purpose: Purpose::Flag,
        tier: Tier::Quick,
    };
    match examine(question, history, winner, profile) {
        CanMate::No(no_mate) => Some(no_mate),
        CanMate::Yes(_) | CanMate::Unknown => None,
    }
}
