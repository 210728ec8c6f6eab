//! The metrics of a server: all names in one place, so that dashboards and alerts can rely on them.
//!
//! `prometheus-client` and not the facade `metrics`: two servers in one process keep their counts
//! apart, a histogram takes the same memory however many values it has seen and however seldom it
//! is scraped, and a call takes its counters by one look into a table.

mod process;
mod snapshot;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub use self::snapshot::Distribution;
use self::snapshot::{SnapshotCounter, SnapshotHistogram};
use crate::counts::{CallCounts, CallFamilies, Method};
use crate::log;

/// The bounds of how late a flag was put on record, in seconds.
const LATENESS_S: [f64; 10] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0];

/// The form in which metrics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text form of Prometheus 0.0.4, which every tool reads.
    Text,
}

/// What is done before each scrape.
type Reading = Box<dyn Fn(&Metrics) + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RulingLabels {
    verdict: &'static str,
    article: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GeneratorLabels {
    generator: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabels {
    version: String,
    revision: String,
}

/// What became of an action that was judged and acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// It is an entry of the record.
    Recorded,
    /// It was refused, and the answer is kept.
    Refused,
    /// It came before, and got the answer of then.
    Repeated,
}

/// The metrics of a server.
pub struct Metrics {
    registry: Mutex<Registry>,
    readings: Mutex<Vec<Reading>>,
    calls: CallFamilies,
    rulings: Family<RulingLabels, Counter>,
    recorded: Counter,
    refused: Counter,
    repeated: Counter,
    flag_lateness: Histogram,
    limit_used: Family<LimitLabels, Gauge>,
    limit_max: Family<LimitLabels, Gauge>,
    damaged: Family<KindLabels, Gauge>,
    certificate_expiry: Family<KindLabels, Gauge>,
    /// 1 while the server is ready.
    ready: Gauge,
    games_running: Gauge,
    commit_seconds: SnapshotHistogram,
    batch_writes: SnapshotHistogram,
    writes_failed: SnapshotCounter,
    /// Of floating point, since whole ones of 64 bits run over within one large job.
    perft_nodes: Family<GeneratorLabels, Counter<f64, AtomicU64>>,
    perft_workers: Gauge,
    perft_wanted_threads: Gauge,
    reload_failed: Gauge,
    spans_lost: Counter,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        let outcomes: Family<OutcomeLabels, Counter> = Family::default();
        let outcome = |outcome| outcomes.get_or_create_owned(&OutcomeLabels { outcome });
        let mut metrics = Metrics {
            registry: Mutex::default(),
            readings: Mutex::default(),
            calls: CallFamilies::default(),
            rulings: Family::default(),
            recorded: outcome("recorded"),
            refused: outcome("refused"),
            repeated: outcome("repeated"),
            flag_lateness: Histogram::new(LATENESS_S),
            limit_used: Family::default(),
            limit_max: Family::default(),
            damaged: Family::default(),
            certificate_expiry: Family::default(),
            ready: Gauge::default(),
            games_running: Gauge::default(),
            commit_seconds: SnapshotHistogram::default(),
            batch_writes: SnapshotHistogram::default(),
            writes_failed: SnapshotCounter::default(),
            perft_nodes: Family::default(),
            perft_workers: Gauge::default(),
            perft_wanted_threads: Gauge::default(),
            reload_failed: Gauge::default(),
            spans_lost: Counter::default(),
        };
        let mut registry = Registry::default();
        metrics.calls.register(&mut registry);
        metrics.register_games(&mut registry, outcomes);
        metrics.register_upkeep(&mut registry);
        process::register(&mut registry);
        metrics.registry = Mutex::new(registry);
        metrics
    }
}

impl Metrics {
    fn register_games(&self, registry: &mut Registry, outcomes: Family<OutcomeLabels, Counter>) {
        registry.register(
            "referee_rulings",
            "Rulings on actions of games, by verdict and by the article that decides, or none",
            self.rulings.clone(),
        );
        registry.register(
            "referee_actions",
            "Actions that were judged and acknowledged, which means that they are on disk",
            outcomes,
        );
        registry.register(
            "referee_flag_lateness_seconds",
            "How much later than it could be a flag that fell was on record",
            self.flag_lateness.clone(),
        );
        registry.register(
            "referee_games_running",
            "Games that are being played, as the store has them",
            self.games_running.clone(),
        );
        registry.register(
            "referee_perft_nodes",
            "Nodes of move trees that workers counted and that were accepted, by their counter",
            self.perft_nodes.clone(),
        );
        registry.register(
            "referee_perft_workers",
            "Perft workers that hold a session",
            self.perft_workers.clone(),
        );
        registry.register(
            "referee_perft_wanted_threads",
            "Threads of perft workers that would finish what waits in the time that is aimed at",
            self.perft_wanted_threads.clone(),
        );
    }

    fn register_upkeep(&self, registry: &mut Registry) {
        registry.register(
            "referee_ready",
            "Whether the service is ready, 1 or 0",
            self.ready.clone(),
        );
        registry.register(
            "referee_store_commit_seconds",
            "How long a batch of writes took until it was on disk",
            self.commit_seconds.clone(),
        );
        registry.register(
            "referee_store_batch_writes",
            "How many writes a batch had",
            self.batch_writes.clone(),
        );
        registry.register(
            "referee_store_writes_failed",
            "Writes that the store could not take",
            self.writes_failed.clone(),
        );
        registry.register(
            "referee_store_damaged",
            "What was found damaged in the store since the start, by kind",
            self.damaged.clone(),
        );
        registry.register(
            "referee_limit_used",
            "How much of a limit of the process is in use",
            self.limit_used.clone(),
        );
        registry.register(
            "referee_limit_max",
            "The most of it that there is",
            self.limit_max.clone(),
        );
        registry.register(
            "referee_tls_certificate_expiry_timestamp_seconds",
            "When a certificate in use expires, by kind, in seconds since 1970",
            self.certificate_expiry.clone(),
        );
        registry.register(
            "referee_reload_failed",
            "Whether the last reading of certificates and keys failed, 1 or 0",
            self.reload_failed.clone(),
        );
        registry.register(
            "referee_trace_spans_lost",
            "Spans that the collector did not take",
            self.spans_lost.clone(),
        );
        registry.register(
            "referee_log_lines_dropped",
            "Lines of the log that nobody was there to read",
            SnapshotCounter::of(log::dropped()),
        );
    }

