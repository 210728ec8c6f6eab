//! Games as Portable Game Notation: out of the record, and into a new one.

use std::sync::Arc;

use referee_api::v1;
use referee_chess::{CastlingMode, Color, Fen};
use referee_laws::{
    Action, Decision, GameResult, Intent, Keeper, LedgerCause, MoveIntent, Seat, Termination,
    TimeControl,
};
use referee_pgn::{Game, Outcome, Place, Tags};
use referee_review::{Finding, TimedMove, Verdict, read_control, read_one, time_moves};
use time::OffsetDateTime;

use crate::actions::Submitted;
use crate::clocks::{ToldTime, stored_line};
use crate::desk::{Desk, Live};
use crate::fields::Fields;
use crate::limits;
use crate::record::damaged;
use crate::rules_service::read_creation;
use crate::status::ApiError;
use crate::verdicts::write_fault;
use crate::view;

/// Writes a game in the export format.
pub(crate) async fn export(desk: &Desk, id: &str) -> Result<String, ApiError> {
    let live = desk.read(id).await?;
    let clocks = clocks_after_moves(desk, id, live.sequence).await?;
    let mut game = referee_pgn::Game::from_position(live.game.history().base().clone());
    let mut at = game.start.clone();
    let initial = live
        .genesis
        .initial_position
        .as_ref()
        .map_or(0, |position| position.moves.len());
    for (index, uci) in live.game.history().moves().enumerate() {
        let Some(mv) = at.find_uci(uci) else {
            // What follows an illegal move that stood cannot be told in this notation.
            game.comment_end(&format!(
                "The move {uci} is illegal and stood; the rest is left out."
            ));
            break;
        };
        at.play_unchecked(mv);
        game.moves.push(mv);
        let clock = index
            .checked_sub(initial)
            .and_then(|event| clocks.get(event));
        if let Some(Some(left_ms)) = clock {
            let note = game.notes.get_mut(index);
            note.clock = Some(core::time::Duration::from_millis(*left_ms));
        }
    }
    write_tags(&live, &mut game.tags);
    if let Some(outcome) = live.game.outcome() {
        game.outcome = written_outcome(outcome.result);
        game.tags
            .set(Tags::TERMINATION, termination(outcome.termination));
        if needs_reason(outcome.termination) {
            let article = outcome
                .citations
                .first()
                .map(|citation| format!("{} {}: ", citation.edition, citation.article));
            let text = format!("{}{}", article.unwrap_or_default(), outcome.text);
            game.comment_end(&text);
        }
    }
    Ok(game.export().to_string())
}

/// The time that the mover had left after each move of the main line that was played as an event,
/// in milliseconds; `None` where the side is untimed.
async fn clocks_after_moves(
    desk: &Desk,
    id: &str,
    last: i64,
) -> Result<Vec<Option<u64>>, ApiError> {
    let mut clocks: Vec<Option<u64>> = Vec::new();
    let mut first_ply = None;
    let mut after = 0;
    while after < last {
        let events = desk.events(id, after, limits::EVENTS_PAGE_MAX).await?;
        if events.is_empty() {
            return Err(damaged("an event is missing"));
        }
        for event in events {
            after = event.sequence;
            let begin = *first_ply.get_or_insert(event.ply - u32::from(event.r#move.is_some()));
            if let Some(ply) = event.reinstated_ply {
                clocks.truncate(ply.saturating_sub(begin) as usize);
            }
            if event.r#move.is_some() {
                clocks.push(left_after(&event)?);
            } else if let (Some(last), Some(left_ms)) = (clocks.last_mut(), set_after(&event)?) {
                *last = Some(left_ms);
            }
        }
    }
    Ok(clocks)
}

/// What the ledger says that the mover has left when the move is over.
fn left_after(event: &v1::GameEvent) -> Result<Option<u64>, ApiError> {
    let mut left = None;
    for line in &event.ledger {
        let line = stored_line(line)?;
        let is_own = matches!(
            line.cause,
            LedgerCause::Move | LedgerCause::Increment | LedgerCause::NextPeriod | LedgerCause::End
        );
        if is_own && line.left_ms.is_some() {
            left = line.left_ms;
        }
    }
    Ok(left)
}

/// What the arbiter has set the clock of the last mover to, who is not on move any more.
fn set_after(event: &v1::GameEvent) -> Result<Option<u64>, ApiError> {
    let mover = if event.fen.contains(" w ") {
        Color::Black
    } else {
        Color::White
    };
    for line in &event.ledger {
        let line = stored_line(line)?;
        if line.cause == LedgerCause::ArbiterSet && line.side == mover {
            return Ok(line.left_ms);
        }
    }
    Ok(None)
}

fn write_tags(live: &Live, tags: &mut Tags) {
    let genesis = &live.genesis;
    let label = |name: &str| genesis.labels.get(name).map(String::as_str);
    let mut set = |name, value: Option<&str>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            tags.set(name, value);
        }
    };
    set(Tags::EVENT, label("event").or(label("tournament")));
    set(Tags::SITE, label("site"));
    set(Tags::ROUND, label("round"));
    set(Tags::WHITE, Some(&genesis.white_player));
    set(Tags::BLACK, Some(&genesis.black_player));
    let date = label("date")
        .map(ToOwned::to_owned)
        .or_else(|| date_of(genesis.create_time.as_ref()?.seconds));
    set(Tags::DATE, date.as_deref());
    let clocks = &live.game.standing().clocks;
    let control = clocks.white.control.as_ref();
    let same = control == clocks.black.control.as_ref();
    let control = control.filter(|_| same).and_then(TimeControl::to_pgn);
    set(Tags::TIME_CONTROL, control.as_deref());
}

