//! The one place that turns an error of a service into a gRPC status.
//!
//! An error means that the question could not be judged. Each status carries one
//! `google.rpc.ErrorInfo` with a documented reason, and `BadRequest` or `RetryInfo` where they
//! fit.

use std::collections::HashMap;
use std::time::Duration;

use prost::Message;
use referee_api::v1::ErrorReason;
use referee_record::convert::time::write_us;
use referee_record::{Error as Invalid, Violation};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::error::{EndedBy, Resume, ServiceError};
use crate::limits;

/// The domain of every `ErrorInfo`.
pub const DOMAIN: &str = "chess-referee";

/// Where gRPC says when a client may try again, in milliseconds.
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// All that a status is made of.
struct Parts {
    code: Code,
    reason: ErrorReason,
    message: String,
    metadata: Vec<(&'static str, String)>,
    violations: Vec<(String, String)>,
    retry: Option<Duration>,
}

impl Parts {
    fn new(code: Code, reason: ErrorReason, message: impl Into<String>) -> Parts {
        Parts {
            code,
            reason,
            message: message.into(),
            metadata: Vec::new(),
            violations: Vec::new(),
            retry: None,
        }
    }

    fn with(mut self, key: &'static str, value: impl ToString) -> Parts {
        self.metadata.push((key, value.to_string()));
        self
    }

    fn at(mut self, field: impl Into<String>, description: impl Into<String>) -> Parts {
        self.violations.push((field.into(), description.into()));
        self
    }

    /// Cuts what is said down to what fits the headers of an answer: hostile input can have very
    /// many faults.
    fn bounded(mut self) -> Parts {
        clip(&mut self.message, limits::ERROR_MESSAGE_BYTES_MAX);
        let mut room = limits::ERROR_FIELDS_BYTES_MAX;
        self.violations.dedup();
        for (_, description) in &mut self.violations {
            clip(description, limits::ERROR_DESCRIPTION_BYTES_MAX);
        }
        self.violations.retain(|(field, description)| {
            let left = room.checked_sub(field.len() + description.len());
            room = left.unwrap_or(0);
            left.is_some()
        });
        self
    }
}

/// Cuts a text off at a number of bytes, and shows that something is missing.
fn clip(text: &mut String, bytes_max: usize) {
    const MISSING: &str = " ...";
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - MISSING.len()));
        text.push_str(MISSING);
    }
}

impl ServiceError {
    /// What the contract says to the error. One arm for each kind, so that none is forgotten.
    fn parts(&self) -> Parts {
        use ErrorReason as Reason;
        match self {
            Self::Invalid(invalid) => invalid_parts(invalid),
            Self::InvalidText { .. } => self.text_parts(),
            Self::InvalidPageToken => {
                let message = "page_token does not belong to this request; leave it out to begin \
                               with the first page, and keep the filter the same for all pages";
                Parts::new(Code::InvalidArgument, Reason::InvalidPageToken, message)
                    .at("page_token", message)
            }
            Self::RequestIdReused { request_id } => Parts::new(
                Code::InvalidArgument,
                Reason::RequestIdReused,
                "request_id came before with other content; use a new one for a new request",
            )
            .with("request_id", request_id),
            Self::StreamProtocol { field, description } => {
                Parts::new(Code::InvalidArgument, Reason::StreamProtocol, *description)
                    .at(*field, *description)
            }
            Self::GameNotFound { .. }
            | Self::GameDeleted { .. }
            | Self::GameNotFinished { .. }
            | Self::NameTaken { .. }
            | Self::GameFull { .. } => self.name_parts(),
            Self::SequenceMismatch { .. } | Self::SequenceAhead { .. } => self.sequence_parts(),
            Self::CursorLost { after } => Parts::new(
                Code::OutOfRange,
                Reason::CursorLost,
                "the cursor is not known, or too old; list the games and begin anew",
            )
            .with("after_cursor", after),
            Self::BackupRefused { reason, limit } => backup_parts(reason, *limit),
            Self::PerftJobNotFound { .. }
            | Self::PerftJobNotFinished { .. }
            | Self::PerftJobsFull { .. }
            | Self::SessionNotFound
            | Self::GeneratorUnknown { .. }
            | Self::PerftCredentialsRequired { .. }
            | Self::WorkerShutOut { .. }
            | Self::PerftJobNotCounted { .. } => self.perft_parts(),
            Self::SlowConsumer => Parts::new(
                Code::ResourceExhausted,
                Reason::SlowConsumer,
                "the stream is read too slowly; resume after the last event that arrived",
            ),
            Self::Overloaded { retry_after } => overloaded_parts(*retry_after),
            Self::DeadlineExceeded => Parts::new(
                Code::DeadlineExceeded,
                Reason::DeadlineExceeded,
                "the time of the call is over; whether a write has taken effect is not known, so \
                 repeat it with the same request_id",
            ),
            Self::ShuttingDown => Parts::new(
                Code::Unavailable,
                Reason::ShuttingDown,
                "the server is shutting down; try another",
            ),
            Self::StreamEnded { by, resume } => ended_parts(*by, resume.as_ref()),
            Self::StoreUnavailable { reason } => Parts::new(
                Code::Unavailable,
                Reason::StoreUnavailable,
                format!("{reason}; repeat the request with the same request_id"),
            ),
            Self::RecordDamaged { what } => damaged_parts(what),
            Self::CredentialRefused(_)
            | Self::RoleDenied { .. }
            | Self::AllowanceSpent { .. }
            | Self::TokenNotFound { .. }
            | Self::TokensFull { .. } => self.access_parts(),
            Self::MalformedMessage { reason } => Parts::new(
                Code::InvalidArgument,
                Reason::MalformedMessage,
                format!("the bytes of the request are no such message: {reason}"),
            ),
            Self::MessageTooLarge { limit } => too_large_parts(*limit),
            Self::InvariantBroken { what } => invariant_parts(what),
        }
    }

