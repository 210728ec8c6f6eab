//! One game as text: its moves with what the record shows of the clocks.

use std::sync::Arc;
use std::time::Duration;

use referee_api::v1;
use referee_chess::Color;
use referee_laws::{Citation, Keeper, LedgerCause, Termination};
use referee_record::FoldedGame;
use referee_record::convert::clocks::stored_line;
use referee_record::convert::stored::stored_event;
use referee_record::convert::time::whole_ms;
use referee_store::GameKey;

use super::super::imported::{is_imported, shows_clock, shows_elapsed};
use super::super::service::GamesService;
use super::tags::{End, write_tags, written_outcome};
use crate::error::ServiceError;
use crate::games::{GameRegistry, RecordedGame};
use crate::limits;

/// Writes a game in the export format.
pub(super) async fn write(
    service: &GamesService,
    key: &GameKey,
    game: Arc<RecordedGame>,
) -> Result<String, ServiceError> {
    let told = Told::read(&service.games.registry, key, &game.folded).await?;
    let moves = game.folded.game.history().ply() as usize;
    let is_long = moves > limits::HISTORY_MOVES_INLINE_MAX;
    let write = move || write_game(&game.folded, &told);
    service.pool.run_where(is_long, write).await
}

fn write_game(live: &FoldedGame, told: &Told) -> String {
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
        let shown = index.checked_sub(initial);
        if let Some(shown) = shown.and_then(|event| told.shown.get(event)) {
            let note = game.notes.get_mut(index);
            note.clock = shown.left_ms.map(Duration::from_millis);
            note.elapsed = shown.elapsed;
        }
    }
    write_tags(live, told.begun_us, told.imported_end, &mut game.tags);
    if let Some(outcome) = live.game.outcome() {
        game.outcome = written_outcome(outcome.result);
        if needs_reason(outcome.termination) {
            let source = outcome.citations.first();
            let source = source.map(|citation| format!("{}: ", source_of(live, citation)));
            game.comment_end(&format!("{}{}", source.unwrap_or_default(), outcome.text));
        }
    }
    game.export().to_string()
}

/// The rule book and the article of a citation; of a rule that no article has, the profile and
/// where it was read.
fn source_of(live: &FoldedGame, citation: &Citation) -> String {
    if !citation.is_of_profile() {
        return format!("{} {}", citation.edition, citation.article);
    }
    let profile = live.genesis.rule_profile.as_ref();
    let (name, edition) = profile.map_or(("", ""), |it| (&*it.name, &*it.edition));
    format!("Rules of {name} ({edition})")
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

/// What the record shows of the time of a move.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    /// What the mover had left after it, in milliseconds.
    left_ms: Option<u64>,
    /// How long it took, where a text has told it.
    elapsed: Option<Duration>,
}

/// What the events of a record tell that the game itself does not.
#[derive(Debug, Default)]
struct Told {
    /// What is shown of each move of the main line that was played as an event.
    shown: Vec<Shown>,
    /// When the game began, in microseconds since 1970: at its first event. `None` where it has
    /// not begun, and where it was imported.
    begun_us: Option<i64>,
    /// How the game stood after what was imported; `None` where nothing was.
    imported_end: Option<End>,
}

impl Told {
    async fn read(
        registry: &GameRegistry,
        key: &GameKey,
        live: &FoldedGame,
    ) -> Result<Told, ServiceError> {
        let mut told = Told::default();
        let mut first_ply = None;
        let mut after = 0;
        while after < live.sequence {
            let limit = limits::FOLD_ENTRIES_READ_MAX;
            let turn = registry.bulk_turn().await?;
            let entries = registry.records().entries(key, after, limit).await?;
            drop(turn);
            if entries.is_empty() {
                return Err(ServiceError::damaged("an event is missing"));
            }
            let left = usize::try_from(live.sequence - after).unwrap_or(usize::MAX);
            for entry in entries.into_iter().take(left) {
                let event = stored_event(&entry.bytes)?;
                after = event.sequence;
                told.add(&event, live.game.keeper(), &mut first_ply)?;
            }
        }
        Ok(told)
    }

    fn add(
        &mut self,
        event: &v1::GameEvent,
        keeper: Keeper,
        first_ply: &mut Option<u32>,
    ) -> Result<(), ServiceError> {
        if is_imported(event) {
            self.imported_end = Some(End::of(event.outcome.as_ref()));
        } else if event.sequence == 1 {
            let time = event.event_time.as_ref();
            self.begun_us = time.map(|time| time.seconds.saturating_mul(1_000_000));
        }
        let begin = *first_ply.get_or_insert(event.ply - u32::from(event.r#move.is_some()));
        if let Some(ply) = event.reinstated_ply {
            self.shown.truncate(ply.saturating_sub(begin) as usize);
        }
        if event.r#move.is_some() {
            self.shown.push(shown(event, keeper)?);
        } else if let (Some(last), Some(left_ms)) = (self.shown.last_mut(), set_after(event)?) {
            last.left_ms = Some(left_ms);
        }
        Ok(())
    }
}

/// What a move shows of its time: where the platform keeps it, only if it was told.
fn shown(event: &v1::GameEvent, keeper: Keeper) -> Result<Shown, ServiceError> {
    use v1::platform_time::Kind;
    let action = event.action.as_ref();
    let time = action.and_then(|action| action.platform_time.as_ref());
    let is_known = keeper == Keeper::Referee || time.is_some();
    let elapsed = match time.and_then(|time| time.kind.as_ref()) {
        Some(Kind::Elapsed(elapsed)) if shows_elapsed(event) => {
            whole_ms(*elapsed).map(Duration::from_millis)
        }
        _ => None,
    };
    Ok(Shown {
        left_ms: match is_known && shows_clock(event) {
            true => left_after(event)?,
            false => None,
        },
        elapsed,
    })
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
