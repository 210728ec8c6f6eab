//! The clocks: every line of the ledger added up anew, from nothing but the messages of the record.
//!
//! A clock changes only by a line with a cause. What a line charges, credits and leaves has to
//! follow from the line before it, the time that passed and the time control.

use prost_types::Duration;
use referee_api::v1;
use referee_api::v1::LedgerCause as Cause;

use crate::limits::{CLOCK_MS_MAX, TIME_MS_MAX};
use crate::time::{line_ms_of, ms_of, us_of};

/// The clocks up to some entry.
pub(crate) struct Clocks {
    /// What each side's time control credits, White first.
    controls: [Vec<v1::TimePeriod>; 2],
    is_kept_by_referee: bool,
    /// The clocks as the entry before left them.
    before: v1::Clocks,
    /// The time of the entry before, on the time line of the game.
    time_ms: u64,
    /// The time of the entry before, by the clock of the server.
    event_us: i128,
}

/// Whose clock runs, as far as the lines tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Running {
    Known(Option<v1::Color>),
    /// A line changed it, and does not say to what.
    Unknown,
}

/// The lines of one entry, added up so far.
struct Sum<'a> {
    clocks: &'a Clocks,
    after: &'a v1::Clocks,
    left: [Option<u64>; 2],
    moves: [u32; 2],
    has_line: [bool; 2],
    sets_moves: [bool; 2],
    running: Running,
    is_paused: bool,
    since_ms: Option<u64>,
    spent_ms: u64,
    latest_ms: u64,
}

impl Clocks {
    /// Sets the clocks as a game begins with them.
    pub(crate) fn begin(genesis: &v1::Game) -> Result<Clocks, String> {
        let settings = genesis.clock_settings.clone().unwrap_or_default();
        let setup = genesis.setup.unwrap_or_default();
        let own = |control: &Option<v1::TimeControl>| {
            let control = control.as_ref().or(settings.time_control.as_ref());
            control.map_or(Vec::new(), |control| control.periods.clone())
        };
        let controls = [
            own(&settings.white_time_control),
            own(&settings.black_time_control),
        ];
        let side = |periods: &[v1::TimePeriod], setup: Option<v1::SideSetup>| {
            let setup = setup.unwrap_or_default();
            begin_side(periods, setup.time_left, setup.moves)
        };
        let before = v1::Clocks {
            white: Some(side(&controls[0], setup.white)?),
            black: Some(side(&controls[1], setup.black)?),
            ..v1::Clocks::default()
        };
        Ok(Clocks {
            controls,
            is_kept_by_referee: settings.keeper() != v1::ClockKeeper::Platform,
            before,
            time_ms: 0,
            event_us: genesis.create_time.map_or(0, |time| us_of(&time)),
        })
    }

    /// Follows an entry, and tells what does not add up.
    pub(crate) fn follow(&mut self, event: &v1::GameEvent, faults: &mut Vec<String>) {
        if let Err(text) = self.try_follow(event, faults) {
            faults.push(text);
        }
        // What the record says goes on, so that one change is told once.
        if let Some(conduct) = &event.conduct {
            if let Some(clocks) = &conduct.clocks {
                self.before = *clocks;
            }
            if let Ok(Some(ms)) = line_ms_of(conduct.time) {
                self.time_ms = ms;
            }
        }
        if let Some(time) = &event.event_time {
            self.event_us = us_of(time);
        }
    }

    fn try_follow(&self, event: &v1::GameEvent, faults: &mut Vec<String>) -> Result<(), String> {
        let conduct = event.conduct.as_ref().ok_or("nothing stands after it")?;
        let after = conduct.clocks.as_ref().ok_or("there are no clocks")?;
        let time_ms = line_ms_of(conduct.time)?.ok_or("it has no time")?;
        let event_us = event.event_time.as_ref().map(us_of);
        let event_us = event_us.ok_or("it has no time of the server")?;
        if time_ms < self.time_ms {
            faults.push(format!(
                "it stands at {time_ms} ms, before the entry before at {} ms",
                self.time_ms
            ));
        }
        if event_us < self.event_us {
            faults.push("the server recorded it before the entry before".into());
        }
        if self.is_kept_by_referee && i128::from(time_ms) * 1_000 > event_us {
            faults.push("it stands at a time that the server had not reached".into());
        }
        let mut sum = Sum::begin(self, after)?;
        for (line, number) in event.ledger.iter().zip(1..) {
            if let Err(text) = sum.add(line, time_ms) {
                faults.push(format!("line {number}: {text}"));
            }
        }
        sum.close(!event.ledger.is_empty(), time_ms, faults)
    }

