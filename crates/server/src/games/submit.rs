//! An action, from the question to what is on disk.

use std::sync::Arc;

use referee_api::v1;
use referee_record::convert::action::Submitted;
use referee_record::convert::clocks::time_of;
use referee_record::{Finding, hash_action};
use referee_store::GameKey;
use referee_telemetry::Acknowledged;

use super::slot::{GameSlot, RecordedGame};
use super::timekeeper::Timekeeper;
use super::writer::{Submission, Turn, When, request_key};
use crate::error::ServiceError;
use crate::limits;

/// The way out of a time that goes backwards.
const BACKWARDS: &str = "must not be earlier than the action before; the conduct of the game \
                         tells its time";

/// When an action arrived, and from whom.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// In microseconds since 1970.
    pub(crate) time_us: i64,
    /// Who sent it; empty where the referee acts by itself.
    pub(crate) principal: Arc<str>,
}

/// Judges an action on a game and keeps what came of it. Answers when it is on disk.
///
/// # Errors
///
/// Where the action cannot be judged; see [`ServiceError`].
pub(crate) async fn submit(
    keeper: &Timekeeper,
    key: &GameKey,
    message: v1::Action,
    submitted: Submitted,
    arrival: Arrival,
) -> Result<v1::SubmitActionResponse, ServiceError> {
    let arrival_us = arrival.time_us;
    let Submitted { action, told_time } = submitted;
    let content_hash = hash_action(&message);
    let submission = Submission {
        message,
        action,
        content_hash,
        principal: arrival.principal,
    };
    let registry = &keeper.writer.registry;
    let slot = registry.place(key);
    // What is stale is refused at once, however long the writes before it wait for the disk. What
    // is ahead waits for its turn: the write before it may be on its way.
    let sequence = registry.read_known(&slot).await?.folded.sequence;
    let is_stale = |expected| expected < sequence;
    if submission.message.expected_sequence.is_some_and(is_stale)
        && let Some(answer) = refuse_stale(keeper, &slot, &submission, sequence).await?
    {
        return Ok(answer);
    }
    for _ in 0..limits::JUDGE_ATTEMPTS_MAX {
        let turn = Turn::wait(&slot).await;
        let game = keeper.settle_down_time(&turn).await?;
        let sequence = game.folded.sequence;
        if let Some(answer) = refuse_stale(keeper, &slot, &submission, sequence).await? {
            return Ok(answer);
        }
        let ahead_us = keeper.ahead_us(&game.folded);
        let event_us = arrival_us.saturating_add(ahead_us);
        let Some(now) = time_of(&game.folded.game, told_time, event_us)? else {
            if is_behind(keeper, &slot, &game).await? {
                continue;
            }
            // A repetition is answered before its time is looked at again.
            let answer = find_answer(keeper, key, &submission).await?;
            return answer.ok_or_else(|| ServiceError::field("action.platform_time.at", BACKWARDS));
        };
        if let Some(at_us) = keeper.settles_at_us(&game.folded, now) {
            // A move that arrived before the flag fell may still be on its way to the record.
            drop(turn);
            keeper.wait_until(at_us).await;
            continue;
        }
        let when = When {
            game: now,
            event_us,
            ahead_us,
        };
        let written = keeper.writer.write(&turn, &game, &submission, when).await?;
        if let Some(response) = written {
            return Ok(response);
        }
    }
    Err(ServiceError::overloaded())
}

/// Records what the referee found by itself, where it changes something.
pub(crate) async fn find(
    keeper: &Timekeeper,
    key: &GameKey,
    finding: Finding,
) -> Result<(), ServiceError> {
    let (message, action) = finding.into_action();
    let submitted = Submitted {
        action,
        told_time: None,
    };
    let arrival = Arrival {
        time_us: keeper.now_us(),
        principal: "".into(),
    };
    let answered = submit(keeper, key, message, submitted, arrival).await;
    answered.map(|_| ())
}

/// Settles the down time that a game is owed, where nobody writes to it at the moment.
pub(crate) async fn settle(keeper: &Timekeeper, key: &GameKey) -> Result<(), ServiceError> {
    let slot = keeper.writer.registry.place(key);
    let turn = Turn::wait(&slot).await;
    keeper.settle_down_time(&turn).await.map(|_| ())
}

/// Refuses an action that was decided on another state of the game than that of a sequence, unless
/// it was answered before. `None` where it was decided on the newest state.
async fn refuse_stale(
    keeper: &Timekeeper,
    slot: &Arc<GameSlot>,
    submission: &Submission,
    sequence: i64,
) -> Result<Option<v1::SubmitActionResponse>, ServiceError> {
    let Some(expected) = submission.message.expected_sequence else {
        return Ok(None);
    };
    if expected == sequence {
        return Ok(None);
    }
    // Another process may have written what the caller has seen.
    let newest = keeper.writer.registry.read_newest(slot).await?;
    let actual = newest.folded.sequence;
    if expected == actual {
        return Ok(None);
    }
    let answer = find_answer(keeper, &slot.key, submission).await?;
    answer
        .map(Some)
        .ok_or(ServiceError::SequenceMismatch { expected, actual })
}

/// Whether the record has moved past what an action was looked at on.
async fn is_behind(
    keeper: &Timekeeper,
    slot: &Arc<GameSlot>,
    game: &RecordedGame,
) -> Result<bool, ServiceError> {
    let newest = keeper.writer.registry.read_newest(slot).await?;
    Ok(newest.folded.sequence > game.folded.sequence)
}

/// Returns the answer that a request got before, where it did.
async fn find_answer(
    keeper: &Timekeeper,
    key: &GameKey,
    submission: &Submission,
) -> Result<Option<v1::SubmitActionResponse>, ServiceError> {
    let request = request_key(&submission.message);
    let records = keeper.writer.registry.records();
    match records.answer(key, &request).await? {
        Some(answer) => {
            let answer = submission.read_answer(&answer)?;
            let metrics = &keeper.writer.metrics;
            metrics.count_action(Acknowledged::Repeated);
            Ok(Some(answer))
        }
        None => Ok(None),
    }
}
