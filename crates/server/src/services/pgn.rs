//! Games as Portable Game Notation: out of the record, and into a new one.

use std::sync::Arc;

use referee_api::v1;
use referee_chess::{CastlingMode, Color, Fen};
use referee_laws::{
    Action, Bonus, Clocks, Decision, GameResult, Intent, Keeper, LedgerCause, MoveIntent, Review,
    Seat, Termination, TimeControl,
};
use referee_pgn::{GameReader, Item, Outcome, Reading, Tags};
use referee_record::convert::InContract;
use referee_record::convert::action::Submitted;
use referee_record::convert::clocks::{ToldTime, stored_line};
use referee_record::convert::time::write_ms;
use referee_record::{Error, Fields, FoldedGame, read_creation};

use crate::desk::Desk;
use crate::limits;
use crate::status::ApiError;
use crate::verdicts::write_fault;

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
            return Err(Error::damaged("an event is missing").into());
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

fn write_tags(live: &FoldedGame, tags: &mut Tags) {
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
    let date = label("date").map(ToOwned::to_owned).or_else(|| {
        let created = genesis.create_time.as_ref()?;
        let days = created.seconds.div_euclid(86_400);
        Some(date_of(days))
    });
    set(Tags::DATE, date.as_deref());
    let clocks = &live.game.standing().clocks;
    let control = clocks.white.control.as_ref();
    let same = control == clocks.black.control.as_ref();
    let control = control.filter(|_| same).and_then(TimeControl::to_pgn);
    set(Tags::TIME_CONTROL, control.as_deref());
}

/// The date of a day since 1970, as the tag has it (Fliegel and Van Flandern 1968).
fn date_of(days: i64) -> String {
    let julian = days + 2_440_588;
    let l = julian + 68_569;
    let n = 4 * l / 146_097;
    let l = l - (146_097 * n + 3) / 4;
    let year = 4_000 * (l + 1) / 1_461_001;
    let l = l - 1_461 * year / 4 + 31;
    let month = 80 * l / 2_447;
    let day = l - 2_447 * month / 80;
    let l = month / 11;
    let (month, year) = (month + 2 - 12 * l, 100 * (n - 49) + year + l);
    format!("{year:04}.{month:02}.{day:02}")
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

/// Reads one game of a text, and what is wrong with it.
fn read_one(text: &str) -> Result<Reading, ApiError> {
    let mut games = Vec::new();
    let mut stray = None;
    GameReader::new().read_all(text.as_bytes(), &mut |item: Item<'_>| match item {
        Item::Game(reading) if games.len() < 2 => games.push(reading.clone()),
        Item::Game(_) => {}
        Item::Stray(fault) => stray = stray.take().or(Some(fault.to_string())),
    });
    if games.len() > 1 {
        return Err(ApiError::field(
            "pgn",
            "has more than one game; import one at a time",
        ));
    }
    let reading = games.pop().ok_or_else(|| {
        ApiError::field("pgn", stray.unwrap_or_else(|| "has no game in it".into()))
    })?;
    if let Some(fault) = reading.first_error() {
        return Err(ApiError::field("pgn", fault.to_string()));
    }
    Ok(reading)
}

/// What is imported: how the game begins, and every action that leads through it.
pub(crate) struct Import {
    creation: v1::CreateGameRequest,
    actions: Vec<(v1::Action, Submitted)>,
    faults: Vec<v1::TextFault>,
}

/// Reads a text that is to become a game.
pub(crate) fn read_import(request: &v1::ImportPgnRequest, id: &str) -> Result<Import, ApiError> {
    let mut fields = Fields::default();
    fields.request_id("request_id", &request.request_id);
    fields.length("pgn", &request.pgn, limits::PGN_PIECE_BYTES_MAX);
    fields.finish()?;
    let reading = read_one(&request.pgn)?;
    let game = &reading.game;
    let tag = |name| game.tags.get(name).filter(|value| *value != "?");
    let mut profile = request.rule_profile.clone().unwrap_or_default();
    profile.variant = match game.start.castling_mode() {
        CastlingMode::Standard => v1::Variant::Standard,
        CastlingMode::Chess960 => v1::Variant::Chess960,
    }
    .into();
    let control = tag(Tags::TIME_CONTROL).and_then(|text| TimeControl::read_pgn(text).ok());
    let control = control.flatten().map(|control| {
        // Where the first clock shows more than the time and one bonus, a bonus was put on before.
        let first = control.period(0);
        let shown = game.notes.get(0).clock.map(|clock| clock.as_millis());
        let most = u128::from(first.time_ms + first.bonus.ms());
        control.with_increment_at_start(shown.is_some_and(|shown| shown > most))
    });
    let shortened = |text: Option<&str>| {
        let text = text.unwrap_or_default();
        let mut end = text.len().min(limits::PLAYER_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].to_owned()
    };
    let begun = v1::Game {
        white_player: shortened(tag(Tags::WHITE)),
        black_player: shortened(tag(Tags::BLACK)),
        rule_profile: Some(profile),
        initial_position: Some(v1::Position {
            base: Some(v1::position::Base::Fen(
                Fen(&game.start.to_setup()).to_string(),
            )),
            moves: Vec::new(),
        }),
        labels: request.labels.clone(),
        clock_settings: Some(v1::ClockSettings {
            keeper: v1::ClockKeeper::Platform.into(),
            time_control: control.as_ref().and_then(|control| {
                Some(v1::TimeControl {
                    pgn: control.to_pgn()?,
                    increment_at_start: Some(control.increment_at_start()),
                    ..v1::TimeControl::default()
                })
            }),
            ..v1::ClockSettings::default()
        }),
        ..v1::Game::default()
    };
    let creation = v1::CreateGameRequest {
        game: Some(begun),
        game_id: id.to_owned(),
        request_id: request.request_id.clone(),
    };
    let actions = read_actions(&reading, control.as_ref());
    let faults = reading.faults.iter().map(write_fault).collect();
    Ok(Import {
        creation,
        actions,
        faults,
    })
}