/// The date of a time in seconds since 1970, as the tag has it; `None` beyond the year 9999.
fn date_of(seconds: i64) -> Option<String> {
    let date = OffsetDateTime::from_unix_timestamp(seconds).ok()?.date();
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    Some(format!("{year:04}.{month:02}.{day:02}"))
}

fn written_outcome(result: GameResult) -> Outcome {
    match result {
        GameResult::Win(Color::White) | GameResult::WinByForfeit(Color::White) => {
            Outcome::WhiteWins
        }
        GameResult::Win(Color::Black) | GameResult::WinByForfeit(Color::Black) => {
            Outcome::BlackWins
        }
        GameResult::Draw => Outcome::Draw,
        GameResult::BothLose | GameResult::BothForfeit => Outcome::BothLose,
        GameResult::Half(Color::White) => Outcome::WhiteHalf,
        GameResult::Half(Color::Black) => Outcome::BlackHalf,
        GameResult::Cancelled | GameResult::Aborted => Outcome::Unknown,
    }
}

/// The `Termination` tag (PGN standard 9.8.1).
fn termination(termination: Termination) -> &'static str {
    match termination {
        Termination::TimeForfeit | Termination::TimeNoMate | Termination::BothFlags => {
            "time forfeit"
        }
        Termination::IllegalMoves | Termination::IllegalMovesNoMate => "rules infraction",
        Termination::ArbiterDecision
        | Termination::QuickplayClaim
        | Termination::SealedMove
        | Termination::IllegalPositionDraw => "adjudication",
        Termination::Abandonment => "abandoned",
        Termination::DefaultForfeit | Termination::DoubleForfeit | Termination::NoStart => {
            "unterminated"
        }
        Termination::WrongInitialPosition | Termination::ColorsReversed | Termination::Aborted => {
            "unterminated"
        }
        _ => "normal",
    }
}

/// Whether people ask why a game ended so: all but what the moves or the players say themselves.
const fn needs_reason(termination: Termination) -> bool {
    !matches!(
        termination,
        Termination::Checkmate
            | Termination::Stalemate
            | Termination::Resignation
            | Termination::Agreement
            | Termination::SignedResult
    )
}

/// What is imported: how the game begins, and every action that leads through it.
pub(crate) struct Import {
    creation: v1::CreateGameRequest,
    genesis: v1::Game,
    game: referee_laws::Game,
    actions: Vec<(v1::Action, Submitted)>,
    faults: Vec<v1::TextFault>,
}

