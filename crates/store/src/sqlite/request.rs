//! How the tables know a request.

use sha2::{Digest as _, Sha256};

use crate::games::RequestKey;

/// The bytes of the first half of a digest, as the schema checks them.
pub(super) const KEY_BYTES: usize = 8;

/// The first bytes of a key, as the schema takes them.
pub(super) const PRINT_BYTES: usize = 3;

/// The first half of a SHA-256 of a request's scope and id, in two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    /// What is unique and looked up: short, so that what keeps it is.
    pub(super) key: [u8; KEY_BYTES],
    /// What tells whether it is the same request. Of two requests with the same key only one can
    /// be stored; nobody meets them by chance.
    pub(super) rest: [u8; 8],
}

impl Digest {
    /// Says whether the prints of a head may have this request, just as the schema asks: where
    /// prints meet, it may even look so for none of them.
    pub(super) fn is_among(&self, prints: &[u8]) -> bool {
        let [first, second, third, ..] = self.key;
        prints
            .windows(PRINT_BYTES)
            .any(|print| print[0] == first && print[1] == second && print[2] == third)
    }
}

/// Returns the digest of a request.
pub(super) fn digest(request: &RequestKey) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update([request.scope]);
    hasher.update(request.id.as_bytes());
    let hash: [u8; 32] = hasher.finalize().into();
    let (mut key, mut rest) = ([0; 8], [0; 8]);
    key.copy_from_slice(&hash[..8]);
    rest.copy_from_slice(&hash[8..16]);
    Digest { key, rest }
}
