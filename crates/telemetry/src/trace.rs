//! Traces: the context that a caller sends, and the spans of calls, which go to a collector over
//! OTLP where there is one.
//!
//! Spans are sent by threads of their own, from a bounded queue; what finds no room is dropped.

use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _,
    TraceFlags, TraceId, TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider, Span, SpanData,
    SpanExporter,
};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::limits;
use crate::metrics::Metrics;

/// The codes that are a fault of the server: unknown, deadline exceeded, unimplemented, internal,
/// unavailable, data loss.
const FAULTS: [u16; 6] = [2, 4, 12, 13, 14, 15];

/// Where spans go, and which.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The collector, such as `http://127.0.0.1:4317`.
    pub endpoint: String,
    /// The part of the calls that are traced, from 0 to 1, of those whose caller does not say.
    pub ratio: f64,
    /// The version of the program.
    pub version: String,
}

/// Why calls cannot be traced.
#[derive(Debug)]
pub enum TraceError {
    /// The system has no thread.
    Thread(std::io::Error),
    /// The address of the collector cannot be used.
    Endpoint(ExporterBuildError),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(error) => write!(f, "no thread for traces: {error}"),
            Self::Endpoint(error) => write!(f, "the collector of traces: {error}"),
        }
    }
}

impl std::error::Error for TraceError {}

/// What traces calls.
#[derive(Clone)]
pub(crate) struct Traces(Arc<Inner>);

