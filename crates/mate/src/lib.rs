//! Can this side still mate, by any legal series of moves?
//!
//! The Laws ask it for dead positions (FIDE Laws 5.2.2), for flag falls (6.9), for resignations
//! (5.1.2) and for games lost by illegal moves (7.5.5).
#![forbid(unsafe_code)]

pub mod limits;

mod attempts;
mod breach;
mod captures;
mod checks;
mod draws;
mod guards;
mod guide;
mod kings;
mod material;
mod mating;
mod novelty;
mod pictures;
mod saturate;
mod search;
mod shorten;
mod solve;
mod verdict;

pub mod suite;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
#[cfg(test)]
mod proofs;

pub use draws::AutomaticDraws;
pub use solve::{can_mate, can_mate_before_draws, is_dead_quick, quick};
pub use verdict::{Budget, CanMate, Proof};
