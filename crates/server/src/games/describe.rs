//! What the platform does to a game besides acting in it: to describe it anew, and to delete it.

use referee_api::v1;
use referee_record::convert::stored::stored_event;
use referee_record::{PendingEvent, Update, state};
use referee_store::{
    Answer, AnswerBody, Append, AppendError, Appended, Deletion, GameKey, RequestKey, Tombstone,
    whole,
};

use super::registry::GameRegistry;
use super::slot::RecordedGame;
use super::submit::Arrival;
use super::writer::{Turn, store_write};
use crate::error::ServiceError;
use crate::{limits, salt};

/// Records an update, and returns its event. Answers when it is on disk and what it replaces is
/// not any more.
///
/// # Errors
///
/// Where the game cannot be written to; see [`ServiceError`].
pub(crate) async fn update(
    registry: &GameRegistry,
    key: &GameKey,
    request: (&str, &Update),
    arrival: &Arrival,
) -> Result<v1::GameEvent, ServiceError> {
    let slot = registry.place(key);
    for _ in 0..limits::JUDGE_ATTEMPTS_MAX {
        let turn = Turn::wait(&slot).await;
        let game = registry.read_known(turn.slot).await?;
        if let Some(event) = record(registry, &turn, &game, request, arrival).await? {
            return Ok(event);
        }
    }
    Err(ServiceError::overloaded())
}

/// Records an update of a game; `None` where another process was faster.
async fn record(
    registry: &GameRegistry,
    turn: &Turn<'_>,
    game: &RecordedGame,
    (request_id, update): (&str, &Update),
    arrival: &Arrival,
) -> Result<Option<v1::GameEvent>, ServiceError> {
    let slot = turn.slot;
    // On the time line of the game, which may be ahead; no clock depends on it.
    let at_us = arrival.time_us.max(game.folded.update_time_us);
    let by = &arrival.principal;
    let pending = update.record(&game.folded, at_us, by, salt::draw);
    let PendingEvent {
        response,
        write,
        after,
    } = pending;
    let (Some(event), Some(folded)) = (response.event, after) else {
        return Err(ServiceError::damaged("an update without an event"));
    };
    let sent = registry.sent(&slot.key, Some(&event), &write);
    let labels = folded.genesis.labels.clone();
    let append = Append {
        key: slot.key.clone(),
        expected_sequence: game.folded.sequence,
        previous: game.chain,
        request: RequestKey::new(RequestKey::PLATFORM, request_id),
        content_hash: update.content_hash(),
        write: store_write(write, Some(labels.into_iter().collect())),
    };
    match registry.records().append(append).await {
        Ok(Appended::Stored { chain, .. }) => {
            registry.go_on(slot, RecordedGame { folded, chain }, sent);
            Ok(Some(event))
        }
        Ok(Appended::Repeated(answer)) => read_repeated(&answer, request_id, update).map(Some),
        Err(AppendError::Moved { actual, .. }) => {
            slot.found_at(game.folded.sequence, actual);
            Ok(None)
        }
        Err(error) => {
            let request = (request_id, game.folded.sequence);
            Err(registry.refused(error, slot, request).await)
        }
    }
}

/// Reads the event that the same request led to before.
fn read_repeated(
    answer: &Answer,
    request_id: &str,
    update: &Update,
) -> Result<v1::GameEvent, ServiceError> {
    let AnswerBody::Entry(bytes) = &answer.body else {
        return Err(ServiceError::damaged("an update was refused"));
    };
    let event = stored_event(&whole(bytes, answer.private.as_ref()))?;
    // Text about persons is compared for as long as it is kept.
    if answer.private.is_some() && !update.is_answered_by(&event) {
        return Err(ServiceError::RequestIdReused {
            request_id: request_id.to_owned(),
        });
    }
    Ok(event)
}

/// Deletes a game that is over. Answers when nothing of it is on disk any more.
///
/// # Errors
///
/// [`ServiceError::GameNotFinished`], and where the store cannot delete it.
pub(crate) async fn delete(
    registry: &GameRegistry,
    key: &GameKey,
    request_id: &str,
    now_us: i64,
) -> Result<Tombstone, ServiceError> {
    let slot = registry.place(key);
    for _ in 0..limits::JUDGE_ATTEMPTS_MAX {
        let turn = Turn::wait(&slot).await;
        // That a game goes on may have changed on another server.
        let (sequence, previous) = match registry.read_newest(turn.slot).await {
            Ok(game) => {
                let sequence = game.folded.sequence;
                if state(&game.folded.game, sequence) != v1::game::State::Finished {
                    return Err(ServiceError::GameNotFinished {
                        name: referee_record::resource_name(&key.game),
                    });
                }
                (sequence, game.chain)
            }
            // The same request may have deleted it, which the store knows.
            Err(ServiceError::GameDeleted { .. }) => (0, [0; 32]),
            Err(error) => return Err(error),
        };
        let deletion = Deletion {
            key: key.clone(),
            request_id: request_id.to_owned(),
            expected_sequence: sequence,
            previous,
            delete_time_us: now_us,
        };
        match registry.records().delete(deletion).await {
            Ok(tombstone) => {
                registry.end(&slot);
                return Ok(tombstone);
            }
            Err(AppendError::Moved { actual, .. }) => slot.found_at(sequence, actual),
            Err(error) => {
                let request = (request_id, sequence);
                return Err(registry.refused(error, &slot, request).await);
            }
        }
    }
    Err(ServiceError::overloaded())
}