    fn period_times(&self, side: usize) -> impl Iterator<Item = u64> {
        let periods = self.controls[side].iter();
        periods.filter_map(|period| ms_of(period.time).ok().flatten())
    }
}

fn begin_side(
    periods: &[v1::TimePeriod],
    left: Option<Duration>,
    moves: u32,
) -> Result<v1::SideClock, String> {
    let (mut period, mut in_period) = (0, moves);
    while let Some(here) = periods.get(period)
        && here.moves > 0
        && in_period >= here.moves
    {
        if period + 1 < periods.len() {
            in_period -= here.moves;
            period += 1;
        } else {
            // A last period that names its moves is repeated.
            in_period %= here.moves;
        }
    }
    let here = periods.get(period);
    let time_left = left.or(here.and_then(|here| here.time));
    ms_of(time_left)?;
    Ok(v1::SideClock {
        time_left,
        period: period as u32,
        moves_in_period: in_period,
        moves,
        flag_down: false,
        bonus_mode: here.map_or(v1::BonusMode::None.into(), |here| here.bonus_mode),
        bonus: here.and_then(|here| here.bonus),
    })
}

fn index(side: v1::Color) -> Result<usize, String> {
    match side {
        v1::Color::White => Ok(0),
        v1::Color::Black => Ok(1),
        v1::Color::Unspecified => Err("it is about no side".into()),
    }
}

const NAMES: [&str; 2] = ["White", "Black"];

fn sides(clocks: &v1::Clocks) -> Result<[&v1::SideClock; 2], String> {
    match (&clocks.white, &clocks.black) {
        (Some(white), Some(black)) => Ok([white, black]),
        _ => Err("a side has no clock, not even an untimed one".into()),
    }
}

fn bonus_ms(clock: &v1::SideClock, mode: v1::BonusMode) -> u64 {
    if clock.bonus_mode() != mode {
        return 0;
    }
    ms_of(clock.bonus).ok().flatten().unwrap_or(0)
}

