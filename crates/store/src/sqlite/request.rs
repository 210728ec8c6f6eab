//! How the tables know a request.

use sha2::{Digest as _, Sha256};

use crate::games::RequestKey;

/// The bytes of a digest, as the schema checks them.
pub(super) const DIGEST_BYTES: usize = 16;

/// The first half of the SHA-256 of a request's scope and id: short, so that indexes are, and
/// long enough that nobody finds two requests of the same digest.
pub(super) type Digest = [u8; DIGEST_BYTES];

/// Returns the digest of a request.
pub(super) fn digest(request: &RequestKey) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update([request.scope]);
    hasher.update(request.id.as_bytes());
    let whole: [u8; 32] = hasher.finalize().into();
    let mut half = [0; DIGEST_BYTES];
    half.copy_from_slice(&whole[..DIGEST_BYTES]);
    half
}
