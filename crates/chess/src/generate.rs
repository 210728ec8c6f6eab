//! Legal moves: only legal ones are made, with masks of pins and checks, never tried and undone.

use crate::moves::{Move, MoveKind, MoveList, Writer};
use crate::rays::{between, king_attacks, knight_attacks, line, pawn_attacks};
use crate::sliders::{Portable, Sliders, WithSliders, with_sliders};
use crate::{Bitboard, Color, File, Position, Role, Square};

/// Something that takes moves as sets, and comes to a result.
trait Receiver {
    /// What comes of it.
    type Output;

    /// A piece on `from` can go to each square of `to`.
    fn piece(&mut self, from: Square, to: Bitboard);

    /// A pawn can go to each square of `to` from the square `step` lower; no pawn promotes.
    fn pawns(&mut self, to: Bitboard, step: i8, kind: MoveKind);

    /// A pawn can go to each square of `to` from the square `step` lower, and promotes there.
    fn promotions(&mut self, to: Bitboard, step: i8);

    /// A pawn on each square of `from` can take en passant on `to`.
    fn en_passant(&mut self, from: Bitboard, to: Square);

    /// The king on `king` can castle with each rook of `rooks`.
    fn castles(&mut self, king: Square, rooks: Bitboard);

    /// Whether nothing more needs to be known.
    #[inline(always)]
    fn is_done(&self) -> bool {
        false
    }

    /// Comes to the result.
    fn finish(self) -> Self::Output;
}

impl Receiver for Writer<'_> {
    type Output = ();

    #[inline(always)]
    fn piece(&mut self, from: Square, to: Bitboard) {
        self.push_piece(from, to, MoveKind::Ordinary);
    }

    #[inline(always)]
    fn pawns(&mut self, to: Bitboard, step: i8, kind: MoveKind) {
        self.push_steps(to, step, kind);
    }

    #[inline(always)]
    fn promotions(&mut self, to: Bitboard, step: i8) {
        for role in Role::PROMOTIONS {
            self.push_steps(to, step, MoveKind::Promotion(role));
        }
    }

    #[inline(always)]
    fn en_passant(&mut self, from: Bitboard, to: Square) {
        for from in from {
            self.push_piece(from, Bitboard::of(to), MoveKind::EnPassant);
        }
    }

    #[inline(always)]
    fn castles(&mut self, king: Square, rooks: Bitboard) {
        self.push_piece(king, rooks, MoveKind::Castle);
    }

    #[inline(always)]
    fn finish(self) {
        Writer::finish(self);
    }
}

#[inline(always)]
fn behind(to: Square, step: i8) -> Square {
    Square::from_low_bits((to.index() as u8).wrapping_sub(step as u8))
}

/// Counts moves without listing them.
struct Counter(u32);

impl Receiver for Counter {
    type Output = u32;

    #[inline(always)]
    fn piece(&mut self, _from: Square, to: Bitboard) {
        self.0 += to.count();
    }

    #[inline(always)]
    fn pawns(&mut self, to: Bitboard, _step: i8, _kind: MoveKind) {
        self.0 += to.count();
    }

    #[inline(always)]
    fn promotions(&mut self, to: Bitboard, _step: i8) {
        self.0 += 4 * to.count();
    }

    #[inline(always)]
    fn en_passant(&mut self, from: Bitboard, _to: Square) {
        self.0 += from.count();
    }

    #[inline(always)]
    fn castles(&mut self, _king: Square, rooks: Bitboard) {
        self.0 += rooks.count();
    }

    #[inline(always)]
    fn finish(self) -> u32 {
        self.0
    }
}

/// Finds out whether there is any move, and stops at the first.
struct Finder(bool);

impl Receiver for Finder {
    type Output = bool;

    #[inline(always)]
    fn piece(&mut self, _from: Square, to: Bitboard) {
        self.0 |= to.any();
    }

    #[inline(always)]
    fn pawns(&mut self, to: Bitboard, _step: i8, _kind: MoveKind) {
        self.0 |= to.any();
    }

    #[inline(always)]
    fn promotions(&mut self, to: Bitboard, _step: i8) {
        self.0 |= to.any();
    }

    #[inline(always)]
    fn en_passant(&mut self, from: Bitboard, _to: Square) {
        self.0 |= from.any();
    }

    #[inline(always)]
    fn castles(&mut self, _king: Square, rooks: Bitboard) {
        self.0 |= rooks.any();
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.0
    }

    #[inline(always)]
    fn finish(self) -> bool {
        self.0
    }
}

/// Finds out whether a move is among the others.
struct Seeker {
    mv: Move,
    found: bool,
}