impl<'a> Sum<'a> {
    fn begin(clocks: &'a Clocks, after: &'a v1::Clocks) -> Result<Sum<'a>, String> {
        let before = &clocks.before;
        let [white, black] = sides(before)?;
        let since_ms = line_ms_of(before.since_time)?;
        let running = Some(before.running()).filter(|&side| side != v1::Color::Unspecified);
        Ok(Sum {
            clocks,
            after,
            left: [ms_of(white.time_left)?, ms_of(black.time_left)?],
            moves: [white.moves, black.moves],
            has_line: [false; 2],
            sets_moves: [false; 2],
            running: Running::Known(running),
            is_paused: before.paused,
            since_ms,
            spent_ms: ms_of(before.spent)?.unwrap_or(0),
            latest_ms: since_ms.unwrap_or(0),
        })
    }

    /// Adds a line of an entry at a time.
    fn add(&mut self, line: &v1::LedgerLine, time_ms: u64) -> Result<(), String> {
        let side = index(line.side())?;
        let received = line_ms_of(line.received_time)?.ok_or("it was never received")?;
        let elapsed = ms_of(line.elapsed)?.unwrap_or(0);
        let charged = ms_of(line.charged)?.unwrap_or(0);
        let credited = ms_of(line.credited)?.unwrap_or(0);
        let told = ms_of(line.left)?;
        let before = self.left[side];
        self.has_line[side] = true;
        let in_order = (self.latest_ms..=time_ms).contains(&received);
        self.latest_ms = self.latest_ms.max(received);
        let passed = self.check_elapsed(line, received, elapsed);
        let is_fair = self.check_charge(line.cause(), side, (elapsed, charged));
        let is_owed = self.check_credit(line.cause(), side, credited, told);
        self.turn(line.cause(), side, (received, elapsed));
        // What the line says goes on, so that one change is told once.
        self.left[side] = told;
        if !in_order {
            return Err(format!(
                "it was received at {received} ms, which is not between the line before and \
                 {time_ms} ms"
            ));
        }
        passed?;
        is_fair?;
        is_owed?;
        let expected = match before {
            None if line.cause() == Cause::ArbiterSet => Some(credited),
            None => None,
            Some(ms) if charged > ms => return Err(format!("it charges {charged} of {ms} ms")),
            Some(ms) => Some((ms - charged).saturating_add(credited)),
        };
        if told != expected || told > Some(CLOCK_MS_MAX) {
            return Err(format!(
                "{} has {} left by it, but {} less {charged} plus {credited} ms is {}",
                NAMES[side],
                show(told),
                show(before),
                show(expected)
            ));
        }
        Ok(())
    }

    /// The time that a line says passed must have passed, on the clock that ran.
    fn check_elapsed(
        &self,
        line: &v1::LedgerLine,
        received: u64,
        elapsed: u64,
    ) -> Result<(), String> {
        let since = received.saturating_sub(self.since_ms.unwrap_or(received));
        let runs = match self.running {
            Running::Known(side) => Some(side == Some(line.side())),
            Running::Unknown => None,
        };
        let (least, most) = match (line.cause(), runs) {
            (Cause::Resume, _) => (since, since),
            // These settle no clock.
            (
                Cause::Start
                | Cause::Increment
                | Cause::NextPeriod
                | Cause::Penalty
                | Cause::Grant
                | Cause::TakenBack
                | Cause::MoveCount,
                _,
            ) => (0, 0),
            (_, Some(true)) if !self.is_paused => (since, since),
            (_, Some(_)) => (0, 0),
            (_, None) => (0, since),
        };
        if (least..=most).contains(&elapsed) {
            return Ok(());
        }
        Err(format!(
            "it lets {elapsed} ms pass, where {most} ms have passed on that clock"
        ))
    }

    /// What is charged for time must be the time less the delay, at most what was left.
    fn check_charge(
        &self,
        cause: Cause,
        side: usize,
        (elapsed, charged): (u64, u64),
    ) -> Result<(), String> {
        let [white, black] = sides(&self.clocks.before)?;
        let delay = bonus_ms([white, black][side], v1::BonusMode::Delay);
        let due = elapsed.saturating_sub(delay.saturating_sub(self.spent_ms));
        let due = due.min(self.left[side].unwrap_or(u64::MAX));
        let is_so = match cause {
            Cause::Move
            | Cause::Pause
            | Cause::LateArrival
            | Cause::Reinstated
            | Cause::BonusChanged
            | Cause::End => match self.running {
                Running::Known(_) => charged == due,
                // Whether the delay had begun is not known then.
                Running::Unknown => charged <= elapsed,
            },
            // Of the elapsed time only what was before the referee was away.
            Cause::DownTime => charged <= due,
            // Whatever was left is gone.
            Cause::Flag => self.left[side].is_none_or(|left| charged == left),
            Cause::Start
            | Cause::Increment
            | Cause::NextPeriod
            | Cause::Resume
            | Cause::Grant
            | Cause::MoveCount => charged == 0,
            Cause::Penalty | Cause::ArbiterSet | Cause::TakenBack | Cause::Unspecified => true,
        };
        if is_so {
            return Ok(());
        }
        let name = cause.as_str_name();
        Err(format!(
            "{name} charges {charged} ms, where {due} ms were due"
        ))
    }

    /// A bonus and the time of a period must be those of the time control.
    fn check_credit(
        &self,
        cause: Cause,
        side: usize,
        credited: u64,
        left: Option<u64>,
    ) -> Result<(), String> {
        let is_full = left == Some(CLOCK_MS_MAX);
        let owes = |ms: u64| credited == ms || is_full && credited < ms;
        let before = sides(&self.clocks.before)?[side];
        let after = sides(self.after)?[side];
        let is_so = match cause {
            Cause::Start | Cause::Increment => [before, after].into_iter().any(|clock| {
                owes(bonus_ms(clock, v1::BonusMode::Fischer))
                    || cause == Cause::Start && credited == 0
                    || cause == Cause::Increment
                        && credited <= bonus_ms(clock, v1::BonusMode::Bronstein)
            }),
            Cause::NextPeriod => self.clocks.period_times(side).any(owes),
            Cause::Penalty | Cause::Grant | Cause::ArbiterSet => true,
            Cause::Unspecified => return Err("a clock changed without a cause".into()),
            _ => credited == 0,
        };
        if is_so {
            return Ok(());
        }
        let name = cause.as_str_name();
        Err(format!(
            "{name} credits {credited} ms, which the time control does not have"
        ))
    }

    /// Lets the clocks be as a line leaves them, as far as it tells.
    fn turn(&mut self, cause: Cause, side: usize, (received, elapsed): (u64, u64)) {
        let own = if side == 0 {
            v1::Color::White
        } else {
            v1::Color::Black
        };
        match cause {
            Cause::Start => {
                self.running = Running::Unknown;
                self.is_paused = false;
                self.since_ms = Some(received);
                self.spent_ms = 0;
            }
            Cause::Move => {
                self.moves[side] = self.moves[side].saturating_add(1);
                if self.running == Running::Known(Some(own)) || self.running == Running::Unknown {
                    self.settle(received, elapsed);
                    self.running = Running::Unknown;
                }
            }
            Cause::Pause => {
                self.settle(received, elapsed);
                self.is_paused = true;
            }
            Cause::Resume => {
                self.running = Running::Unknown;
                self.is_paused = false;
                self.since_ms = Some(received);
            }
            Cause::Reinstated => {
                self.settle(received, elapsed);
                self.running = Running::Unknown;
            }
            Cause::MoveCount => self.sets_moves[side] = true,
            Cause::LateArrival
            | Cause::Flag
            | Cause::DownTime
            | Cause::ArbiterSet
            | Cause::BonusChanged
            | Cause::End
                if elapsed > 0 =>
            {
                self.settle(received, elapsed);
            }
            _ => {}
        }
    }

    fn settle(&mut self, received: u64, elapsed: u64) {
        self.since_ms = Some(received.max(self.since_ms.unwrap_or(0)));
        self.spent_ms = self.spent_ms.saturating_add(elapsed);
    }

    /// Compares the sum with the clocks after the entry.
    fn close(&self, has_lines: bool, time_ms: u64, faults: &mut Vec<String>) -> Result<(), String> {
        let (before, after) = (sides(&self.clocks.before)?, sides(self.after)?);
        for side in 0..2 {
            let name = NAMES[side];
            let (old, new) = (before[side], after[side]);
            let told = ms_of(new.time_left)?;
            if told != self.left[side] {
                let (told, sum) = (show(told), show(self.left[side]));
                faults.push(format!(
                    "{name} has {told} left, but its lines come to {sum}"
                ));
            }
            if !self.sets_moves[side] && new.moves != self.moves[side] {
                faults.push(format!(
                    "{name} has made {} moves, but its lines come to {}",
                    new.moves, self.moves[side]
                ));
            }
            let rest = |clock: &v1::SideClock| v1::SideClock {
                time_left: None,
                moves: 0,
                ..*clock
            };
            if !self.has_line[side] && rest(old) != rest(new) {
                faults.push(format!("the clock of {name} changed without a line"));
            }
        }
        let clocks = &self.clocks.before;
        let run = |clocks: &v1::Clocks| {
            (
                clocks.running,
                clocks.since_time,
                clocks.spent,
                clocks.paused,
            )
        };
        // Clocks that stand still end with the game, and no time has passed on them.
        let is_laid_aside = clocks.paused && run(self.after) == run(&v1::Clocks::default());
        if !has_lines && run(clocks) != run(self.after) && !is_laid_aside {
            faults.push("which clock runs, and since when, changed without a line".into());
        }
        self.check_run(time_ms, faults)
    }

    /// The clock that runs must run since a moment that is told, and up to the right deadline.
    fn check_run(&self, time_ms: u64, faults: &mut Vec<String>) -> Result<(), String> {
        let since = line_ms_of(self.after.since_time)?;
        if since.is_some_and(|since| since > time_ms) {
            faults.push("a clock runs since a time to come".into());
        }
        if since.is_some() && since < line_ms_of(self.clocks.before.since_time)? {
            faults.push("a clock runs since a time before it was last settled".into());
        }
        let [white, black] = sides(self.after)?;
        let running = match self.after.running() {
            v1::Color::White => Some(white),
            v1::Color::Black => Some(black),
            v1::Color::Unspecified => None,
        };
        let mut expected = None;
        if let (Some(clock), Some(since), false) = (running, since, self.after.paused)
            && let Some(left) = ms_of(clock.time_left)?
        {
            let spent = ms_of(self.after.spent)?.unwrap_or(0);
            let delay = bonus_ms(clock, v1::BonusMode::Delay).saturating_sub(spent);
            expected = Some(since.saturating_add(left).saturating_add(delay))
                .filter(|&deadline| deadline <= TIME_MS_MAX);
        }
        let told = line_ms_of(self.after.deadline_time)?;
        if told != expected {
            let (told, expected) = (show(told), show(expected));
            faults.push(format!(
                "the flag falls at {told}, but was to fall at {expected}"
            ));
        }
        Ok(())
    }
}

fn show(ms: Option<u64>) -> String {
    ms.map_or("no time".into(), |ms| format!("{ms} ms"))
}
