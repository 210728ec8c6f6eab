//! Judging an action on what is on disk, and appending what comes of it.
//!
//! Writes of one game take turns: the next is judged when the one before is on disk. Nothing is
//! shown before that; a write that fails leaves the copy in memory as it was, or drops it where
//! it is not known what became of it.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use referee_api::v1;
use referee_laws::{Action, Judgment, Seat, Time};
use referee_record::convert::stored::stored_event;
use referee_record::{Finding, PendingEvent, PendingWrite, answer_of, build_event, hash_action};
use referee_store::{
    Answer, AnswerBody, Append, AppendError, Appended, Fault, GameKey, RequestKey, Write,
};
use tokio::sync::{MutexGuard, Notify};

use super::feed::RecordedEvent;
use super::registry::GameRegistry;
use super::slot::{GameSlot, RecordedGame};
use crate::error::ServiceError;
use crate::pool::WorkPool;

/// The turn of one write at a game. What is appended meanwhile comes from other processes.
pub(crate) struct Turn<'a> {
    pub(crate) slot: &'a Arc<GameSlot>,
    _held: MutexGuard<'a, ()>,
}

impl<'a> Turn<'a> {
    /// Waits until every earlier write of the game is on disk, or has failed.
    pub(crate) async fn wait(slot: &'a Arc<GameSlot>) -> Turn<'a> {
        let held = slot.turn.lock().await;
        Turn { slot, _held: held }
    }
}

/// An action with all that it is judged by and stored under.
pub(crate) struct Submission {
    pub(crate) message: v1::Action,
    pub(crate) action: Action,
    /// The hash of what the action asks for; see [`referee_record::hash_action`].
    pub(crate) content_hash: [u8; 32],
    /// Who acts; empty where the referee acts by itself.
    pub(crate) principal: Arc<str>,
}

impl Submission {
    /// What the referee found by itself, as the action that goes on record.
    pub(crate) fn of_finding(finding: Finding) -> Submission {
        let (message, action) = finding.into_action();
        Submission {
            content_hash: hash_action(&message),
            message,
            action,
            principal: "".into(),
        }
    }
}

/// When an action happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    /// On the time line of the game.
    pub(crate) game: Time,
    /// For the record, in microseconds since 1970.
    pub(crate) event_us: i64,
    /// By how much the time line of the game is ahead of the service, in microseconds.
    pub(crate) ahead_us: i64,
}

/// Judges and appends.
pub(crate) struct Writer {
    pub(crate) registry: Arc<GameRegistry>,
    /// Where judgments run that may take the mate solver.
    pub(super) judgments: WorkPool,
    /// Told when a question was left for the adjudicator.
    asked: Arc<Notify>,
}

impl Writer {
    pub(crate) fn new(
        registry: Arc<GameRegistry>,
        judgments: WorkPool,
        asked: Arc<Notify>,
    ) -> Writer {
        Writer {
            registry,
            judgments,
            asked,
        }
    }

