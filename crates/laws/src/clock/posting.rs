//! A change in the making: the clocks as they will be, and the lines that say why.

use referee_chess::Color;

use super::clocks::{Clocks, SideClock};
use super::control::{Bonus, TimeControl};
use super::ledger::{ClockChange, LedgerCause, LedgerLine};
use super::limits::CLOCK_MS_MAX;
use super::time::Time;

/// A change in the making.
pub(super) struct Posting {
    pub(super) clocks: Clocks,
    pub(super) lines: Vec<LedgerLine>,
    /// When it happens, never before the clocks were last settled.
    pub(super) at: Time,
}

impl Posting {
    pub(super) fn new(clocks: &Clocks, at: Time) -> Posting {
        Posting {
            clocks: clocks.clone(),
            lines: Vec::new(),
            at: clocks.since.map_or(at, |since| since.max(at)),
        }
    }

    pub(super) fn finish(self) -> ClockChange {
        ClockChange {
            clocks: self.clocks,
            lines: self.lines,
        }
    }

    /// Writes a line that takes off and puts on as much as the clock allows.
    pub(super) fn enter(
        &mut self,
        side: Color,
        cause: LedgerCause,
        elapsed: u64,
        charge: u64,
        credit: u64,
    ) {
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
    pub(super) fn settle(&mut self, side: Color, cause: LedgerCause) -> bool {
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
    pub(super) fn settle_running(&mut self, cause: LedgerCause) {
        if let (Some(side), false) = (self.clocks.running, self.clocks.paused) {
            self.settle(side, cause);
        }
    }

    /// Lets a flag fall that should have fallen before now, so that time which is given now does
    /// not pay for time that was overstepped.
    pub(super) fn settle_overdue(&mut self, side: Color) {
        if self
            .clocks
            .settlement(side, self.at)
            .is_some_and(|it| it.is_over)
        {
            self.settle(side, LedgerCause::Flag);
        }
    }

    /// Puts another side's clock to run; a pause goes on.
    pub(super) fn run(&mut self, side: Color) {
        self.clocks.running = Some(side);
        self.clocks.spent_ms = 0;
        if !self.clocks.paused {
            self.clocks.since = Some(self.at);
        }
    }

    /// Counts a move, and puts on what it brings. `spent_ms` is the time of the whole move.
    pub(super) fn count_move(&mut self, side: Color, spent_ms: u64, is_over: bool) {
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
    pub(super) fn is_increment_first(&self) -> bool {
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
