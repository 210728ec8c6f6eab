//! Judges recorded games: what their text, their moves, their end and their result say against
//! them, and what their clocks tell.
//!
//! [`Verdict::of`] takes a game as [`referee_pgn`] read it and the profile to judge by, and
//! answers with the [`Finding`]s. [`time_moves`] makes of the clocks in a text the time that each
//! move took, so that the game can be played again by a referee that keeps clocks.
//!
//! Everything here is a pure function of its arguments.
//!
//! ```
//! use referee_laws::Profile;
//! use referee_review::{Finding, Verdict, read_one};
//!
//! let reading = read_one(b"1. f3 e5 2. g4 Qh4# 1-0")?;
//! let verdict = Verdict::of(&reading, &Profile::fide_standard());
//! assert!(matches!(verdict.findings[..], [Finding::ResultConflict { .. }]));
//! assert_eq!(
//!     verdict.findings[0].to_string(),
//!     "The record tells 1-0, and the board another result, 0-1. Black wins by checkmate."
//! );
//! # Ok::<(), referee_review::ReadOneError>(())
//! ```

#![forbid(unsafe_code)]

mod clocks;
mod finding;
mod one;
mod verdict;

pub use clocks::{TimedMove, read_control, time_moves};
pub use finding::{Brief, Finding};
pub use one::{ReadOneError, read_one};
pub use verdict::Verdict;