    /// Judges an action on a game, and answers when what came of it is on disk; `None` where
    /// another process was faster, so that the game has to be read and the action judged again.
    pub(crate) async fn write(
        &self,
        turn: &Turn<'_>,
        game: &Arc<RecordedGame>,
        submission: &Submission,
        when: When,
    ) -> Result<Option<v1::SubmitActionResponse>, ServiceError> {
        let slot = turn.slot;
        let is_finding = submission.action.seat == Seat::Referee;
        let judgment = self.judge(game, &submission.action, when.game).await?;
        let (message, by) = (&submission.message, &submission.principal);
        let pending = build_event(&game.folded, message, judgment, when.event_us, by)?;
        let PendingEvent {
            response,
            write,
            after,
        } = pending;
        if after.is_none() && is_finding {
            // What the referee found changes nothing, and nobody waits for an answer.
            return Ok(Some(response));
        }
        let asks = matches!(write, PendingWrite::Entry { asks: true, .. });
        // Who follows the game is sent what is stored.
        let stored = match &write {
            PendingWrite::Entry { bytes, .. } if self.registry.is_followed(&slot.key) => {
                Some(Bytes::copy_from_slice(bytes))
            }
            _ => None,
        };
        let (request, hash) = (request_key(&submission.message), submission.content_hash);
        let write = store_write(write, when.ahead_us);
        let append = append_of(&slot.key, game, request, hash, write);
        match self.registry.records().append(append).await {
            Ok(Appended::Stored { chain, .. }) => {
                if let (Some(event), Some(folded)) = (&response.event, after) {
                    let game = RecordedGame { folded, chain };
                    let sent = stored.map(|bytes| RecordedEvent::of(event, bytes));
                    self.registry.go_on(slot, game, sent);
                }
                if asks {
                    self.asked();
                }
                Ok(Some(response))
            }
            Ok(Appended::Repeated(answer)) => {
                if is_finding {
                    // Another process has recorded it, so the copy is out of date.
                    slot.found_at(game.folded.sequence, answer.sequence);
                }
                read_answer(&answer).map(Some)
            }
            Err(AppendError::Moved { actual, .. }) => {
                slot.found_at(game.folded.sequence, actual);
                Ok(None)
            }
            Err(error) => {
                if matches!(error, AppendError::Fault(Fault::Unknown | Fault::Closed)) {
                    slot.forget();
                }
                let id = submission.message.request_id.as_str();
                let request = (id, game.folded.sequence);
                Err(ServiceError::from_append(error, &slot.key, request))
            }
        }
    }

    /// Tells the adjudicator that a question was left.
    pub(super) fn asked(&self) {
        self.asked.notify_one();
    }

    /// Judges an action: away from the threads that answer where it may take the mate solver,
    /// which can take a second.
    async fn judge(
        &self,
        game: &Arc<RecordedGame>,
        action: &Action,
        now: Time,
    ) -> Result<Judgment, ServiceError> {
        if !game.folded.game.may_ask_for_mate(action, now) {
            return Ok(game.folded.game.judge(action, now));
        }
        let (game, action) = (Arc::clone(game), action.clone());
        let judge = move || game.folded.game.judge(&action, now);
        self.judgments.run(judge).await
    }
}

/// What is put to the store: something that was judged on a game as its record has it.
pub(super) fn append_of(
    key: &GameKey,
    game: &RecordedGame,
    request: RequestKey,
    content_hash: [u8; 32],
    write: Write,
) -> Append {
    Append {
        key: key.clone(),
        expected_sequence: game.folded.sequence,
        previous: game.chain,
        request,
        content_hash,
        write,
    }
}

/// The request of an action: its id counts for the seat that sends it.
pub(crate) fn request_key(message: &v1::Action) -> RequestKey {
    // A seat beyond those of the contract was refused before.
    let scope = u8::try_from(message.seat).unwrap_or(u8::MAX);
    RequestKey::new(scope, message.request_id.as_str())
}

/// Reads the first answer that a request got.
pub(crate) fn read_answer(answer: &Answer) -> Result<v1::SubmitActionResponse, ServiceError> {
    match &answer.body {
        AnswerBody::Refusal(bytes) => v1::SubmitActionResponse::decode(bytes.as_slice())
            .map_err(|error| ServiceError::damaged(&error.to_string())),
        AnswerBody::Entry(bytes) => Ok(answer_of(stored_event(bytes)?)),
    }
}

/// What the store keeps: the game is due on the time line of the service.
pub(super) fn store_write(write: PendingWrite, ahead_us: i64) -> Write {
    match write {
        PendingWrite::Entry {
            bytes,
            state,
            update_time_us,
            deadline_us,
            asks,
        } => Write::Entry {
            bytes,
            state: state.into(),
            update_time_us,
            deadline_us: deadline_us.map(|it| it.saturating_sub(ahead_us)),
            asks,
        },
        PendingWrite::Refusal { answer } => Write::Refusal { answer },
    }
}
