//! Who may call: tokens, of which only hashes are kept. The facet [`Identities`].

use crate::ack::{Ack, Read};
use crate::error::{Fault, InvalidField};

/// Keeps tokens. The store does not know what a role means, and never sees a secret.
pub trait Identities: Send + Sync {
    /// Keeps a new token.
    ///
    /// Where its platform has as many tokens as it may, those of it go that were revoked, or ran
    /// out before [`NewToken::create_time_us`].
    ///
    /// # Errors
    ///
    /// [`IssueError`].
    fn issue_token(&self, token: NewToken) -> Ack<TokenRow, IssueError>;

    /// Revokes a token, at a time in microseconds since 1970-01-01T00:00:00Z. One that is revoked
    /// already keeps its time. Returns the token; none where there is no such token, or where
    /// `platform` names another platform than that of the token.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn revoke_token(
        &self,
        id: String,
        platform: Option<String>,
        at_us: i64,
    ) -> Ack<Option<TokenRow>, Fault>;

    /// Returns a token by its id; none where there is no such token.
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn token<'a>(&'a self, id: &'a str) -> Read<'a, Option<TokenRow>>;

    /// Returns the tokens of a platform, or of all, in the order of their ids, after an id; the
    /// empty one comes before all. At most `limit`, at most
    /// [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX).
    ///
    /// # Errors
    ///
    /// [`ReadError`](crate::ReadError) when the store cannot read.
    fn tokens<'a>(
        &'a self,
        platform: Option<&'a str>,
        after: &'a str,
        limit: usize,
    ) -> Read<'a, Vec<TokenRow>>;
}

/// A token that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// What the token is found by.
    pub id: String,
    /// The SHA-256 of its secret.
    pub secret_hash: [u8; 32],
    /// Who presents it.
    pub principal: String,
    /// The platform that it is of.
    pub platform: String,
    /// What it allows, as the caller numbers roles.
    pub role: i64,
    /// What it is confined to within its platform.
    pub scope: TokenScope,
    /// Who issued it.
    pub issuer: String,
    /// When it was issued, in microseconds since 1970-01-01T00:00:00Z.
    pub create_time_us: i64,
    /// When it runs out; none where it does not.
    pub expire_time_us: Option<i64>,
}

/// What a token is confined to within its platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum TokenScope {
    /// All of its platform.
    #[default]
    Platform,
    /// One game.
    Game {
        /// Its name.
        game: String,
        /// The seat in it, as the caller numbers seats; 0 for none.
        seat: i64,
    },
    /// Games that have a label.
    Label {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
}

/// A token that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// What was issued.
    pub token: NewToken,
    /// When it was revoked, in microseconds since 1970-01-01T00:00:00Z; none where it was not.
    pub revoke_time_us: Option<i64>,
}

/// Why a token was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueError {
    /// There is a token with the id.
    IdTaken,
    /// The platform has as many tokens as it may.
    Full {
        /// How many.
        limit: usize,
    },
    /// A field is missing or too long.
    Invalid(InvalidField),
    /// The store cannot write.
    Fault(Fault),
}

impl From<Fault> for IssueError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<InvalidField> for IssueError {
    fn from(invalid: InvalidField) -> Self {
        Self::Invalid(invalid)
    }
}
