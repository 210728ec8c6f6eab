//! Cutting a job into tasks, beside the games: one thread of the lowest priority sorts, and what it
//! finds is stored in small pieces, each of which is on disk before the next is given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::perft_failure::Kind;
use referee_chess::Position;
use referee_perft::{
    Calibration, Counter, Cut, Means, Plan, PlanError, Task, TaskSize, key_to_bytes,
};
use referee_spill::{Room, SpillFolder};
use referee_store::limits::TASKS_BYTES_MAX;
use referee_store::{ClaimedJob, Fault, NewTask, PlannedJob};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::failed::Failed;
use super::jobs::{PerftJobs, seconds};
use super::root::read_root;
use crate::clock::{Clock, us};
use crate::limits;

/// The priority of the thread that plans: the lowest that there is.
const NICE: i32 = 19;

/// Sorting takes no more, and leaves some of the disk to others: the store may be on the same.
const ROOM: Room = Room {
    bytes_max: limits::PERFT_SPILL_BYTES_MAX,
    left_free: limits::PERFT_SPILL_ROOM_BYTES,
};

/// Why a job was not planned.
enum NotPlanned {
    /// It cannot be.
    Failed(Failed),
    /// Somebody else has it, it is over, or the service stops: nothing is to be done.
    Left,
    /// The store could not do it; it is tried again.
    Fault(Fault),
}

impl From<Fault> for NotPlanned {
    fn from(fault: Fault) -> NotPlanned {
        NotPlanned::Fault(fault)
    }
}

/// What planning came to.
struct Planned {
    positions: u64,
    paths: u128,
    thread_seconds: f64,
}

/// Plans a job, or ends it where it cannot be planned.
pub(super) async fn run(jobs: &PerftJobs, claimed: &ClaimedJob, stop: &CancellationToken) {
    let name = &claimed.row.key.job;
    let planned = match plan(jobs, claimed, stop).await {
        Ok(planned) => planned,
        Err(NotPlanned::Failed(failed)) => return jobs.fail(claimed, failed).await,
        Err(NotPlanned::Left) => return,
        Err(NotPlanned::Fault(error)) => {
            return tracing::warn!(job = name, %error, "a job could not be planned now");
        }
    };
    let (positions, seconds) = (planned.positions, planned.thread_seconds);
    tracing::info!(job = name, positions, seconds, "a job is planned");
    let plan = v1::PerftProgress {
        positions: positions.cast_signed(),
        paths: planned.paths.to_string(),
        thread_seconds: seconds,
        ..v1::PerftProgress::default()
    };
    let planned = PlannedJob {
        plan: plan.encode_to_vec(),
        now_us: jobs.clock.now_us(),
    };
    if let Err(error) = jobs.store.end_plan(claimed.claim, planned).await {
        tracing::warn!(job = name, %error, "a job could not be planned now");
    }
    jobs.note_opened();
    // One without tasks is counted at once.
    jobs.due.notify_one();
}

async fn plan(
    jobs: &PerftJobs,
    claimed: &ClaimedJob,
    stop: &CancellationToken,
) -> Result<Planned, NotPlanned> {
    let spec = v1::PerftJob::decode(&claimed.row.spec[..]);
    let spec = spec.map_err(|_| NotPlanned::Failed(Failed::damaged("its description")))?;
    let root = read_root("position", spec.position.as_ref());
    let root = root.map_err(|_| NotPlanned::Failed(Failed::damaged("its position")))?;
    while jobs
        .store
        .clear_tasks(claimed.claim)
        .await?
        .ok_or(NotPlanned::Left)?
    {
        if stop.is_cancelled() {
            return Err(NotPlanned::Left);
        }
    }
    let (sender, mut chunks) = mpsc::channel(limits::PERFT_CHUNKS_WAITING_MAX);
    let cancelled = Arc::new(AtomicBool::new(false));
    let planner = Planner {
        root,
        depth: spec.depth,
        folder: SpillFolder::new(&jobs.spill_folder, ROOM),
        clock: Arc::clone(&jobs.clock),
        cancelled: Arc::clone(&cancelled),
        chunk: Vec::new(),
        bytes: 0,
        sender,
    };
    let mut planning = tokio::task::spawn_blocking(move || planner.run());
    let stored = async {
        loop {
            let chunk = tokio::select! {
                chunk = chunks.recv() => chunk,
                () = tokio::time::sleep(limits::PERFT_CLAIM_RENEWED) => Some(Vec::new()),
                () = stop.cancelled() => return Err(NotPlanned::Left),
            };
            let Some(tasks) = chunk else { return Ok(()) };
            let until_us = jobs.clock.now_us().saturating_add(us(limits::PERFT_CLAIM));
            let is_ours = if tasks.is_empty() {
                jobs.store.hold_job(claimed.claim, until_us).await?
            } else {
                jobs.store.add_tasks(claimed.claim, tasks).await?
            };
            if !is_ours {
                return Err(NotPlanned::Left);
            }
        }
    };
    let stored = stored.await;
    if stored.is_err() {
        cancelled.store(true, Ordering::Relaxed);
    }
    // What it waits to hand over is not taken any more.
    drop(chunks);
    let planned = (&mut planning).await;
    stored?;
    planned.map_err(|error| NotPlanned::Failed(Failed::damaged(&error.to_string())))?
}

