//! `PerftService`: move trees are counted, as jobs that workers share, or at once.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use referee_api::v1;
use referee_record::convert::time::{read_duration, write_duration};
use referee_record::{Fields, RecordKey};
use referee_store::{JobCursor, JobError, JobKey, JobRow, JobState, NewJob};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::listing::{check_token, read_token, scope_of, write_token};
use crate::clock::us;
use crate::error::ServiceError;
use crate::limits;
use crate::perft::{
    PerftExport, PerftJobs, count_small, job_name, read_job_name, read_root, summary,
};
use crate::pool::WorkPool;
use crate::transport::{Caller, Outgoing, Sender, Streams};

/// Answers `PerftService`.
#[derive(Clone)]
pub(crate) struct PerftService {
    jobs: Arc<PerftJobs>,
    streams: Streams,
    stop: CancellationToken,
    record_key: Option<Arc<RecordKey>>,
    /// Where small trees are counted.
    pool: WorkPool,
}

impl PerftService {
    pub(crate) fn new(
        jobs: Arc<PerftJobs>,
        record_key: Option<Arc<RecordKey>>,
        streams: Streams,
        stop: CancellationToken,
    ) -> PerftService {
        PerftService {
            jobs,
            streams,
            stop,
            record_key,
            pool: WorkPool::new(
                limits::PERFT_COUNTS_AT_ONCE_MAX,
                limits::PERFT_COUNTS_WAITING_MAX,
            ),
        }
    }

    fn check_running(&self) -> Result<(), ServiceError> {
        if self.stop.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        Ok(())
    }

    async fn create(
        &self,
        caller: &Caller,
        request: v1::CreatePerftJobRequest,
    ) -> Result<v1::PerftJob, ServiceError> {
        tracing::Span::current().record("request_id", &request.request_id);
        let content_hash = hash(&request);
        let mut fields = Fields::default();
        fields.request_id("request_id", &request.request_id);
        check_id(&request.perft_job_id, &mut fields);
        let job = fields.required("perft_job", request.perft_job);
        let job = job.unwrap_or_default();
        check_depth("perft_job.depth", job.depth, 1, &mut fields);
        let keep = read_duration(
            "perft_job.ttl",
            job.ttl,
            limits::PERFT_TTL_DEFAULT,
            limits::PERFT_TTL_MIN..=limits::PERFT_TTL_MAX,
            &mut fields,
        );
        check_trust(&job, &mut fields);
        fields.finish()?;
        read_root("perft_job.position", job.position.as_ref())?;
        self.check_credentials(&job)?;
        let redundancy = job.redundancy.max(1);
        let spec = v1::PerftJob {
            position: job.position,
            depth: job.depth,
            without_table: job.without_table,
            redundancy,
            recheck_share: job.recheck_share,
            ttl: Some(write_duration(keep)),
            ..v1::PerftJob::default()
        };
        let spec = spec.encode_to_vec();
        if spec.len() > referee_store::limits::JOB_TEXT_BYTES_MAX {
            let text = "has too many moves to be kept; give the position that they lead to as FEN";
            return Err(ServiceError::field("perft_job.position.moves", text));
        }
        let id = match request.perft_job_id.as_str() {
            "" => Uuid::new_v4().to_string(),
            id => id.to_owned(),
        };
        let new = NewJob {
            key: key(caller, id.clone()),
            request_id: request.request_id.clone(),
            content_hash,
            spec,
            create_us: self.jobs.clock.now_us(),
            keep_us: us(keep),
            copies: redundancy,
            is_whole: redundancy > 1 || job.recheck_share > 0.0,
            under_way_max: limits::PERFT_JOBS_UNDER_WAY_MAX,
            jobs_max: limits::PERFT_JOBS_MAX,
        };
        let created = self.jobs.store.create_job(new).await;
        let row = created.map_err(|error| not_created(error, &id, request.request_id))?;
        self.jobs.due.notify_one();
        self.jobs.view(&row).await
    }

