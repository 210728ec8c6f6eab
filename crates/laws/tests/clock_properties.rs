//! What holds for every pair of clocks, whatever is done to them.

use proptest::prelude::*;
use referee_laws::{
    Bonus, CLOCK_MS_MAX, ClockChange, ClockSetup, Clocks, Color, LedgerCause, Period, Time,
    TimeControl, adds_up,
};

/// Something that is done to clocks.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Start(Color),
    CompleteMove(Color),
    CompleteRunning,
    CompleteUnpressed(Color),
    Pause,
    Resume(Option<Color>),
    Penalize(Color, u64, u64),
    Grant(Color, u64),
    TakeBack(Color, u64),
    Set(Color, u64),
    SetMoves(Color, u32),
    Fall(Color),
    Arrive(Color),
    SwitchTo(Color),
    StandStill(u64),
    ChangeBonus(Bonus),
    Stop,
}

/// How much later it is done.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Ms(u64),
    /// Until the deadline, if there is one, and so much after it.
    Deadline(u64),
}

fn sides() -> impl Strategy<Value = Color> {
    prop_oneof![Just(Color::White), Just(Color::Black)]
}

fn bonuses() -> impl Strategy<Value = Bonus> {
    let ms = prop_oneof![4 => 1u64..10_000, 1 => 1u64..=3_600_000];
    prop_oneof![
        Just(Bonus::None),
        ms.clone().prop_map(Bonus::Fischer),
        ms.clone().prop_map(Bonus::Bronstein),
        ms.prop_map(Bonus::Delay),
    ]
}

/// Short periods, so that many end.
fn controls(bonus: impl Strategy<Value = Bonus>) -> impl Strategy<Value = TimeControl> {
    let times = prop_oneof![8 => 1u64..60_000, 1 => 1u64..=8_640_000_000];
    let periods = prop::collection::vec((1u32..4, times, bonus), 1..4);
    (periods, any::<bool>(), any::<bool>()).prop_map(|(periods, is_endless, is_first)| {
        let last = periods.len() - 1;
        let periods = periods.into_iter().enumerate();
        let periods = periods.map(|(index, (moves, time_ms, bonus))| Period {
            moves: (index < last || !is_endless).then_some(moves),
            time_ms,
            bonus,
        });
        TimeControl::new(periods.collect(), is_first).expect("the periods are in range")
    })
}

fn clocks() -> impl Strategy<Value = Clocks> {
    let control = || prop::option::weighted(0.9, controls(bonuses()));
    let left = || prop::option::weighted(0.3, prop_oneof![0u64..60_000, 0..=CLOCK_MS_MAX]);
    let setups = (left(), left(), 0u32..8, 0u32..8);
    (control(), control(), setups).prop_map(|(white, black, (w_ms, b_ms, w_moves, b_moves))| {
        let setup = ClockSetup {
            left_ms: [w_ms, b_ms],
            moves: [w_moves, b_moves],
        };
        Clocks::new(white, black, setup).expect("the setup is in range")
    })
}

fn operations() -> impl Strategy<Value = Operation> {
    let ms = || prop_oneof![4 => 0u64..200_000, 1 => any::<u64>()];
    let side = || prop::option::of(sides());
    prop_oneof![
        2 => sides().prop_map(Operation::Start),
        2 => sides().prop_map(Operation::CompleteMove),
        20 => Just(Operation::CompleteRunning),
        1 => sides().prop_map(Operation::CompleteUnpressed),
        3 => Just(Operation::Pause),
        4 => side().prop_map(Operation::Resume),
        2 => (sides(), ms(), ms()).prop_map(|(side, off, on)| Operation::Penalize(side, off, on)),
        1 => (sides(), ms()).prop_map(|(side, ms)| Operation::Grant(side, ms)),
        1 => (sides(), ms()).prop_map(|(side, ms)| Operation::TakeBack(side, ms)),
        1 => (sides(), ms()).prop_map(|(side, ms)| Operation::Set(side, ms)),
        1 => (sides(), prop_oneof![0u32..10, any::<u32>()])
            .prop_map(|(side, moves)| Operation::SetMoves(side, moves)),
        1 => sides().prop_map(Operation::Fall),
        2 => sides().prop_map(Operation::Arrive),
        1 => sides().prop_map(Operation::SwitchTo),
        2 => (0u64..60_000).prop_map(Operation::StandStill),
        1 => bonuses().prop_map(Operation::ChangeBonus),
        1 => Just(Operation::Stop),
    ]
}

