//! Clocks between the contract and the rules: settings, readings, ledger lines.

use referee_api::v1;
use referee_laws::{
    Bonus, CLOCK_MS_MAX, ClockSetup, Clocks, Color, Game, Keeper, LedgerCause, LedgerLine, Period,
    Profile, SideClock, TIME_CONTROL_LENGTH_MAX, TIME_MS_MAX, Time, TimeControl, Timing,
};

use super::enums::{InContract, stored_enum, unknown, write_optional};
use super::time::{read_ms, stored_ms, stored_time, write_ms, write_time};
use crate::error::Error;
use crate::fields::Fields;
use crate::limits;

/// Reads how the time of a game is kept.
pub fn read_timing(
    field: &str,
    settings: Option<&v1::ClockSettings>,
    setup: Option<&v1::Setup>,
    profile: &Profile,
    fields: &mut Fields,
) -> Timing {
    let empty = v1::ClockSettings::default();
    let settings = settings.unwrap_or(&empty);
    let keeper = fields.choice(&format!("{field}.clock_settings.keeper"), settings.keeper);
    let keeper = Keeper::from_v1(keeper).unwrap_or(Keeper::Referee);
    let mut read = |control: &Option<v1::TimeControl>, name: &str| {
        let field = format!("{field}.clock_settings.{name}");
        read_control(&field, control.as_ref()?, profile, fields)
    };
    let both = read(&settings.time_control, "time_control");
    let white = read(&settings.white_time_control, "white_time_control").or_else(|| both.clone());
    let black = read(&settings.black_time_control, "black_time_control").or(both);
    Timing {
        keeper,
        white,
        black,
        setup: read_setup(&format!("{field}.setup"), setup, fields),
    }
}

fn read_setup(field: &str, setup: Option<&v1::Setup>, fields: &mut Fields) -> ClockSetup {
    let Some(setup) = setup else {
        return ClockSetup::default();
    };
    let mut side = |name: &str, side: Option<&v1::SideSetup>| {
        let Some(side) = side else { return (None, 0) };
        let (time_left, moves) = (side.time_left, side.moves);
        let field = format!("{field}.{name}");
        let left_ms = read_ms(
            &format!("{field}.time_left"),
            time_left,
            CLOCK_MS_MAX,
            fields,
        );
        let max = limits::SETUP_MOVES_MAX;
        limited(&format!("{field}.moves"), moves, max, fields);
        (left_ms, moves.min(max))
    };
    let white = side("white", setup.white.as_ref());
    let black = side("black", setup.black.as_ref());
    ClockSetup {
        left_ms: [white.0, black.0],
        moves: [white.1, black.1],
    }
}

/// Checks a number that begins with 0.
pub(crate) fn limited(field: &str, value: u32, max: u32, fields: &mut Fields) {
    if u64::from(value) > fields.limit(max.into()) {
        fields.refuse(field, format!("must be from 0 to {max}"));
    }
}

fn read_control(
    field: &str,
    message: &v1::TimeControl,
    profile: &Profile,
    fields: &mut Fields,
) -> Option<TimeControl> {
    let at_start = message
        .increment_at_start
        .unwrap_or(profile.parameters.increment_at_start);
    if !message.pgn.is_empty() {
        let name = format!("{field}.pgn");
        if !message.periods.is_empty() {
            fields.refuse(&name, "and periods exclude each other; give one of them");
        }
        fields.length(&name, &message.pgn, TIME_CONTROL_LENGTH_MAX);
        return match TimeControl::read_pgn(&message.pgn) {
            Ok(control) => control.map(|control| control.with_increment_at_start(at_start)),
            Err(error) => {
                fields.refuse(&name, error.to_string());
                None
            }
        };
    }
    if message.periods.is_empty() {
        return None;
    }
    let name = format!("{field}.periods");
    fields.count(
        &name,
        "periods",
        message.periods.len(),
        referee_laws::PERIODS_MAX,
    );
    let periods = message
        .periods
        .iter()
        .take(referee_laws::PERIODS_MAX)
        .enumerate()
        .map(|(index, period)| read_period(&format!("{name}[{index}]"), period, fields))
        .collect();
    match TimeControl::new(periods, at_start) {
        Ok(control) => Some(control),
        Err(error) => {
            fields.refuse(&name, error.to_string());
            None
        }
    }
}

