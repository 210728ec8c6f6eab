//! The oracle: a second generator of moves, slow and obvious, written from the articles of the
//! Laws alone.
//!
//! The board is 64 squares with or without a piece. A piece is walked over it square by square,
//! the move is made on a copy, and where the own king could then be captured, the move was not
//! legal. There are no bitboards and no tables, and nothing is shared with the fast generator but
//! the words (square, color, role, piece, setup), so that a mistake has to be made twice before
//! it passes unseen.
//!
//! ```
//! use referee_chess::Position;
//! use referee_chess::mailbox::Mailbox;
//!
//! let oracle = Mailbox::from(&Position::startpos().to_setup());
//! assert_eq!(oracle.perft(3), 8_902);
//! ```

use core::fmt;

use crate::{CastlingMode, Color, File, Piece, Rank, Role, Setup, Square};

/// The steps of a bishop, as files and ranks (FIDE Laws 3.2).
const DIAGONALS: [(i8, i8); 4] = [(1, 1), (1, -1), (-1, 1), (-1, -1)];

/// The steps of a rook (FIDE Laws 3.3).
const RANK_AND_FILE: [(i8, i8); 4] = [(1, 0), (-1, 0), (0, 1), (0, -1)];

/// The jumps of a knight: the nearest squares that are on no rank, file or diagonal of its own
/// (FIDE Laws 3.6).
const JUMPS: [(i8, i8); 8] = [
    (1, 2),
    (1, -2),
    (-1, 2),
    (-1, -2),
    (2, 1),
    (2, -1),
    (-2, 1),
    (-2, -1),
];

/// What a pawn can become (FIDE Laws 3.7.3.3).
const PROMOTIONS: [Role; 4] = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];

/// A move as the oracle sees it. Castling goes from the king to its own rook, in standard chess
/// and in Chess960 alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlainMove {
    /// The square that the piece leaves; for castling, that of the king.
    pub from: Square,
    /// The square that the piece reaches; for castling, that of the rook.
    pub to: Square,
    /// What a pawn becomes, where it promotes.
    pub promotion: Option<Role>,
}

impl fmt::Debug for PlainMove {
    /// Writes the move as UCI does in Chess960.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from, self.to)?;
        match self.promotion {
            Some(role) => write!(f, "{}", role.to_char()),
            None => Ok(()),
        }
    }
}

impl From<crate::Move> for PlainMove {
    fn from(mv: crate::Move) -> PlainMove {
        PlainMove {
            from: mv.from(),
            to: mv.to(),
            promotion: mv.promotion(),
        }
    }
}

/// The two sides of a king: towards the a-file and towards the h-file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wing {
    A,
    H,
}

impl Wing {
    const BOTH: [Wing; 2] = [Wing::A, Wing::H];

    /// Returns the wing on which a rook stands, seen from the king.
    fn of(king: Square, rook: Square) -> Wing {
        if rook.file() < king.file() {
            Wing::A
        } else {
            Wing::H
        }
    }

    /// Returns the files on which king and rook arrive (FIDE Laws 3.8.2, guidelines II.3.2).
    fn targets(self) -> (File, File) {
        match self {
            Wing::A => (File::C, File::D),
            Wing::H => (File::G, File::F),
        }
    }
}

/// A position of the oracle.
///
/// Any setup can be made one. Where the setup makes no sense for chess, the moves make as much
/// sense as it does, and nothing panics: rights to castle without their king and rook, and an en
/// passant square that no pawn can have passed over, count for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mailbox {
    squares: [Option<Piece>; 64],
    turn: Color,
    /// The rook with which a side may still castle, by side and wing, as far as king and rook
    /// have not moved (FIDE Laws 3.8.2.1).
    castling: [[Option<Square>; 2]; 2],
    /// The square that a pawn has passed over with its double step in the move before, whether
    /// or not anything can take it there.
    passed: Option<Square>,
    halfmove_clock: u32,
    fullmove_number: u32,
    castling_mode: CastlingMode,
}

