//! The random bytes that text about persons is bound with.

use referee_record::{SALT_BYTES, Salt};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Draws a salt of 128 random bits: two random UUIDs have 244, and a hash leaves no trace of the
/// bits that are the same in all of them.
pub(crate) fn draw() -> Salt {
    let mut hasher = Sha256::new();
    hasher.update(Uuid::new_v4().as_bytes());
    hasher.update(Uuid::new_v4().as_bytes());
    let hash: [u8; 32] = hasher.finalize().into();
    let mut salt = [0; SALT_BYTES];
    salt.copy_from_slice(&hash[..SALT_BYTES]);
    salt
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_salt_comes_twice() {
        let drawn: HashSet<Salt> = (0..1_000).map(|_| draw()).collect();
        assert_eq!(drawn.len(), 1_000);
    }
}
