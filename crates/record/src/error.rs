//! What can be wrong with a request or with a record.

use core::fmt;

/// Something wrong with a field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field, such as `action.make_move.move`.
    pub field: String,
    /// What is wrong with it, and the way out.
    pub description: String,
    /// The limit and the actual size, where the field is above its limit.
    pub limit: Option<(u64, u64)>,
}

/// Why a request cannot be judged, or a record cannot be read.
///
/// ```
/// use referee_record::Error;
///
/// let error = Error::field("side", "is required");
/// assert_eq!(error.to_string(), "side: is required");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Fields are missing, malformed or above their limits.
    InvalidFields(Vec<Violation>),
    /// A position cannot be played from.
    InvalidPosition {
        /// The field with the position.
        field: String,
        /// The names of the issues in the contract.
        issues: Vec<&'static str>,
        /// What is wrong, in words.
        description: String,
    },
    /// A move in a history is illegal.
    IllegalHistory {
        /// The field with the move.
        field: String,
        /// The number of moves before it.
        ply: u32,
        /// The text of the move.
        text: String,
        /// The name of the reason in the contract.
        reason: &'static str,
        /// What is wrong, in words.
        description: String,
    },
    /// A record cannot be read back.
    Damaged {
        /// What of it.
        what: String,
    },
    /// An entry does not fit the game that it was judged on, so it is never stored: a bug.
    Misjudged {
        /// Why it does not fit.
        what: String,
    },
}

impl Error {
    /// Returns the error of one field.
    #[must_use]
    pub fn field(field: impl Into<String>, description: impl Into<String>) -> Error {
        Error::InvalidFields(vec![Violation {
            field: field.into(),
            description: description.into(),
            limit: None,
        }])
    }

    /// Returns the error of a record that cannot be read back.
    #[must_use]
    pub fn damaged(what: impl Into<String>) -> Error {
        Error::Damaged { what: what.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::InvalidFields(violations) => {
                for (index, found) in violations.iter().enumerate() {
                    let gap = if index > 0 { "; " } else { "" };
                    write!(f, "{gap}{}: {}", found.field, found.description)?;
                }
                Ok(())
            }
            Error::InvalidPosition {
                field, description, ..
            } => write!(f, "{field} cannot be played from: {description}"),
            Error::IllegalHistory {
                field, description, ..
            } => write!(f, "{field} is not legal: {description}"),
            Error::Damaged { what } => write!(f, "the stored record cannot be read: {what}"),
            Error::Misjudged { what } => write!(
                f,
                "an entry does not fit the game that it was judged on: {what}"
            ),
        }
    }
}

impl core::error::Error for Error {}
