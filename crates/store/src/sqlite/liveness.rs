//! Signs of life, and the spans without them.

use rusqlite::{Connection, OptionalExtension, ToSql, params};

use super::writer::Writer;
use crate::job::StepBack;
use crate::limits;
use crate::liveness::{Beat, Beaten, DownSpan};

impl Writer {
    /// Notes that no replica is alive, and that nobody holds what one had claimed: the file was
    /// closed, and nobody else can have it open.
    pub(super) fn forget_replicas(&self) -> rusqlite::Result<()> {
        self.execute("UPDATE replicas SET stopping = 1 WHERE stopping = 0")?;
        self.execute("UPDATE questions SET held_until_us = NULL WHERE held_until_us IS NOT NULL")?;
        self.execute("UPDATE deadlines SET held_until_us = NULL WHERE held_until_us IS NOT NULL")?;
        self.execute("UPDATE perft_jobs SET held_until_us = 0 WHERE held_until_us <> 0")
    }

    /// Keeps a sign of life, and the span before it where there was one.
    pub(super) fn beat(&self, beat: Beat) -> rusqlite::Result<Beaten> {
        let replica = beat.replica.0.to_be_bytes();
        let last_us = last_beat(&self.connection)?;
        let stopped: Option<bool> = self
            .connection
            .prepare_cached("SELECT stopping FROM replicas WHERE replica_id = ?1")?
            .query_row([replica], |row| row.get(0))
            .optional()?;
        let first = stopped.is_none_or(|stopped| stopped && !beat.stopping);
        let alive_since_us = beat.at_us.saturating_sub(beat.silence_max_us);
        let alone = !self
            .connection
            .prepare_cached(
                "SELECT 1 FROM replicas \
                 WHERE replica_id <> ?1 AND stopping = 0 AND at_us >= ?2 LIMIT 1",
            )?
            .exists(params![replica, alive_since_us])?;
        let later = last_us.is_none_or(|last_us| last_us < beat.at_us);
        if first && later {
            // What is not alive now is not counted on again, and this beat is the latest.
            self.connection
                .prepare_cached("DELETE FROM replicas WHERE stopping = 1 OR at_us < ?1")?
                .execute([alive_since_us])?;
        }
        self.connection
            .prepare_cached(
                "INSERT INTO replicas (replica_id, at_us, stopping) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (replica_id) DO UPDATE \
                 SET at_us = max(at_us, excluded.at_us), stopping = excluded.stopping",
            )?
            .execute(params![replica, beat.at_us, beat.stopping])?;
        let found = match last_us {
            Some(from_us) if later && (from_us < alive_since_us || (first && alone)) => {
                Some(self.insert_span(from_us, beat.at_us)?)
            }
            _ => None,
        };
        let newest_span = self
            .connection
            .prepare_cached("SELECT coalesce(max(span_id), 0) FROM down_spans")?
            .query_row([], |row| row.get(0))?;
        Ok(Beaten { newest_span, found })
    }

    /// Moves back what a clock that ran ahead has left, where it did by more than a little.
    pub(super) fn set_back(&mut self, step: StepBack) -> rusqlite::Result<Vec<i64>> {
        let StepBack { at_us, step_max_us } = step;
        let ahead_us = last_beat(&self.connection)?.map_or(0, |it| it.saturating_sub(at_us));
        if ahead_us > step_max_us {
            let both = params![at_us, ahead_us];
            self.run("UPDATE replicas SET at_us = ?1 WHERE at_us > ?1", &[&at_us])?;
            self.run(
                "UPDATE OR REPLACE down_spans SET \
                 from_us = iif(from_us > ?1, from_us - ?2, from_us), to_us = to_us - ?2 \
                 WHERE to_us > ?1",
                both,
            )?;
            self.run("DELETE FROM down_spans WHERE to_us <= from_us", &[])?;
            self.run(
                "UPDATE deadlines SET due_us = ?1, held_until_us = NULL WHERE due_us > ?1",
                &[&at_us],
            )?;
            self.run(
                "UPDATE clock_steps SET ahead_us = ahead_us + ?1",
                &[&ahead_us],
            )?;
            self.run(
                "INSERT INTO clock_steps (ahead_us) VALUES (?1)",
                &[&ahead_us],
            )?;
            self.run(
                "DELETE FROM clock_steps WHERE step_id <= \
                 (SELECT max(step_id) FROM clock_steps) - ?1",
                &[&(limits::CLOCK_STEPS_MAX as i64)],
            )?;
            // They have deadlines that are no more.
            self.heads.clear();
        }
        self.connection
            .prepare_cached("SELECT ahead_us FROM clock_steps ORDER BY step_id DESC")?
            .query_map([], |row| row.get(0))?
            .collect()
    }

    fn run(&self, statement: &str, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute(values)?;
        Ok(())
    }

    fn insert_span(&self, from_us: i64, to_us: i64) -> rusqlite::Result<DownSpan> {
        let id = self
            .connection
            .prepare_cached("INSERT INTO down_spans (from_us, to_us) VALUES (?1, ?2)")?
            .insert([from_us, to_us])?;
        Ok(DownSpan { id, from_us, to_us })
    }
}

/// The last sign of life of all replicas.
pub(super) fn last_beat(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT max(at_us) FROM replicas")?
        .query_row([], |row| row.get(0))
}

/// The spans that ended after a time, oldest first.
pub(super) fn down_spans(
    connection: &Connection,
    ended_after_us: i64,
    limit: usize,
) -> rusqlite::Result<Vec<DownSpan>> {
    connection
        .prepare_cached(
            "SELECT span_id, from_us, to_us FROM down_spans \
             WHERE to_us > ?1 ORDER BY to_us LIMIT ?2",
        )?
        .query_map(params![ended_after_us, limit as i64], |row| {
            Ok(DownSpan {
                id: row.get(0)?,
                from_us: row.get(1)?,
                to_us: row.get(2)?,
            })
        })?
        .collect()
}
