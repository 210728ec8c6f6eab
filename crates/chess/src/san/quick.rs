//! A fast path for algebraic notation as programs write it, for archives of millions of games.
//!
//! It knows the plain forms only (`e4`, `exd5`, `Nf3`, `Nbxd7`, `R1e2`, `Qh4xe1`, `e8=Q`, `O-O`),
//! with or without a check sign, and looks up the one piece that can be meant instead of listing
//! moves. [`Position::find_san`] is its oracle: what is found here, it finds, too.

use crate::moves::{Move, MoveKind};
use crate::rays::{between, king_attacks, knight_attacks, line};
use crate::sliders::{Sliders, WithSliders, with_sliders};
use crate::{Bitboard, Color, File, Position, Rank, Role, San, SanAction, Square};

impl Position {
    /// Reads a legal move in plain algebraic notation, or returns `None`, which says nothing: the
    /// text may be an illegal move, or one that only the lenient
    /// [`read_san`](Position::read_san) understands. Ask that one then.
    ///
    /// Check signs are not compared with the board.
    ///
    /// ```
    /// use referee_chess::Position;
    ///
    /// let position = Position::startpos();
    /// let mv = position.find_plain_san(b"Nf3");
    /// assert_eq!(mv, position.read_san("Nf3").ok());
    /// assert_eq!(position.find_plain_san(b"Ng1-f3"), None);
    /// assert_eq!(position.find_plain_san(b"Ne5"), None);
    /// ```
    #[inline]
    #[must_use]
    pub fn find_plain_san(&self, text: &[u8]) -> Option<Move> {
        let body = match text {
            [body @ .., b'+' | b'#'] => body,
            _ => text,
        };
        match *body.first()? {
            b'a'..=b'h' => self.find_plain_pawn(body),
            b'N' => self.find_plain_piece(Role::Knight, body),
            b'B' => self.find_plain_piece(Role::Bishop, body),
            b'R' => self.find_plain_piece(Role::Rook, body),
            b'Q' => self.find_plain_piece(Role::Queen, body),
            b'K' => self.find_plain_piece(Role::King, body),
            b'O' => self.find_plain_castling(body),
            _ => None,
        }
    }

    fn find_plain_castling(&self, body: &[u8]) -> Option<Move> {
        let action = match body {
            b"O-O" => SanAction::CastleKingside,
            b"O-O-O" => SanAction::CastleQueenside,
            _ => return None,
        };
        let san = San {
            action,
            check: None,
        };
        self.find_san(&san).ok()
    }

    #[inline]
    fn find_plain_piece(&self, role: Role, body: &[u8]) -> Option<Move> {
        let (origin, to) = match *body {
            [_, file, rank] => (Bitboard::FULL, read_square(file, rank)?),
            [_, b'x', file, rank] => (Bitboard::FULL, read_square(file, rank)?),
            [_, one, file, rank] | [_, one, b'x', file, rank] => {
                (read_line(one)?, read_square(file, rank)?)
            }
            [_, a, b, file, rank] | [_, a, b, b'x', file, rank] => {
                (Bitboard::of(read_square(a, b)?), read_square(file, rank)?)
            }
            _ => return None,
        };
        if self.board.color(self.turn).contains(to) {
            return None;
        }
        with_sliders(Piece {
            position: self,
            role,
            origin,
            to,
        })
    }

    #[inline]
    fn find_plain_pawn(&self, body: &[u8]) -> Option<Move> {
        let (body, promotion) = match *body {
            [ref rest @ .., b'=', letter] => (rest, Some(read_promotion(letter)?)),
            _ => (body, None),
        };
        match *body {
            [file, rank] => self.find_pawn_step(read_square(file, rank)?, promotion),
            [from, b'x', file, rank] => {
                let to = read_square(file, rank)?;
                self.find_pawn_capture(File::from_char(from as char)?, to, promotion)
            }
            _ => None,
        }
    }

    fn find_pawn_step(&self, to: Square, promotion: Option<Role>) -> Option<Move> {
        let back = if self.turn == Color::White { -1 } else { 1 };
        let pawns = self.board.pieces(self.turn, Role::Pawn);
        let occupied = self.board.occupied();
        if occupied.contains(to) {
            return None;
        }
        let near = to.offset(0, back)?;
        let from = if pawns.contains(near) {
            near
        } else {
            let far = near.offset(0, back)?;
            let is_double = to.rank() == Rank::relative(self.turn, 3);
            if !is_double || occupied.contains(near) || !pawns.contains(far) {
                return None;
            }
            far
        };
        if !self.may_leave(from, to) {
            return None;
        }
        let kind = match promotion_kind(to, promotion)? {
            MoveKind::Ordinary if from != near => MoveKind::DoubleStep,
            kind => kind,
        };
        Some(Move::new(from, to, kind))
    }

