//! What files say that somebody may do: a role in a platform, and what it is confined to.

use std::sync::Arc;

use referee_api::v1;
use referee_store::TokenScope;

use super::principal::{Principal, is_platform};
use super::role::{Role, Roles};
use super::table;
use crate::limits;

/// What somebody may do who has no token of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) role: Role,
    pub(super) platform: String,
    pub(super) principal: String,
    pub(super) scope: TokenScope,
}

impl Grant {
    /// Reads what is granted; `scope` is the words that it is confined by, if it is.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub(super) fn read(
        role: Role,
        platform: &str,
        principal: &str,
        scope: Option<&str>,
    ) -> Result<Grant, &'static str> {
        if !is_platform(platform) {
            return Err("that is no name of a platform");
        }
        let is_name = (1..=limits::PRINCIPAL_BYTES_MAX).contains(&principal.len())
            && principal.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name {
            return Err("that is no name of a principal");
        }
        let scope = match scope {
            None if role != Role::Player => TokenScope::Platform,
            Some(scope) if table::is_confined(role) => read_scope(role, scope)?,
            _ => return Err("what it is confined to does not fit the role"),
        };
        Ok(Grant {
            role,
            platform: platform.to_owned(),
            principal: principal.to_owned(),
            scope,
        })
    }

    /// Returns who has it, by a credential.
    pub(super) fn principal(&self, credential: &str, expire_us: Option<i64>) -> Principal {
        Principal {
            id: self.principal.as_str().into(),
            platform: self.platform.as_str().into(),
            roles: Roles::of(&[self.role]),
            scope: self.scope.clone(),
            credential: Arc::from(credential),
            expire_us,
        }
    }
}

/// Reads what a role is confined to: `KEY=VALUE`, `games/ID`, or for a player `games/ID:white`.
fn read_scope(role: Role, text: &str) -> Result<TokenScope, &'static str> {
    let wrong = "what it is confined to is none of KEY=VALUE, games/ID and, for players, \
                 games/ID:white and games/ID:black";
    let Some(name) = text.strip_prefix("games/") else {
        let (key, value) = text.split_once('=').ok_or(wrong)?;
        let fits = role != Role::Player
            && (1..=limits::LABEL_KEY_BYTES_MAX).contains(&key.len())
            && value.len() <= limits::LABEL_VALUE_BYTES_MAX;
        return fits
            .then(|| TokenScope::Label {
                key: key.to_owned(),
                value: value.to_owned(),
            })
            .ok_or(wrong);
    };
    let (game, seat) = match (role, name.split_once(':')) {
        (Role::Player, Some((game, "white"))) => (game, v1::Seat::White),
        (Role::Player, Some((game, "black"))) => (game, v1::Seat::Black),
        (Role::Player, _) | (_, Some(_)) => return Err(wrong),
        (_, None) => (name, v1::Seat::Unspecified),
    };
    if game.is_empty() || game.len() > limits::GAME_ID_BYTES_MAX {
        return Err(wrong);
    }
    Ok(TokenScope::Game {
        game: game.to_owned(),
        seat: i64::from(seat as i32),
    })
}
