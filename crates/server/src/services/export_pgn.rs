//! `ExportPgn`: a game as Portable Game Notation.

use referee_api::v1;
use referee_chess::Color;
use referee_laws::{GameResult, LedgerCause, Termination, TimeControl};
use referee_pgn::{Outcome, Tags};
use referee_record::FoldedGame;
use referee_record::convert::clocks::stored_line;
use referee_record::convert::stored::stored_event;
use referee_store::{GameKey, Games as Records};
use time::OffsetDateTime;

use crate::error::ServiceError;
use crate::games::Games;
use crate::limits;

/// Writes a game in the export format.
pub(super) async fn export(games: &Games, key: &GameKey) -> Result<String, ServiceError> {
    let recorded = games.read(key).await?;
    let live = &recorded.folded;
    let clocks = clocks_after_moves(games.registry.records(), key, live.sequence).await?;
    let mut game = referee_pgn::Game::from_position(live.game.history().base().clone());
    let mut at = game.start.clone();
    let initial = live.initial_moves();
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
    write_tags(live, &mut game.tags);
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
    records: &dyn Records,
    key: &GameKey,
    last: i64,
) -> Result<Vec<Option<u64>>, ServiceError> {
    let mut clocks: Vec<Option<u64>> = Vec::new();
    let mut first_ply = None;
    let mut after = 0;
    while after < last {
        let limit = limits::FOLD_ENTRIES_READ_MAX;
        let entries = records.entries(key, after, limit).await?;
        if entries.is_empty() {
            return Err(ServiceError::damaged("an event is missing"));
        }
        for entry in entries {
            let event = stored_event(&entry.bytes)?;
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
fn left_after(event: &v1::GameEvent) -> Result<Option<u64>, ServiceError> {
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
fn set_after(event: &v1::GameEvent) -> Result<Option<u64>, ServiceError> {
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
    let date = label("date")
        .map(ToOwned::to_owned)
        .or_else(|| date_of(genesis.create_time.as_ref()?.seconds));
    set(Tags::DATE, date.as_deref());
    let clocks = &live.game.conduct().clocks;
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
