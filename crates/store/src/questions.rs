//! Questions that entries leave and that are answered later: the facet [`Questions`].

use crate::ack::Ack;
use crate::error::Fault;
use crate::games::GameKey;

/// Keeps which games have an open question, until somebody settles it.
///
/// An entry leaves a question with `asks` of [`Write::Entry`](crate::Write::Entry), in the same
/// transaction: what was asked survives a restart. A game has at most one open question, that of
/// the entry that asked last. What the question is, only the caller knows: the referee asks
/// whether somebody can still mate.
pub trait Questions: Send + Sync {
    /// Claims open questions, those that were never claimed first: until `now_us + hold_us`
    /// nobody else gets them. At most `limit`, at most
    /// [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX); times are in microseconds, `now_us` since
    /// 1970-01-01T00:00:00Z. Where no question is open, nothing is written to the disk.
    ///
    /// A claim ends when the question is settled, when a later entry asks again, or with its
    /// time: what a caller that died has claimed comes again by itself.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn claim_questions(
        &self,
        now_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<OpenQuestion>, Fault>;

    /// Closes the question that the entry `sequence` of a game left. Where a later entry asked
    /// again, or the question is closed already, nothing changes.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn settle_question(&self, key: GameKey, sequence: i64) -> Ack<(), Fault>;
}

/// A question that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The game.
    pub key: GameKey,
    /// The sequence of the entry that asked last.
    pub sequence: i64,
}
