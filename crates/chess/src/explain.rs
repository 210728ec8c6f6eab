//! Finding out why a move is not legal.
//!
//! The articles are asked one after the other, and nothing here looks at the list of legal moves:
//! that a move has no reason against it exactly if it is legal is for the tests to hold.

use crate::generate::castle_targets;
use crate::illegal::{IllegalMove, IllegalReason};
use crate::rays::{between, bishop_rays, king_attacks, knight_attacks, pawn_attacks, rook_rays};
use crate::sliders::{Sliders, WithSliders, with_sliders};
use crate::{
    Bitboard, Board, CastlingMode, Color, File, Piece, Position, Rank, Role, Square, UciMove,
};

impl Position {
    /// Returns why a move is not legal, or `None` where it is.
    ///
    /// Castling is understood as in [`find_uci`](Position::find_uci). A capture en passant onto
    /// the square that a pawn has just passed over is told from one onto any other square even
    /// where the position allows neither; a position that was read from a FEN without the square
    /// cannot tell them apart.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, IllegalReason, Position};
    ///
    /// let fen = "2r1k3/8/8/8/2B5/8/8/2K5 w - - 0 1";
    /// let position = Position::from_fen(fen, CastlingMode::Standard)?;
    /// let illegal = position.explain("c4d5".parse()?).expect("the bishop is pinned");
    /// assert_eq!(illegal.reason, IllegalReason::KingExposed);
    /// assert_eq!(illegal.article(), "3.9.2");
    /// assert_eq!(
    ///     illegal.to_string(),
    ///     "the bishop on c4 is pinned to its king on c1 by the rook on c8",
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explain(&self, uci: UciMove) -> Option<IllegalMove> {
        let Some(piece) = self.board().piece_at(uci.from) else {
            let fault = Fault::new(IllegalReason::EmptySquare, "3.1").at(uci.from.into());
            return Some(self.illegal(uci, None, fault));
        };
        let case = Case {
            position: self,
            uci,
            piece,
            us: self.turn(),
        };
        let fault = case.judge(true).err()?;
        Some(self.illegal(uci, Some(piece), fault))
    }

    /// Like [`explain`](Position::explain), for a piece of the side to move that algebraic
    /// notation names: a move of the king is never castling.
    pub(crate) fn explain_piece(&self, uci: UciMove, piece: Piece) -> Option<IllegalMove> {
        let case = Case {
            position: self,
            uci,
            piece,
            us: self.turn(),
        };
        let fault = case.judge(false).err()?;
        Some(self.illegal(uci, Some(piece), fault))
    }

    /// Returns that a move is not legal in itself; for a move that is known not to be.
    pub(crate) fn explain_illegal(&self, uci: UciMove) -> IllegalMove {
        self.explain(uci).unwrap_or_else(|| {
            // The two ways to judge agree, as the tests hold; should they ever not, the move is
            // refused all the same.
            let fault = Fault::new(IllegalReason::PieceMovement, "3.7.1");
            self.illegal(uci, self.board().piece_at(uci.from), fault)
        })
    }

    /// Returns why the side to move cannot castle towards the h- or the a-file; for castling that
    /// is known not to be legal.
    pub(crate) fn explain_castling(&self, kingside: bool) -> IllegalMove {
        let us = self.turn();
        let king = self.king(us);
        let piece = Piece {
            color: us,
            role: Role::King,
        };
        let file = if kingside { File::G } else { File::C };
        let uci = UciMove {
            from: king,
            to: Square::at(file, Rank::relative(us, 0)),
            promotion: None,
        };
        let case = Case {
            position: self,
            uci,
            piece,
            us,
        };
        // As above, the other way to judge has the last word.
        let fault = case
            .castle(case.castling_on(kingside))
            .err()
            .unwrap_or_else(|| Fault::new(IllegalReason::CastlingRightLost, "3.8.2.1"));
        self.illegal(uci, Some(piece), fault)
    }

    /// Returns that no piece of a kind, on a file or a rank where one is named, can reach a square.
    /// A pawn that captures there is not meant by a text that names no file, and the sentence says
    /// which file is.
    pub(crate) fn explain_unreachable(
        &self,
        role: Role,
        (file, rank): (Option<File>, Option<Rank>),
        to: Square,
    ) -> IllegalMove {
        let pawns = self.board().pieces(self.turn(), Role::Pawn);
        let is_near = role == Role::Pawn && (pawn_attacks(!self.turn(), to) & pawns).any();
        let file = file.or(is_near.then(|| to.file()));
        let piece = Piece {
            color: self.turn(),
            role,
        };
        let uci = UciMove {
            from: to,
            to,
            promotion: None,
        };
        let fault = Fault::new(IllegalReason::EmptySquare, "3.1").at(to.into());
        IllegalMove {
            from: None,
            within: (file, rank),
            ..self.illegal(uci, Some(piece), fault)
        }
    }

