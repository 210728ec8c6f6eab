//! Traces: the context of a caller in, spans out to a collector that is written here.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use referee_api::v1::GetGameRequest;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use super::{by_name, create, folder, soon, start};

/// The spans that were collected.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    async fn start() -> (Collector, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let collector = Collector::default();
        let serving = tonic::transport::Server::builder()
            .add_service(TraceServiceServer::new(collector.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(serving);
        (collector, address)
    }

    fn spans(&self) -> Vec<Span> {
        self.0.lock().expect("nobody panics").clone()
    }
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        let spans = scopes.flat_map(|scope| scope.spans);
        self.0.lock().expect("nobody panics").extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

const SPAN: &str = "00f067aa0ba902b7";

/// A request of a caller whose trace has a number, and is sampled or not.
fn traced(id: &str, trace: &str, flags: &str) -> Request<GetGameRequest> {
    let mut request = Request::new(by_name(id));
    let parent = format!("00-{trace}-{SPAN}-{flags}");
    let parent = parent.parse().expect("a header");
    request.metadata_mut().insert("traceparent", parent);
    request
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The code that a span names.
fn code(span: &Span) -> Option<i64> {
    let attribute = span.attributes.iter();
    let mut attribute = attribute.filter(|it| it.key == "rpc.grpc.status_code");
    match attribute.next()?.value.as_ref()?.value.as_ref()? {
        Value::IntValue(code) => Some(*code),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_context_of_a_caller_goes_through_to_the_collector() {
    let (collector, address) = Collector::start().await;
    let folder = folder();
    let endpoint = format!("http://{address}");
    let options = ["--otlp-endpoint", &endpoint, "--otlp-ratio", "0"];
    let mut referee = start(&folder, &options);
    let mut games = referee.games().await;
    create(&mut games, "traced").await;
    let (first, second) = ("a".repeat(32), "b".repeat(32));
    let read = games.get_game(traced("traced", &first, "01")).await;
    read.expect("read");
    let unsampled = games
        .get_game(traced("traced", &"c".repeat(32), "00"))
        .await;
    unsampled.expect("read");
    games.get_game(by_name("traced")).await.expect("read");
    soon("the span arrives", || !collector.spans().is_empty()).await;
    // What waits at the end is sent before it.
    let missing = games.get_game(traced("missing", &second, "01")).await;
    missing.expect_err("there is none");
    referee.terminate();
    let ended = tokio::task::block_in_place(|| referee.wait(super::SOON));
    assert_eq!(ended.expect("waited").expect("ended").code(), Some(0));
    let spans = collector.spans();
    let mut seen: Vec<_> = spans
        .iter()
        .map(|span| (hex(&span.trace_id), code(span)))
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [(first, Some(0)), (second, Some(5))],
        "those that are sampled"
    );
    for span in &spans {
        assert_eq!(hex(&span.parent_span_id), SPAN);
        assert_ne!(hex(&span.span_id), SPAN);
        assert_eq!(span.name, "referee.v1.GameService/GetGame");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        let is_fault = span.status.as_ref().is_some_and(|it| it.code == 2);
        assert!(!is_fault, "a question that has no answer is no fault");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_not_there_stops_nothing() {
    let folder = folder();
    // Nobody listens on a port that was free a moment ago.
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let endpoint = format!("http://{}", nobody.local_addr().expect("it is bound"));
    drop(nobody);
    let mut referee = start(&folder, &["--otlp-endpoint", &endpoint]);
    let mut games = referee.games().await;
    create(&mut games, "alone").await;
    for _ in 0..50 {
        games.get_game(by_name("alone")).await.expect("read");
    }
    soon("it is said", || {
        referee.log().contains("the collector did not take traces")
    })
    .await;
    let lost = referee_tests::operator::scrape(referee.admin());
    assert!(lost.value("referee_trace_spans_lost_total", &[]) > 0.0);
    referee.terminate();
    let ended = tokio::task::block_in_place(|| referee.wait(super::SOON));
    assert_eq!(ended.expect("waited").expect("ended").code(), Some(0));
}