fn waits() -> impl Strategy<Value = Wait> {
    prop_oneof![
        2 => Just(Wait::Ms(0)),
        10 => (0u64..20_000).prop_map(Wait::Ms),
        1 => (0u64..10_000_000_000).prop_map(Wait::Ms),
        2 => (0u64..2).prop_map(Wait::Deadline),
    ]
}

fn steps() -> impl Strategy<Value = Vec<(Wait, Operation)>> {
    prop::collection::vec((waits(), operations()), 0..60)
}

fn later(now: Time, ms: u64) -> Time {
    now.checked_add_ms(ms).expect("no test is that long")
}

fn wait(clocks: &Clocks, now: Time, wait: Wait) -> Time {
    match wait {
        Wait::Ms(ms) => later(now, ms),
        Wait::Deadline(after) => clocks
            .deadline()
            .map_or(now, |deadline| later(deadline, after))
            .max(now),
    }
}

fn operate(clocks: &Clocks, operation: Operation, at: Time) -> Option<ClockChange> {
    Some(match operation {
        Operation::Start(side) => clocks.start(side, at),
        Operation::CompleteMove(side) => clocks.complete_move(side, at),
        Operation::CompleteRunning => clocks.complete_move(clocks.running?, at),
        Operation::CompleteUnpressed(side) => clocks.complete_unpressed(side, at),
        Operation::Pause => clocks.pause(at),
        Operation::Resume(side) => clocks.resume(side, at),
        Operation::Penalize(side, off, on) => clocks.penalize(side, off, on, at),
        Operation::Grant(side, ms) => clocks.grant(side, ms, at),
        Operation::TakeBack(side, ms) => clocks.take_back_credit(side, ms, at),
        Operation::Set(side, ms) => clocks.set(side, ms, at),
        Operation::SetMoves(side, moves) => clocks.set_moves(side, moves, at),
        Operation::Fall(side) => clocks.fall(side, at),
        Operation::Arrive(side) => clocks.arrive(side, at),
        Operation::SwitchTo(side) => clocks.switch_to(side, at),
        Operation::StandStill(ms) => {
            clocks.stand_still(Time::from_ms(at.ms().saturating_sub(ms)).ok()?, at)
        }
        // A bonus can be refused where it would leave a period with nothing.
        Operation::ChangeBonus(bonus) => clocks.change_bonus(bonus, at).ok()?,
        Operation::Stop => clocks.stop(at),
    })
}

/// Plays steps, looks at every change, and returns the clocks and the time at the end.
fn play(
    start: &Clocks,
    steps: &[(Wait, Operation)],
    mut look: impl FnMut(&Clocks, &ClockChange, Time) -> Result<(), TestCaseError>,
) -> Result<(Clocks, Time), TestCaseError> {
    let mut clocks = start.clone();
    let mut now = Time::ORIGIN;
    for &(delay, operation) in steps {
        now = wait(&clocks, now, delay);
        if let Some(change) = operate(&clocks, operation, now) {
            look(&clocks, &change, now)?;
            clocks = change.clocks;
        }
    }
    Ok((clocks, now))
}