    /// What the contract says of a text with a place at fault.
    fn text_parts(&self) -> Parts {
        let Self::InvalidText {
            field,
            description,
            line,
            column,
            ply,
        } = self
        else {
            return invariant_parts(&self.to_string());
        };
        let message = format!("{field}: {description}");
        let reason = ErrorReason::InvalidField;
        let parts = Parts::new(Code::InvalidArgument, reason, message)
            .with("line", line)
            .with("column", column)
            .at(*field, description);
        match ply {
            Some(ply) => parts.with("ply", ply),
            None => parts,
        }
    }

    /// What the contract says of the name of a game.
    fn name_parts(&self) -> Parts {
        use ErrorReason as Reason;
        match self {
            Self::NameTaken { name } => Parts::new(
                Code::AlreadyExists,
                Reason::NameTaken,
                format!("another request created {name}; choose another game_id"),
            )
            .with("name", name),
            Self::GameFull { name, what, limit } => Parts::new(
                Code::FailedPrecondition,
                Reason::GameFull,
                format!("{name} is full: it keeps at most {limit} {what}"),
            )
            .with("name", name)
            .with("limit", limit),
            Self::GameNotFound { name } => Parts::new(
                Code::NotFound,
                Reason::GameNotFound,
                format!("there is no game {name}"),
            )
            .with("name", name),
            Self::GameDeleted { name, at_us } => {
                let message = format!("{name} was deleted; its name stays taken");
                let parts = Parts::new(Code::NotFound, Reason::GameDeleted, message);
                let parts = parts.with("name", name);
                match at_us {
                    Some(at_us) => parts.with("delete_time", write_us(*at_us)),
                    None => parts,
                }
            }
            Self::GameNotFinished { name } => Parts::new(
                Code::FailedPrecondition,
                Reason::GameNotFinished,
                format!("{name} is not over; end the game before it is deleted"),
            )
            .with("name", name),
            other => invariant_parts(&other.to_string()),
        }
    }

    /// What the contract says of perft jobs and workers.
    fn perft_parts(&self) -> Parts {
        use ErrorReason as Reason;
        match self {
            Self::PerftJobNotFound { name } => Parts::new(
                Code::NotFound,
                Reason::PerftJobNotFound,
                format!("there is no job {name}; it may have been deleted, or its ttl is over"),
            )
            .with("name", name),
            Self::PerftJobNotFinished { name } => Parts::new(
                Code::FailedPrecondition,
                Reason::PerftJobNotFinished,
                format!("{name} is not over; cancel the job before it is deleted"),
            )
            .with("name", name),
            Self::PerftJobsFull { what, limit } => Parts::new(
                Code::FailedPrecondition,
                Reason::PerftJobsFull,
                format!(
                    "the platform has {limit} {what}, the limit; wait for one to end, or delete \
                     some"
                ),
            )
            .with("limit", limit),
            Self::SessionNotFound => Parts::new(
                Code::NotFound,
                Reason::SessionNotFound,
                "there is no such session; it ran out or was closed, so open another",
            ),
            Self::GeneratorUnknown { generator, known } => {
                let known = known.join(",");
                let message = format!(
                    "the counter {generator} is not known; run a worker of the version of the \
                     server, with one of {known}"
                );
                Parts::new(Code::FailedPrecondition, Reason::GeneratorUnknown, message)
                    .with("generator", generator)
                    .with("known", known)
            }
            other => other.trust_parts(),
        }
    }