    /// Fails where a job asks for counts by different credentials, and there are none.
    fn check_credentials(&self, job: &v1::PerftJob) -> Result<(), ServiceError> {
        let field = if job.redundancy > 1 {
            "perft_job.redundancy"
        } else if job.recheck_share > 0.0 {
            "perft_job.recheck_share"
        } else {
            return Ok(());
        };
        match self.jobs.knows_credentials {
            true => Ok(()),
            false => Err(ServiceError::PerftCredentialsRequired { field }),
        }
    }

    async fn find(&self, caller: &Caller, name: &str) -> Result<JobRow, ServiceError> {
        let id = read_job_name("name", name)?;
        let row = self.jobs.store.job(&key(caller, id)).await?;
        row.ok_or_else(|| ServiceError::PerftJobNotFound {
            name: name.to_owned(),
        })
    }

    async fn list(
        &self,
        caller: &Caller,
        request: &v1::ListPerftJobsRequest,
    ) -> Result<v1::ListPerftJobsResponse, ServiceError> {
        let mut fields = Fields::default();
        let (default, most) = (limits::PERFT_PAGE_DEFAULT, limits::PERFT_PAGE_MAX);
        let size = fields.page_size(request.page_size, default, most);
        check_token(&request.page_token, &mut fields);
        let states = read_states(&request.states, &mut fields);
        fields.finish()?;
        let filter = v1::ListPerftJobsRequest {
            states: request.states.clone(),
            ..v1::ListPerftJobsRequest::default()
        };
        let scope = scope_of("perft", caller, &filter);
        let after = match read_token(&request.page_token, &scope)?.as_deref() {
            None => None,
            Some(&[create_us, id]) => Some(JobCursor { create_us, id }),
            Some(_) => return Err(ServiceError::InvalidPageToken),
        };
        let platform = caller.platform();
        let page = self.jobs.store.jobs(platform, &states, after, size).await?;
        let next_page_token = page.next.map_or_else(String::new, |next| {
            write_token(&scope, &[next.create_us, next.id])
        });
        Ok(v1::ListPerftJobsResponse {
            perft_jobs: page.jobs.iter().map(summary).collect::<Result<_, _>>()?,
            next_page_token,
        })
    }

    /// Sends a job again and again until it is over.
    async fn send_all(
        &self,
        key: JobKey,
        interval: Duration,
        sender: &Sender<v1::WatchPerftJobResponse>,
    ) -> Result<(), ServiceError> {
        loop {
            let row = self.jobs.store.job(&key).await?;
            let row = row.ok_or_else(|| ServiceError::PerftJobNotFound {
                name: job_name(&key.job),
            })?;
            let job = self.jobs.view(&row).await?;
            let message = v1::WatchPerftJobResponse {
                perft_job: Some(job),
            };
            if sender.send(message).await.is_err() || row.state.is_over() {
                return Ok(());
            }
            self.jobs.clock.sleep(interval).await;
        }
    }

    async fn count(
        &self,
        request: v1::CountPerftRequest,
    ) -> Result<v1::CountPerftResponse, ServiceError> {
        let mut fields = Fields::default();
        check_depth("depth", request.depth, 0, &mut fields);
        fields.finish()?;
        let root = read_root("position", request.position.as_ref())?;
        let begin_us = self.jobs.clock.now_us();
        let (nodes, divide) = count_small(&self.pool, root, request.depth).await?;
        let elapsed_us = self.jobs.clock.now_us().saturating_sub(begin_us);
        let elapsed = Duration::from_micros(elapsed_us.max(0).unsigned_abs());
        Ok(v1::CountPerftResponse {
            nodes: nodes.to_string(),
            divide: divide
                .into_iter()
                .map(|(mv, nodes)| v1::DivideEntry {
                    r#move: mv,
                    nodes: nodes.to_string(),
                })
                .collect(),
            elapsed: Some(write_duration(elapsed)),
        })
    }
}