/// Plans on a thread of its own.
struct Planner {
    root: Position,
    depth: u32,
    folder: SpillFolder,
    clock: Arc<dyn Clock>,
    cancelled: Arc<AtomicBool>,
    /// Tasks that are not handed over yet.
    chunk: Vec<NewTask>,
    bytes: usize,
    sender: mpsc::Sender<Vec<NewTask>>,
}

impl Planner {
    fn run(mut self) -> Result<Planned, NotPlanned> {
        let counter = Counter::new(1)
            .map_err(|error| NotPlanned::Failed(Failed::new(Kind::NoRoom, &error)))?;
        // The thread is this pool's alone; what the system does not allow it does not need.
        let _ = counter.install(|| rustix::process::setpriority_process(None, NICE));
        let plan = self.build(&counter, 1)?;
        let calibration = self.calibrate(&plan, &counter)?;
        let thread_seconds = total_seconds(&plan, &calibration);
        let mut chosen = (plan, thread_seconds);
        if thread_seconds > chosen.0.positions() as f64 * limits::PERFT_POSITION_SECONDS_MAX
            && let Some(deeper) = self.deepen(&counter, &chosen.0)?
        {
            let thread_seconds = total_seconds(&deeper, &calibration);
            chosen = (deeper, thread_seconds);
        }
        let (plan, thread_seconds) = chosen;
        if plan.positions() > limits::PERFT_POSITIONS_MAX {
            let text = format!(
                "the tree has {} distinct positions, above the limit of {}",
                plan.positions(),
                limits::PERFT_POSITIONS_MAX
            );
            return Err(NotPlanned::Failed(Failed::new(
                Kind::TooManyPositions,
                &text,
            )));
        }
        if thread_seconds > limits::PERFT_THREAD_SECONDS_MAX {
            let text = format!(
                "counting takes about {thread_seconds:.0} seconds of one thread, above the limit \
                 of {:.0}; ask for a smaller depth",
                limits::PERFT_THREAD_SECONDS_MAX
            );
            return Err(NotPlanned::Failed(Failed::new(Kind::TooLong, &text)));
        }
        self.hand_over(&plan, &calibration, thread_seconds)?;
        Ok(Planned {
            positions: plan.positions(),
            paths: plan.paths(),
            thread_seconds,
        })
    }

    fn build(&self, counter: &Counter, plies_min: u32) -> Result<Plan<SpillFolder>, NotPlanned> {
        let cut = Cut {
            plies_min,
            rest_min: limits::PERFT_REST_MIN,
            cost_max: 0,
            children_max: limits::PERFT_CHILDREN_MAX,
        };
        let means = self.means();
        let built = counter.install(|| self.folder.plan(&self.root, self.depth, cut, means));
        built.map_err(not_planned)
    }

