//! What the arbiter and the referee do to clocks: penalties, corrections, down time. Every
//! operation leaves its argument as it is.
//!
//! What would bring a clock above [`CLOCK_MS_MAX`] is not credited.

use referee_chess::Color;

use super::clocks::Clocks;
use super::control::{Bonus, TimeControl, TimeControlError};
use super::ledger::{ClockChange, LedgerCause};
use super::limits::{CLOCK_MS_MAX, MOVES_MADE_MAX, PERIOD_MS_MAX};
use super::posting::Posting;
use super::time::Time;

impl Clocks {
    /// Punishes a side (7.5.5, 9.5.3, 12.9): takes `deduct_ms` off its clock and puts
    /// `credit_opponent_ms` on the other one, in milliseconds. Of the running clock no time is
    /// settled, unless its flag should have fallen already: then it falls first.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let change = clocks.penalize(Color::White, 0, 120_000, Time::from_ms(9_000)?);
    /// assert_eq!(change.lines.len(), 1);
    /// assert_eq!(change.clocks.black.left_ms, Some(420_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn penalize(
        &self,
        side: Color,
        deduct_ms: u64,
        credit_opponent_ms: u64,
        at: Time,
    ) -> ClockChange {
        let mut posting = Posting::new(self, at);
        if deduct_ms > 0 {
            posting.settle_overdue(side);
            posting.enter(side, LedgerCause::Penalty, 0, deduct_ms, 0);
        }
        if credit_opponent_ms > 0 {
            posting.settle_overdue(!side);
            posting.enter(!side, LedgerCause::Penalty, 0, 0, credit_opponent_ms);
        }
        posting.finish()
    }

    /// Gives a side time that is nobody's penalty (12.5), in milliseconds. As with
    /// [`Clocks::penalize`], a flag that should have fallen falls first.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, LedgerCause, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let change = clocks.grant(Color::Black, 60_000, Time::ORIGIN);
    /// assert_eq!(change.lines[0].cause, LedgerCause::Grant);
    /// assert_eq!(change.clocks.black.left_ms, Some(360_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn grant(&self, side: Color, credit_ms: u64, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        posting.settle_overdue(side);
        posting.enter(side, LedgerCause::Grant, 0, 0, credit_ms);
        posting.finish()
    }

    /// Takes back a bonus that a press brought which completed an illegal move (7.5.1), in
    /// milliseconds, as far as it is left. The count of moves is [`Clocks::set_moves`]'.
    ///
    /// ```
    /// use referee_laws::{Bonus, ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::sudden_death(300_000, Bonus::Fischer(30_000))?;
    /// let clocks = Clocks::new(Some(control.clone()), Some(control), ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let clocks = clocks.complete_move(Color::White, Time::from_ms(10_000)?).clocks;
    /// let found = Time::from_ms(12_000)?;
    /// let clocks = clocks.take_back_credit(Color::White, 30_000, found).clocks;
    /// let clocks = clocks.set_moves(Color::White, 0, found).clocks;
    /// let clocks = clocks.switch_to(Color::White, found).clocks;
    /// assert_eq!(clocks.white.left_ms, Some(290_000));
    /// assert_eq!(clocks.running, Some(Color::White));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_back_credit(&self, side: Color, credit_ms: u64, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        posting.settle_overdue(side);
        posting.enter(side, LedgerCause::TakenBack, 0, credit_ms, 0);
        posting.finish()
    }

    /// Sets what a side has left (6.10), in milliseconds, at most [`CLOCK_MS_MAX`]. A side
    /// without a clock has one from then on. A flag that had fallen stands again where anything
    /// is left.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let change = clocks.set(Color::White, 100_000, Time::from_ms(9_000)?);
    /// let line = change.lines[0];
    /// assert_eq!((line.elapsed_ms, line.charged_ms, line.credited_ms), (9_000, 200_000, 0));
    /// assert_eq!(change.clocks.deadline(), Some(Time::from_ms(109_000)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set(&self, side: Color, left_ms: u64, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        let left_ms = left_ms.min(CLOCK_MS_MAX);
        let before_ms = self.side(side).left_ms.unwrap_or(0);
        let elapsed_ms = self
            .settlement(side, posting.at)
            .map_or(0, |it| it.elapsed_ms);
        if self.running == Some(side) && !self.paused {
            posting.clocks.since = Some(posting.at);
            posting.clocks.spent_ms = self.spent_ms.saturating_add(elapsed_ms);
        }
        let clock = posting.clocks.side_mut(side);
        clock.left_ms = Some(before_ms);
        clock.flag_down &= left_ms == 0;
        let (charge_ms, credit_ms) = (
            before_ms.saturating_sub(left_ms),
            left_ms.saturating_sub(before_ms),
        );
        posting.enter(
            side,
            LedgerCause::ArbiterSet,
            elapsed_ms,
            charge_ms,
            credit_ms,
        );
        posting.finish()
    }

    /// Sets how many moves a side has completed (6.10), at most [`MOVES_MADE_MAX`], and with it
    /// the period that it is in. No time is put on or taken off for a period.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("40/5400:1800")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.set_moves(Color::White, 39, Time::ORIGIN).clocks;
    /// assert_eq!(clocks.moves_to_go(Color::White), Some(1));
    /// assert_eq!(clocks.white.left_ms, Some(5_400_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_moves(&self, side: Color, moves: u32, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        let clock = posting.clocks.side_mut(side);
        clock.moves = moves.min(MOVES_MADE_MAX);
        (clock.period, clock.moves_in_period) = match &clock.control {
            Some(control) => control.place(clock.moves),
            None => (0, clock.moves),
        };
        posting.enter(side, LedgerCause::MoveCount, 0, 0, 0);
        posting.finish()
    }

    /// Lets a side's clock run after a position was reinstated (7.5.1), or because the wrong one
    /// ran. What passed is charged to the side whose clock ran; the move that the side has to
    /// make begins anew, with its whole delay. A pause goes on.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let clocks = clocks.complete_move(Color::White, Time::from_ms(10_000)?).clocks;
    /// let change = clocks.switch_to(Color::White, Time::from_ms(14_000)?);
    /// assert_eq!(change.lines[0].side, Color::Black);
    /// assert_eq!(change.lines[0].charged_ms, 4_000);
    /// assert_eq!(change.clocks.running, Some(Color::White));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn switch_to(&self, side: Color, at: Time) -> ClockChange {
        let mut posting = Posting::new(self, at);
        posting.settle_running(LedgerCause::Reinstated);
        posting.run(side);
        posting.finish()
    }

    /// Does not charge the time in which the referee was down, `from` to `to`: the running clock
    /// stands still in it. What passed before `from` is charged, and the clock runs on from `to`.
    /// Where no clock runs there is no line.
    ///
    /// ```
    /// use referee_laws::{ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let control = TimeControl::read_pgn("300")?;
    /// let clocks = Clocks::new(control.clone(), control, ClockSetup::default())?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let change = clocks.stand_still(Time::from_ms(10_000)?, Time::from_ms(70_000)?);
    /// let line = change.lines[0];
    /// assert_eq!((line.elapsed_ms, line.charged_ms), (70_000, 10_000));
    /// assert_eq!(change.clocks.deadline(), Some(Time::from_ms(360_000)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stand_still(&self, from: Time, to: Time) -> ClockChange {
        let mut posting = Posting::new(self, from.min(to));
        posting.settle_running(LedgerCause::DownTime);
        let end = posting.at.max(to);
        if let Some(line) = posting.lines.last_mut() {
            line.elapsed_ms += end.since(line.received);
            line.received = end;
            posting.clocks.since = Some(end);
        }
        posting.finish()
    }

    /// Gives both sides another bonus for all their moves from now on (guideline III.4: 5
    /// seconds, Fischer). What passed is charged first; the bonus of the move that is being made
    /// is reckoned from now. A side that has time left but no time control gets one with this
    /// bonus; a side without a clock stays without.
    ///
    /// # Errors
    ///
    /// Where the bonus is out of range, or a period would be left with neither time nor bonus.
    ///
    /// ```
    /// use referee_laws::{Bonus, ClockSetup, Clocks, Color, Time, TimeControl};
    ///
    /// let setup = ClockSetup { left_ms: [Some(90_000), Some(80_000)], moves: [60, 60] };
    /// let clocks = Clocks::new(None, None, setup)?;
    /// let clocks = clocks.start(Color::White, Time::ORIGIN).clocks;
    /// let claimed = Time::from_ms(10_000)?;
    /// let clocks = clocks.change_bonus(Bonus::Fischer(5_000), claimed)?.clocks;
    /// let clocks = clocks.complete_move(Color::White, Time::from_ms(20_000)?).clocks;
    /// assert_eq!(clocks.white.left_ms, Some(75_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn change_bonus(&self, bonus: Bonus, at: Time) -> Result<ClockChange, TimeControlError> {
        let mut posting = Posting::new(self, at);
        for side in Color::ALL {
            posting.settle(side, LedgerCause::BonusChanged);
            let clock = posting.clocks.side_mut(side);
            clock.control = match (&clock.control, clock.left_ms) {
                (Some(control), _) => Some(control.with_bonus(bonus)?),
                (None, Some(left_ms)) if bonus.ms() > 0 => Some(TimeControl::sudden_death(
                    left_ms.min(PERIOD_MS_MAX),
                    bonus,
                )?),
                (None, _) => None,
            };
        }
        posting.clocks.spent_ms = 0;
        Ok(posting.finish())
    }
}
