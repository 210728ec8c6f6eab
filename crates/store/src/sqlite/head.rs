//! What the writer remembers of the games that are played.

use super::query::Newest;
use super::request::Filter;

/// What the writer knows of a game without reading.
pub(super) struct Head {
    pub(super) game_id: i64,
    pub(super) platform_id: i64,
    pub(super) state: i32,
    pub(super) sequence: i64,
    pub(super) chain: [u8; 32],
    /// The position of the last entry; 0 before the first.
    pub(super) position: i64,
    /// The entries whose requests are not in the index, oldest first; see `index.rs`.
    pub(super) newest: Vec<Newest>,
    /// The filter over these requests.
    pub(super) filter: Filter,
    /// When the game is next looked at: no later than its deadline.
    pub(super) due_us: Option<i64>,
    /// Whether somebody may have claimed the game since its deadline was written.
    pub(super) held: bool,
}
