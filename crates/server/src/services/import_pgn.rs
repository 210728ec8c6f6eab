//! `ImportPgn`: a text becomes a game, move by move, as if it had been played here.

use std::sync::Arc;

use referee_api::v1;
use referee_chess::{CastlingMode, Color, Fen};
use referee_laws::{Action, Decision, GameResult, Intent, Keeper, MoveIntent, Seat, TimeControl};
use referee_pgn::{Game, Place, Tags};
use referee_record::convert::InContract;
use referee_record::convert::action::Submitted;
use referee_record::convert::clocks::ToldTime;
use referee_record::convert::time::write_ms;
use referee_record::{Fields, is_told_by_the_game, read_creation};
use referee_review::{Finding, TimedMove, Verdict, read_control, read_one, time_moves};

use super::create::new_game;
use super::imported::{clock_id, end_id, move_id};
use super::service::GamesService;
use super::verify_games::write_fault;
use crate::error::ServiceError;
use crate::games::Arrival;
use crate::limits;
use crate::transport::Caller;

/// Creates the game of a text and plays it through. Goes on when the caller goes away.
pub(super) async fn import(
    service: &GamesService,
    caller: &Caller,
    request: v1::ImportPgnRequest,
) -> Result<v1::ImportPgnResponse, ServiceError> {
    if request.game_id.is_empty() {
        // A repetition has to find the game again, so its name cannot be a new one each time.
        return Err(ServiceError::field("game_id", "is required for an import"));
    }
    let key = caller.key(request.game_id.clone());
    let read = service.pool.run(move || read_import(&request)).await??;
    let Import {
        creation,
        genesis,
        game,
        actions,
        faults,
    } = read;
    let (games, principal) = (service.games.clone(), Arc::clone(caller.principal()));
    let played = async move {
        let arrival = Arrival {
            time_us: games.now_us(),
            principal,
        };
        let (new, folded) = new_game(key.clone(), &creation, genesis, game, arrival.time_us);
        games.create(new, folded).await?;
        for (message, submitted) in actions {
            let submitted = games.submit(key.clone(), message, submitted, arrival.clone());
            if is_end(&submitted.await?) {
                break;
            }
        }
        games.read(&key).await
    };
    let game = service.games.see_through(played).await?;
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
    actions: Vec<(v1::Action, Submitted)>,
    faults: Vec<v1::TextFault>,
}

