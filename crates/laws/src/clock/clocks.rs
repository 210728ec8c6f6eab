//! Both clocks of a game, and what they show.

use core::fmt;

use referee_chess::Color;

use super::control::{Bonus, TimeControl};
use super::limits::{CLOCK_MS_MAX, MOVES_MADE_MAX};
use super::time::Time;

/// One side's clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SideClock {
    /// The time control; `None` where there is none.
    pub control: Option<TimeControl>,
    /// What was left when the clock was last settled, in milliseconds, at most [`CLOCK_MS_MAX`];
    /// `None` where the side has no clock.
    pub left_ms: Option<u64>,
    /// The number of the period from 0.
    pub period: u8,
    /// The moves completed in the period.
    pub moves_in_period: u32,
    /// The moves completed in the game.
    pub moves: u32,
    /// Whether the flag is known to have fallen: it was observed, or a move took longer than
    /// what was left. It stays until the arbiter sets the clock.
    pub flag_down: bool,
}

/// Both clocks of a game, and which of them runs.
///
/// ```
/// use referee_laws::{Bonus, ClockSetup, Clocks, Color, Time, TimeControl};
///
/// let control = TimeControl::sudden_death(180_000, Bonus::Fischer(2_000))?;
/// let clocks = Clocks::new(Some(control.clone()), Some(control), ClockSetup::default())?;
/// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
/// assert_eq!(clocks.deadline(), Some(Time::from_ms(180_000)?));
///
/// let clocks = clocks.complete_move(Color::White, Time::from_ms(10_000)?).clocks;
/// assert_eq!(clocks.running, Some(Color::Black));
/// let now = Time::from_ms(15_000)?;
/// assert_eq!(clocks.left_at(Color::White, now), Some(172_000));
/// assert_eq!(clocks.left_at(Color::Black, now), Some(175_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clocks {
    /// White's clock.
    pub white: SideClock,
    /// Black's clock.
    pub black: SideClock,
    /// Whose clock runs, or will when the pause ends; `None` before the start and after the end.
    pub running: Option<Color>,
    /// When the running clock was last settled; while paused, when the pause began.
    pub since: Option<Time>,
    /// The time that the running side spent on its move before `since`, in milliseconds.
    pub spent_ms: u64,
    /// Whether both clocks stand still.
    pub paused: bool,
}

/// What was so before a game is refereed, for each side (index it by [`Color::index`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ClockSetup {
    /// What is left, in milliseconds, at most [`CLOCK_MS_MAX`]; `None`: the time of the period.
    pub left_ms: [Option<u64>; 2],
    /// The moves already completed, at most [`MOVES_MADE_MAX`].
    pub moves: [u32; 2],
}

/// Why clocks cannot be set up so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClockSetupError {
    /// More is left than [`CLOCK_MS_MAX`].
    LeftTooLong {
        /// Whose clock.
        side: Color,
        /// What was given, in milliseconds.
        left_ms: u64,
    },
    /// More moves are made than [`MOVES_MADE_MAX`].
    TooManyMoves {
        /// Who made them.
        side: Color,
        /// How many were given.
        moves: u32,
    },
}

impl fmt::Display for ClockSetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftTooLong { side, left_ms } => write!(
                f,
                "the clock of {side} cannot have {left_ms} ms left; give at most {CLOCK_MS_MAX}"
            ),
            Self::TooManyMoves { side, moves } => write!(
                f,
                "{side} cannot have made {moves} moves; give at most {MOVES_MADE_MAX}"
            ),
        }
    }
}

impl core::error::Error for ClockSetupError {}

impl ClockSetup {
    /// Checks the limits of today.
    pub(crate) fn check(&self) -> Result<(), ClockSetupError> {
        for side in [Color::White, Color::Black] {
            let left_ms = self.left_ms[side.index()];
            if let Some(left_ms) = left_ms.filter(|&ms| ms > CLOCK_MS_MAX) {
                return Err(ClockSetupError::LeftTooLong { side, left_ms });
            }
            let moves = self.moves[side.index()];
            if moves > MOVES_MADE_MAX {
                return Err(ClockSetupError::TooManyMoves { side, moves });
            }
        }
        Ok(())
    }
}

/// What the running clock comes to at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settlement {
    /// What passed since the clock was last settled.
    pub(super) elapsed_ms: u64,
    /// What of it is charged: not the delay, and no more than is left.
    pub(super) charged_ms: u64,
    /// Whether it took longer than there was.
    pub(super) is_over: bool,
}

impl SideClock {
    fn new(control: Option<TimeControl>, left_ms: Option<u64>, moves: u32) -> SideClock {
        let (period, moves_in_period) = control.as_ref().map_or((0, moves), |it| it.place(moves));
        let put_on = control
            .as_ref()
            .map(|control| control.period(period).time_ms);
        SideClock {
            control,
            left_ms: left_ms.or(put_on),
            period,
            moves_in_period,
            moves,
            flag_down: false,
        }
    }

    /// Returns the bonus of the move that the side has to make; [`Bonus::None`] without a time
    /// control.
    ///
    /// ```
    /// use referee_laws::{Bonus, ClockSetup, Clocks, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("180+2")?;
    /// let clocks = Clocks::new(control, None, ClockSetup::default())?;
    /// assert_eq!(clocks.white.bonus(), Bonus::Fischer(2_000));
    /// assert_eq!(clocks.black.bonus(), Bonus::None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bonus(&self) -> Bonus {
        self.control
            .as_ref()
            .map_or(Bonus::None, |control| control.period(self.period).bonus)
    }
}

