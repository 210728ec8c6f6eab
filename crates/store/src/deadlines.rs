//! When games are due: the facet [`Deadlines`].

use crate::ack::Ack;
use crate::error::{AppendError, Fault};
use crate::games::GameKey;

/// Names the games whose deadline has come, each to one caller at a time.
pub trait Deadlines: Send + Sync {
    /// Claims games of all platforms that may be due by `until_us`, those that are longest due
    /// first: until `now_us + hold_us` nobody else gets them. At most `limit` games, at most
    /// [`PAGE_ROWS_MAX`](crate::limits::PAGE_ROWS_MAX); all times are in microseconds, the points
    /// since 1970-01-01T00:00:00Z. Where nothing is due, nothing is written to the disk.
    ///
    /// A deadline is given with each entry ([`Write::Entry`](crate::Write::Entry)) and with the
    /// creation. No game is named later than at its deadline, unless it is held. A game whose
    /// entries have moved the deadline to later is named at the earlier one, so that a move need
    /// not be dearer for it: look at the game, and [`postpone`](Self::postpone) it. A claim ends
    /// with the next entry of the game, with its postponement, or with its time: what a caller
    /// that died has claimed comes again by itself.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn claim_due(
        &self,
        now_us: i64,
        until_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<DueGame>, Fault>;

    /// Sets the deadline of a game as it was found, so that [`claim_due`](Self::claim_due) names
    /// it no more until then. The record of the game stays as it is.
    ///
    /// # Errors
    ///
    /// [`AppendError::NotFound`] where there is no such game; [`AppendError::Moved`] where the
    /// game is not at the expected sequence: then its deadline may be another.
    fn postpone(&self, postponement: Postponement) -> Ack<(), AppendError>;
}

/// A game that may be due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueGame {
    /// The name of the game.
    pub key: GameKey,
    /// A time at or before the deadline that the game has, in microseconds since
    /// 1970-01-01T00:00:00Z.
    pub due_us: i64,
}

/// The deadline of a game that [`Deadlines::claim_due`] named before its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postponement {
    /// The name of the game.
    pub key: GameKey,
    /// The sequence of the last entry when the deadline was found.
    pub expected_sequence: i64,
    /// The deadline, in microseconds since 1970-01-01T00:00:00Z; none where the game has none.
    pub deadline_us: Option<i64>,
}