/// Every move as an action with the time that the clocks of the text tell, and the result.
fn read_actions(reading: &Reading, control: Option<&TimeControl>) -> Vec<(v1::Action, Submitted)> {
    let game = &reading.game;
    let mut spent = Spent::new(control);
    let mut actions = Vec::with_capacity(game.moves.len() + 1);
    let profile = referee_laws::Profile::fide_standard();
    let ends_on_board = Review::of(&game.start, &game.moves, false, None, &profile)
        .is_ok_and(|review| review.outcome.is_some());
    for (index, (before, mv)) in game.positions().enumerate() {
        let side = before.turn();
        let note = game.notes.get(index);
        let ms = |time: core::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let is_end = ends_on_board && index + 1 == game.moves.len();
        let told = (note.clock.map(ms), note.elapsed.map(ms));
        let (elapsed_ms, corrected_ms) = spent.by(side, told, is_end);
        let uci = before.uci(mv).to_string();
        actions.push(import_move(index, side, uci, elapsed_ms));
        if let Some(left_ms) = corrected_ms {
            actions.push(import_clock(index, side, left_ms));
        }
    }
    if let Some(result) = GameResult::named(game.outcome.as_str()) {
        actions.push(import_result(result));
    }
    actions
}

fn import_move(index: usize, side: Color, uci: String, elapsed_ms: u64) -> (v1::Action, Submitted) {
    let message = v1::Action {
        seat: Seat::Player(side).to_v1().into(),
        // No caller can send a request id with blanks, and the game belongs to this import.
        request_id: format!("import {index}"),
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

/// The time that moves took, from what the clocks showed after them.
struct Spent {
    /// The clocks as the moves leave them.
    clocks: Option<Clocks>,
}

impl Spent {
    fn new(control: Option<&TimeControl>) -> Spent {
        let control = control.cloned();
        let setup = referee_laws::ClockSetup::default();
        let is_timed = control.is_some();
        let clocks = Clocks::new(control.clone(), control, setup).ok();
        let clocks = clocks.filter(|_| is_timed);
        Spent {
            clocks: clocks.map(|clocks| clocks.start(Color::White, Default::default()).clocks),
        }
    }

    /// Returns what a move took, so that its clock shows what the text tells afterwards, and what
    /// the clock has to be set to where no time can bring that about: servers give time back for
    /// the delays of the network, and players give each other time.
    fn by(
        &mut self,
        side: Color,
        (clock_ms, elapsed_ms): (Option<u64>, Option<u64>),
        is_end: bool,
    ) -> (u64, Option<u64>) {
        let Some(clocks) = &self.clocks else {
            let took = elapsed_ms.unwrap_or(0).min(referee_laws::CLOCK_MS_MAX);
            return (took, None);
        };
        let since = clocks.since.unwrap_or_default();
        let after = |ms: u64| {
            let at = since.checked_add_ms(ms).unwrap_or(since);
            clocks.complete_move(side, at).clocks
        };
        let before_ms = clocks.side(side).left_ms.unwrap_or_default();
        let took = match clock_ms {
            None => elapsed_ms.unwrap_or(0),
            // A move that ends the game brings no bonus.
            Some(left_ms) if is_end => before_ms.saturating_sub(left_ms),
            Some(left_ms) => {
                let unspent_ms = after(0).side(side).left_ms.unwrap_or(left_ms);
                let unsaved_ms = match clocks.side(side).bonus() {
                    // Of these no time is saved, so what was used of them cannot be told.
                    Bonus::Delay(ms) | Bonus::Bronstein(ms) if unspent_ms > left_ms => ms,
                    _ => 0,
                };
                unspent_ms.saturating_sub(left_ms) + unsaved_ms
            }
        };
        let took = took.min(referee_laws::CLOCK_MS_MAX);
        let mut clocks = after(took);
        let shown_ms = clocks.side(side).left_ms;
        let corrected_ms = clock_ms.filter(|&ms| !is_end && Some(ms) != shown_ms);
        if let Some(left_ms) = corrected_ms {
            let now = clocks.since.unwrap_or_default();
            clocks = clocks.set(side, left_ms, now).clocks;
        }
        self.clocks = Some(clocks);
        (took, corrected_ms)
    }
}

/// Creates the game and plays it through.
pub(crate) async fn import(
    desk: &Arc<Desk>,
    import: Import,
    id: String,
) -> Result<v1::ImportPgnResponse, ApiError> {
    let (genesis, game) = read_creation(&import.creation)?;
    if game.keeper() != Keeper::Platform {
        return Err(Error::damaged("the keeper of an imported game").into());
    }
    // The text is judged as a whole before anything is written of it.
    try_out(game.clone(), &import.actions)?;
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
            let text = format!(
                "the record goes on, or tells another result, after the game has ended with ply \
                 {index}: {}",
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
