//! Whether a server can do its work: one truth for health and for the admin listener.

use std::sync::{Arc, Mutex, PoisonError};

/// Whether a server is ready, and why it is not. It is not before anybody says so.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<State>>);

#[derive(Clone, Debug)]
enum State {
    Ready,
    Not { reason: String },
}

impl Default for State {
    fn default() -> State {
        State::Not {
            reason: "the service is starting".to_owned(),
        }
    }
}

impl Readiness {
    /// Says that it is ready.
    pub fn begin(&self) {
        self.set(State::Ready);
    }

    /// Says that it is not, and why.
    pub fn end(&self, reason: impl Into<String>) {
        self.set(State::Not {
            reason: reason.into(),
        });
    }

    /// Returns why it is not ready; none where it is.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Ready => None,
            State::Not { reason } => Some(reason.clone()),
        }
    }

    fn set(&self, state: State) {
        // An assignment does not fail halfway.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}
