//! Making moves.

use core::fmt;

use crate::generate::castle_targets;
use crate::moves::{Move, MoveKind};
use crate::{Bitboard, Color, Position, Role, Square, zobrist};

/// A move was to be made that is not legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotLegalError {
    /// The move.
    pub mv: Move,
}

impl fmt::Display for NotLegalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the move {:?} is not legal in the position", self.mv)
    }
}

impl core::error::Error for NotLegalError {}

impl Position {
    /// Makes a move.
    ///
    /// ```
    /// use referee_chess::Position;
    ///
    /// let mut position = Position::startpos();
    /// let first = position.legal_moves()[0];
    /// position.play(first)?;
    /// assert!(position.play(first).is_err());
    /// # Ok::<(), referee_chess::NotLegalError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the move is not legal; the position stays as it is.
    pub fn play(&mut self, mv: Move) -> Result<(), NotLegalError> {
        if !self.is_legal(mv) {
            return Err(NotLegalError { mv });
        }
        self.play_unchecked(mv);
        Ok(())
    }

    /// Returns the position after a move that is legal, as one out of
    /// [`legal_moves`](Self::legal_moves) is. With any other move the new position makes no sense
    /// for chess, though nothing worse happens.
    #[inline]
    #[must_use]
    pub fn after_unchecked(&self, mv: Move) -> Position {
        let mut position = self.clone();
        position.play_unchecked(mv);
        position
    }

    /// Makes a move that is legal, as one out of [`legal_moves`](Self::legal_moves) is. With any
    /// other move the position makes no sense for chess afterwards, though nothing worse happens.
    #[inline]
    pub fn play_unchecked(&mut self, mv: Move) {
        let us = self.turn;
        let (from, to) = (mv.from(), mv.to());
        if let Some(square) = self.en_passant.take() {
            self.hash ^= zobrist::en_passant(square.file());
        }
        self.halfmove_clock = self.halfmove_clock.saturating_add(1);
        self.passed = None;
        match mv.kind() {
            MoveKind::Ordinary => {
                let role = self.board.role_at(from).unwrap_or(Role::Pawn);
                self.capture(to);
                self.relocate(us, role, from, to);
                if role == Role::Pawn {
                    self.halfmove_clock = 0;
                } else if role == Role::King {
                    self.drop_castling(self.castling_rooks & self.board.color(us));
                }
            }
            MoveKind::DoubleStep => {
                self.relocate(us, Role::Pawn, from, to);
                self.halfmove_clock = 0;
                self.passed = Some(Square::from_low_bits(to.index() as u8 ^ 8));
            }
            MoveKind::Castle => {
                let (king_to, rook_to) = castle_targets(from, to);
                self.drop_castling(self.castling_rooks & self.board.color(us));
                // King and rook may pass through or exchange squares in Chess960, so both are
                // lifted before either is put down.
                self.toggle(us, Role::King, from);
                self.toggle(us, Role::Rook, to);
                self.toggle(us, Role::King, king_to);
                self.toggle(us, Role::Rook, rook_to);
            }
            MoveKind::EnPassant => {
                self.relocate(us, Role::Pawn, from, to);
                self.toggle(!us, Role::Pawn, Square::from_low_bits(to.index() as u8 ^ 8));
                self.halfmove_clock = 0;
            }
            MoveKind::Promotion(role) => {
                self.capture(to);
                self.toggle(us, Role::Pawn, from);
                self.toggle(us, role, to);
                self.halfmove_clock = 0;
            }
        }
        self.drop_castling(self.castling_rooks & (Bitboard::of(from) | Bitboard::of(to)));
        if us == Color::Black {
            self.fullmove_number = self.fullmove_number.saturating_add(1);
        }
        self.turn = !us;
        self.hash ^= zobrist::black_to_move();
        self.find_checks_and_pins();
        if let Some(square) = self.passed {
            self.set_en_passant(square);
        }
    }

    #[inline]
    fn toggle(&mut self, color: Color, role: Role, square: Square) {
        self.board.toggle(color, role, Bitboard::of(square));
        self.hash ^= zobrist::piece(color, role, square);
    }

    #[inline]
    fn relocate(&mut self, color: Color, role: Role, from: Square, to: Square) {
        self.board
            .toggle(color, role, Bitboard::of(from) | Bitboard::of(to));
        self.hash ^= zobrist::piece(color, role, from) ^ zobrist::piece(color, role, to);
    }

    #[inline]
    fn capture(&mut self, square: Square) {
        if self.board.color(!self.turn).contains(square) {
            if let Some(role) = self.board.role_at(square) {
                self.toggle(!self.turn, role, square);
            }
            self.halfmove_clock = 0;
        }
    }

    #[inline]
    fn drop_castling(&mut self, rooks: Bitboard) {
        for rook in rooks {
            self.hash ^= zobrist::castling(rook);
        }
        self.castling_rooks ^= rooks;
    }
}
