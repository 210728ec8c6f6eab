//! When games are due.
//!
//! Each move of a timed game moves its deadline, mostly to later. Rows are written only where a
//! deadline comes earlier, begins or ends; a row that has become too early is found when it is
//! due, and is set right then. So most moves write nothing here.

use rusqlite::{Connection, params};

use super::judge::Head;
use super::writer::Writer;
use crate::error::AppendError;
use crate::record::{DueGame, GameKey, Postponement};

impl Writer {
    /// Lets the row of a game be no later than its deadline.
    pub(super) fn keep_deadline(
        &self,
        head: &mut Head,
        deadline_us: Option<i64>,
    ) -> rusqlite::Result<()> {
        match (head.due_us, deadline_us) {
            (Some(due_us), Some(deadline_us)) if due_us <= deadline_us => Ok(()),
            _ => self.set_deadline(head, deadline_us),
        }
    }

    /// Sets the row of a game to its deadline.
    fn set_deadline(&self, head: &mut Head, deadline_us: Option<i64>) -> rusqlite::Result<()> {
        match deadline_us {
            _ if head.due_us == deadline_us => {}
            Some(deadline_us) => {
                self.connection
                    .prepare_cached(
                        "INSERT INTO deadlines (game_id, due_us) VALUES (?1, ?2) \
                         ON CONFLICT (game_id) DO UPDATE SET due_us = excluded.due_us",
                    )?
                    .execute([head.game_id, deadline_us])?;
            }
            None => {
                self.connection
                    .prepare_cached("DELETE FROM deadlines WHERE game_id = ?1")?
                    .execute([head.game_id])?;
            }
        }
        head.due_us = deadline_us;
        Ok(())
    }

    /// Sets the deadline of a game that was due too early.
    pub(super) fn postpone(
        &mut self,
        postponement: &Postponement,
    ) -> rusqlite::Result<Result<(), AppendError>> {
        let Some(mut head) = self.take_head(&postponement.key)? else {
            return Ok(Err(AppendError::NotFound));
        };
        let actual = head.sequence;
        let result = if actual == postponement.expected_sequence {
            self.set_deadline(&mut head, postponement.deadline_us)?;
            Ok(())
        } else {
            Err(AppendError::SequenceMismatch { actual })
        };
        self.remember(postponement.key.clone(), head);
        Ok(result)
    }
}

/// The games that may be due by a time, earliest first.
pub(super) fn due(
    connection: &Connection,
    until_us: i64,
    limit: usize,
) -> rusqlite::Result<Vec<DueGame>> {
    connection
        .prepare_cached(
            "SELECT platforms.name, games.name, due_us \
             FROM deadlines JOIN games USING (game_id) JOIN platforms USING (platform_id) \
             WHERE due_us <= ?1 ORDER BY due_us, deadlines.game_id LIMIT ?2",
        )?
        .query_map(params![until_us, limit as i64], |row| {
            Ok(DueGame {
                key: GameKey {
                    platform: row.get(0)?,
                    game: row.get(1)?,
                },
                due_us: row.get(2)?,
            })
        })?
        .collect()
}
