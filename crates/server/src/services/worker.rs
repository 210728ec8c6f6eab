//! `WorkerService`: workers lease tasks of perft jobs, and report what they counted.

use std::sync::Arc;
use std::time::Duration;

use referee_api::worker::v1 as w;
use referee_record::Fields;
use referee_record::convert::time::{read_duration, write_duration};
use referee_store::{Lease, SessionToken};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::error::ServiceError;
use crate::limits;
use crate::perft::{GENERATORS, PerftJobs, read_lease, token};
use crate::transport::Caller;

/// Answers `WorkerService`.
#[derive(Clone)]
pub(crate) struct WorkerDesk {
    jobs: Arc<PerftJobs>,
    stop: CancellationToken,
}

impl WorkerDesk {
    pub(crate) fn new(jobs: Arc<PerftJobs>, stop: CancellationToken) -> WorkerDesk {
        WorkerDesk { jobs, stop }
    }

    fn check_running(&self) -> Result<(), ServiceError> {
        if self.stop.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        Ok(())
    }
}

#[tonic::async_trait]
impl w::worker_service_server::WorkerService for WorkerDesk {
    async fn open_session(
        &self,
        request: Request<w::OpenSessionRequest>,
    ) -> Result<Response<w::OpenSessionResponse>, Status> {
        self.check_running()?;
        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        check_worker(&request)?;
        let secret = self.jobs.open_session(caller.principal(), &request).await?;
        Ok(Response::new(w::OpenSessionResponse {
            session: secret.to_vec().into(),
            renew_interval: Some(write_duration(limits::SESSION_RENEWED)),
            expires_after: Some(write_duration(limits::SESSION_TIME)),
        }))
    }

    async fn lease_tasks(
        &self,
        request: Request<w::LeaseTasksRequest>,
    ) -> Result<Response<w::LeaseTasksResponse>, Status> {
        self.check_running()?;
        let request = request.into_inner();
        let mut fields = Fields::default();
        let session = read_session(&request.session, &mut fields);
        let held = read_held(&request.held, &mut fields);
        let most = limits::TASKS_LEASED_MAX;
        let wanted = request.max_tasks as usize;
        fields.count("max_tasks", "tasks", wanted, most);
        let wait = read_duration(
            "wait",
            request.wait,
            limits::LEASE_WAIT_MAX,
            Duration::ZERO..=limits::LEASE_WAIT_MAX,
            &mut fields,
        );
        fields.finish().map_err(ServiceError::from)?;
        let leased = self
            .jobs
            .lease_tasks(session, (held, wanted), wait, &self.stop);
        Ok(Response::new(leased.await?))
    }

    async fn renew_session(
        &self,
        request: Request<w::RenewSessionRequest>,
    ) -> Result<Response<w::RenewSessionResponse>, Status> {
        let request = request.into_inner();
        let mut fields = Fields::default();
        let session = read_session(&request.session, &mut fields);
        let held = read_held(&request.held, &mut fields);
        let pace = request.nodes_per_second;
        if !pace.is_finite() || pace < 0.0 {
            fields.refuse("nodes_per_second", "must be a number from 0 on");
        }
        fields.finish().map_err(ServiceError::from)?;
        let renewed = self
            .jobs
            .renew_session(session, held, (pace, request.stopping));
        Ok(Response::new(renewed.await?))
    }

    async fn report_tasks(
        &self,
        request: Request<w::ReportTasksRequest>,
    ) -> Result<Response<w::ReportTasksResponse>, Status> {
        let request = request.into_inner();
        let mut fields = Fields::default();
        let session = read_session(&request.session, &mut fields);
        check_results(&request.results, &mut fields);
        fields.finish().map_err(ServiceError::from)?;
        let generator = self.jobs.find_generator(&session).await?;
        let mut tasks = Vec::new();
        for result in request.results {
            tasks.push(self.jobs.take_result(session, generator, result).await?);
        }
        Ok(Response::new(w::ReportTasksResponse { tasks }))
    }

    async fn close_session(
        &self,
        request: Request<w::CloseSessionRequest>,
    ) -> Result<Response<w::CloseSessionResponse>, Status> {
        let mut fields = Fields::default();
        let session = read_session(&request.get_ref().session, &mut fields);
        fields.finish().map_err(ServiceError::from)?;
        self.jobs.close_session(session).await?;
        Ok(Response::new(w::CloseSessionResponse {}))
    }
}

fn check_worker(request: &w::OpenSessionRequest) -> Result<(), ServiceError> {
    let mut fields = Fields::default();
    let name = &request.worker_id;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        fields.refuse(
            "worker_id",
            "is required: printable ASCII without blanks, such as the name of the machine",
        );
    }
    fields.length("worker_id", name, limits::WORKER_ID_BYTES_MAX);
    let threads = request.threads as usize;
    let most = referee_perft::limits::THREADS_MAX;
    if threads == 0 {
        fields.refuse("threads", "is required: a number from 1 on");
    }
    fields.count("threads", "threads", threads, most);
    let mib = usize::try_from(request.hash_mib).unwrap_or(usize::MAX);
    fields.count("hash_mib", "MiB", mib, referee_perft::limits::HASH_MIB_MAX);
    let generator = &request.generator;
    if generator.is_empty() {
        fields.refuse("generator", "is required: the revision of the counter");
    }
    fields.text("generator", generator, limits::GENERATOR_BYTES_MAX);
    fields.text(
        "version",
        &request.version,
        limits::WORKER_VERSION_BYTES_MAX,
    );
    fields.finish()?;
    if !GENERATORS.contains(&generator.as_str()) {
        return Err(ServiceError::GeneratorUnknown {
            generator: generator.clone(),
            known: GENERATORS.to_vec(),
        });
    }
    Ok(())
}

fn read_session(secret: &[u8], fields: &mut Fields) -> SessionToken {
    if secret.len() != limits::SESSION_BYTES {
        fields.refuse("session", "is required: the 32 bytes that OpenSession gave");
    }
    token(secret)
}

fn read_held(held: &[w::Lease], fields: &mut Fields) -> Vec<Lease> {
    let most = limits::LEASES_HELD_MAX;
    fields.count("held", "leases", held.len(), most);
    held.iter().take(most).map(read_lease).collect()
}

fn check_results(results: &[w::TaskResult], fields: &mut Fields) {
    let most = limits::RESULTS_REPORTED_MAX;
    fields.count("results", "results", results.len(), most);
    for (index, result) in results.iter().take(most).enumerate() {
        let field = |name: &str| format!("results[{index}].{name}");
        if result.lease.is_none() {
            fields.refuse(&field("lease"), "is required");
        }
        let positions = limits::TASK_POSITIONS_MAX;
        fields.count(&field("parts"), "parts", result.parts.len(), positions);
        for (number, part) in result.parts.iter().take(positions).enumerate() {
            let field = |name: &str| format!("results[{index}].parts[{number}].{name}");
            for (name, length) in [
                ("counts", part.counts.len()),
                ("counts_high", part.counts_high.len()),
            ] {
                fields.count(&field(name), "counts", length, positions);
            }
        }
    }
}
