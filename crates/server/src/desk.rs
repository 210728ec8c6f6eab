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
use referee_laws::{Action, Game, Judgment, Keeper, Phase, Seat, Time};
use referee_store::{
    Answer, AnswerBody, Append, AppendError, Appended, Created, GameKey, GameRow, NewGame, Store,
};
use tokio::sync::watch;

use crate::actions::Submitted;
use crate::afterthought::{self, Looks};
use crate::clocks::ToldTime;
use crate::content::{hash_action, hash_creation};
use crate::entry::{LaidDown, lay_down};
use crate::finding::Finding;
use crate::limits;
use crate::pulse::Pulse;
use crate::record::{damaged, read_effects, read_event, read_genesis};
use crate::standing::write_standing;
use crate::status::{ApiError, from_append, from_create};
use crate::timekeeper::deadline_us;
use crate::view;

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
    pub(crate) genesis: Arc<v1::Game>,
    pub(crate) game: Game,
    pub(crate) sequence: i64,
    pub(crate) update_time_us: i64,
    /// How many spans of down time were known when the game was last asked for what it is owed.
    pub(crate) down_spans_seen: u64,
}

impl Live {
    fn read(row: &GameRow) -> Result<Live, ApiError> {
        Live::begin(&row.genesis, row.create_time_us)
    }

    /// Begins with the stored bytes of a genesis.
    pub(crate) fn begin(genesis: &[u8], create_time_us: i64) -> Result<Live, ApiError> {
        let (genesis, game) = read_genesis(genesis)?;
        Ok(Live {
            genesis: Arc::new(genesis),
            game,
            sequence: 0,
            update_time_us: create_time_us,
            down_spans_seen: 0,
        })
    }

    /// Goes on with the game as it was laid down with an event that is on disk.
    fn go_on(&mut self, event: &v1::GameEvent, after: Game) {
        self.game = after;
        self.sequence = event.sequence;
        self.update_time_us = event_time_us(event).unwrap_or(self.update_time_us);
    }

    /// Does what a stored event says.
    pub(crate) fn apply(&mut self, event: &v1::GameEvent) -> Result<(), ApiError> {
        if event.sequence != self.sequence + 1 {
            return Err(damaged("an event is missing"));
        }
        let effects = read_effects(event, &self.game)?;
        self.game
            .apply(&effects)
            .map_err(|error| damaged(&error.to_string()))?;
        if event.fen != self.game.position().to_string() {
            return Err(damaged(
                "an event has another position than its moves lead to",
            ));
        }
        self.sequence = event.sequence;
        self.update_time_us = event_time_us(event).unwrap_or(self.update_time_us);
        Ok(())
    }

    /// Returns the game as the contract shows it.
    pub(crate) fn view(&self) -> v1::Game {
        let game = &self.game;
        let points = game.profile().parameters.points;
        let moves = game.history().moves().skip(self.initial_moves());
        v1::Game {
            sequence: self.sequence,
            state: state(game, self.sequence).into(),
            moves: moves.map(|uci| uci.to_string()).collect(),
            fen: game.position().to_string(),
            adjudication: Some(view::adjudication(&game.adjudication(), points)),
            draw_offer: view::seat(game.standing().draw_offer).into(),
            outcome: Some(view::outcome(game.outcome(), points)),
            update_time: Some(view::timestamp(self.update_time_us)),
            bound_move: view::bound_move(game.standing().bound),
            standing: Some(write_standing(game)),
            ..(*self.genesis).clone()
        }
    }

    fn initial_moves(&self) -> usize {
        self.genesis
            .initial_position
            .as_ref()
            .map_or(0, |position| position.moves.len())
    }
}

/// When an event happened, in microseconds since 1970.
fn event_time_us(event: &v1::GameEvent) -> Option<i64> {
    let time = event.event_time?;
    Some(time.seconds * 1_000_000 + i64::from(time.nanos) / 1_000)
}

/// The stage of a game.
pub(crate) fn state(game: &Game, sequence: i64) -> v1::game::State {
    if game.outcome().is_some() {
        v1::game::State::Finished
    } else if game.standing().phase != Phase::Playing {
        v1::game::State::Paused
    } else if sequence == 0 {
        v1::game::State::Created
    } else {
        v1::game::State::Active
    }
}

