//! The record of a job: its positions with their counts, chained by hashes and signed.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;
use referee_api::v1;
use referee_api::v1::export_perft_job_response::Kind;
use referee_perft::{Task, key_to_bytes};
use referee_record::{RecordKey, VERSION};
use referee_store::{JobRow, JobState, StoredTask, Stretch};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::counts;
use super::jobs::PerftJobs;
use super::view::job_name;
use crate::error::ServiceError;
use crate::transport::Sender;

/// The version of the form that records are exported in.
const FORMAT: u32 = 1;

/// A job whose record is exported.
pub(crate) struct PerftExport {
    jobs: Arc<PerftJobs>,
    record_key: Option<Arc<RecordKey>>,
    row: JobRow,
}

impl PerftExport {
    /// Exports the record of a job that has a total.
    ///
    /// # Errors
    ///
    /// Where it has none.
    pub(crate) fn begin(
        jobs: Arc<PerftJobs>,
        record_key: Option<Arc<RecordKey>>,
        row: JobRow,
    ) -> Result<PerftExport, ServiceError> {
        if row.state != JobState::Succeeded {
            let name = job_name(&row.key.job);
            return Err(ServiceError::PerftJobNotCounted { name });
        }
        Ok(PerftExport {
            jobs,
            record_key,
            row,
        })
    }

    /// Sends the whole record, or why it cannot.
    pub(crate) async fn run(
        self,
        sender: Sender<v1::ExportPerftJobResponse>,
        stop: CancellationToken,
    ) {
        let sent = tokio::select! {
            sent = self.send(&sender) => sent,
            () = stop.cancelled() => Err(ServiceError::ShuttingDown),
            () = sender.closed() => Ok(()),
        };
        if let Err(error) = sent {
            sender.fail(error).await;
        }
    }

    async fn send(&self, sender: &Sender<v1::ExportPerftJobResponse>) -> Result<(), ServiceError> {
        let tell = async |kind| {
            let message = v1::ExportPerftJobResponse { kind: Some(kind) };
            sender.send(message).await.is_ok()
        };
        let (header, mut link) = self.header()?;
        if !tell(Kind::Header(header)).await {
            return Ok(());
        }
        let (mut sequence, mut next) = (0, 0);
        loop {
            let page = self.jobs.store.counted(Stretch {
                job: self.row.id,
                parent: None,
                first: next,
                end: i64::MAX,
            });
            let page = page.await?;
            let Some(last) = page.last() else { break };
            next = last.first + last.positions.max(1);
            let writing = move || page.iter().map(write).collect::<Result<Vec<_>, _>>();
            for subtotals in self.jobs.pool.run(writing).await?? {
                sequence += 1;
                link = chain(b"referee.perft.v1.entry\n", &link, &subtotals);
                let _held = sender.hold(subtotals.len());
                let entry = v1::PerftRecordEntry {
                    sequence,
                    subtotals: subtotals.into(),
                    chain_hash: link.to_vec().into(),
                };
                if !tell(Kind::Entry(entry)).await {
                    return Ok(());
                }
            }
        }
        let seal = self.seal(sequence, link).await?;
        tell(Kind::Seal(seal)).await;
        Ok(())
    }

    fn header(&self) -> Result<(v1::PerftRecordHeader, [u8; 32]), ServiceError> {
        let row = &self.row;
        let damaged = |_| ServiceError::damaged("the description of a job");
        let mut job = v1::PerftJob::decode(&row.spec[..]).map_err(damaged)?;
        let plan = v1::PerftProgress::decode(&row.plan[..]).map_err(damaged)?;
        if plan.plan.is_none() {
            let what = "how it was cut is not known, since an older version has planned it";
            return Err(ServiceError::damaged(what));
        }
        job.progress = Some(v1::PerftProgress {
            positions: plan.positions,
            paths: plan.paths,
            plan: plan.plan,
            ..v1::PerftProgress::default()
        });
        let job = job.encode_to_vec();
        let mut hasher = Sha256::new();
        hasher.update(b"referee.perft.v1.job\n");
        for part in [row.key.platform.as_bytes(), row.key.job.as_bytes(), &job] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let link: [u8; 32] = hasher.finalize().into();
        let header = v1::PerftRecordHeader {
            format: FORMAT,
            platform: row.key.platform.clone(),
            name: job_name(&row.key.job),
            job: job.into(),
            chain_hash: link.to_vec().into(),
        };
        Ok((header, link))
    }

    async fn seal(&self, count: i64, link: [u8; 32]) -> Result<v1::PerftRecordSeal, ServiceError> {
        let row = &self.row;
        let job = self.jobs.view(row).await?;
        let outcome = v1::PerftJob {
            nodes: job.nodes,
            divide: job.divide,
            trust: job.trust,
            ..v1::PerftJob::default()
        };
        let outcome = outcome.encode_to_vec();
        let head = chain(b"referee.perft.v1.outcome\n", &link, &outcome);
        let key = self.record_key.as_ref();
        let signature =
            key.map(|key| key.sign_perft(&row.key.platform, &row.key.job, count, &head));
        Ok(v1::PerftRecordSeal {
            entry_count: count,
            outcome: outcome.into(),
            head_hash: Bytes::copy_from_slice(&head),
            signature,
            referee_version: VERSION.to_owned(),
        })
    }
}

/// The link behind another one.
fn chain(tag: &[u8], link: &[u8; 32], bytes: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(tag);
    hasher.update(link);
    hasher.update(bytes);
    hasher.finalize().into()
}

/// Writes the positions of a task with their counts.
fn write(stored: &StoredTask) -> Result<Vec<u8>, ServiceError> {
    let task = Task::from_bytes(stored.first.cast_unsigned(), stored.rest, &stored.bytes);
    let task = task.map_err(|error| ServiceError::damaged(&error.to_string()))?;
    let counts = stored.counts.as_deref().unwrap_or_default();
    let counts = counts::read(counts, task.len());
    let counts = counts.ok_or_else(|| ServiceError::damaged("the counts of a task"))?;
    let subtotals = task.keys().iter().zip(counts).enumerate();
    let subtotals = subtotals.map(|(index, (&key, count))| {
        let shares = task.shares(index);
        v1::PerftSubtotal {
            key: Bytes::copy_from_slice(&key_to_bytes(key)),
            first_moves: shares.iter().map(|share| share.owner).collect(),
            paths: shares.iter().map(|share| share.paths).collect(),
            nodes: count as u64,
            nodes_high: (count >> 64) as u64,
        }
    });
    let subtotals = v1::PerftSubtotals {
        first: stored.first,
        rest: stored.rest,
        credential: stored.credential.clone(),
        probes: stored.probes.max(0).unsigned_abs(),
        subtotals: subtotals.collect(),
    };
    Ok(subtotals.encode_to_vec())
}
