//! A worker: it holds a session with a server, leases tasks of perft jobs, counts them and reports.
//!
//! A worker needs one address and keeps nothing: killed at any moment it loses what it was
//! counting, and the server leases that to another. One pool of threads and one warm table live as
//! long as the process. Tasks are held two at a time, so that no thread waits for the network;
//! reports go out while the next task is counted, and again until they are answered.
//!
//! What is counted is a function of the task alone, so no clock and no chance decides a count; they
//! only decide when a call is tried again.

#![forbid(unsafe_code)]

pub mod limits;

mod backoff;
mod client;
mod counting;
mod error;
mod hand;
mod session;
mod worker;

pub use client::{Identity, nobody};
pub use error::WorkerError;
pub use worker::{Worker, WorkerOptions};
