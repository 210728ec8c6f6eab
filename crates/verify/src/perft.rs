//! Checks the record of a perft job: cuts the tree again and compares position by position, adds
//! the subtotals up, follows the chain, and counts a random share again by other means.
//!
//! Nothing in a record is trusted, and memory is bounded whatever the record: the plan is sorted in
//! files, and read beside the record.

mod plan;
mod recount;
mod report;
mod sums;

use std::io::{BufReader, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use prost::Message;
use referee_api::v1;
use referee_api::v1::export_perft_job_response::Kind;
use referee_perft::{Counter, Draw, Plan};
use referee_spill::SpillFolder;
use sha2::{Digest, Sha256};

use self::plan::{Cursor, cut, read_root};
use self::recount::{Recount, Seeded};
use self::sums::Sums;
use crate::chain::{Demand, check_signature, key_id};
use crate::perft_file::Parts;
use crate::record_file::FileError;
use crate::report::SignatureState;

pub use self::report::{PerftFinding, PerftReport};

/// The version of the form that is read.
const FORMAT: u32 = 1;

/// What is asked of the check of a record.
pub struct PerftDemand<'a> {
    /// What is asked of the signature.
    pub demand: Demand,
    /// The share of the positions that is counted again, from 0 to 1.
    pub share: f64,
    /// What chance begins with: the same seed draws the same positions.
    pub seed: u64,
    /// Where the plan is sorted.
    pub folder: &'a SpillFolder,
    /// The threads that count and sort.
    pub counter: &'a Counter,
    /// The check ends soon after this becomes true.
    pub cancelled: &'a AtomicBool,
}

/// A record, checked up to some entry.
struct Verification<'a> {
    demand: &'a PerftDemand<'a>,
    report: PerftReport,
    /// Whether it begins as a record does.
    is_begun: bool,
}

/// The chain up to some entry.
struct Head {
    platform: String,
    job: String,
    link: [u8; 32],
    count: i64,
}

/// What follows the record from entry to entry: compares, adds up, and counts again.
struct Follower<'a> {
    cursor: Cursor<'a>,
    sums: Sums,
    draw: Draw,
    chance: Seeded,
    recount: Recount,
}

/// Checks one record. `file` is what the report names; the source is read through a buffer, to the
/// first part that cannot be read.
///
/// Returns what was found; a file that cannot be read is a problem like any other.
pub fn verify_perft(file: &str, source: impl Read, demand: &PerftDemand<'_>) -> PerftReport {
    let mut verification = Verification {
        demand,
        report: PerftReport::new(file.to_owned(), demand.seed),
        is_begun: false,
    };
    let mut parts = Parts::new(BufReader::new(source));
    if let Err(text) = verification.read(&mut parts) {
        verification.report.is_record = verification.is_begun;
        verification.report.fault(None, text);
    }
    verification.report
}

