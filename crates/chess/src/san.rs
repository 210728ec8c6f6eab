//! Standard Algebraic Notation (PGN standard 8.2.3): exact when written, lenient when read.
//!
//! # What is read
//!
//! Besides what the standard writes: a square of origin in full or where it is not needed
//! (`Nbc3`, `Ng1-f3`, `e2e4`), a capture sign that is missing, one too many for a piece, or `:`
//! for `x`; castling with zeros, with small letters or without hyphens; the piece of promotion
//! as `e8Q`, `e8(Q)`, `e8/Q` or in lower case; `P` before a move of a pawn; check signs that are
//! missing or wrong; `e.p.` after a capture en passant; `!` and `?` at the end.
//!
//! What is never read: a text that fits more than one legal move, a null move, a promotion to a
//! king, a lower-case letter for a piece that moves (`b` is a file), a pawn that captures without
//! changing its file, anything that is not ASCII, and castling written as a move of the king.

mod quick;

use core::fmt;
use core::str::FromStr;

use crate::rays::{bishop_rays, knight_attacks, rook_rays};
use crate::uci::check_text;
use crate::{
    Bitboard, File, Move, MoveError, MoveKind, Piece, Position, Rank, Role, Square, UciMove,
    UnreadableMove,
};

/// A move in algebraic notation. Which move it is depends on the position.
///
/// ```
/// use referee_chess::San;
///
/// let san: San = "0-0+".parse()?;
/// assert_eq!(san.to_string(), "O-O+");
/// let san: San = "e7xd8(q)!?".parse()?;
/// assert_eq!(san.to_string(), "e7xd8=Q");
/// # Ok::<(), referee_chess::UnreadableMove>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct San {
    /// What moves, and where to.
    pub action: SanAction,
    /// The sign of check or mate; `None` where there is none.
    pub check: Option<CheckSign>,
}

/// What a move in algebraic notation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SanAction {
    /// Castling with the rook on the side of the h-file, `O-O`.
    CastleKingside,
    /// Castling with the rook on the side of the a-file, `O-O-O`.
    CastleQueenside,
    /// Any other move.
    Go {
        /// The kind of the piece that moves.
        role: Role,
        /// The file that it leaves, where it is written.
        from_file: Option<File>,
        /// The rank that it leaves, where it is written.
        from_rank: Option<Rank>,
        /// Whether a capture is written.
        capture: bool,
        /// The square that it reaches.
        to: Square,
        /// What a pawn becomes, where it is written. Reading takes the letter of any piece.
        promotion: Option<Role>,
        /// Whether `e.p.` is written, which the standard does not do.
        en_passant: bool,
    },
}

/// A sign that a move gives check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckSign {
    /// `+`.
    Check,
    /// `#`.
    Mate,
}

impl FromStr for San {
    type Err = UnreadableMove;

    /// Reads a move leniently, as the module describes. The whole meaning is kept but for
    /// suffixes such as `!?`.
    fn from_str(text: &str) -> Result<San, UnreadableMove> {
        let text = check_text(text)?;
        read(text.as_bytes()).ok_or(UnreadableMove::NotSan)
    }
}

/// Reads a move without blanks around it.
fn read(text: &[u8]) -> Option<San> {
    let (body, check, en_passant) = strip_suffixes(text);
    if let Some(action) = read_castling(body) {
        return (!en_passant).then_some(San { action, check });
    }
    let (role, body) = match body.split_first() {
        Some((&letter, rest)) if b"PNBRQK".contains(&letter) => {
            (Role::from_char(letter as char)?, rest)
        }
        _ => (Role::Pawn, body),
    };
    let (body, promotion) = strip_promotion(body)?;
    let (body, to) = strip_square(body)?;
    let (body, capture) = match body.split_last() {
        Some((b'x' | b':', rest)) => (rest, true),
        Some((b'-', rest)) if !rest.is_empty() => (rest, false),
        _ => (body, false),
    };
    let (body, from_rank) = match body.split_last() {
        Some((&last, rest)) if last.is_ascii_digit() => {
            (rest, Some(Rank::from_char(last as char)?))
        }
        _ => (body, None),
    };
    let from_file = match *body {
        [] => None,
        [file] => Some(File::from_char(file as char)?),
        _ => return None,
    };
    let action = SanAction::Go {
        role,
        from_file,
        from_rank,
        capture,
        to,
        promotion,
        en_passant,
    };
    Some(San { action, check })
}

