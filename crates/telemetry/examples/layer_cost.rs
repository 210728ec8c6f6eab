//! What the layer around the calls costs: the processor time of a call with it, less that without,
//! in turns, in one process and on one thread.
//!
//! `cargo run --release -p referee-telemetry --example layer_cost -- text|json` prints nanoseconds
//! for each call, with a log of that form; without an argument there is none.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use referee_telemetry::log::{self, LogFormat};
use referee_telemetry::{Kind, Method, Telemetry};
use rustix::time::{ClockId, clock_gettime};
use tower::{Layer as _, Service};

/// The calls of a round.
const CALLS: u32 = 200_000;

/// How often both are measured, in turns.
const ROUNDS: usize = 9;

type Boxed = Pin<Box<dyn Body<Data = Bytes, Error = Infallible> + Send>>;

/// A body of one message, with trailers where it is an answer.
struct Message {
    data: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Body for Message {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = self.data.take().map(Frame::data);
        let frame = data.or_else(|| self.trailers.take().map(Frame::trailers));
        Poll::Ready(frame.map(Ok))
    }
}

/// A message of a hundred bytes.
fn message(trailers: Option<HeaderMap>) -> Boxed {
    let mut bytes = [0; 105];
    bytes[4] = 100;
    Box::pin(Message {
        data: Some(Bytes::copy_from_slice(&bytes)),
        trailers,
    })
}

/// Reads a request, and answers.
#[derive(Clone)]
struct Answering;

impl Service<Request<Boxed>> for Answering {
    type Response = Response<Boxed>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Boxed>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Boxed>) -> Self::Future {
        Box::pin(async move {
            let _ = request.into_body().collect().await;
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
            Ok(Response::new(message(Some(trailers))))
        })
    }
}

/// Makes the calls of a round; returns the nanoseconds of one.
async fn round<S>(mut service: S) -> f64
where
    S: Service<Request<Boxed>, Response = Response<Boxed>, Error = Infallible>,
{
    let before = clock_gettime(ClockId::ProcessCPUTime);
    for _ in 0..CALLS {
        let request = Request::post("/a.package.AService/AMethod").body(message(None));
        let answer = service.call(request.expect("a request")).await;
        let Ok(answer) = answer;
        let _ = answer.into_body().collect().await;
    }
    let after = clock_gettime(ClockId::ProcessCPUTime);
    let ns = (after.tv_sec - before.tv_sec) as f64 * 1e9 + (after.tv_nsec - before.tv_nsec) as f64;
    ns / f64::from(CALLS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let format = match std::env::args().nth(1).as_deref() {
        Some("text") => Some(LogFormat::Text),
        Some("json") => Some(LogFormat::Json),
        _ => None,
    };
    if let Some(format) = format {
        log::start("info", format).expect("a log");
    }
    let method = Method {
        service: "a.package.AService".into(),
        name: "AMethod".into(),
        kind: Kind::Unary,
    };
    let telemetry = Telemetry::default();
    let layer = telemetry.calls::<Boxed>(
        &[method],
        |body| Box::pin(body) as Boxed,
        |body| Box::pin(body) as Boxed,
    );
    let (mut bare, mut layered) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(round(Answering).await);
        layered.push(round(layer.layer(Answering)).await);
    }
    let (bare, layered) = (median(bare), median(layered));
    println!(
        "log {format:?}: {bare:.0} ns without, {layered:.0} ns with: {:.0} ns",
        layered - bare
    );
}
