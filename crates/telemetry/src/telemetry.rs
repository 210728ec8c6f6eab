//! What is measured of one server, as one value that is handed to whatever is measured.

use std::sync::Arc;

use crate::calls::{CallLayer, ReceivedBody, SentBody};
use crate::counts::Method;
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::trace::{TraceError, TraceOptions, Traces};

/// What is measured of one server, and where its calls are traced to.
#[derive(Clone, Debug, Default)]
pub struct Telemetry {
    metrics: Arc<Metrics>,
    readiness: Readiness,
    traces: Option<Traces>,
}

impl Telemetry {
    /// Traces calls from now on.
    ///
    /// # Errors
    ///
    /// Where there is no thread, or the address of the collector is none.
    pub fn trace(&mut self, options: &TraceOptions) -> Result<(), TraceError> {
        let traces = Traces::begin(options, Arc::clone(&self.metrics))?;
        self.traces = Some(traces);
        Ok(())
    }

    /// Sends the traces that wait, where calls are traced; waits for the collector, but not for
    /// long.
    pub fn end(&self) {
        if let Some(traces) = &self.traces {
            traces.end();
        }
    }

    /// The metrics.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Whether what is measured can do its work.
    #[must_use]
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Returns the layer that counts, times and traces the calls of some methods. The two functions
    /// make the bodies that are counted into those that the service takes and gives.
    #[must_use]
    pub fn calls<B>(
        &self,
        methods: &[Method],
        received: fn(ReceivedBody<B>) -> B,
        sent: fn(SentBody<B>) -> B,
    ) -> CallLayer<B> {
        let counts = self.metrics.calls(methods);
        CallLayer::new(counts, self.traces.clone(), received, sent)
    }
}
