//! Whether the service can do its work, told to those who ask its health and at the admin listener.
//!
//! The store is asked each second, and the sign of life of this process, which is written each
//! second, is the proof that it writes. One bad answer is enough to be no longer ready; it takes
//! several good ones in a row to be ready again.

use std::sync::Arc;

use referee_store::{Ready, Store};
use referee_telemetry::Telemetry;
use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::games::Heartbeat;
use crate::limits;

/// The names that health is asked for, each with whether the store is needed for it: the empty one
/// for the whole server, each service, and two for probes. A process that cannot write is alive.
const HEALTH_NAMES: [(&str, bool); 9] = [
    ("", true),
    ("referee.v1.RulesService", false),
    ("referee.v1.GameService", true),
    ("referee.v1.StoreService", true),
    ("referee.v1.PerftService", true),
    ("referee.worker.v1.WorkerService", true),
    ("referee.v1.TokenService", true),
    ("readiness", true),
    ("liveness", false),
];

/// Tells that the service begins.
pub(crate) async fn begin(health: &HealthReporter, telemetry: &Telemetry) {
    show(telemetry, None);
    for (name, _) in HEALTH_NAMES {
        health.set_service_status(name, status(true)).await;
    }
}

/// Tells until the service stops, and then that it serves no more.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    heartbeat: Arc<Heartbeat>,
    health: HealthReporter,
    telemetry: Telemetry,
    stop: CancellationToken,
) {
    let mut state = State::default();
    loop {
        tokio::select! {
            () = tokio::time::sleep(limits::READINESS_INTERVAL) => {}
            () = stop.cancelled() => break,
        }
        let fault = tokio::select! {
            fault = find_fault(&*store, &heartbeat) => fault,
            () = stop.cancelled() => break,
        };
        let Some(is_ready) = state.note(fault.is_none()) else {
            continue;
        };
        match &fault {
            Some(fault) => tracing::error!(fault, "the service is not ready"),
            None => tracing::info!("the service is ready again"),
        }
        show(&telemetry, fault.as_deref());
        for (name, needs_store) in HEALTH_NAMES {
            if needs_store {
                health.set_service_status(name, status(is_ready)).await;
            }
        }
    }
    show(&telemetry, Some("the service is shutting down"));
    for (name, _) in HEALTH_NAMES {
        // A process that drains is alive.
        if name != "liveness" {
            health.set_service_status(name, status(false)).await;
        }
    }
}

/// Shows whether the service is ready, and why it is not.
fn show(telemetry: &Telemetry, fault: Option<&str>) {
    telemetry.metrics().set_ready(fault.is_none());
    match fault {
        None => telemetry.readiness().begin(),
        Some(fault) => telemetry.readiness().end(fault),
    }
}

/// What keeps the store from being used; none where nothing does.
async fn find_fault(store: &dyn Store, heartbeat: &Heartbeat) -> Option<String> {
    match tokio::time::timeout(limits::READINESS_PATIENCE, store.ready()).await {
        Err(_) => Some("the store does not answer".to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Ok(Ok(Ready::ReadsOnly { fault })) => Some(fault.to_string()),
        Ok(Ok(Ready::Writable)) if heartbeat.is_silent() => {
            Some("the store takes no sign of life".to_owned())
        }
        Ok(Ok(Ready::Writable)) => None,
    }
}

fn status(is_ready: bool) -> ServingStatus {
    if is_ready {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    }
}

/// What was told last, and what was found since.
#[derive(Debug, Default)]
struct State {
    is_down: bool,
    good: u32,
}

impl State {
    /// Takes note of what was found, and returns what is told from now on where that changes.
    fn note(&mut self, is_good: bool) -> Option<bool> {
        self.good = if is_good { self.good + 1 } else { 0 };
        let was_down = self.is_down;
        self.is_down = match was_down {
            true => self.good < limits::READINESS_GOOD_MIN,
            false => !is_good,
        };
        (self.is_down != was_down).then_some(!self.is_down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_answer_is_enough_and_one_good_answer_is_not() {
        let mut state = State::default();
        let told = |answers: &str, state: &mut State| -> Vec<Option<bool>> {
            answers.chars().map(|it| state.note(it == '+')).collect()
        };
        assert_eq!(told("++-", &mut state), [None, None, Some(false)]);
        // A disk that is full but for a moment, again and again.
        assert_eq!(told("+-++-", &mut state), [None; 5]);
        assert_eq!(told("+++", &mut state), [None, None, Some(true)]);
        assert_eq!(told("++-", &mut state), [None, None, Some(false)]);
    }
}
