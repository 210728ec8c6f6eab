//! Flags that fall by themselves.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::games::Games;
use crate::limits;

/// Lets flags fall until the service stops.
pub(super) async fn run(games: Arc<Games>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = games.clock.sleep(limits::FLAG_INTERVAL) => {}
            () = stop.cancelled() => return,
        }
        // What has begun is finished, so that nothing is written after the service has stopped.
        while look_at_due(&games, &stop).await {}
    }
}

/// Looks at the games that are due, as many as one round takes; returns whether there may be more.
async fn look_at_due(games: &Arc<Games>, stop: &CancellationToken) -> bool {
    let due = match games.keeper.claim_due().await {
        Ok(due) => due,
        Err(error) => {
            tracing::error!(%error, "the games that are due could not be read");
            return false;
        }
    };
    let is_full = due.len() == limits::FLAGS_PER_ROUND_MAX;
    let mut looks = JoinSet::new();
    for game in due {
        if looks.len() >= limits::FLAGS_AT_ONCE_MAX {
            let _ = looks.join_next().await;
        }
        if stop.is_cancelled() {
            break;
        }
        let games = Arc::clone(games);
        looks.spawn(async move { games.keeper.look_or_retry(&game.key).await });
    }
    while looks.join_next().await.is_some() {}
    is_full && !stop.is_cancelled()
}
