//! What can be done to clocks. Every operation leaves its argument as it is.
//!
//! A time before the one at which the clocks were last settled is taken as that one, so that no
//! clock ever runs backwards. What would bring a clock above [`CLOCK_MS_MAX`] is not credited.

use referee_chess::Color;

use super::clocks::{Clocks, SideClock};
use super::control::{Bonus, TimeControl, TimeControlError};
use super::ledger::{ClockChange, LedgerCause, LedgerLine};
use super::limits::{CLOCK_MS_MAX, MOVES_MADE_MAX, PERIOD_MS_MAX};
use super::time::Time;

/// A change in the making.
struct Draft {
    clocks: Clocks,
    lines: Vec<LedgerLine>,
    at: Time,
}

impl Draft {
    fn new(clocks: &Clocks, at: Time) -> Draft {
        Draft {
            clocks: clocks.clone(),
            lines: Vec::new(),
            at: clocks.since.map_or(at, |since| since.max(at)),
        }
    }

    fn finish(self) -> ClockChange {
        ClockChange {
            clocks: self.clocks,
            lines: self.lines,
        }
    }

    /// Writes a line that takes off and puts on as much as the clock allows.
    fn enter(&mut self, side: Color, cause: LedgerCause, elapsed: u64, charge: u64, credit: u64) {
        let clock = self.clocks.side_mut(side);
        let (charged_ms, credited_ms) = match &mut clock.left_ms {
            Some(left_ms) => {
                let charged_ms = charge.min(*left_ms);
                *left_ms -= charged_ms;
                let credited_ms = credit.min(CLOCK_MS_MAX - *left_ms);
                *left_ms += credited_ms;
                (charged_ms, credited_ms)
            }
            None => (charge, credit),
        };
        self.lines.push(LedgerLine {
            side,
            cause,
            received: self.at,
            elapsed_ms: elapsed,
            charged_ms,
            credited_ms,
            left_ms: clock.left_ms,
        });
    }

    /// Charges a side what passed since its clock was last settled, and writes the line even
    /// where the clock stands still. Returns whether that was longer than what was left.
    fn settle(&mut self, side: Color, cause: LedgerCause) -> bool {
        let Some(settlement) = self.clocks.settlement(side, self.at) else {
            self.enter(side, cause, 0, 0, 0);
            return false;
        };
        self.enter(side, cause, settlement.elapsed_ms, settlement.charged_ms, 0);
        self.clocks.side_mut(side).flag_down |= settlement.is_over;
        self.clocks.since = Some(self.at);
        self.clocks.spent_ms = self.clocks.spent_ms.saturating_add(settlement.elapsed_ms);
        settlement.is_over
    }

    /// Settles the clock that runs, if one does.
    fn settle_running(&mut self, cause: LedgerCause) {
        if let (Some(side), false) = (self.clocks.running, self.clocks.paused) {
            self.settle(side, cause);
        }
    }

    /// Lets a flag fall that should have fallen before now, so that time which is given now does
    /// not pay for time that was overstepped.
    fn settle_overdue(&mut self, side: Color) {
        if self
            .clocks
            .settlement(side, self.at)
            .is_some_and(|it| it.is_over)
        {
            self.settle(side, LedgerCause::Flag);
        }
    }

    /// Puts another side's clock to run; a pause goes on.
    fn run(&mut self, side: Color) {
        self.clocks.running = Some(side);
        self.clocks.spent_ms = 0;
        if !self.clocks.paused {
            self.clocks.since = Some(self.at);
        }
    }

    /// Counts a move, and puts on what it brings. `spent_ms` is the time of the whole move.
    fn count_move(&mut self, side: Color, spent_ms: u64, is_over: bool) {
        let clock = self.clocks.side_mut(side);
        let completed = clock.bonus();
        clock.moves = clock.moves.saturating_add(1);
        let put_on = clock.next_period();
        let is_first = clock.is_increment_first();
        let earned_ms = match completed {
            Bonus::Bronstein(ms) => ms.min(spent_ms),
            Bonus::Fischer(ms) if !is_first => ms,
            _ => 0,
        };
        // A bonus that is put on before its move is that of the move to come.
        let ahead_ms = match clock.bonus() {
            Bonus::Fischer(ms) if is_first => ms,
            _ => 0,
        };
        if earned_ms > 0 && !is_over {
            self.enter(side, LedgerCause::Increment, 0, 0, earned_ms);
        }
        if ahead_ms > 0 && (!is_over || put_on.is_some()) {
            self.enter(side, LedgerCause::Increment, 0, 0, ahead_ms);
        }
        if let Some(time_ms) = put_on {
            self.enter(side, LedgerCause::NextPeriod, 0, 0, time_ms);
        }
    }
}

