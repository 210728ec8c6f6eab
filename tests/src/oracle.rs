//! The independent board: moves are made by the mailbox generator, and a position is compared by
//! the text that it writes.

use std::collections::HashMap;

use referee_chess::mailbox::{Mailbox, PlainMove};
use referee_chess::{CastlingMode, Color, Epd, Fen, Position, Role, Square};

/// A game on the oracle's own board, in standard chess.
#[derive(Clone, Debug)]
pub struct Oracle {
    board: Mailbox,
    ply: u32,
    seen: HashMap<String, u32>,
}

impl Default for Oracle {
    fn default() -> Oracle {
        let board = Mailbox::from(&Position::startpos().to_setup());
        let mut oracle = Oracle {
            board,
            ply: 0,
            seen: HashMap::new(),
        };
        oracle.count();
        oracle
    }
}

impl Oracle {
    /// Begins in the position of a FEN.
    ///
    /// # Panics
    ///
    /// Where the FEN cannot be played from.
    #[must_use]
    pub fn from_fen(fen: &str) -> Oracle {
        let position = Position::from_fen(fen, CastlingMode::Standard)
            .unwrap_or_else(|error| panic!("{fen}: {error}"));
        let mut oracle = Oracle {
            board: Mailbox::from(&position.to_setup()),
            ply: 0,
            seen: HashMap::new(),
        };
        oracle.count();
        oracle
    }

    /// Returns whether the side to move is mated.
    #[must_use]
    pub fn is_checkmate(&self) -> bool {
        self.board.is_checkmate()
    }

    /// Returns whether White has the move.
    #[must_use]
    pub fn is_white_to_move(&self) -> bool {
        self.board.turn() == Color::White
    }

    fn count(&mut self) {
        *self.seen.entry(self.epd()).or_default() += 1;
    }

    /// The placement, the side to move, the rights and the legal en passant capture: what makes
    /// two positions the same (9.2.3).
    fn epd(&self) -> String {
        Epd(&self.board.to_setup()).to_string()
    }

    /// Returns the position in Forsyth-Edwards Notation.
    #[must_use]
    pub fn fen(&self) -> String {
        Fen(&self.board.to_setup()).to_string()
    }

    /// Returns the number of moves made.
    #[must_use]
    pub fn ply(&self) -> u32 {
        self.ply
    }

    /// Returns how often the position has occurred.
    #[must_use]
    pub fn repetitions(&self) -> u32 {
        self.seen.get(&self.epd()).copied().unwrap_or_default()
    }

    /// Returns the number of half-moves since the last capture or pawn move.
    #[must_use]
    pub fn halfmove_clock(&self) -> u32 {
        self.board.to_setup().halfmove_clock
    }

    /// Returns the legal moves in UCI notation.
    #[must_use]
    pub fn moves(&self) -> Vec<String> {
        self.board
            .legal_moves()
            .into_iter()
            .map(|mv| self.uci(mv))
            .collect()
    }

    /// Makes a move that is given in UCI notation.
    ///
    /// # Errors
    ///
    /// Where the oracle knows no such legal move.
    pub fn play(&mut self, uci: &str) -> Result<(), String> {
        let mv = self
            .board
            .legal_moves()
            .into_iter()
            .find(|&mv| self.uci(mv) == uci);
        let mv = mv.ok_or_else(|| format!("{uci} is not legal in {}", self.fen()))?;
        self.board = self.board.after_unchecked(mv);
        self.ply += 1;
        self.count();
        Ok(())
    }

    /// Writes a move as standard chess does: castling is the move of the king by two squares.
    fn uci(&self, mv: PlainMove) -> String {
        let king = self
            .board
            .piece_at(mv.from)
            .filter(|piece| piece.role == Role::King);
        let onto = self.board.piece_at(mv.to);
        let castles = king.is_some() && king.map(|king| king.color) == onto.map(|own| own.color);
        let to: Square = if castles {
            let files = if mv.to.file() > mv.from.file() { 2 } else { -2 };
            mv.from.offset(files, 0).unwrap_or(mv.to)
        } else {
            mv.to
        };
        let promotion = mv.promotion.map(|role| role.to_char().to_ascii_lowercase());
        format!(
            "{}{to}{}",
            mv.from,
            promotion.map(String::from).unwrap_or_default()
        )
    }
}
