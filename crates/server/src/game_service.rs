//! `GameService`: games that are kept.

use std::sync::Arc;

use prost::Message;
use referee_api::v1;
use referee_record::convert::action::read_action;
use referee_record::convert::time::read_moment;
use referee_record::{
    Fields, RecordKey, check_labels, read_creation, read_name, resource_name, write_summary,
};
use referee_store::{GameRow, ListCursor, ListFilter};
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming};
use uuid::Uuid;

use crate::desk::{Desk, PLATFORM};
use crate::export::Export;
use crate::follow::{Follower, News, read_heartbeat};
use crate::limits;
use crate::pgn_games;
use crate::play::{Join, play};
use crate::status::ApiError;
use crate::stream::{Openings, Outgoing, Sender, stopped};

/// Answers `GameService`.
pub(crate) struct Games {
    desk: Arc<Desk>,
    record_key: Option<Arc<RecordKey>>,
    openings: Openings,
    is_stopping: watch::Receiver<bool>,
}

impl Games {
    pub(crate) fn new(
        desk: Arc<Desk>,
        record_key: Option<Arc<RecordKey>>,
        is_stopping: watch::Receiver<bool>,
    ) -> Games {
        Games {
            desk,
            record_key,
            openings: Openings::new(),
            is_stopping,
        }
    }

    fn check_running(&self) -> Result<(), ApiError> {
        if *self.is_stopping.borrow() {
            Err(ApiError::ShuttingDown)
        } else {
            Ok(())
        }
    }
}

#[tonic::async_trait]
impl v1::game_service_server::GameService for Games {
    async fn create_game(
        &self,
        request: Request<v1::CreateGameRequest>,
    ) -> Result<Response<v1::CreateGameResponse>, Status> {
        self.check_running()?;
        let request = request.into_inner();
        let (genesis, game) = read_creation(&request).map_err(ApiError::from)?;
        let id = match request.game_id.as_str() {
            "" => Uuid::new_v4().to_string(),
            id => id.to_owned(),
        };
        let desk = Arc::clone(&self.desk);
        // A caller that goes away does not stop what it has asked for half-way.
        let created = tokio::spawn(async move { desk.create(&request, genesis, &game, id).await });
        let game = finished(created.await)?;
        Ok(Response::new(v1::CreateGameResponse { game: Some(game) }))
    }

    async fn get_game(
        &self,
        request: Request<v1::GetGameRequest>,
    ) -> Result<Response<v1::GetGameResponse>, Status> {
        let id = read_name("name", &request.get_ref().name).map_err(ApiError::from)?;
        let live = self.desk.read(&id).await?;
        Ok(Response::new(v1::GetGameResponse {
            game: Some(live.view()),
        }))
    }

    async fn list_games(
        &self,
        request: Request<v1::ListGamesRequest>,
    ) -> Result<Response<v1::ListGamesResponse>, Status> {
        Ok(Response::new(list(&self.desk, request.get_ref()).await?))
    }

    async fn list_game_events(
        &self,
        request: Request<v1::ListGameEventsRequest>,
    ) -> Result<Response<v1::ListGameEventsResponse>, Status> {
        Ok(Response::new(
            list_events(&self.desk, request.get_ref()).await?,
        ))
    }

    async fn submit_action(
        &self,
        request: Request<v1::SubmitActionRequest>,
    ) -> Result<Response<v1::SubmitActionResponse>, Status> {
        // The arrival is stamped once, before anything is waited for.
        let arrival_us = self.desk.now_us();
        self.check_running()?;
        let request = request.into_inner();
        let id = read_name("name", &request.name).map_err(ApiError::from)?;
        let message = request
            .action
            .ok_or_else(|| ApiError::field("action", "is required"))?;
        let answer = submit(&self.desk, id, message, arrival_us).await?;
        Ok(Response::new(answer))
    }

