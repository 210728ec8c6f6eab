//! What is measured of perft: nodes that were accepted, who works, and how many threads what is
//! left would keep busy.

use prost::Message as _;
use referee_api::worker::v1 as w;
use referee_perft::GENERATOR;
use referee_store::SessionRow;

use super::jobs::PerftJobs;
use crate::limits;

/// The counters whose counts are taken.
pub(crate) const GENERATORS: [&str; 1] = [GENERATOR];

/// What counts of sessions that an earlier version opened are told under, where this one does not
/// know their counter.
const OTHER: &str = "other";

/// Returns the name of the counter of a session, out of a table.
pub(super) fn generator_of(session: &SessionRow) -> &'static str {
    let worker = w::OpenSessionRequest::decode(&session.worker[..]).unwrap_or_default();
    let known = GENERATORS.into_iter();
    let mut known = known.filter(|name| *name == worker.generator);
    known.next().unwrap_or(OTHER)
}

impl PerftJobs {
    /// Begins the series of every counter.
    pub(super) fn begin_series(&self) {
        for generator in GENERATORS {
            self.metrics.count_perft_nodes(generator, 0.0);
        }
    }

    /// Shows what the store has of jobs that run, of all platforms.
    pub(crate) async fn take_census(&self) {
        // What cannot be read, readiness tells; the last numbers stand until then.
        if let Ok(census) = self.store.work_census(self.clock.now_us()).await {
            let sessions = census.sessions.max(0).unsigned_abs();
            self.metrics
                .set_perft(sessions, wanted_threads(census.cost_left));
        }
    }
}

/// How many threads would be done with so many seconds of one thread in the time that is aimed at.
fn wanted_threads(cost_left: f64) -> u64 {
    // A conversion to whole numbers ends at the greatest one.
    (cost_left / limits::PERFT_AIM_TIME.as_secs_f64()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_wanted_as_long_as_anything_is_left() {
        for (cost_left, threads) in [
            (0.0, 0),
            (0.001, 1),
            (60.0, 1),
            (60.1, 2),
            (6e6, 100_000),
            (f64::INFINITY, u64::MAX),
        ] {
            assert_eq!(wanted_threads(cost_left), threads, "{cost_left}");
        }
    }
}
