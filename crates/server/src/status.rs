//! Every error of the services, and the one place that turns it into a gRPC status.
//!
//! An error means that the question could not be judged. Each status carries one
//! `google.rpc.ErrorInfo` with a documented reason, and `BadRequest` or `RetryInfo` where they
//! fit.

use std::collections::HashMap;
use std::time::Duration;

use referee_api::v1::{self, ErrorReason};
use referee_record::{Error, Violation};
use referee_store::{AppendError, CreateError, Fault, ReadError};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::limits::{self, RETRY_DELAY};

/// The domain of every `ErrorInfo`.
pub const DOMAIN: &str = "chess-referee";

/// Why a question could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// The request cannot be judged as it stands, or a record cannot be read.
    Record(Error),
    /// A page token does not belong to the request.
    InvalidPageToken,
    /// A request id came before with other content.
    RequestIdReused {
        /// The id.
        request_id: String,
    },
    /// A message comes at the wrong place of a stream.
    StreamProtocol {
        /// The field at fault.
        field: &'static str,
        /// What is wrong, and the way out.
        description: &'static str,
    },
    /// There is no such game.
    GameNotFound {
        /// Its resource name.
        name: String,
    },
    /// The name is taken.
    NameTaken {
        /// The resource name.
        name: String,
    },
    /// The game has moved on.
    SequenceMismatch {
        /// The sequence that the caller named.
        expected: i64,
        /// The sequence of the game.
        actual: i64,
    },
    /// A stream asks to resume after an event that is not there yet.
    SequenceAhead {
        /// The sequence that the caller named.
        after: i64,
        /// The sequence of the game.
        actual: i64,
    },
    /// The game has as many events, moves or refusals as a game can have.
    GameFull {
        /// Its resource name.
        name: String,
        /// The limit.
        limit: i64,
    },
    /// A watcher reads too slowly.
    SlowConsumer,
    /// There is too much to do.
    Overloaded,
    /// The server is shutting down.
    ShuttingDown,
    /// The store cannot read or write.
    StoreUnavailable {
        /// What it said.
        reason: String,
    },
    /// The bytes of a message cannot be read.
    MalformedMessage {
        /// What is wrong with them.
        reason: String,
    },
    /// A message is too large.
    MessageTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A rule that the server holds about itself did not hold.
    InvariantBroken {
        /// Which one.
        what: String,
    },
}

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

impl ApiError {
    /// Returns the error of one field.
    pub fn field(field: impl Into<String>, description: impl Into<String>) -> ApiError {
        ApiError::Record(Error::field(field, description))
    }

