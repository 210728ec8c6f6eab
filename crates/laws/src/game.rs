//! A game as the fold of its record: applying entries, never judging them.

use core::fmt;

use referee_chess::{CastlingMode, Color, Move, MoveError, Position, Square, UciMove};

use crate::action::Action;
use crate::adjudicate::{Adjudication, end_by_draw, end_on_board};
use crate::history::{History, HistoryError};
use crate::outcome::Outcome;
use crate::profile::{Profile, Variant};
use crate::ruling::Ruling;

/// Where a game begins: a position, and moves that are already on the board.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The position before the first move.
    pub base: Position,
    /// The moves played from there, in UCI or SAN.
    pub moves: Vec<String>,
}

/// Why a game cannot begin as it was described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameError {
    /// A move is not legal.
    IllegalMove {
        /// The number of moves before it.
        ply: u32,
        /// Why it is not.
        error: MoveError,
    },
    /// A move comes after the game has ended.
    MoveAfterEnd {
        /// The number of moves before it.
        ply: u32,
        /// How the game had ended.
        outcome: Box<Outcome>,
    },
    /// There are too many moves.
    TooManyMoves(HistoryError),
}

impl fmt::Display for GameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllegalMove { ply, error } => write!(f, "move {}: {error}", ply + 1),
            Self::MoveAfterEnd { ply, outcome } => {
                write!(
                    f,
                    "move {} comes after the end of the game: {}",
                    ply + 1,
                    outcome.text
                )
            }
            Self::TooManyMoves(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for GameError {}

/// What binds the side to move after a claim with an announced move was not correct (9.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// The announced move must be played.
    Move(UciMove),
    /// The announced move was illegal; another move with that piece must be played.
    Piece(Square),
}

/// All that an entry does to its game.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Effects {
    /// The move that was put on the board.
    pub played: Option<UciMove>,
    /// Who has offered a draw that stands after the entry.
    pub draw_offer: Option<Color>,
    /// What binds the side to move after the entry.
    pub bound: Option<Bound>,
    /// The end of the game, where the entry brings it.
    pub outcome: Option<Outcome>,
}

/// One entry of a record: an action with its ruling and all its effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was wanted.
    pub action: Action,
    /// What the referee said.
    pub ruling: Ruling,
    /// What came of it.
    pub effects: Effects,
}

/// An entry does not fit the game that it is applied to: the record is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// The move cannot be made in the position.
    Move(MoveError),
    /// The game cannot take another move.
    Full(HistoryError),
    /// The game is over.
    Over,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Move(error) => write!(f, "the recorded move does not fit the game: {error}"),
            Self::Full(error) => error.fmt(f),
            Self::Over => f.write_str("the record goes on after the end of the game"),
        }
    }
}

impl core::error::Error for ApplyError {}

/// A game as it stands.
#[derive(Clone, Debug)]
pub struct Game {
    profile: Profile,
    history: History,
    draw_offer: Option<Color>,
    bound: Option<Bound>,
    outcome: Option<Outcome>,
}

impl Game {
    /// Begins a game. Where the game is over in the position that it begins in, it begins as
    /// finished.
    ///
    /// # Errors
    ///
    /// Where a move is not legal or comes after the end of the game.
    pub fn new(profile: Profile, start: &Start) -> Result<Game, GameError> {
        let mut history = History::new(start.base.clone());
        for (ply, text) in (0..).zip(&start.moves) {
            let mv = history
                .read(text)
                .map_err(|error| end_or_error(&history, ply, error))?;
            if let Some(outcome) = end_by_draw(&history, &profile) {
                return Err(GameError::MoveAfterEnd {
                    ply,
                    outcome: Box::new(outcome),
                });
            }
            history.play(mv).map_err(GameError::TooManyMoves)?;
        }
        let outcome = end_on_board(&history, &profile);
        Ok(Game {
            profile,
            history,
            draw_offer: None,
            bound: None,
            outcome,
        })
    }

    /// Returns the rules of the game.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the position and how it came about.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the position on the board.
    #[must_use]
    pub fn position(&self) -> &Position {
        self.history.position()
    }

    /// Returns who has offered a draw that still stands (9.1.2.1).
    #[must_use]
    pub fn draw_offer(&self) -> Option<Color> {
        self.draw_offer
    }

    /// Returns what binds the side to move (9.5.3).
    #[must_use]
    pub fn bound(&self) -> Option<Bound> {
        self.bound
    }

    /// Returns how the game ended, or `None` while it goes on.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Returns what the position on the board means for the game.
    #[must_use]
    pub fn adjudication(&self) -> Adjudication {
        Adjudication::of(&self.history, &self.profile)
    }

    /// Begins a game as it was recorded: whether it is over there is not judged again.
    ///
    /// # Errors
    ///
    /// Where a move is not legal.
    pub fn restore(
        profile: Profile,
        start: &Start,
        outcome: Option<Outcome>,
    ) -> Result<Game, GameError> {
        let mut history = History::new(start.base.clone());
        for (ply, text) in (0..).zip(&start.moves) {
            let mv = history
                .read(text)
                .map_err(|error| GameError::IllegalMove { ply, error })?;
            history.play(mv).map_err(GameError::TooManyMoves)?;
        }
        Ok(Game {
            profile,
            history,
            draw_offer: None,
            bound: None,
            outcome,
        })
    }

    /// Returns the game after a move that is legal in it, judged as if the players had nothing
    /// else to say: offers and bounds are not carried over.
    ///
    /// # Errors
    ///
    /// Where the game cannot take another move.
    pub fn after(&self, mv: Move) -> Result<Game, HistoryError> {
        let mut history = self.history.clone();
        history.play(mv)?;
        let outcome = end_on_board(&history, &self.profile);
        let profile = self.profile.clone();
        Ok(Game {
            profile,
            history,
            draw_offer: None,
            bound: None,
            outcome,
        })
    }

    /// Does what was ruled. Nothing is judged again, so effects that an older referee ruled are
    /// what they were then.
    ///
    /// # Errors
    ///
    /// Where the effects do not fit the game; the game stays as it is.
    pub fn apply(&mut self, effects: &Effects) -> Result<(), ApplyError> {
        if self.outcome.is_some() {
            return Err(ApplyError::Over);
        }
        if let Some(played) = effects.played {
            let mv = self
                .position()
                .resolve_uci(played)
                .map_err(ApplyError::Move)?;
            self.history.play(mv).map_err(ApplyError::Full)?;
        }
        self.draw_offer = effects.draw_offer;
        self.bound = effects.bound;
        self.outcome.clone_from(&effects.outcome);
        Ok(())
    }
}

/// A text that is no legal move after mate or stalemate is a move after the end.
fn end_or_error(history: &History, ply: u32, error: MoveError) -> GameError {
    if history.position().has_legal_moves() {
        return GameError::IllegalMove { ply, error };
    }
    match end_on_board(history, &Profile::fide_standard()) {
        Some(outcome) => GameError::MoveAfterEnd {
            ply,
            outcome: Box::new(outcome),
        },
        None => GameError::IllegalMove { ply, error },
    }
}

impl Variant {
    /// Returns the castling rules of the variant.
    #[must_use]
    pub const fn castling_mode(self) -> CastlingMode {
        match self {
            Variant::Standard => CastlingMode::Standard,
            Variant::Chess960 => CastlingMode::Chess960,
        }
    }
}
