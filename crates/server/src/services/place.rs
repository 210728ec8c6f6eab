//! How far a stream has come, so that its end can say from where to resume.

use std::sync::{Mutex, PoisonError};

use crate::error::{EndedBy, Resume, ServiceError};

/// The place after what was sent; none where nothing can be resumed yet.
#[derive(Debug, Default)]
pub(super) struct Place(Mutex<Option<Resume>>);

impl Place {
    /// Notes that everything up to a place was sent.
    pub(super) fn note(&self, resume: Resume) {
        // An assignment does not fail halfway.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(resume);
    }

    /// Returns the end of the stream at the place.
    pub(super) fn end(&self, by: EndedBy) -> ServiceError {
        let resume = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        ServiceError::StreamEnded { by, resume }
    }
}