    fn parts(&self) -> Parts {
        use ErrorReason as Reason;
        match self {
            Self::Record(error) => of_record(error),
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
            Self::GameNotFound { name } => Parts::new(
                Code::NotFound,
                Reason::GameNotFound,
                format!("there is no game {name}"),
            )
            .with("name", name),
            Self::NameTaken { name } => Parts::new(
                Code::AlreadyExists,
                Reason::NameTaken,
                format!("another request created {name}; choose another game_id"),
            )
            .with("name", name),
            Self::SequenceMismatch { expected, actual } => Parts::new(
                Code::Aborted,
                Reason::SequenceMismatch,
                format!(
                    "the game is at sequence {actual}, not {expected}; read it and decide anew"
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
            Self::GameFull { name, limit } => Parts::new(
                Code::FailedPrecondition,
                Reason::GameFull,
                format!("{name} is full: a game keeps at most {limit} of these"),
            )
            .with("name", name)
            .with("limit", limit),
            Self::SlowConsumer => Parts::new(
                Code::ResourceExhausted,
                Reason::SlowConsumer,
                "the stream is read too slowly; resume after the last event that arrived",
            ),
            Self::Overloaded => {
                let message = "the server has as much work as it takes; come back later";
                let parts = Parts::new(Code::ResourceExhausted, Reason::Overloaded, message);
                Parts {
                    retry: Some(RETRY_DELAY),
                    ..parts
                }
            }
            Self::ShuttingDown => Parts::new(
                Code::Unavailable,
                Reason::ShuttingDown,
                "the server is shutting down; try another",
            ),
            Self::StoreUnavailable { reason } => Parts::new(
                Code::Unavailable,
                Reason::StoreUnavailable,
                format!("{reason}; repeat the request with the same request_id"),
            ),
            Self::MalformedMessage { reason } => Parts::new(
                Code::InvalidArgument,
                Reason::MalformedMessage,
                format!("the bytes of the request are no such message: {reason}"),
            ),
            Self::MessageTooLarge { limit } => Parts::new(
                Code::ResourceExhausted,
                Reason::MessageTooLarge,
                format!("the request is larger than {limit} bytes"),
            )
            .with("limit", limit),
            Self::InvariantBroken { what } => broken(what),
        }
    }

    /// Returns the error as it is told within a stream that goes on.
    pub fn to_action_error(&self) -> v1::ActionError {
        let parts = self.parts().bounded();
        let metadata = parts.metadata.into_iter();
        let violations = parts.violations.into_iter();
        v1::ActionError {
            reason: parts.reason.into(),
            message: parts.message,
            metadata: metadata
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            field_violations: violations
                .map(|(field, description)| v1::FieldViolation { field, description })
                .collect(),
        }
    }
}

fn of_record(error: &Error) -> Parts {
    let message = error.to_string();
    match error {
        Error::InvalidFields(violations) => invalid_fields(violations, message),
        Error::InvalidPosition {
            field,
            issues,
            description,
        } => Parts::new(Code::InvalidArgument, ErrorReason::InvalidPosition, message)
            .with("issues", issues.join(","))
            .at(field.clone(), description.clone()),
        Error::IllegalHistory {
            field,
            ply,
            text,
            reason,
            description,
        } => Parts::new(Code::InvalidArgument, ErrorReason::IllegalHistory, message)
            .with("ply", ply)
            .with("move", text)
            .with("illegal_reason", reason)
            .at(field.clone(), description.clone()),
        Error::Damaged { .. } | Error::Misjudged { .. } => broken(&message),
    }
}

fn broken(what: &str) -> Parts {
    Parts::new(
        Code::Internal,
        ErrorReason::InvariantBroken,
        format!("a bug of the referee: {what}"),
    )
}

fn invalid_fields(violations: &[Violation], message: String) -> Parts {
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
    let mut parts = Parts::new(Code::InvalidArgument, reason, message);
    if let (ErrorReason::LimitExceeded, Some((limit, actual))) = (reason, limits.first()) {
        parts = parts.with("limit", limit).with("actual", actual);
    }
    for found in violations {
        parts = parts.at(found.field.clone(), found.description.clone());
    }
    parts
}

impl From<ApiError> for Status {
    fn from(error: ApiError) -> Status {
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
        if let Some(delay) = parts.retry {
            details.set_retry_info(Some(delay));
        }
        Status::with_error_details(parts.code, parts.message, details)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> ApiError {
        ApiError::Record(error)
    }
}

impl From<Fault> for ApiError {
    fn from(fault: Fault) -> ApiError {
        match fault {
            Fault::Overloaded { .. } => ApiError::Overloaded,
            Fault::Closed => ApiError::ShuttingDown,
            Fault::Failed { reason } => {
                tracing::error!(%reason, "the store failed");
                ApiError::StoreUnavailable {
                    reason: "the store failed".into(),
                }
            }
        }
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> ApiError {
        match error {
            ReadError::Fault(fault) => fault.into(),
            ReadError::Invalid(invalid) => ApiError::InvariantBroken {
                what: invalid.to_string(),
            },
        }
    }
}

/// Returns the error of a creation that the store did not take.
pub(crate) fn from_create(error: CreateError, name: &str, request_id: &str) -> ApiError {
    match error {
        CreateError::NameTaken => ApiError::NameTaken {
            name: name.to_owned(),
        },
        CreateError::RequestIdReused => ApiError::RequestIdReused {
            request_id: request_id.to_owned(),
        },
        CreateError::Invalid(invalid) => ApiError::InvariantBroken {
            what: invalid.to_string(),
        },
        CreateError::Fault(fault) => fault.into(),
    }
}

/// Returns the error of a write that the store did not take.
pub(crate) fn from_append(error: AppendError, name: &str, append: (&str, i64)) -> ApiError {
    let (request_id, expected) = append;
    match error {
        AppendError::NotFound => ApiError::GameNotFound {
            name: name.to_owned(),
        },
        AppendError::SequenceMismatch { actual } => ApiError::SequenceMismatch { expected, actual },
        AppendError::RequestIdReused => ApiError::RequestIdReused {
            request_id: request_id.to_owned(),
        },
        AppendError::GameFull { limit } | AppendError::TooManyRefusals { limit } => {
            ApiError::GameFull {
                name: name.to_owned(),
                limit,
            }
        }
        AppendError::Invalid(invalid) => ApiError::InvariantBroken {
            what: invalid.to_string(),
        },
        AppendError::Fault(fault) => fault.into(),
    }
}
