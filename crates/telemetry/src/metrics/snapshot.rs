//! Metrics whose values are kept elsewhere and are taken over before each scrape.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// How values are distributed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// The upper bound of each bucket, in ascending order, with the number of values in that bucket
    /// alone. What is above the last belongs to none.
    pub buckets: Vec<(f64, u64)>,
    /// The number of all values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

/// A histogram that is kept elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct SnapshotHistogram(Arc<Mutex<Distribution>>);

impl SnapshotHistogram {
    pub(super) fn set(&self, distribution: Distribution) {
        // An assignment does not fail halfway.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = distribution;
    }
}

impl TypedMetric for SnapshotHistogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for SnapshotHistogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Distribution {
            buckets,
            count,
            sum,
        } = &*kept;
        let within: u64 = buckets.iter().map(|(_, count)| count).sum();
        let mut buckets = buckets.clone();
        // The bucket of all that is above the others.
        buckets.push((f64::INFINITY, count.saturating_sub(within)));
        encoder.encode_histogram::<NoLabelSet>(*sum, *count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

/// A counter that is kept elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct SnapshotCounter(Arc<AtomicU64>);

impl SnapshotCounter {
    pub(super) fn of(count: Arc<AtomicU64>) -> SnapshotCounter {
        SnapshotCounter(count)
    }

    pub(super) fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }
}

impl TypedMetric for SnapshotCounter {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for SnapshotCounter {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let count = self.0.load(Ordering::Relaxed);
        encoder.encode_counter::<NoLabelSet, _, u64>(&count, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
