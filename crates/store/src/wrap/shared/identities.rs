//! Tokens of a store behind an `Arc`.

use std::sync::Arc;

use crate::ack::{Ack, Read};
use crate::error::Fault;
use crate::identities::{Identities, IssueError, NewToken, TokenRow};
use crate::store::Store;

impl<S: Store + ?Sized> Identities for Arc<S> {
    fn issue_token(&self, token: NewToken) -> Ack<TokenRow, IssueError> {
        (**self).issue_token(token)
    }

    fn revoke_token(
        &self,
        id: String,
        platform: Option<String>,
        at_us: i64,
    ) -> Ack<Option<TokenRow>, Fault> {
        (**self).revoke_token(id, platform, at_us)
    }

    fn token<'a>(&'a self, id: &'a str) -> Read<'a, Option<TokenRow>> {
        (**self).token(id)
    }

    fn tokens<'a>(
        &'a self,
        platform: Option<&'a str>,
        after: &'a str,
        limit: usize,
    ) -> Read<'a, Vec<TokenRow>> {
        (**self).tokens(platform, after, limit)
    }
}