    fn find_pawn_capture(&self, file: File, to: Square, promotion: Option<Role>) -> Option<Move> {
        let back = if self.turn == Color::White { -1 } else { 1 };
        let aside = file.index() as i8 - to.file().index() as i8;
        if aside.abs() != 1 {
            return None;
        }
        let from = to.offset(aside, back)?;
        if !self.board.pieces(self.turn, Role::Pawn).contains(from) {
            return None;
        }
        if self.en_passant == Some(to) && promotion.is_none() {
            let capture = EnPassant {
                position: self,
                from,
                to,
            };
            let is_safe = with_sliders(capture);
            return is_safe.then(|| Move::new(from, to, MoveKind::EnPassant));
        }
        if !self.board.color(!self.turn).contains(to) || !self.may_leave(from, to) {
            return None;
        }
        Some(Move::new(from, to, promotion_kind(to, promotion)?))
    }

    /// Whether a piece other than the king may go from one square to another as far as its king
    /// is concerned: it meets a check, and stays on the line of its pin (FIDE Laws 3.9).
    #[inline(always)]
    fn may_leave(&self, from: Square, to: Square) -> bool {
        let king = self.king(self.turn);
        if self.pinned.contains(from) && !line(king, from).contains(to) {
            return false;
        }
        match self.checkers.first() {
            None => true,
            Some(_) if self.checkers.more_than_one() => false,
            Some(checker) => checker == to || between(king, checker).contains(to),
        }
    }
}

/// Looks for the only piece that can go to a square.
struct Piece<'a> {
    position: &'a Position,
    role: Role,
    origin: Bitboard,
    to: Square,
}

impl WithSliders for Piece<'_> {
    type Output = Option<Move>;

    #[inline(always)]
    fn run<S: Sliders>(self, sliders: S) -> Option<Move> {
        let Piece {
            position,
            role,
            origin,
            to,
        } = self;
        let us = position.turn;
        let board = &position.board;
        let occupied = board.occupied();
        let reach = match role {
            Role::Knight => knight_attacks(to),
            Role::Bishop => sliders.bishop(to, occupied),
            Role::Rook => sliders.rook(to, occupied),
            Role::Queen => sliders.queen(to, occupied),
            Role::King => king_attacks(to),
            Role::Pawn => return None,
        };
        let candidates = board.pieces(us, role) & reach & origin;
        if role == Role::King {
            let from = candidates.first()?;
            // The king shields no square behind it.
            let without = occupied ^ Bitboard::of(from);
            let attackers = board.attackers(sliders, to, !us, without);
            return attackers
                .is_empty()
                .then(|| Move::new(from, to, MoveKind::Ordinary));
        }
        let mut found = None;
        for from in candidates {
            if position.may_leave(from, to) {
                if found.is_some() {
                    return None;
                }
                found = Some(Move::new(from, to, MoveKind::Ordinary));
            }
        }
        found
    }
}

struct EnPassant<'a> {
    position: &'a Position,
    from: Square,
    to: Square,
}

impl WithSliders for EnPassant<'_> {
    type Output = bool;

    fn run<S: Sliders>(self, sliders: S) -> bool {
        self.position
            .is_en_passant_safe(sliders, self.from, self.to)
    }
}

#[inline(always)]
fn read_square(file: u8, rank: u8) -> Option<Square> {
    let (file, rank) = (file.wrapping_sub(b'a'), rank.wrapping_sub(b'1'));
    (file < 8 && rank < 8).then(|| Square::from_low_bits(rank << 3 | file))
}

/// The squares of a file or a rank.
#[inline(always)]
fn read_line(name: u8) -> Option<Bitboard> {
    match name {
        b'a'..=b'h' => Some(Bitboard::file(File::from_char(name as char)?)),
        b'1'..=b'8' => Some(Bitboard::rank(Rank::from_char(name as char)?)),
        _ => None,
    }
}

fn read_promotion(letter: u8) -> Option<Role> {
    match letter {
        b'Q' => Some(Role::Queen),
        b'R' => Some(Role::Rook),
        b'B' => Some(Role::Bishop),
        b'N' => Some(Role::Knight),
        _ => None,
    }
}

/// A pawn promotes exactly on the last rank.
#[inline(always)]
fn promotion_kind(to: Square, promotion: Option<Role>) -> Option<MoveKind> {
    match (Bitboard::BACK_RANKS.contains(to), promotion) {
        (true, Some(role)) => Some(MoveKind::Promotion(role)),
        (false, None) => Some(MoveKind::Ordinary),
        _ => None,
    }
}
