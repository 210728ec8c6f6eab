//! The referee's desk: games in memory, judged one action at a time, and acknowledged when they
//! are on disk.
//!
//! A game in memory is only a copy of its record. Whoever finds that the record has moved on
//! reads it again and judges anew, so a copy that is out of date, or a second one, does no harm.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use prost::Message;
use referee_api::v1;
use referee_laws::{Action, Game, Judgment, Seat, Time};
use referee_record::convert::action::Submitted;
use referee_record::convert::clocks::time_of;
use referee_record::convert::stored::stored_event;
use referee_record::convert::time::write_us;
use referee_record::{
    Error, Finding, FoldedGame, PendingEvent, PendingWrite, answer_of, build_event,
    complete_genesis, deadline_us, hash_action, hash_creation, resource_name, state,
};
use referee_store::{
    Answer, AnswerBody, Append, AppendError, Appended, Created, GameKey, NewGame, Store, Write,
};
use tokio::sync::watch;

use crate::afterthought::{self, Looks};
use crate::limits;
use crate::pulse::Pulse;
use crate::status::{ApiError, from_append, from_create};

/// The platform of a service without tenants.
pub(crate) const PLATFORM: &str = "default";

/// Judges actions and keeps records.
pub(crate) struct Desk {
    store: Arc<dyn Store>,
    cells: Mutex<LruCache<String, Arc<Cell>>>,
    looks: Looks,
    pub(crate) pulse: Pulse,
}

/// The place of one game in memory.
pub(crate) struct Cell {
    pub(crate) live: tokio::sync::Mutex<Option<Live>>,
    /// The sequence of the last event that is known here; followers wait for it to change.
    sequence: watch::Sender<i64>,
}

/// A game in memory.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) folded: FoldedGame,
    /// How many spans of down time were known when the game was last asked for what it is owed.
    pub(crate) down_spans_seen: u64,
}

pub(crate) fn key_of(id: &str) -> GameKey {
    GameKey::new(PLATFORM, id)
}

