//! The embedded engine behind the traits.

use std::sync::atomic::Ordering;

use tokio::sync::watch;

use super::{SqliteStore, liveness, log, query};
use crate::ack::{Ack, Read};
use crate::check;
use crate::deadlines::{Deadlines, DueGame, Postponement};
use crate::error::{AppendError, CreateError, Fault, ReadError};
use crate::games::{
    Answer, Append, Appended, Created, Deletion, GameHead, GameKey, GamePage, GameRow, Games,
    ListCursor, ListFilter, NewGame, RequestKey, StoredEntry, Tombstone,
};
use crate::job::{DueClaim, Job, QuestionClaim, StepBack};
use crate::limits;
use crate::liveness::{Beat, Beaten, DownSpan, Liveness};
use crate::log::{ChangePage, Log, LogCursor, TailPage};
use crate::questions::{OpenQuestion, Questions};
use crate::sqlite::list;
use crate::store::{Ready, Store, StoreStats};

impl Games for SqliteStore {
    fn create(&self, game: NewGame) -> Ack<Created, CreateError> {
        if let Err(invalid) = check::new_game(&game) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        let bytes = check::new_game_bytes(&game);
        self.committer.write(game, bytes, Job::Create)
    }

    fn append(&self, append: Append) -> Ack<Appended, AppendError> {
        if let Err(invalid) = check::append(&append) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        let bytes = check::append_bytes(&append);
        self.committer.write(append, bytes, Job::Append)
    }

    fn delete(&self, deletion: Deletion) -> Ack<Tombstone, AppendError> {
        if let Err(invalid) = check::deletion(&deletion) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        self.committer
            .write(deletion, check::FIXED_BYTES, Job::Delete)
    }

    fn tombstone<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<Tombstone>> {
        let key = key.clone();
        self.readers
            .read(move |connection| query::tombstone(connection, &key))
    }

    fn answer<'a>(&'a self, key: &'a GameKey, request: &'a RequestKey) -> Read<'a, Option<Answer>> {
        let (key, request) = (key.clone(), request.clone());
        self.readers
            .read(move |connection| query::answer(connection, &key, &request))
    }

    fn head<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameHead>> {
        let key = key.clone();
        self.readers
            .read(move |connection| query::head(connection, &key))
    }

    fn game<'a>(&'a self, key: &'a GameKey) -> Read<'a, Option<GameRow>> {
        let key = key.clone();
        self.readers
            .read(move |connection| query::game(connection, &key))
    }

    fn entries<'a>(
        &'a self,
        key: &'a GameKey,
        after_sequence: i64,
        limit: usize,
    ) -> Read<'a, Vec<StoredEntry>> {
        let (key, limit) = (key.clone(), page_rows(limit));
        self.readers
            .read(move |connection| query::entries(connection, &key, after_sequence, limit))
    }

    fn list<'a>(
        &'a self,
        platform: &'a str,
        filter: &'a ListFilter,
        after: Option<ListCursor>,
        limit: usize,
    ) -> Read<'a, GamePage> {
        if let Err(invalid) = check::list_filter(filter) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        let (platform, filter, limit) = (platform.to_owned(), filter.clone(), page_rows(limit));
        self.readers
            .read(move |connection| list::list(connection, &platform, &filter, after, limit))
    }

    fn count(&self, state: i32) -> Read<'_, u64> {
        self.readers
            .read(move |connection| list::count(connection, state))
    }
}

