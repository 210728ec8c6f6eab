//! What may be set of the embedded engine.

use crate::limits;

/// How the embedded engine spends memory and spreads its housekeeping; the defaults are the
/// constants of [`limits`]. No setting touches durability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// See [`limits::NEWEST_REQUESTS`].
    pub newest_requests: usize,
    /// See [`limits::CHECKPOINT_PAGES`].
    pub checkpoint_pages: i64,
    /// See [`limits::CACHED_HEADS_MAX`].
    pub cached_heads: usize,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            newest_requests: limits::NEWEST_REQUESTS,
            checkpoint_pages: limits::CHECKPOINT_PAGES,
            cached_heads: limits::CACHED_HEADS_MAX,
        }
    }
}