impl Desk {
    pub(crate) fn new(store: Arc<dyn Store>, looks: Looks, pulse: Pulse) -> Desk {
        let capacity = NonZeroUsize::new(limits::GAMES_CACHED_MAX).unwrap_or(NonZeroUsize::MIN);
        Desk {
            store,
            cells: Mutex::new(LruCache::new(capacity)),
            looks,
            pulse,
        }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Creates a game, or finds the one that the same request created.
    pub(crate) async fn create(
        &self,
        request: &v1::CreateGameRequest,
        genesis: v1::Game,
        game: &Game,
        id: String,
    ) -> Result<v1::Game, ApiError> {
        let name = resource_name(&id);
        let create_time_us = self.now_us();
        let create_time = Some(write_us(create_time_us));
        let genesis = complete_genesis(genesis, game, name.clone(), create_time);
        let labels = genesis
            .labels
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()));
        let new = NewGame {
            key: key_of(&id),
            request_id: request.request_id.clone(),
            content_hash: hash_creation(request),
            labels: labels.collect(),
            state: state(game, 0).into(),
            genesis: genesis.encode_to_vec(),
            create_time_us,
            deadline_us: deadline_us(game),
        };
        let created = self.store.create(new).await;
        let row = created.map_err(|error| from_create(error, &name, &request.request_id))?;
        // A repetition gets the game as it was created, whatever has happened since.
        match row {
            Created::New(row) | Created::Existing(row) => {
                Ok(FoldedGame::begin(&row.genesis, row.create_time_us)?.view())
            }
        }
    }

    /// Returns a game as it stands.
    pub(crate) async fn read(&self, id: &str) -> Result<FoldedGame, ApiError> {
        let cell = self.cell(id);
        let mut slot = cell.live.lock().await;
        self.up_to_date(&cell, &mut slot, id).await?;
        if let Err(error) = self.settle_down_time(&cell, &mut slot, id).await {
            // What is on record can be shown all the same.
            tracing::warn!(game = id, ?error, "down time could not be recorded");
        }
        let live = self.up_to_date(&cell, &mut slot, id).await?;
        Ok(live.folded.clone())
    }

    /// Returns whether a game is over.
    pub(crate) async fn is_over(&self, id: &str) -> Result<bool, ApiError> {
        let cell = self.cell(id);
        let mut live = cell.live.lock().await;
        let live = self.up_to_date(&cell, &mut live, id).await?;
        Ok(live.folded.game.outcome().is_some())
    }

    /// Returns the sequence of a game, to be waited on.
    pub(crate) fn sequence(&self, id: &str) -> watch::Receiver<i64> {
        self.cell(id).sequence.subscribe()
    }

    /// Reads events of a game, oldest first, at least one where there is any.
    pub(crate) async fn events(
        &self,
        id: &str,
        after: i64,
        limit: usize,
    ) -> Result<Vec<v1::GameEvent>, ApiError> {
        let entries = self.store.entries(&key_of(id), after, limit).await?;
        let events = entries.iter().map(|entry| stored_event(&entry.bytes));
        Ok(events.collect::<Result<_, _>>()?)
    }

    /// Judges an action and keeps what came of it. Answers when it is on disk.
    pub(crate) async fn submit(
        &self,
        id: &str,
        message: v1::Action,
        submitted: Submitted,
        arrival_us: i64,
    ) -> Result<v1::SubmitActionResponse, ApiError> {
        let Submitted { action, told_time } = submitted;
        let content_hash = hash_action(&message);
        let cell = self.cell(id);
        for _ in 0..limits::JUDGE_ATTEMPTS_MAX {
            let mut slot = cell.live.lock().await;
            self.up_to_date(&cell, &mut slot, id).await?;
            self.settle_down_time(&cell, &mut slot, id).await?;
            let folded = &self.up_to_date(&cell, &mut slot, id).await?.folded;
            if let Some(expected) = message.expected_sequence
                && expected != folded.sequence
            {
                return self
                    .answer_stale(id, &message, content_hash, folded.sequence)
                    .await;
            }
            let Some(now) = time_of(&folded.game, told_time, arrival_us)? else {
                // A repetition is answered before its time is looked at again.
                let told = self.answer(id, &message, content_hash).await?;
                return told.ok_or_else(|| ApiError::field("action.platform_time.at", BACKWARDS));
            };
            if let Some(wait) = self.time_to_settle(&folded.game, now) {
                // A move that arrived before the flag fell may still be on its way to the record.
                drop(slot);
                tokio::time::sleep(wait).await;
                continue;
            }
            let place = (&*cell, &mut *slot, id);
            let times = (now, arrival_us);
            let asked = (&message, content_hash);
            if let Some(response) = self.record(place, asked, &action, times).await? {
                return Ok(response);
            }
        }
        Err(ApiError::Overloaded)
    }

    /// Judges an action on the copy of its game in memory, which must be there, and appends what
    /// comes of it; `None` where another writer was faster, so that it has to be judged anew.
    pub(crate) async fn record(
        &self,
        (cell, slot, id): (&Cell, &mut Option<Live>, &str),
        (message, content_hash): (&v1::Action, [u8; 32]),
        action: &Action,
        (now, event_time_us): (Time, i64),
    ) -> Result<Option<v1::SubmitActionResponse>, ApiError> {
        let Some(live) = slot else {
            return Ok(None);
        };
        let is_finding = action.seat == Seat::Referee;
        let folded = &live.folded;
        let judgment = judge(&folded.game, action, now).await?;
        let PendingEvent {
            response,
            write,
            after,
        } = build_event(folded, message, judgment, event_time_us)?;
        if after.is_none() && is_finding {
            // What the referee found changes nothing, and nobody waits for an answer.
            return Ok(Some(response));
        }
        let asks = matches!(write, PendingWrite::Entry { asks: true, .. });
        let append = Append {
            key: key_of(id),
            expected_sequence: folded.sequence,
            request_id: message.request_id.clone(),
            content_hash,
            write: to_store(write),
        };
        match self.store.append(append).await {
            Ok(Appended::Repeated(answer)) => {
                if is_finding {
                    // It was recorded by another copy of the game, so this one is out of date.
                    *slot = None;
                }
                read_answer(&answer).map(Some)
            }
            Ok(Appended::Stored { .. }) => {
                if let Some(after) = after {
                    cell.sequence.send_replace(after.sequence);
                    if asks {
                        afterthought::leave(&self.looks, id, &after.game);
                    }
                    live.folded = after;
                }
                Ok(Some(response))
            }
            Err(AppendError::SequenceMismatch { .. }) => {
                *slot = None;
                Ok(None)
            }
            Err(error) => {
                // Whether the write took effect is not known, so the copy is not trusted.
                *slot = None;
                let request = (message.request_id.as_str(), response.sequence);
                Err(from_append(error, &resource_name(id), request))
            }
        }
    }

    /// Records what the referee found by itself, where it changes something.
    pub(crate) async fn find(&self, id: &str, finding: Finding) -> Result<(), ApiError> {
        let (message, action) = finding.into_action();
        let submitted = Submitted {
            action,
            told_time: None,
        };
        let answered = self.submit(id, message, submitted, self.now_us()).await;
        answered.map(|_| ())
    }

    /// A stale action is refused, unless it was answered before.
    async fn answer_stale(
        &self,
        id: &str,
        message: &v1::Action,
        content_hash: [u8; 32],
        actual: i64,
    ) -> Result<v1::SubmitActionResponse, ApiError> {
        let answer = self.answer(id, message, content_hash).await?;
        answer.ok_or_else(|| ApiError::SequenceMismatch {
            expected: message.expected_sequence.unwrap_or_default(),
            actual,
        })
    }

    /// Returns the answer that a request got before, where it did.
    async fn answer(
        &self,
        id: &str,
        message: &v1::Action,
        content_hash: [u8; 32],
    ) -> Result<Option<v1::SubmitActionResponse>, ApiError> {
        match self.store.answer(&key_of(id), &message.request_id).await? {
            Some(answer) if answer.content_hash == content_hash => read_answer(&answer).map(Some),
            Some(_) => Err(ApiError::RequestIdReused {
                request_id: message.request_id.clone(),
            }),
            None => Ok(None),
        }
    }

    pub(crate) fn cell(&self, id: &str) -> Arc<Cell> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let (sequence, _) = watch::channel(0);
            Arc::new(Cell {
                live: tokio::sync::Mutex::new(None),
                sequence,
            })
        };
        cells.get_or_insert(id.to_owned(), new).clone()
    }

    /// Reads the game into its cell where it is not there.
    pub(crate) async fn up_to_date<'a>(
        &self,
        cell: &Cell,
        slot: &'a mut Option<Live>,
        id: &str,
    ) -> Result<&'a mut Live, ApiError> {
        if slot.is_none() {
            let row = self.store.game(&key_of(id)).await?;
            let row = row.ok_or_else(|| ApiError::GameNotFound {
                name: resource_name(id),
            })?;
            let mut folded = FoldedGame::begin(&row.genesis, row.create_time_us)?;
            loop {
                let events = self.events(id, folded.sequence, usize::MAX).await?;
                if events.is_empty() {
                    break;
                }
                for event in &events {
                    folded.apply(event)?;
                }
            }
            cell.sequence.send_replace(folded.sequence);
            *slot = Some(Live {
                folded,
                down_spans_seen: 0,
            });
        }
        slot.as_mut()
            .ok_or_else(|| Error::damaged("a game that was just read").into())
    }
}