/// Reads a text that is to become a game, and judges it by the rules that it is to be played by:
/// what cannot be played to its end is refused as a whole.
fn read_import(request: &v1::ImportPgnRequest) -> Result<Import, ServiceError> {
    let mut fields = Fields::default();
    fields.request_id("request_id", &request.request_id);
    fields.length("pgn", &request.pgn, limits::PGN_PIECE_BYTES_MAX);
    fields.finish()?;
    let reading = read_one(request.pgn.as_bytes())
        .map_err(|error| ServiceError::field("pgn", error.to_string()))?;
    let mut faults: Vec<v1::TextFault> = Verdict::warnings(&reading).map(write_fault).collect();
    let control = read_control(&reading.game).unwrap_or_else(|error| {
        let text = format!("the tag TimeControl cannot be understood: {error}");
        faults.push(warning(reading.place, text));
        None
    });
    let mut notes = reading.game.notes.iter();
    if control.is_none() && notes.any(|(_, note)| note.clock.is_some()) {
        let text = "the clocks are left out, since no time control is known";
        faults.push(warning(reading.place, text.to_owned()));
    }
    let mut tell = |text| faults.push(warning(reading.place, text));
    let begun = begin(request, &reading.game, control.as_ref(), &mut tell);
    let creation = v1::CreateGameRequest {
        game: Some(begun),
        game_id: request.game_id.clone(),
        request_id: request.request_id.clone(),
    };
    let (genesis, game) = read_creation(&creation)?;
    let verdict = Verdict::of(&reading, game.profile());
    let mut findings = verdict.findings.iter();
    if let Some(finding) = findings.find(|finding| finding.bars_replay()) {
        return Err(bars_import(finding, reading.end));
    }
    let is_over = verdict.outcome.is_some();
    let moves = time_moves(&reading.game, control.as_ref(), is_over);
    let actions = write_actions(&moves, verdict.recorded);
    if game.keeper() != Keeper::Platform {
        return Err(ServiceError::damaged("the keeper of an imported game"));
    }
    // The clocks are judged as a whole, too, before anything is written.
    try_out(game.clone(), &actions)?;
    let found = verdict.findings.iter().map(|finding| {
        let place = finding.place().unwrap_or(reading.end);
        warning(place, finding.to_string())
    });
    faults.extend(found);
    Ok(Import {
        creation,
        genesis,
        game,
        actions,
        faults,
    })
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

/// The game as it begins.
fn begin(
    request: &v1::ImportPgnRequest,
    game: &Game,
    control: Option<&TimeControl>,
    tell: &mut dyn FnMut(String),
) -> v1::Game {
    let variant = match game.start.castling_mode() {
        CastlingMode::Standard => v1::Variant::Standard,
        CastlingMode::Chess960 => v1::Variant::Chess960,
    };
    let fen = Fen(&game.start.to_setup()).to_string();
    let time_control = control.and_then(|control| {
        Some(v1::TimeControl {
            pgn: control.to_pgn()?,
            increment_at_start: Some(control.increment_at_start()),
            ..v1::TimeControl::default()
        })
    });
    v1::Game {
        white_player: player(game, Tags::WHITE, tell),
        black_player: player(game, Tags::BLACK, tell),
        rule_profile: request.rule_profile.clone(),
        initial_position: Some(v1::Position {
            base: Some(v1::position::Base::Fen(fen)),
            moves: Vec::new(),
            variant: variant.into(),
        }),
        labels: request.labels.clone(),
        clock_settings: Some(v1::ClockSettings {
            keeper: v1::ClockKeeper::Platform.into(),
            time_control,
            ..v1::ClockSettings::default()
        }),
        tags: keep_tags(game, tell),
        ..v1::Game::default()
    }
}

/// Returns the name of a player; empty where the record does not know it.
fn player(game: &Game, name: &str, tell: &mut dyn FnMut(String)) -> String {
    let text = game.tags.get(name).filter(|value| *value != "?");
    let mut text = without_controls(name, text.unwrap_or_default(), tell);
    let end = text.floor_char_boundary(limits::PLAYER_BYTES_MAX);
    if end < text.len() {
        let max = limits::PLAYER_BYTES_MAX;
        tell(format!(
            "the tag {name} is cut, since a name may have {max} bytes"
        ));
        text.truncate(end);
    }
    text
}

/// Returns the tags of a record that the game does not tell otherwise, in their order, and tells
/// what of them is left out.
fn keep_tags(game: &Game, tell: &mut dyn FnMut(String)) -> Vec<v1::GameTag> {
    let mut tags = Vec::new();
    let mut bytes = 0;
    for (name, value) in game.tags.iter() {
        if name == Tags::WHITE || name == Tags::BLACK {
            continue;
        }
        if is_told_by_the_game(name) {
            tell(format!(
                "the tag {name} is left out, since it says nothing that is known"
            ));
            continue;
        }
        if name.contains(char::is_control) {
            tell("a tag with control characters in its name is left out".to_owned());
            continue;
        }
        if bytes + name.len() + value.len() > limits::TAGS_BYTES_MAX {
            let max = limits::TAGS_BYTES_MAX;
            tell(format!(
                "the tag {name} is left out, since all tags together may have {max} bytes"
            ));
            continue;
        }
        bytes += name.len() + value.len();
        tags.push(v1::GameTag {
            name: name.to_owned(),
            value: without_controls(name, value, tell),
        });
    }
    tags
}

/// Returns the value of a tag with blanks in the place of control characters.
fn without_controls(name: &str, value: &str, tell: &mut dyn FnMut(String)) -> String {
    if !value.contains(char::is_control) {
        return value.to_owned();
    }
    tell(format!(
        "the tag {name} has control characters, for which there are blanks now"
    ));
    value.replace(char::is_control, " ")
}

/// Every move as an action with the time that it took, and the result.
fn write_actions(
    moves: &[TimedMove],
    recorded: Option<GameResult>,
) -> Vec<(v1::Action, Submitted)> {
    let mut actions = Vec::with_capacity(moves.len() + 1);
    for (index, mv) in moves.iter().enumerate() {
        actions.push(import_move(
            index,
            mv.side,
            mv.uci.to_string(),
            mv.elapsed_ms,
        ));
        if let Some(left_ms) = mv.set_ms {
            actions.push(import_clock(index, mv.side, left_ms));
        }
    }
    actions.extend(recorded.map(import_result));
    actions
}

fn import_move(index: usize, side: Color, uci: String, elapsed_ms: u64) -> (v1::Action, Submitted) {
    let message = v1::Action {
        seat: Seat::Player(side).to_v1().into(),
        request_id: move_id(index, true, false),
        kind: Some(v1::action::Kind::MakeMove(v1::MakeMove {
            r#move: uci.clone(),
            ..v1::MakeMove::default()
        })),
        platform_time: Some(v1::PlatformTime {
            kind: Some(v1::platform_time::Kind::Elapsed(write_ms(elapsed_ms))),
        }),
        ..v1::Action::default()
    };
    let action = Action::player(side, Intent::Move(MoveIntent::completed(&uci)));
    let told_time = Some(ToldTime::Elapsed(elapsed_ms));
    (message, Submitted { action, told_time })
}

fn import_clock(index: usize, side: Color, left_ms: u64) -> (v1::Action, Submitted) {
    let of = |color| (side == color).then(|| write_ms(left_ms));
    let message = v1::Action {
        seat: v1::Seat::Arbiter.into(),
        request_id: clock_id(index),
        kind: Some(v1::action::Kind::ArbiterDecision(v1::ArbiterDecision {
            reason: "The imported record shows this clock.".to_owned(),
            kind: Some(v1::arbiter_decision::Kind::SetClocks(v1::SetClocks {
                white: of(Color::White),
                black: of(Color::Black),
            })),
            ..v1::ArbiterDecision::default()
        })),
        ..v1::Action::default()
    };
    let of = |color| (side == color).then_some(left_ms);
    let action = Action::arbiter(Intent::Decide(Decision::SetClocks {
        white_ms: of(Color::White),
        black_ms: of(Color::Black),
    }));
    let told_time = None;
    (message, Submitted { action, told_time })
}

fn import_result(result: GameResult) -> (v1::Action, Submitted) {
    let message = v1::Action {
        seat: v1::Seat::Arbiter.into(),
        request_id: end_id(),
        kind: Some(v1::action::Kind::SignResult(v1::SignResult {
            result: result.to_v1().into(),
        })),
        ..v1::Action::default()
    };
    let action = Action {
        seat: Seat::Arbiter,
        intent: Intent::SignResult { result },
    };
    (
        message,
        Submitted {
            action,
            told_time: None,
        },
    )
}

/// Plays an import on a game that is not stored; says where it cannot be played.
fn try_out(
    mut game: referee_laws::Game,
    actions: &[(v1::Action, Submitted)],
) -> Result<(), ServiceError> {
    for (index, (_, submitted)) in actions.iter().enumerate() {
        if let Some(outcome) = game.outcome() {
            let is_same = |intent: &Intent| match intent {
                Intent::SignResult { result } => *result == outcome.result,
                _ => false,
            };
            if is_same(&submitted.action.intent) {
                return Ok(());
            }
            // The board was judged before, so the clocks have ended the game.
            let goes_on = match submitted.action.intent {
                Intent::SignResult { .. } => "tells another result",
                _ => "goes on",
            };
            let text = format!(
                "the record {goes_on} after the game has ended: {}",
                outcome.text
            );
            return Err(ServiceError::field("pgn", text));
        }
        let now = match submitted.told_time {
            Some(ToldTime::Elapsed(ms)) => game.time().checked_add_ms(ms),
            _ => Some(game.time()),
        };
        let now = now.ok_or_else(|| ServiceError::field("pgn", "tells more time than there is"))?;
        let judgment = game.judge(&submitted.action, now);
        let Some(entry) = judgment.entry else {
            let text = format!("half-move {}: {}", index + 1, judgment.ruling.text);
            return Err(ServiceError::field("pgn", text));
        };
        game.apply(&entry.effects)
            .map_err(|error| ServiceError::field("pgn", error.to_string()))?;
    }
    Ok(())
}

/// Whether a game is over with an answer.
fn is_end(answer: &v1::SubmitActionResponse) -> bool {
    let outcome = answer
        .event
        .as_ref()
        .and_then(|event| event.outcome.as_ref());
    outcome.is_some_and(|outcome| outcome.result() != v1::GameResult::Ongoing)
}
