//! The admin listener: `/metrics`, `/live`, `/ready`, `/scale` and `/log-level`, in plain HTTP/1.1.
//!
//! It has no credentials and no TLS, since a kubelet and a scraper have neither: it belongs on
//! loopback or into the network of a pod. Each connection takes one request, in bounded time and
//! bytes; where there are too many, the one that has been there longest gives way, so that silent
//! ones stop no probe.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::metrics::Form;
use crate::telemetry::Telemetry;
use crate::{limits, log};

/// What is asked for metrics in the newer form.
const OPEN_METRICS: &str = "application/openmetrics-text";

/// The listener of an operator.
#[derive(Debug)]
pub struct AdminListener {
    listener: TcpListener,
    telemetry: Telemetry,
}

impl AdminListener {
    /// Binds an address.
    ///
    /// # Errors
    ///
    /// Where it is taken, or is none.
    pub async fn bind(address: &str, telemetry: Telemetry) -> std::io::Result<AdminListener> {
        let listener = TcpListener::bind(address).await?;
        Ok(AdminListener {
            listener,
            telemetry,
        })
    }

    /// The address that it listens on.
    ///
    /// # Errors
    ///
    /// Where the system does not say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let mut connections = JoinSet::new();
        let mut order: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            while connections.try_join_next().is_some() {}
            order.retain(|connection| !connection.is_finished());
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(limits::ADMIN_ACCEPT_PAUSE).await;
                continue;
            };
            if order.len() >= limits::ADMIN_CONNECTIONS_MAX
                && let Some(oldest) = order.pop_front()
            {
                oldest.abort();
            }
            order.push_back(connections.spawn(serve(stream, self.telemetry.clone())));
        }
    }
}

/// Answers one request.
async fn serve(stream: TcpStream, telemetry: Telemetry) {
    let service = service_fn(|request| {
        let telemetry = telemetry.clone();
        async move { Ok::<_, Infallible>(answer(request, &telemetry).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .max_buf_size(limits::ADMIN_HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // Who is too slow, or asks for what is no HTTP, gets no answer.
    let _ = tokio::time::timeout(limits::ADMIN_REQUEST_TIMEOUT, serving).await;
}

type Answer = Response<Full<Bytes>>;

async fn answer(request: Request<Incoming>, telemetry: &Telemetry) -> Answer {
    let (head, body) = request.into_parts();
    let is_read = matches!(head.method, Method::GET | Method::HEAD);
    match head.uri.path() {
        "/log-level" if head.method == Method::PUT => set_log_level(body).await,
        "/log-level" if !is_read => not_allowed("GET, HEAD, PUT"),
        "/metrics" | "/live" | "/ready" | "/scale" if !is_read => not_allowed("GET, HEAD"),
        "/log-level" => text(StatusCode::OK, &log::filter().unwrap_or_default()),
        "/metrics" => metrics(&head.headers, telemetry),
        "/live" => text(StatusCode::OK, "alive"),
        "/ready" => match telemetry.readiness().fault() {
            None => text(StatusCode::OK, "ready"),
            Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, &reason),
        },
        "/scale" => scale(telemetry),
        _ => text(
            StatusCode::NOT_FOUND,
            "there is /metrics, /live, /ready, /scale and /log-level",
        ),
    }
}

fn metrics(headers: &HeaderMap, telemetry: &Telemetry) -> Answer {
    let accepts = headers.get_all(http::header::ACCEPT);
    let mut accepts = accepts.iter().filter_map(|it| it.to_str().ok());
    let (form, content_type) = if accepts.any(|it| it.contains(OPEN_METRICS)) {
        let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        (Form::OpenMetrics, content_type)
    } else {
        (Form::Text, "text/plain; version=0.0.4; charset=utf-8")
    };
    match telemetry.metrics().write(form) {
        Ok(written) => with_type(StatusCode::OK, content_type, written),
        Err(error) => {
            tracing::error!(%error, "the metrics could not be written");
            text(StatusCode::INTERNAL_SERVER_ERROR, "they cannot be written")
        }
    }
}

/// What an autoscaler asks, as one number that is there without workers and without jobs.
fn scale(telemetry: &Telemetry) -> Answer {
    let metrics = telemetry.metrics();
    metrics.read();
    let wanted = metrics.perft_wanted_threads();
    let json = format!("{{\"perft_wanted_threads\":{wanted}}}\n");
    with_type(StatusCode::OK, "application/json", json)
}

async fn set_log_level(body: Incoming) -> Answer {
    let body = Limited::new(body, limits::LOG_FILTER_BYTES_MAX);
    let Ok(body) = body.collect().await else {
        let max = limits::LOG_FILTER_BYTES_MAX;
        let reason = format!("a filter has at most {max} bytes");
        return text(StatusCode::PAYLOAD_TOO_LARGE, &reason);
    };
    let bytes = body.to_bytes();
    let Ok(filter) = str::from_utf8(&bytes) else {
        return text(StatusCode::BAD_REQUEST, "a filter is text in UTF-8");
    };
    let filter = filter.trim();
    match log::set_filter(filter) {
        Ok(()) => {
            // Whatever the filter lets through, this must be known.
            tracing::error!(filter, "the log was changed by an operator");
            text(StatusCode::OK, filter)
        }
        Err(error) => text(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, &format!("use {methods}"));
    let methods = HeaderValue::from_static(methods);
    answer.headers_mut().insert(ALLOW, methods);
    answer
}

fn text(status: StatusCode, words: &str) -> Answer {
    with_type(status, "text/plain; charset=utf-8", format!("{words}\n"))
}

fn with_type(status: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer
}
