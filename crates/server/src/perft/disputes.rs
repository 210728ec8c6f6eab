//! Two credentials disagree on a position: both are asked for the counts of its children, down to a
//! depth where the second generator counts and names who is wrong. Who is silent gives way to a
//! third credential.
//!
//! What is known of a dispute is one message, from which each step follows: nothing is lost
//! by a restart. Each step adds tasks and stores the message in one transaction, and a settled
//! dispute ends in one in which liars are shut out and their counts void.

use prost::Message as _;
use referee_api::v1;
use referee_api::v1::perft_dispute::Side;
use referee_api::v1::perft_failure::Kind;
use referee_chess::Position;
use referee_perft::{Task, key_to_bytes, oracle, read_key, read_position};
use referee_store::{Check, ClaimedJob, JobTrust, NewCheck, StoredTask, TaskKind};

use super::checking::Unchecked;
use super::comparing::Difference;
use super::counts;
use super::failed::Failed;
use super::job_root::JobRoot;
use super::jobs::PerftJobs;
use super::quarrel::{Answer, Next, Quarrel};
use crate::clock::us;
use crate::error::ServiceError;
use crate::limits;

/// A dispute at work.
struct Case<'a> {
    claimed: &'a ClaimedJob,
    root: &'a JobRoot,
    number: i64,
}

impl PerftJobs {
    /// Opens a dispute. One that contradicts itself is shut out at once.
    pub(super) async fn open_dispute(
        &self,
        claimed: &ClaimedJob,
        root: &JobRoot,
        number: i64,
        difference: Difference,
    ) -> Result<(), Unchecked> {
        let position = read_key(difference.key, root.mode());
        let position = position.map_err(|error| Failed::damaged(&error.to_string()))?;
        let mut quarrel = Quarrel::begin(&difference, &position);
        let name = &claimed.row.key.job;
        let unit = difference.position;
        tracing::warn!(job = name, unit, sides = ?difference.sides, "two counts differ");
        let case = Case {
            claimed,
            root,
            number,
        };
        if quarrel.is_of_one() {
            let text = "it counted the same position in two ways".to_owned();
            quarrel.0.sides.iter_mut().for_each(|side| side.liar = true);
            return self.settle(&case, quarrel, text).await;
        }
        let check = Check::Dispute {
            number,
            bytes: quarrel.0.encode_to_vec(),
            checks: Vec::new(),
            is_settled: false,
        };
        self.store.check_job(claimed.claim, check).await?;
        Ok(())
    }

    /// Takes a dispute on, as far as that goes without workers.
    pub(super) async fn go_on_disputing(
        &self,
        claimed: &ClaimedJob,
        root: &JobRoot,
        number: i64,
        trust: &JobTrust,
    ) -> Result<(), Unchecked> {
        let stored = usize::try_from(number)
            .ok()
            .and_then(|at| trust.disputes.get(at));
        let dispute = stored.and_then(|(bytes, _)| v1::PerftDispute::decode(&bytes[..]).ok());
        let dispute = dispute.ok_or_else(|| Failed::damaged("a dispute"))?;
        let mut quarrel = Quarrel(dispute);
        let case = Case {
            claimed,
            root,
            number,
        };
        let is_out = |side: &Side| {
            let mut known = trust.credentials.iter();
            known.any(|it| it.credential == side.credential && !it.shut_out.is_empty())
        };
        if quarrel.0.sides.iter().any(is_out) {
            // Its counts are void here as well, and those that come are compared again.
            let text = "a side was shut out for what it counted elsewhere".to_owned();
            return self.settle(&case, quarrel, text).await;
        }
        let tasks = self.store.dispute_tasks(claimed.claim.job).await?;
        loop {
            if quarrel.0.rounds > limits::PERFT_DISPUTE_ROUNDS_MAX {
                let text = format!("a dispute had no end after {} rounds", quarrel.0.rounds);
                return Err(Failed::new(Kind::CountsDisagree, &text).into());
            }
            match quarrel.next() {
                Next::Settle(text) => return self.settle(&case, quarrel, text).await,
                Next::Judge => {
                    let position = self.position(&quarrel, root)?;
                    let rest = quarrel.0.rest;
                    let truth = self
                        .pool
                        .run(move || oracle::count(&position, rest))
                        .await?;
                    quarrel.judge(truth);
                }
                Next::Divide(sides) => {
                    let position = self.position(&quarrel, root)?;
                    let answers = sides.map(|side| answer(&tasks, number, &quarrel, side));
                    if answers.contains(&Answer::Unasked) {
                        let sides = sides.map(Some);
                        return self.ask(&case, &quarrel, sides, &position).await;
                    }
                    let children = oracle::children(&position);
                    quarrel.divide(sides, answers, &children, root.mode());
                }
                Next::Third => {
                    let position = self.position(&quarrel, root)?;
                    let third = quarrel.0.sides.len();
                    let asked = answer(&tasks, number, &quarrel, third);
                    if asked == Answer::Unasked {
                        return self.ask(&case, &quarrel, [None, None], &position).await;
                    }
                    let task = tasks.iter().find(|it| is_of(it, number, &quarrel, third));
                    let credential = task.map(|it| it.credential.clone()).unwrap_or_default();
                    quarrel.hear_third(credential, asked);
                }
            }
        }
    }

