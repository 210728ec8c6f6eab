//! The end of a game: all of it goes but its name.

use rusqlite::{OptionalExtension, params};

use super::head::Head;
use super::query;
use super::request::{Digest, digest};
use super::writer::Writer;
use crate::error::AppendError;
use crate::games::{Deletion, GameKey, RequestKey, Tombstone};

/// What a request of a platform has done: the sequence of the entry, or this for a deletion.
const DELETED: i64 = -1;

impl Writer {
    /// Deletes a game, or finds that the same request has deleted it.
    pub(super) fn delete(
        &mut self,
        deletion: &Deletion,
    ) -> rusqlite::Result<Result<Tombstone, AppendError>> {
        let key = &deletion.key;
        let Some(platform_id) = query::platform_id(&self.connection, &key.platform)? else {
            return Ok(Err(AppendError::NotFound));
        };
        let request = digest(&RequestKey::new(
            RequestKey::PLATFORM,
            deletion.request_id.as_str(),
        ));
        let before = query::tombstone(&self.connection, key)?;
        let game_id = query::any_game_id(&self.connection, key)?;
        let by = self.platform_request(platform_id, request)?;
        match (by, before) {
            (Some(done), Some(tombstone)) if Some(done) == game_id.map(|id| (id, DELETED)) => {
                return Ok(Ok(tombstone));
            }
            (Some(_), _) => return Ok(Err(AppendError::RequestIdReused)),
            (None, Some(_)) => return Ok(Err(AppendError::Deleted)),
            (None, None) => {}
        }
        if self.has_created(platform_id, &deletion.request_id)? {
            return Ok(Err(AppendError::RequestIdReused));
        }
        let deleted = self.with_head(key, |writer, head| {
            if head.sequence != deletion.expected_sequence || head.chain != deletion.previous {
                return Ok(Err(AppendError::Moved {
                    actual: head.sequence,
                    chain: head.chain,
                }));
            }
            writer.bury(head, deletion.delete_time_us)?;
            writer.note_platform_request(head, request, DELETED)?;
            Ok(Ok(()))
        })?;
        match deleted {
            None => Ok(Err(AppendError::NotFound)),
            Some(Err(error)) => Ok(Err(error)),
            Some(Ok(())) => {
                self.heads.remove(key);
                Ok(Ok(Tombstone {
                    delete_time_us: deletion.delete_time_us,
                }))
            }
        }
    }

    /// Leaves nothing of a game but its name, its place in the log and the time.
    fn bury(&mut self, head: &Head, delete_time_us: i64) -> rusqlite::Result<()> {
        let game_id = head.game_id;
        self.erase_all_texts(game_id)?;
        let positions = query::positions(&self.connection, game_id, 0, usize::MAX)?;
        let mut entry = self
            .connection
            .prepare_cached("DELETE FROM entries WHERE position = ?1 AND game_id = ?2")?;
        for position in positions {
            entry.execute([position, game_id])?;
        }
        drop(entry);
        for statement in [
            "DELETE FROM refusals WHERE refusal_id IN \
             (SELECT -place FROM requests WHERE game_id = ?1 AND place < 0)",
            "DELETE FROM requests WHERE game_id = ?1",
            "DELETE FROM runs WHERE game_id = ?1",
            "DELETE FROM refusal_counts WHERE game_id = ?1",
            "DELETE FROM heads WHERE game_id = ?1",
            "DELETE FROM geneses WHERE game_id = ?1",
            "DELETE FROM deadlines WHERE game_id = ?1",
            "DELETE FROM questions WHERE game_id = ?1",
            "DELETE FROM platform_requests WHERE game_id = ?1",
        ] {
            self.connection
                .prepare_cached(statement)?
                .execute([game_id])?;
        }
        let position = self.last_position + 1;
        self.connection
            .prepare_cached(
                "UPDATE games SET request_id = NULL, content_hash = x'', chain = x'', \
                 log_position = ?2, delete_time_us = ?3 WHERE game_id = ?1",
            )?
            .execute([game_id, position, delete_time_us])?;
        self.block
            .note(&self.connection, head.platform_id, position)?;
        self.last_position = position;
        self.last_is_entry = false;
        Ok(())
    }

    /// Why there is no game to write to.
    pub(super) fn missing(&self, key: &GameKey) -> rusqlite::Result<AppendError> {
        Ok(match query::tombstone(&self.connection, key)? {
            Some(_) => AppendError::Deleted,
            None => AppendError::NotFound,
        })
    }

    /// Which game a request of a platform has updated or deleted, and the sequence of the entry.
    /// A request that shares the first half of its digest with it is taken for the same; nobody
    /// meets them by chance.
    pub(super) fn platform_request(
        &self,
        platform_id: i64,
        request: Digest,
    ) -> rusqlite::Result<Option<(i64, i64)>> {
        self.connection
            .prepare_cached(
                "SELECT game_id, sequence FROM platform_requests \
                 WHERE platform_id = ?1 AND request = ?2",
            )?
            .query_row(params![platform_id, request.key], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()
    }

    /// Keeps that a request of the platform has written an entry to a game, or deleted it.
    pub(super) fn note_platform_request(
        &self,
        head: &Head,
        request: Digest,
        sequence: i64,
    ) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO platform_requests (platform_id, request, request_rest, game_id, \
                 sequence) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                head.platform_id,
                request.key,
                request.rest,
                head.game_id,
                sequence
            ])?;
        Ok(())
    }

    /// Whether a request of a platform has created a game.
    pub(super) fn has_created(&self, platform_id: i64, request_id: &str) -> rusqlite::Result<bool> {
        self.connection
            .prepare_cached("SELECT 1 FROM games WHERE platform_id = ?1 AND request_id = ?2")?
            .exists(params![platform_id, request_id])
    }
}
