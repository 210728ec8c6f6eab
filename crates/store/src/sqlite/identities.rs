//! Tokens in the embedded engine.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::SqliteStore;
use super::writer::Writer;
use crate::ack::{Ack, Read};
use crate::check;
use crate::error::Fault;
use crate::identities::{Identities, IssueError, NewToken, TokenRow, TokenScope};
use crate::job::{Job, Revocation};
use crate::limits;

/// The tables of tokens. No secret is in them.
pub(super) const TABLES: &str = "
CREATE TABLE tokens (
    token_id TEXT PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    principal TEXT NOT NULL,
    platform TEXT NOT NULL,
    role INTEGER NOT NULL,
    -- What it is confined to: a game with a seat, or a label.
    game TEXT,
    seat INTEGER,
    label_key TEXT,
    label_value TEXT,
    issuer TEXT NOT NULL,
    create_time_us INTEGER NOT NULL,
    expire_time_us INTEGER,
    revoke_time_us INTEGER,
    CHECK (game IS NULL OR label_key IS NULL),
    CHECK ((label_key IS NULL) = (label_value IS NULL)),
    CHECK ((game IS NULL) = (seat IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_platform ON tokens (platform, token_id);
";

/// What is read of a token, in the order of [`read_row`].
macro_rules! columns {
    ($rest:literal) => {
        concat!(
            "SELECT token_id, secret_hash, principal, platform, role, game, seat, label_key, \
             label_value, issuer, create_time_us, expire_time_us, revoke_time_us FROM tokens ",
            $rest
        )
    };
}

impl Writer {
    /// Keeps a new token.
    pub(super) fn issue(&self, token: &NewToken) -> rusqlite::Result<Result<TokenRow, IssueError>> {
        let limit = limits::TOKENS_PER_PLATFORM_MAX;
        if self.count_tokens(&token.platform, limit)? >= limit {
            self.connection
                .prepare_cached(
                    "DELETE FROM tokens WHERE platform = ?1 \
                     AND (revoke_time_us IS NOT NULL OR expire_time_us <= ?2)",
                )?
                .execute(params![token.platform, token.create_time_us])?;
            if self.count_tokens(&token.platform, limit)? >= limit {
                return Ok(Err(IssueError::Full { limit }));
            }
        }
        let (mut game, mut label) = (None, None);
        match &token.scope {
            TokenScope::Platform => {}
            TokenScope::Game { game: name, seat } => game = Some((name, *seat)),
            TokenScope::Label { key, value } => label = Some((key, value)),
        }
        let written = self
            .connection
            .prepare_cached(
                "INSERT INTO tokens (token_id, secret_hash, principal, platform, role, game, \
                 seat, label_key, label_value, issuer, create_time_us, expire_time_us) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
                 ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                token.id,
                token.secret_hash,
                token.principal,
                token.platform,
                token.role,
                game.map(|(name, _)| name),
                game.map(|(_, seat)| seat),
                label.map(|(key, _)| key),
                label.map(|(_, value)| value),
                token.issuer,
                token.create_time_us,
                token.expire_time_us,
            ])?;
        Ok(if written == 1 {
            Ok(TokenRow {
                token: token.clone(),
                revoke_time_us: None,
            })
        } else {
            Err(IssueError::IdTaken)
        })
    }

    /// Revokes a token, of a platform where it names one.
    pub(super) fn revoke(&self, revocation: &Revocation) -> rusqlite::Result<Option<TokenRow>> {
        self.connection
            .prepare_cached(
                "UPDATE tokens SET revoke_time_us = ?3 WHERE token_id = ?1 \
                 AND (?2 IS NULL OR platform = ?2) AND revoke_time_us IS NULL",
            )?
            .execute(params![
                revocation.id,
                revocation.platform,
                revocation.at_us
            ])?;
        let row = find(&self.connection, &revocation.id)?;
        let platform = revocation.platform.as_deref();
        Ok(row.filter(|row| platform.is_none_or(|platform| row.token.platform == platform)))
    }

    /// Counts the tokens of a platform, as far as it matters.
    fn count_tokens(&self, platform: &str, limit: usize) -> rusqlite::Result<usize> {
        self.connection
            .prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM tokens WHERE platform = ?1 LIMIT ?2)",
            )?
            .query_row(params![platform, limit as i64], |row| row.get::<_, i64>(0))
            .map(|count| count as usize)
    }
}

fn find(connection: &Connection, id: &str) -> rusqlite::Result<Option<TokenRow>> {
    connection
        .prepare_cached(columns!("WHERE token_id = ?1"))?
        .query_row([id], read_row)
        .optional()
}

fn page(
    connection: &Connection,
    platform: Option<&str>,
    after: &str,
    limit: usize,
) -> rusqlite::Result<Vec<TokenRow>> {
    let limit = limit as i64;
    match platform {
        Some(platform) => connection
            .prepare_cached(columns!(
                "WHERE platform = ?1 AND token_id > ?2 ORDER BY token_id LIMIT ?3"
            ))?
            .query_map(params![platform, after, limit], read_row)?
            .collect(),
        None => connection
            .prepare_cached(columns!("WHERE token_id > ?1 ORDER BY token_id LIMIT ?2"))?
            .query_map(params![after, limit], read_row)?
            .collect(),
    }
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let game: Option<String> = row.get(5)?;
    let key: Option<String> = row.get(7)?;
    let scope = match (game, key) {
        (None, None) => TokenScope::Platform,
        (Some(game), None) => TokenScope::Game {
            game,
            seat: row.get(6)?,
        },
        (None, Some(key)) => TokenScope::Label {
            key,
            value: row.get(8)?,
        },
        // The table holds that it cannot be; what is confined twice must not become wide.
        (Some(_), Some(_)) => {
            let reason = "a token is confined to a game and to a label".into();
            return Err(rusqlite::Error::FromSqlConversionFailure(
                5,
                Type::Text,
                reason,
            ));
        }
    };
    Ok(TokenRow {
        token: NewToken {
            id: row.get(0)?,
            secret_hash: row.get(1)?,
            principal: row.get(2)?,
            platform: row.get(3)?,
            role: row.get(4)?,
            scope,
            issuer: row.get(9)?,
            create_time_us: row.get(10)?,
            expire_time_us: row.get(11)?,
        },
        revoke_time_us: row.get(12)?,
    })
}

impl Identities for SqliteStore {
    fn issue_token(&self, token: NewToken) -> Ack<TokenRow, IssueError> {
        if let Err(invalid) = check::new_token(&token) {
            return Box::pin(std::future::ready(Err(invalid.into())));
        }
        self.committer
            .write(token, check::TOKEN_BYTES, Job::IssueToken)
    }

    fn revoke_token(
        &self,
        id: String,
        platform: Option<String>,
        at_us: i64,
    ) -> Ack<Option<TokenRow>, Fault> {
        let revocation = Revocation {
            id,
            platform,
            at_us,
        };
        self.committer
            .write(revocation, check::FIXED_BYTES, Job::RevokeToken)
    }

    fn token<'a>(&'a self, id: &'a str) -> Read<'a, Option<TokenRow>> {
        let id = id.to_owned();
        self.readers.read(move |connection| find(connection, &id))
    }

    fn tokens<'a>(
        &'a self,
        platform: Option<&'a str>,
        after: &'a str,
        limit: usize,
    ) -> Read<'a, Vec<TokenRow>> {
        let (platform, after) = (platform.map(str::to_owned), after.to_owned());
        let limit = limit.clamp(1, limits::PAGE_ROWS_MAX);
        self.readers
            .read(move |connection| page(connection, platform.as_deref(), &after, limit))
    }
}