impl From<&Setup> for Mailbox {
    fn from(setup: &Setup) -> Mailbox {
        let mut position = Mailbox {
            squares: [None; 64],
            turn: setup.turn,
            castling: [[None; 2]; 2],
            passed: None,
            halfmove_clock: setup.halfmove_clock,
            fullmove_number: setup.fullmove_number,
            castling_mode: setup.castling_mode,
        };
        for square in Square::all() {
            position.squares[square.index()] = setup.board.piece_at(square);
        }
        for color in Color::ALL {
            for wing in Wing::BOTH {
                position.castling[color.index()][wing as usize] =
                    position.rook_with_right(setup, color, wing);
            }
        }
        position.passed = setup
            .en_passant
            .filter(|&square| position.can_have_been_passed(square));
        position
    }
}

/// What a setup says, as far as it makes sense.
impl Mailbox {
    /// Returns the one rook of a wing that the setup gives the right to castle and that stands,
    /// as its king does, where it can have it.
    fn rook_with_right(&self, setup: &Setup, color: Color, wing: Wing) -> Option<Square> {
        let home = home_rank(color);
        let king = self.king(color)?;
        if king.rank() != home {
            return None;
        }
        let mut rooks = Square::all().filter(|&square| {
            setup.castling_rooks.contains(square)
                && square.rank() == home
                && self.holds(square, color, Role::Rook)
                && Wing::of(king, square) == wing
                && self.is_standard_place(king, square)
        });
        let rook = rooks.next()?;
        // A wing has one rook at the start; if two are named, neither is known to be that one.
        match rooks.next() {
            None => Some(rook),
            Some(_) => None,
        }
    }

    /// Whether king and rook stand on their squares of the standard array (FIDE Laws 2.3), which
    /// nobody asks of them in Chess960.
    fn is_standard_place(&self, king: Square, rook: Square) -> bool {
        match self.castling_mode {
            CastlingMode::Chess960 => true,
            CastlingMode::Standard => {
                king.file() == File::E && (rook.file() == File::A || rook.file() == File::H)
            }
        }
    }

    /// Whether a pawn of the side that has just moved can have passed over the square with a
    /// double step (FIDE Laws 3.7.2).
    fn can_have_been_passed(&self, square: Square) -> bool {
        let them = !self.turn;
        let forward = forward(them);
        let (Some(origin), Some(pawn)) = (square.offset(0, -forward), square.offset(0, forward))
        else {
            return false;
        };
        origin.rank() == pawn_rank(them)
            && self.at(origin).is_none()
            && self.at(square).is_none()
            && self.holds(pawn, them, Role::Pawn)
    }

    /// Returns the setup that describes the position. The en passant square is there only where
    /// the capture is legal, as in [`Position::to_setup`](crate::Position::to_setup).
    #[must_use]
    pub fn to_setup(&self) -> Setup {
        let mut setup = Setup::empty(self.castling_mode);
        for square in Square::all() {
            if let Some(piece) = self.at(square) {
                setup.board.put(square, piece);
            }
        }
        setup.turn = self.turn;
        setup.castling_rooks = self.castling.iter().flatten().flatten().copied().collect();
        setup.en_passant = self.en_passant();
        setup.halfmove_clock = self.halfmove_clock;
        setup.fullmove_number = self.fullmove_number;
        setup
    }
}

/// What stands on the board and what it attacks.
impl Mailbox {
    /// Returns the side to move.
    #[must_use]
    pub fn turn(&self) -> Color {
        self.turn
    }