impl Verification<'_> {
    /// Reads a whole record. An error is what keeps the rest from being read.
    fn read(
        &mut self,
        parts: &mut impl Iterator<Item = Result<Kind, FileError>>,
    ) -> Result<(), String> {
        let header = match parts.next() {
            Some(Ok(Kind::Header(header))) => header,
            Some(Ok(_)) => return Err("does not begin with a header".to_owned()),
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("is empty: there is no record in it".to_owned()),
        };
        let mut head = self.begin(&header)?;
        self.is_begun = true;
        let plan = match self.plan(&header.job) {
            Ok(plan) => Some(plan),
            Err(text) => {
                let text = format!("plan: {text}; no position was compared");
                self.report.fault(None, text);
                None
            }
        };
        let mut follower = plan.as_ref().map(|plan| Follower::new(plan, self.demand));
        let mut is_sealed = false;
        for part in parts {
            if self.demand.cancelled.load(Ordering::Relaxed) {
                return Err("was not read to its end".to_owned());
            }
            match part.map_err(|error| error.to_string())? {
                _ if is_sealed => return Err("goes on after the seal".to_owned()),
                Kind::Header(_) => return Err("has a second header".to_owned()),
                Kind::Entry(entry) => {
                    self.chain(&mut head, &entry);
                    follower = self.compare(follower, &entry);
                }
                Kind::Seal(seal) => {
                    self.close(&head, follower.take(), &seal);
                    is_sealed = true;
                }
            }
        }
        match is_sealed {
            true => Ok(()),
            false => Err("ends without a seal: it was cut".to_owned()),
        }
    }

    fn begin(&mut self, header: &v1::PerftRecordHeader) -> Result<Head, String> {
        if header.format != FORMAT {
            return Err(format!(
                "has format {}, and this program reads format {FORMAT} only",
                header.format
            ));
        }
        self.report.name.clone_from(&header.name);
        let job = header
            .name
            .strip_prefix("perftJobs/")
            .unwrap_or(&header.name);
        let mut hash = Sha256::new();
        hash.update(b"referee.perft.v1.job\n");
        for part in [header.platform.as_bytes(), job.as_bytes(), &header.job] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let link: [u8; 32] = hash.finalize().into();
        if header.chain_hash != link[..] {
            let text = "chain: the header is not that of its hash: one of them was changed";
            self.report.fault(None, text);
        }
        Ok(Head {
            platform: header.platform.clone(),
            job: job.to_owned(),
            link: as_link(&header.chain_hash).unwrap_or(link),
            count: 0,
        })
    }

    /// Cuts the tree again.
    fn plan(&mut self, job: &[u8]) -> Result<Plan<SpillFolder>, String> {
        let job = v1::PerftJob::decode(job).map_err(|error| format!("it is no job: {error}"))?;
        let root = read_root(job.position.as_ref())?;
        let progress = job.progress.clone().unwrap_or_default();
        let told = progress.plan.clone().unwrap_or_default();
        let plan = cut(&root, job.depth, &told, self.demand)?;
        self.report.positions = plan.positions();
        self.report.depth = job.depth;
        self.report.root = root.to_string();
        if progress.positions != plan.positions().cast_signed() {
            let text = format!(
                "plan: it has {} positions, and the record says {}",
                plan.positions(),
                progress.positions
            );
            self.report.fault(None, text);
        }
        if told.fingerprint != plan.fingerprint()[..] {
            let text = "plan: its fingerprint is another one than the record says";
            self.report.fault(None, text);
        }
        Ok(plan)
    }

    fn chain(&mut self, head: &mut Head, entry: &v1::PerftRecordEntry) {
        let sequence = entry.sequence;
        if head.count.checked_add(1) != Some(sequence) {
            let next = head.count.saturating_add(1);
            let text = format!("chain: entry {sequence} comes where entry {next} has to come");
            self.report.fault(None, text);
        }
        let link = link(b"referee.perft.v1.entry\n", &head.link, &entry.subtotals);
        if entry.chain_hash != link[..] {
            let text = format!(
                "chain: entry {sequence} is not that of its hash behind the one before: one of \
                 them was changed"
            );
            self.report.fault(None, text);
        }
        // The link that is told goes on, so that one change is told once.
        head.link = as_link(&entry.chain_hash).unwrap_or(link);
        head.count = sequence.max(head.count);
    }

    fn compare<'p>(
        &mut self,
        follower: Option<Follower<'p>>,
        entry: &v1::PerftRecordEntry,
    ) -> Option<Follower<'p>> {
        let follower = follower?;
        match v1::PerftSubtotals::decode(entry.subtotals.clone()) {
            Ok(subtotals) => follower.follow(&subtotals, self.demand, &mut self.report),
            Err(error) => {
                let text = format!(
                    "entry {} has no subtotals: {error}; what comes after it was not compared",
                    entry.sequence
                );
                self.report.fault(None, text);
                None
            }
        }
    }

    fn close(&mut self, head: &Head, follower: Option<Follower<'_>>, seal: &v1::PerftRecordSeal) {
        let report = &mut self.report;
        if seal.entry_count != head.count {
            let text = format!(
                "chain: the seal is for {} entries, but {} came: some were cut or added",
                seal.entry_count, head.count
            );
            report.fault(None, text);
        }
        let link = link(b"referee.perft.v1.outcome\n", &head.link, &seal.outcome);
        if seal.head_hash != link[..] {
            report.fault(
                None,
                "chain: the record does not lead to the head that the seal names",
            );
        }
        match v1::PerftJob::decode(seal.outcome.clone()) {
            Ok(outcome) => {
                report.nodes.clone_from(&outcome.nodes);
                if let Some(follower) = follower {
                    follower.close(&outcome, self.demand, report);
                }
            }
            Err(error) => report.fault(None, format!("the seal has no outcome: {error}")),
        }
        let mut signed = b"referee.perft.v1.head\n".to_vec();
        for part in [&head.platform, &head.job] {
            signed.extend((part.len() as u64).to_be_bytes());
            signed.extend(part.as_bytes());
        }
        signed.extend(head.count.to_be_bytes());
        signed.extend(link);
        let demand = &self.demand.demand;
        match &seal.signature {
            None if demand.signature || demand.public_key.is_some() => {
                report.fault(None, "signature: there is none");
            }
            None => {}
            Some(signature) => {
                report.key_id = key_id(&signature.public_key);
                report.signature = SignatureState::Invalid;
                match check_signature(&signed, signature, demand) {
                    Ok(state) => report.signature = state,
                    Err(text) => report.fault(None, format!("signature: {text}")),
                }
            }
        }
    }
}

