//! Perft jobs: cut into tasks, leased to workers, added up. What is stored of them are messages of
//! the contract, as of games.

mod advance;
mod census;
#[cfg(test)]
mod chances;
mod checking;
mod comparing;
mod counts;
mod disputes;
mod failed;
mod finish;
mod fold;
mod job_root;
mod jobs;
mod plan;
mod quarrel;
mod rechecks;
mod record;
mod reports;
mod root;
mod sessions;
#[cfg(test)]
mod simulation;
mod small;
mod trust;
mod view;

pub(crate) use self::census::GENERATORS;
pub(crate) use self::jobs::PerftJobs;
pub(crate) use self::record::PerftExport;
pub(crate) use self::reports::read_lease;
pub(crate) use self::root::read_root;
pub(crate) use self::sessions::token;
pub(crate) use self::small::count_small;
pub(crate) use self::view::{job_name, read_job_name, summary};
