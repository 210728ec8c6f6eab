//! A game as the fold of its record: applying entries, never judging them.

use core::fmt;

use referee_chess::{CastlingMode, Move, MoveError, Position, UciMove};

use crate::action::Action;
use crate::adjudicate::{Adjudication, end_at_start, end_by_draw, end_on_board};
use crate::clock::{ClockSetup, ClockSetupError, Clocks, Keeper, LedgerLine, Time, TimeControl};
use crate::conduct::{Conduct, Sides};
use crate::counts::CaptureCount;
use crate::history::{History, HistoryError, StandError};
use crate::outcome::Outcome;
use crate::profile::{Profile, Variant};
use crate::ruling::Ruling;

/// Where a game begins: a position, moves that are already on the board, and what else has
/// happened where the game is taken over from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The position before the first move.
    pub base: Position,
    /// The moves played from there, in UCI or SAN.
    pub moves: Vec<String>,
    /// How the time is kept.
    pub timing: Timing,
    /// The illegal moves that count.
    pub illegal_moves: Sides<u32>,
    /// The half-moves since the last capture.
    pub plies_without_capture: Option<u32>,
}

impl Start {
    /// Checks the limits of today.
    fn check(&self) -> Result<(), GameError> {
        let limit = History::MOVES_MAX;
        if self.moves.len() > limit {
            return Err(GameError::TooManyMoves(HistoryError { limit }));
        }
        self.timing.setup.check().map_err(GameError::Clock)
    }
}

/// How the time of a game is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Who keeps it.
    pub keeper: Keeper,
    /// The time of White; `None` where White is untimed.
    pub white: Option<TimeControl>,
    /// The time of Black.
    pub black: Option<TimeControl>,
    /// What is left of it, and the moves that are made.
    pub setup: ClockSetup,
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
    /// The clocks cannot be set up so.
    Clock(ClockSetupError),
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
            Self::Clock(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for GameError {}

/// All that an entry does to its game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// The ply whose position was put back, before anything was played.
    pub reinstated: Option<u32>,
    /// The move that was put on the board.
    pub played: Option<UciMove>,
    /// Whether that move is illegal and stands, since nobody noticed it.
    pub is_illegal: bool,
    /// What stands after the entry besides the position.
    pub conduct: Conduct,
    /// Every change of a clock.
    pub ledger: Vec<LedgerLine>,
    /// The outcome after the entry; `None` while the game goes on.
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
    /// The illegal move cannot stand in it.
    Stand(StandError),
    /// The ply to be put back is ahead of the game.
    Ply(u32),
    /// The game cannot take another move.
    Full(HistoryError),
    /// The game is over.
    Over,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Move(error) => write!(f, "the recorded move does not fit the game: {error}"),
            Self::Stand(error) => error.fmt(f),
            Self::Ply(ply) => write!(f, "the record puts back ply {ply}, which was not reached"),
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
    keeper: Keeper,
    history: History,
    conduct: Conduct,
    outcome: Option<Outcome>,
}

impl Game {
    /// Begins a game. Where the game is over in the position that it begins in, it begins as
    /// finished; only a position in which neither side can mate has to arise by a move (5.2.2).
    ///
    /// # Errors
    ///
    /// Where a move is not legal or comes after the end of the game, or the clocks cannot be set
    /// up.
    pub fn new(profile: Profile, start: &Start) -> Result<Game, GameError> {
        Game::play_through(profile, start, true)
    }

    /// Begins a game to ask about its last position: its moves are those of the pieces alone, so
    /// that it may have gone on after a draw that needs no claim.
    ///
    /// ```
    /// use referee_laws::{Game, Profile, Start, Termination};
    ///
    /// // The fifth occurrence of the starting position, and two moves more.
    /// let text = "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8 e4 e5";
    /// let moves = text.split(' ').map(str::to_owned).collect();
    /// let start = Start { moves, ..Start::default() };
    /// assert!(Game::new(Profile::fide_standard(), &start).is_err());
    /// let game = Game::of_moves(Profile::fide_standard(), &start)?;
    /// assert!(game.outcome().is_none());
    /// # Ok::<(), referee_laws::GameError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where a move is not legal, as none is after mate and stalemate, or the clocks cannot be set
    /// up.
    pub fn of_moves(profile: Profile, start: &Start) -> Result<Game, GameError> {
        Game::play_through(profile, start, false)
    }

    /// Begins a game that was created before, judged like a new one: only the limits of today do
    /// not count.
    ///
    /// # Errors
    ///
    /// Where a move is not legal or comes after the end of the game.
    pub fn again(profile: Profile, start: &Start) -> Result<Game, GameError> {
        Game::play_recorded(profile, start, true)
    }

    fn play_through(profile: Profile, start: &Start, draws_end: bool) -> Result<Game, GameError> {
        start.check()?;
        Game::play_recorded(profile, start, draws_end)
    }

    fn play_recorded(profile: Profile, start: &Start, draws_end: bool) -> Result<Game, GameError> {
        let conduct = begin_conduct(start);
        let mut history = History::new(start.base.clone());
        for (ply, text) in (0..).zip(&start.moves) {
            let mv = history
                .read(text)
                .map_err(|error| end_or_error(&history, ply, error))?;
            if draws_end
                && let Some(outcome) = end_by_draw(&history, conduct.capture_count, &profile)
            {
                return Err(GameError::MoveAfterEnd {
                    ply,
                    outcome: Box::new(outcome),
                });
            }
            history.play_recorded(mv).map_err(GameError::TooManyMoves)?;
        }
        let mut game = Game {
            profile,
            keeper: start.timing.keeper,
            history,
            conduct,
            outcome: None,
        };
        game.set_capture_count(start);
        game.outcome = end_at_start(&game.history, game.conduct.capture_count, &game.profile);
        Ok(game)
    }