impl<'a> Follower<'a> {
    fn new(plan: &'a Plan<SpillFolder>, demand: &PerftDemand<'_>) -> Follower<'a> {
        let root = plan.root();
        let first_moves = plan.first_moves().iter();
        let names = first_moves.map(|&mv| root.uci(mv).to_string()).collect();
        Follower {
            cursor: Cursor::new(plan),
            sums: Sums::new(names),
            draw: Draw::of_share(plan.positions(), demand.share),
            chance: Seeded::new(demand.seed),
            recount: Recount::new(root.castling_mode()),
        }
    }

    /// Compares the positions of an entry with those of the plan; none where it can go on no
    /// further.
    fn follow(
        mut self,
        subtotals: &v1::PerftSubtotals,
        demand: &PerftDemand<'_>,
        report: &mut PerftReport,
    ) -> Option<Follower<'a>> {
        let number = self.cursor.number();
        if subtotals.first != number.cast_signed() {
            let first = subtotals.first;
            let text = format!("comes where position {first} is told; no further one was compared");
            report.fault(Some(number), text);
            return None;
        }
        for subtotal in &subtotals.subtotals {
            let number = self.cursor.number();
            let place = match self.cursor.next() {
                Ok(Some(place)) => place,
                Ok(None) => {
                    report.fault(Some(number), "is not in the plan, which ends before");
                    return None;
                }
                Err(text) => {
                    report.fault(Some(number), text);
                    return None;
                }
            };
            if let Some(text) = place.differs(subtotals.rest, &subtotal.key) {
                report.fault(Some(number), format!("{text}; no further one was compared"));
                return None;
            }
            let told = subtotal.first_moves.iter().zip(&subtotal.paths);
            let same = subtotal.first_moves.len() == subtotal.paths.len()
                && told
                    .map(|(&owner, &paths)| (owner, paths))
                    .eq(place.shares());
            if !same {
                report.fault(
                    Some(number),
                    "is told to have other paths to it than it has",
                );
            }
            let count = u128::from(subtotal.nodes_high) << 64 | u128::from(subtotal.nodes);
            if !self.sums.add(count, place.shares()) {
                report.fault(
                    Some(number),
                    "has a count with which the sum is 2^128 or more",
                );
            }
            if self.draw.next(self.chance.next()) {
                self.recount.push(number, place.key, place.rest, count);
            }
        }
        report.compared = self.cursor.number();
        self.recount.run(false, demand, report);
        Some(self)
    }

    /// Compares what came of it.
    fn close(mut self, outcome: &v1::PerftJob, demand: &PerftDemand<'_>, report: &mut PerftReport) {
        self.recount.run(true, demand, report);
        let number = self.cursor.number();
        match self.cursor.next() {
            Ok(None) => self.sums.compare(outcome, report),
            Ok(Some(_)) => report.fault(Some(number), "and those after it are not in the record"),
            Err(text) => report.fault(Some(number), text),
        }
    }
}

/// The link behind another one.
fn link(tag: &[u8], link: &[u8; 32], bytes: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(tag);
    hash.update(link);
    hash.update(bytes);
    hash.finalize().into()
}

fn as_link(bytes: &[u8]) -> Option<[u8; 32]> {
    bytes.try_into().ok()
}