    /// Names the program.
    pub fn name_build(&self, version: &str, revision: &str) {
        let labels = BuildLabels {
            version: version.to_owned(),
            revision: revision.to_owned(),
        };
        self.registry().register(
            "referee_build",
            "The version, and the revision of the rules",
            Info::new(labels),
        );
    }

    /// Has something read before each scrape; it must not wait for anything.
    pub fn read_before(&self, reading: impl Fn(&Metrics) + Send + Sync + 'static) {
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        readings.push(Box::new(reading));
    }

    pub(crate) fn calls(&self, methods: &[Method]) -> Arc<CallCounts> {
        Arc::new(self.calls.counts(methods))
    }

    /// Counts a ruling by its verdict and the article that decides, where one does. The articles
    /// are a table, so that there are not many.
    pub fn count_ruling(&self, verdict: &'static str, article: Option<&str>) {
        let labels = RulingLabels {
            verdict,
            article: article.unwrap_or("none").to_owned(),
        };
        self.rulings.get_or_create(&labels).inc();
    }

    /// Counts an action that was acknowledged.
    pub fn count_action(&self, acknowledged: Acknowledged) {
        match acknowledged {
            Acknowledged::Recorded => self.recorded.inc(),
            Acknowledged::Refused => self.refused.inc(),
            Acknowledged::Repeated => self.repeated.inc(),
        };
    }

    /// Counts a flag that was put on record so many seconds later than it could be.
    pub fn count_flag(&self, lateness_s: f64) {
        self.flag_lateness.observe(lateness_s.max(0.0));
    }

    /// Says how much of a limit is in use, and how much there is.
    pub fn set_limit(&self, limit: &'static str, used: u64, max: u64) {
        let labels = LimitLabels { limit };
        self.limit_used.get_or_create(&labels).set(signed(used));
        self.limit_max.get_or_create(&labels).set(signed(max));
    }

    /// Says how much of a kind was found damaged in the store.
    pub fn set_damaged(&self, kind: &'static str, count: u64) {
        let labels = KindLabels { kind };
        self.damaged.get_or_create(&labels).set(signed(count));
    }

    /// Says when a certificate in use expires, in seconds since 1970; its kind is `server` or
    /// `client_authority`.
    pub fn set_certificate_expiry(&self, kind: &'static str, at_s: i64) {
        let labels = KindLabels { kind };
        self.certificate_expiry.get_or_create(&labels).set(at_s);
    }

    /// Says whether the last reading of certificates and keys failed.
    pub fn set_reload_failed(&self, failed: bool) {
        self.reload_failed.set(i64::from(failed));
    }

    /// Says whether the service is ready.
    pub fn set_ready(&self, ready: bool) {
        self.ready.set(i64::from(ready));
    }

    /// Says how many games are being played.
    pub fn set_games_running(&self, count: u64) {
        self.games_running.set(signed(count));
    }

    /// Says how long the batches of the store took, in seconds, how many writes each had, and how
    /// many writes failed.
    pub fn set_commits(&self, seconds: Distribution, writes: Distribution, failed: u64) {
        self.commit_seconds.set(seconds);
        self.batch_writes.set(writes);
        self.writes_failed.set(failed);
    }

    /// Counts nodes of move trees that were accepted, by the counter that counted them. With 0 of
    /// them its series begins.
    pub fn count_perft_nodes(&self, generator: &'static str, nodes: f64) {
        let counter = self
            .perft_nodes
            .get_or_create_owned(&GeneratorLabels { generator });
        counter.inc_by(nodes);
    }

    /// Says how many workers hold a session, and how many threads what waits is worth.
    pub fn set_perft(&self, workers: u64, wanted_threads: u64) {
        self.perft_workers.set(signed(workers));
        self.perft_wanted_threads.set(signed(wanted_threads));
    }

    /// Returns how many threads of perft workers are wanted, for autoscalers.
    #[must_use]
    pub fn perft_wanted_threads(&self) -> i64 {
        self.perft_wanted_threads.get()
    }

    pub(crate) fn spans_lost(&self) -> &Counter {
        &self.spans_lost
    }

    /// Reads what is read before a scrape.
    pub fn read(&self) {
        let readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        for reading in readings.iter() {
            reading(self);
        }
    }

    /// Writes all metrics.
    ///
    /// # Errors
    ///
    /// Where a metric cannot be written, which is a bug.
    pub fn write(&self, form: Form) -> Result<String, fmt::Error> {
        self.read();
        let mut written = String::new();
        let registry = self.registry();
        match form {
            Form::OpenMetrics => text::encode(&mut written, &registry)?,
            Form::Text => prometheus_text::encode(&mut written, &registry)?,
        }
        Ok(written)
    }

    fn registry(&self) -> std::sync::MutexGuard<'_, Registry> {
        // What is registered is put at the end of a list, which does not fail halfway.
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A count as a gauge takes it.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
