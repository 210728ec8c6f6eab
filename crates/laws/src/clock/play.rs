//! What happens to clocks in play: start, moves, pauses, flags, the end. Every operation leaves
//! its argument as it is.
//!
//! A time before the one at which the clocks were last settled is taken as that one, so that no
//! clock ever runs backwards.

use referee_chess::Color;

use super::clocks::Clocks;
use super::control::Bonus;
use super::ledger::{ClockChange, LedgerCause};
use super::posting::Posting;
use super::time::Time;

impl Clocks {
    /// Starts the clock of a side (6.6). A side that has made no move and has just the time of
    /// its first period gets the Fischer bonus of its first move, where its time control says so;
    /// a setup that says what is left has the last word. There is a [`LedgerCause::Start`] line
    /// for each side. Where a clock runs already, this is [`Clocks::switch_to`].
    ///
    /// ```
    /// use referee_laws::{Bonus, ClockSetup, Clocks, Color, LedgerCause, Time, TimeControl};
    ///
    /// let control = TimeControl::sudden_death(300_000, Bonus::Fischer(30_000))?;
    /// let control = Some(control.with_increment_at_start(true));
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let change = clocks.start(Color::White, Time::ORIGIN);
    /// assert_eq!(change.clocks.running, Some(Color::White));
    /// assert_eq!(change.lines.len(), 2);
    /// assert_eq!(change.lines[1].cause, LedgerCause::Start);
    /// assert_eq!(change.lines[1].credited_ms, 30_000);
    /// assert_eq!(change.lines[1].left_ms, Some(330_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start(&self, side: Color, at: Time) -> ClockChange {
        if self.running.is_some() {
            return self.switch_to(side, at);
        }
        let mut posting = Posting::new(self, at);
        for each in Color::ALL {
            let clock = self.side(each);
            let full_ms = clock
                .control
                .as_ref()
                .map(|control| control.period(0).time_ms);
            let is_untouched = clock.moves == 0 && clock.left_ms == full_ms;
            let credit_ms = match clock.bonus() {
                Bonus::Fischer(ms) if clock.is_increment_first() && is_untouched => ms,
                _ => 0,
            };
            posting.enter(each, LedgerCause::Start, 0, 0, credit_ms);
        }
        posting.clocks.paused = false;
        posting.run(side);
        posting.finish()
    }

    /// Completes a move of a side by a press of the clock (6.2.1): charges what it took, counts
    /// it, puts on its bonus and, where its period is over, the time of the next one, and lets
    /// the opponent's clock run.
    ///
    /// A move that took longer than what was left is charged what was left; it brings no bonus,
    /// but the next period begins all the same, for the game goes on until the flag is noticed.
    /// Where the side's clock does not run, because the opponent replied before the press or had
    /// not pressed before (6.2.2), nothing is charged, and the clock that runs goes on.
    ///
    /// ```
    /// use referee_laws::{Bonus, ClockSetup, Clocks, Color, LedgerCause, Time, TimeControl};
    ///
    /// let control = TimeControl::sudden_death(300_000, Bonus::Bronstein(5_000))?;
    /// let clocks = Clocks::new(Some(control.clone()), Some(control), ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let change = clocks.complete_move(Color::White, Time::from_ms(8_000)?);
    /// let [spent, given_back] = change.lines[..] else { panic!("two causes, two lines") };
    /// assert_eq!((spent.cause, spent.charged_ms), (LedgerCause::Move, 8_000));
    /// assert_eq!((given_back.cause, given_back.credited_ms), (LedgerCause::Increment, 5_000));
    /// assert_eq!(change.clocks.white.left_ms, Some(297_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn complete_move(&self, side: Color, at: Time) -> ClockChange {
        let mut posting = self.complete(side, at);
        if self.running == Some(side) {
            posting.run(!side);
        }
        posting.finish()
    }

    /// Completes a move of a side that made its next move without having pressed (6.2.1.2):
    /// as [`Clocks::complete_move`], but the clock that runs goes on to run.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let clocks = clocks.complete_unpressed(Color::White, Time::from_ms(8_000)?).clocks;
    /// assert_eq!((clocks.white.moves, clocks.running), (1, Some(Color::White)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn complete_unpressed(&self, side: Color, at: Time) -> ClockChange {
        let mut posting = self.complete(side, at);
        if self.running == Some(side) {
            posting.clocks.spent_ms = 0;
        }
        posting.finish()
    }

    fn complete(&self, side: Color, at: Time) -> Posting {
        let mut posting = Posting::new(self, at);
        let was_over = self.side(side).flag_down && self.side(side).left_ms == Some(0);
        let is_over = posting.settle(side, LedgerCause::Move) || was_over;
        let is_running = self.running == Some(side);
        let spent_ms = if is_running {
            posting.clocks.spent_ms
        } else {
            0
        };
        posting.count_move(side, spent_ms, is_over);
        posting
    }

    /// Pauses both clocks (6.11). The side to move gets no new delay when they run again. Where
    /// no clock runs there is nothing to pause and no line.
    ///
    /// ```
    /// use referee_laws::{Bonus, ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::sudden_death(60_000, Bonus::Delay(5_000))?;
    /// let clocks = Clocks::new(Some(control.clone()), Some(control), ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let clocks = clocks.pause(Time::from_ms(4_000)?).clocks;
    /// assert_eq!(clocks.left_at(Color::White, Time::from_ms(90_000)?), Some(60_000));
    /// let clocks = clocks.resume(None, Time::from_ms(90_000)?).clocks;
    /// assert_eq!(clocks.deadline(), Some(Time::from_ms(151_000)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause(&self, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        posting.settle_running(LedgerCause::Pause);
        posting.clocks.paused |= self.running.is_some();
        posting.finish()
    }

    /// Lets the clock of a side run, or with `None` the one that ran before the pause. Without a
    /// pause it changes which clock runs, and where that one runs already or is not known,
    /// nothing. Clocks that were stopped run again when a side is named.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let clocks = clocks.pause(Time::from_ms(9_000)?).clocks;
    /// let change = clocks.resume(None, Time::from_ms(60_000)?);
    /// assert_eq!(change.lines[0].elapsed_ms, 51_000);
    /// assert_eq!(change.clocks.deadline(), Some(Time::from_ms(351_000)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume(&self, side: Option<Color>, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        let Some(side) = side.or(self.running) else {
            return posting.finish();
        };
        if !self.paused && self.running == Some(side) {
            return posting.finish();
        }
        if !self.paused && self.running.is_some() {
            return self.switch_to(side, at);
        }
        let stood_ms = self.since.map_or(0, |since| posting.at.since(since));
        posting.enter(side, LedgerCause::Resume, stood_ms, 0, 0);
        if self.running != Some(side) {
            posting.run(side);
        }
        posting.clocks.paused = false;
        posting.clocks.since = Some(posting.at);
        posting.finish()
    }

    /// Lets a side's flag fall (6.8, 6.9): whatever it had left is gone, and if its clock runs,
    /// it goes on to run. Where the referee's clock decides, `at` is the deadline; where the flag
    /// is observed, it is the observation, and the clock on the table is believed (6.10).
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let deadline = clocks.deadline().expect("White's clock runs");
    /// let clocks = clocks.fall(Color::White, deadline).clocks;
    /// assert!(clocks.white.flag_down);
    /// assert_eq!(clocks.white.left_ms, Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fall(&self, side: Color, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        let settlement = self.settlement(side, posting.at);
        let elapsed_ms = settlement.map_or(0, |it| it.elapsed_ms);
        let charge_ms = match self.side(side).left_ms {
            Some(left_ms) => left_ms,
            None => settlement.map_or(0, |it| it.charged_ms),
        };
        if settlement.is_some() {
            posting.clocks.since = Some(posting.at);
            posting.clocks.spent_ms = self.spent_ms.saturating_add(elapsed_ms);
        }
        posting.clocks.side_mut(side).flag_down = true;
        posting.enter(side, LedgerCause::Flag, elapsed_ms, charge_ms, 0);
        posting.finish()
    }

    /// Notes that a player arrived late (6.7): what the side's running clock lost until then gets
    /// a line of its own, and the clock goes on to run. Where it does not run there is no line.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, LedgerCause, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("5400")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let change = clocks.arrive(Color::White, Time::from_ms(600_000)?);
    /// assert_eq!(change.lines[0].cause, LedgerCause::LateArrival);
    /// assert_eq!(change.clocks.white.left_ms, Some(4_800_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arrive(&self, side: Color, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        if self.running == Some(side) {
            posting.settle_running(LedgerCause::LateArrival);
        }
        posting.finish()
    }

    /// Stops the clocks for good: the game is over. What passed is charged to the side whose
    /// clock ran.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let clocks = clocks.stop(Time::from_ms(9_000)?).clocks;
    /// assert_eq!(clocks.running, None);
    /// assert_eq!(clocks.left_at(Color::White, Time::from_ms(99_000)?), Some(291_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop(&self, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        posting.settle_running(LedgerCause::End);
        posting.clocks.running = None;
        posting.clocks.since = None;
        posting.clocks.spent_ms = 0;
        posting.clocks.paused = false;
        posting.finish()
    }
}
