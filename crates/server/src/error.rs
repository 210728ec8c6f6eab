//! What a service cannot do, and why. How that travels over gRPC is `transport/status.rs`.

use std::fmt;
use std::time::Duration;

use referee_store::{AppendError, CreateError, Fault, GameKey, ReadError, Tombstone};

/// Why a question could not be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceError {
    /// What was asked is missing, malformed, above its limits, or cannot be played.
    Invalid(referee_record::Error),
    /// A text cannot be taken, and the place in it is known.
    InvalidText {
        /// The field with the text.
        field: &'static str,
        /// What is wrong, and the way out.
        description: String,
        /// The line, from 1.
        line: u64,
        /// The column in bytes, from 1.
        column: u64,
        /// The number of moves before the one at fault, where a move is.
        ply: Option<u32>,
    },
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
    /// The game was deleted.
    GameDeleted {
        /// Its resource name.
        name: String,
        /// When, in microseconds since 1970; none where that is not known.
        at_us: Option<i64>,
    },
    /// The game goes on, so that it cannot be deleted.
    GameNotFinished {
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
    /// A stream asks to resume after a place that the store does not know.
    CursorLost {
        /// The cursor that the caller named.
        after: String,
    },
    /// The game has as many events, moves or refusals as a game can have.
    GameFull {
        /// Its resource name.
        name: String,
        /// What there are so many of.
        what: &'static str,
        /// The limit.
        limit: i64,
    },
    /// No copy of the store is made now.
    BackupRefused {
        /// Why, without names of folders.
        reason: &'static str,
        /// The most copies, where there are as many.
        limit: Option<usize>,
    },
    /// There is no such perft job.
    PerftJobNotFound {
        /// Its resource name.
        name: String,
    },
    /// The perft job goes on, so that it cannot be deleted.
    PerftJobNotFinished {
        /// Its resource name.
        name: String,
    },
    /// The platform has as many perft jobs as it may.
    PerftJobsFull {
        /// What there are so many of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// There is no such session of a worker any more.
    SessionNotFound,
    /// The counter of a worker is not known.
    GeneratorUnknown {
        /// Its revision.
        generator: String,
        /// Those that are known.
        known: Vec<&'static str>,
    },
    /// Workers cannot be told apart, since the server knows no credentials.
    PerftCredentialsRequired {
        /// The field that asks for it.
        field: &'static str,
    },
    /// The credential of a worker is shut out.
    WorkerShutOut {
        /// The credential.
        credential: String,
        /// Why.
        reason: String,
    },
    /// The perft job has no total.
    PerftJobNotCounted {
        /// Its resource name.
        name: String,
    },
    /// A watcher reads too slowly.
    SlowConsumer,
    /// There is too much to do.
    Overloaded {
        /// When to come back.
        retry_after: Duration,
    },
    /// The time of the call is over.
    DeadlineExceeded,
    /// The server is shutting down.
    ShuttingDown,
    /// A stream has to end.
    StreamEnded {
        /// Why.
        by: EndedBy,
        /// From where it can be resumed; none where it begins again.
        resume: Option<Resume>,
    },
    /// The store cannot read or write.
    StoreUnavailable {
        /// What it said, without names of files or machines.
        reason: &'static str,
    },
    /// What is stored of a game is not what was written.
    RecordDamaged {
        /// What does not hold.
        what: String,
    },
    /// Nobody knows who calls.
    CredentialRefused(Refusal),
    /// Who calls may not do this.
    RoleDenied {
        /// What they may not do.
        action: String,
        /// The roles that would allow it.
        roles: String,
        /// Why, and the way out.
        description: &'static str,
    },
    /// Who calls has taken as much as they may.
    AllowanceSpent {
        /// Whose allowance it is: of the principal or of the platform.
        holder: &'static str,
        /// What was taken.
        what: &'static str,
        /// How much of it there may be.
        limit: u64,
        /// When to come back.
        retry_after: Duration,
    },
    /// There is no such token.
    TokenNotFound {
        /// Its resource name.
        name: String,
    },
    /// The platform has as many tokens as it may.
    TokensFull {
        /// The limit.
        limit: usize,
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

/// Why a credential is not taken. What is said never has the credential in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is none.
    Missing,
    /// It has no form that is known.
    Malformed,
    /// Nobody knows it.
    Unknown,
    /// It is a certificate that stands for nobody.
    Stranger,
    /// It was revoked.
    Revoked,
    /// Its time is over.
    Expired,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => {
                "a credential is required: send the header `authorization: Bearer TOKEN`, with a \
                 token of `referee token issue`"
            }
            Self::Malformed => {
                "the header `authorization` is not understood; expected is `Bearer TOKEN`, once, \
                 with a token as `referee token issue` prints it"
            }
            Self::Unknown => {
                "the token is not known here; ask for one that is (`referee token issue`)"
            }
            Self::Stranger => {
                "the certificate stands for nobody here; have its subject put into the file of \
                 `--client-principals`, or send a token"
            }
            Self::Revoked => "the credential was revoked; ask for another",
            Self::Expired => "the time of the credential is over; ask for another",
        })
    }
}