    async fn export_pgn(
        &self,
        request: Request<v1::ExportPgnRequest>,
    ) -> Result<Response<v1::ExportPgnResponse>, Status> {
        let id = read_name("name", &request.get_ref().name).map_err(ApiError::from)?;
        let pgn = pgn_games::export(&self.desk, &id).await?;
        Ok(Response::new(v1::ExportPgnResponse { pgn }))
    }

    async fn import_pgn(
        &self,
        request: Request<v1::ImportPgnRequest>,
    ) -> Result<Response<v1::ImportPgnResponse>, Status> {
        self.check_running()?;
        let request = request.into_inner();
        if request.game_id.is_empty() {
            // A repetition has to find the game again, so its name cannot be a new one each time.
            return Err(ApiError::field("game_id", "is required for an import").into());
        }
        let id = request.game_id.clone();
        let desk = Arc::clone(&self.desk);
        let imported = tokio::spawn(async move {
            let read = request.clone();
            let named = id.clone();
            let import = tokio::task::spawn_blocking(move || pgn_games::read_import(&read, &named));
            let import = finished(import.await)?;
            pgn_games::import(&desk, import, id).await
        });
        Ok(Response::new(finished(imported.await)?))
    }

    type WatchGameStream = Outgoing<v1::WatchGameResponse>;

    async fn watch_game(
        &self,
        request: Request<v1::WatchGameRequest>,
    ) -> Result<Response<Self::WatchGameStream>, Status> {
        self.check_running()?;
        let request = request.get_ref();
        let id = read_name("name", &request.name).map_err(ApiError::from)?;
        let mut fields = Fields::default();
        let heartbeat = read_heartbeat(
            &mut fields,
            "heartbeat_interval",
            request.heartbeat_interval,
        );
        check_after(&mut fields, "after_sequence", request.after_sequence);
        fields.finish().map_err(ApiError::from)?;
        let desk = Arc::clone(&self.desk);
        let follower = Follower::begin(desk, id, request.after_sequence, heartbeat).await?;
        let (sender, outgoing) = self.openings.open()?;
        tokio::spawn(watch_game(follower, sender, self.is_stopping.clone()));
        Ok(Response::new(outgoing))
    }

    type PlayGameStream = Outgoing<v1::PlayGameResponse>;

    async fn play_game(
        &self,
        request: Request<Streaming<v1::PlayGameRequest>>,
    ) -> Result<Response<Self::PlayGameStream>, Status> {
        self.check_running()?;
        let (sender, outgoing) = self.openings.open()?;
        let desk = Arc::clone(&self.desk);
        let mut is_stopping = self.is_stopping.clone();
        let mut actions = request.into_inner();
        // The join is read inside the stream: a client may wait for the answer before it sends.
        tokio::spawn(async move {
            let joined = tokio::select! {
                joined = Join::read(&desk, &mut actions) => joined,
                () = stopped(&mut is_stopping) => Err(ApiError::ShuttingDown),
                () = sender.closed() => return,
            };
            match joined {
                Ok(join) => play(desk, join, actions, sender, is_stopping).await,
                Err(error) => sender.fail(error).await,
            }
        });
        Ok(Response::new(outgoing))
    }

    type ExportGameStream = Outgoing<v1::ExportGameResponse>;

    async fn export_game(
        &self,
        request: Request<v1::ExportGameRequest>,
    ) -> Result<Response<Self::ExportGameStream>, Status> {
        self.check_running()?;
        let id = read_name("name", &request.get_ref().name).map_err(ApiError::from)?;
        let (desk, key) = (Arc::clone(&self.desk), self.record_key.clone());
        let export = Export::begin(desk, key, &id).await?;
        let (sender, outgoing) = self.openings.open()?;
        tokio::spawn(export.run(sender, self.is_stopping.clone()));
        Ok(Response::new(outgoing))
    }
}

/// Checks the sequence that a stream resumes after.
pub(crate) fn check_after(fields: &mut Fields, field: &str, after: Option<i64>) {
    if after.is_some_and(|after| after < 0) {
        fields.refuse(field, "must not be negative; 0 begins with the first event");
    }
}

