//! Counts move trees exactly (perft): the whole, by first move, or by kinds of moves; on one
//! thread or on all; with a hash table or without.
//!
//! Nothing here reads a clock, a file or an environment; progress and cancellation come in as
//! arguments.

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