/// Returns the resource name of a game.
pub(crate) fn resource_name(id: &str) -> String {
    format!("games/{id}")
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
        let genesis = v1::Game {
            name: name.clone(),
            outcome: Some(view::outcome(
                game.outcome(),
                game.profile().parameters.points,
            )),
            create_time: Some(view::timestamp(create_time_us)),
            ..genesis
        };
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
            Created::New(row) | Created::Existing(row) => Ok(Live::read(&row)?.view()),
        }
    }

    /// Returns a game as it stands.
    pub(crate) async fn read(&self, id: &str) -> Result<Live, ApiError> {
        let cell = self.cell(id);
        let mut slot = cell.live.lock().await;
        self.up_to_date(&cell, &mut slot, id).await?;
        if let Err(error) = self.settle_down_time(&cell, &mut slot, id).await {
            // What is on record can be shown all the same.
            tracing::warn!(game = id, ?error, "down time could not be recorded");
        }
        let live = self.up_to_date(&cell, &mut slot, id).await?;
        Ok(live.clone())
    }

    /// Returns whether a game is over.
    pub(crate) async fn is_over(&self, id: &str) -> Result<bool, ApiError> {
        let cell = self.cell(id);
        let mut live = cell.live.lock().await;
        let live = self.up_to_date(&cell, &mut live, id).await?;
        Ok(live.game.outcome().is_some())
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
        entries
            .iter()
            .map(|entry| read_event(&entry.bytes))
            .collect()
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
            let live = self.up_to_date(&cell, &mut slot, id).await?;
            if let Some(expected) = message.expected_sequence
                && expected != live.sequence
            {
                return self
                    .answer_stale(id, &message, content_hash, live.sequence)
                    .await;
            }
            let Some(now) = time_of(&live.game, told_time, arrival_us)? else {
                // A repetition is answered before its time is looked at again.
                let told = self.answer(id, &message, content_hash).await?;
                return told.ok_or_else(|| ApiError::field("action.platform_time.at", BACKWARDS));
            };
            if let Some(wait) = self.time_to_settle(&live.game, now) {
                // A move that arrived before the flag fell may still be on its way to the record.
                drop(slot);
                tokio::time::sleep(wait).await;
                continue;
            }
            let place = (&*cell, &mut *slot, id);
            let times = (now, arrival_us);
            if let Some(response) = self.record(place, &message, &action, times).await? {
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
        message: &v1::Action,
        action: &Action,
        (now, event_time_us): (Time, i64),
    ) -> Result<Option<v1::SubmitActionResponse>, ApiError> {
        let Some(live) = slot else {
            return Ok(None);
        };
        let is_finding = action.seat == Seat::Referee;
        let judgment = judge(&live.game, action, now).await?;
        let LaidDown {
            response,
            write,
            after,
        } = lay_down(live, message, judgment, event_time_us)?;
        if after.is_none() && is_finding {
            // What the referee found changes nothing, and nobody waits for an answer.
            return Ok(Some(response));
        }
        let append = Append {
            key: key_of(id),
            expected_sequence: live.sequence,
            request_id: message.request_id.clone(),
            content_hash: hash_action(message),
            write,
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
                if let (Some(event), Some(after)) = (&response.event, after) {
                    live.go_on(event, after);
                    cell.sequence.send_replace(event.sequence);
                    afterthought::leave(&self.looks, id, &live.game, event.r#move.is_some());
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
            let mut live = Live::read(&row)?;
            loop {
                let events = self.events(id, live.sequence, usize::MAX).await?;
                if events.is_empty() {
                    break;
                }
                for event in &events {
                    live.apply(event)?;
                }
            }
            cell.sequence.send_replace(live.sequence);
            *slot = Some(live);
        }
        slot.as_mut()
            .ok_or_else(|| damaged("a game that was just read"))
    }
}

/// The way out of a time that goes backwards.
const BACKWARDS: &str = "must not be earlier than the action before; the standing of the game \
                         tells its time";

/// Returns when an action happened on the time line of its game; `None` where the platform's time
/// goes backwards.
pub(crate) fn time_of(
    game: &Game,
    told: Option<ToldTime>,
    arrival_us: i64,
) -> Result<Option<Time>, ApiError> {
    match (game.keeper(), told) {
        (Keeper::Referee, None) => {
            let ms = u64::try_from(arrival_us / 1_000).unwrap_or_default();
            Ok(Some(Time::from_ms(ms).unwrap_or_default().max(game.time())))
        }
        (Keeper::Referee, Some(_)) => Err(ApiError::field(
            "action.platform_time",
            "must be left out, since the referee keeps the time of this game",
        )),
        (Keeper::Platform, None) => Ok(Some(game.time())),
        (Keeper::Platform, Some(ToldTime::Elapsed(ms))) => {
            let time = game.time().checked_add_ms(ms);
            let beyond = "leads beyond the end of the time line of the game";
            let time =
                time.ok_or_else(|| ApiError::field("action.platform_time.elapsed", beyond))?;
            Ok(Some(time))
        }
        (Keeper::Platform, Some(ToldTime::At(time))) => Ok((time >= game.time()).then_some(time)),
    }
}

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

/// Reads the first answer that a request got.
fn read_answer(answer: &Answer) -> Result<v1::SubmitActionResponse, ApiError> {
    match &answer.body {
        AnswerBody::Refusal(bytes) => v1::SubmitActionResponse::decode(bytes.as_slice())
            .map_err(|error| damaged(&error.to_string())),
        AnswerBody::Entry(bytes) => {
            let event = read_event(bytes)?;
            Ok(v1::SubmitActionResponse {
                ruling: event.ruling.clone(),
                sequence: event.sequence,
                event: Some(event),
            })
        }
    }
}
