//! `ImportPgn`: a text becomes a game, move by move, as if it had been played here.

mod actions;
mod begin;

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_laws::{GameResult, Keeper, TimeControl};
use referee_pgn::{FAULTS_MAX, Game, Place, Tags};
use referee_record::convert::clocks::ToldTime;
use referee_record::{Fields, read_creation};
use referee_review::{Finding, TimedMove, Verdict, read_control, read_one, time_moves};

use self::actions::{Imported, write_ends, write_moves};
use self::begin::begin;
use super::create::new_game;
use super::service::GamesService;
use super::verify_games::write_fault;
use crate::error::ServiceError;
use crate::games::Arrival;
use crate::limits;
use crate::transport::Caller;

/// Creates the game of a text and plays it through. What has begun ends, and the rest is left where
/// the caller goes away or the time of the call is over; a repetition goes on from there.
pub(super) async fn import(
    service: &GamesService,
    caller: &Caller,
    request: v1::ImportPgnRequest,
) -> Result<v1::ImportPgnResponse, ServiceError> {
    if request.game_id.is_empty() {
        // A repetition has to find the game again, so its name cannot be a new one each time.
        return Err(ServiceError::field("game_id", "is required for an import"));
    }
    let key = caller.key(request.game_id.clone())?;
    let _turn = service.imports.wait().await?;
    let read = move |is_unwanted: &dyn Fn() -> bool| read_import(&request, is_unwanted);
    let read = service.pool.run_while_wanted(read).await??;
    let Import {
        creation,
        genesis,
        game,
        actions,
        faults,
    } = read;
    let games = &service.games;
    let arrival = Arrival {
        time_us: games.now_us(),
        principal: Arc::clone(caller.principal()),
    };
    let (new, folded) = new_game(key.clone(), &creation, genesis, game, arrival.time_us);
    games.create(new, folded).await?;
    games.play(&key, actions, arrival).await?;
    let game = games.read(&key).await?;
    Ok(v1::ImportPgnResponse {
        game: Some(game.folded.view()),
        faults,
    })
}

/// What is imported: how the game begins, and every action that leads through it.
struct Import {
    creation: v1::CreateGameRequest,
    genesis: v1::Game,
    game: referee_laws::Game,
    actions: Vec<Imported>,
    faults: Vec<v1::TextFault>,
}

/// Reads a text that is to become a game, and judges it by the rules that it is to be played by:
/// what cannot be played to its end is refused as a whole. It stops where nobody wants it any more.
fn read_import(
    request: &v1::ImportPgnRequest,
    is_unwanted: &dyn Fn() -> bool,
) -> Result<Import, ServiceError> {
    let mut fields = Fields::default();
    fields.request_id("request_id", &request.request_id);
    fields.length("pgn", &request.pgn, limits::PGN_PIECE_BYTES_MAX);
    fields.finish()?;
    let reading = read_one(request.pgn.as_bytes())
        .map_err(|error| ServiceError::field("pgn", error.to_string()))?;
    let mut faults: Vec<v1::TextFault> = Vec::new();
    let mut tell = |text| faults.push(warning(reading.place, text));
    let control = read_control(&reading.game).unwrap_or_else(|error| {
        tell(format!(
            "the tag TimeControl cannot be understood, so it is only kept as it is: {error}"
        ));
        None
    });
    let creation = v1::CreateGameRequest {
        game: Some(begin(request, &reading.game, control.as_ref(), &mut tell)),
        game_id: request.game_id.clone(),
        request_id: request.request_id.clone(),
    };
    let (genesis, game) = read_creation(&creation)?;
    let verdict = Verdict::of(&reading, game.profile());
    let mut findings = verdict.findings.iter();
    if let Some(finding) = findings.find(|finding| finding.bars_replay()) {
        return Err(bars_import(finding, reading.end));
    }
    if game.keeper() != Keeper::Platform {
        return Err(ServiceError::damaged("the keeper of an imported game"));
    }
    let moves = time_moves(&reading.game, control.as_ref(), verdict.outcome.is_some())
        .map_err(|error| ServiceError::field("pgn", error.to_string()))?;
    tell_times(&reading.game, control.as_ref(), &moves, &mut tell);
    let mut actions = write_moves(&reading.game, &moves)?;
    // The clocks are judged as a whole, too, before anything is written.
    let after = try_out(game.clone(), &actions, reading.end, is_unwanted)?;
    if let Some(result) = verdict.recorded {
        let termination = reading.game.tags.get(Tags::TERMINATION);
        let ends = write_ends(result, termination, after.position().turn())?;
        actions.extend(choose_end(&after, result, ends, reading.end)?);
    }
    let found = verdict.findings.iter().map(|finding| {
        let place = finding.place().unwrap_or(reading.end);
        warning(place, finding.to_string())
    });
    faults.extend(found);
    // What is left out of the game is told before what is only not written as it should be.
    faults.extend(Verdict::warnings(&reading).map(write_fault));
    faults.truncate(FAULTS_MAX);
    Ok(Import {
        creation,
        genesis,
        game,
        actions,
        faults,
    })
}