/// Compares what clocks show, now and later, leaving out how they came to it.
fn shows_the_same(one: &Clocks, other: &Clocks, now: Time) -> Result<(), TestCaseError> {
    prop_assert_eq!(one.running, other.running);
    prop_assert_eq!(one.deadline(), other.deadline());
    for side in Color::ALL {
        for ms in [0, 1, 3_000, 60_000, 10_000_000_000] {
            let then = later(now, ms);
            prop_assert_eq!(one.left_at(side, then), other.left_at(side, then));
            prop_assert_eq!(one.is_flag_down(side, then), other.is_flag_down(side, then));
        }
        prop_assert_eq!(one.side(side).moves, other.side(side).moves);
        prop_assert_eq!(one.side(side).period, other.side(side).period);
    }
    Ok(())
}

/// A clock that ticks: another way to the same numbers, a millisecond at a time.
struct TickingClock {
    periods: Vec<Period>,
    is_first: bool,
    left_ms: u64,
    delay_ms: u64,
    used_ms: u64,
    moves_to_go: Option<u32>,
    is_late: bool,
    flag_down: bool,
}

impl TickingClock {
    fn new(control: &TimeControl) -> TickingClock {
        // The last period is first, so that the one in play is taken off the end.
        let mut periods = control.periods().to_vec();
        periods.reverse();
        let mut clock = TickingClock {
            periods,
            is_first: control.increment_at_start(),
            left_ms: 0,
            delay_ms: 0,
            used_ms: 0,
            moves_to_go: None,
            is_late: false,
            flag_down: false,
        };
        clock.begin_period();
        clock.put_on_ahead();
        clock.begin_move();
        clock
    }

    fn period(&self) -> Period {
        *self.periods.last().expect("the last period stays")
    }

    fn begin_period(&mut self) {
        self.left_ms += self.period().time_ms;
        self.moves_to_go = self.period().moves;
    }

    fn begin_move(&mut self) {
        self.used_ms = 0;
        self.is_late = false;
        if let Bonus::Delay(ms) = self.period().bonus {
            self.delay_ms = ms;
        } else {
            self.delay_ms = 0;
        }
    }

    fn put_on_ahead(&mut self) {
        if let (true, Bonus::Fischer(ms)) = (self.is_first, self.period().bonus) {
            self.left_ms += ms;
        }
    }

    fn tick(&mut self) {
        self.used_ms += 1;
        if self.delay_ms > 0 {
            self.delay_ms -= 1;
        } else if self.left_ms > 0 {
            self.left_ms -= 1;
        } else {
            self.is_late = true;
            self.flag_down = true;
        }
    }

    fn press(&mut self) {
        // A clock that has run out is dead until something is put on it.
        let is_late = self.is_late || self.flag_down && self.left_ms == 0 && self.used_ms == 0;
        if !is_late {
            match self.period().bonus {
                Bonus::Fischer(ms) if !self.is_first => self.left_ms += ms,
                Bonus::Bronstein(ms) => self.left_ms += ms.min(self.used_ms),
                _ => {}
            }
        }
        self.moves_to_go = self.moves_to_go.map(|moves| moves - 1);
        let is_new_period = self.moves_to_go == Some(0);
        if is_new_period {
            if self.periods.len() > 1 {
                self.periods.pop();
            }
            self.begin_period();
        }
        if !is_late || is_new_period {
            self.put_on_ahead();
        }
        self.begin_move();
    }
}

/// Short times for clocks that tick.
fn small_bonuses() -> impl Strategy<Value = Bonus> {
    let ms = || 1u64..400;
    prop_oneof![
        Just(Bonus::None),
        ms().prop_map(Bonus::Fischer),
        ms().prop_map(Bonus::Bronstein),
        ms().prop_map(Bonus::Delay),
    ]
}

fn small_controls() -> impl Strategy<Value = TimeControl> {
    let periods = prop::collection::vec((1u32..4, 1u64..2_000, small_bonuses()), 1..4);
    (periods, any::<bool>(), any::<bool>()).prop_map(|(periods, is_endless, is_first)| {
        let last = periods.len() - 1;
        let periods = periods.into_iter().enumerate();
        let periods = periods.map(|(index, (moves, time_ms, bonus))| Period {
            moves: (index < last || !is_endless).then_some(moves),
            time_ms,
            bonus,
        });
        TimeControl::new(periods.collect(), is_first).expect("the periods are in range")
    })
}

