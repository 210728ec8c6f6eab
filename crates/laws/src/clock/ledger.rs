//! The ledger: one line for every cause of a change of a clock, and the check that it adds up.

use core::fmt;

use referee_chess::Color;

use super::clocks::Clocks;
use super::limits::CLOCK_MS_MAX;
use super::time::Time;

/// Why a clock changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LedgerCause {
    /// The game began (6.6): what is put on for the first move, before it.
    Start,
    /// A move was completed (6.2.1): the time that it took.
    Move,
    /// The bonus of a move, Fischer or Bronstein (6.3.1).
    Increment,
    /// The moves of a period are made: the time of the next one (6.3.1).
    NextPeriod,
    /// The clocks were paused (6.11): the time until then.
    Pause,
    /// The clocks run again. Elapsed is how long they stood; it is not charged.
    Resume,
    /// A penalty: time taken from who committed the offence, or given to the opponent (7.5.5,
    /// 9.5.3, 12.9).
    Penalty,
    /// Time given without an offence, as after a disturbance (12.5).
    Grant,
    /// The arbiter set what is left (6.10).
    ArbiterSet,
    /// The arbiter set how many moves are made (6.10); the time is as it was.
    MoveCount,
    /// The flag fell, or was found to have fallen (6.8): what was left is gone.
    Flag,
    /// A player arrived late (6.7): the time until then.
    LateArrival,
    /// A position was reinstated (7.5.1) or the other clock put to run: the time until then.
    Reinstated,
    /// The bonus of a press that completed an illegal move is taken back (7.5.1).
    TakenBack,
    /// The referee was down: of the elapsed time only what was before is charged.
    DownTime,
    /// Another bonus holds from now on (guideline III.4): the time until then.
    BonusChanged,
    /// The game is over: the time until then.
    End,
}

impl LedgerCause {
    /// All causes.
    pub const ALL: [LedgerCause; 17] = [
        LedgerCause::Start,
        LedgerCause::Move,
        LedgerCause::Increment,
        LedgerCause::NextPeriod,
        LedgerCause::Pause,
        LedgerCause::Resume,
        LedgerCause::Penalty,
        LedgerCause::Grant,
        LedgerCause::ArbiterSet,
        LedgerCause::MoveCount,
        LedgerCause::Flag,
        LedgerCause::LateArrival,
        LedgerCause::Reinstated,
        LedgerCause::TakenBack,
        LedgerCause::DownTime,
        LedgerCause::BonusChanged,
        LedgerCause::End,
    ];

    /// Returns the name, in lower case with underscores.
    ///
    /// ```
    /// use referee_laws::LedgerCause;
    ///
    /// assert_eq!(LedgerCause::NextPeriod.name(), "next_period");
    /// assert_eq!(LedgerCause::named("next_period"), Some(LedgerCause::NextPeriod));
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LedgerCause::Start => "start",
            LedgerCause::Move => "move",
            LedgerCause::Increment => "increment",
            LedgerCause::NextPeriod => "next_period",
            LedgerCause::Pause => "pause",
            LedgerCause::Resume => "resume",
            LedgerCause::Penalty => "penalty",
            LedgerCause::Grant => "grant",
            LedgerCause::ArbiterSet => "arbiter_set",
            LedgerCause::MoveCount => "move_count",
            LedgerCause::Flag => "flag",
            LedgerCause::LateArrival => "late_arrival",
            LedgerCause::Reinstated => "reinstated",
            LedgerCause::TakenBack => "taken_back",
            LedgerCause::DownTime => "down_time",
            LedgerCause::BonusChanged => "bonus_changed",
            LedgerCause::End => "end",
        }
    }

    /// Returns the cause with a name, or `None` where none has it.
    #[must_use]
    pub fn named(name: &str) -> Option<LedgerCause> {
        LedgerCause::ALL
            .into_iter()
            .find(|cause| cause.name() == name)
    }
}

/// A change of one side's clock, with its cause.
///
/// What is left afterwards is always what was left before, less what was charged, plus what was
/// credited. On a side without a clock the line says what would have been charged and credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LedgerLine {
    /// Whose clock.
    pub side: Color,
    /// Why.
    pub cause: LedgerCause,
    /// When that happened.
    pub received: Time,
    /// The time that passed since the running clock was last settled, in milliseconds; 0 where
    /// the clock did not run. For [`LedgerCause::Resume`], how long the clocks stood.
    pub elapsed_ms: u64,
    /// What was taken off, in milliseconds, at most what was left.
    pub charged_ms: u64,
    /// What was put on, in milliseconds.
    pub credited_ms: u64,
    /// What is left afterwards, in milliseconds, at most [`CLOCK_MS_MAX`]; `None` on a side
    /// without a clock.
    pub left_ms: Option<u64>,
}

