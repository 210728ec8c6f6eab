//! `GameService`: games that are kept.

use std::pin::Pin;
use std::sync::Arc;

use referee_api::v1;
use referee_record::convert::action::read_action;
use referee_record::convert::time::write_us;
use referee_record::{Fields, read_update};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use super::permit::{check_action, note_refusal};
use super::service::GamesService;
use super::{create, export, export_pgn, import_pgn, listing, play, watch, watch_games};
use crate::error::ServiceError;
use crate::games::Arrival;
use crate::transport::{Caller, Frame, Outgoing};

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
        let game = create::create(self, &caller, request.into_inner()).await?;
        Ok(Response::new(v1::CreateGameResponse { game: Some(game) }))
    }

    async fn get_game(
        &self,
        request: Request<v1::GetGameRequest>,
    ) -> Result<Response<v1::GetGameResponse>, Status> {
        let caller = Caller::of(&request)?;
        let key = self.key(&caller, "name", &request.get_ref().name).await?;
        let game = self.games.read(&key).await?;
        // On the time line of the game, with which its clocks are compared.
        let ahead_us = self.games.keeper.ahead_us(&game.folded);
        let read_us = self.games.now_us().saturating_add(ahead_us);
        Ok(Response::new(v1::GetGameResponse {
            game: Some(game.folded.view()),
            read_time: Some(write_us(read_us)),
        }))
    }

    async fn list_games(
        &self,
        request: Request<v1::ListGamesRequest>,
    ) -> Result<Response<v1::ListGamesResponse>, Status> {
        let caller = Caller::of(&request)?;
        let registry = &self.games.registry;
        let listed = listing::list(registry, &caller, request.get_ref()).await?;
        Ok(Response::new(listed))
    }

    async fn list_game_events(
        &self,
        request: Request<v1::ListGameEventsRequest>,
    ) -> Result<Response<v1::ListGameEventsResponse>, Status> {
        let caller = Caller::of(&request)?;
        let listed = listing::list_events(self, &caller, request.get_ref()).await?;
        Ok(Response::new(listed))
    }

    async fn update_game(
        &self,
        request: Request<v1::UpdateGameRequest>,
    ) -> Result<Response<v1::UpdateGameResponse>, Status> {
        let time_us = self.games.now_us();
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let arrival = Arrival {
            time_us,
            principal: Arc::clone(caller.principal()),
        };
        let request = request.into_inner();
        tracing::Span::current().record("request_id", &request.request_id);
        let key = self.key(&caller, "name", &request.name).await?;
        let update = read_update(&request).map_err(ServiceError::from)?;
        let (named, id) = (key.clone(), request.request_id);
        let event = self.games.update(key, id, update, arrival).await?;
        let game = self.games.read(&named).await?;
        Ok(Response::new(v1::UpdateGameResponse {
            game: Some(game.folded.view()),
            event: Some(event),
        }))
    }

    async fn delete_game(
        &self,
        request: Request<v1::DeleteGameRequest>,
    ) -> Result<Response<v1::DeleteGameResponse>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        tracing::Span::current().record("request_id", &request.request_id);
        let key = self.key(&caller, "name", &request.name).await?;
        let mut fields = Fields::default();
        fields.request_id("request_id", &request.request_id);
        fields.finish().map_err(ServiceError::from)?;
        let tombstone = self.games.delete(key, request.request_id).await?;
        Ok(Response::new(v1::DeleteGameResponse {
            delete_time: Some(write_us(tombstone.delete_time_us)),
        }))
    }

    async fn submit_action(
        &self,
        request: Request<v1::SubmitActionRequest>,
    ) -> Result<Response<v1::SubmitActionResponse>, Status> {
        // The arrival is stamped once, before anything is waited for.
        let time_us = self.games.now_us();
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let arrival = Arrival {
            time_us,
            principal: Arc::clone(caller.principal()),
        };
        let request = request.into_inner();
        let key = self.key(&caller, "name", &request.name).await?;
        let message = request
            .action
            .ok_or_else(|| ServiceError::field("action", "is required"))?;
        tracing::Span::current().record("request_id", &message.request_id);
        check_action(&caller, &message)?;
        let submitted = read_action(&message).map_err(ServiceError::from)?;
        let answer = self.games.submit(key, message, submitted, arrival).await?;
        note_refusal(&caller, &answer);
        Ok(Response::new(answer))
    }

    type ExportPgnStream = Outgoing<v1::ExportPgnResponse>;

    async fn export_pgn(
        &self,
        request: Request<v1::ExportPgnRequest>,
    ) -> Result<Response<Self::ExportPgnStream>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let outgoing = export_pgn::begin(self, &caller, request.into_inner()).await?;
        Ok(Response::new(outgoing))
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

    type WatchGamesStream = Decoded<v1::WatchGamesResponse>;

    /// As [`watch_game`](Self::watch_game).
    async fn watch_games(
        &self,
        request: Request<v1::WatchGamesRequest>,
    ) -> Result<Response<Self::WatchGamesStream>, Status> {
        let caller = Caller::of(&request)?;
        let frames = watch_games::watch(self, &caller, request.into_inner()).await?;
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
        let key = self.key(&caller, "name", &request.get_ref().name).await?;
        let export =
            export::Export::begin(Arc::clone(&self.games), &key, self.record_key.clone()).await?;
        let stop = self.stop.clone();
        let outgoing = self
            .streams
            .open(&caller, |sender| export.run(sender, stop))?;
        Ok(Response::new(outgoing))
    }
}
