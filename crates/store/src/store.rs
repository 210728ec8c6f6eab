//! The trait that every engine implements.

use std::pin::Pin;

use tokio::sync::watch;

use crate::error::{AppendError, CreateError, Fault, ReadError};
use crate::record::{
    Answer, Append, Appended, Beat, Created, DownSpan, DueGame, GameKey, GamePage, GameRow,
    ListCursor, ListFilter, NewGame, Postponement, StoredEntry, TailPage,
};

/// A boxed future, so that `dyn Store` is possible.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Durable records of games.
///
/// Writes are answered after they are durable. A caller that gives up waiting does not undo its
/// write; repeating it with the same request id tells what became of it.
pub trait Store: Send + Sync + 'static {
    /// Creates a game.
    ///
    /// The request id is looked up first, within the platform: with the same content hash the
    /// answer is [`Created::Existing`] and the game that the first request created, whatever
    /// name the repetition carries (see [`NewGame::content_hash`]).
    ///
    /// # Errors
    ///
    /// [`CreateError::RequestIdReused`] for a known request id with another content hash;
    /// [`CreateError::NameTaken`] for a new request id with the name of another game.
    fn create(&self, game: NewGame) -> BoxFuture<'_, Result<Created, CreateError>>;

    /// Appends an entry to a game, or keeps the answer of a refusal.
    ///
    /// The request id is looked up first, then the sequence is compared: a repetition gets its
    /// first answer whatever the sequence is now.
    ///
    /// # Errors
    ///
    /// [`AppendError::SequenceMismatch`] when the game is not at `expected_sequence`, for
    /// refusals too; the other variants as they say.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, AppendError>>;

    /// The answer that `request_id` got in this game, or none when it never came or the game
    /// does not exist.
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the store cannot read.
    fn answer<'a>(
        &'a self,
        key: &'a GameKey,
        request_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Answer>, ReadError>>;

    /// The game, or none when it does not exist.
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the store cannot read.
    fn game<'a>(&'a self, key: &'a GameKey) -> BoxFuture<'a, Result<Option<GameRow>, ReadError>>;

    /// The entries of a game after `after_sequence`, in their order.
    ///
    /// At most `limit` entries, at most [`PAGE_ROWS`](crate::limits::PAGE_ROWS), and no more once
    /// [`PAGE_BYTES`](crate::limits::PAGE_BYTES) are reached: a short page is not the end, an
    /// empty one is. A game that does not exist has no entries.
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the store cannot read.
    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredEntry>, ReadError>>;

    /// The games of a platform that pass the filter, newest first, from after the cursor on.
    ///
    /// At most `limit` games, at most [`PAGE_ROWS`](crate::limits::PAGE_ROWS), and no more once
    /// [`PAGE_BYTES`](crate::limits::PAGE_BYTES) are reached or
    /// [`LIST_EXAMINED`](crate::limits::LIST_EXAMINED) games were looked at: the end is where
    /// [`GamePage::next`] is none.
    ///
    /// # Errors
    ///
    /// [`ReadError::Invalid`] for a filter beyond its limits.
    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> BoxFuture<'a, Result<GamePage, ReadError>>;

    /// The entries of all games of a platform, or of all platforms, after `after_position`, in
    /// the order of commits.
    ///
    /// An entry never appears at a position below one that was already seen, so that a watcher
    /// that goes on from the last position misses none. Pages are bounded as in
    /// [`entries`](Self::entries).
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the store cannot read.
    fn tail<'a>(
        &'a self,
        platform: Option<&'a str>,
        after_position: i64,
        limit: usize,
    ) -> BoxFuture<'a, Result<TailPage, ReadError>>;

    /// The games of all platforms that may be due by `until_us`, in microseconds since 1970,
    /// those that are longest due first. At most `limit` games, at most
    /// [`PAGE_ROWS`](crate::limits::PAGE_ROWS).
    ///
    /// A deadline is given with each entry ([`Write::Entry`](crate::Write::Entry)) and with the
    /// creation. No game is named later than at its deadline. A game whose entries have moved the
    /// deadline to later is named at the earlier one, so that a move need not be dearer for it:
    /// look at the game, and [`postpone`](Self::postpone) it.
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the store cannot read.
    fn due(&self, until_us: i64, limit: usize) -> BoxFuture<'_, Result<Vec<DueGame>, ReadError>>;

    /// Sets the deadline of a game as it was found, so that [`due`](Self::due) names it no more
    /// until then. The record of the game stays as it is.
    ///
    /// # Errors
    ///
    /// [`AppendError::NotFound`] where there is no such game;
    /// [`AppendError::SequenceMismatch`] where the game is not at the expected sequence: then its
    /// deadline may be another.
    fn postpone(&self, postponement: Postponement) -> BoxFuture<'_, Result<(), AppendError>>;

    /// Keeps a sign of life, and returns the span without one before it, where that is longer than
    /// the beat allows. The span is kept with it. Before the first sign of life there is no span,
    /// and one that is not later than the last changes nothing.
    ///
    /// # Errors
    ///
    /// [`Fault`] when the store cannot write.
    fn beat(&self, beat: Beat) -> BoxFuture<'_, Result<Option<DownSpan>, Fault>>;

    /// The last sign of life, in microseconds since 1970-01-01T00:00:00Z; none before the first.
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the store cannot read.
    fn heartbeat(&self) -> BoxFuture<'_, Result<Option<i64>, ReadError>>;

    /// The spans without a sign of life that ended after `after_us`, in microseconds since 1970,
    /// oldest first. At most `limit`, at most [`PAGE_ROWS`](crate::limits::PAGE_ROWS).
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the store cannot read.
    fn down_spans(
        &self,
        after_us: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<DownSpan>, ReadError>>;

    /// The position of the newest entry that this process knows of, over all platforms, and a
    /// way to wait for the next: the signal to read [`tail`](Self::tail) or
    /// [`entries`](Self::entries) on.
    fn position(&self) -> watch::Receiver<i64>;

    /// Closes the store: writes that wait are still made and answered, later ones get
    /// [`Fault::Closed`]. Returns when everything is on disk and the files are released.
    ///
    /// # Errors
    ///
    /// [`Fault::Failed`] when the last cleaning up failed; acknowledged writes are durable all
    /// the same.
    fn close(&self) -> BoxFuture<'_, Result<(), Fault>>;
}
