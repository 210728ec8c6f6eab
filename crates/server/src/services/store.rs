//! `StoreService`: copies of the store, and its verification, while games go on.

use std::sync::Arc;

use referee_api::v1;
use referee_record::resource_name;
use referee_store::{BackUpError, BackedUp, Course, Finding, Store, VerifyCursor, VerifyPage};
use time::OffsetDateTime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::clock::Clock;
use crate::error::ServiceError;
use crate::limits;
use crate::services::copies::{Copies, name_at};
use crate::transport::{Caller, Outgoing, Sender, Streams};

/// Answers `StoreService`.
#[derive(Clone)]
pub(crate) struct StoreKeeper {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    streams: Streams,
    stop: CancellationToken,
    /// Where copies go; without it none is made.
    copies: Option<Arc<Copies>>,
    copying: Arc<Semaphore>,
    verifying: Arc<Semaphore>,
}

impl StoreKeeper {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        streams: Streams,
        stop: CancellationToken,
        copies: Option<Copies>,
    ) -> StoreKeeper {
        StoreKeeper {
            store,
            clock,
            streams,
            stop,
            copies: copies.map(Arc::new),
            copying: Arc::new(Semaphore::new(1)),
            verifying: Arc::new(Semaphore::new(1)),
        }
    }

    fn begin(&self, place: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ServiceError> {
        if self.stop.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        let place = Arc::clone(place).try_acquire_owned();
        place.map_err(|_| ServiceError::overloaded())
    }

    /// The name of a copy that begins now.
    fn file_name(&self) -> Result<String, ServiceError> {
        let now_us = self.clock.now_us();
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(now_us) * 1_000);
        let time = time.map_err(|error| ServiceError::InvariantBroken {
            what: error.to_string(),
        })?;
        Ok(name_at(time))
    }
}

#[tonic::async_trait]
impl v1::store_service_server::StoreService for StoreKeeper {
    type BackUpStoreStream = Outgoing<v1::BackUpStoreResponse>;

    async fn back_up_store(
        &self,
        request: Request<v1::BackUpStoreRequest>,
    ) -> Result<Response<Self::BackUpStoreStream>, Status> {
        let caller = Caller::of(&request)?;
        let Some(copies) = self.copies.clone() else {
            return Err(refused("the server was started without --backup-folder", None).into());
        };
        let place = self.begin(&self.copying)?;
        if count(Arc::clone(&copies)).await? >= limits::BACKUPS_MAX {
            let text = "the folder of copies is full; move some away";
            return Err(refused(text, Some(limits::BACKUPS_MAX)).into());
        }
        let keeper = self.clone();
        let name = self.file_name()?;
        let stream = self.streams.open(&caller, |sender| async move {
            let _place = place;
            keeper.back_up(copies, name, sender).await;
        });
        Ok(Response::new(stream?))
    }

    type VerifyStoreStream = Outgoing<v1::VerifyStoreResponse>;

    async fn verify_store(
        &self,
        request: Request<v1::VerifyStoreRequest>,
    ) -> Result<Response<Self::VerifyStoreStream>, Status> {
        let caller = Caller::of(&request)?;
        let place = self.begin(&self.verifying)?;
        let from = match request.into_inner().games_only {
            true => VerifyCursor::games(),
            false => VerifyCursor::default(),
        };
        let keeper = self.clone();
        let stream = self.streams.open(&caller, |sender| async move {
            let _place = place;
            keeper.verify(from, sender).await;
        });
        Ok(Response::new(stream?))
    }
}

/// Stops the work of a course when whoever waits for it is gone.
struct StopsWhenDropped(Arc<Course>);

impl Drop for StopsWhenDropped {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl StoreKeeper {
    async fn back_up(
        &self,
        copies: Arc<Copies>,
        name: String,
        sender: Sender<v1::BackUpStoreResponse>,
    ) {
        use v1::back_up_store_response::Kind;
        let course = Arc::new(Course::resting(limits::STORE_WORK_REST));
        let _stops = StopsWhenDropped(Arc::clone(&course));
        tracing::info!(file = %name, "a copy of the store begins");
        let mut copying = self.store.back_up(copies.file(&name), Arc::clone(&course));
        let tell = async |kind| {
            let message = v1::BackUpStoreResponse { kind: Some(kind) };
            sender.send(message).await
        };
        let copied = loop {
            tokio::select! {
                copied = &mut copying => break copied,
                () = self.stop.cancelled() => return sender.fail(ServiceError::ShuttingDown).await,
                () = sender.closed() => return,
                () = self.clock.sleep(limits::STORE_PROGRESS_INTERVAL) => {}
            }
            let progress = v1::StoreProgress {
                done_bytes: course.done().cast_signed(),
                total_bytes: course.total().cast_signed(),
                ..v1::StoreProgress::default()
            };
            if tell(Kind::Progress(progress)).await.is_err() {
                return;
            }
        };
        match copied {
            Ok(BackedUp { bytes, games, .. }) => {
                tracing::info!(file = %name, bytes, games, "a copy of the store is complete");
                prune(copies).await;
                // The copy is there, whether anybody hears of it or not.
                let _ = tell(Kind::Backup(v1::StoreBackup {
                    file: name,
                    bytes: bytes.cast_signed(),
                    games: games.cast_signed(),
                }))
                .await;
            }
            Err(error) => {
                tracing::error!(file = %name, %error, "no copy of the store was made");
                sender.fail(from_back_up(error)).await;
            }
        }
    }