    /// Returns the piece on a square, or `None` where it is empty.
    #[must_use]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        self.at(square)
    }

    fn at(&self, square: Square) -> Option<Piece> {
        self.squares[square.index()]
    }

    fn holds(&self, square: Square, color: Color, role: Role) -> bool {
        self.at(square) == Some(Piece { color, role })
    }

    fn is_enemy(&self, square: Square) -> bool {
        self.at(square)
            .is_some_and(|piece| piece.color != self.turn)
    }

    /// Returns the square of the only king of a side, or `None` where it has none or several.
    fn king(&self, color: Color) -> Option<Square> {
        let mut kings = Square::all().filter(|&square| self.holds(square, color, Role::King));
        let king = kings.next()?;
        match kings.next() {
            None => Some(king),
            Some(_) => None,
        }
    }

    /// Calls `visit` with every square that the piece on `from` attacks, empty or not (FIDE Laws
    /// 3.1.2); nothing where no piece stands there.
    fn attacks_from(&self, from: Square, mut visit: impl FnMut(Square)) {
        let Some(piece) = self.at(from) else {
            return;
        };
        let mut step = |steps: &[(i8, i8)]| {
            for &(files, ranks) in steps {
                if let Some(to) = from.offset(files, ranks) {
                    visit(to);
                }
            }
        };
        match piece.role {
            Role::Pawn => {
                let forward = forward(piece.color);
                step(&[(-1, forward), (1, forward)]);
            }
            Role::Knight => step(&JUMPS),
            Role::King => {
                step(&DIAGONALS);
                step(&RANK_AND_FILE);
            }
            Role::Bishop => self.walk(from, &DIAGONALS, &mut visit),
            Role::Rook => self.walk(from, &RANK_AND_FILE, &mut visit),
            Role::Queen => {
                self.walk(from, &DIAGONALS, &mut visit);
                self.walk(from, &RANK_AND_FILE, &mut visit);
            }
        }
    }

    /// Walks each line up to the first piece, which is attacked, too; no piece may move over
    /// another (FIDE Laws 3.5).
    fn walk(&self, from: Square, directions: &[(i8, i8)], visit: &mut impl FnMut(Square)) {
        for &(files, ranks) in directions {
            let mut at = from;
            while let Some(next) = at.offset(files, ranks) {
                visit(next);
                if self.at(next).is_some() {
                    break;
                }
                at = next;
            }
        }
    }

    /// Returns whether a side attacks a square. An attack counts even from a piece that could not
    /// move there because its own king would be exposed (FIDE Laws 3.1.3).
    #[must_use]
    pub fn is_attacked(&self, square: Square, by: Color) -> bool {
        let mut attacked = false;
        for from in Square::all() {
            if self.at(from).is_some_and(|piece| piece.color == by) {
                self.attacks_from(from, |to| attacked |= to == square);
            }
            if attacked {
                break;
            }
        }
        attacked
    }

    /// Whether the opponent of a side could capture its king.
    fn is_king_exposed(&self, color: Color) -> bool {
        Square::all()
            .any(|square| self.holds(square, color, Role::King) && self.is_attacked(square, !color))
    }

    /// Returns whether the side to move is in check (FIDE Laws 3.9.1).
    #[must_use]
    pub fn is_check(&self) -> bool {
        self.is_king_exposed(self.turn)
    }
}

/// Moves.
impl Mailbox {
    /// Lists the legal moves, in no particular order: those that the articles 3.2 to 3.8 allow
    /// and that leave no own king to be captured (FIDE Laws 3.9.2, 3.10.1).
    #[must_use]
    pub fn legal_moves(&self) -> Vec<PlainMove> {
        let mut moves = self.pseudo_legal_moves();
        moves.retain(|&mv| !self.after_unchecked(mv).is_king_exposed(self.turn));
        moves
    }

    /// Returns whether a move is legal.
    #[must_use]
    pub fn is_legal(&self, mv: PlainMove) -> bool {
        self.legal_moves().contains(&mv)
    }

    /// Returns whether the side to move is checkmated (FIDE Laws 5.1.1).
    #[must_use]
    pub fn is_checkmate(&self) -> bool {
        self.is_check() && self.legal_moves().is_empty()
    }

    /// Returns whether the side to move is stalemated (FIDE Laws 5.2.1).
    #[must_use]
    pub fn is_stalemate(&self) -> bool {
        !self.is_check() && self.legal_moves().is_empty()
    }

