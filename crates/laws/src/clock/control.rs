//! Time controls: how much time a side has for how many moves, and with what bonus.

use core::fmt;

use super::limits::{BONUS_MS_MAX, PERIOD_MOVES_MAX, PERIOD_MS_MAX, PERIODS_MAX};

/// The extra time that comes with each move (6.3.1, 6.3.2), in milliseconds.
///
/// ```
/// use referee_laws::Bonus;
///
/// assert_eq!(Bonus::Fischer(30_000).mode(), "fischer");
/// assert_eq!(Bonus::of("delay", 5_000), Some(Bonus::Delay(5_000)));
/// assert_eq!(Bonus::of("none", 0), Some(Bonus::None));
/// assert_eq!(Bonus::of("hourglass", 0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Bonus {
    /// There is none.
    #[default]
    None,
    /// The whole bonus is put on the clock when the move is completed; it can be saved.
    Fischer(u64),
    /// The time that the move took, up to the bonus, is given back when it is completed.
    Bronstein(u64),
    /// The clock waits that long before it runs; what is left of the delay is not saved.
    Delay(u64),
}

impl Bonus {
    /// The names of the modes, in the order of the variants.
    pub const MODES: [&'static str; 4] = ["none", "fischer", "bronstein", "delay"];

    /// Returns the name of the mode, one of [`Bonus::MODES`].
    #[must_use]
    pub const fn mode(self) -> &'static str {
        match self {
            Bonus::None => "none",
            Bonus::Fischer(_) => "fischer",
            Bonus::Bronstein(_) => "bronstein",
            Bonus::Delay(_) => "delay",
        }
    }

    /// Returns the bonus for one move in milliseconds; 0 where there is none.
    #[must_use]
    pub const fn ms(self) -> u64 {
        match self {
            Bonus::None => 0,
            Bonus::Fischer(ms) | Bonus::Bronstein(ms) | Bonus::Delay(ms) => ms,
        }
    }

    /// Returns the bonus of a mode, or `None` where no mode has the name. A mode other than
    /// `none` with 0 milliseconds is [`Bonus::None`], and `none` has no use for `ms`.
    #[must_use]
    pub fn of(mode: &str, ms: u64) -> Option<Bonus> {
        match mode {
            "none" => Some(Bonus::None),
            "fischer" => Some(Bonus::Fischer(ms).reduced()),
            "bronstein" => Some(Bonus::Bronstein(ms).reduced()),
            "delay" => Some(Bonus::Delay(ms).reduced()),
            _ => None,
        }
    }

    /// Returns `None` for a bonus of 0 milliseconds, so that equal bonuses are equal values.
    pub(super) const fn reduced(self) -> Bonus {
        if self.ms() == 0 { Bonus::None } else { self }
    }
}

/// A period of a time control (6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Period {
    /// How many moves have to be made, 1 to [`PERIOD_MOVES_MAX`]; `None`: all the others.
    pub moves: Option<u32>,
    /// The time that is put on the clock for them, in milliseconds, at most [`PERIOD_MS_MAX`].
    pub time_ms: u64,
    /// What each of the moves brings.
    pub bonus: Bonus,
}

/// The time control of one side, in order.
///
/// It has 1 to [`PERIODS_MAX`] periods. All but the last say how many moves they are for; a last
/// one that says so is repeated, as `40/9000` alone in PGN.
///
/// ```
/// use referee_laws::{Bonus, Period, TimeControl};
///
/// let bonus = Bonus::Fischer(30_000);
/// let control = TimeControl::new(
///     vec![
///         Period { moves: Some(40), time_ms: 5_400_000, bonus },
///         Period { moves: None, time_ms: 1_800_000, bonus },
///     ],
///     true,
/// )?;
/// assert_eq!(control.to_pgn().as_deref(), Some("40/5400+30:1800+30"));
/// assert_eq!(control.place(39), (0, 39));
/// assert_eq!(control.place(41), (1, 1));
/// # Ok::<(), referee_laws::TimeControlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeControl {
    periods: Vec<Period>,
    increment_at_start: bool,
}