    /// Returns that a pawn does not capture where it goes.
    pub(crate) fn explain_straight_capture(&self, uci: UciMove, piece: Piece) -> IllegalMove {
        let fault = Fault::new(IllegalReason::PieceMovement, "3.7.3").at(uci.to.into());
        self.illegal(uci, Some(piece), fault)
    }

    /// Returns that a move of a pawn does not capture en passant.
    pub(crate) fn explain_no_en_passant(&self, uci: UciMove, piece: Piece) -> IllegalMove {
        let fault = Fault::new(IllegalReason::NoEnPassant, "3.7.3.2").at(uci.to.into());
        self.illegal(uci, Some(piece), fault)
    }

    fn illegal(&self, uci: UciMove, piece: Option<Piece>, fault: Fault) -> IllegalMove {
        let board = self.board();
        let named = |square| Some((square, board.piece_at(square)?));
        IllegalMove {
            reason: fault.reason,
            from: Some(uci.from),
            to: uci.to,
            piece,
            pieces: fault.pieces.into_iter().filter_map(named).collect(),
            squares: fault.squares,
            article: fault.article,
            within: (None, None),
            turn: self.turn(),
            king: self.king(self.turn()),
            promotion: uci.promotion,
            is_en_passant: fault.is_en_passant,
            is_kingside: fault.is_kingside,
        }
    }
}

/// What speaks against a move.
struct Fault {
    reason: IllegalReason,
    article: &'static str,
    pieces: Bitboard,
    squares: Bitboard,
    is_en_passant: bool,
    /// Of castling, whether it goes towards the h-file.
    is_kingside: bool,
}

impl Fault {
    fn new(reason: IllegalReason, article: &'static str) -> Fault {
        Fault {
            reason,
            article,
            pieces: Bitboard::EMPTY,
            squares: Bitboard::EMPTY,
            is_en_passant: false,
            is_kingside: false,
        }
    }

    fn by(self, pieces: Bitboard) -> Fault {
        Fault { pieces, ..self }
    }

    fn at(self, squares: Bitboard) -> Fault {
        Fault { squares, ..self }
    }
}

/// Castling that is meant, whether it is legal or not.
struct Castling {
    kingside: bool,
    /// The rook, where there is one to castle with.
    rook: Option<Square>,
}

/// A move that is to be judged.
struct Case<'a> {
    position: &'a Position,
    uci: UciMove,
    piece: Piece,
    us: Color,
}

