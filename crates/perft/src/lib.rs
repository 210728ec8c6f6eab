//! Counts move trees exactly (perft): the whole, by first move, or by kinds of moves; on one
//! thread or on all; with a hash table or without.
//!
//! Nothing here reads a clock, a file or an environment; progress and cancellation come in as
//! arguments.

pub mod simple;

mod board;
mod fast;
mod statistics;

pub use fast::{Processor, count_paths};
pub use statistics::{Statistics, statistics};
