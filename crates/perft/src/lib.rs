//! Counts move trees exactly (perft): the whole, by first move, or by kinds of moves; on one
//! thread or on all; with a hash table or without.
//!
//! [`simple`] counts move by move and is the oracle of everything else; [`count`] is fast on one
//! thread. A large count is three things: a [`Plan`] cuts the tree into distinct positions, sorted
//! by their exact keys, in bounded memory; a [`Counter`] counts tasks of them on all threads, with
//! a warm [`Table`] if there is one; a [`Tally`] takes each count once and adds up when all are
//! there. They need not be in one process. Where they are, [`Run`] joins them, and can be stopped
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
mod children;
mod counter;
mod error;
mod fast;
mod key;
mod lines;
mod plan;
mod records;
mod refine;
mod run;
mod sorter;
mod spill;
mod statistics;
mod suite;
mod table;
mod tally;
mod task;

pub use children::Folding;
pub use counter::{CountError, Counted, Counter, Watch};
pub use error::PlanError;
pub use fast::{Count, LastPly, Means, Processor, count};
pub use key::{KEY_LENGTH, KeyError, key_from_bytes, key_to_bytes, read_key};
pub use plan::Plan;
pub use records::Share;
pub use refine::Cut;
pub use run::{Checkpoint, Ending, Options, Progress, Run, RunCut, RunError};
pub use spill::{MemoryReader, MemoryRun, MemorySpill, MemoryWriter, Spill, SpillRun};
pub use statistics::{Statistics, statistics, statistics_on_threads};
pub use suite::{Case, SuiteError, SuiteFault, read_position, read_suite};
pub use table::{Table, TableError, TableUse};
pub use tally::{Accepted, Summation, Tally, Total, TotalError};
pub use task::{Calibration, ReportError, Task, TaskError, TaskSize, Tasks};

/// The revision of the counter, which changes only where it may count otherwise than before: two
/// programs of one revision that disagree have a fault of the machine, or one of them lies.
pub const GENERATOR: &str = "fast-1";