proptest! {
    #[test]
    fn a_clock_that_ticks_comes_to_the_same(
        white in small_controls(),
        black in small_controls(),
        // For each move: thought before a pause, the pause, thought after it.
        moves in prop::collection::vec((0u64..500, 0u64..500, 0u64..500), 0..24),
    ) {
        let mut ticking = [TickingClock::new(&white), TickingClock::new(&black)];
        let clocks = Clocks::new(Some(white), Some(black), ClockSetup::default());
        let mut now = Time::ORIGIN;
        let mut clocks = clocks.expect("nothing is set up").start(Color::White, now).clocks;
        for (before, pause, after) in moves {
            let side = clocks.running.expect("a clock runs");
            let ticker = &mut ticking[side.index()];
            (0..before).for_each(|_| ticker.tick());
            now = later(now, before);
            prop_assert_eq!(clocks.left_at(side, now), Some(ticker.left_ms));
            clocks = clocks.pause(now).clocks;
            now = later(now, pause);
            clocks = clocks.resume(None, now).clocks;
            (0..after).for_each(|_| ticker.tick());
            now = later(now, after);
            prop_assert_eq!(clocks.left_at(side, now), Some(ticker.left_ms));
            prop_assert_eq!(clocks.is_flag_down(side, now), ticker.flag_down);
            ticker.press();
            clocks = clocks.complete_move(side, now).clocks;
            prop_assert_eq!(clocks.side(side).left_ms, Some(ticker.left_ms));
            prop_assert_eq!(clocks.is_flag_down(side, now), ticker.flag_down);
        }
    }
}

