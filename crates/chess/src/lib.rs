//! The board of chess: squares, bitboards, positions, legal moves, FEN, UCI and SAN, for standard
//! chess and Chess960.
//!
//! Everything here is a pure function of its arguments: no input or output, no clock, no
//! randomness. Draws, clocks and conduct are not decided here; that is for `referee-laws`.
//!
//! ```
//! use referee_chess::Position;
//!
//! let position = Position::startpos();
//! assert_eq!(position.count_legal_moves(), 20);
//! ```

#![expect(
    unsafe_code,
    reason = "tables and lists are indexed without bounds, and PEXT is called where it is there; \
              each place says why it may"
)]

pub mod chess960;
pub mod mailbox;
pub mod rays;
pub mod sliders;

mod bitboard;
mod board;
mod color;
mod explain;
mod fen;
mod generate;
mod illegal;
mod limits;
mod moves;
mod play;
mod position;
mod role;
mod san;
mod setup;
mod square;
mod uci;
mod validate;
mod zobrist;

pub use bitboard::{Bitboard, Squares};
pub use board::Board;
pub use color::Color;
pub use fen::{Epd, Fen, FenError, FenFault, FenField, FenIssue, ShredderFen};
pub use illegal::{IllegalMove, IllegalReason, MoveError, UnreadableMove};
pub use limits::{COUNTER_MAX, FEN_LENGTH_MAX, MOVE_LENGTH_MAX};
pub use moves::{Move, MoveKind, MoveList};
pub use play::NotLegalError;
pub use position::{Position, PositionKey};
pub use role::{Piece, Role};
pub use san::{CheckSign, Lan, San, SanAction};
pub use setup::{CastlingMode, Setup};
pub use sliders::Sliders;
pub use square::{File, ParseSquareError, Rank, Square};
pub use uci::{ParseUciError, UciMove};
pub use validate::{PositionError, PositionIssue, Tolerance};
