//! Positions are drawn when all are counted, so that nobody can know them before, and are put
//! into new batches to be counted again: those of each credential by any other.

use std::collections::BTreeMap;

use referee_chess::CastlingMode;
use referee_perft::{Draw, KEY_LENGTH, Task, key_to_bytes};
use referee_store::{Check, ClaimedJob, JobTrust, NewCheck, StoredTask, TaskKind};
use sha2::{Digest as _, Sha256};

use super::checking::Unchecked;
use super::comparing::write_numbers;
use super::failed::Failed;
use super::job_root::JobRoot;
use super::jobs::PerftJobs;
use super::sessions::draw_secret;
use crate::limits;

/// Numbers that nobody can foretell: hashes of a secret, which is drawn for one job and kept by
/// nobody, and of how many there were before.
pub(super) struct Chance {
    secret: [u8; 32],
    count: u64,
}

impl Chance {
    pub(super) fn new() -> Chance {
        Chance {
            secret: draw_secret(),
            count: 0,
        }
    }

    pub(super) fn next(&mut self) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(self.secret);
        hasher.update(self.count.to_le_bytes());
        self.count += 1;
        let hash = hasher.finalize();
        hash.iter()
            .take(8)
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    }
}

/// Positions to count again: of one credential, and with as many plies left.
#[derive(Default)]
struct Batch {
    numbers: Vec<u64>,
    keys: Vec<[u8; KEY_LENGTH]>,
}

/// What is drawn of some tasks.
struct Drawn {
    tasks: Vec<i64>,
    batches: BTreeMap<(String, u32), Batch>,
    positions: usize,
}

impl PerftJobs {
    /// Draws positions of what is counted since the last time; returns whether there are any.
    pub(super) async fn draw_rechecks(
        &self,
        claimed: &ClaimedJob,
        root: &JobRoot,
        trust: &JobTrust,
    ) -> Result<bool, Unchecked> {
        let share = root.spec.recheck_share;
        if root.spec.redundancy > 1 || share <= 0.0 || trust.undrawn <= 0 {
            return Ok(false);
        }
        let mut draw = Draw::of_share(trust.undrawn.cast_unsigned(), share);
        let mut chance = Chance::new();
        let job = claimed.claim.job;
        let (mode, seconds) = (root.mode(), root.position_seconds());
        loop {
            // What was drawn from is not among those that come next.
            let page = self.store.undrawn(job, 0).await?;
            if page.is_empty() {
                return Ok(true);
            }
            let drawing = move || {
                let drawn = draw_from(&page, &mut draw, &mut chance);
                drawn.and_then(|drawn| Ok((write(drawn, mode, seconds)?, draw, chance)))
            };
            let check;
            (check, draw, chance) = self.pool.run(drawing).await??;
            let is_ours = self.store.check_job(claimed.claim, check).await?;
            if !is_ours || !self.hold(claimed).await? {
                return Ok(true);
            }
        }
    }
}

/// Draws from tasks, up to as much as is stored in one go.
fn draw_from(page: &[StoredTask], draw: &mut Draw, chance: &mut Chance) -> Result<Drawn, Failed> {
    let mut drawn = Drawn {
        tasks: Vec::new(),
        batches: BTreeMap::new(),
        positions: 0,
    };
    for stored in page {
        let first = stored.first.cast_unsigned();
        let task = Task::from_bytes(first, stored.rest, &stored.bytes);
        let task = task.map_err(|error| Failed::damaged(&error.to_string()))?;
        drawn.tasks.push(stored.task);
        for (number, &key) in (first..).zip(task.keys()) {
            if draw.next(chance.next()) {
                let group = (stored.credential.clone(), stored.rest);
                let batch = drawn.batches.entry(group).or_default();
                batch.numbers.push(number);
                batch.keys.push(key_to_bytes(key));
                drawn.positions += 1;
            }
        }
        if drawn.positions >= limits::PERFT_DRAWN_AT_ONCE_MAX {
            break;
        }
    }
    Ok(drawn)
}

/// Makes tasks of what was drawn.
fn write(drawn: Drawn, mode: CastlingMode, seconds: f64) -> Result<Check, Failed> {
    let target = limits::PERFT_TASK_TIME.as_secs_f64() / seconds.max(1e-9);
    // A conversion to whole numbers ends at the least and the greatest one.
    let length = (target as usize).clamp(1, limits::TASK_POSITIONS_MAX);
    let mut checks = Vec::new();
    for ((credential, rest), batch) in drawn.batches {
        let parts = batch.keys.chunks(length).zip(batch.numbers.chunks(length));
        for (keys, numbers) in parts {
            let task = Task::from_keys(rest, mode, keys);
            let task = task.map_err(|error| Failed::damaged(&error.to_string()))?;
            checks.push(NewCheck {
                kind: TaskKind::Recheck,
                first: numbers[0].cast_signed(),
                positions: keys.len() as i64,
                rest,
                cost: seconds * keys.len() as f64,
                bytes: task.to_bytes(),
                note: write_numbers(numbers),
                barred: vec![credential.clone()],
                only: None,
                deadline_us: None,
            });
        }
    }
    Ok(Check::Draw {
        tasks: drawn.tasks,
        checks,
    })
}