    /// The position that is in question.
    fn position(&self, quarrel: &Quarrel, root: &JobRoot) -> Result<Position, Failed> {
        let fen = quarrel.0.line.last().map_or("", |fen| fen);
        read_position(fen, root.mode()).map_err(|error| Failed::damaged(&error.to_string()))
    }

    /// Asks two sides for the counts of the children, or whoever is no side yet for the position.
    async fn ask(
        &self,
        case: &Case<'_>,
        quarrel: &Quarrel,
        sides: [Option<usize>; 2],
        position: &Position,
    ) -> Result<(), Unchecked> {
        let dispute = &quarrel.0;
        let mode = case.root.mode();
        let seconds = case.root.position_seconds();
        let build = |rest: u32, keys: Vec<referee_chess::PositionKey>, side: usize| {
            let keys: Vec<_> = keys.into_iter().map(key_to_bytes).collect();
            let task = Task::from_keys(rest, mode, &keys);
            let task = task.map_err(|error| Failed::damaged(&error.to_string()))?;
            let wait_us = us(limits::PERFT_DISPUTE_TIME) as f64
                + seconds * limits::PERFT_DISPUTE_COST_TIMES * 1e6;
            let deadline_us = self.clock.now_us().saturating_add(wait_us as i64);
            let only = dispute.sides.get(side).map(|side| side.credential.clone());
            let barred = match only {
                Some(_) => Vec::new(),
                None => dispute
                    .sides
                    .iter()
                    .map(|it| it.credential.clone())
                    .collect(),
            };
            Ok::<_, Failed>(NewCheck {
                kind: TaskKind::Dispute,
                first: dispute.position,
                positions: keys.len() as i64,
                rest,
                cost: seconds,
                bytes: task.to_bytes(),
                note: note(case.number, dispute.rounds, side),
                barred,
                deadline_us: only.as_ref().map(|_| deadline_us),
                only,
            })
        };
        let mut checks = Vec::new();
        match sides {
            [Some(first), Some(second)] => {
                let children = oracle::children(position);
                let rest = dispute.rest - 1;
                checks.push(build(rest, children.clone(), first)?);
                checks.push(build(rest, children, second)?);
            }
            _ => {
                let key = position.exact_key();
                checks.push(build(dispute.rest, vec![key], dispute.sides.len())?);
            }
        }
        let check = Check::Dispute {
            number: case.number,
            bytes: dispute.encode_to_vec(),
            checks,
            is_settled: false,
        };
        self.store.check_job(case.claimed.claim, check).await?;
        Ok(())
    }

    /// Ends a dispute: liars are shut out, and their counts void.
    async fn settle(
        &self,
        case: &Case<'_>,
        mut quarrel: Quarrel,
        text: String,
    ) -> Result<(), Unchecked> {
        quarrel.0.verdict = text;
        let dispute = &quarrel.0;
        let name = &case.claimed.row.key.job;
        let liars = dispute.sides.iter().filter(|side| side.liar);
        let mut out: Vec<(String, String)> = liars
            .map(|side| {
                let fen = dispute.line.first().map_or("", |fen| fen);
                let (claim, why) = (&side.claim, &dispute.verdict);
                let reason = format!(
                    "counted {claim} paths of position {} of perftJobs/{name}, {fen}: {why}",
                    dispute.position
                );
                (side.credential.clone(), reason)
            })
            .collect();
        out.dedup_by(|one, other| one.0 == other.0);
        for (credential, reason) in &out {
            tracing::error!(
                job = name,
                credential,
                why = reason,
                "a credential is shut out"
            );
        }
        let check = Check::ShutOut {
            out,
            dispute: Some((case.number, dispute.encode_to_vec())),
            now_us: self.clock.now_us(),
        };
        self.store.check_job(case.claimed.claim, check).await?;
        Ok(())
    }
}

impl From<Failed> for ServiceError {
    fn from(failed: Failed) -> ServiceError {
        ServiceError::damaged(&failed.0.text)
    }
}

/// By what a task of a dispute is known: the dispute, the round, and the side that is asked.
fn note(number: i64, round: u32, side: usize) -> Vec<u8> {
    let parts = [number.unsigned_abs().into(), round.into(), side as u128];
    counts::write(&parts)
}

fn is_of(task: &StoredTask, number: i64, quarrel: &Quarrel, side: usize) -> bool {
    task.note == note(number, quarrel.0.rounds, side)
}

/// What a side has said in this round.
fn answer(tasks: &[StoredTask], number: i64, quarrel: &Quarrel, side: usize) -> Answer {
    let mut asked = tasks.iter();
    let Some(task) = asked.find(|task| is_of(task, number, quarrel, side)) else {
        return Answer::Unasked;
    };
    let length = usize::try_from(task.positions).unwrap_or(0);
    let bytes = task.counts.as_deref();
    // Nothing of the job is open, so that what is not counted is given up.
    match bytes.and_then(|bytes| counts::read(bytes, length)) {
        Some(counts) => Answer::Counts(counts),
        None => Answer::Silent,
    }
}
