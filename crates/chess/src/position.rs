//! Positions: placement, side to move, rights, counters, and what moves do to them.

use core::fmt;
use core::hash::{Hash, Hasher};

use crate::rays::{between, bishop_rays, knight_attacks, pawn_attacks, rook_rays};
use crate::setup::{CastlingMode, Setup};
use crate::sliders::{Sliders, WithSliders, with_sliders};
use crate::{Bitboard, Board, Color, Role, Square, zobrist};

/// A position that can be played from: each side has one king, and the side that is not to move
/// is not in check.
///
/// Equality is that of FIDE Laws 9.2.3: the same pieces on the same squares, the same side to
/// move, the same rights to castle, and the same possibility to take en passant, which counts
/// only where such a capture is legal. The counters are no part of it.
///
/// ```
/// use referee_chess::Position;
///
/// let start = Position::startpos();
/// let knights_out = start.clone();
/// assert_eq!(start, knights_out);
/// assert_eq!(start.to_string(), "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
/// ```
#[derive(Clone)]
pub struct Position {
    pub(crate) board: Board,
    /// The rooks that the right to castle belongs to: those of White on the first rank, those of
    /// Black on the eighth, at most one on each side of its king.
    pub(crate) castling_rooks: Bitboard,
    /// The pieces that give check to the side to move.
    pub(crate) checkers: Bitboard,
    /// The pieces of the side to move that are pinned to its king.
    pub(crate) pinned: Bitboard,
    pub(crate) hash: u64,
    pub(crate) halfmove_clock: u32,
    pub(crate) fullmove_number: u32,
    pub(crate) turn: Color,
    /// The square that a pawn has passed over, where it can legally be taken there.
    pub(crate) en_passant: Option<Square>,
    /// The square that a pawn has just passed over, whether it can legally be taken there or not.
    /// It is no part of the position (FIDE Laws 9.2.3); it tells why a capture is not legal.
    pub(crate) passed: Option<Square>,
    pub(crate) castling_mode: CastlingMode,
}

impl Position {
    /// Returns the ordinary starting position (FIDE Laws 2.3).
    #[must_use]
    pub fn startpos() -> Position {
        crate::chess960::startpos(518, CastlingMode::Standard)
            .expect("518 is the number of the ordinary starting position")
    }

    /// Returns the pieces and their squares.
    #[inline]
    #[must_use]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Returns the side to move.
    #[inline]
    #[must_use]
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// Returns the square of the king of a side.
    #[inline]
    #[must_use]
    pub fn king(&self, color: Color) -> Square {
        // A position has both kings, so the fallback is never taken; it spares a panic path.
        self.board.king(color).unwrap_or(Square::from_low_bits(0))
    }

    /// Returns the rooks of both sides that still have the right to castle (FIDE Laws 3.8.2.1).
    #[inline]
    #[must_use]
    pub fn castling_rooks(&self) -> Bitboard {
        self.castling_rooks
    }

    /// Returns the square on which a pawn can be taken en passant by a legal move, or `None`.
    #[inline]
    #[must_use]
    pub fn en_passant(&self) -> Option<Square> {
        self.en_passant
    }

