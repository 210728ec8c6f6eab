//! What an error of a referee says, as a caller reads it.

use std::collections::HashMap;

use tonic::Status;
use tonic_types::StatusExt;

/// The details of an error: what `google.rpc.ErrorInfo` and `google.rpc.BadRequest` say.
///
/// ```
/// use referee_server::ErrorDetails;
///
/// let details = ErrorDetails::read(&tonic::Status::internal("not one of ours"));
/// assert_eq!(details.reason, "");
/// assert!(details.fields.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorDetails {
    /// The name of an `ErrorReason` without its prefix; empty where the error carries none.
    pub reason: String,
    /// The metadata, by the keys that `ErrorReason` names.
    pub metadata: HashMap<String, String>,
    /// The paths of the fields at fault.
    pub fields: Vec<String>,
}

impl ErrorDetails {
    /// Reads the details of an error, whoever made it. What cannot be read is left empty.
    #[must_use]
    pub fn read(status: &Status) -> ErrorDetails {
        let found = status.get_error_details();
        let mut details = ErrorDetails::default();
        if let Some(info) = found.error_info() {
            details.reason.clone_from(&info.reason);
            details.metadata.clone_from(&info.metadata);
        }
        if let Some(request) = found.bad_request() {
            let violations = request.field_violations.iter();
            details.fields = violations.map(|one| one.field.clone()).collect();
        }
        details
    }
}