    /// Returns the square on which a pawn can be taken en passant by a legal move, or `None`.
    #[must_use]
    pub fn en_passant(&self) -> Option<Square> {
        let square = self.passed?;
        let takes = |mv: PlainMove| mv.to == square && self.holds(mv.from, self.turn, Role::Pawn);
        self.legal_moves().into_iter().any(takes).then_some(square)
    }

    /// Counts the games of `depth` moves (of either side) that begin here: 1 for a depth of 0.
    /// Takes time that grows with the count: about a second for two or three million.
    #[must_use]
    pub fn perft(&self, depth: u32) -> u128 {
        match depth {
            0 => 1,
            1 => self.legal_moves().len() as u128,
            _ => self
                .legal_moves()
                .into_iter()
                .map(|mv| self.after_unchecked(mv).perft(depth - 1))
                .sum(),
        }
    }

    /// Lists the moves that the articles allow when the safety of the own king is left out of
    /// account, except on the way of castling (3.8.2.2.1).
    fn pseudo_legal_moves(&self) -> Vec<PlainMove> {
        let mut moves = Vec::new();
        for from in Square::all() {
            match self.at(from) {
                Some(piece) if piece.color == self.turn => match piece.role {
                    Role::Pawn => self.pawn_moves(from, &mut moves),
                    _ => self.piece_moves(from, &mut moves),
                },
                _ => {}
            }
        }
        self.castling_moves(&mut moves);
        moves
    }

    /// A piece other than a pawn goes to a square that it attacks and that no own piece holds
    /// (FIDE Laws 3.1); a king is never captured (1.4.1).
    fn piece_moves(&self, from: Square, moves: &mut Vec<PlainMove>) {
        self.attacks_from(from, |to| {
            if self.at(to).is_none() || self.can_be_captured(to) {
                moves.push(PlainMove {
                    from,
                    to,
                    promotion: None,
                });
            }
        });
    }

    fn can_be_captured(&self, square: Square) -> bool {
        self.is_enemy(square) && !self.holds(square, !self.turn, Role::King)
    }

    /// A pawn steps ahead, steps twice from its original square, captures diagonally, captures en
    /// passant (FIDE Laws 3.7.1 to 3.7.3.2).
    fn pawn_moves(&self, from: Square, moves: &mut Vec<PlainMove>) {
        let forward = forward(self.turn);
        if let Some(one) = from.offset(0, forward).filter(|&to| self.at(to).is_none()) {
            push_pawn_move(from, one, moves);
            if from.rank() == pawn_rank(self.turn)
                && let Some(two) = one.offset(0, forward).filter(|&to| self.at(to).is_none())
            {
                push_pawn_move(from, two, moves);
            }
        }
        self.attacks_from(from, |to| {
            if self.can_be_captured(to) || self.passed == Some(to) {
                push_pawn_move(from, to, moves);
            }
        });
    }

    /// King and rook castle (FIDE Laws 3.8.2, guidelines II.3.2).
    fn castling_moves(&self, moves: &mut Vec<PlainMove>) {
        let Some(king) = self.king(self.turn) else {
            return;
        };
        for rook in self.castling[self.turn.index()].into_iter().flatten() {
            if self.is_castling_free(king, rook) {
                moves.push(PlainMove {
                    from: king,
                    to: rook,
                    promotion: None,
                });
            }
        }
    }

    /// Whether nothing prevents castling for now: the squares that king and rook pass and reach
    /// hold none but the two (3.8.2.2.2, guidelines II.3.2.7.2), and no enemy attacks the square
    /// of the king or one that it passes or reaches (3.8.2.2.1, II.3.2.7.1).
    fn is_castling_free(&self, king: Square, rook: Square) -> bool {
        let (king_to, rook_to) = castling_targets(king, rook);
        let is_vacant =
            |square: Square| square == king || square == rook || self.at(square).is_none();
        stretch(king, king_to)
            .all(|square| is_vacant(square) && !self.is_attacked(square, !self.turn))
            && stretch(rook, rook_to).all(is_vacant)
    }

