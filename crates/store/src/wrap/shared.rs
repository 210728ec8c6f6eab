//! A store behind an `Arc` is a store, so that wrappers go around a `dyn Store` too.

mod identities;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use crate::ack::{Ack, Read};
use crate::deadlines::{Deadlines, DueGame, Postponement};
use crate::error::{AppendError, CreateError, Fault};
use crate::games::{
    Answer, Append, Appended, Created, Deletion, GameHead, GameKey, GamePage, GameRow, Games,
    ListCursor, ListFilter, NewGame, RequestKey, StoredEntry, Tombstone,
};
use crate::liveness::{Beat, Beaten, DownSpan, Liveness};
use crate::log::{ChangePage, Log, LogCursor, TailPage};
use crate::questions::{OpenQuestion, Questions};
use crate::store::{Ready, Store, StoreStats};
use crate::upkeep::{BackUpError, BackedUp, Course, Upkeep, VerifyCursor, VerifyPage};

impl<S: Store + ?Sized> Games for Arc<S> {
    fn create(&self, game: NewGame) -> Ack<Created, CreateError> {
        (**self).create(game)
    }

    fn append(&self, append: Append) -> Ack<Appended, AppendError> {
        (**self).append(append)
    }

    fn delete(&self, deletion: Deletion) -> Ack<Tombstone, AppendError> {
        (**self).delete(deletion)
    }

    fn tombstone<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<Tombstone>> {
        (**self).tombstone(key)
    }

    fn answer<'a>(&'a self, key: &'a GameKey, request: &'a RequestKey) -> Read<'a, Option<Answer>> {
        (**self).answer(key, request)
    }

    fn head<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameHead>> {
        (**self).head(key)
    }

    fn game<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameRow>> {
        (**self).game(key)
    }

    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> Read<'a, Vec<StoredEntry>> {
        (**self).entries(key, after_sequence, limit)
    }

    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> Read<'a, GamePage> {
        (**self).list(platform, filter, after, limit)
    }

    fn count(&self, state: i32) -> Read<'_, u64> {
        (**self).count(state)
    }
}

impl<S: Store + ?Sized> Log for Arc<S> {
    fn newest(&self) -> Read<'_, LogCursor> {
        (**self).newest()
    }

    fn cover_key(&self) -> Read<'_, Vec<u8>> {
        (**self).cover_key()
    }

    fn changes<'a>(&'a self, after: &'a LogCursor, limit: usize) -> Read<'a, ChangePage> {
        (**self).changes(after, limit)
    }

    fn tail<'a>(
        &'a self,
        platform: &'a str,
        labels: &'a [(String, String)],
        after: &'a LogCursor,
        limit: usize,
    ) -> Read<'a, TailPage> {
        (**self).tail(platform, labels, after, limit)
    }

    fn moved(&self) -> watch::Receiver<u64> {
        (**self).moved()
    }
}

impl<S: Store + ?Sized> Deadlines for Arc<S> {
    fn claim_due(
        &self,
        now_us: i64,
        until_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<DueGame>, Fault> {
        (**self).claim_due(now_us, until_us, hold_us, limit)
    }

    fn postpone(&self, postponement: Postponement) -> Ack<(), AppendError> {
        (**self).postpone(postponement)
    }
}

impl<S: Store + ?Sized> Liveness for Arc<S> {
    fn beat(&self, beat: Beat) -> Ack<Beaten, Fault> {
        (**self).beat(beat)
    }

    fn set_back(&self, at_us: i64, step_max_us: i64) -> Ack<Vec<i64>, Fault> {
        (**self).set_back(at_us, step_max_us)
    }

    fn last_beat(&self) -> Read<'_, Option<i64>> {
        (**self).last_beat()
    }

    fn down_spans(&self, ended_after_us: i64, limit: usize) -> Read<'_, Vec<DownSpan>> {
        (**self).down_spans(ended_after_us, limit)
    }
}

impl<S: Store + ?Sized> Questions for Arc<S> {
    fn claim_questions(
        &self,
        now_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<OpenQuestion>, Fault> {
        (**self).claim_questions(now_us, hold_us, limit)
    }

    fn settle_question(&self, key: GameKey, sequence: i64) -> Ack<(), Fault> {
        (**self).settle_question(key, sequence)
    }
}

impl<S: Store + ?Sized> Upkeep for Arc<S> {
    fn back_up(&self, target: PathBuf, course: Arc<Course>) -> Ack<BackedUp, BackUpError> {
        (**self).back_up(target, course)
    }

    fn verify<'a>(&'a self, from: &'a VerifyCursor, course: Arc<Course>) -> Read<'a, VerifyPage> {
        (**self).verify(from, course)
    }
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn ready(&self) -> Read<'_, Ready> {
        (**self).ready()
    }

    fn stats(&self) -> StoreStats {
        (**self).stats()
    }

    fn close(&self) -> Ack<(), Fault> {
        (**self).close()
    }
}
