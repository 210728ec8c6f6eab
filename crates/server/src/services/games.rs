//! `GameService`: games that are kept.

use std::pin::Pin;
use std::sync::Arc;

use prost::Message;
use referee_api::v1;
use referee_laws::Game;
use referee_record::convert::action::read_action;
use referee_record::convert::time::write_us;
use referee_record::{
    FoldedGame, RecordKey, complete_genesis, deadline_us, hash_creation, read_creation, read_name,
    resource_name, state,
};
use referee_store::{GameKey, NewGame};
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};
use uuid::Uuid;

use super::{export, export_pgn, import_pgn, listing, play, watch};
use crate::error::ServiceError;
use crate::games::Games;
use crate::limits;
use crate::pool::WorkPool;
use crate::transport::{Caller, Frame, Outgoing, StreamPermits};

/// Answers `GameService`.
#[derive(Clone)]
pub(crate) struct GamesService {
    pub(crate) games: Arc<Games>,
    pub(crate) streams: StreamPermits,
    pub(crate) stop: CancellationToken,
    /// Where long histories and texts are read.
    pub(crate) pool: WorkPool,
    pub(crate) record_key: Option<Arc<RecordKey>>,
}

impl GamesService {
    pub(super) fn check_running(&self) -> Result<(), ServiceError> {
        if self.stop.is_cancelled() {
            Err(ServiceError::ShuttingDown)
        } else {
            Ok(())
        }
    }

    async fn create(
        &self,
        caller: &Caller,
        request: v1::CreateGameRequest,
    ) -> Result<v1::Game, ServiceError> {
        tracing::Span::current().record("request_id", &request.request_id);
        let id = match request.game_id.as_str() {
            "" => Uuid::new_v4().to_string(),
            id => id.to_owned(),
        };
        let key = caller.key(id);
        let create_time_us = self.games.now_us();
        let position = request.game.as_ref();
        let position = position.and_then(|game| game.initial_position.as_ref());
        let moves = position.map_or(0, |position| position.moves.len());
        let is_long = moves > limits::HISTORY_MOVES_INLINE_MAX;
        let read = move || {
            let (genesis, game) = read_creation(&request)?;
            Ok::<_, ServiceError>(new_game(key, &request, genesis, game, create_time_us))
        };
        let (new, folded) = self.pool.run_where(is_long, read).await??;
        self.games.create(new, folded).await
    }

    /// Reads the name of a game of the caller's platform.
    pub(super) fn key(caller: &Caller, field: &str, name: &str) -> Result<GameKey, ServiceError> {
        Ok(caller.key(read_name(field, name)?))
    }
}

/// What is stored of a creation, and the game that begins with it.
pub(super) fn new_game(
    key: GameKey,
    request: &v1::CreateGameRequest,
    genesis: v1::Game,
    game: Game,
    create_time_us: i64,
) -> (NewGame, FoldedGame) {
    let create_time = Some(write_us(create_time_us));
    let genesis = complete_genesis(genesis, &game, resource_name(&key.game), create_time);
    let labels = genesis.labels.iter();
    let new = NewGame {
        key,
        request_id: request.request_id.clone(),
        content_hash: hash_creation(request),
        genesis: genesis.encode_to_vec(),
        state: state(&game, 0).into(),
        labels: labels
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        create_time_us,
        deadline_us: deadline_us(&game),
    };
    let folded = FoldedGame {
        genesis: Arc::new(genesis),
        game,
        sequence: 0,
        update_time_us: create_time_us,
    };
    (new, folded)
}

/// A stream of frames, read as the messages that they are.
type Decoded<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

fn decoded<T: prost::Message + Default + 'static>(frames: Outgoing<Frame>) -> Decoded<T> {
    Box::pin(frames.map(|frame| {
        let message = frame?.decode();
        message.map_err(|error| Status::internal(error.to_string()))
    }))
}