/// Tells where the text says something of the clocks that has no place in the game.
fn tell_times(
    game: &Game,
    control: Option<&TimeControl>,
    moves: &[TimedMove],
    tell: &mut dyn FnMut(String),
) {
    let first = control.map(|control| control.period(0));
    let is_start = |shown: Duration| {
        let shown = shown.as_millis();
        first.is_some_and(|first| {
            let time = u128::from(first.time_ms);
            shown == time || shown == time + u128::from(first.bonus.ms())
        })
    };
    if game.start_clock.is_some_and(|shown| !is_start(shown)) {
        tell(
            "the clock before the first move is left out, since no time control has it".to_owned(),
        );
    }
    let mut left_out = moves.iter().enumerate().filter(|(_, mv)| mv.is_left_out);
    let Some((first, mv)) = left_out.next() else {
        return;
    };
    let more = match left_out.count() {
        0 => String::new(),
        count => format!(", and so is that of {count} more"),
    };
    tell(format!(
        "the time of half-move {}, {}, is left out, since the clock cannot have had it{more}",
        first + 1,
        mv.uci
    ));
}

/// What is said of a text that is imported all the same.
fn warning(place: Place, text: String) -> v1::TextFault {
    v1::TextFault {
        line: place.line,
        column: place.column,
        error: false,
        text,
    }
}

/// Says why a text is not imported, and where: at its end where what was found has no place.
fn bars_import(finding: &Finding, end: Place) -> ServiceError {
    let place = finding.place().unwrap_or(end);
    let (description, ply) = match finding {
        Finding::IllegalMove { fault, ply } => (fault.to_string(), Some(*ply)),
        Finding::Unreadable { fault } => (fault.to_string(), None),
        Finding::PlayedOn { ply, .. } => (finding.to_string(), Some(*ply)),
        _ => (finding.to_string(), None),
    };
    ServiceError::InvalidText {
        field: "pgn",
        description,
        line: place.line,
        column: place.column,
        ply,
    }
}

/// Plays moves on a game that is not stored, and returns the game after them; says where it cannot
/// be played.
fn try_out(
    mut game: referee_laws::Game,
    actions: &[Imported],
    end: Place,
    is_unwanted: &dyn Fn() -> bool,
) -> Result<referee_laws::Game, ServiceError> {
    for (message, submitted) in actions {
        if is_unwanted() {
            return Err(ServiceError::DeadlineExceeded);
        }
        if let Some(outcome) = game.outcome() {
            // The board was judged before, so the clocks have ended the game.
            let over = &outcome.text;
            let text = format!("the record goes on after the game has ended: {over}");
            return Err(unplayable(text, end, &game));
        }
        let now = match submitted.told_time {
            Some(ToldTime::Elapsed(ms)) => game.time().checked_add_ms(ms),
            _ => Some(game.time()),
        };
        let Some(now) = now else {
            let text = "the record tells more time than there is".to_owned();
            return Err(unplayable(text, end, &game));
        };
        let judgment = game.judge(&submitted.action, now);
        let Some(entry) = judgment.entry else {
            let (id, ruled) = (&message.request_id, &judgment.ruling.text);
            return Err(unplayable(format!("{id}: {ruled}"), end, &game));
        };
        let applied = game.apply(&entry.effects);
        applied.map_err(|error| unplayable(error.to_string(), end, &game))?;
    }
    Ok(game)
}

/// Returns what has ended a game as its record tells: the first of some actions that leads to the
/// recorded result and leaves no doubt about it. `None` where the game is over so already.
fn choose_end(
    game: &referee_laws::Game,
    result: GameResult,
    ends: Vec<Imported>,
    end: Place,
) -> Result<Option<Imported>, ServiceError> {
    if let Some(outcome) = game.outcome() {
        if outcome.result == result {
            return Ok(None);
        }
        let (told, over) = (result.score(), &outcome.text);
        let text = format!("the record tells {told}, but the game has ended before: {over}");
        return Err(unplayable(text, end, game));
    }
    let leads_there = |(_, submitted): &Imported| {
        let judgment = game.judge(&submitted.action, game.time());
        let outcome = judgment.entry.and_then(|entry| entry.effects.outcome);
        outcome.is_some_and(|outcome| outcome.result == result && !outcome.provisional)
    };
    let mut ends = ends.into_iter();
    let Some(chosen) = ends.find(leads_there) else {
        let text = format!("the record cannot end with {}", result.score());
        return Err(unplayable(text, end, game));
    };
    Ok(Some(chosen))
}

/// The error of a record that cannot be played on from where a game stands.
fn unplayable(description: String, end: Place, game: &referee_laws::Game) -> ServiceError {
    ServiceError::InvalidText {
        field: "pgn",
        description,
        line: end.line,
        column: end.column,
        ply: Some(game.history().ply()),
    }
}
