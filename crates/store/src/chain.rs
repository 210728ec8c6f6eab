//! The hash chain over a game's record, written so that others can recompute it.
//!
//! All hashes are SHA-256; `‖` joins bytes; a length is an unsigned 64-bit number, big-endian.
//!
//! ```text
//! chain(0) = SHA-256( "referee.chain.v1.genesis\n"
//!                     ‖ length(platform) ‖ platform
//!                     ‖ length(game)     ‖ game
//!                     ‖ length(genesis)  ‖ genesis )
//! chain(n) = SHA-256( "referee.chain.v1.entry\n" ‖ chain(n-1) ‖ entry(n) )
//! ```
//!
//! Platform and game are the names of the game in UTF-8; genesis and entry are the bytes as they
//! were stored. The first link binds the chain to the game's name, so that the record of one
//! game cannot pass for that of another; each further link binds an entry to all before it. A
//! changed, missing, added or moved entry breaks the chain. A cut tail does not: compare the head
//! with one that was kept elsewhere, for example in a signed export.

use std::error::Error;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::games::{GameKey, StoredEntry};

const GENESIS_TAG: &[u8] = b"referee.chain.v1.genesis\n";
const ENTRY_TAG: &[u8] = b"referee.chain.v1.entry\n";

/// The first link: chain(0) of the game `key` with this genesis.
pub fn genesis(key: &GameKey, genesis: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(GENESIS_TAG);
    for part in [key.platform.as_bytes(), key.game.as_bytes(), genesis] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The next link after `previous`: chain(n) from chain(n-1) and the bytes of entry n.
pub fn next(previous: &[u8; 32], entry: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(ENTRY_TAG);
    hasher.update(previous);
    hasher.update(entry);
    hasher.finalize().into()
}

/// Why a record does not hold together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainError {
    /// An entry is missing, added or out of order.
    Gap {
        /// The sequence that had to come.
        expected: i64,
        /// The sequence that came.
        found: i64,
    },
    /// The entry of this sequence is not the one that was stored, or does not follow the
    /// entries before it.
    Broken {
        /// The sequence of the first entry whose link does not hold.
        sequence: i64,
    },
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap { expected, found } => {
                write!(
                    f,
                    "entry {expected} is missing: entry {found} came in its place"
                )
            }
            Self::Broken { sequence } => {
                write!(
                    f,
                    "entry {sequence} was changed, or does not follow the one before it"
                )
            }
        }
    }
}

impl Error for ChainError {}

/// Checks a whole record, from the first entry on, and returns its head.
///
/// The head of an empty record is the link of the genesis. Compare the returned head with a
/// known one to see whether the tail was cut.
///
/// # Errors
///
/// The first entry that does not hold.
///
/// # Examples
///
/// ```
/// use referee_store::{GameKey, StoredEntry, chain};
///
/// let key = GameKey::new("default", "g1");
/// let first = chain::next(&chain::genesis(&key, b"setup"), b"e2e4");
/// let bytes = b"e2e4".to_vec();
/// let entry = StoredEntry { sequence: 1, position: 7, bytes, chain: first, private: None };
/// assert_eq!(chain::verify(&key, b"setup", [&entry]), Ok(first));
///
/// let changed = StoredEntry { bytes: b"d2d4".to_vec(), ..entry };
/// let broken = chain::ChainError::Broken { sequence: 1 };
/// assert_eq!(chain::verify(&key, b"setup", [&changed]), Err(broken));
/// ```
pub fn verify<'a>(
    key: &GameKey,
    genesis: &[u8],
    entries: impl IntoIterator<Item = &'a StoredEntry>,
) -> Result<[u8; 32], ChainError> {
    let mut head = self::genesis(key, genesis);
    for (expected, entry) in (1..).zip(entries) {
        if entry.sequence != expected {
            return Err(ChainError::Gap {
                expected,
                found: entry.sequence,
            });
        }
        head = next(&head, &entry.bytes);
        if entry.chain != head {
            return Err(ChainError::Broken {
                sequence: entry.sequence,
            });
        }
    }
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The expected values were computed with coreutils' `sha256sum` over the documented bytes.
    #[test]
    fn links_are_as_documented() {
        let key = GameKey::new("default", "g1");
        let first = genesis(&key, b"setup");
        assert_eq!(
            hex(&first),
            "56d52ec504a9498f8d62267d9a0ec882140677f3b2d7ff7fdaefc75f8abba540"
        );
        assert_eq!(
            hex(&next(&first, b"e2e4")),
            "617398995178df8a17be9271075d9fb1fba3012f8b7d640b43a483af8d4e1128"
        );
    }

    #[test]
    fn names_do_not_run_into_each_other() {
        let one = genesis(&GameKey::new("ab", "c"), b"x");
        assert_ne!(one, genesis(&GameKey::new("a", "bc"), b"x"));
        assert_ne!(one, genesis(&GameKey::new("ab", "cx"), b""));
    }
}