fn read_period(field: &str, message: &v1::TimePeriod, fields: &mut Fields) -> Period {
    let time = fields.required(&format!("{field}.time"), message.time);
    let time_ms = read_ms(
        &format!("{field}.time"),
        time,
        referee_laws::PERIOD_MS_MAX,
        fields,
    );
    let bonus_ms = read_ms(
        &format!("{field}.bonus"),
        message.bonus,
        referee_laws::BONUS_MS_MAX,
        fields,
    )
    .unwrap_or_default();
    let mode = fields.choice(&format!("{field}.bonus_mode"), message.bonus_mode);
    let says_nothing = matches!(mode, v1::BonusMode::Unspecified | v1::BonusMode::None);
    if says_nothing && bonus_ms > 0 {
        fields.refuse(
            &format!("{field}.bonus_mode"),
            "must say what the bonus does, such as BONUS_MODE_FISCHER",
        );
    }
    Period {
        moves: (message.moves > 0).then_some(message.moves),
        time_ms: time_ms.unwrap_or_default(),
        bonus: read_bonus(mode, bonus_ms),
    }
}

/// Makes both directions of what a bonus does from one list.
macro_rules! bonus_modes {
    ($($mode:ident),+) => {
        /// A bonus of nothing is none, whatever it would do.
        fn read_bonus(mode: v1::BonusMode, ms: u64) -> Bonus {
            match mode {
                _ if ms == 0 => Bonus::None,
                v1::BonusMode::Unspecified | v1::BonusMode::None => Bonus::None,
                $(v1::BonusMode::$mode => Bonus::$mode(ms),)+
            }
        }

        fn bonus_mode(bonus: Bonus) -> v1::BonusMode {
            match bonus {
                Bonus::None => v1::BonusMode::None,
                $(Bonus::$mode(_) => v1::BonusMode::$mode,)+
            }
        }
    };
}

bonus_modes!(Fischer, Bronstein, Delay);

/// Writes the settings as they were resolved, so that a stored game keeps them.
pub fn write_settings(timing: &Timing) -> v1::ClockSettings {
    let control = |control: &Option<TimeControl>| {
        control.as_ref().map(|control| v1::TimeControl {
            pgn: String::new(),
            periods: control
                .periods()
                .iter()
                .map(|period| v1::TimePeriod {
                    moves: period.moves.unwrap_or_default(),
                    time: Some(write_ms(period.time_ms)),
                    bonus_mode: bonus_mode(period.bonus).into(),
                    bonus: (period.bonus.ms() > 0).then(|| write_ms(period.bonus.ms())),
                })
                .collect(),
            increment_at_start: Some(control.increment_at_start()),
        })
    };
    let same = timing.white == timing.black;
    v1::ClockSettings {
        keeper: timing.keeper.to_v1().into(),
        time_control: if same { control(&timing.white) } else { None },
        white_time_control: if same { None } else { control(&timing.white) },
        black_time_control: if same { None } else { control(&timing.black) },
    }
}

/// Writes both clocks of a game whose time somebody keeps.
pub fn write_clocks(clocks: &Clocks, keeper: Keeper) -> v1::Clocks {
    let time = |time| write_time(time, keeper);
    v1::Clocks {
        white: Some(write_side(&clocks.white)),
        black: Some(write_side(&clocks.black)),
        running: write_optional(clocks.running).into(),
        since_time: clocks.since.map(time),
        spent: (clocks.spent_ms > 0).then(|| write_ms(clocks.spent_ms)),
        paused: clocks.paused,
        deadline_time: clocks.deadline().map(time),
    }
}

fn write_side(clock: &SideClock) -> v1::SideClock {
    let bonus = clock.bonus();
    v1::SideClock {
        time_left: clock.left_ms.map(write_ms),
        period: clock.period.into(),
        moves_in_period: clock.moves_in_period,
        moves: clock.moves,
        flag_down: clock.flag_down,
        bonus_mode: bonus_mode(bonus).into(),
        bonus: (bonus.ms() > 0).then(|| write_ms(bonus.ms())),
    }
}

