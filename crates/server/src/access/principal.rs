//! Who calls, as a value.

use std::sync::Arc;

use referee_api::v1;
use referee_store::TokenScope;

use super::role::Roles;
use crate::limits;

/// Who calls, and what their credential is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// An opaque id, which goes on record with what the principal does.
    pub(crate) id: Arc<str>,
    /// The platform whose games the principal acts on.
    pub(crate) platform: Arc<str>,
    /// What the principal may do.
    pub(crate) roles: Roles,
    /// What they are confined to within the platform.
    pub(crate) scope: TokenScope,
    /// The id of the credential: tells credentials apart, and opens nothing.
    pub(crate) credential: Arc<str>,
    /// When the credential runs out, in microseconds since 1970; none where it does not.
    pub(crate) expire_us: Option<i64>,
}

impl Principal {
    /// Returns the seat that the credential is for; none where it is for none, or for any.
    pub(crate) fn seat(&self) -> Option<v1::Seat> {
        match self.scope {
            TokenScope::Game { seat, .. } if seat != 0 => {
                let seat = i32::try_from(seat)
                    .ok()
                    .and_then(|seat| seat.try_into().ok());
                // A seat that nobody knows is one that nobody can act from.
                Some(seat.unwrap_or(v1::Seat::Unspecified))
            }
            _ => None,
        }
    }
}

/// Says whether a text can be the name of a platform: from 1 to 128 lower-case letters, digits,
/// hyphens, dots and underscores.
#[must_use]
pub fn is_platform(text: &str) -> bool {
    let is_sign = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_');
    !text.is_empty() && text.len() <= limits::PLATFORM_BYTES_MAX && text.bytes().all(is_sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_platforms_are_plain() {
        assert!(is_platform("default") && is_platform("club-1.example_2"));
        for wrong in ["", "Upper", "a b", "a/b", "ü", &"a".repeat(129)] {
            assert!(!is_platform(wrong), "{wrong}");
        }
    }
}
