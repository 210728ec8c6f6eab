//! What an error of a referee says, as a caller reads it.

use tonic::Status;
use tonic_types::StatusExt;

/// Returns the reason that an error carries; empty where it carries none.
pub(crate) fn reason_of(status: &Status) -> String {
    let details = status.get_error_details();
    details
        .error_info()
        .map_or_else(String::new, |info| info.reason.clone())
}

/// Returns what an error says under a key of its metadata; empty where it says nothing.
pub(crate) fn metadata_of(status: &Status, key: &str) -> String {
    let details = status.get_error_details();
    let value = details
        .error_info()
        .and_then(|info| info.metadata.get(key).cloned());
    value.unwrap_or_default()
}

/// Returns whether an error names a field as one at fault.
pub(crate) fn names_field(status: &Status, field: &str) -> bool {
    let details = status.get_error_details();
    details.bad_request().is_some_and(|request| {
        let mut violations = request.field_violations.iter();
        violations.any(|one| one.field == field)
    })
}

/// Says an error in one line.
pub(crate) fn words_of(status: &Status) -> String {
    let code = format!("{:?}", status.code());
    let reason = reason_of(status);
    format!("error {code} {reason}: {}", status.message())
}