/// Reads an action and puts it to the referee. The work goes on when the caller goes away.
pub(crate) async fn submit(
    desk: &Arc<Desk>,
    id: String,
    message: v1::Action,
    arrival_us: i64,
) -> Result<v1::SubmitActionResponse, ApiError> {
    let submitted = read_action(&message)?;
    let desk = Arc::clone(desk);
    let answered =
        tokio::spawn(async move { desk.submit(&id, message, submitted, arrival_us).await });
    finished(answered.await)
}

fn finished<T>(joined: Result<Result<T, ApiError>, tokio::task::JoinError>) -> Result<T, ApiError> {
    joined.unwrap_or_else(|error| {
        tracing::error!(%error, "a task of the desk did not end well");
        Err(ApiError::InvariantBroken {
            what: "a task did not end well".into(),
        })
    })
}

async fn watch_game(
    mut follower: Follower,
    sender: Sender<v1::WatchGameResponse>,
    mut is_stopping: watch::Receiver<bool>,
) {
    use v1::watch_game_response::Kind;
    loop {
        let news = tokio::select! {
            news = follower.next() => news,
            () = stopped(&mut is_stopping) => Err(ApiError::ShuttingDown),
            () = sender.closed() => return,
        };
        let kind = match news {
            Ok(News::Snapshot(game)) => Kind::Snapshot(*game),
            Ok(News::Event(event)) => Kind::Event(*event),
            Ok(News::Heartbeat(heartbeat)) => Kind::Heartbeat(heartbeat),
            Ok(News::End) => return,
            Err(error) => return sender.fail(error).await,
        };
        if sender
            .send(v1::WatchGameResponse { kind: Some(kind) })
            .await
            .is_err()
        {
            return;
        }
    }
}

async fn list(
    desk: &Desk,
    request: &v1::ListGamesRequest,
) -> Result<v1::ListGamesResponse, ApiError> {
    let mut fields = Fields::default();
    let size = fields.page_size(
        request.page_size,
        limits::GAMES_PAGE_DEFAULT,
        limits::GAMES_PAGE_MAX,
    );
    fields.length(
        "page_token",
        &request.page_token,
        limits::PAGE_TOKEN_BYTES_MAX,
    );
    let filter = read_filter(request.filter.as_ref(), &mut fields);
    fields.finish()?;
    let scope = filter_scope(request.filter.as_ref());
    let mut cursor = match read_token(&request.page_token, &scope)? {
        None => None,
        Some(parts) => match parts.as_slice() {
            &[create_time_us, id] => Some(ListCursor { create_time_us, id }),
            _ => return Err(ApiError::InvalidPageToken),
        },
    };
    let mut games = Vec::new();
    let mut bytes = 0;
    // One row at a time keeps the cursor at the last game that fits the page.
    while games.len() < size && bytes < limits::PAGE_BYTES_MAX {
        let wanted = (size - games.len()).min(32);
        let page = desk.store().list(PLATFORM, &filter, cursor, wanted).await?;
        cursor = page.next;
        for row in &page.games {
            let game = summary(desk, row).await?;
            bytes += game.encoded_len();
            games.push(game);
        }
        if cursor.is_none() {
            break;
        }
    }
    let next_page_token = match cursor {
        None => String::new(),
        Some(cursor) => write_token(&scope, &[cursor.create_time_us, cursor.id]),
    };
    Ok(v1::ListGamesResponse {
        games,
        next_page_token,
    })
}

/// A game as a list shows it, from its genesis and its last event.
async fn summary(desk: &Desk, row: &GameRow) -> Result<v1::Game, ApiError> {
    let last = match row.sequence {
        0 => None,
        sequence => {
            let last = desk.store().entries(&row.key, sequence - 1, 1).await?;
            last.into_iter().next()
        }
    };
    let last = last.as_ref().map(|entry| entry.bytes.as_slice());
    let summary = write_summary(&row.genesis, last, row.state, row.update_time_us)?;
    Ok(summary)
}