/// Why a time control cannot be played, or cannot be read. Periods are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeControlError {
    /// It has no period.
    NoPeriods,
    /// It has more than [`PERIODS_MAX`] periods.
    TooManyPeriods {
        /// How many it has; a text is not read further than one too many.
        count: usize,
    },
    /// A period before the last does not say how many moves it is for.
    EndlessPeriod {
        /// Which.
        period: usize,
    },
    /// A period is for no move or for more than [`PERIOD_MOVES_MAX`].
    MovesOutOfRange {
        /// Which.
        period: usize,
        /// How many moves it is for.
        moves: u32,
    },
    /// A period has neither time nor bonus.
    NoTime {
        /// Which.
        period: usize,
    },
    /// A period has more than [`PERIOD_MS_MAX`].
    TimeTooLong {
        /// Which.
        period: usize,
    },
    /// The bonus of a period is above [`BONUS_MS_MAX`].
    BonusTooLong {
        /// Which.
        period: usize,
    },
    /// The text is `?`: the time control is not known.
    Unknown,
    /// The text is longer than
    /// [`TIME_CONTROL_LENGTH_MAX`](super::limits::TIME_CONTROL_LENGTH_MAX).
    TextTooLong {
        /// How many bytes it has.
        length: usize,
    },
    /// A period begins with `*`: an hourglass, which the Laws do not know.
    Hourglass {
        /// Which.
        period: usize,
    },
    /// A period is not written as moves, seconds and bonus.
    Malformed {
        /// Which.
        period: usize,
        /// What cannot be read in it.
        part: PeriodPart,
    },
}

/// A part of the text of a period: `moves/seconds+bonus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeriodPart {
    /// The number of moves.
    Moves,
    /// The time in seconds.
    Seconds,
    /// The bonus in seconds.
    Bonus,
}

impl fmt::Display for PeriodPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PeriodPart::Moves => "number of moves",
            PeriodPart::Seconds => "time in seconds",
            PeriodPart::Bonus => "bonus in seconds",
        })
    }
}

impl fmt::Display for TimeControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPeriods => f.write_str("no period is given; give at least one"),
            Self::TooManyPeriods { count } => {
                write!(f, "there are {count} periods; give at most {PERIODS_MAX}")
            }
            Self::EndlessPeriod { period } => write!(
                f,
                "period {period} says nothing of its moves but others follow; say how many moves \
                 it is for, only the last can be for all the others"
            ),
            Self::MovesOutOfRange { period, moves } => write!(
                f,
                "period {period} is for {moves} moves; give 1 to {PERIOD_MOVES_MAX}"
            ),
            Self::NoTime { period } => {
                write!(
                    f,
                    "period {period} has neither time nor bonus; give one of them"
                )
            }
            Self::TimeTooLong { period } => write!(
                f,
                "the time of period {period} is too long; give at most {PERIOD_MS_MAX} ms"
            ),
            Self::BonusTooLong { period } => write!(
                f,
                "the bonus of period {period} is too long; give at most {BONUS_MS_MAX} ms"
            ),
            Self::Unknown => f.write_str(
                "the time control is `?`, unknown; give one, or `-` where there is none",
            ),
            Self::TextTooLong { length } => write!(
                f,
                "the time control has {length} bytes; give at most {}",
                super::limits::TIME_CONTROL_LENGTH_MAX
            ),
            Self::Hourglass { period } => write!(
                f,
                "period {period} is an hourglass, where time passes from one clock to the other: \
                 the Laws have none; give seconds without `*`"
            ),
            Self::Malformed { period, part } => write!(
                f,
                "the {part} of period {period} cannot be read; write periods as 40/5400+30, \
                 5400+30 or 5400, with `:` between them"
            ),
        }
    }
}

impl core::error::Error for TimeControlError {}

impl TimeControl {
    /// Returns a time control of these periods. With `increment_at_start` a Fischer bonus is put
    /// on the clock before the move that it is for, the first included.
    ///
    /// # Errors
    ///
    /// Where the periods are none or too many, where one before the last has no number of moves,
    /// or where moves, time or bonus of one are out of range.
    pub fn new(
        mut periods: Vec<Period>,
        increment_at_start: bool,
    ) -> Result<TimeControl, TimeControlError> {
        if periods.is_empty() {
            return Err(TimeControlError::NoPeriods);
        }
        let count = periods.len();
        if count > PERIODS_MAX {
            return Err(TimeControlError::TooManyPeriods { count });
        }
        for (index, period) in periods.iter_mut().enumerate() {
            period.bonus = period.bonus.reduced();
            check_period(*period, index + 1, index + 1 == count)?;
        }
        Ok(TimeControl {
            periods,
            increment_at_start,
        })
    }

    /// Returns a time control that a game was played with, whatever the limits are today; `None`
    /// where it cannot be one: no periods, more than 256, or moves of a period that never end.
    ///
    /// ```
    /// use referee_laws::{Bonus, Period, TimeControl};
    ///
    /// let year = Period { moves: None, time_ms: 31_536_000_000, bonus: Bonus::None };
    /// assert!(TimeControl::new(vec![year], false).is_err());
    /// assert!(TimeControl::recorded(vec![year], false).is_some());
    /// assert!(TimeControl::recorded(Vec::new(), false).is_none());
    /// ```
    #[must_use]
    pub fn recorded(mut periods: Vec<Period>, increment_at_start: bool) -> Option<TimeControl> {
        let (last, before) = periods.split_last()?;
        let ends = before.iter().all(|period| period.moves.is_some());
        let is_for_moves = before.iter().chain([last]).all(|it| it.moves != Some(0));
        // A clock counts its periods in 8 bits.
        if !ends || !is_for_moves || before.len() > usize::from(u8::MAX) {
            return None;
        }
        for period in &mut periods {
            period.bonus = period.bonus.reduced();
        }
        Some(TimeControl {
            periods,
            increment_at_start,
        })
    }

