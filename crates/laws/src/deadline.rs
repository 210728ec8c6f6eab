//! The clock that the referee keeps: when a flag falls by itself, and what down time takes from
//! nobody.

use referee_chess::Color;

use crate::clock::{Keeper, Time};
use crate::game::Game;
use crate::profile::FlagMode;

impl Game {
    /// Returns whose flag falls by itself if nothing happens before, and the last moment at which
    /// it is up; `None` where the referee does not keep the time, where flags count only when
    /// somebody observes them (6.8), where no clock runs, and after the end of the game.
    ///
    /// ```
    /// use referee_laws::{Action, Color, Game, Keeper, Profile, Start, Time, TimeControl, Timing};
    ///
    /// let control = TimeControl::read_pgn("180+2")?;
    /// let timing = Timing {
    ///     keeper: Keeper::Referee,
    ///     white: control.clone(),
    ///     black: control,
    ///     ..Timing::default()
    /// };
    /// let start = Start { timing, ..Start::default() };
    /// let mut game = Game::new(Profile::named("lichess")?, &start)?;
    /// assert_eq!(game.deadline(), None);
    /// let judgment = game.judge(&Action::play(Color::White, "e4"), Time::from_ms(1_000)?);
    /// game.apply(&judgment.entry.expect("the move is legal").effects)?;
    /// assert_eq!(game.deadline(), Some((Color::Black, Time::from_ms(181_000)?)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Option<(Color, Time)> {
        let clocks = &self.conduct().clocks;
        let falls_by_itself = self.keeper() == Keeper::Referee
            && self.profile().parameters.flag_mode == FlagMode::Clock
            && self.outcome().is_none();
        let side = clocks.running.filter(|_| falls_by_itself)?;
        let deadline = clocks.deadline()?;
        // A flag that is known to be down has had its consequences.
        (!clocks.side(side).flag_down).then_some((side, deadline))
    }

    /// Returns since when the clock has run that runs now, as it was settled last; `None` where
    /// the referee does not keep the time, where no clock with a time runs, and after the end of
    /// the game.
    #[must_use]
    pub fn running_since(&self) -> Option<Time> {
        let clocks = &self.conduct().clocks;
        let is_kept =
            self.keeper() == Keeper::Referee && self.outcome().is_none() && !clocks.paused;
        let side = clocks.running.filter(|_| is_kept)?;
        clocks.side(side).left_ms?;
        clocks.since
    }

    /// Returns the milliseconds that a span in which the referee was down takes from the running
    /// clock; `None` where no clock of the referee runs in it. Both ends are milliseconds on the
    /// time line of the game.
    #[must_use]
    pub fn down_ms(&self, from_ms: u64, to_ms: u64) -> Option<u64> {
        let since_ms = self.running_since()?.ms();
        let down_ms = to_ms.checked_sub(from_ms.max(since_ms))?;
        (down_ms > 0).then_some(down_ms)
    }
}
