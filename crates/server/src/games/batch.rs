//! Many actions of one game that are known beforehand, as those of a record that is imported:
//! judged one after the other and written together, some at a time.
//!
//! Each entry names the hash that it follows, so that the store takes them in their order or not
//! at all. Where anything comes between, the actions go the way of all others, one by one.

use std::sync::Arc;

use referee_api::v1;
use referee_api::v1::ruling::Verdict;
use referee_record::convert::action::Submitted;
use referee_record::convert::clocks::time_of;
use referee_record::{PendingEvent, PendingWrite, build_event, hash_action};
use referee_store::{Append, Appended, GameKey};

use super::feed::RecordedEvent;
use super::registry::{GameRegistry, sent_of};
use super::slot::RecordedGame;
use super::submit::{Arrival, submit};
use super::timekeeper::Timekeeper;
use super::writer::{Turn, append_of, due_by_service, request_key};
use crate::error::ServiceError;
use crate::measures::Counted;
use crate::salt;

/// An action, as a message and as the rules know it.
pub(crate) type Known = (v1::Action, Submitted);

/// Returns how many of the actions were played before, by the same request, with nothing between
/// them; 0 where that cannot be told so.
pub(super) async fn count_played(
    registry: &GameRegistry,
    key: &GameKey,
    actions: &[Known],
) -> Result<usize, ServiceError> {
    let game = registry.read(key).await?;
    let sequence = usize::try_from(game.folded.sequence).unwrap_or(usize::MAX);
    let count = sequence.min(actions.len());
    let Some((message, _)) = count.checked_sub(1).and_then(|last| actions.get(last)) else {
        return Ok(0);
    };
    let request = request_key(message);
    let answer = registry.records().answer(key, &request);
    let is_there = answer.await?.is_some_and(|answer| {
        answer.content_hash == hash_action(message) && answer.sequence == count as i64
    });
    Ok(if is_there { count } else { 0 })
}

/// Plays some actions on a game. Answers when all of them are on disk.
pub(super) async fn play(
    keeper: &Timekeeper,
    key: &GameKey,
    actions: Vec<Known>,
    arrival: Arrival,
) -> Result<(), ServiceError> {
    if write_together(keeper, key, &actions, &arrival).await? {
        return Ok(());
    }
    for (message, submitted) in actions {
        let id = message.request_id.clone();
        let answer = submit(keeper, key, message, submitted, arrival.clone()).await?;
        let ruling = answer.ruling.unwrap_or_default();
        if ruling.verdict() == Verdict::Refused {
            let text = format!(
                "the game was played on by others before all of it was there; {id}: {}",
                ruling.text
            );
            return Err(ServiceError::field("game_id", text));
        }
    }
    Ok(())
}

/// Writes the actions in one go, and returns whether all of them are on disk so.
async fn write_together(
    keeper: &Timekeeper,
    key: &GameKey,
    actions: &[Known],
    arrival: &Arrival,
) -> Result<bool, ServiceError> {
    let writer = &keeper.writer;
    let registry = &writer.registry;
    let slot = registry.place(key);
    let turn = Turn::wait(&slot).await;
    let game = keeper.settle_down_time(&turn).await?;
    let ahead_us = keeper.ahead_us(&game.folded);
    let judge = {
        let (key, actions, arrival) = (key.clone(), actions.to_vec(), arrival.clone());
        move || Judged::of(key, &game, &actions, (&arrival, ahead_us))
    };
    let Some(judged) = writer.judgments.run(judge).await?? else {
        return Ok(false);
    };
    let Judged {
        appends,
        events,
        after,
        asks,
        counted,
    } = judged;
    // A write is queued when the call returns, so they are in their order.
    let appends = appends.into_iter();
    let acks: Vec<_> = appends
        .map(|append| registry.records().append(append))
        .collect();
    let mut are_stored = true;
    for (ack, counted) in acks.into_iter().zip(counted) {
        let is_stored = matches!(ack.await, Ok(Appended::Stored { .. }));
        if is_stored {
            counted.count(&writer.metrics);
        }
        are_stored &= is_stored;
    }
    if asks {
        writer.asked();
    }
    if are_stored {
        registry.go_on(&slot, after, events);
    } else {
        // It is not known how much of it is there.
        slot.forget();
    }
    Ok(are_stored)
}

/// Actions that were judged, each on the game after the one before.
struct Judged {
    appends: Vec<Append>,
    events: Vec<RecordedEvent>,
    /// The game after the last of them.
    after: RecordedGame,
    /// Whether any leaves a question.
    asks: bool,
    counted: Vec<Counted>,
}

impl Judged {
    /// Judges the actions; `None` where one of them does not stand.
    fn of(
        key: GameKey,
        game: &Arc<RecordedGame>,
        actions: &[Known],
        (arrival, ahead_us): (&Arrival, i64),
    ) -> Result<Option<Judged>, ServiceError> {
        let mut judged = Judged {
            appends: Vec::with_capacity(actions.len()),
            events: Vec::with_capacity(actions.len()),
            after: RecordedGame {
                folded: game.folded.clone(),
                chain: game.chain,
            },
            asks: false,
            counted: Vec::with_capacity(actions.len()),
        };
        for (message, submitted) in actions {
            let before = &judged.after;
            let at_us = arrival.time_us.saturating_add(ahead_us);
            let by = &arrival.principal;
            let Some(now) = time_of(&before.folded.game, submitted.told_time, at_us)? else {
                return Ok(None);
            };
            let judgment = before.folded.game.judge(&submitted.action, now);
            let counted = Counted::of(&judgment);
            let pending = build_event(&before.folded, message, judgment, at_us, by, salt::draw)?;
            let PendingEvent {
                response,
                write,
                after,
            } = pending;
            let PendingWrite::Entry { bytes, asks, .. } = &write else {
                return Ok(None);
            };
            let (Some(folded), Some(event)) = (after, &response.event) else {
                return Ok(None);
            };
            let chain = referee_store::chain::next(&before.chain, bytes);
            judged.events.push(sent_of(event, &write));
            judged.asks |= asks;
            judged.counted.push(counted);
            let hash = hash_action(message);
            let write = due_by_service(write, ahead_us);
            let append = append_of(&key, before, request_key(message), hash, write);
            judged.appends.push(append);
            judged.after = RecordedGame { folded, chain };
        }
        Ok(Some(judged))
    }
}