    /// What the contract says of counts that are worth something.
    fn trust_parts(&self) -> Parts {
        use ErrorReason as Reason;
        match self {
            Self::PerftCredentialsRequired { field } => Parts::new(
                Code::FailedPrecondition,
                Reason::PerftCredentialsRequired,
                format!(
                    "{field} asks for counts by different credentials, and this server knows \
                     none; start it with --require-credentials and give each worker a token of \
                     its own, or count each position once"
                ),
            )
            .with("field", field),
            Self::WorkerShutOut { credential, reason } => Parts::new(
                Code::PermissionDenied,
                Reason::WorkerShutOut,
                format!(
                    "{credential} is shut out: it {reason}; look after its machine, and give it a \
                     token of another principal"
                ),
            )
            .with("credential", credential),
            Self::PerftJobNotCounted { name } => Parts::new(
                Code::FailedPrecondition,
                Reason::PerftJobNotCounted,
                format!("{name} has no total: it goes on, or failed, or was cancelled"),
            )
            .with("name", name),
            other => invariant_parts(&other.to_string()),
        }
    }

    /// What the contract says of the sequence of a game.
    fn sequence_parts(&self) -> Parts {
        use ErrorReason as Reason;
        match self {
            Self::SequenceMismatch { expected, actual } => Parts::new(
                Code::Aborted,
                Reason::SequenceMismatch,
                format!(
                    "the game is at sequence {actual}, not {expected}; read it and decide again"
                ),
            )
            .with("expected_sequence", expected)
            .with("actual_sequence", actual),
            Self::SequenceAhead { after, actual } => Parts::new(
                Code::OutOfRange,
                Reason::SequenceAhead,
                format!("the game is at sequence {actual}, so nothing can follow {after} yet"),
            )
            .with("after_sequence", after)
            .with("actual_sequence", actual),
            other => invariant_parts(&other.to_string()),
        }
    }

    /// What the contract says of credentials and of what they allow.
    fn access_parts(&self) -> Parts {
        use ErrorReason as Reason;
        match self {
            Self::CredentialRefused(refusal) => Parts::new(
                Code::Unauthenticated,
                Reason::CredentialRefused,
                refusal.to_string(),
            )
            .with("header", "authorization"),
            Self::RoleDenied {
                action,
                roles,
                description,
            } => Parts::new(
                Code::PermissionDenied,
                Reason::RoleDenied,
                format!("{action}: {description}"),
            )
            .with("action", action)
            .with("roles", roles),
            Self::AllowanceSpent {
                holder,
                what,
                limit,
                retry_after,
            } => Parts {
                retry: Some(*retry_after),
                ..Parts::new(
                    Code::ResourceExhausted,
                    Reason::AllowanceSpent,
                    format!("the {holder} may have {limit} {what}, and has them; come back later"),
                )
            }
            .with("holder", holder)
            .with("limit", limit),
            Self::TokenNotFound { name } => Parts::new(
                Code::NotFound,
                Reason::TokenNotFound,
                format!("there is no token {name}"),
            )
            .with("name", name),
            Self::TokensFull { limit } => Parts::new(
                Code::FailedPrecondition,
                Reason::TokensFull,
                format!(
                    "the platform has {limit} tokens, as many as it may; revoke some, and their \
                     room is used again"
                ),
            )
            .with("limit", limit),
            other => invariant_parts(&other.to_string()),
        }
    }

    /// Returns the error as it is sent within a stream that goes on: what a call would have failed
    /// with, the same details included.
    pub(crate) fn to_rpc_status(&self) -> tonic_types::Status {
        let status = Status::from(self.clone());
        // The details of a status are the bytes of such a message.
        tonic_types::Status::decode(status.details()).unwrap_or_else(|_| tonic_types::Status {
            code: status.code().into(),
            message: status.message().to_owned(),
            details: Vec::new(),
        })
    }
}

/// What the contract says to a stream that has to end.
fn ended_parts(by: EndedBy, resume: Option<&Resume>) -> Parts {
    let parts = |way_out: &str| {
        let message = format!("{by}; connect again, to another server if there is one, {way_out}");
        Parts::new(Code::Unavailable, ErrorReason::ShuttingDown, message)
    };
    match resume {
        None => parts("and begin again"),
        Some(Resume::AfterSequence(sequence)) => {
            parts("and resume with after_sequence").with("after_sequence", sequence)
        }
        Some(Resume::AfterCursor(cursor)) => {
            parts("and resume with after_cursor").with("after_cursor", cursor)
        }
    }
}