#[tonic::async_trait]
impl v1::game_service_server::GameService for GamesService {
    async fn create_game(
        &self,
        request: Request<v1::CreateGameRequest>,
    ) -> Result<Response<v1::CreateGameResponse>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let game = self.create(&caller, request.into_inner()).await?;
        Ok(Response::new(v1::CreateGameResponse { game: Some(game) }))
    }

    async fn get_game(
        &self,
        request: Request<v1::GetGameRequest>,
    ) -> Result<Response<v1::GetGameResponse>, Status> {
        let caller = Caller::of(&request)?;
        let key = Self::key(&caller, "name", &request.get_ref().name)?;
        let game = self.games.read(&key).await?;
        Ok(Response::new(v1::GetGameResponse {
            game: Some(game.folded.view()),
        }))
    }

    async fn list_games(
        &self,
        request: Request<v1::ListGamesRequest>,
    ) -> Result<Response<v1::ListGamesResponse>, Status> {
        let caller = Caller::of(&request)?;
        let records = self.games.registry.records();
        let listed = listing::list(records, &caller, request.get_ref()).await?;
        Ok(Response::new(listed))
    }

    async fn list_game_events(
        &self,
        request: Request<v1::ListGameEventsRequest>,
    ) -> Result<Response<v1::ListGameEventsResponse>, Status> {
        let caller = Caller::of(&request)?;
        let records = self.games.registry.records();
        let listed = listing::list_events(records, &caller, request.get_ref()).await?;
        Ok(Response::new(listed))
    }

    async fn submit_action(
        &self,
        request: Request<v1::SubmitActionRequest>,
    ) -> Result<Response<v1::SubmitActionResponse>, Status> {
        // The arrival is stamped once, before anything is waited for.
        let arrival_us = self.games.now_us();
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        let key = Self::key(&caller, "name", &request.name)?;
        let message = request
            .action
            .ok_or_else(|| ServiceError::field("action", "is required"))?;
        tracing::Span::current().record("request_id", &message.request_id);
        let submitted = read_action(&message).map_err(ServiceError::from)?;
        let answer = self
            .games
            .submit(key, message, submitted, arrival_us)
            .await?;
        Ok(Response::new(answer))
    }

    async fn export_pgn(
        &self,
        request: Request<v1::ExportPgnRequest>,
    ) -> Result<Response<v1::ExportPgnResponse>, Status> {
        let caller = Caller::of(&request)?;
        let key = Self::key(&caller, "name", &request.get_ref().name)?;
        let pgn = export_pgn::export(&self.games, &key).await?;
        Ok(Response::new(v1::ExportPgnResponse { pgn }))
    }

    async fn import_pgn(
        &self,
        request: Request<v1::ImportPgnRequest>,
    ) -> Result<Response<v1::ImportPgnResponse>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        tracing::Span::current().record("request_id", &request.request_id);
        Ok(Response::new(
            import_pgn::import(self, &caller, request).await?,
        ))
    }

    type WatchGameStream = Decoded<v1::WatchGameResponse>;

    /// The same stream as [`StreamingGames`](super::StreamingGames) writes, read back into
    /// messages.
    async fn watch_game(
        &self,
        request: Request<v1::WatchGameRequest>,
    ) -> Result<Response<Self::WatchGameStream>, Status> {
        let frames = watch::watch(self, &Caller::of(&request)?, request.get_ref()).await?;
        Ok(Response::new(decoded(frames)))
    }

    type PlayGameStream = Decoded<v1::PlayGameResponse>;

    /// As [`watch_game`](Self::watch_game).
    async fn play_game(
        &self,
        request: Request<Streaming<v1::PlayGameRequest>>,
    ) -> Result<Response<Self::PlayGameStream>, Status> {
        let caller = Caller::of(&request)?;
        let frames = play::open(self, caller, request.into_inner())?;
        Ok(Response::new(decoded(frames)))
    }

    type ExportGameStream = Outgoing<v1::ExportGameResponse>;

    async fn export_game(
        &self,
        request: Request<v1::ExportGameRequest>,
    ) -> Result<Response<Self::ExportGameStream>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let key = Self::key(&caller, "name", &request.get_ref().name)?;
        let export =
            export::Export::begin(Arc::clone(&self.games), &key, self.record_key.clone()).await?;
        let stop = self.stop.clone();
        let outgoing = self.streams.open(|sender| export.run(sender, stop))?;
        Ok(Response::new(outgoing))
    }
}

/// Checks the sequence that a stream resumes after.
pub(super) fn check_after(fields: &mut referee_record::Fields, field: &str, after: Option<i64>) {
    if after.is_some_and(|after| after < 0) {
        fields.refuse(field, "must not be negative; 0 begins with the first event");
    }
}

/// Reads how long a stream may be silent.
pub(super) fn read_heartbeat(
    fields: &mut referee_record::Fields,
    field: &str,
    interval: Option<prost_types::Duration>,
) -> std::time::Duration {
    let range = (limits::HEARTBEAT_MIN, limits::HEARTBEAT_MAX);
    fields.duration(field, interval, limits::HEARTBEAT_DEFAULT, range)
}
