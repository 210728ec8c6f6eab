//! Sessions of workers, and the tasks that they lease.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prost::Message as _;
use referee_api::v1;
use referee_api::worker::v1 as w;
use referee_chess::CastlingMode;
use referee_perft::{Task, key_to_bytes};
use referee_store::{
    Lease, LeaseRequest, LeasedTask, Leases, NewSession, Renewal, Renewed, SessionToken, StoredTask,
};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::census::generator_of;
use super::jobs::{PerftJobs, Waits};
use super::root::read_root;
use crate::clock::us;
use crate::error::ServiceError;
use crate::limits;

/// Draws the secret of a session: two random UUIDs have 244 bits, and a hash spreads them.
fn draw_secret() -> [u8; limits::SESSION_BYTES] {
    let mut hasher = Sha256::new();
    hasher.update(Uuid::new_v4().as_bytes());
    hasher.update(Uuid::new_v4().as_bytes());
    hasher.finalize().into()
}

/// Returns by what the store knows the session of a secret.
pub(crate) fn token(secret: &[u8]) -> SessionToken {
    SessionToken(Sha256::digest(secret).into())
}

impl PerftJobs {
    /// Opens a session, and returns its secret.
    pub(crate) async fn open_session(
        &self,
        credential: &str,
        worker: &w::OpenSessionRequest,
    ) -> Result<[u8; limits::SESSION_BYTES], ServiceError> {
        let secret = draw_secret();
        let now_us = self.clock.now_us();
        let session = NewSession {
            token: token(&secret),
            credential: credential.to_owned(),
            worker: worker.encode_to_vec(),
            now_us,
            expires_us: self.expires_us(now_us),
            sessions_max: limits::SESSIONS_MAX,
        };
        if self.store.open_session(session).await? {
            let (worker, threads) = (&worker.worker_id, worker.threads);
            tracing::info!(worker, threads, "a worker began a session");
            Ok(secret)
        } else {
            Err(ServiceError::overloaded())
        }
    }