struct Inner {
    tracer: SdkTracer,
    provider: SdkTracerProvider,
    /// Where the connection to the collector lives.
    runtime: Option<Runtime>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever drops it last may not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

impl Traces {
    /// Begins to trace. The collector need not be there yet. What it does not take is counted in
    /// `metrics`.
    ///
    /// # Errors
    ///
    /// Where there is no thread, or the address of the collector is none.
    pub(crate) fn begin(
        options: &TraceOptions,
        metrics: Arc<Metrics>,
    ) -> Result<Traces, TraceError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("traces")
            .enable_all()
            .build()
            .map_err(TraceError::Thread)?;
        let entered = runtime.enter();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_tonic()
            .with_endpoint(options.endpoint.clone())
            .with_timeout(limits::TRACE_SEND_TIMEOUT)
            .build()
            .map_err(TraceError::Endpoint)?;
        drop(entered);
        let exporter = Exporter {
            inner: exporter,
            metrics,
            told: std::sync::Mutex::default(),
        };
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(limits::TRACE_SPANS_WAITING_MAX)
            .with_max_export_batch_size(limits::TRACE_SPANS_BATCH_MAX)
            .with_scheduled_delay(limits::TRACE_INTERVAL)
            .build();
        let processor = BatchSpanProcessor::builder(exporter)
            .with_batch_config(batches)
            .build();
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(options.ratio)));
        let resource = Resource::builder()
            .with_service_name("referee")
            .with_attribute(KeyValue::new("service.version", options.version.clone()))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(sampler)
            .with_resource(resource)
            .build();
        Ok(Traces(Arc::new(Inner {
            tracer: provider.tracer("referee"),
            provider,
            runtime: Some(runtime),
        })))
    }

    /// Begins the span of a call; none where it is not traced.
    pub(crate) fn begin_call(&self, name: &str, parent: Option<&Parent>) -> Option<SpanOfCall> {
        // The caller decides, and most callers trace little.
        if parent.is_some_and(|parent| !parent.0.is_sampled()) {
            return None;
        }
        let (service, method) = name.rsplit_once('/').unwrap_or((name, ""));
        let context = match parent {
            Some(parent) => Context::new().with_remote_span_context(parent.0.clone()),
            None => Context::new(),
        };
        let builder = SpanBuilder::from_name(name.to_owned())
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new("rpc.system", "grpc"),
                KeyValue::new("rpc.service", service.to_owned()),
                KeyValue::new("rpc.method", method.to_owned()),
            ]);
        let span = self.0.tracer.build_with_context(builder, &context);
        span.is_recording().then_some(SpanOfCall(span))
    }

    /// Sends what waits, and ends; waits for the collector, but not for long.
    pub(crate) fn end(&self) {
        let ended = self
            .0
            .provider
            .shutdown_with_timeout(limits::TRACE_END_TIMEOUT);
        if let Err(error) = ended {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// The span of a call.
pub(crate) struct SpanOfCall(Span);

impl SpanOfCall {
    /// Returns the number of the trace, in hexadecimal digits.
    pub(crate) fn trace_id(&self) -> String {
        self.0.span_context().trace_id().to_string()
    }

    /// Ends the span with the code of its call.
    pub(crate) fn end(mut self, code: u16) {
        let attribute = KeyValue::new("rpc.grpc.status_code", i64::from(code));
        self.0.set_attribute(attribute);
        if FAULTS.contains(&code) {
            self.0.set_status(Status::error(""));
        }
        self.0.end();
    }
}

/// The context of a caller, as W3C writes it in the headers `traceparent` and `tracestate`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parent(SpanContext);

impl Parent {
    /// Reads the context of a caller; none where there is none, or it cannot be read.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Parent> {
        let text = headers.get("traceparent")?.to_str().ok()?;
        let (trace, span, flags) = read_traceparent(text)?;
        let state = headers.get("tracestate").and_then(|it| it.to_str().ok());
        let state = state.filter(|it| it.len() <= limits::TRACE_STATE_BYTES_MAX);
        let state = state.and_then(|it| TraceState::from_str(it).ok());
        let context = SpanContext::new(trace, span, flags, true, state.unwrap_or_default());
        Some(Parent(context))
    }

    /// Returns the number of the trace, in hexadecimal digits.
    pub(crate) fn trace_id(&self) -> String {
        self.0.trace_id().to_string()
    }
}

/// Reads `VERSION-TRACE-SPAN-FLAGS`, all in lower hexadecimal digits. A later version may go on
/// behind that.
fn read_traceparent(text: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let hex = |text: &str, length: usize| {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == length && text.bytes().all(is_hex)).then_some(())
    };
    let mut parts = text.splitn(5, '-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let (span, flags) = (parts.next()?, parts.next()?);
    hex(version, 2)?;
    hex(trace, 32)?;
    hex(span, 16)?;
    hex(flags, 2)?;
    if version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let trace = TraceId::from_hex(trace).ok()?;
    let span = SpanId::from_hex(span).ok()?;
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let is_valid = trace != TraceId::INVALID && span != SpanId::INVALID;
    is_valid.then_some((trace, span, flags & TraceFlags::SAMPLED))
}

/// Sends spans, and tells what was not taken.
#[derive(Debug)]
struct Exporter {
    inner: opentelemetry_otlp::SpanExporter,
    metrics: Arc<Metrics>,
    /// When it was told last.
    told: std::sync::Mutex<Option<Instant>>,
}

impl Exporter {
    fn tell(&self, lost: usize, error: &dyn fmt::Display) {
        self.metrics.spans_lost().inc_by(lost as u64);
        let now = Instant::now();
        let told = self.told.lock();
        let mut told = told.unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.is_some_and(|told| now < told + limits::TRACE_TELL_INTERVAL) {
            return;
        }
        *told = Some(now);
        tracing::warn!(%error, lost, "the collector did not take traces");
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let sent = self.inner.export(batch).await;
        if let Err(error) = &sent {
            self.tell(count, error);
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_of_a_caller_is_read_as_it_is_written_down() {
        let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let sampled = format!("00-{trace}-{span}-01");
        let read = read_traceparent(&sampled).expect("it is read");
        assert_eq!(read.0.to_string(), trace);
        assert_eq!(read.1.to_string(), span);
        assert!(read.2.is_sampled());
        let other = read_traceparent(&format!("00-{trace}-{span}-02")).expect("it is read");
        assert!(!other.2.is_sampled(), "other flags say nothing of that");
        assert!(read_traceparent(&format!("cc-{trace}-{span}-01-more")).is_some());
        for wrong in [
            "",
            "00",
            &sampled[1..],
            &sampled.to_uppercase(),
            &format!("{sampled}-more"),
            &format!("ff-{trace}-{span}-01"),
            &format!("00-{}-{span}-01", "0".repeat(32)),
            &format!("00-{trace}-{}-01", "0".repeat(16)),
            &format!("00-{trace}-{span}-1"),
            &format!("00-{trace}x-{span}-01"),
        ] {
            assert_eq!(read_traceparent(wrong), None, "{wrong}");
        }
    }
}