impl Receiver for Seeker {
    type Output = bool;

    #[inline(always)]
    fn piece(&mut self, from: Square, to: Bitboard) {
        self.found |= from == self.mv.from()
            && to.contains(self.mv.to())
            && self.mv.kind() == MoveKind::Ordinary;
    }

    #[inline(always)]
    fn pawns(&mut self, to: Bitboard, step: i8, kind: MoveKind) {
        self.found |= behind(self.mv.to(), step) == self.mv.from()
            && to.contains(self.mv.to())
            && self.mv.kind() == kind;
    }

    #[inline(always)]
    fn promotions(&mut self, to: Bitboard, step: i8) {
        self.found |= behind(self.mv.to(), step) == self.mv.from()
            && to.contains(self.mv.to())
            && self.mv.promotion().is_some();
    }

    #[inline(always)]
    fn en_passant(&mut self, from: Bitboard, to: Square) {
        self.found |= from.contains(self.mv.from())
            && to == self.mv.to()
            && self.mv.kind() == MoveKind::EnPassant;
    }

    #[inline(always)]
    fn castles(&mut self, king: Square, rooks: Bitboard) {
        self.found |= king == self.mv.from()
            && rooks.contains(self.mv.to())
            && self.mv.kind() == MoveKind::Castle;
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.found
    }

    #[inline(always)]
    fn finish(self) -> bool {
        self.found
    }
}

/// The moves of one position, of the pieces on `from` only, for a receiver.
struct Generation<'a, R> {
    position: &'a Position,
    from: Bitboard,
    receiver: R,
}

impl<R: Receiver> WithSliders for Generation<'_, R> {
    type Output = R::Output;

    #[inline(always)]
    fn run<S: Sliders>(self, sliders: S) -> R::Output {
        let mut receiver = self.receiver;
        match self.position.turn() {
            Color::White => {
                Generator::<S, true>::new(self.position, sliders, self.from).run(&mut receiver);
            }
            Color::Black => {
                Generator::<S, false>::new(self.position, sliders, self.from).run(&mut receiver);
            }
        }
        receiver.finish()
    }
}

/// What a generation knows of its position before it starts.
struct Generator<'a, S, const WHITE: bool> {
    position: &'a Position,
    sliders: S,
    king: Square,
    occupied: Bitboard,
    /// Where a piece other than the king can go as far as checks are concerned: a single check is
    /// met by taking the piece that gives it, or by standing in between (FIDE Laws 3.9).
    goal: Bitboard,
    from: Bitboard,
}

impl<'a, S: Sliders, const WHITE: bool> Generator<'a, S, WHITE> {
    const US: Color = if WHITE { Color::White } else { Color::Black };
    const THEM: Color = if WHITE { Color::Black } else { Color::White };

    #[inline(always)]
    fn new(position: &'a Position, sliders: S, from: Bitboard) -> Self {
        let king = position.king(Self::US);
        let goal = match position.checkers().first() {
            None => !position.board().color(Self::US),
            Some(checker) => Bitboard::of(checker) | between(king, checker),
        };
        // A king is never captured (1.4.1). It could be only after an illegal move that stood.
        let goal = goal - position.board().pieces(Self::THEM, Role::King);
        let occupied = position.board().occupied();
        Generator {
            position,
            sliders,
            king,
            occupied,
            goal,
            from,
        }
    }

    #[inline(always)]
    fn run<R: Receiver>(&self, receiver: &mut R) {
        if !self.position.checkers().more_than_one() {
            self.pieces(receiver);
            if !receiver.is_done() {
                self.pawns(receiver);
            }
        }
        if self.from.contains(self.king) && !receiver.is_done() {
            let danger = self.danger();
            let own = self.position.board().color(Self::US);
            let kings = self.position.board().role(Role::King);
            receiver.piece(self.king, king_attacks(self.king) - own - kings - danger);
            let rooks = self.position.castling_rooks() & own;
            if rooks.any() && self.position.checkers().is_empty() {
                self.castles(rooks, danger, receiver);
            }
        }
    }

    /// The pieces of a kind that may move.
    #[inline(always)]
    fn ours(&self, role: Role) -> Bitboard {
        self.position.board().pieces(Self::US, role) & self.from
    }