impl Log for SqliteStore {
    fn newest(&self) -> Read<'_, LogCursor> {
        // The writer tells after each commit, and nobody else writes.
        let newest = log::cursor_after(self.newest.load(Ordering::Acquire));
        let newest = match self.readers.is_closed() {
            true => Err(Fault::Closed.into()),
            false => Ok(newest),
        };
        Box::pin(std::future::ready(newest))
    }

    fn cover_key(&self) -> Read<'_, Vec<u8>> {
        self.readers.read(log::cover_key)
    }

    fn changes<'a>(&'a self, after: &'a LogCursor, limit: usize) -> Read<'a, ChangePage> {
        let Some(after) = log::position_of(after) else {
            return malformed();
        };
        let limit = page_rows(limit);
        self.readers
            .read(move |connection| log::changes(connection, after, limit))
    }

    fn tail<'a>(
        &'a self,
        platform: &'a str,
        labels: &'a [(String, String)],
        after: &'a LogCursor,
        limit: usize,
    ) -> Read<'a, TailPage> {
        let Some(after) = log::position_of(after) else {
            return malformed();
        };
        if let Err(invalid) = check::filter_labels("labels", labels) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        let (platform, labels, limit) = (platform.to_owned(), labels.to_vec(), page_rows(limit));
        let read = self
            .readers
            .read(move |connection| log::tail(connection, &platform, &labels, after, limit));
        Box::pin(async move {
            let page = read.await?;
            page.ok_or(ReadError::Invalid(LogCursor::malformed()))
        })
    }

    fn moved(&self) -> watch::Receiver<u64> {
        let mut moved = self.moved.clone();
        moved.mark_unchanged();
        moved
    }
}

impl Deadlines for SqliteStore {
    fn claim_due(
        &self,
        now_us: i64,
        until_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<DueGame>, Fault> {
        let claim = DueClaim {
            now_us,
            until_us,
            hold_us,
            limit: page_rows(limit),
        };
        self.committer
            .write(claim, check::FIXED_BYTES, Job::ClaimDue)
    }

    fn postpone(&self, postponement: Postponement) -> Ack<(), AppendError> {
        if let Err(invalid) = check::postponement(&postponement) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        self.committer
            .write(postponement, check::FIXED_BYTES, Job::Postpone)
    }
}

impl Liveness for SqliteStore {
    fn beat(&self, beat: Beat) -> Ack<Beaten, Fault> {
        self.committer
            .write_always(beat, check::FIXED_BYTES, Job::Beat)
    }

    fn set_back(&self, at_us: i64, step_max_us: i64) -> Ack<Vec<i64>, Fault> {
        let step = StepBack { at_us, step_max_us };
        self.committer
            .write_always(step, check::FIXED_BYTES, Job::SetBack)
    }

    fn last_beat(&self) -> Read<'_, Option<i64>> {
        self.readers.read(liveness::last_beat)
    }

    fn down_spans(&self, ended_after_us: i64, limit: usize) -> Read<'_, Vec<DownSpan>> {
        let limit = page_rows(limit);
        self.readers
            .read(move |connection| liveness::down_spans(connection, ended_after_us, limit))
    }
}

impl Questions for SqliteStore {
    fn claim_questions(
        &self,
        now_us: i64,
        hold_us: i64,
        limit: usize,
    ) -> Ack<Vec<OpenQuestion>, Fault> {
        let claim = QuestionClaim {
            now_us,
            hold_us,
            limit: page_rows(limit),
        };
        self.committer
            .write(claim, check::FIXED_BYTES, Job::ClaimQuestions)
    }

    fn settle_question(&self, key: GameKey, sequence: i64) -> Ack<(), Fault> {
        let question = OpenQuestion { key, sequence };
        self.committer
            .write(question, check::FIXED_BYTES, Job::Settle)
    }
}

impl Store for SqliteStore {
    fn ready(&self) -> Read<'_, Ready> {
        let read = self.readers.read(log::newest_position);
        Box::pin(async move {
            read.await?;
            Ok(match self.committer.last_fault() {
                None => Ready::Writable,
                Some(fault) => Ready::ReadsOnly { fault },
            })
        })
    }

    fn stats(&self) -> StoreStats {
        StoreStats {
            reads_waiting: self.readers.waiting(),
            ..self.committer.stats()
        }
    }

    fn close(&self) -> Ack<(), Fault> {
        self.committer.refuse();
        self.readers.refuse();
        let (readers, committer) = (self.readers.clone(), self.committer.clone());
        Box::pin(async move {
            // The readers first: the last connection to close removes the log.
            readers.close().await;
            committer.close().await
        })
    }
}

fn page_rows(limit: usize) -> usize {
    limit.clamp(1, limits::PAGE_ROWS_MAX)
}

fn malformed<'a, T: Send + 'a>() -> Read<'a, T> {
    let invalid = ReadError::Invalid(LogCursor::malformed());
    Box::pin(std::future::ready(Err(invalid)))
}