/// What an operation on clocks gives: the clocks afterwards, and why they changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct ClockChange {
    /// The clocks afterwards.
    pub clocks: Clocks,
    /// One line for each cause, in order.
    pub lines: Vec<LedgerLine>,
}

/// How a ledger fails to add up. Lines are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerError {
    /// More was charged than was left.
    Overcharged {
        /// The line.
        line: usize,
    },
    /// More was charged for time than passed.
    ChargedBeyondElapsed {
        /// The line.
        line: usize,
    },
    /// Time passed on a clock that did not run, or more than passed on the time line.
    WrongElapsed {
        /// The line.
        line: usize,
    },
    /// What the line says is left is not what was left before, less charged, plus credited.
    WrongSum {
        /// The line.
        line: usize,
        /// What should be left.
        expected_ms: Option<u64>,
    },
    /// A line was received before the one above it, or before the clocks were last settled.
    OutOfOrder {
        /// The line.
        line: usize,
    },
    /// A bonus or a period is credited that the time control does not have.
    WrongCredit {
        /// The line.
        line: usize,
    },
    /// The clocks afterwards do not show what the lines come to.
    WrongTotal {
        /// Whose clock.
        side: Color,
        /// What the lines come to.
        expected_ms: Option<u64>,
    },
    /// The moves that were counted are not those of the lines.
    WrongMoveCount {
        /// Whose.
        side: Color,
    },
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = |ms: Option<u64>| ms.map_or("no clock".into(), |ms| format!("{ms} ms"));
        match *self {
            Self::Overcharged { line } => {
                write!(f, "line {line} charges more than was left")
            }
            Self::ChargedBeyondElapsed { line } => {
                write!(f, "line {line} charges more time than passed")
            }
            Self::WrongElapsed { line } => write!(
                f,
                "line {line} lets time pass that did not pass on this clock"
            ),
            Self::WrongSum { line, expected_ms } => write!(
                f,
                "line {line} says what is left wrongly; it is {}",
                left(expected_ms)
            ),
            Self::OutOfOrder { line } => {
                write!(f, "line {line} was received before what came first")
            }
            Self::WrongCredit { line } => {
                write!(f, "line {line} credits what the time control does not have")
            }
            Self::WrongTotal { side, expected_ms } => write!(
                f,
                "the clock of {side} does not show what its lines come to, {}",
                left(expected_ms)
            ),
            Self::WrongMoveCount { side } => {
                write!(f, "the moves counted for {side} are not those of its lines")
            }
        }
    }
}

impl core::error::Error for LedgerError {}

/// Checks that a change follows from its lines, without the code that made it. The change may be
/// that of a whole entry, which several operations made one after the other.
///
/// # Errors
///
/// The first thing that does not add up.
///
/// ```
/// use referee_laws::{Bonus, ClockSetup, Clocks, Color, Time, TimeControl, adds_up};
///
/// let control = TimeControl::sudden_death(300_000, Bonus::Fischer(2_000))?;
/// let clocks = Clocks::new(Some(control.clone()), Some(control), ClockSetup::default())?;
/// let started = clocks.start(Color::White, Time::ORIGIN).clocks;
/// let mut change = started.complete_move(Color::White, Time::from_ms(10_000)?);
/// assert_eq!(adds_up(&started, &change), Ok(()));
/// change.lines[0].charged_ms -= 1;
/// assert!(adds_up(&started, &change).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn adds_up(before: &Clocks, change: &ClockChange) -> Result<(), LedgerError> {
    let mut left = Color::ALL.map(|side| before.side(side).left_ms);
    let mut latest = before.since.unwrap_or(Time::ORIGIN);
    let mut runs = Runs {
        side: before.running.filter(|_| !before.paused),
        is_paused: before.paused,
        is_started: false,
        told: latest,
    };
    for (line, entry) in change.lines.iter().enumerate() {
        if entry.received < latest {
            return Err(LedgerError::OutOfOrder { line });
        }
        latest = entry.received;
        check_elapsed(runs, entry).map_err(|wrong| wrong(line))?;
        runs.follow(entry);
        if !is_credit_known(change, entry) {
            return Err(LedgerError::WrongCredit { line });
        }
        let shown = &mut left[entry.side.index()];
        *shown = sum(*shown, entry).ok_or(LedgerError::Overcharged { line })?;
        if *shown != entry.left_ms || shown.is_some_and(|ms| ms > CLOCK_MS_MAX) {
            return Err(LedgerError::WrongSum {
                line,
                expected_ms: *shown,
            });
        }
    }
    for side in Color::ALL {
        let expected_ms = left[side.index()];
        if change.clocks.side(side).left_ms != expected_ms {
            return Err(LedgerError::WrongTotal { side, expected_ms });
        }
        check_moves(before, change, side)?;
    }
    Ok(())
}

