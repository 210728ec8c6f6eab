//! How the tables know a request.

use rusqlite::Row;
use sha2::{Digest as _, Sha256};

use crate::games::RequestKey;

/// The words of a filter.
const WORDS: usize = 6;

/// The bits of a request that choose a bit of each word.
const BITS_PER_WORD: u32 = 6;

/// The first half of a SHA-256 of a request's scope and id, in two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest {
    /// What is unique and looked up: short, so that what keeps it is.
    pub(super) key: i64,
    /// What tells whether it is the same request. Of two requests with the same key only one can
    /// be stored; nobody meets them by chance.
    pub(super) rest: [u8; 8],
}

/// A filter over the requests of the newest entries of a game (Bloom 1970): of each request one
/// bit in each word. A request of which a bit is missing is none of them.
///
/// The schema computes the same. Words and bits are all that a trigger can compute without a
/// function, and a function would cost it a journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Filter([i64; WORDS]);

impl Filter {
    /// The columns of a head that [`read`](Self::read) takes.
    pub(super) const COLUMNS: &str = "seen_0, seen_1, seen_2, seen_3, seen_4, seen_5";

    /// Reads a filter from its columns, the first of which has the number `first`.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let mut filter = Self::default();
        for (index, word) in filter.0.iter_mut().enumerate() {
            *word = row.get(first + index)?;
        }
        Ok(filter)
    }

    /// Says whether a request may be among those of the filter, just as the schema asks: where
    /// bits meet, it may look so for none of them.
    pub(super) fn may_have(&self, key: i64) -> bool {
        let bits = bits(key);
        self.0.iter().zip(bits).all(|(word, bit)| word & bit != 0)
    }

    /// Puts a request into the filter.
    pub(super) fn put(&mut self, key: i64) {
        for (word, bit) in self.0.iter_mut().zip(bits(key)) {
            *word |= bit;
        }
    }
}

/// Returns the bit of a request in each word.
fn bits(key: i64) -> [i64; WORDS] {
    let mut left = key as u64;
    [(); WORDS].map(|()| {
        let bit = 1 << (left % (1 << BITS_PER_WORD));
        left >>= BITS_PER_WORD;
        bit
    })
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
    let key = i64::from_be_bytes(key);
    Digest { key, rest }
}