/// Reads a text that is to become a game, and judges it by the rules that it is to be played by:
/// what cannot be played to its end is refused as a whole.
pub(crate) fn read_import(request: &v1::ImportPgnRequest, id: &str) -> Result<Import, ApiError> {
    let mut fields = Fields::default();
    fields.request_id("request_id", &request.request_id);
    fields.length("pgn", &request.pgn, limits::PGN_PIECE_BYTES_MAX);
    fields.finish()?;
    let reading = read_one(request.pgn.as_bytes())
        .map_err(|error| ApiError::field("pgn", error.to_string()))?;
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
    let creation = v1::CreateGameRequest {
        game: Some(begin(request, &reading.game, control.as_ref())),
        game_id: id.to_owned(),
        request_id: request.request_id.clone(),
    };
    let (genesis, game) = read_creation(&creation)?;
    let verdict = Verdict::of(&reading, game.profile());
    let mut findings = verdict.findings.iter();
    if let Some(finding) = findings.find(|finding| finding.bars_replay()) {
        return Err(ApiError::field("pgn", refusal(finding)));
    }
    let is_over = verdict.outcome.is_some();
    let moves = time_moves(&reading.game, control.as_ref(), is_over);
    let actions = write_actions(&moves, verdict.recorded);
    if game.keeper() != Keeper::Platform {
        return Err(damaged("the keeper of an imported game"));
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

/// What is told of a text that is imported all the same.
fn warning(place: Place, text: String) -> v1::TextFault {
    v1::TextFault {
        line: place.line,
        column: place.column,
        error: false,
        text,
    }
}

/// Says why a text is not imported, with the place in it where there is one.
fn refusal(finding: &Finding) -> String {
    match finding {
        Finding::IllegalMove { fault, .. } | Finding::Unreadable { fault } => fault.to_string(),
        _ => finding.to_string(),
    }
}

/// The game as it begins.
fn begin(request: &v1::ImportPgnRequest, game: &Game, control: Option<&TimeControl>) -> v1::Game {
    let player = |name| {
        let text = game.tags.get(name).filter(|value| *value != "?");
        let text = text.unwrap_or_default();
        text[..text.floor_char_boundary(limits::PLAYER_BYTES_MAX)].to_owned()
    };
    let mut profile = request.rule_profile.clone().unwrap_or_default();
    profile.variant = match game.start.castling_mode() {
        CastlingMode::Standard => v1::Variant::Standard,
        CastlingMode::Chess960 => v1::Variant::Chess960,
    }
    .into();
    let fen = Fen(&game.start.to_setup()).to_string();
    let time_control = control.and_then(|control| {
        Some(v1::TimeControl {
            pgn: control.to_pgn()?,
            increment_at_start: Some(control.increment_at_start()),
            ..v1::TimeControl::default()
        })
    });
    v1::Game {
        white_player: player(Tags::WHITE),
        black_player: player(Tags::BLACK),
        rule_profile: Some(profile),
        initial_position: Some(v1::Position {
            base: Some(v1::position::Base::Fen(fen)),
            moves: Vec::new(),
        }),
        labels: request.labels.clone(),
        clock_settings: Some(v1::ClockSettings {
            keeper: v1::ClockKeeper::Platform.into(),
            time_control,
            ..v1::ClockSettings::default()
        }),
        ..v1::Game::default()
    }
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
        seat: view::seat(Some(side)).into(),
        // No caller can send a request id with blanks, and the game belongs to this import.
        request_id: format!("import {index}"),
        kind: Some(v1::action::Kind::MakeMove(v1::MakeMove {
            r#move: uci.clone(),
            ..v1::MakeMove::default()
        })),
        platform_time: Some(v1::PlatformTime {
            kind: Some(v1::platform_time::Kind::Elapsed(crate::clocks::duration(
                elapsed_ms,
            ))),
        }),
        ..v1::Action::default()
    };
    let action = Action::player(side, Intent::Move(MoveIntent::completed(&uci)));
    let told_time = Some(ToldTime::Elapsed(elapsed_ms));
    (message, Submitted { action, told_time })
}

fn import_clock(index: usize, side: Color, left_ms: u64) -> (v1::Action, Submitted) {
    let of = |color| (side == color).then(|| crate::clocks::duration(left_ms));
    let message = v1::Action {
        seat: v1::Seat::Arbiter.into(),
        request_id: format!("import {index} clock"),
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
        request_id: "import result".to_owned(),
        kind: Some(v1::action::Kind::SignResult(v1::SignResult {
            result: view::result(result).into(),
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

/// Creates the game and plays it through.
pub(crate) async fn import(
    desk: &Arc<Desk>,
    import: Import,
    id: String,
) -> Result<v1::ImportPgnResponse, ApiError> {
    let Import { genesis, game, .. } = import;
    desk.create(&import.creation, genesis, &game, id.clone())
        .await?;
    let arrival_us = desk.now_us();
    for (message, submitted) in import.actions {
        desk.submit(&id, message, submitted, arrival_us).await?;
        if desk.is_over(&id).await? {
            break;
        }
    }
    let live = desk.read(&id).await?;
    Ok(v1::ImportPgnResponse {
        game: Some(live.view()),
        faults: import.faults,
    })
}

/// Plays an import on a game that is not stored; says where it cannot be played.
fn try_out(
    mut game: referee_laws::Game,
    actions: &[(v1::Action, Submitted)],
) -> Result<(), ApiError> {
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
            return Err(ApiError::field("pgn", text));
        }
        let now = match submitted.told_time {
            Some(ToldTime::Elapsed(ms)) => game.time().checked_add_ms(ms),
            _ => Some(game.time()),
        };
        let now = now.ok_or_else(|| ApiError::field("pgn", "tells more time than there is"))?;
        let judgment = game.judge(&submitted.action, now);
        let Some(entry) = judgment.entry else {
            let text = format!("half-move {}: {}", index + 1, judgment.ruling.text);
            return Err(ApiError::field("pgn", text));
        };
        game.apply(&entry.effects)
            .map_err(|error| ApiError::field("pgn", error.to_string()))?;
    }
    Ok(())
}