/// Takes off signs of check, annotations and `e.p.`, in any order.
fn strip_suffixes(text: &[u8]) -> (&[u8], Option<CheckSign>, bool) {
    let mut rest = text;
    let mut check = None;
    let mut en_passant = false;
    loop {
        if let Some(shorter) = rest.strip_suffix(b"e.p.").or(rest.strip_suffix(b"ep")) {
            en_passant = true;
            rest = shorter.trim_ascii_end();
            continue;
        }
        rest = match rest.split_last() {
            Some((b'!' | b'?', shorter)) => shorter,
            Some((b'+', shorter)) => {
                check = check.or(Some(CheckSign::Check));
                shorter
            }
            Some((b'#', shorter)) => {
                check = Some(CheckSign::Mate);
                shorter
            }
            _ => return (rest, check, en_passant),
        };
    }
}

fn read_castling(body: &[u8]) -> Option<SanAction> {
    // With or without hyphens, but not with some.
    let count = match body.len() {
        2 | 3 if body.iter().all(|&c| is_castling_letter(c)) => body.len(),
        3 | 5
            if body.iter().enumerate().all(|(index, &c)| match index % 2 {
                0 => is_castling_letter(c),
                _ => c == b'-',
            }) =>
        {
            body.len() / 2 + 1
        }
        _ => return None,
    };
    Some(match count {
        2 => SanAction::CastleKingside,
        _ => SanAction::CastleQueenside,
    })
}

fn is_castling_letter(c: u8) -> bool {
    matches!(c, b'O' | b'0' | b'o')
}

/// Takes off the piece of promotion: `=Q`, `Q`, `(Q)`, `=(Q)` or `/Q`. Returns `None` where what
/// stands in its place is none.
fn strip_promotion(body: &[u8]) -> Option<(&[u8], Option<Role>)> {
    let (inner, in_brackets) = match body.strip_suffix(b")") {
        Some(inner) => (inner, true),
        None => (body, false),
    };
    let (&last, rest) = inner.split_last()?;
    if !in_brackets && last.is_ascii_digit() {
        return Some((body, None));
    }
    let role = Role::from_char(last as char)?;
    let rest = match in_brackets {
        true => rest.strip_suffix(b"(")?,
        false => rest.strip_suffix(b"/").unwrap_or(rest),
    };
    Some((rest.strip_suffix(b"=").unwrap_or(rest), Some(role)))
}

fn strip_square(body: &[u8]) -> Option<(&[u8], Square)> {
    let (rest, &[file, rank]) = body.split_last_chunk::<2>()?;
    let file = File::from_char(file as char)?;
    Some((rest, Square::at(file, Rank::from_char(rank as char)?)))
}

impl fmt::Display for San {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_san(f, self, false)
    }
}

/// A move in long algebraic notation, with the letter of the piece: `Ng1-f3`, `e7-e8=Q`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lan(San);

impl fmt::Display for Lan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_san(f, &self.0, true)
    }
}

