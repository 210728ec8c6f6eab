//! Tokens, measured.

use super::{MayBeFault, Metered, Method};
use crate::ack::{Ack, Read};
use crate::error::Fault;
use crate::identities::{Identities, IssueError, NewToken, TokenRow};
use crate::store::Store;

impl MayBeFault for IssueError {
    fn is_fault(&self) -> bool {
        matches!(self, Self::Fault(_))
    }
}

impl<S: Store> Identities for Metered<S> {
    fn issue_token(&self, token: NewToken) -> Ack<TokenRow, IssueError> {
        self.write(Method::IssueToken, self.store.issue_token(token))
    }

    fn revoke_token(
        &self,
        id: String,
        platform: Option<String>,
        at_us: i64,
    ) -> Ack<Option<TokenRow>, Fault> {
        let ack = self.store.revoke_token(id, platform, at_us);
        self.write(Method::RevokeToken, ack)
    }

    fn token<'a>(&'a self, id: &'a str) -> Read<'a, Option<TokenRow>> {
        self.read(Method::Token, self.store.token(id))
    }

    fn tokens<'a>(
        &'a self,
        platform: Option<&'a str>,
        after: &'a str,
        limit: usize,
    ) -> Read<'a, Vec<TokenRow>> {
        let read = self.store.tokens(platform, after, limit);
        self.read(Method::Tokens, read)
    }
}
