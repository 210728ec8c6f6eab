//! Clocks as values: what each side has left, and the ledger of why it changed.
//!
//! [`Clocks`] are set up from two [`TimeControl`]s. Every operation takes them as they are and
//! the [`Time`] at which something was received, and answers with a [`ClockChange`]: the clocks
//! afterwards and a [`LedgerLine`] for each cause of a change. Nothing here judges a move or ends
//! a game, and nothing here asks what time it is.
//!
//! A clock never shows less than nothing: a side is charged at most what it had left, and
//! [`SideClock::flag_down`] remembers that it took longer. What arrives at the very
//! [`deadline`](Clocks::deadline) is in time.

mod clocks;
mod control;
mod interventions;
mod ledger;
pub(crate) mod limits;
mod play;
mod posting;
mod text;
mod time;

pub use clocks::{ClockSetup, ClockSetupError, Clocks, SideClock};
pub use control::{Bonus, Period, PeriodPart, TimeControl, TimeControlError};
pub use ledger::{ClockChange, LedgerCause, LedgerError, LedgerLine, adds_up};
pub use limits::{
    BONUS_MS_MAX, CLOCK_MS_MAX, MOVES_MADE_MAX, PERIOD_MOVES_MAX, PERIOD_MS_MAX, PERIODS_MAX,
    TIME_CONTROL_LENGTH_MAX, TIME_MS_MAX,
};
pub use time::{Time, TimeError};

/// Who keeps the time of a game.
///
/// ```
/// use referee_laws::Keeper;
///
/// assert_eq!(Keeper::Referee.name(), "referee");
/// assert_eq!(Keeper::named("platform"), Some(Keeper::Platform));
/// assert_eq!(Keeper::named("nobody"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Keeper {
    /// The referee stamps what arrives.
    #[default]
    Referee,
    /// The platform says when things happened.
    Platform,
}

impl Keeper {
    /// Returns the name: `referee` or `platform`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Keeper::Referee => "referee",
            Keeper::Platform => "platform",
        }
    }

    /// Returns the keeper with a name, or `None` where none has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Keeper> {
        [Keeper::Referee, Keeper::Platform]
            .into_iter()
            .find(|keeper| keeper.name() == name)
    }
}