    /// Returns a time control for all the moves of a game: `time_ms` and a bonus.
    ///
    /// # Errors
    ///
    /// Where the time or the bonus is out of range.
    ///
    /// ```
    /// use referee_laws::{Bonus, TimeControl};
    ///
    /// let blitz = TimeControl::sudden_death(180_000, Bonus::Fischer(2_000))?;
    /// assert_eq!(Some(blitz), TimeControl::read_pgn("180+2")?);
    /// # Ok::<(), referee_laws::TimeControlError>(())
    /// ```
    pub fn sudden_death(time_ms: u64, bonus: Bonus) -> Result<TimeControl, TimeControlError> {
        let period = Period {
            moves: None,
            time_ms,
            bonus,
        };
        TimeControl::new(vec![period], false)
    }

    /// Returns the same time control with or without a Fischer bonus before the first move. PGN
    /// does not say which.
    ///
    /// ```
    /// use referee_laws::{Bonus, TimeControl};
    ///
    /// let control = TimeControl::sudden_death(300_000, Bonus::Fischer(30_000))?;
    /// assert!(!control.increment_at_start());
    /// assert!(control.with_increment_at_start(true).increment_at_start());
    /// # Ok::<(), referee_laws::TimeControlError>(())
    /// ```
    #[must_use]
    pub fn with_increment_at_start(mut self, increment_at_start: bool) -> TimeControl {
        self.increment_at_start = increment_at_start;
        self
    }

    /// Returns whether a Fischer bonus is put on the clock before the move that it is for.
    #[must_use]
    pub const fn increment_at_start(&self) -> bool {
        self.increment_at_start
    }

    /// Returns the periods in order: 1 to [`PERIODS_MAX`], or as many as were recorded.
    #[must_use]
    pub fn periods(&self) -> &[Period] {
        &self.periods
    }

    /// Returns the period with a number from 0; the last one for all numbers after it.
    #[must_use]
    pub fn period(&self, number: u8) -> Period {
        self.periods[usize::from(number).min(self.periods.len() - 1)]
    }

    /// Returns where a side is that has made so many moves: the number of the period from 0, and
    /// how many of the moves were made in it.
    #[must_use]
    pub fn place(&self, moves: u32) -> (u8, u32) {
        let last = self.periods.len() - 1;
        let mut rest = moves;
        for (number, period) in (0u8..).zip(&self.periods) {
            match period.moves {
                Some(length) if usize::from(number) == last => return (number, rest % length),
                Some(length) if rest >= length => rest -= length,
                _ => return (number, rest),
            }
        }
        (last as u8, rest)
    }

    /// Returns the same time control with another bonus in every period.
    ///
    /// # Errors
    ///
    /// Where the bonus is above [`BONUS_MS_MAX`], or a period without time would be left without
    /// a bonus.
    ///
    /// ```
    /// use referee_laws::{Bonus, TimeControl};
    ///
    /// let control = TimeControl::sudden_death(300_000, Bonus::None)?;
    /// let slower = control.with_bonus(Bonus::Fischer(5_000))?;
    /// assert_eq!(slower.to_pgn().as_deref(), Some("300+5"));
    /// # Ok::<(), referee_laws::TimeControlError>(())
    /// ```
    pub fn with_bonus(&self, bonus: Bonus) -> Result<TimeControl, TimeControlError> {
        let periods = self
            .periods
            .iter()
            .map(|&period| Period { bonus, ..period });
        TimeControl::new(periods.collect(), self.increment_at_start)
    }
}

/// Says what is wrong with a period; `number` counts from 1.
fn check_period(period: Period, number: usize, is_last: bool) -> Result<(), TimeControlError> {
    match period.moves {
        Some(moves) if moves == 0 || moves > PERIOD_MOVES_MAX => {
            return Err(TimeControlError::MovesOutOfRange {
                period: number,
                moves,
            });
        }
        None if !is_last => return Err(TimeControlError::EndlessPeriod { period: number }),
        _ => {}
    }
    if period.time_ms > PERIOD_MS_MAX {
        return Err(TimeControlError::TimeTooLong { period: number });
    }
    if period.bonus.ms() > BONUS_MS_MAX {
        return Err(TimeControlError::BonusTooLong { period: number });
    }
    if period.time_ms == 0 && period.bonus == Bonus::None {
        return Err(TimeControlError::NoTime { period: number });
    }
    Ok(())
}