    /// Knights, bishops, rooks and queens.
    #[inline(always)]
    fn pieces<R: Receiver>(&self, receiver: &mut R) {
        let pinned = self.position.pinned();
        // A pinned knight never stays on the line of its pin.
        for from in self.ours(Role::Knight) - pinned {
            receiver.piece(from, knight_attacks(from) & self.goal);
        }
        let bishops = self.ours(Role::Bishop);
        for from in bishops - pinned {
            receiver.piece(from, self.sliders.bishop(from, self.occupied) & self.goal);
        }
        let rooks = self.ours(Role::Rook);
        for from in rooks - pinned {
            receiver.piece(from, self.sliders.rook(from, self.occupied) & self.goal);
        }
        let queens = self.ours(Role::Queen);
        for from in queens - pinned {
            receiver.piece(from, self.sliders.queen(from, self.occupied) & self.goal);
        }
        if pinned.any() {
            for from in (bishops | rooks | queens) & pinned {
                receiver.piece(from, self.pinned_slider(from));
            }
        }
    }

    /// Where a pinned bishop, rook or queen can go: along the line of its pin, if it moves so.
    #[inline(always)]
    fn pinned_slider(&self, from: Square) -> Bitboard {
        let board = self.position.board();
        let queens = board.role(Role::Queen);
        let mut to = Bitboard::EMPTY;
        if (board.role(Role::Bishop) | queens).contains(from) {
            to |= self.sliders.bishop(from, self.occupied);
        }
        if (board.role(Role::Rook) | queens).contains(from) {
            to |= self.sliders.rook(from, self.occupied);
        }
        to & self.goal & line(self.king, from)
    }

    #[inline(always)]
    fn pawns<R: Receiver>(&self, receiver: &mut R) {
        let pawns = self.ours(Role::Pawn);
        let pinned = self.position.pinned();
        self.pawn_set(pawns - pinned, self.goal, receiver);
        if pinned.any() {
            for from in pawns & pinned {
                let goal = self.goal & line(self.king, from);
                self.pawn_set(Bitboard::of(from), goal, receiver);
            }
        }
        if let Some(to) = self.position.en_passant() {
            receiver.en_passant(self.en_passant_takers(pawns, to), to);
        }
    }

    /// The steps and captures of some pawns to the squares of `goal`, without en passant.
    #[inline(always)]
    fn pawn_set<R: Receiver>(&self, pawns: Bitboard, goal: Bitboard, receiver: &mut R) {
        let step = if WHITE { 8 } else { -8 };
        let third = Bitboard(if WHITE {
            0x0000_0000_00ff_0000
        } else {
            0x0000_ff00_0000_0000
        });
        let single = pawns.forward(Self::US) - self.occupied;
        let double = (single & third).forward(Self::US) - self.occupied;
        let enemies = self.position.board().color(Self::THEM) & goal;
        let left = pawns.left().forward(Self::US) & enemies;
        let right = pawns.right().forward(Self::US) & enemies;
        let single = single & goal;
        receiver.pawns(single - Bitboard::BACK_RANKS, step, MoveKind::Ordinary);
        receiver.pawns(double & goal, 2 * step, MoveKind::DoubleStep);
        receiver.pawns(left - Bitboard::BACK_RANKS, step - 1, MoveKind::Ordinary);
        receiver.pawns(right - Bitboard::BACK_RANKS, step + 1, MoveKind::Ordinary);
        if ((single | left | right) & Bitboard::BACK_RANKS).any() {
            receiver.promotions(single & Bitboard::BACK_RANKS, step);
            receiver.promotions(left & Bitboard::BACK_RANKS, step - 1);
            receiver.promotions(right & Bitboard::BACK_RANKS, step + 1);
        }
    }

    /// The pawns that can take en passant.
    #[cold]
    fn en_passant_takers(&self, pawns: Bitboard, to: Square) -> Bitboard {
        let takers = (pawn_attacks(Self::THEM, to) & pawns).into_iter();
        takers
            .filter(|&from| self.position.is_en_passant_safe(self.sliders, from, to))
            .collect()
    }

    /// The squares that the king cannot go to, since an enemy attacks them.
    #[inline(always)]
    fn danger(&self) -> Bitboard {
        let board = self.position.board();
        let enemies = board.color(Self::THEM);
        let pawns = (enemies & board.role(Role::Pawn)).forward(Self::THEM);
        let mut danger =
            pawns.left() | pawns.right() | king_attacks(self.position.king(Self::THEM));
        for from in enemies & board.role(Role::Knight) {
            danger |= knight_attacks(from);
        }
        // The king itself shields no square behind it from a slider.
        let occupied = self.occupied ^ Bitboard::of(self.king);
        let queens = board.role(Role::Queen);
        for from in enemies & (board.role(Role::Bishop) | queens) {
            danger |= self.sliders.bishop(from, occupied);
        }
        for from in enemies & (board.role(Role::Rook) | queens) {
            danger |= self.sliders.rook(from, occupied);
        }
        danger
    }