/// Why a stream has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// The server is shutting down.
    ShuttingDown,
    /// The connection is old, so that its client may find another server.
    ConnectionAge,
}

impl fmt::Display for EndedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShuttingDown => "the server is shutting down",
            Self::ConnectionAge => "the connection is old",
        })
    }
}

/// From where a stream can be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// After the event with this sequence.
    AfterSequence(i64),
    /// After this cursor.
    AfterCursor(String),
}

impl ServiceError {
    /// Returns the error of one field.
    pub fn field(field: impl Into<String>, description: impl Into<String>) -> ServiceError {
        ServiceError::Invalid(referee_record::Error::field(field, description))
    }

    /// Returns the error of a server that has as much work as it takes.
    pub(crate) fn overloaded() -> ServiceError {
        ServiceError::Overloaded {
            retry_after: crate::limits::RETRY_DELAY,
        }
    }

    /// Returns the error of a name that no game has.
    pub(crate) fn not_found(key: &GameKey) -> ServiceError {
        ServiceError::GameNotFound {
            name: referee_record::resource_name(&key.game),
        }
    }

    /// Returns the error of a game that was deleted.
    pub(crate) fn deleted(key: &GameKey, tombstone: Tombstone) -> ServiceError {
        ServiceError::GameDeleted {
            name: referee_record::resource_name(&key.game),
            at_us: Some(tombstone.delete_time_us),
        }
    }

    /// Returns the error of a record that does not hold together.
    pub(crate) fn damaged(what: &str) -> ServiceError {
        ServiceError::RecordDamaged {
            what: what.to_owned(),
        }
    }

    /// Returns the error of a creation that the store did not take.
    pub(crate) fn from_create(error: CreateError, key: &GameKey, request_id: &str) -> ServiceError {
        match error {
            CreateError::NameTaken => ServiceError::NameTaken {
                name: referee_record::resource_name(&key.game),
            },
            CreateError::RequestIdReused => ServiceError::RequestIdReused {
                request_id: request_id.to_owned(),
            },
            CreateError::Invalid(invalid) => ServiceError::InvariantBroken {
                what: invalid.to_string(),
            },
            CreateError::Fault(fault) => fault.into(),
        }
    }