fn write_san(f: &mut fmt::Formatter<'_>, san: &San, hyphen: bool) -> fmt::Result {
    match san.action {
        SanAction::CastleKingside => f.write_str("O-O")?,
        SanAction::CastleQueenside => f.write_str("O-O-O")?,
        SanAction::Go {
            role,
            from_file,
            from_rank,
            capture,
            to,
            promotion,
            en_passant: _,
        } => {
            if role != Role::Pawn {
                write!(f, "{}", role.to_upper_char())?;
            }
            if let Some(file) = from_file {
                write!(f, "{}", file.to_char())?;
            }
            if let Some(rank) = from_rank {
                write!(f, "{}", rank.to_char())?;
            }
            f.write_str(match (capture, hyphen) {
                (true, _) => "x",
                (false, true) => "-",
                (false, false) => "",
            })?;
            write!(f, "{to}")?;
            if let Some(role) = promotion {
                write!(f, "={}", role.to_upper_char())?;
            }
        }
    }
    f.write_str(match san.check {
        None => "",
        Some(CheckSign::Check) => "+",
        Some(CheckSign::Mate) => "#",
    })
}

impl Position {
    /// Returns a legal move of this position in algebraic notation, exactly as the PGN standard
    /// exports it: the square of origin only where another legal move needs it to be told from,
    /// the file before the rank, both only where neither is enough.
    ///
    /// ```
    /// use referee_chess::{CastlingMode, Position};
    ///
    /// // The knight on e3 is pinned, so that only one knight can go to c2.
    /// let fen = "k3r3/8/8/8/1N6/4N3/8/4K3 w - - 0 1";
    /// let position = Position::from_fen(fen, CastlingMode::Standard)?;
    /// let mv = position.read_uci("b4c2")?;
    /// assert_eq!(position.san(mv).to_string(), "Nc2");
    /// assert_eq!(position.lan(mv).to_string(), "Nb4-c2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn san(&self, mv: Move) -> San {
        let (from, to) = (mv.from(), mv.to());
        let role = self.board().role_at(from).unwrap_or(Role::Pawn);
        let capture = is_capture(self, mv);
        let (file, rank) = match role {
            Role::Pawn => (capture, false),
            Role::King => (false, false),
            _ => self.needed_origin(role, from, to),
        };
        self.write_move(mv, role, capture, (file, rank))
    }

    /// Returns a legal move of this position in long algebraic notation, with check signs.
    #[must_use]
    pub fn lan(&self, mv: Move) -> Lan {
        let role = self.board().role_at(mv.from()).unwrap_or(Role::Pawn);
        Lan(self.write_move(mv, role, is_capture(self, mv), (true, true)))
    }

    fn write_move(&self, mv: Move, role: Role, capture: bool, origin: (bool, bool)) -> San {
        let (from, to) = (mv.from(), mv.to());
        let after = self.after_unchecked(mv);
        let check = match (after.is_check(), after.has_legal_moves()) {
            (false, _) => None,
            (true, true) => Some(CheckSign::Check),
            (true, false) => Some(CheckSign::Mate),
        };
        let action = match mv.kind() {
            MoveKind::Castle if to > from => SanAction::CastleKingside,
            MoveKind::Castle => SanAction::CastleQueenside,
            _ => SanAction::Go {
                role,
                from_file: origin.0.then(|| from.file()),
                from_rank: origin.1.then(|| from.rank()),
                capture,
                to,
                promotion: mv.promotion(),
                en_passant: false,
            },
        };
        San { action, check }
    }

    /// Returns whether the file and whether the rank of origin must be written (PGN standard
    /// 8.2.3.4). Only legal moves of other pieces count.
    fn needed_origin(&self, role: Role, from: Square, to: Square) -> (bool, bool) {
        let twins = (self.attackers(to, self.turn()) & self.board().role(role)) - from.into();
        if twins.is_empty() {
            return (false, false);
        }
        let others: Bitboard = self
            .legal_moves_from(twins)
            .into_iter()
            .filter(|mv| mv.to() == to)
            .map(Move::from)
            .collect();
        let on_file = (others & Bitboard::file(from.file())).any();
        let on_rank = (others & Bitboard::rank(from.rank())).any();
        match (others.any(), on_file, on_rank) {
            (false, _, _) => (false, false),
            (true, false, _) => (true, false),
            (true, true, false) => (false, true),
            (true, true, true) => (true, true),
        }
    }

    /// Reads a legal move in algebraic notation, leniently.
    ///
    /// Whether the text was what the standard writes can be asked afterwards: the move is parsed
    /// as [`San`] and compared with [`san`](Self::san), as a whole or by its `check` alone.
    ///
    /// ```
    /// use referee_chess::{Position, San};
    ///
    /// let position = Position::startpos();
    /// let mv = position.read_san("Pe2-e4!?")?;
    /// assert_eq!(position.san(mv).to_string(), "e4");
    ///
    /// let written: San = "Nf3+".parse()?;
    /// let mv = position.find_san(&written)?;
    /// assert_ne!(written.check, position.san(mv).check);
    ///
    /// let error = position.read_san("Nc4").unwrap_err();
    /// assert_eq!(error.to_string(), "White has no knight that can reach c4");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where the text is no move, fits more than one, or none that is legal here.
    pub fn read_san(&self, text: &str) -> Result<Move, MoveError> {
        let san: San = text.parse().map_err(MoveError::Unreadable)?;
        self.find_san(&san)
    }

    /// Reads a legal move in UCI or algebraic notation, leniently. A text that has the form of
    /// UCI is read as such; where it is a move of a pawn in algebraic notation, too (`b2b4`), both
    /// mean the same.
    ///
    /// # Errors
    ///
    /// Where the text is no move, fits more than one, or none that is legal here.
    pub fn read_move(&self, text: &str) -> Result<Move, MoveError> {
        let checked = check_text(text).map_err(MoveError::Unreadable)?;
        match UciMove::read(checked, true) {
            Some(uci) => self.resolve_uci(uci),
            None => self.read_san(checked),
        }
    }

    /// Returns the only legal move that a move in algebraic notation fits.
    ///
    /// # Errors
    ///
    /// Where it fits more than one, or none that is legal here.
    pub fn find_san(&self, san: &San) -> Result<Move, MoveError> {
        match san.action {
            SanAction::CastleKingside => self.find_castling(true),
            SanAction::CastleQueenside => self.find_castling(false),
            SanAction::Go { .. } => self.find_going(&san.action),
        }
    }

    fn find_castling(&self, kingside: bool) -> Result<Move, MoveError> {
        self.legal_moves_from(self.king(self.turn()).into())
            .into_iter()
            .find(|mv| mv.is_castle() && (mv.to() > mv.from()) == kingside)
            .ok_or_else(|| MoveError::Illegal(self.explain_castling(kingside)))
    }

    fn find_going(&self, action: &SanAction) -> Result<Move, MoveError> {
        let &SanAction::Go {
            to,
            promotion,
            en_passant,
            ..
        } = action
        else {
            return Err(MoveError::Unreadable(UnreadableMove::NotSan));
        };
        let candidates = self.candidates(action);
        let moves = self.legal_moves_from(candidates);
        let mut fitting = moves.into_iter().filter(|mv| {
            mv.to() == to
                && mv.promotion() == promotion
                && mv.kind() != MoveKind::Castle
                && (!en_passant || mv.kind() == MoveKind::EnPassant)
        });
        match (fitting.next(), fitting.next()) {
            (Some(mv), None) => Ok(mv),
            (Some(first), Some(second)) => Err(MoveError::Ambiguous {
                candidates: [first, second]
                    .into_iter()
                    .chain(fitting)
                    .map(|mv| self.uci(mv))
                    .collect(),
            }),
            (None, _) => Err(self.explain_going(action, candidates)),
        }
    }

    /// Returns the pieces that the text can mean, wherever they can go: those of its kind on the
    /// squares that it leaves open and from which such a piece could come on some board.
    fn candidates(&self, action: &SanAction) -> Bitboard {
        let &SanAction::Go {
            role,
            from_file,
            from_rank,
            capture,
            to,
            ..
        } = action
        else {
            return Bitboard::EMPTY;
        };
        let mut set = self.board().pieces(self.turn(), role);
        if let Some(file) = from_file {
            set &= Bitboard::file(file);
        }
        if let Some(rank) = from_rank {
            set &= Bitboard::rank(rank);
        }
        match role {
            // A pawn changes its file to capture, and only then.
            Role::Pawn if capture => set - Bitboard::file(to.file()),
            Role::Pawn if from_file.is_none() && from_rank.is_none() => {
                set & Bitboard::file(to.file())
            }
            Role::Pawn | Role::King => set,
            Role::Knight => set & knight_attacks(to),
            Role::Bishop => set & bishop_rays(to),
            Role::Rook => set & rook_rays(to),
            Role::Queen => set & (bishop_rays(to) | rook_rays(to)),
        }
    }

    /// Says why none of the pieces that a text can mean can make the move: of several, the one
    /// that comes nearest to it.
    fn explain_going(&self, action: &SanAction, candidates: Bitboard) -> MoveError {
        let &SanAction::Go {
            role,
            from_file,
            from_rank,
            to,
            promotion,
            ..
        } = action
        else {
            return MoveError::Unreadable(UnreadableMove::NotSan);
        };
        let piece = Piece {
            color: self.turn(),
            role,
        };
        let origin = from_file.zip(from_rank);
        // Which piece is meant is certain where its square is written, and for the king.
        let is_certain = origin.is_some() || role == Role::King;
        let nearest = candidates
            .into_iter()
            .map(|from| {
                let uci = UciMove {
                    from,
                    to,
                    promotion,
                };
                // A legal move is refused only where it is said to capture en passant.
                self.explain_piece(uci, piece)
                    .unwrap_or_else(|| self.explain_no_en_passant(uci, piece))
            })
            .filter(|illegal| is_certain || illegal.is_near())
            .max_by_key(|illegal| illegal.reason);
        let illegal = nearest.unwrap_or_else(|| match origin {
            Some((file, rank)) if self.board().piece_at(Square::at(file, rank)).is_none() => self
                .explain_illegal(UciMove {
                    from: Square::at(file, rank),
                    to,
                    promotion,
                }),
            _ => self
                .explain_no_capture(action, candidates)
                .unwrap_or_else(|| self.explain_unreachable(role, (from_file, from_rank), to)),
        });
        MoveError::Illegal(illegal)
    }

    /// Says that a pawn does not capture straight ahead, where a text has one capture on a square
    /// that a pawn could go to otherwise.
    fn explain_no_capture(
        &self,
        action: &SanAction,
        candidates: Bitboard,
    ) -> Option<crate::IllegalMove> {
        let &SanAction::Go {
            role: Role::Pawn,
            capture: true,
            from_file,
            to,
            promotion,
            ..
        } = action
        else {
            return None;
        };
        let pawns = self.board().pieces(self.turn(), Role::Pawn);
        let ahead = self.legal_moves_from(pawns & Bitboard::file(to.file()));
        let going = ahead
            .into_iter()
            .find(|mv| mv.to() == to && mv.from().file() == to.file())?;
        let piece = Piece {
            color: self.turn(),
            role: Role::Pawn,
        };
        match from_file {
            Some(file) if file != to.file() => {
                let from = candidates.into_iter().next()?;
                let uci = UciMove {
                    from,
                    to,
                    promotion,
                };
                self.explain_piece(uci, piece)
            }
            _ => {
                let from = going.from();
                let uci = UciMove {
                    from,
                    to,
                    promotion,
                };
                Some(self.explain_straight_capture(uci, piece))
            }
        }
    }
}

fn is_capture(position: &Position, mv: Move) -> bool {
    match mv.kind() {
        MoveKind::EnPassant => true,
        MoveKind::Castle => false,
        _ => position.board().color(!position.turn()).contains(mv.to()),
    }
}
