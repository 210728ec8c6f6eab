//! Judging an action on what is on disk, and appending what comes of it.
//!
//! Writes of one game take turns: the next is judged when the one before is on disk. Nothing is
//! shown before that; a write that fails leaves the copy in memory as it was, or drops it where
//! it is not known what became of it.

use std::sync::Arc;

use prost::Message;
use referee_api::v1;
use referee_laws::{Action, Judgment, Seat, Time};
use referee_record::convert::stored::stored_event;
use referee_record::{
    Finding, PendingEvent, PendingWrite, Private, answer_of, build_event, hash_action,
    text_of_action,
};
use referee_store::{
    Answer, AnswerBody, Append, AppendError, Appended, GameKey, PrivateText, RequestKey, Write,
    whole,
};
use referee_telemetry::{Acknowledged, Metrics};
use tokio::sync::{MutexGuard, Notify};

use super::registry::GameRegistry;
use super::slot::{GameSlot, RecordedGame};
use crate::error::ServiceError;
use crate::measures::Counted;
use crate::pool::WorkPool;
use crate::salt;

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

    /// Reads the first answer that the request of the action got.
    ///
    /// # Errors
    ///
    /// [`ServiceError::RequestIdReused`] where it asked for something else.
    pub(crate) fn read_answer(
        &self,
        answer: &Answer,
    ) -> Result<v1::SubmitActionResponse, ServiceError> {
        // Text about persons is compared for as long as it is kept.
        let kept = answer.private.as_ref().map(|text| &text.bytes);
        let differs = kept.is_some_and(|kept| text_of_action(&self.message).as_ref() != Some(kept));
        if answer.content_hash != self.content_hash || differs {
            return Err(ServiceError::RequestIdReused {
                request_id: self.message.request_id.clone(),
            });
        }
        read_answer(answer)
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
    pub(super) asked: Arc<Notify>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Writer {
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
        let counted = Counted::of(&judgment);
        let (message, by) = (&submission.message, &submission.principal);
        let at_us = when.event_us;
        let pending = build_event(&game.folded, message, judgment, at_us, by, salt::draw)?;
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
        let sent = self
            .registry
            .sent(&slot.key, response.event.as_ref(), &write);
        let (request, hash) = (request_key(&submission.message), submission.content_hash);
        let write = due_by_service(write, when.ahead_us);
        let append = append_of(&slot.key, game, request, hash, write);
        match self.registry.records().append(append).await {
            Ok(Appended::Stored { chain, .. }) => {
                counted.count(&self.metrics);
                if let Some(folded) = after {
                    let game = RecordedGame { folded, chain };
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
                let answer = submission.read_answer(&answer)?;
                self.metrics.count_action(Acknowledged::Repeated);
                Ok(Some(answer))
            }
            Err(AppendError::Moved { actual, .. }) => {
                slot.found_at(game.folded.sequence, actual);
                Ok(None)
            }
            Err(error) => {
                let id = submission.message.request_id.as_str();
                let request = (id, game.folded.sequence);
                Err(self.registry.refused(error, slot, request).await)
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
    write: PendingWrite,
) -> Append {
    Append {
        key: key.clone(),
        expected_sequence: game.folded.sequence,
        previous: game.chain,
        request,
        content_hash,
        write: store_write(write, None),
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
        AnswerBody::Entry(bytes) => {
            let bytes = whole(bytes, answer.private.as_ref());
            Ok(answer_of(stored_event(&bytes)?))
        }
    }
}

/// A text about persons, as the store keeps it.
pub(crate) fn store_text(private: Private) -> PrivateText {
    PrivateText {
        salt: private.salt,
        bytes: private.text,
    }
}

/// The same write, due on the time line of the service, of which that of the game is ahead.
pub(crate) fn due_by_service(mut write: PendingWrite, ahead_us: i64) -> PendingWrite {
    if let PendingWrite::Entry { deadline_us, .. } = &mut write {
        *deadline_us = deadline_us.map(|it| it.saturating_sub(ahead_us));
    }
    write
}

/// What is to be stored of a judgment, or of an update, which has the labels of its game.
pub(crate) fn store_write(write: PendingWrite, describes: Option<Vec<(String, String)>>) -> Write {
    match write {
        PendingWrite::Entry {
            bytes,
            private,
            state,
            update_time_us,
            deadline_us,
            asks,
        } => Write::Entry {
            bytes,
            private: private.map(store_text),
            describes,
            state: state.into(),
            update_time_us,
            deadline_us,
            asks,
        },
        PendingWrite::Refusal { answer } => Write::Refusal { answer },
    }
}