    async fn verify(&self, from: VerifyCursor, sender: Sender<v1::VerifyStoreResponse>) {
        let ended = tokio::select! {
            ended = self.verify_all(from, &sender) => ended,
            () = self.stop.cancelled() => Err(Some(ServiceError::ShuttingDown)),
            () = sender.closed() => Err(None),
        };
        if let Err(Some(error)) = ended {
            sender.fail(error).await;
        }
    }

    /// Verifies all parts; `Err(None)` where nobody listens.
    async fn verify_all(
        &self,
        mut from: VerifyCursor,
        sender: &Sender<v1::VerifyStoreResponse>,
    ) -> Result<(), Option<ServiceError>> {
        use v1::verify_store_response::Kind;
        let course = Arc::new(Course::resting(limits::STORE_WORK_REST));
        let _stops = StopsWhenDropped(Arc::clone(&course));
        let tell = async |kind| {
            let message = v1::VerifyStoreResponse { kind: Some(kind) };
            sender.send(message).await.map_err(|_gone| None)
        };
        let progress = |verdict: &v1::StoreVerdict| {
            Kind::Progress(v1::StoreProgress {
                games: verdict.games,
                entries: verdict.entries,
                ..v1::StoreProgress::default()
            })
        };
        let mut verdict = v1::StoreVerdict::default();
        let mut told_us = self.clock.now_us();
        loop {
            // A part may take long: the first is the whole file.
            let page = {
                let mut verifying = self.store.verify(&from, Arc::clone(&course));
                loop {
                    tokio::select! {
                        page = &mut verifying => break page,
                        () = self.clock.sleep(limits::STORE_PROGRESS_INTERVAL) => {
                            tell(progress(&verdict)).await?;
                        }
                    }
                }
            };
            let VerifyPage {
                findings,
                games,
                entries,
                next,
            } = page.map_err(|error| Some(error.into()))?;
            verdict.games += games.cast_signed();
            verdict.entries += entries.cast_signed();
            for finding in findings {
                tracing::error!(%finding, "the store is damaged");
                verdict.findings += 1;
                tell(Kind::Finding(write_finding(&finding))).await?;
            }
            let Some(next) = next else { break };
            from = next;
            let now_us = self.clock.now_us();
            if now_us - told_us >= limits::STORE_PROGRESS_INTERVAL.as_micros() as i64 {
                told_us = now_us;
                tell(progress(&verdict)).await?;
            }
        }
        tell(Kind::Verdict(verdict)).await
    }
}

fn write_finding(finding: &Finding) -> v1::StoreFinding {
    let key = finding.key.as_ref();
    v1::StoreFinding {
        platform: key.map(|key| key.platform.clone()).unwrap_or_default(),
        name: key.map(|key| resource_name(&key.game)).unwrap_or_default(),
        sequence: finding.flaw.sequence(),
        text: finding.flaw.to_string(),
    }
}

/// Counts the files in the folder of copies, as far as it matters.
async fn count(copies: Arc<Copies>) -> Result<usize, ServiceError> {
    let counted = tokio::task::spawn_blocking(move || {
        copies.count().map_err(|error| {
            let folder = copies.folder().display();
            tracing::error!(%folder, %error, "the folder of copies cannot be read");
            refused("the folder of copies cannot be read", None)
        })
    });
    counted
        .await
        .map_err(|error| ServiceError::InvariantBroken {
            what: error.to_string(),
        })?
}

/// Removes copies that are too old to keep. One that cannot be removed is told of in the log: the new
/// copy is there all the same.
async fn prune(copies: Arc<Copies>) {
    let pruned = tokio::task::spawn_blocking(move || copies.prune()).await;
    match pruned {
        Ok(Ok(names)) => {
            for name in names {
                tracing::info!(file = %name, "an old copy of the store is removed");
            }
        }
        Ok(Err(error)) => tracing::error!(%error, "old copies of the store are not removed"),
        Err(error) => tracing::error!(%error, "old copies of the store are not removed"),
    }
}

fn refused(reason: &'static str, limit: Option<usize>) -> ServiceError {
    ServiceError::BackupRefused { reason, limit }
}

/// What a caller gets to know, without names of folders. The log has them.
fn from_back_up(error: BackUpError) -> ServiceError {
    match error {
        BackUpError::NoRoom { .. } => refused("the disk has too little room", None),
        BackUpError::Exists { .. } => ServiceError::overloaded(),
        BackUpError::Stopped | BackUpError::Closed => ServiceError::ShuttingDown,
        BackUpError::Damaged { .. } => ServiceError::damaged("the store cannot be read to its end"),
        BackUpError::Io { .. } => refused("the copy cannot be written", None),
    }
}
