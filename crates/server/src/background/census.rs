//! How many games are being played, as the store has them, for those who watch the service.

use std::sync::Arc;

use referee_api::v1;
use referee_store::Store;
use referee_telemetry::Metrics;
use tokio_util::sync::CancellationToken;

use crate::limits;

/// Counts until the service stops.
pub(super) async fn run(store: Arc<dyn Store>, metrics: Arc<Metrics>, stop: CancellationToken) {
    loop {
        // What cannot be read, readiness tells; the last count stands until then.
        if let Ok(count) = store.count(v1::game::State::Active.into()).await {
            metrics.set_games_running(count);
        }
        tokio::select! {
            () = tokio::time::sleep(limits::CENSUS_INTERVAL) => {}
            () = stop.cancelled() => return,
        }
    }
}
