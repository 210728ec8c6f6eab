//! A slow walk through the whole store that looks for what is not as it was written.
//!
//! A disk forgets without a word, and who reads a game finds that out too late. Each finding is
//! logged once. A damaged game is no longer shown from memory: whoever asks for it is told.

use std::collections::HashSet;
use std::sync::Arc;

use referee_store::{Course, GameKey, Upkeep, VerifyCursor, VerifyPage};
use referee_telemetry::Metrics;
use tokio_util::sync::CancellationToken;

use crate::games::GameRegistry;
use crate::limits;

/// Walks until the service stops, from the beginning again after a pause.
pub(super) async fn run(
    registry: Arc<GameRegistry>,
    upkeep: Arc<dyn Upkeep>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) {
    let (mut from, mut damaged) = (VerifyCursor::games(), Damaged::default());
    let mut pause = limits::WALK_INTERVAL;
    damaged.show(&metrics);
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
        pause = limits::WALK_INTERVAL;
        let course = Arc::new(Course::resting(limits::WALK_REST));
        match upkeep.verify(&from, course).await {
            Ok(part) => {
                damaged.note(&registry, &part);
                damaged.show(&metrics);
                from = part.next.unwrap_or_else(|| {
                    pause = limits::WALK_PAUSE;
                    VerifyCursor::games()
                });
            }
            // Whether the store can read at all, readiness tells.
            Err(error) => tracing::debug!(%error, "a part of the store could not be checked"),
        }
    }
}

/// The damage that was found so far.
#[derive(Debug, Default)]
struct Damaged {
    /// The games that were told of.
    games: HashSet<GameKey>,
    /// Everything else that was told of.
    others: HashSet<String>,
}

impl Damaged {
    /// Shows how much was found.
    fn show(&self, metrics: &Metrics) {
        metrics.set_damaged("game", self.games.len() as u64);
        metrics.set_damaged("other", self.others.len() as u64);
    }

    /// Tells of what was not told of yet.
    fn note(&mut self, registry: &GameRegistry, part: &VerifyPage) {
        for finding in &part.findings {
            let found = self.games.len() + self.others.len();
            if found >= limits::WALK_DAMAGED_MAX {
                // Who has so many to look at needs no further line.
                return;
            }
            let damage = &finding.flaw;
            match &finding.key {
                Some(key) => {
                    registry.forget(key);
                    if self.games.insert(key.clone()) {
                        let (platform, game) = (&key.platform, &key.game);
                        let games = self.games.len();
                        tracing::error!(platform, game, %damage, games, "a game is damaged");
                    }
                }
                None => {
                    if self.others.insert(damage.to_string()) {
                        tracing::error!(%damage, "the store is damaged");
                    }
                }
            }
        }
    }
}
