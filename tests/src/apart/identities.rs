//! Tokens go through as they are.

use referee_store::{Ack, Fault, Identities, IssueError, NewToken, Read, TokenRow};

use super::Apart;

impl Identities for Apart {
    fn issue_token(&self, token: NewToken) -> Ack<TokenRow, IssueError> {
        self.store.issue_token(token)
    }

    fn revoke_token(
        &self,
        id: String,
        platform: Option<String>,
        at_us: i64,
    ) -> Ack<Option<TokenRow>, Fault> {
        self.store.revoke_token(id, platform, at_us)
    }

    fn token<'a>(&'a self, id: &'a str) -> Read<'a, Option<TokenRow>> {
        self.store.token(id)
    }

    fn tokens<'a>(
        &'a self,
        platform: Option<&'a str>,
        after: &'a str,
        limit: usize,
    ) -> Read<'a, Vec<TokenRow>> {
        self.store.tokens(platform, after, limit)
    }
}