    #[inline(always)]
    fn castles<R: Receiver>(&self, rooks: Bitboard, danger: Bitboard, receiver: &mut R) {
        let able = rooks
            .into_iter()
            .filter(|&rook| self.can_castle(rook, danger));
        receiver.castles(self.king, able.collect());
    }

    /// Whether nothing bars castling for now (FIDE Laws 3.8.2.2, guidelines II.3.2.7).
    #[inline(always)]
    fn can_castle(&self, rook: Square, danger: Bitboard) -> bool {
        let (king_to, rook_to) = castle_targets(self.king, rook);
        let movers = Bitboard::of(self.king) | Bitboard::of(rook);
        let king_path = between(self.king, king_to) | Bitboard::of(king_to);
        let rook_path = between(rook, rook_to) | Bitboard::of(rook_to);
        let others = self.occupied - movers;
        if ((king_path | rook_path) & others | king_path & danger).any() {
            return false;
        }
        // In Chess960 the rook may have shielded the square of arrival along the first rank.
        let corners = Bitboard::file(File::A) | Bitboard::file(File::H);
        corners.contains(rook) || self.is_safe_after_castling(king_to, rook_to, others)
    }

    #[cold]
    fn is_safe_after_castling(&self, king: Square, rook: Square, others: Bitboard) -> bool {
        let occupied = others | Bitboard::of(rook);
        let board = self.position.board();
        let straight = board.role(Role::Rook) | board.role(Role::Queen);
        (self.sliders.rook(king, occupied) & straight & board.color(Self::THEM)).is_empty()
    }
}

/// Returns where king and rook end when they castle: on the c- and d-file, or on the g- and
/// f-file (FIDE Laws 3.8.2, guidelines II.3.2).
#[inline]
#[must_use]
pub(crate) fn castle_targets(king: Square, rook: Square) -> (Square, Square) {
    let rank = king.rank();
    if rook > king {
        (Square::at(File::G, rank), Square::at(File::F, rank))
    } else {
        (Square::at(File::C, rank), Square::at(File::D, rank))
    }
}

impl Position {
    /// Lists the legal moves. Draws and the end of a game by other rules than mate and stalemate
    /// do not matter here.
    ///
    /// ```
    /// use referee_chess::Position;
    ///
    /// assert_eq!(Position::startpos().legal_moves().len(), 20);
    /// ```
    #[inline]
    #[must_use]
    pub fn legal_moves(&self) -> MoveList {
        let mut moves = MoveList::new();
        self.list_legal_moves(&mut moves);
        moves
    }

    /// Lists the legal moves in place of what was in the list.
    ///
    /// ```
    /// use referee_chess::{MoveList, Position};
    ///
    /// let mut moves = MoveList::new();
    /// Position::startpos().list_legal_moves(&mut moves);
    /// assert_eq!(moves.len(), 20);
    /// ```
    #[inline]
    pub fn list_legal_moves(&self, moves: &mut MoveList) {
        with_sliders(self.generation(Bitboard::FULL, Writer::new(moves)));
    }

    /// Lists the legal moves with the portable sliders, whatever the processor can do. For tests
    /// and comparison; the moves are those of [`legal_moves`](Self::legal_moves).
    #[must_use]
    pub fn legal_moves_portable(&self) -> MoveList {
        let mut moves = MoveList::new();
        let writer = Writer::new(&mut moves);
        self.generation(Bitboard::FULL, writer).run(Portable);
        moves
    }

    /// Lists the legal moves of the pieces on some squares.
    #[must_use]
    pub fn legal_moves_from(&self, squares: Bitboard) -> MoveList {
        let mut moves = MoveList::new();
        with_sliders(self.generation(squares, Writer::new(&mut moves)));
        moves
    }

    /// Counts the legal moves without listing them.
    #[inline]
    #[must_use]
    pub fn count_legal_moves(&self) -> u32 {
        with_sliders(self.generation(Bitboard::FULL, Counter(0)))
    }

    /// Returns whether the side to move has a legal move.
    #[must_use]
    pub fn has_legal_moves(&self) -> bool {
        with_sliders(self.generation(Bitboard::FULL, Finder(false)))
    }

    /// Returns whether a move is legal here.
    #[must_use]
    pub fn is_legal(&self, mv: Move) -> bool {
        let seeker = Seeker { mv, found: false };
        with_sliders(self.generation(Bitboard::of(mv.from()), seeker))
    }

    #[inline(always)]
    fn generation<R: Receiver>(&self, from: Bitboard, receiver: R) -> Generation<'_, R> {
        Generation {
            position: self,
            from,
            receiver,
        }
    }
}