impl SideClock {
    /// Whether a Fischer bonus is put on before the move that it is for.
    fn is_increment_first(&self) -> bool {
        self.control
            .as_ref()
            .is_some_and(TimeControl::increment_at_start)
    }

    /// Counts a move in its period, and returns the time of the next one where it begins.
    fn next_period(&mut self) -> Option<u64> {
        self.moves_in_period = self.moves_in_period.saturating_add(1);
        let control = self.control.as_ref()?;
        if self.moves_in_period < control.period(self.period).moves? {
            return None;
        }
        self.moves_in_period = 0;
        if usize::from(self.period) + 1 < control.periods().len() {
            self.period += 1;
        }
        Some(control.period(self.period).time_ms)
    }
}

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
        let mut draft = Draft::new(self, at);
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
            draft.enter(each, LedgerCause::Start, 0, 0, credit_ms);
        }
        draft.clocks.paused = false;
        draft.run(side);
        draft.finish()
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
        let mut draft = self.complete(side, at);
        if self.running == Some(side) {
            draft.run(!side);
        }
        draft.finish()
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
        let mut draft = self.complete(side, at);
        if self.running == Some(side) {
            draft.clocks.spent_ms = 0;
        }
        draft.finish()
    }

    fn complete(&self, side: Color, at: Time) -> Draft {
        let mut draft = Draft::new(self, at);
        let was_over = self.side(side).flag_down && self.side(side).left_ms == Some(0);
        let is_over = draft.settle(side, LedgerCause::Move) || was_over;
        let is_running = self.running == Some(side);
        let spent_ms = if is_running { draft.clocks.spent_ms } else { 0 };
        draft.count_move(side, spent_ms, is_over);
        draft
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
        let mut draft = Draft::new(self, at);
        draft.settle_running(LedgerCause::Pause);
        draft.clocks.paused |= self.running.is_some();
        draft.finish()
    }

    /// Lets the clock of a side run, or with `None` the one that ran before the pause. Without a
    /// pause it changes which clock runs, and where that one runs already or is not known,
    /// nothing. Clocks that were stopped run again when a side is named.
    pub fn resume(&self, side: Option<Color>, at: Time) -> ClockChange {
        let mut draft = Draft::new(self, at);
        let Some(side) = side.or(self.running) else {
            return draft.finish();
        };
        if !self.paused && self.running == Some(side) {
            return draft.finish();
        }
        if !self.paused && self.running.is_some() {
            return self.switch_to(side, at);
        }
        let stood_ms = self.since.map_or(0, |since| draft.at.since(since));
        draft.enter(side, LedgerCause::Resume, stood_ms, 0, 0);
        if self.running != Some(side) {
            draft.run(side);
        }
        draft.clocks.paused = false;
        draft.clocks.since = Some(draft.at);
        draft.finish()
    }

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
        let mut draft = Draft::new(self, at);
        if deduct_ms > 0 {
            draft.settle_overdue(side);
            draft.enter(side, LedgerCause::Penalty, 0, deduct_ms, 0);
        }
        if credit_opponent_ms > 0 {
            draft.settle_overdue(!side);
            draft.enter(!side, LedgerCause::Penalty, 0, 0, credit_opponent_ms);
        }
        draft.finish()
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
        let mut draft = Draft::new(self, at);
        draft.settle_overdue(side);
        draft.enter(side, LedgerCause::Grant, 0, 0, credit_ms);
        draft.finish()
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
        let mut draft = Draft::new(self, at);
        draft.settle_overdue(side);
        draft.enter(side, LedgerCause::TakenBack, 0, credit_ms, 0);
        draft.finish()
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
        let mut draft = Draft::new(self, at);
        let left_ms = left_ms.min(CLOCK_MS_MAX);
        let before_ms = self.side(side).left_ms.unwrap_or(0);
        let elapsed_ms = self
            .settlement(side, draft.at)
            .map_or(0, |it| it.elapsed_ms);
        if self.running == Some(side) && !self.paused {
            draft.clocks.since = Some(draft.at);
            draft.clocks.spent_ms = self.spent_ms.saturating_add(elapsed_ms);
        }
        let clock = draft.clocks.side_mut(side);
        clock.left_ms = Some(before_ms);
        clock.flag_down &= left_ms == 0;
        let (charge_ms, credit_ms) = (
            before_ms.saturating_sub(left_ms),
            left_ms.saturating_sub(before_ms),
        );
        draft.enter(
            side,
            LedgerCause::ArbiterSet,
            elapsed_ms,
            charge_ms,
            credit_ms,
        );
        draft.finish()
    }

    /// Sets how many moves a side has completed (6.10), at most [`MOVES_MADE_MAX`], and with it
    /// the period that it is in. No time is put on or taken off for a period.
    pub fn set_moves(&self, side: Color, moves: u32, at: Time) -> ClockChange {
        let mut draft = Draft::new(self, at);
        let clock = draft.clocks.side_mut(side);
        clock.moves = moves.min(MOVES_MADE_MAX);
        (clock.period, clock.moves_in_period) = match &clock.control {
            Some(control) => control.place(clock.moves),
            None => (0, clock.moves),
        };
        draft.enter(side, LedgerCause::MoveCount, 0, 0, 0);
        draft.finish()
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
        let mut draft = Draft::new(self, at);
        let settlement = self.settlement(side, draft.at);
        let elapsed_ms = settlement.map_or(0, |it| it.elapsed_ms);
        let charge_ms = match self.side(side).left_ms {
            Some(left_ms) => left_ms,
            None => settlement.map_or(0, |it| it.charged_ms),
        };
        if settlement.is_some() {
            draft.clocks.since = Some(draft.at);
            draft.clocks.spent_ms = self.spent_ms.saturating_add(elapsed_ms);
        }
        draft.clocks.side_mut(side).flag_down = true;
        draft.enter(side, LedgerCause::Flag, elapsed_ms, charge_ms, 0);
        draft.finish()
    }

    /// Notes that a player arrived late (6.7): what the side's running clock lost until then gets
    /// a line of its own, and the clock goes on to run. Where it does not run there is no line.
    pub fn arrive(&self, side: Color, at: Time) -> ClockChange {
        let mut draft = Draft::new(self, at);
        if self.running == Some(side) {
            draft.settle_running(LedgerCause::LateArrival);
        }
        draft.finish()
    }

    /// Lets a side's clock run after a position was reinstated (7.5.1), or because the wrong one
    /// ran. What passed is charged to the side whose clock ran; the move that the side has to
    /// make begins anew, with its whole delay. A pause goes on.
    pub fn switch_to(&self, side: Color, at: Time) -> ClockChange {
        let mut draft = Draft::new(self, at);
        draft.settle_running(LedgerCause::Reinstated);
        draft.run(side);
        draft.finish()
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
        let mut draft = Draft::new(self, from.min(to));
        draft.settle_running(LedgerCause::DownTime);
        let end = draft.at.max(to);
        if let Some(line) = draft.lines.last_mut() {
            line.elapsed_ms += end.since(line.received);
            line.received = end;
            draft.clocks.since = Some(end);
        }
        draft.finish()
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
        let mut draft = Draft::new(self, at);
        for side in Color::ALL {
            draft.settle(side, LedgerCause::BonusChanged);
            let clock = draft.clocks.side_mut(side);
            clock.control = match (&clock.control, clock.left_ms) {
                (Some(control), _) => Some(control.with_bonus(bonus)?),
                (None, Some(left_ms)) if bonus.ms() > 0 => Some(TimeControl::sudden_death(
                    left_ms.min(PERIOD_MS_MAX),
                    bonus,
                )?),
                (None, _) => None,
            };
        }
        draft.clocks.spent_ms = 0;
        Ok(draft.finish())
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
        let mut draft = Draft::new(self, at);
        draft.settle_running(LedgerCause::End);
        draft.clocks.running = None;
        draft.clocks.since = None;
        draft.clocks.spent_ms = 0;
        draft.clocks.paused = false;
        draft.finish()
    }
}