    /// Returns the square that a pawn has just passed over with a double step, whether it can
    /// legally be taken there or not. It is no part of the position (FIDE Laws 9.2.3), and tells
    /// why a capture is not legal; a FEN that is to be read back with it needs it as its en
    /// passant square.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position, Square};
    ///
    /// let fen = "8/8/8/8/k1pP3R/8/8/4K3 b - d3 0 1";
    /// let position = Position::from_fen(fen, CastlingMode::Standard)?;
    /// // The capture would open the king on a4 to the rook.
    /// assert_eq!(position.en_passant(), None);
    /// assert_eq!(position.passed(), "d3".parse::<Square>().ok());
    /// # Ok::<(), referee_chess::FenError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn passed(&self) -> Option<Square> {
        self.passed
    }

    /// Returns the pieces that give check to the side to move.
    #[inline]
    #[must_use]
    pub fn checkers(&self) -> Bitboard {
        self.checkers
    }

    /// Returns the pieces of the side to move that shield their king from a bishop, rook or queen
    /// all alone.
    #[inline]
    #[must_use]
    pub fn pinned(&self) -> Bitboard {
        self.pinned
    }

    /// Returns whether the side to move is in check (FIDE Laws 3.9).
    #[inline]
    #[must_use]
    pub fn is_check(&self) -> bool {
        self.checkers.any()
    }

    /// Returns whether the side to move is checkmated (FIDE Laws 5.1.1).
    #[must_use]
    pub fn is_checkmate(&self) -> bool {
        self.is_check() && !self.has_legal_moves()
    }

    /// Returns whether the side to move is stalemated (FIDE Laws 5.2.1).
    #[must_use]
    pub fn is_stalemate(&self) -> bool {
        !self.is_check() && !self.has_legal_moves()
    }

    /// Returns the number of moves of either side since the last capture or move of a pawn.
    #[inline]
    #[must_use]
    pub fn halfmove_clock(&self) -> u32 {
        self.halfmove_clock
    }

    /// Returns the number of the move, from 1, going up after each move of Black.
    #[inline]
    #[must_use]
    pub fn fullmove_number(&self) -> u32 {
        self.fullmove_number
    }

    /// Returns the rules of castling.
    #[inline]
    #[must_use]
    pub fn castling_mode(&self) -> CastlingMode {
        self.castling_mode
    }

    /// Returns a hash of all that equality looks at. Equal positions have equal hashes; different
    /// positions may, with a chance of about one in 2 to the power of 64, so nothing is to be
    /// ruled on a hash alone. [`exact_key`](Self::exact_key) never collides.
    #[inline]
    #[must_use]
    pub fn zobrist(&self) -> u64 {
        self.hash
    }

    /// Returns the hash computed anew from the whole position. It equals
    /// [`zobrist`](Self::zobrist), which moves keep up to date.
    #[must_use]
    pub fn fresh_zobrist(&self) -> u64 {
        let mut hash = 0;
        for (square, piece) in self.board.iter() {
            hash ^= zobrist::piece(piece.color, piece.role, square);
        }
        for rook in self.castling_rooks {
            hash ^= zobrist::castling(rook);
        }
        if let Some(square) = self.en_passant {
            hash ^= zobrist::en_passant(square.file());
        }
        if self.turn == Color::Black {
            hash ^= zobrist::black_to_move();
        }
        hash
    }

    /// Returns the key of the position: two positions of one castling mode have the same key
    /// exactly if they are equal.
    #[must_use]
    pub fn exact_key(&self) -> PositionKey {
        let mut planes = [0u64; 4];
        for role in Role::ALL {
            let code = role.index() + 1;
            let squares = self.board.role(role).0;
            for (bit, plane) in planes.iter_mut().take(3).enumerate() {
                if code >> bit & 1 != 0 {
                    *plane |= squares;
                }
            }
        }
        // Code 7 is a rook that may castle and, on the fourth or fifth rank, a pawn that can be
        // taken en passant. Neither rank can hold the other.
        let mut marked = self.castling_rooks.0;
        if let Some(square) = self.en_passant {
            marked |= 1 << (square.index() ^ 8);
        }
        for plane in planes.iter_mut().take(3) {
            *plane |= marked;
        }
        // Empty squares take the color of the side to move; no board is without one.
        planes[3] = match self.turn {
            Color::White => self.board.color(Color::White).0,
            Color::Black => !self.board.color(Color::Black).0,
        };
        PositionKey(planes)
    }

    /// Returns the setup that describes the position. The en passant square is there only where
    /// the capture is legal.
    #[must_use]
    pub fn to_setup(&self) -> Setup {
        Setup {
            board: self.board,
            turn: self.turn,
            castling_rooks: self.castling_rooks,
            en_passant: self.en_passant,
            halfmove_clock: self.halfmove_clock,
            fullmove_number: self.fullmove_number,
            castling_mode: self.castling_mode,
        }
    }

    /// Returns the pieces of a side that attack a square. An attack counts even from a pinned
    /// piece (FIDE Laws 3.1.3).
    #[must_use]
    pub fn attackers(&self, square: Square, by: Color) -> Bitboard {
        struct Attackers<'a>(&'a Position, Square, Color);
        impl WithSliders for Attackers<'_> {
            type Output = Bitboard;
            fn run<S: Sliders>(self, sliders: S) -> Bitboard {
                self.0
                    .board
                    .attackers(sliders, self.1, self.2, self.0.board.occupied())
            }
        }
        with_sliders(Attackers(self, square, by))
    }

    /// Finds the pieces that check and pin the side to move.
    #[inline]
    pub(crate) fn find_checks_and_pins(&mut self) {
        let us = self.turn;
        let king = self.king(us);
        let board = &self.board;
        let occupied = board.occupied();
        let queens = board.role(Role::Queen);
        let mut checkers = (knight_attacks(king) & board.role(Role::Knight))
            | (pawn_attacks(us, king) & board.role(Role::Pawn));
        let snipers = (rook_rays(king) & (board.role(Role::Rook) | queens))
            | (bishop_rays(king) & (board.role(Role::Bishop) | queens));
        checkers &= board.color(!us);
        let mut pinned = Bitboard::EMPTY;
        for sniper in snipers & board.color(!us) {
            let shield = between(king, sniper) & occupied;
            if shield.is_empty() {
                checkers |= Bitboard::of(sniper);
            } else if !shield.more_than_one() {
                pinned |= shield & board.color(us);
            }
        }
        self.checkers = checkers;
        self.pinned = pinned;
    }

    /// Whether a pawn of the side to move can take en passant without leaving its king in check.
    /// Two pawns leave their squares, so pins do not tell.
    #[inline]
    pub(crate) fn is_en_passant_safe<S: Sliders>(
        &self,
        sliders: S,
        from: Square,
        to: Square,
    ) -> bool {
        let taken = Bitboard::of(Square::from_low_bits(to.index() as u8 ^ 8));
        let occupied = (self.board.occupied() ^ Bitboard::of(from) ^ taken) | Bitboard::of(to);
        let king = self.king(self.turn);
        (self.board.attackers(sliders, king, !self.turn, occupied) - taken).is_empty()
    }

    /// Keeps the en passant square only where the capture is legal (FIDE Laws 9.2.3.1 asks
    /// whether the pawn *could* have been captured).
    #[inline]
    pub(crate) fn set_en_passant(&mut self, square: Square) {
        let capturers = pawn_attacks(!self.turn, square) & self.board.pieces(self.turn, Role::Pawn);
        if capturers.any()
            && with_sliders(AnySafe {
                position: self,
                capturers,
                square,
            })
        {
            self.en_passant = Some(square);
            self.hash ^= zobrist::en_passant(square.file());
        }
    }
}

struct AnySafe<'a> {
    position: &'a Position,
    capturers: Bitboard,
    square: Square,
}

impl WithSliders for AnySafe<'_> {
    type Output = bool;

    fn run<S: Sliders>(self, sliders: S) -> bool {
        self.capturers
            .into_iter()
            .any(|from| self.position.is_en_passant_safe(sliders, from, self.square))
    }
}

impl PartialEq for Position {
    fn eq(&self, other: &Position) -> bool {
        self.hash == other.hash
            && self.board == other.board
            && self.turn == other.turn
            && self.castling_rooks == other.castling_rooks
            && self.en_passant == other.en_passant
    }
}

impl Eq for Position {}

impl Hash for Position {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Default for Position {
    /// Returns the ordinary starting position.
    fn default() -> Position {
        Position::startpos()
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({})", crate::Fen(&self.to_setup()))
    }
}

impl fmt::Display for Position {
    /// Writes the position as a FEN: standard, or X-FEN where castling needs it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", crate::Fen(&self.to_setup()))
    }
}

/// All that makes a position what it is for FIDE Laws 9.2.3, in 32 bytes, without collisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PositionKey(pub [u64; 4]);