    /// Begins a game as it was recorded: whether it is over there is not judged again, and the
    /// limits of today do not count.
    ///
    /// # Errors
    ///
    /// Where a move is not legal.
    pub fn restore(
        profile: Profile,
        start: &Start,
        outcome: Option<Outcome>,
    ) -> Result<Game, GameError> {
        let conduct = begin_conduct(start);
        let mut history = History::new(start.base.clone());
        for (ply, text) in (0..).zip(&start.moves) {
            let mv = history
                .read(text)
                .map_err(|error| GameError::IllegalMove { ply, error })?;
            history.play_recorded(mv).map_err(GameError::TooManyMoves)?;
        }
        let mut game = Game {
            profile,
            keeper: start.timing.keeper,
            history,
            conduct,
            outcome,
        };
        game.set_capture_count(start);
        Ok(game)
    }

    /// The count that a game is taken over with is that of the position after its moves.
    fn set_capture_count(&mut self, start: &Start) {
        if let Some(count) = start.plies_without_capture {
            self.conduct.capture_count = CaptureCount {
                ply: self.history.ply(),
                count,
            };
        }
    }

    /// Returns the rules of the game.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns who keeps the time.
    #[must_use]
    pub fn keeper(&self) -> Keeper {
        self.keeper
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

    /// Returns what stands besides the position.
    #[must_use]
    pub fn conduct(&self) -> &Conduct {
        &self.conduct
    }

    /// Returns how the game ended, or `None` while it goes on.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Returns what the position on the board means for the game.
    #[must_use]
    pub fn adjudication(&self) -> Adjudication {
        Adjudication::of(&self.history, self.conduct.capture_count, &self.profile)
    }

    /// Returns the end that the position on the board and its history mean by themselves, whether
    /// or not the game has ended by it: a game can be set up in a dead position, which ends a game
    /// only where it has arisen (5.2.2).
    #[must_use]
    pub fn end_on_board(&self) -> Option<Outcome> {
        end_on_board(&self.history, self.conduct.capture_count, &self.profile)
    }

    /// Returns the half-moves since the last capture, as profiles count them in which a pawn move
    /// does not reset the fifty moves.
    #[must_use]
    pub fn plies_without_capture(&self) -> u32 {
        self.conduct.capture_count.now(&self.history)
    }

    /// Returns the latest moment that an action can happen at, on the time line of the game: one
    /// that comes with an earlier time happens then.
    #[must_use]
    pub fn time(&self) -> Time {
        self.conduct.time
    }

    /// Returns the game after a move that is legal in it, judged as if the players had nothing
    /// else to say: what stood besides the position is not carried over.
    ///
    /// # Errors
    ///
    /// Where the game cannot take another move.
    pub fn after(&self, mv: Move) -> Result<Game, HistoryError> {
        let mut history = self.history.clone();
        history.play(mv)?;
        let capture_count = self.conduct.capture_count;
        let outcome = end_on_board(&history, capture_count, &self.profile);
        let mut conduct = Conduct::new(self.conduct.clocks.clone());
        conduct.capture_count = capture_count;
        Ok(Game {
            profile: self.profile.clone(),
            keeper: self.keeper,
            history,
            conduct,
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
        if self.outcome.is_some() && effects.outcome.is_none() {
            return Err(ApplyError::Over);
        }
        if let Some(ply) = effects.reinstated {
            if ply > self.history.ply() {
                return Err(ApplyError::Ply(ply));
            }
            if effects.played.is_some() {
                // What follows can fail, and then the game must stay as it is.
                let mut history = self.history.clone();
                history.reinstate(ply);
                put_on_board(&mut history, effects)?;
                self.history = history;
            } else {
                self.history.reinstate(ply);
            }
        } else {
            put_on_board(&mut self.history, effects)?;
        }
        self.conduct.clone_from(&effects.conduct);
        self.outcome.clone_from(&effects.outcome);
        Ok(())
    }
}

fn put_on_board(history: &mut History, effects: &Effects) -> Result<(), ApplyError> {
    let Some(played) = effects.played else {
        return Ok(());
    };
    if effects.is_illegal {
        return history.stand_recorded(played).map_err(ApplyError::Stand);
    }
    let mv = history
        .position()
        .resolve_uci(played)
        .map_err(ApplyError::Move)?;
    history.play_recorded(mv).map_err(ApplyError::Full)
}

fn begin_conduct(start: &Start) -> Conduct {
    let timing = &start.timing;
    let clocks = Clocks::recorded(timing.white.clone(), timing.black.clone(), timing.setup);
    Conduct {
        illegal_moves: start.illegal_moves,
        capture_count: CaptureCount::at_start(&start.base),
        ..Conduct::new(clocks)
    }
}

/// A text that is no legal move after mate or stalemate is a move after the end.
fn end_or_error(history: &History, ply: u32, error: MoveError) -> GameError {
    if history.position().has_legal_moves() {
        return GameError::IllegalMove { ply, error };
    }
    match end_on_board(history, CaptureCount::default(), &Profile::fide_standard()) {
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
