//! What other processes commit, soon enough for those who watch.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::games::Games;
use crate::limits;

/// Follows the log of the store until the service stops: woken by the commits of this process, and
/// looking for those of others.
pub(super) async fn run(games: Arc<Games>, stop: CancellationToken) {
    let log = games.registry.log();
    let mut moved = log.moved();
    let mut is_failing = false;
    loop {
        let interval = if games.registry.is_watched() {
            limits::LOG_INTERVAL_WATCHED
        } else {
            limits::LOG_INTERVAL_QUIET
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(interval) => {}
            // The wait may have begun when nobody was in a hurry.
            () = games.registry.watching_begins() => {}
            changed = moved.changed() => if changed.is_err() {
                // The store is closed, which is a stop as well.
                return;
            }
        }
        match log.catch_up().await {
            Ok(()) => is_failing = false,
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::error!(%error, "the log of the store cannot be followed");
            }
            Err(_) => tokio::time::sleep(limits::LOG_INTERVAL_QUIET).await,
        }
    }
}