proptest! {
    // Of random clocks many do not run, or have run out, and say nothing to some of these.
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn every_change_adds_up(start in clocks(), steps in steps()) {
        play(&start, &steps, |before, change, _| {
            prop_assert_eq!(adds_up(before, change), Ok(()));
            for side in Color::ALL {
                let clock = change.clocks.side(side);
                prop_assert!(clock.left_ms.is_none_or(|ms| ms <= CLOCK_MS_MAX));
                let control = clock.control.as_ref();
                let place = control.map_or((0, clock.moves), |control| control.place(clock.moves));
                prop_assert_eq!((clock.period, clock.moves_in_period), place);
            }
            Ok(())
        })?;
    }

    /// All the time that passes while a clock runs is told by some line, once.
    #[test]
    fn no_time_is_lost_or_told_twice(start in clocks(), steps in steps()) {
        let (mut running_ms, mut told_ms) = (0, 0);
        let mut latest = Time::ORIGIN;
        let mut steps = steps;
        steps.push((Wait::Ms(1), Operation::Stop));
        play(&start, &steps, |before, change, now| {
            if before.running.is_some() && !before.paused {
                running_ms += now.since(latest);
            }
            latest = now;
            let lines = change.lines.iter().filter(|line| line.cause != LedgerCause::Resume);
            told_ms += lines.map(|line| line.elapsed_ms).sum::<u64>();
            Ok(())
        })?;
        prop_assert_eq!(told_ms, running_ms);
    }

    #[test]
    fn the_deadline_is_when_nothing_is_left(start in clocks(), steps in steps()) {
        let (clocks, now) = play(&start, &steps, |_, _, _| Ok(()))?;
        let Some(deadline) = clocks.deadline() else {
            let is_timed = clocks.running.is_some_and(|it| clocks.side(it).left_ms.is_some());
            prop_assert!(!is_timed || clocks.paused, "a clock runs at {now} without a deadline");
            return Ok(());
        };
        let side = clocks.running.expect("only a running clock has a deadline");
        prop_assert_eq!(clocks.left_at(side, deadline), Some(0));
        prop_assert_eq!(clocks.is_flag_down(side, deadline), clocks.side(side).flag_down);
        prop_assert!(clocks.is_flag_down(side, later(deadline, 1)));
        if clocks.side(side).left_ms > Some(0) {
            let before = Time::from_ms(deadline.ms() - 1).expect("it is on the line");
            prop_assert_eq!(clocks.left_at(side, before), Some(1));
        }
    }

    #[test]
    fn a_pause_without_length_changes_nothing(
        start in clocks(), steps in steps(), ms in 0u64..9_000,
    ) {
        let (clocks, now) = play(&start, &steps, |_, _, _| Ok(()))?;
        let at = later(now, ms);
        let is_overdue = clocks.deadline().is_some_and(|deadline| at > deadline);
        prop_assume!(!clocks.paused && !is_overdue);
        let resumed = clocks.pause(at).clocks.resume(None, at).clocks;
        shows_the_same(&clocks, &resumed, at)?;
    }

    /// A clock that is settled in the middle of a move comes to the same at its end.
    #[test]
    fn settling_in_between_changes_nothing(
        start in clocks(), steps in steps(), first in waits(), second in waits(),
    ) {
        let (clocks, now) = play(&start, &steps, |_, _, _| Ok(()))?;
        prop_assume!(clocks.running.is_some());
        let side = clocks.running.expect("a clock runs");
        let middle = wait(&clocks, now, first);
        let end = wait(&clocks, middle, second);
        let at_once = clocks.complete_move(side, end).clocks;
        let settled = clocks.arrive(side, middle).clocks;
        let is_overdue = clocks.is_flag_down(side, middle);
        prop_assume!(!is_overdue);
        let in_two = settled.complete_move(side, end).clocks;
        prop_assert_eq!(at_once, in_two);
    }

    /// The check finds a line that says something else.
    #[test]
    fn a_forged_line_does_not_add_up(
        start in clocks(), steps in steps(), field in 0usize..5, by in 1u64..1_000,
    ) {
        play(&start, &steps, |before, change, _| {
            for number in 0..change.lines.len() {
                let mut forged = change.clone();
                let line = &mut forged.lines[number];
                if line.left_ms.is_none() || before.side(line.side).left_ms.is_none() {
                    continue;
                }
                match field {
                    0 => line.charged_ms += by,
                    1 => line.credited_ms += by,
                    2 => line.left_ms = line.left_ms.map(|ms| ms + by),
                    3 => line.elapsed_ms += by + change_length(before, change),
                    _ => line.side = !line.side,
                }
                if field == 4 && line.charged_ms == 0 && line.credited_ms == 0 {
                    // A line of nothing can only be forged to be another line of nothing.
                    continue;
                }
                prop_assert!(adds_up(before, &forged).is_err(), "line {number} of {forged:?}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_time_control_is_read_as_it_was_written(control in controls(bonuses())) {
        let is_plain = |period: &Period| matches!(period.bonus, Bonus::None | Bonus::Fischer(_));
        match control.to_pgn() {
            Some(text) => {
                let plain = control.with_increment_at_start(false);
                prop_assert_eq!(TimeControl::read_pgn(&text), Ok(Some(plain)));
            }
            None => prop_assert!(!control.periods().iter().all(is_plain)),
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9:/+*.?\\- ]{0,24}|\\PC{0,12}") {
        match TimeControl::read_pgn(&text) {
            Ok(Some(control)) => {
                let written = control.to_pgn().expect("what is read can be written");
                prop_assert_eq!(TimeControl::read_pgn(&written), Ok(Some(control)));
            }
            Ok(None) => prop_assert_eq!(text.trim_ascii(), "-"),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Returns the time from when clocks were settled to the last line of a change.
fn change_length(before: &Clocks, change: &ClockChange) -> u64 {
    let end = change
        .lines
        .last()
        .map_or(Time::ORIGIN, |line| line.received);
    before.since.map_or(0, |since| end.since(since))
}