#[tonic::async_trait]
impl v1::perft_service_server::PerftService for PerftService {
    async fn create_perft_job(
        &self,
        request: Request<v1::CreatePerftJobRequest>,
    ) -> Result<Response<v1::CreatePerftJobResponse>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let job = self.create(&caller, request.into_inner()).await?;
        Ok(Response::new(v1::CreatePerftJobResponse {
            perft_job: Some(job),
        }))
    }

    async fn get_perft_job(
        &self,
        request: Request<v1::GetPerftJobRequest>,
    ) -> Result<Response<v1::GetPerftJobResponse>, Status> {
        let caller = Caller::of(&request)?;
        let row = self.find(&caller, &request.get_ref().name).await?;
        let job = self.jobs.view(&row).await?;
        Ok(Response::new(v1::GetPerftJobResponse {
            perft_job: Some(job),
        }))
    }

    async fn list_perft_jobs(
        &self,
        request: Request<v1::ListPerftJobsRequest>,
    ) -> Result<Response<v1::ListPerftJobsResponse>, Status> {
        let caller = Caller::of(&request)?;
        Ok(Response::new(self.list(&caller, request.get_ref()).await?))
    }

    type WatchPerftJobStream = Outgoing<v1::WatchPerftJobResponse>;

    async fn watch_perft_job(
        &self,
        request: Request<v1::WatchPerftJobRequest>,
    ) -> Result<Response<Self::WatchPerftJobStream>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        let mut fields = Fields::default();
        let interval = read_duration(
            "interval",
            request.interval,
            limits::PERFT_INTERVAL_DEFAULT,
            limits::PERFT_INTERVAL_MIN..=limits::PERFT_INTERVAL_MAX,
            &mut fields,
        );
        fields.finish().map_err(ServiceError::from)?;
        let key = self.find(&caller, &request.name).await?.key;
        let service = self.clone();
        let stream = self.streams.open(&caller, |sender| async move {
            let sent = tokio::select! {
                sent = service.send_all(key, interval, &sender) => sent,
                () = service.stop.cancelled() => Err(ServiceError::ShuttingDown),
                () = sender.closed() => Ok(()),
            };
            if let Err(error) = sent {
                sender.fail(error).await;
            }
        });
        Ok(Response::new(stream?))
    }

    async fn cancel_perft_job(
        &self,
        request: Request<v1::CancelPerftJobRequest>,
    ) -> Result<Response<v1::CancelPerftJobResponse>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let name = &request.get_ref().name;
        let key = key(&caller, read_job_name("name", name)?);
        let now_us = self.jobs.clock.now_us();
        let cancelled = self.jobs.store.cancel_job(key, now_us).await;
        let row = cancelled.map_err(ServiceError::from)?;
        let row = row.ok_or_else(|| ServiceError::PerftJobNotFound { name: name.clone() })?;
        let job = self.jobs.view(&row).await?;
        Ok(Response::new(v1::CancelPerftJobResponse {
            perft_job: Some(job),
        }))
    }

    async fn delete_perft_job(
        &self,
        request: Request<v1::DeletePerftJobRequest>,
    ) -> Result<Response<v1::DeletePerftJobResponse>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let name = &request.get_ref().name;
        let key = key(&caller, read_job_name("name", name)?);
        let deleted = self.jobs.store.delete_job(key).await;
        let deleted = deleted.map_err(ServiceError::from)?;
        deleted.map_err(|_unfinished| ServiceError::PerftJobNotFinished { name: name.clone() })?;
        Ok(Response::new(v1::DeletePerftJobResponse {}))
    }

    type ExportPerftJobStream = Outgoing<v1::ExportPerftJobResponse>;

    async fn export_perft_job(
        &self,
        request: Request<v1::ExportPerftJobRequest>,
    ) -> Result<Response<Self::ExportPerftJobStream>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let row = self.find(&caller, &request.get_ref().name).await?;
        let (jobs, key) = (Arc::clone(&self.jobs), self.record_key.clone());
        let export = PerftExport::begin(jobs, key, row)?;
        let stop = self.stop.clone();
        let stream = self
            .streams
            .open(&caller, |sender| export.run(sender, stop));
        Ok(Response::new(stream?))
    }

    async fn count_perft(
        &self,
        request: Request<v1::CountPerftRequest>,
    ) -> Result<Response<v1::CountPerftResponse>, Status> {
        self.check_running()?;
        Ok(Response::new(self.count(request.into_inner()).await?))
    }
}

