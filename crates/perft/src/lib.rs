//! Counts move trees exactly (perft): the whole, by first move, or by kinds of moves; on one
//! thread or on all; with a hash table or without.
//!
//! [`simple`] counts move by move and is the oracle of everything else; [`count`] is fast on one
//! thread; [`Run`] spreads a count over threads, shares a [`Table`] among them, and can be stopped
//! and taken up again. Whole suites run with
//! `for f in SUITES; do referee perft --suite $f --max-nodes 100000000000 || break; done`.
//!
//! Nothing here reads a clock, a file or an environment; progress and cancellation come in as
//! arguments.

#![allow(
    unsafe_code,
    reason = "PEXT is called where the processor has it; the place says why it may"
)]

pub mod limits;
pub mod simple;

mod board;
mod fast;
mod frontier;
mod run;
mod statistics;
mod suite;
mod table;

pub use fast::{Count, LastPly, Means, Processor, count};
pub use frontier::{Frontier, Unit};
pub use run::{Checkpoint, Ending, Options, Progress, Run, RunError, Total};
pub use statistics::{Statistics, statistics, statistics_on_threads};
pub use suite::{Case, SuiteError, SuiteFault, read_position, read_suite};
pub use table::{Table, TableError, TableUse};
