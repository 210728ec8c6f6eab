//! What is measured of a server beside its calls: what is read when somebody looks, and what a
//! ruling counts as.

use std::sync::{Arc, Weak};

use referee_laws::{Judgment, Verdict};
use referee_store::{Spread, Store, StoreStats};
use referee_telemetry::{Acknowledged, Distribution, Metrics};

use crate::transport::{Ledger, Tls};

/// Has the metrics read what the connections and the store take. Both may go away before them.
pub(crate) fn read_before(metrics: &Metrics, ledger: &Arc<Ledger>, store: &Arc<dyn Store>) {
    let (ledger, store) = (Arc::downgrade(ledger), Arc::downgrade(store));
    metrics.read_before(move |metrics| {
        if let Some(ledger) = ledger.upgrade() {
            for usage in ledger.usage() {
                metrics.set_limit(usage.limit, usage.used as u64, usage.max as u64);
            }
        }
        if let Some(store) = Weak::upgrade(&store) {
            read_store(metrics, &store.stats());
        }
    });
}

fn read_store(metrics: &Metrics, stats: &StoreStats) {
    use referee_store::limits::{QUEUE_BYTES_MAX, QUEUE_WRITES_MAX};
    let (writes, bytes) = (stats.writes_waiting, stats.bytes_waiting);
    metrics.set_limit("store_writes", writes as u64, QUEUE_WRITES_MAX as u64);
    metrics.set_limit("store_write_bytes", bytes as u64, QUEUE_BYTES_MAX as u64);
    let seconds = distribution(&stats.commit_times_us, 1e-6);
    let writes = distribution(&stats.batch_sizes, 1.0);
    metrics.set_commits(seconds, writes, stats.failed);
}

/// Has the metrics read how the encryption of connections stands.
pub(crate) fn read_certificate(metrics: &Metrics, tls: &Arc<Tls>) {
    let tls = Arc::downgrade(tls);
    metrics.read_before(move |metrics| {
        if let Some(tls) = tls.upgrade() {
            let state = tls.state();
            metrics.set_certificate_expiry("server", state.expires_seconds);
            metrics.set_reload_failed(state.fault.is_some());
        }
    });
}

/// A spread in another unit.
fn distribution(spread: &Spread, unit: f64) -> Distribution {
    let buckets = spread.buckets.iter();
    Distribution {
        buckets: buckets
            .map(|(bound, count)| (*bound as f64 * unit, *count))
            .collect(),
        count: spread.count,
        sum: spread.sum as f64 * unit,
    }
}

/// What a judgment counts as.
pub(crate) struct Counted {
    verdict: &'static str,
    article: Option<String>,
    is_entry: bool,
}

impl Counted {
    /// Looks at a judgment that is about to be written.
    pub(crate) fn of(judgment: &Judgment) -> Counted {
        let verdict = match judgment.ruling.verdict {
            Verdict::Accepted => "accepted",
            Verdict::Refused => "refused",
            Verdict::Penalized => "penalized",
            Verdict::Noted => "noted",
        };
        // The deciding one stands first.
        let article = judgment.ruling.citations.first();
        Counted {
            verdict,
            article: article.map(|citation| citation.article.clone().into_owned()),
            is_entry: judgment.entry.is_some(),
        }
    }

    /// Counts it, now that it is on disk.
    pub(crate) fn count(&self, metrics: &Metrics) {
        metrics.count_ruling(self.verdict, self.article.as_deref());
        metrics.count_action(if self.is_entry {
            Acknowledged::Recorded
        } else {
            Acknowledged::Refused
        });
    }
}