    fn means(&self) -> Means<'_> {
        Means {
            cancelled: Some(&self.cancelled),
            ..Means::default()
        }
    }

    /// Cuts one ply further down where a position would keep a worker for long; `None` where that
    /// has too many positions, or no room.
    fn deepen(
        &self,
        counter: &Counter,
        plan: &Plan<SpillFolder>,
    ) -> Result<Option<Plan<SpillFolder>>, NotPlanned> {
        let least = plan.rests().map(|(rest, _)| rest).min().unwrap_or(0);
        if least <= limits::PERFT_REST_MIN {
            return Ok(None);
        }
        match self.build(counter, self.depth - least + 1) {
            Ok(deeper) if deeper.positions() <= limits::PERFT_POSITIONS_MAX => Ok(Some(deeper)),
            Ok(_) => Ok(None),
            Err(NotPlanned::Failed(failed)) if failed.kind() == Kind::NoRoom => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Finds out how fast counting is, by a sample of positions with few plies left.
    fn calibrate(
        &self,
        plan: &Plan<SpillFolder>,
        counter: &Counter,
    ) -> Result<Calibration, NotPlanned> {
        let mut calibration = Calibration::default();
        let mode = self.root.castling_mode();
        let begin_us = self.clock.now_us();
        for sampled in plan.sample(limits::PERFT_SAMPLE).map_err(not_planned)? {
            let rest = sampled.rest().min(limits::PERFT_SAMPLE_REST_MAX);
            let keys: Vec<_> = sampled
                .keys()
                .iter()
                .map(|&key| key_to_bytes(key))
                .collect();
            // A position that arises in play can be counted from.
            let Ok(task) = Task::from_keys(rest, mode, &keys) else {
                continue;
            };
            let from_us = self.clock.now_us();
            if counter.count(&task, self.means(), None).is_err() {
                continue;
            }
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(NotPlanned::Left);
            }
            let now_us = self.clock.now_us();
            let time_us = now_us.saturating_sub(from_us).max(1).unsigned_abs();
            calibration.add(&task, Duration::from_micros(time_us));
            if now_us.saturating_sub(begin_us) > us(limits::PERFT_SAMPLE_TIME) {
                break;
            }
        }
        Ok(calibration)
    }

    /// Cuts the plan into tasks, and hands them over to be stored.
    fn hand_over(
        &mut self,
        plan: &Plan<SpillFolder>,
        calibration: &Calibration,
        thread_seconds: f64,
    ) -> Result<(), NotPlanned> {
        let target = limits::PERFT_TASK_TIME.as_secs_f64();
        let target = target.min(thread_seconds / limits::PERFT_TASKS_MIN as f64);
        let size = |rest| TaskSize {
            positions: limits::TASK_POSITIONS_MAX,
            ..calibration.task_size(rest, seconds(target))
        };
        for task in plan.tasks(size) {
            let task = task.map_err(not_planned)?;
            let rate = calibration.rate(task.rest()).unwrap_or(f64::MAX);
            self.put(&task, rate, target)?;
        }
        self.send()
    }

    /// Puts a task among those that are handed over; one that has too many bytes, in halves.
    fn put(&mut self, task: &Task, rate: f64, target: f64) -> Result<(), NotPlanned> {
        let bytes = task.to_bytes();
        if bytes.len() > TASKS_BYTES_MAX && task.len() > 1 {
            let half = task.len() / 2;
            self.put(&task.part(0..half), rate, target)?;
            return self.put(&task.part(half..task.len()), rate, target);
        }
        if self.bytes + bytes.len() > TASKS_BYTES_MAX {
            self.send()?;
        }
        self.bytes += bytes.len();
        let cost = task.cost() as f64 / rate;
        self.chunk.push(NewTask {
            first: task.first().cast_signed(),
            positions: task.len() as i64,
            rest: task.rest(),
            cost,
            is_urgent: cost > 2.0 * target,
            bytes,
        });
        Ok(())
    }

    fn send(&mut self) -> Result<(), NotPlanned> {
        self.bytes = 0;
        let chunk = std::mem::take(&mut self.chunk);
        if chunk.is_empty() {
            return Ok(());
        }
        let sent = self.sender.blocking_send(chunk);
        sent.map_err(|_nobody| NotPlanned::Left)
    }
}

/// How long one thread takes for all of a plan.
fn total_seconds(plan: &Plan<SpillFolder>, calibration: &Calibration) -> f64 {
    let rests: Vec<u32> = plan.rests().map(|(rest, _)| rest).collect();
    // All plies have about the same rate, which is that of the sample.
    let rate = rests.first().and_then(|&rest| calibration.rate(rest));
    plan.cost() as f64 / rate.unwrap_or(f64::MAX)
}

fn not_planned(error: PlanError) -> NotPlanned {
    match &error {
        PlanError::Cancelled => NotPlanned::Left,
        PlanError::TooMany | PlanError::Depth(_) => {
            NotPlanned::Failed(Failed::new(Kind::TooManyPaths, &error))
        }
        PlanError::Spill(cause) => {
            let text = format!(
                "the positions cannot be sorted: {cause}; make room on the disk of the store, or ask \
                 for a smaller depth"
            );
            NotPlanned::Failed(Failed::new(Kind::NoRoom, &text))
        }
    }
}