    /// Leases tasks to a session; waits for one where none is open.
    pub(crate) async fn lease_tasks(
        &self,
        token: SessionToken,
        (held, limit): (Vec<Lease>, usize),
        wait: Duration,
        stop: &CancellationToken,
    ) -> Result<w::LeaseTasksResponse, ServiceError> {
        let until_us = self.clock.now_us().saturating_add(us(wait));
        loop {
            // Before it is asked, so that what is opened meanwhile is not missed.
            let opened = self.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            let now_us = self.clock.now_us();
            let request = LeaseRequest {
                token,
                held: held.clone(),
                limit,
                now_us,
                expires_us: self.expires_us(now_us),
            };
            let leases = self.store.lease(request).await?;
            let Leases { leased, dropped } = leases.ok_or(ServiceError::SessionNotFound)?;
            let is_over = now_us >= until_us || stop.is_cancelled() || limit == 0;
            if !leased.is_empty() || !dropped.is_empty() || is_over {
                return self.show_leases(leased, dropped).await;
            }
            let left = us(limits::LEASE_LOOK_INTERVAL).min(until_us - now_us);
            let _waits = Waits::begin(&self.waiting);
            tokio::select! {
                () = opened => {}
                () = self.clock.sleep_until(now_us.saturating_add(left)) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Reads the tasks of leases, as many as fit an answer: the others come with the next one.
    async fn show_leases(
        &self,
        leased: Vec<LeasedTask>,
        dropped: Vec<Lease>,
    ) -> Result<w::LeaseTasksResponse, ServiceError> {
        let leases: Vec<Lease> = leased.iter().map(|task| task.lease).collect();
        let stored = self.store.tasks(&leases).await?;
        let mut specs = HashMap::new();
        for lease in &leases {
            if let std::collections::hash_map::Entry::Vacant(entry) = specs.entry(lease.job) {
                entry.insert(self.read_spec(lease.job).await?);
            }
        }
        let tasks = self
            .pool
            .run(move || show_tasks(&leased, &stored, &specs))
            .await??;
        Ok(w::LeaseTasksResponse {
            tasks,
            dropped: dropped.into_iter().map(write_lease).collect(),
        })
    }

    /// Whether castling follows Chess960 rules in a job, and whether no table may be used; `None`
    /// where there is no such job any more.
    async fn read_spec(&self, job: i64) -> Result<Option<(bool, bool)>, ServiceError> {
        let Some(row) = self.store.job_by_id(job).await? else {
            return Ok(None);
        };
        let spec = v1::PerftJob::decode(&row.spec[..])
            .map_err(|_| ServiceError::damaged("the description of a job"))?;
        let root = read_root("position", spec.position.as_ref())
            .map_err(|_| ServiceError::damaged("the position of a job"))?;
        let is_chess960 = root.castling_mode() == CastlingMode::Chess960;
        Ok(Some((is_chess960, spec.without_table)))
    }

    /// Keeps a session with its leases.
    pub(crate) async fn renew_session(
        &self,
        token: SessionToken,
        held: Vec<Lease>,
        (nodes_per_second, is_stopping): (f64, bool),
    ) -> Result<w::RenewSessionResponse, ServiceError> {
        let now_us = self.clock.now_us();
        let renewal = Renewal {
            token,
            held,
            nodes_per_second,
            is_stopping,
            now_us,
            expires_us: self.expires_us(now_us),
        };
        let renewed = self.store.renew(renewal).await?;
        let Renewed { held, dropped } = renewed.ok_or(ServiceError::SessionNotFound)?;
        // Who waits finds nothing open, or would not wait.
        let split = if self.waiting.load(Ordering::Relaxed) > 0 {
            // Also what was estimated to be short: the worker knows how long it takes yet.
            held.iter().map(|task| write_lease(task.lease)).collect()
        } else {
            Vec::new()
        };
        Ok(w::RenewSessionResponse {
            expires_after: prost_types::Duration::try_from(limits::SESSION_TIME).ok(),
            dropped: dropped.into_iter().map(write_lease).collect(),
            split,
        })
    }

    /// Ends a session.
    pub(crate) async fn close_session(&self, token: SessionToken) -> Result<(), ServiceError> {
        let now_us = self.clock.now_us();
        if !self.store.close_session(token, now_us).await? {
            return Err(ServiceError::SessionNotFound);
        }
        self.note_opened();
        Ok(())
    }

    /// Returns the name of the counter of a session, out of a table; fails where the server never
    /// gave the token, or has forgotten it.
    pub(crate) async fn find_generator(
        &self,
        token: &SessionToken,
    ) -> Result<&'static str, ServiceError> {
        let session = self.store.session(token).await?;
        let session = session.ok_or(ServiceError::SessionNotFound)?;
        Ok(generator_of(&session))
    }
}

/// Writes the tasks of leases for their worker.
fn show_tasks(
    leased: &[LeasedTask],
    stored: &[StoredTask],
    specs: &HashMap<i64, Option<(bool, bool)>>,
) -> Result<Vec<w::Task>, ServiceError> {
    let (mut tasks, mut bytes) = (Vec::new(), 0);
    for &LeasedTask { lease, cost } in leased {
        let found = stored
            .iter()
            .find(|it| it.job == lease.job && it.task == lease.task);
        let spec = specs.get(&lease.job).copied().flatten();
        // A job that was deleted meanwhile is dropped with the next renewal.
        let (Some(found), Some((chess960, without_table))) = (found, spec) else {
            continue;
        };
        let task = Task::from_bytes(found.first.cast_unsigned(), found.rest, &found.bytes);
        let task = task.map_err(|error| ServiceError::damaged(&error.to_string()))?;
        let keys: Vec<u8> = task
            .keys()
            .iter()
            .flat_map(|&key| key_to_bytes(key))
            .collect();
        bytes += keys.len();
        tasks.push(w::Task {
            lease: Some(write_lease(lease)),
            rest: found.rest,
            chess960,
            keys: keys.into(),
            without_table,
            thread_seconds: cost,
        });
        if bytes >= limits::LEASED_BYTES_MAX {
            break;
        }
    }
    Ok(tasks)
}

/// Writes a lease.
fn write_lease(lease: Lease) -> w::Lease {
    w::Lease {
        job: lease.job.cast_unsigned(),
        task: u32::try_from(lease.task).unwrap_or(u32::MAX),
        attempt: u32::try_from(lease.attempt).unwrap_or(u32::MAX),
    }
}
