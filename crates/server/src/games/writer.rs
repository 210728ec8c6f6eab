//! Judging an action on what is on disk, and appending what comes of it.
//!
//! Writes of one game take turns: the next is judged when the one before is on disk. Nothing is
//! shown before that; a write that fails leaves the copy in memory as it was, or drops it where
//! it is not known what became of it.

use std::sync::Arc;

use referee_api::v1;
use referee_laws::{Action, Judgment, Seat, Time};
use referee_record::{PendingEvent, ToStore, build_event, read_answer};
use referee_store::{Append, AppendError, Appended, Fault, RequestKey, Write};
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
}

/// When an action happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    /// On the time line of the game.
    pub(crate) game: Time,
    /// For the record, in microseconds since 1970.
    pub(crate) event_us: i64,
}

/// Judges and appends.
pub(crate) struct Writer {
    pub(crate) registry: Arc<GameRegistry>,
    /// Where judgments run that may take the mate solver.
    judgments: WorkPool,
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
        let PendingEvent {
            response,
            to_store,
            after,
        } = build_event(&game.folded, &submission.message, judgment, when.event_us)?;
        if after.is_none() && is_finding {
            // What the referee found changes nothing, and nobody waits for an answer.
            return Ok(Some(response));
        }
        let asks = matches!(&to_store, ToStore::Entry(entry) if entry.asks);
        let stored = event_bytes(&to_store);
        let append = Append {
            key: slot.key.clone(),
            expected_sequence: game.folded.sequence,
            previous: game.chain,
            request: request_key(&submission.message),
            content_hash: submission.content_hash,
            write: store_write(to_store),
        };
        match self.registry.records().append(append).await {
            Ok(Appended::Stored { chain, .. }) => {
                if let (Some(event), Some(folded)) = (&response.event, after) {
                    let game = RecordedGame { folded, chain };
                    self.registry.go_on(slot, game, || RecordedEvent {
                        sequence: event.sequence,
                        bytes: stored,
                        is_end: referee_record::ends_game(event),
                    });
                }
                if asks {
                    self.asked.notify_one();
                }
                Ok(Some(response))
            }
            Ok(Appended::Repeated(answer)) => {
                if is_finding {
                    // Another process has recorded it, so the copy is out of date.
                    slot.forget();
                }
                Ok(Some(read_answer(&answer.body.into())?))
            }
            Err(AppendError::Moved { .. }) => {
                slot.forget();
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