impl SideClock {
    /// Returns whether the side plays its last period, or has no time control.
    #[must_use]
    pub fn is_in_last_period(&self) -> bool {
        let periods = self.control.as_ref().map_or(1, |it| it.periods().len());
        usize::from(self.period) + 1 >= periods
    }
}

impl Clocks {
    /// Returns the clocks of a game that has not begun; no clock runs. Each side has the time of
    /// its period, or what the setup says. A side without a time control and without a setup has
    /// no clock.
    ///
    /// # Errors
    ///
    /// Where the setup gives a side too much time or too many moves.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("40/5400:1800")?;
    /// let setup = ClockSetup { left_ms: [Some(60_000), None], moves: [39, 39] };
    /// let clocks = Clocks::new(control.clone(), control, setup)?;
    /// let started = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let change = started.complete_move(Color::White, Time::from_ms(59_000)?);
    /// assert_eq!(change.clocks.white.left_ms, Some(1_801_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        white: Option<TimeControl>,
        black: Option<TimeControl>,
        setup: ClockSetup,
    ) -> Result<Clocks, ClockSetupError> {
        setup.check()?;
        Ok(Clocks::recorded(white, black, setup))
    }

    /// Returns the clocks of a game that began with them before, whatever the limits are today.
    #[must_use]
    pub fn recorded(
        white: Option<TimeControl>,
        black: Option<TimeControl>,
        setup: ClockSetup,
    ) -> Clocks {
        let [white_left, black_left] = setup.left_ms;
        let [white_moves, black_moves] = setup.moves;
        Clocks {
            white: SideClock::new(white, white_left, white_moves),
            black: SideClock::new(black, black_left, black_moves),
            running: None,
            since: None,
            spent_ms: 0,
            paused: false,
        }
    }

    /// Returns the clock of a side.
    #[must_use]
    pub const fn side(&self, side: Color) -> &SideClock {
        match side {
            Color::White => &self.white,
            Color::Black => &self.black,
        }
    }

    pub(super) const fn side_mut(&mut self, side: Color) -> &mut SideClock {
        match side {
            Color::White => &mut self.white,
            Color::Black => &mut self.black,
        }
    }

    /// Returns what a side has left at a time, in milliseconds; `None` where it has no clock.
    /// Before the clocks were last settled it is what was left then.
    #[must_use]
    pub fn left_at(&self, side: Color, now: Time) -> Option<u64> {
        let left_ms = self.side(side).left_ms?;
        let charged_ms = self.settlement(side, now).map_or(0, |it| it.charged_ms);
        Some(left_ms - charged_ms)
    }

    /// Returns when the flag of the running side falls: the last instant at which a move is in
    /// time, what is left of its delay included. `None` where no clock runs, where the side has
    /// none, or where that is after the end of the time line.
    ///
    /// ```
    /// use referee_laws::{Bonus, ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::sudden_death(60_000, Bonus::Delay(5_000))?;
    /// let clocks = Clocks::new(Some(control.clone()), Some(control), ClockSetup::default())?;
    /// assert_eq!(clocks.deadline(), None);
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let deadline = clocks.deadline().expect("White's clock runs");
    /// assert_eq!(deadline, Time::from_ms(65_000)?);
    /// assert!(!clocks.is_flag_down(Color::White, deadline));
    /// assert!(clocks.is_flag_down(Color::White, Time::from_ms(65_001)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if self.paused {
            return None;
        }
        let left_ms = self.side(self.running?).left_ms?;
        self.since?
            .checked_add_ms(left_ms.saturating_add(self.delay_left_ms()))
    }

    /// Returns whether a side's flag is down at a time: it is known to have fallen, or the side's
    /// clock runs and its deadline has passed. A flag at its deadline is not down.
    #[must_use]
    pub fn is_flag_down(&self, side: Color, now: Time) -> bool {
        self.side(side).flag_down || self.settlement(side, now).is_some_and(|it| it.is_over)
    }

    /// Returns the moves that a side has still to make in its period; `None` where there is no
    /// such number. Only the arbiter may be told (12.6).
    #[must_use]
    pub fn moves_to_go(&self, side: Color) -> Option<u32> {
        let clock = self.side(side);
        let moves = clock.control.as_ref()?.period(clock.period).moves?;
        Some(moves.saturating_sub(clock.moves_in_period))
    }

    /// Returns what the running side has left of the delay for its move, in milliseconds.
    fn delay_left_ms(&self) -> u64 {
        match self.running.map(|side| self.side(side).bonus()) {
            Some(Bonus::Delay(ms)) => ms.saturating_sub(self.spent_ms),
            _ => 0,
        }
    }

    /// Returns what a side's clock comes to at a time, or `None` where it stands still.
    pub(super) fn settlement(&self, side: Color, now: Time) -> Option<Settlement> {
        if self.running != Some(side) || self.paused {
            return None;
        }
        let elapsed_ms = now.since(self.since?);
        let due_ms = elapsed_ms.saturating_sub(self.delay_left_ms());
        let left_ms = self.side(side).left_ms.unwrap_or(u64::MAX);
        Some(Settlement {
            elapsed_ms,
            charged_ms: due_ms.min(left_ms),
            is_over: due_ms > left_ms,
        })
    }
}