    /// Returns the position after a move that is legal; what any other move makes of it is not
    /// chess.
    #[must_use]
    pub fn after_unchecked(&self, mv: PlainMove) -> Mailbox {
        let mut next = self.clone();
        let us = self.turn;
        let moved = self.at(mv.from);
        let is_pawn = self.holds(mv.from, us, Role::Pawn);
        let is_capture = self.is_enemy(mv.to);

        next.squares[mv.from.index()] = None;
        if self.is_castling(mv) {
            let (king_to, rook_to) = castling_targets(mv.from, mv.to);
            next.squares[mv.to.index()] = None;
            next.squares[king_to.index()] = moved;
            next.squares[rook_to.index()] = self.at(mv.to);
        } else {
            next.squares[mv.to.index()] = match mv.promotion {
                Some(role) => Some(Piece { color: us, role }),
                None => moved,
            };
        }
        if is_pawn
            && self.passed == Some(mv.to)
            && let Some(taken) = mv.to.offset(0, -forward(us))
        {
            next.squares[taken.index()] = None;
        }

        next.passed = self.passed_by(mv);
        if self.holds(mv.from, us, Role::King) {
            next.castling[us.index()] = [None; 2];
        }
        for right in next.castling.iter_mut().flatten() {
            // Either the rook has moved, or it has been captured.
            if *right == Some(mv.from) || *right == Some(mv.to) {
                *right = None;
            }
        }
        // The fifty moves of 9.3 are those without a capture and without a move of a pawn.
        next.halfmove_clock = if is_pawn || is_capture {
            0
        } else {
            self.halfmove_clock.saturating_add(1)
        };
        if us == Color::Black {
            next.fullmove_number = self.fullmove_number.saturating_add(1);
        }
        next.turn = !us;
        next
    }

    /// Whether the move goes from a king to a piece of its own side.
    fn is_castling(&self, mv: PlainMove) -> bool {
        self.holds(mv.from, self.turn, Role::King) && self.holds(mv.to, self.turn, Role::Rook)
    }

    /// Returns the square that a pawn passes over when it makes a double step.
    fn passed_by(&self, mv: PlainMove) -> Option<Square> {
        if !self.holds(mv.from, self.turn, Role::Pawn) {
            return None;
        }
        let over = mv.from.offset(0, forward(self.turn))?;
        let two = over.offset(0, forward(self.turn))?;
        (mv.to == two).then_some(over)
    }
}

/// The rank of the pieces at the start (FIDE Laws 2.3).
fn home_rank(color: Color) -> Rank {
    match color {
        Color::White => Rank::FIRST,
        Color::Black => Rank::EIGHTH,
    }
}

/// The rank of the pawns at the start.
fn pawn_rank(color: Color) -> Rank {
    Rank::relative(color, 1)
}

/// Which way the pawns of a side go.
fn forward(color: Color) -> i8 {
    match color {
        Color::White => 1,
        Color::Black => -1,
    }
}

/// A pawn that reaches the rank furthest from its starting position must be exchanged (FIDE Laws
/// 3.7.3.3).
fn push_pawn_move(from: Square, to: Square, moves: &mut Vec<PlainMove>) {
    let mut push = |promotion| {
        moves.push(PlainMove {
            from,
            to,
            promotion,
        })
    };
    if to.rank() == Rank::FIRST || to.rank() == Rank::EIGHTH {
        PROMOTIONS.into_iter().map(Some).for_each(push);
    } else {
        push(None);
    }
}

/// Where king and rook arrive when they castle.
fn castling_targets(king: Square, rook: Square) -> (Square, Square) {
    let (king_file, rook_file) = Wing::of(king, rook).targets();
    (
        Square::at(king_file, king.rank()),
        Square::at(rook_file, king.rank()),
    )
}

/// The squares of one rank from one square to another, both included.
fn stretch(a: Square, b: Square) -> impl Iterator<Item = Square> {
    let files = a.file().min(b.file())..=b.file().max(a.file());
    Square::all().filter(move |square| square.rank() == a.rank() && files.contains(&square.file()))
}