fn overloaded_parts(retry_after: Duration) -> Parts {
    let message = "the server has as much work as it takes; come back later";
    Parts {
        retry: Some(retry_after),
        ..Parts::new(Code::ResourceExhausted, ErrorReason::Overloaded, message)
    }
}

fn too_large_parts(limit: usize) -> Parts {
    Parts::new(
        Code::ResourceExhausted,
        ErrorReason::MessageTooLarge,
        format!("the request is larger than {limit} bytes"),
    )
    .with("limit", limit)
}

fn backup_parts(reason: &str, limit: Option<usize>) -> Parts {
    let parts = Parts::new(
        Code::FailedPrecondition,
        ErrorReason::BackupRefused,
        format!("no copy of the store is made: {reason}"),
    );
    match limit {
        Some(limit) => parts.with("limit", limit),
        None => parts,
    }
}

fn invariant_parts(what: &str) -> Parts {
    Parts::new(
        Code::Internal,
        ErrorReason::InvariantBroken,
        format!("a bug of the referee: {what}"),
    )
}

fn damaged_parts(what: &str) -> Parts {
    Parts::new(
        Code::DataLoss,
        ErrorReason::RecordDamaged,
        format!("what is stored of the game is damaged: {what}; restore a copy of the store"),
    )
}

/// What the contract says to a request that is missing something, or malformed.
fn invalid_parts(invalid: &Invalid) -> Parts {
    use ErrorReason as Reason;
    match invalid {
        Invalid::InvalidFields(violations) => invalid_fields(violations),
        Invalid::InvalidPosition {
            field,
            issues,
            description,
        } => Parts::new(
            Code::InvalidArgument,
            Reason::InvalidPosition,
            format!("{field} cannot be played from: {description}"),
        )
        .with("issues", issues.join(","))
        .at(field.clone(), description.clone()),
        Invalid::IllegalHistory {
            field,
            ply,
            text,
            reason,
            description,
        } => Parts::new(
            Code::InvalidArgument,
            Reason::IllegalHistory,
            format!("{field} is not legal: {description}"),
        )
        .with("ply", ply)
        .with("move", text)
        .with("illegal_reason", reason)
        .at(field.clone(), description.clone()),
        Invalid::Damaged { what } => damaged_parts(what),
        Invalid::Misjudged { .. } => invariant_parts(&invalid.to_string()),
    }
}

fn invalid_fields(violations: &[Violation]) -> Parts {
    let limits: Vec<(u64, u64)> = violations.iter().filter_map(|found| found.limit).collect();
    // A field above its limit is often wrong in other ways, too.
    let is_above = |found: &Violation| {
        let mut same = violations.iter().filter(|other| other.field == found.field);
        same.any(|other| other.limit.is_some())
    };
    let reason = if !limits.is_empty() && violations.iter().all(is_above) {
        ErrorReason::LimitExceeded
    } else {
        ErrorReason::InvalidField
    };
    let message: Vec<String> = violations
        .iter()
        .map(|found| format!("{}: {}", found.field, found.description))
        .collect();
    let mut parts = Parts::new(Code::InvalidArgument, reason, message.join("; "));
    if let (ErrorReason::LimitExceeded, Some((limit, actual))) = (reason, limits.first()) {
        parts = parts.with("limit", limit).with("actual", actual);
    }
    for found in violations {
        parts = parts.at(found.field.clone(), found.description.clone());
    }
    parts
}

impl From<ServiceError> for Status {
    fn from(error: ServiceError) -> Status {
        let parts = error.parts().bounded();
        let mut details = ErrorDetails::new();
        let metadata: HashMap<String, String> = parts
            .metadata
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        let reason = parts
            .reason
            .as_str_name()
            .trim_start_matches("ERROR_REASON_")
            .to_owned();
        details.set_error_info(reason, DOMAIN, metadata);
        for (field, description) in parts.violations {
            details.add_bad_request_violation(field, description);
        }
        let mut metadata = MetadataMap::new();
        if let Some(delay) = parts.retry {
            details.set_retry_info(Some(delay));
            // What clients that retry by themselves look at; they do not read details.
            let ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            metadata.insert(PUSHBACK, MetadataValue::from(ms));
        }
        if parts.reason == ErrorReason::MessageTooLarge {
            // It is as large when it comes again.
            metadata.insert(PUSHBACK, MetadataValue::from_static("-1"));
        }
        Status::with_error_details_and_metadata(parts.code, parts.message, details, metadata)
    }
}

#[cfg(test)]
mod tests;
