//! A bare stream of tonic: what is pushed goes to all who watch, and nothing else is done.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use tower::Service;

use crate::raw::Raw;

/// The method that opens a stream.
pub(crate) const WATCH: &str = "/bare.Bare/Watch";

/// The method whose message goes to all streams.
pub(crate) const PUSH: &str = "/bare.Bare/Push";

/// The messages that wait for a reader, as in the referee.
const QUEUE_MAX: usize = referee_server::limits::STREAM_QUEUE_MAX;

type Queue = mpsc::Sender<Result<Bytes, Status>>;

/// Everybody who watches.
#[derive(Clone, Default)]
struct Bare(Arc<Mutex<Vec<Queue>>>);

/// Serves on a free port, which is printed, until it is killed.
pub(crate) async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("there is a free port");
    println!("{}", listener.local_addr().expect("it is bound"));
    let served = Server::builder()
        .add_service(Bare::default())
        .serve_with_incoming(TcpListenerStream::new(listener))
        .await;
    served.expect("the listener works");
}

impl NamedService for Bare {
    const NAME: &'static str = "bare.Bare";
}

impl Service<http::Request<Body>> for Bare {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let bare = self.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(Raw);
            let answered = if request.uri().path() == WATCH {
                grpc.server_streaming(Watch(bare), request).await
            } else {
                grpc.unary(Push(bare), request).await
            };
            Ok(answered)
        })
    }
}

struct Watch(Bare);

impl ServerStreamingService<Bytes> for Watch {
    type Response = Bytes;
    type ResponseStream = ReceiverStream<Result<Bytes, Status>>;
    type Future = Ready<Result<Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, _: Request<Bytes>) -> Self::Future {
        let (queue, receiver) = mpsc::channel(QUEUE_MAX);
        let mut all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(queue);
        ready(Ok(Response::new(ReceiverStream::new(receiver))))
    }
}

struct Push(Bare);

impl UnaryService<Bytes> for Push {
    type Response = Bytes;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, Status>> + Send>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let all = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, message) = (all.clone(), request.into_inner());
        Box::pin(async move {
            for queue in all {
                // Who is gone is left out.
                let _ = queue.send(Ok(message.clone())).await;
            }
            Ok(Response::new(Bytes::new()))
        })
    }
}