/// Reads how the time of a game was kept, as it was stored.
///
/// # Errors
///
/// Where this program could not have written it.
pub fn stored_timing(
    settings: Option<&v1::ClockSettings>,
    setup: Option<&v1::Setup>,
) -> Result<Timing, Error> {
    let settings = settings.ok_or_else(|| Error::damaged("the clock settings"))?;
    let keeper = stored_enum("the keeper of the time", settings.keeper)?;
    let keeper = keeper.ok_or_else(|| Error::damaged("the keeper of the time"))?;
    let read = |control: &Option<v1::TimeControl>| {
        let control = control.as_ref();
        control.map(stored_control).transpose()
    };
    let both = read(&settings.time_control)?;
    let setup = setup.cloned().unwrap_or_default();
    let [white, black] = [setup.white, setup.black].map(Option::unwrap_or_default);
    Ok(Timing {
        keeper,
        white: read(&settings.white_time_control)?.or_else(|| both.clone()),
        black: read(&settings.black_time_control)?.or(both),
        setup: ClockSetup {
            left_ms: [stored_ms(white.time_left)?, stored_ms(black.time_left)?],
            moves: [white.moves, black.moves],
        },
    })
}

fn stored_control(message: &v1::TimeControl) -> Result<TimeControl, Error> {
    let periods = message.periods.iter().map(|period| {
        let time_ms = stored_ms(period.time)?;
        Ok(Period {
            moves: (period.moves > 0).then_some(period.moves),
            time_ms: time_ms.ok_or_else(|| Error::damaged("the time of a period"))?,
            bonus: stored_bonus(period.bonus_mode, period.bonus)?,
        })
    });
    let periods = periods.collect::<Result<_, Error>>()?;
    let at_start = message.increment_at_start;
    let at_start = at_start.ok_or_else(|| Error::damaged("when an increment is added"))?;
    TimeControl::recorded(periods, at_start).ok_or_else(|| Error::damaged("a time control"))
}

fn stored_bonus(mode: i32, bonus: Option<prost_types::Duration>) -> Result<Bonus, Error> {
    let mode = v1::BonusMode::try_from(mode).map_err(|_| unknown("a bonus", mode))?;
    Ok(read_bonus(mode, stored_ms(bonus)?.unwrap_or_default()))
}

/// Reads clocks that were stored. The time controls are those of the clocks before, unless the
/// bonus was changed (guideline III.4).
///
/// # Errors
///
/// Where this program could not have written it.
pub fn stored_clocks(message: &v1::Clocks, before: &Clocks) -> Result<Clocks, Error> {
    let side = |message: &Option<v1::SideClock>, before: &SideClock| {
        let message = message.as_ref().ok_or_else(|| Error::damaged("a clock"))?;
        stored_side(message, before)
    };
    Ok(Clocks {
        white: side(&message.white, &before.white)?,
        black: side(&message.black, &before.black)?,
        running: stored_enum("whose clock runs", message.running)?,
        since: stored_time(message.since_time)?,
        spent_ms: stored_ms(message.spent)?.unwrap_or_default(),
        paused: message.paused,
    })
}

fn stored_side(message: &v1::SideClock, before: &SideClock) -> Result<SideClock, Error> {
    let wrong = |_| Error::damaged("the period of a clock");
    let period = u8::try_from(message.period).map_err(wrong)?;
    let left_ms = stored_ms(message.time_left)?;
    let bonus = stored_bonus(message.bonus_mode, message.bonus)?;
    let known = before
        .control
        .as_ref()
        .map(|control| control.period(period).bonus);
    let control = match &before.control {
        _ if known.unwrap_or(Bonus::None) == bonus => before.control.clone(),
        Some(control) => {
            let periods = control.periods().iter();
            let periods = periods.map(|&period| Period { bonus, ..period });
            TimeControl::recorded(periods.collect(), control.increment_at_start())
        }
        None => {
            let period = Period {
                moves: None,
                time_ms: left_ms.unwrap_or_default(),
                bonus,
            };
            TimeControl::recorded(vec![period], false)
        }
    };
    Ok(SideClock {
        control,
        left_ms,
        period,
        moves_in_period: message.moves_in_period,
        moves: message.moves,
        flag_down: message.flag_down,
    })
}

