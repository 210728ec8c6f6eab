//! Reads and writes Portable Game Notation, the text in which games of chess are kept.
//!
//! The reader takes real files: bytes come in pieces of any size, memory is bounded whatever they
//! are, each fault is reported with its line, column and kind, and the next game is read after it.
//! [`Parser`] tells a [`Visitor`] what it meets, token by token; [`GameReader`] plays the main
//! line on a board and makes a [`Game`] of it, which [`Export`] writes in the export format.
//!
//! ```
//! use referee_pgn::{GameReader, Item, Outcome};
//!
//! let text = b"[White \"Anna\"]\n\n1. f3 e5 2. g4 {[%clk 0:01:30]} Qh4# 0-1\n";
//! let mut games = 0;
//! let mut reader = GameReader::new();
//! reader.read_all(text, &mut |item: Item<'_>| {
//!     let Item::Game(reading) = item else { return };
//!     games += 1;
//!     assert_eq!(reading.game.tags.get("White"), Some("Anna"));
//!     assert_eq!(reading.game.moves.len(), 4);
//!     assert_eq!(reading.game.notes.get(2).clock.map(|time| time.as_secs()), Some(90));
//!     assert!(reading.game.final_position().is_checkmate());
//!     assert_eq!(reading.game.outcome, Outcome::BlackWins);
//! });
//! assert_eq!(games, 1);
//! ```

#![forbid(unsafe_code)]

mod commands;
mod export;
mod fault;
mod game;
mod limits;
mod outcome;
mod parser;
mod reader;
mod replay;
mod scan;
mod tags;
mod text;
mod visitor;

pub use commands::Eval;
pub use export::Export;
pub use fault::{Fault, FaultKind, Place, Severity};
pub use game::{Game, Note, Notes};
pub use limits::*;
pub use outcome::Outcome;
pub use parser::Parser;
pub use reader::{GameReader, Item};
pub use replay::Reading;
pub use tags::Tags;
pub use visitor::{Comment, Tag, Visitor};
