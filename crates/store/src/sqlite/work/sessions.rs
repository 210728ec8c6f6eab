//! Sessions are opened, kept and ended.

use rusqlite::{OptionalExtension, params};

use super::super::writer::Writer;
use super::{LEASED, OPEN};
use crate::job::SessionEnd;
use crate::limits::LEASES_PER_SESSION_MAX;
use crate::work::{Lease, NewSession, Opened, SessionToken};

/// What is known of a session that is found by its secret.
pub(super) struct Found {
    pub(super) id: i64,
    pub(super) credential: i64,
    pub(super) is_open: bool,
    pub(super) refused: i64,
}

impl Writer {
    pub(super) fn open_session(&self, session: &NewSession) -> rusqlite::Result<Opened> {
        let credential = self.credential(&session.credential)?;
        if let Some(reason) = self.shut_out(credential)? {
            return Ok(Opened::ShutOut { reason });
        }
        let open: i64 = self
            .connection
            .prepare_cached("SELECT count(*) FROM perft_sessions WHERE is_open = 1")?
            .query_row([], |row| row.get(0))?;
        if open >= session.sessions_max as i64 {
            return Ok(Opened::TooMany);
        }
        self.change(
            "INSERT INTO perft_sessions (token, credential_id, worker, seen_us, asked_us, \
             expires_us) VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
            params![
                session.token.0,
                credential,
                session.worker,
                session.now_us,
                session.expires_us
            ],
        )?;
        Ok(Opened::Open)
    }

    /// Why a credential is shut out, if it is.
    pub(super) fn shut_out(&self, credential: i64) -> rusqlite::Result<Option<String>> {
        self.connection
            .prepare_cached("SELECT reason FROM perft_shut_out WHERE credential_id = ?1")?
            .query_row([credential], |row| row.get(0))
            .optional()
    }

    /// Finds a session, open or not.
    pub(super) fn find_session(&self, token: SessionToken) -> rusqlite::Result<Option<Found>> {
        self.connection
            .prepare_cached(
                "SELECT session_id, credential_id, is_open, refused FROM perft_sessions \
                 WHERE token = ?1",
            )?
            .query_row([token.0], |row| {
                Ok(Found {
                    id: row.get(0)?,
                    credential: row.get(1)?,
                    is_open: row.get(2)?,
                    refused: row.get(3)?,
                })
            })
            .optional()
    }

    pub(super) fn close_session(&self, end: SessionEnd) -> rusqlite::Result<bool> {
        let Some(session) = self.find_session(end.token)? else {
            return Ok(false);
        };
        self.end_session(session.id, end.now_us)?;
        Ok(true)
    }

    /// Ends a session, and opens again what it has leased; returns the jobs of these leases.
    pub(super) fn end_session(&self, session: i64, now_us: i64) -> rusqlite::Result<Vec<i64>> {
        let leases = self.leases_of(session)?;
        for lease in &leases {
            self.take_back(session, *lease)?;
        }
        self.change(
            "UPDATE perft_sessions SET is_open = 0, expires_us = min(expires_us, ?2) \
             WHERE session_id = ?1 AND is_open = 1",
            [session, now_us],
        )?;
        Ok(leases.into_iter().map(|lease| lease.job).collect())
    }

    /// What a session has leased.
    pub(super) fn leases_of(&self, session: i64) -> rusqlite::Result<Vec<Lease>> {
        self.connection
            .prepare_cached(
                "SELECT job_id, task, attempt FROM perft_copies \
                 WHERE session_id = ?1 AND state = 1 LIMIT ?2",
            )?
            .query_map(params![session, LEASES_PER_SESSION_MAX as i64], |row| {
                Ok(Lease {
                    job: row.get(0)?,
                    task: row.get(1)?,
                    attempt: row.get(2)?,
                })
            })?
            .collect()
    }

    /// Opens a task again, unless it was leased anew since that lease was seen.
    pub(super) fn take_back(&self, session: i64, lease: Lease) -> rusqlite::Result<bool> {
        let taken = self.change(
            "UPDATE perft_copies SET state = ?5, session_id = NULL, credential_id = NULL \
             WHERE job_id = ?1 AND task = ?2 AND attempt = ?3 AND state = ?4 AND session_id = ?6",
            [lease.job, lease.task, lease.attempt, LEASED, OPEN, session],
        )?;
        Ok(taken > 0)
    }
}
