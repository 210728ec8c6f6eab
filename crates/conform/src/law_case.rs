//! A case about the Laws: the game that it begins with, its events, and what it expects.

use referee_api::v1;
use referee_api::v1::position::Base;

use crate::event::{Event, Step};
use crate::expectation::Expectation;
use crate::fields::{CaseError, Fields, duration};
use crate::{parameters, words};

/// A case about the Laws, ready to be played.
#[derive(Debug)]
pub(crate) struct LawCase {
    /// The game to create.
    pub(crate) game: v1::Game,
    /// What happens in it.
    pub(crate) events: Vec<Event>,
    /// What is to be so at the end.
    pub(crate) expected: Expectation,
    /// The fields of the case that nobody knows, by their paths.
    pub(crate) unread: Vec<String>,
}

impl LawCase {
    /// Reads a case.
    pub(crate) fn read(fields: &Fields) -> Result<LawCase, CaseError> {
        let mut unread = Vec::new();
        let mut events = Vec::new();
        for (index, value) in fields.list("events")?.iter().enumerate() {
            let event = Fields::new(format!("events[{index}]"), value)?;
            events.push(Event::read(&event)?);
            unread.extend(event.unread());
        }
        let setup = fields.object("setup")?;
        let mut game = read_game(fields, setup.as_ref())?;
        if let Some(setup) = &setup {
            count_moves(fields, &events, &mut game)?;
            unread.extend(setup.unread());
        } else {
            count_moves(fields, &events, &mut game)?;
        }
        let expected = Expectation::read(fields)?;
        for words in ["id", "law", "why", "note"] {
            fields.value(words);
        }
        unread.extend(fields.unread());
        Ok(LawCase {
            game,
            events,
            expected,
            unread,
        })
    }
}

fn read_game(fields: &Fields, setup: Option<&Fields>) -> Result<v1::Game, CaseError> {
    let mut overrides = match fields.object("overrides")? {
        Some(overrides) => Some(parameters::read(&overrides)?),
        None => None,
    };
    let mut clock_settings = v1::ClockSettings {
        keeper: v1::ClockKeeper::Platform.into(),
        ..v1::ClockSettings::default()
    };
    let mut taken_over = None;
    if let Some(setup) = setup {
        if let Some(time) = setup.small_number("default_time_ms")? {
            let overrides = overrides.get_or_insert_default();
            overrides.default_time_ms.get_or_insert(time);
        }
        read_clock(setup, &mut clock_settings)?;
        taken_over = Some(read_setup(setup)?);
    }
    let mut position = v1::Position {
        variant: words::variant(fields, "variant")?.into(),
        ..v1::Position::default()
    };
    match fields.required_text("start")? {
        "startpos" => {}
        fen => position.base = Some(Base::Fen(fen.to_owned())),
    }
    Ok(v1::Game {
        rule_profile: Some(v1::RuleProfile {
            name: fields.required_text("profile")?.to_owned(),
            overrides,
            ..v1::RuleProfile::default()
        }),
        initial_position: Some(position),
        clock_settings: Some(clock_settings),
        setup: taken_over,
        ..v1::Game::default()
    })
}

fn read_setup(setup: &Fields) -> Result<v1::Setup, CaseError> {
    let illegal = setup.object("illegal")?;
    let count = |name: &str| match &illegal {
        Some(illegal) => Ok(illegal.small_number(name)?.unwrap_or_default()),
        None => Ok(0),
    };
    let side = |name: &str| -> Result<Option<v1::SideSetup>, CaseError> {
        let moves = setup.small_number(&format!("{name}_moves"))?;
        Ok(Some(v1::SideSetup {
            time_left: setup.time(&format!("{name}_ms"))?,
            moves: moves.unwrap_or_default(),
            illegal_moves: count(name)?,
        }))
    };
    Ok(v1::Setup {
        white: side("w")?,
        black: side("b")?,
        plies_without_capture: setup.small_number("no_capture_plies")?,
    })
}

/// Reads the time controls. A clock without periods that gives something for each move has one
/// period, with the time that is left; one that gives nothing leaves the game without a control.
fn read_clock(setup: &Fields, settings: &mut v1::ClockSettings) -> Result<(), CaseError> {
    let Some(clock) = setup.object("clock")? else {
        return Ok(());
    };
    let mode = words::bonus_mode(&clock, "mode")?;
    let bonus = clock.time("inc_ms")?;
    let control = |periods: Vec<v1::TimePeriod>| -> Result<v1::TimeControl, CaseError> {
        Ok(v1::TimeControl {
            periods,
            increment_at_start: clock.flag("increment_at_start")?,
            ..v1::TimeControl::default()
        })
    };
    let mut periods = Vec::new();
    for (index, value) in clock.list("periods")?.iter().enumerate() {
        let period = Fields::new(format!("{}[{index}]", clock.path("periods")), value)?;
        let missing = || period.error("ms", "is missing");
        let own_mode = match period.text("mode")? {
            Some(_) => words::bonus_mode(&period, "mode")?,
            None => mode,
        };
        periods.push(v1::TimePeriod {
            moves: period.small_number("moves")?.unwrap_or_default(),
            time: Some(period.time("ms")?.ok_or_else(missing)?),
            bonus_mode: own_mode.into(),
            bonus: period.time("inc_ms")?.or(bonus),
        });
    }
    if !periods.is_empty() {
        settings.time_control = Some(control(periods)?);
        return Ok(());
    }
    if mode == v1::BonusMode::None {
        return Ok(());
    }
    let (white, black) = (setup.number("w_ms")?, setup.number("b_ms")?);
    let one = |ms: u64| {
        control(vec![v1::TimePeriod {
            moves: 0,
            time: Some(duration(ms)),
            bonus_mode: mode.into(),
            bonus,
        }])
    };
    let missing = || setup.error("clock.periods", "is missing, and no time is given either");
    let (white, black) = match (white, black) {
        (Some(white), black) => (white, black.unwrap_or(white)),
        (None, Some(black)) => (black, black),
        (None, None) => return Err(missing()),
    };
    settings.white_time_control = Some(one(white)?);
    settings.black_time_control = Some(one(black)?);
    Ok(())
}

/// Where an event says which move of its side is completed, the side has made those before.
fn count_moves(fields: &Fields, events: &[Event], game: &mut v1::Game) -> Result<(), CaseError> {
    let list = fields.list("events")?;
    for (index, (event, value)) in events.iter().zip(list).enumerate() {
        let [Step::Complete(side)] = event.steps[..] else {
            continue;
        };
        let place = Fields::new(format!("events[{index}]"), value)?;
        let Some(number) = place.small_number("move_number")? else {
            continue;
        };
        let earlier = events[..index]
            .iter()
            .filter(|event| event.steps == [Step::Complete(side)]);
        let before = number.saturating_sub(1);
        let before = before.saturating_sub(u32::try_from(earlier.count()).unwrap_or(u32::MAX));
        let setup = game.setup.get_or_insert_default();
        let side = match side {
            v1::Color::Black => setup.black.get_or_insert_default(),
            _ => setup.white.get_or_insert_default(),
        };
        if side.moves == 0 {
            side.moves = before;
        }
    }
    Ok(())
}