/// Returns what is left after a line, or nothing where it charges more than there was. The inner
/// `None` is a side without a clock; only the arbiter can give it one.
fn sum(left: Option<u64>, entry: &LedgerLine) -> Option<Option<u64>> {
    match left {
        None if entry.cause == LedgerCause::ArbiterSet => Some(Some(entry.credited_ms)),
        None => Some(None),
        Some(ms) => Some(Some(ms.checked_sub(entry.charged_ms)? + entry.credited_ms)),
    }
}

/// Which clock can have run, while the lines of one entry are read.
#[derive(Clone, Copy)]
struct Runs {
    /// The side whose clock runs.
    side: Option<Color>,
    /// Whether both clocks stand still.
    is_paused: bool,
    /// Whether the clocks were started by a line above, of whichever side.
    is_started: bool,
    /// Up to when it was told what passed.
    told: Time,
}

impl Runs {
    fn follow(&mut self, entry: &LedgerLine) {
        match entry.cause {
            LedgerCause::Start if self.side.is_none() => {
                self.is_started = true;
                self.told = entry.received;
            }
            LedgerCause::Resume => {
                self.side = Some(entry.side);
                self.is_paused = false;
                self.told = entry.received;
            }
            _ if entry.elapsed_ms > 0 => self.told = entry.received,
            _ => {}
        }
    }
}

/// Checks what passed and was charged for it.
fn check_elapsed(runs: Runs, entry: &LedgerLine) -> Result<(), fn(usize) -> LedgerError> {
    let can_pass = match entry.cause {
        LedgerCause::Resume => runs.is_paused,
        _ => runs.side == Some(entry.side) || runs.is_started,
    };
    let passed = if can_pass {
        entry.received.since(runs.told)
    } else {
        0
    };
    if entry.elapsed_ms > passed {
        return Err(|line| LedgerError::WrongElapsed { line });
    }
    let is_for_time = matches!(
        entry.cause,
        LedgerCause::Move
            | LedgerCause::Pause
            | LedgerCause::LateArrival
            | LedgerCause::Reinstated
            | LedgerCause::DownTime
            | LedgerCause::BonusChanged
            | LedgerCause::End
    );
    let is_free = matches!(
        entry.cause,
        LedgerCause::Start
            | LedgerCause::Increment
            | LedgerCause::NextPeriod
            | LedgerCause::Resume
            | LedgerCause::Grant
            | LedgerCause::MoveCount
    );
    if is_for_time && entry.charged_ms > entry.elapsed_ms || is_free && entry.charged_ms > 0 {
        return Err(|line| LedgerError::ChargedBeyondElapsed { line });
    }
    Ok(())
}

/// Whether the time control of a side has what a line credits.
fn is_credit_known(change: &ClockChange, entry: &LedgerLine) -> bool {
    let periods = change.clocks.side(entry.side).control.as_ref();
    let periods = periods.map_or(&[][..], |control| control.periods());
    match entry.cause {
        LedgerCause::Start | LedgerCause::Increment => {
            let largest = periods.iter().map(|period| period.bonus.ms()).max();
            entry.credited_ms <= largest.unwrap_or(0)
        }
        LedgerCause::NextPeriod => {
            let is_full = entry.left_ms == Some(CLOCK_MS_MAX);
            let mut times = periods.iter().map(|period| period.time_ms);
            times.any(|ms| entry.credited_ms == ms || is_full && entry.credited_ms < ms)
        }
        LedgerCause::Penalty | LedgerCause::Grant | LedgerCause::ArbiterSet => true,
        _ => entry.credited_ms == 0,
    }
}

/// Checks that the moves counted are the lines that complete one.
fn check_moves(before: &Clocks, change: &ClockChange, side: Color) -> Result<(), LedgerError> {
    let count = |cause| {
        let lines = change
            .lines
            .iter()
            .filter(|line| line.side == side && line.cause == cause);
        lines.count() as u32
    };
    let moves = before
        .side(side)
        .moves
        .saturating_add(count(LedgerCause::Move));
    if count(LedgerCause::MoveCount) == 0 && change.clocks.side(side).moves != moves {
        return Err(LedgerError::WrongMoveCount { side });
    }
    Ok(())
}
