//! A token as it is shown, from a store and from a server.

use std::borrow::Cow;

use referee_api::v1;
use referee_record::convert::time::read_us;
use referee_server::Role;
use referee_store::{TokenRow, TokenScope};

use crate::printable::{Escape, printable};

/// A token without its secret.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) name: String,
    role: &'static str,
    platform: String,
    principal: String,
    scope: String,
    expire_us: Option<i64>,
    is_revoked: bool,
}

impl Shown {
    /// Returns the line of the token in a list.
    pub(super) fn line(&self, now_us: i64) -> String {
        let is_past = self.expire_us.is_some_and(|end_us| end_us <= now_us);
        let standing = match (self.is_revoked, is_past) {
            (true, _) => "revoked",
            (false, true) => "expired",
            (false, false) => "good",
        };
        let Shown {
            name,
            role,
            platform,
            principal,
            scope,
            ..
        } = self;
        let text = format!("{name}  {role}  {platform}  {principal}  {scope}  {standing}");
        printed(&text).into_owned()
    }

    /// Returns what is told of a token that was issued.
    pub(super) fn issued(&self) -> String {
        let Shown {
            name,
            role,
            platform,
            principal,
            scope,
            ..
        } = self;
        format!("{name} for {principal}: {role} of {platform}, {scope}")
    }
}

fn printed(text: &str) -> Cow<'_, str> {
    printable(text, Escape::Braces)
}

impl From<&TokenRow> for Shown {
    fn from(row: &TokenRow) -> Shown {
        let token = &row.token;
        Shown {
            name: format!("tokens/{}", token.id),
            role: Role::of(token.role).map_or("unknown", Role::word),
            platform: token.platform.clone(),
            principal: token.principal.clone(),
            scope: match &token.scope {
                TokenScope::Platform => scope_words("", 0, None),
                TokenScope::Game { game, seat } => {
                    scope_words(&referee_record::resource_name(game), *seat, None)
                }
                TokenScope::Label { key, value } => scope_words("", 0, Some((key, value))),
            },
            expire_us: token.expire_time_us,
            is_revoked: row.revoke_time_us.is_some(),
        }
    }
}

impl From<&v1::Token> for Shown {
    fn from(token: &v1::Token) -> Shown {
        let label = token.label.as_ref();
        let label = label.map(|label| (label.key.as_str(), label.value.as_str()));
        Shown {
            name: token.name.clone(),
            role: Role::of(i64::from(token.role)).map_or("unknown", Role::word),
            platform: token.platform.clone(),
            principal: token.principal.clone(),
            scope: scope_words(&token.game, i64::from(token.seat), label),
            expire_us: token.expire_time.and_then(read_us),
            is_revoked: token.revoke_time.is_some(),
        }
    }
}

/// Says what a token is confined to.
fn scope_words(game: &str, seat: i64, label: Option<(&str, &str)>) -> String {
    match (game, seat, label) {
        (_, _, Some((key, value))) => format!("{key}={value}"),
        ("", _, None) => "all".to_owned(),
        (game, 1, None) => format!("{game} white"),
        (game, 2, None) => format!("{game} black"),
        (game, _, None) => game.to_owned(),
    }
}