impl Case<'_> {
    /// Asks the articles in the order of [`IllegalReason`].
    fn judge(&self, may_castle: bool) -> Result<(), Fault> {
        if self.piece.color != self.us {
            let fault = Fault::new(IllegalReason::OpponentPiece, "1.2");
            return Err(fault.by(self.uci.from.into()).at(self.uci.from.into()));
        }
        if may_castle && let Some(castling) = self.castling_meant() {
            self.castle(castling)?;
            return self.promotion();
        }
        self.movement()?;
        let own = self.position.board().color(self.us) & Bitboard::of(self.uci.to);
        if own.any() {
            return Err(Fault::new(IllegalReason::OwnPiece, "3.1").by(own).at(own));
        }
        self.promotion()?;
        self.king_safety()
    }

    fn enemies(&self) -> Bitboard {
        self.position.board().color(!self.us)
    }

    /// Whether the piece moves that way, with nothing in between.
    fn movement(&self) -> Result<(), Fault> {
        let UciMove { from, to, .. } = self.uci;
        let (reach, article) = match self.piece.role {
            Role::Pawn => return self.pawn_movement(),
            Role::Knight => (knight_attacks(from), "3.6"),
            Role::Bishop => (bishop_rays(from), "3.2"),
            Role::Rook => (rook_rays(from), "3.3"),
            Role::Queen => (bishop_rays(from) | rook_rays(from), "3.4"),
            Role::King => (king_attacks(from), "3.8.1"),
        };
        if !reach.contains(to) {
            return Err(Fault::new(IllegalReason::PieceMovement, article));
        }
        // A neighbor and the square of a knight have no squares in between.
        self.free(between(from, to), "3.5")
    }

    fn free(&self, path: Bitboard, article: &'static str) -> Result<(), Fault> {
        let blockers = path & self.position.board().occupied();
        if blockers.is_empty() {
            return Ok(());
        }
        let fault = Fault::new(IllegalReason::PathBlocked, article);
        Err(fault.by(blockers).at(blockers))
    }

    fn pawn_movement(&self) -> Result<(), Fault> {
        let UciMove { from, to, .. } = self.uci;
        let forward = match self.us {
            Color::White => 1,
            Color::Black => -1,
        };
        // What stands on the square of arrival blocks a step, too; a piece of one's own is named
        // as such later on.
        let blocking = Bitboard::of(to) & self.enemies();
        if from.offset(0, forward) == Some(to) {
            return self.free(blocking, "3.7.1");
        }
        if from.offset(0, 2 * forward) == Some(to) {
            if from.rank() != Rank::relative(self.us, 1) {
                return Err(Fault::new(IllegalReason::PieceMovement, "3.7.2"));
            }
            return self.free(between(from, to) | blocking, "3.7.2");
        }
        if !pawn_attacks(self.us, from).contains(to) {
            return Err(Fault::new(IllegalReason::PieceMovement, "3.7.1"));
        }
        let board = self.position.board();
        if board.occupied().contains(to) || self.is_en_passant() {
            return Ok(());
        }
        let passer = to.offset(0, -forward).map_or(Bitboard::EMPTY, Bitboard::of)
            & board.pieces(!self.us, Role::Pawn);
        if to.rank() == Rank::relative(self.us, 5) && passer.any() {
            let fault = Fault::new(IllegalReason::NoEnPassant, "3.7.3.2");
            return Err(fault.by(passer).at(to.into()));
        }
        Err(Fault::new(IllegalReason::PieceMovement, "3.7.3"))
    }

    /// Whether a pawn takes another one that has just passed it (FIDE Laws 3.7.3.1).
    fn is_en_passant(&self) -> bool {
        let UciMove { from, to, .. } = self.uci;
        self.piece.role == Role::Pawn
            && self.position.passed == Some(to)
            && pawn_attacks(self.us, from).contains(to)
    }

    fn promotion(&self) -> Result<(), Fault> {
        let to = self.uci.to;
        let is_due = self.piece.role == Role::Pawn && to.rank() == Rank::relative(self.us, 7);
        let reason = match self.uci.promotion {
            None if is_due => IllegalReason::PromotionMissing,
            Some(role) if !is_due || !Role::PROMOTIONS.contains(&role) => {
                IllegalReason::PromotionInvalid
            }
            _ => return Ok(()),
        };
        Err(Fault::new(reason, "3.7.3.3").at(to.into()))
    }

    /// Whether the own king is safe after the move (FIDE Laws 3.9.2). The move is made on a copy
    /// of the board, so that pins need no thought.
    fn king_safety(&self) -> Result<(), Fault> {
        let UciMove {
            from,
            to,
            promotion,
        } = self.uci;
        let mut after = *self.position.board();
        after.take(from);
        if self.is_en_passant() {
            after.take(Square::from_low_bits(to.index() as u8 ^ 8));
        }
        let role = promotion.unwrap_or(self.piece.role);
        after.put(
            to,
            Piece {
                color: self.us,
                role,
            },
        );
        let is_king = self.piece.role == Role::King;
        let king = if is_king {
            to
        } else {
            self.position.king(self.us)
        };
        let attackers = attackers(&after, king, !self.us, after.occupied());
        if attackers.is_empty() {
            return Ok(());
        }
        if is_king {
            let fault = Fault::new(IllegalReason::KingIntoCheck, "3.9.2");
            return Err(fault.by(attackers).at(to.into()));
        }
        let remaining = attackers & self.position.checkers();
        if remaining.any() {
            let fault = Fault::new(IllegalReason::CheckRemains, "3.9.2");
            return Err(fault.by(remaining).at(king.into()));
        }
        let line = attackers
            .into_iter()
            .fold(Bitboard::of(king), |line, attacker| {
                line | between(king, attacker)
            });
        let fault = Fault::new(IllegalReason::KingExposed, "3.9.2");
        Err(Fault {
            is_en_passant: self.is_en_passant(),
            ..fault.by(attackers).at(line)
        })
    }

    /// Returns the castling that a move of the king in UCI notation means. It is the king taking
    /// a rook of its own that has the right, or had it: in standard chess the one in the corner,
    /// in Chess960 any on its rank; or the king going to where castling ends, by two files or
    /// more.
    fn castling_meant(&self) -> Option<Castling> {
        let UciMove { from, to, .. } = self.uci;
        let home = Rank::relative(self.us, 0);
        let is_standard = self.position.castling_mode() == CastlingMode::Standard;
        if self.piece.role != Role::King
            || from.rank() != home
            || to.rank() != home
            || (is_standard && from.file() != File::E)
        {
            return None;
        }
        let kingside = to > from;
        let corner = if kingside { File::H } else { File::A };
        let takes_rook = self
            .position
            .board()
            .pieces(self.us, Role::Rook)
            .contains(to)
            && (!is_standard || to.file() == corner);
        if takes_rook {
            return Some(Castling {
                kingside,
                rook: Some(to),
            });
        }
        let target = if kingside { File::G } else { File::C };
        let distance = from.file().index().abs_diff(to.file().index());
        (to.file() == target && distance >= 2).then(|| self.castling_on(kingside))
    }

    /// Returns the castling on one side, with the rook that has the right, or in standard chess
    /// the one in the corner.
    fn castling_on(&self, kingside: bool) -> Castling {
        let board = self.position.board();
        let king = self.position.king(self.us);
        let able = self.position.castling_rooks() & board.color(self.us);
        let with_right = able.into_iter().find(|&rook| (rook > king) == kingside);
        let file = if kingside { File::H } else { File::A };
        let corner = Square::at(file, Rank::relative(self.us, 0));
        let in_corner = (self.position.castling_mode() == CastlingMode::Standard
            && board.pieces(self.us, Role::Rook).contains(corner))
        .then_some(corner);
        Castling {
            kingside,
            rook: with_right.or(in_corner),
        }
    }

    /// Whether castling is legal (FIDE Laws 3.8.2, guidelines II.3.2).
    fn castle(&self, castling: Castling) -> Result<(), Fault> {
        let king = self.position.king(self.us);
        let right_lost = Fault {
            is_kingside: castling.kingside,
            ..Fault::new(IllegalReason::CastlingRightLost, "3.8.2.1")
        };
        // A king off its first rank has moved, and nothing more needs to be said.
        let home = Rank::relative(self.us, 0);
        let Some(rook) = castling.rook.filter(|_| king.rank() == home) else {
            self.free(self.path_to_corner(king, castling.kingside), "3.8.2.2")?;
            return Err(right_lost);
        };
        let board = self.position.board();
        let (king_to, rook_to) = castle_targets(king, rook);
        let movers = Bitboard::of(king) | Bitboard::of(rook);
        let king_path = between(king, king_to) | Bitboard::of(king_to);
        let rook_path = between(rook, rook_to) | Bitboard::of(rook_to);
        self.free((king_path | rook_path) - movers, "3.8.2.2")?;
        if !self.position.castling_rooks().contains(rook) {
            return Err(right_lost.at(rook.into()));
        }
        let checkers = self.position.checkers();
        if checkers.any() {
            let fault = Fault::new(IllegalReason::CastlingInCheck, "3.8.2.2");
            return Err(fault.by(checkers).at(king.into()));
        }
        let before = board.occupied() - Bitboard::of(king);
        let after = (board.occupied() - movers) | Bitboard::of(rook_to);
        let mut fault = Fault::new(IllegalReason::CastlingThroughCheck, "3.8.2.2");
        for square in king_path {
            let mut attacking = attackers(board, square, !self.us, before);
            if square == king_to {
                // The rook may have stood between the king and an attacker, which happens in
                // Chess960 only.
                attacking |= attackers(board, square, !self.us, after);
            }
            if attacking.any() {
                fault.pieces |= attacking;
                fault.squares |= Bitboard::of(square);
            }
        }
        if fault.squares.any() {
            Err(fault)
        } else {
            Ok(())
        }
    }

    /// The squares between the king and the corner of standard chess, where the rook is gone.
    fn path_to_corner(&self, king: Square, kingside: bool) -> Bitboard {
        let home = Rank::relative(self.us, 0);
        if self.position.castling_mode() == CastlingMode::Standard
            && king == Square::at(File::E, home)
        {
            let file = if kingside { File::H } else { File::A };
            between(king, Square::at(file, home))
        } else {
            Bitboard::EMPTY
        }
    }
}

/// Returns the pieces of a side that attack a square of a board.
fn attackers(board: &Board, square: Square, by: Color, occupied: Bitboard) -> Bitboard {
    struct Attackers<'a>(&'a Board, Square, Color, Bitboard);
    impl WithSliders for Attackers<'_> {
        type Output = Bitboard;
        fn run<S: Sliders>(self, sliders: S) -> Bitboard {
            self.0.attackers(sliders, self.1, self.2, self.3)
        }
    }
    with_sliders(Attackers(board, square, by, occupied))
}