    /// Returns the error of a write that the store did not take; `request` is the id of the
    /// request and the sequence that it was judged on.
    pub(crate) fn from_append(
        error: AppendError,
        key: &GameKey,
        request: (&str, i64),
    ) -> ServiceError {
        let (request_id, expected) = request;
        match error {
            AppendError::NotFound => ServiceError::not_found(key),
            AppendError::Deleted => ServiceError::GameDeleted {
                name: referee_record::resource_name(&key.game),
                at_us: None,
            },
            AppendError::Moved { actual, .. } => {
                ServiceError::SequenceMismatch { expected, actual }
            }
            AppendError::RequestIdReused => ServiceError::RequestIdReused {
                request_id: request_id.to_owned(),
            },
            AppendError::GameFull { limit } => ServiceError::GameFull {
                name: referee_record::resource_name(&key.game),
                what: "events",
                limit,
            },
            AppendError::TooManyRefusals { limit } => ServiceError::GameFull {
                name: referee_record::resource_name(&key.game),
                what: "refusals of one seat",
                limit,
            },
            AppendError::Invalid(invalid) => ServiceError::InvariantBroken {
                what: invalid.to_string(),
            },
            AppendError::Fault(fault) => fault.into(),
        }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::InvalidText {
                field, description, ..
            } => write!(f, "{field}: {description}"),
            Self::InvalidPageToken => f.write_str("the page token does not belong to the request"),
            Self::RequestIdReused { request_id } => {
                write!(
                    f,
                    "the request id {request_id} came before with other content"
                )
            }
            Self::StreamProtocol { field, description } => write!(f, "{field} {description}"),
            Self::GameNotFound { name } => write!(f, "there is no game {name}"),
            Self::GameDeleted { name, .. } => write!(f, "{name} was deleted"),
            Self::GameNotFinished { name } => write!(f, "{name} is not over"),
            Self::NameTaken { name } => write!(f, "another request created {name}"),
            Self::SequenceMismatch { expected, actual } => {
                write!(f, "the game is at sequence {actual}, not {expected}")
            }
            Self::SequenceAhead { after, actual } => {
                write!(
                    f,
                    "the game is at sequence {actual}, so nothing follows {after} yet"
                )
            }
            Self::CursorLost { after } => write!(f, "the cursor {after} is not known"),
            Self::GameFull { name, what, limit } => {
                write!(f, "{name} has {limit} {what}, the limit")
            }
            Self::BackupRefused { reason, .. } => {
                write!(f, "no copy of the store is made: {reason}")
            }
            Self::PerftJobNotFound { name } => write!(f, "there is no job {name}"),
            Self::PerftJobNotFinished { name } => write!(f, "{name} is not over"),
            Self::PerftJobsFull { what, limit } => {
                write!(f, "the platform has {limit} {what}, the limit")
            }
            Self::SessionNotFound => f.write_str("there is no such session"),
            Self::GeneratorUnknown { generator, .. } => {
                write!(f, "the counter {generator} is not known")
            }
            Self::PerftCredentialsRequired { field } => {
                write!(f, "{field} is for servers that know credentials")
            }
            Self::WorkerShutOut { credential, .. } => write!(f, "{credential} is shut out"),
            Self::PerftJobNotCounted { name } => write!(f, "{name} has no total"),
            Self::SlowConsumer => f.write_str("the stream is read too slowly"),
            Self::Overloaded { .. } => f.write_str("the server has as much work as it takes"),
            Self::DeadlineExceeded => f.write_str("the time of the call is over"),
            Self::ShuttingDown => EndedBy::ShuttingDown.fmt(f),
            Self::StreamEnded { by, .. } => by.fmt(f),
            Self::StoreUnavailable { reason } => f.write_str(reason),
            Self::RecordDamaged { what } => write!(f, "the stored record is damaged: {what}"),
            Self::CredentialRefused(refusal) => refusal.fmt(f),
            Self::RoleDenied {
                action,
                description,
                ..
            } => write!(f, "{action}: {description}"),
            Self::AllowanceSpent {
                holder,
                what,
                limit,
                ..
            } => write!(f, "the {holder} has its {limit} {what}"),
            Self::TokenNotFound { name } => write!(f, "there is no token {name}"),
            Self::TokensFull { limit } => write!(f, "the platform has {limit} tokens, the limit"),
            Self::MalformedMessage { reason } => {
                write!(f, "the bytes of a message cannot be read: {reason}")
            }
            Self::MessageTooLarge { limit } => {
                write!(f, "a message is larger than {limit} bytes")
            }
            Self::InvariantBroken { what } => write!(f, "a bug of the referee: {what}"),
        }
    }
}

impl std::error::Error for ServiceError {}

impl From<referee_record::Error> for ServiceError {
    fn from(error: referee_record::Error) -> ServiceError {
        match error {
            referee_record::Error::Damaged { what } => ServiceError::RecordDamaged { what },
            error => ServiceError::Invalid(error),
        }
    }
}

impl From<Fault> for ServiceError {
    fn from(fault: Fault) -> ServiceError {
        match fault {
            Fault::Overloaded { retry_after, .. } => ServiceError::Overloaded { retry_after },
            Fault::Closed => ServiceError::ShuttingDown,
            Fault::Unavailable { .. } => ServiceError::StoreUnavailable {
                reason: "the store cannot be reached, and nothing was written",
            },
            Fault::ReadOnly { .. } => ServiceError::StoreUnavailable {
                reason: "the store takes no writes now, and nothing was written",
            },
            Fault::Damaged { what } => ServiceError::RecordDamaged { what },
            Fault::Unknown => ServiceError::StoreUnavailable {
                reason: "whether the store took the write is not known",
            },
        }
    }
}

impl From<ReadError> for ServiceError {
    fn from(error: ReadError) -> ServiceError {
        match error {
            ReadError::Fault(fault) => fault.into(),
            ReadError::Invalid(invalid) => ServiceError::InvariantBroken {
                what: invalid.to_string(),
            },
        }
    }
}
