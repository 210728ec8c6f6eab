//! Perft jobs: cut into tasks, leased to workers, added up. What is stored of them are messages of
//! the contract, as of games.

mod advance;
mod census;
mod counts;
mod failed;
mod finish;
mod fold;
mod jobs;
mod plan;
mod reports;
mod root;
mod sessions;
mod small;
mod view;

pub(crate) use self::census::GENERATORS;
pub(crate) use self::jobs::PerftJobs;
pub(crate) use self::reports::read_lease;
pub(crate) use self::root::read_root;
pub(crate) use self::sessions::token;
pub(crate) use self::small::count_small;
pub(crate) use self::view::{job_name, read_job_name, summary};
