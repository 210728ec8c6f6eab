//! What the methods of `GameService` share: the games, and how names and intervals are read.

use std::sync::Arc;
use std::time::Duration;

use referee_record::convert::time::read_duration;
use referee_record::{Fields, RecordKey, read_name};
use referee_store::GameKey;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::permit::check_label;
use crate::error::ServiceError;
use crate::games::Games;
use crate::limits;
use crate::pool::{Turns, WorkPool};
use crate::transport::{Caller, Streams};

/// Answers `GameService`.
#[derive(Clone)]
pub(crate) struct GamesService {
    pub(crate) games: Arc<Games>,
    pub(crate) streams: Streams,
    pub(crate) stop: CancellationToken,
    /// Where long histories and texts are read.
    pub(crate) pool: WorkPool,
    pub(crate) record_key: Option<Arc<RecordKey>>,
    /// Turns at taking over games from texts, each of which has every action of its game in memory.
    pub(crate) imports: Turns,
    /// The places of streams of games as text.
    pub(crate) pgn_exports: Arc<Semaphore>,
}

impl GamesService {
    pub(super) fn check_running(&self) -> Result<(), ServiceError> {
        if self.stop.is_cancelled() {
            Err(ServiceError::ShuttingDown)
        } else {
            Ok(())
        }
    }

    /// Reads the name of a game that the caller may be told of.
    pub(super) async fn key(
        &self,
        caller: &Caller,
        field: &str,
        name: &str,
    ) -> Result<GameKey, ServiceError> {
        let key = caller.key(read_name(field, name)?)?;
        check_label(self, caller, &key).await?;
        Ok(key)
    }
}

/// Checks the sequence that a stream resumes after.
pub(super) fn check_after(fields: &mut Fields, field: &str, after: Option<i64>) {
    if after.is_some_and(|after| after < 0) {
        fields.refuse(field, "must not be negative; 0 begins with the first event");
    }
}

/// Reads how long corrections are waited for.
pub(super) fn read_corrections(
    fields: &mut Fields,
    field: &str,
    time: Option<prost_types::Duration>,
) -> Duration {
    let range = Duration::ZERO..=limits::CORRECTION_TIME_MAX;
    read_duration(field, time, Duration::ZERO, range, fields)
}

/// Reads how long a stream may be silent.
pub(super) fn read_heartbeat(
    fields: &mut Fields,
    field: &str,
    interval: Option<prost_types::Duration>,
) -> Duration {
    let range = limits::HEARTBEAT_MIN..=limits::HEARTBEAT_MAX;
    read_duration(field, interval, limits::HEARTBEAT_DEFAULT, range, fields)
}