fn read_filter(message: Option<&v1::GameFilter>, fields: &mut Fields) -> ListFilter {
    let Some(message) = message else {
        return ListFilter::default();
    };
    fields.count(
        "filter.states",
        "states",
        message.states.len(),
        limits::FILTER_STATES_MAX,
    );
    for &state in message.states.iter().take(limits::FILTER_STATES_MAX) {
        if fields.choice::<v1::game::State>("filter.states", state) == v1::game::State::Unspecified
        {
            fields.refuse(
                "filter.states",
                "must name states other than STATE_UNSPECIFIED",
            );
        }
    }
    fields.count(
        "filter.labels",
        "labels",
        message.labels.len(),
        limits::FILTER_LABELS_MAX,
    );
    check_labels("filter.labels", &message.labels, fields);
    let min_create_time_us = read_moment("filter.min_create_time", message.min_create_time, fields);
    let max_create_time_us = read_moment("filter.max_create_time", message.max_create_time, fields);
    ListFilter {
        states: message.states.clone(),
        labels: message
            .labels
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        min_create_time_us,
        // The store's bound is inclusive, that of the contract is not.
        max_create_time_us: max_create_time_us.map(|time| time - 1),
    }
}

async fn list_events(
    desk: &Desk,
    request: &v1::ListGameEventsRequest,
) -> Result<v1::ListGameEventsResponse, ApiError> {
    let id = read_name("parent", &request.parent)?;
    let mut fields = Fields::default();
    let size = fields.page_size(
        request.page_size,
        limits::EVENTS_PAGE_DEFAULT,
        limits::EVENTS_PAGE_MAX,
    );
    fields.length(
        "page_token",
        &request.page_token,
        limits::PAGE_TOKEN_BYTES_MAX,
    );
    fields.finish()?;
    let scope = format!("events/{id}");
    let mut after = match read_token(&request.page_token, &scope)?.as_deref() {
        None => 0,
        Some(&[after]) if after >= 0 => after,
        Some(_) => return Err(ApiError::InvalidPageToken),
    };
    let row = desk
        .store()
        .game(&referee_store::GameKey::new(PLATFORM, id.as_str()))
        .await?;
    let last = row
        .ok_or_else(|| ApiError::GameNotFound {
            name: resource_name(&id),
        })?
        .sequence;
    let mut events: Vec<v1::GameEvent> = Vec::new();
    let mut bytes = 0;
    'pages: while events.len() < size {
        let page = desk.events(&id, after, size - events.len()).await?;
        if page.is_empty() {
            break;
        }
        for event in page {
            bytes += event.encoded_len();
            if bytes > limits::PAGE_BYTES_MAX && !events.is_empty() {
                break 'pages;
            }
            after = event.sequence;
            events.push(event);
        }
    }
    let next_page_token = if after < last {
        write_token(&scope, &[after])
    } else {
        String::new()
    };
    Ok(v1::ListGameEventsResponse {
        events,
        next_page_token,
    })
}

/// What a list of games is about: a token of one filter is none for another.
fn filter_scope(filter: Option<&v1::GameFilter>) -> String {
    use sha2::Digest;
    let bytes = filter.map(Message::encode_to_vec).unwrap_or_default();
    let hash = sha2::Sha256::digest(bytes);
    let hash: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("games/{hash}")
}

/// Writes a page token: opaque to callers, bound to what is listed.
fn write_token(scope: &str, parts: &[i64]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| format!("{part:x}")).collect();
    format!("{scope}:{}", parts.join(":"))
}

/// Reads a page token; the empty one begins with the first page.
fn read_token(token: &str, scope: &str) -> Result<Option<Vec<i64>>, ApiError> {
    if token.is_empty() {
        return Ok(None);
    }
    let parts = token
        .strip_prefix(scope)
        .and_then(|rest| rest.strip_prefix(':'));
    let parts = parts.ok_or(ApiError::InvalidPageToken)?;
    let numbers = parts.split(':').map(|part| i64::from_str_radix(part, 16));
    numbers
        .collect::<Result<_, _>>()
        .map(Some)
        .map_err(|_| ApiError::InvalidPageToken)
}
