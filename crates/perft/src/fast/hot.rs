//! All that is compiled once for each kind of processor. The macro `tuned` wraps every function
//! that is not inlined for certain; it is defined where this module is included.

mod critical;
pub(crate) mod engine;
mod expand;
mod leaf;
mod null;
mod ours;
mod pawn_moves;
mod replies;
mod sum;
