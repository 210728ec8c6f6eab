//! When games are due.
//!
//! Each move of a timed game moves its deadline, mostly to later. Rows are written only where a
//! deadline comes earlier, begins or ends; a row that has become too early is found when it is
//! due, and is set right then. So most moves write nothing here. What was last said of the
//! deadline of a game is in its head, which every entry writes: by that a row that is lost or too
//! late shows.

use rusqlite::{Connection, OptionalExtension, params};

use super::head::Head;
use super::writer::Writer;
use crate::deadlines::{DueGame, Postponement};
use crate::error::AppendError;
use crate::games::GameKey;
use crate::job::DueClaim;
use crate::upkeep::Flaw;

impl Writer {
    /// Lets the row of a game be no later than its deadline, and free.
    pub(super) fn keep_deadline(
        &self,
        head: &mut Head,
        deadline_us: Option<i64>,
    ) -> rusqlite::Result<()> {
        match (head.due_us, deadline_us) {
            (Some(due_us), Some(deadline_us)) if due_us <= deadline_us && !head.held => Ok(()),
            _ => self.set_deadline(head, deadline_us),
        }
    }

    /// Sets the row of a game to its deadline, and frees it.
    fn set_deadline(&self, head: &mut Head, deadline_us: Option<i64>) -> rusqlite::Result<()> {
        match deadline_us {
            _ if head.due_us == deadline_us && !head.held => {}
            Some(deadline_us) => {
                self.connection
                    .prepare_cached(
                        "INSERT INTO deadlines (game_id, due_us) VALUES (?1, ?2) \
                         ON CONFLICT (game_id) DO UPDATE \
                         SET due_us = excluded.due_us, held_until_us = NULL",
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
        head.held = false;
        Ok(())
    }

    /// Notes what the deadline of a game is, where no entry says so.
    fn state_deadline(&self, game_id: i64, deadline_us: Option<i64>) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE heads SET deadline_us = ?2, deadline_known = 1 WHERE game_id = ?1",
            )?
            .execute(params![game_id, deadline_us])?;
        Ok(())
    }

    /// Sets the deadline of a game that was due too early.
    pub(super) fn postpone(
        &mut self,
        postponement: &Postponement,
    ) -> rusqlite::Result<Result<(), AppendError>> {
        let postponed = self.with_head(&postponement.key, |writer, head| {
            if head.sequence != postponement.expected_sequence {
                return Ok(Err(AppendError::Moved {
                    actual: head.sequence,
                    chain: head.chain,
                }));
            }
            writer.set_deadline(head, postponement.deadline_us)?;
            writer.state_deadline(head.game_id, postponement.deadline_us)?;
            Ok(Ok(()))
        })?;
        match postponed {
            Some(postponed) => Ok(postponed),
            None => self.missing(&postponement.key).map(Err),
        }
    }

    /// Claims games that may be due by a time, earliest first.
    pub(super) fn claim_due(&mut self, claim: DueClaim) -> rusqlite::Result<Vec<DueGame>> {
        let due: Vec<(i64, DueGame)> = self
            .connection
            .prepare_cached(
                "SELECT platforms.name, games.name, due_us, deadlines.game_id \
                 FROM deadlines JOIN games USING (game_id) JOIN platforms USING (platform_id) \
                 WHERE due_us <= ?1 AND (held_until_us IS NULL OR held_until_us <= ?2) \
                 ORDER BY due_us, deadlines.game_id LIMIT ?3",
            )?
            .query_map(
                params![claim.until_us, claim.now_us, claim.limit as i64],
                |row| {
                    let key = GameKey {
                        platform: row.get(0)?,
                        game: row.get(1)?,
                    };
                    let due_us = row.get(2)?;
                    Ok((row.get(3)?, DueGame { key, due_us }))
                },
            )?
            .collect::<rusqlite::Result<_>>()?;
        let held_until_us = claim.now_us.saturating_add(claim.hold_us);
        let mut hold = self
            .connection
            .prepare_cached("UPDATE deadlines SET held_until_us = ?2 WHERE game_id = ?1")?;
        for (game_id, game) in &due {
            hold.execute([*game_id, held_until_us])?;
            if let Some(head) = self.heads.get_mut(&game.key) {
                head.held = true;
            }
        }
        Ok(due.into_iter().map(|(_, game)| game).collect())
    }
}

/// Compares when a game is due with what was last said of its deadline; returns what is wrong.
///
/// Where nothing was said since before that was kept, nothing is known to be wrong.
pub(super) fn flaw(connection: &Connection, game_id: i64) -> rusqlite::Result<Option<Flaw>> {
    let both: Option<(Option<i64>, Option<i64>)> = connection
        .prepare_cached(
            "SELECT heads.deadline_us, due_us FROM heads LEFT JOIN deadlines USING (game_id) \
             WHERE heads.game_id = ?1 AND deadline_known = 1",
        )?
        .query_row([game_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(match both {
        Some((Some(_), None)) => Some(Flaw::Missing { part: "deadline" }),
        Some((stated_us, Some(due_us))) if stated_us.is_none_or(|stated_us| due_us > stated_us) => {
            Some(Flaw::Lead { what: "deadline" })
        }
        _ => None,
    })
}
