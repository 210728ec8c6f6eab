//! `WatchGame`, `WatchGames` and `PlayGame`, whose events are sent as they are stored.
//!
//! The generated server encodes each message of each stream. These methods are answered here
//! instead, by the same service with another codec; every other method goes on to the generated
//! server.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use referee_api::v1;
use referee_api::v1::game_service_server::GameServiceServer;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::{Grpc, NamedService, ServerStreamingService, StreamingService};
use tonic::{Status, Streaming};
use tower::Service;

use super::service::GamesService;
use super::{play, watch, watch_games};
use crate::limits;
use crate::transport::{Caller, Frame, FrameCodec, Outgoing};

type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// `GameService` as it is served.
#[derive(Clone)]
pub(crate) struct StreamingGames {
    service: GamesService,
    generated: GameServiceServer<GamesService>,
}

impl StreamingGames {
    pub(crate) fn new(service: GamesService) -> StreamingGames {
        let generated = GameServiceServer::new(service.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .accept_compressed(CompressionEncoding::Zstd)
            .max_decoding_message_size(limits::MESSAGE_BYTES_MAX);
        StreamingGames { service, generated }
    }
}

impl NamedService for StreamingGames {
    const NAME: &'static str = <GameServiceServer<GamesService> as NamedService>::NAME;
}

impl Service<Request<Body>> for StreamingGames {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        match request.uri().path() {
            "/referee.v1.GameService/WatchGame" => {
                let watch = Watch(self.service.clone());
                Box::pin(async move {
                    let answered = grpc::<v1::WatchGameRequest>()
                        .server_streaming(watch, request)
                        .await;
                    Ok(answered)
                })
            }
            "/referee.v1.GameService/WatchGames" => {
                let watch = WatchAll(self.service.clone());
                Box::pin(async move {
                    let answered = grpc::<v1::WatchGamesRequest>()
                        .server_streaming(watch, request)
                        .await;
                    Ok(answered)
                })
            }
            "/referee.v1.GameService/PlayGame" => {
                let play = Play(self.service.clone());
                Box::pin(async move {
                    let answered = grpc::<v1::PlayGameRequest>().streaming(play, request).await;
                    Ok(answered)
                })
            }
            _ => self.generated.call(request),
        }
    }
}

fn grpc<D: prost::Message + Default + Send + 'static>() -> Grpc<FrameCodec<D>> {
    let sizes = Some(limits::MESSAGE_BYTES_MAX);
    Grpc::new(FrameCodec::default())
        .accept_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Zstd)
        .apply_max_message_size_config(sizes, None)
}

struct Watch(GamesService);

impl ServerStreamingService<v1::WatchGameRequest> for Watch {
    type Response = Frame;
    type ResponseStream = Outgoing<Frame>;
    type Future = Answer<Result<tonic::Response<Outgoing<Frame>>, Status>>;

    fn call(&mut self, request: tonic::Request<v1::WatchGameRequest>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move {
            let caller = Caller::of(&request)?;
            let frames = watch::watch(&service, &caller, request.get_ref()).await?;
            Ok(tonic::Response::new(frames))
        })
    }
}

struct WatchAll(GamesService);

impl ServerStreamingService<v1::WatchGamesRequest> for WatchAll {
    type Response = Frame;
    type ResponseStream = Outgoing<Frame>;
    type Future = Answer<Result<tonic::Response<Outgoing<Frame>>, Status>>;

    fn call(&mut self, request: tonic::Request<v1::WatchGamesRequest>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move {
            let caller = Caller::of(&request)?;
            let frames = watch_games::watch(&service, &caller, request.into_inner()).await?;
            Ok(tonic::Response::new(frames))
        })
    }
}

struct Play(GamesService);

impl StreamingService<v1::PlayGameRequest> for Play {
    type Response = Frame;
    type ResponseStream = Outgoing<Frame>;
    type Future = Answer<Result<tonic::Response<Outgoing<Frame>>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<v1::PlayGameRequest>>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move {
            let caller = Caller::of(&request)?;
            let frames = play::open(&service, caller, request.into_inner())?;
            Ok(tonic::Response::new(frames))
        })
    }
}