/// The way out of a time that goes backwards.
const BACKWARDS: &str = "must not be earlier than the action before; the standing of the game \
                         tells its time";

/// Judges an action: beside the other work where it may take the mate solver, which can take a
/// second.
async fn judge(game: &Game, action: &Action, now: Time) -> Result<Judgment, ApiError> {
    if !game.may_ask_for_mate(action, now) {
        return Ok(game.judge(action, now));
    }
    let (game, action) = (game.clone(), action.clone());
    let judged = tokio::task::spawn_blocking(move || game.judge(&action, now));
    judged.await.map_err(|error| ApiError::InvariantBroken {
        what: format!("a judgment did not come to its end: {error}"),
    })
}

/// Returns what is to be stored in the store's terms.
fn to_store(write: PendingWrite) -> Write {
    match write {
        PendingWrite::Entry {
            bytes,
            state,
            update_time_us,
            deadline_us,
            asks: _,
        } => Write::Entry {
            bytes,
            state: state.into(),
            update_time_us,
            deadline_us,
        },
        PendingWrite::Refusal { answer } => Write::Refusal { answer },
    }
}

/// Reads the first answer that a request got.
fn read_answer(answer: &Answer) -> Result<v1::SubmitActionResponse, ApiError> {
    Ok(match &answer.body {
        AnswerBody::Refusal(bytes) => v1::SubmitActionResponse::decode(bytes.as_slice())
            .map_err(|error| Error::damaged(error.to_string()))?,
        AnswerBody::Entry(bytes) => answer_of(stored_event(bytes)?),
    })
}