/// The key of a job of the caller's platform.
fn key(caller: &Caller, job: String) -> JobKey {
    JobKey {
        platform: caller.platform().to_owned(),
        job,
    }
}

/// The hash of what a creation asks for.
fn hash(request: &v1::CreatePerftJobRequest) -> [u8; 32] {
    let job = request.perft_job.as_ref();
    let content = v1::CreatePerftJobRequest {
        perft_job: job.map(|job| v1::PerftJob {
            position: job.position.clone(),
            depth: job.depth,
            without_table: job.without_table,
            ttl: job.ttl,
            redundancy: job.redundancy,
            recheck_share: job.recheck_share,
            ..v1::PerftJob::default()
        }),
        perft_job_id: request.perft_job_id.clone(),
        request_id: String::new(),
    };
    Sha256::digest(content.encode_to_vec()).into()
}

fn check_depth(field: &str, depth: u32, least: u32, fields: &mut Fields) {
    let most = limits::PERFT_DEPTH_MAX;
    if depth < least {
        let text = "is required: a number of plies from 1 on; a tree of depth 0 is its root, which \
                    is one path";
        fields.refuse(field, text);
    } else if depth > most {
        fields.count(field, "plies", depth as usize, most as usize);
    }
}

fn check_trust(job: &v1::PerftJob, fields: &mut Fields) {
    let most = limits::PERFT_REDUNDANCY_MAX as usize;
    let redundancy = job.redundancy as usize;
    fields.count(
        "perft_job.redundancy",
        "counts of each position",
        redundancy,
        most,
    );
    let share = job.recheck_share;
    if !(0.0..=1.0).contains(&share) {
        fields.refuse("perft_job.recheck_share", "must be from 0 to 1");
    } else if share > 0.0 && job.redundancy > 1 {
        let text = "must be 0 where `redundancy` is above 1: all positions are counted again then";
        fields.refuse("perft_job.recheck_share", text);
    }
}

fn check_id(id: &str, fields: &mut Fields) {
    fields.length("perft_job_id", id, limits::PERFT_JOB_ID_BYTES_MAX);
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = id.bytes().all(|byte| is_letter(byte) || byte == b'-')
        && !id.starts_with('-')
        && !id.ends_with('-');
    if !fits {
        fields.refuse(
            "perft_job_id",
            "must be of lower-case letters, digits and hyphens, and begin and end with a letter \
             or digit",
        );
    }
}

fn read_states(states: &[i32], fields: &mut Fields) -> Vec<JobState> {
    use v1::perft_job::State;
    let most = limits::FILTER_STATES_MAX;
    fields.count("states", "states", states.len(), most);
    let mut read = Vec::new();
    for &state in states.iter().take(most) {
        match fields.choice::<State>("states", state) {
            State::Unspecified => {
                fields.refuse("states", "must name states other than STATE_UNSPECIFIED");
            }
            State::Planning => read.push(JobState::Planning),
            State::Running => read.extend([JobState::Running, JobState::Counted]),
            State::Succeeded => read.push(JobState::Succeeded),
            State::Failed => read.push(JobState::Failed),
            State::Cancelled => read.push(JobState::Cancelled),
        }
    }
    read
}

fn not_created(error: JobError, id: &str, request_id: String) -> ServiceError {
    match error {
        JobError::NameTaken => ServiceError::NameTaken { name: job_name(id) },
        JobError::RequestIdReused => ServiceError::RequestIdReused { request_id },
        JobError::TooManyUnderWay { limit } => ServiceError::PerftJobsFull {
            what: "perft jobs under way",
            limit,
        },
        JobError::TooMany { limit } => ServiceError::PerftJobsFull {
            what: "perft jobs",
            limit,
        },
        JobError::Invalid(invalid) => ServiceError::InvariantBroken {
            what: invalid.to_string(),
        },
        JobError::Fault(fault) => fault.into(),
    }
}