/// Writes a line of the ledger of a game whose time somebody keeps.
pub fn write_line(line: &LedgerLine, keeper: Keeper) -> v1::LedgerLine {
    v1::LedgerLine {
        side: line.side.to_v1().into(),
        cause: line.cause.to_v1().into(),
        received_time: Some(write_time(line.received, keeper)),
        elapsed: Some(write_ms(line.elapsed_ms)),
        charged: Some(write_ms(line.charged_ms)),
        credited: Some(write_ms(line.credited_ms)),
        left: line.left_ms.map(write_ms),
    }
}

/// Reads a line of the ledger that was stored.
///
/// # Errors
///
/// Where this program could not have written it.
pub fn stored_line(message: &v1::LedgerLine) -> Result<LedgerLine, Error> {
    let ms = |value| Ok::<u64, Error>(stored_ms(value)?.unwrap_or_default());
    Ok(LedgerLine {
        side: Color::from_v1(message.side())
            .ok_or_else(|| Error::damaged("the side of a clock"))?,
        cause: LedgerCause::from_v1(message.cause())
            .ok_or_else(|| Error::damaged("the cause of a change of a clock"))?,
        received: stored_time(message.received_time)?.unwrap_or_default(),
        elapsed_ms: ms(message.elapsed)?,
        charged_ms: ms(message.charged)?,
        credited_ms: ms(message.credited)?,
        left_ms: stored_ms(message.left)?,
    })
}

/// When an action happened, as a platform tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldTime {
    /// So many milliseconds after the action before.
    Elapsed(u64),
    /// At this point of its own line.
    At(Time),
}

/// Reads when an action happened.
pub fn read_told_time(
    field: &str,
    message: Option<&v1::PlatformTime>,
    fields: &mut Fields,
) -> Option<ToldTime> {
    use v1::platform_time::Kind;
    match message?.kind {
        None => {
            fields.refuse(field, "must say elapsed or at");
            None
        }
        Some(Kind::Elapsed(value)) => {
            let field = format!("{field}.elapsed");
            read_ms(&field, Some(value), CLOCK_MS_MAX, fields).map(ToldTime::Elapsed)
        }
        Some(Kind::At(value)) => {
            let ms = read_ms(&format!("{field}.at"), Some(value), TIME_MS_MAX, fields)?;
            Time::from_ms(ms).ok().map(ToldTime::At)
        }
    }
}

/// Returns when an action happened on the time line of its game; `None` where the platform's time
/// goes backwards. It arrived so many microseconds after the beginning of 1970.
///
/// # Errors
///
/// Where the platform tells a time and the referee keeps it, or leads beyond the end of the line.
pub fn time_of(
    game: &Game,
    told: Option<ToldTime>,
    arrival_us: i64,
) -> Result<Option<Time>, Error> {
    match (game.keeper(), told) {
        (Keeper::Referee, None) => {
            let ms = u64::try_from(arrival_us / 1_000).unwrap_or_default();
            Ok(Some(Time::from_ms(ms).unwrap_or_default().max(game.time())))
        }
        (Keeper::Referee, Some(_)) => {
            Err(Error::field("action.platform_time", refuse_told_time(game)))
        }
        (Keeper::Platform, None) => Ok(Some(game.time())),
        (Keeper::Platform, Some(ToldTime::Elapsed(ms))) => {
            let time = game.time().checked_add_ms(ms);
            let beyond = "leads beyond the end of the time line of the game";
            let time = time.ok_or_else(|| Error::field("action.platform_time.elapsed", beyond))?;
            Ok(Some(time))
        }
        (Keeper::Platform, Some(ToldTime::At(time))) => Ok((time >= game.time()).then_some(time)),
    }
}

/// Why a platform cannot tell the time in a game whose time it does not keep, and the way out.
fn refuse_told_time(game: &Game) -> &'static str {
    let clocks = &game.conduct().clocks;
    let is_untimed = Color::ALL.map(|side| clocks.side(side).left_ms.is_none());
    if is_untimed == [true, true] {
        "must be left out, since this game is untimed; a game whose time the platform keeps is \
         created with CLOCK_KEEPER_PLATFORM"
    } else {
        "must be left out, since the referee keeps the time of this game; a game whose time the \
         platform keeps is created with CLOCK_KEEPER_PLATFORM"
    }
}
