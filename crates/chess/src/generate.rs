//! Legal moves: only legal ones are made, with masks of pins and checks, never tried and undone.

use crate::moves::{Move, MoveKind, MoveList};
use crate::rays::{between, king_attacks, knight_attacks, line, pawn_attacks};
use crate::sliders::{Sliders, WithSliders, with_sliders};
use crate::{Bitboard, Color, Position, Role, Square};

/// Something that takes moves as sets.
trait Receiver {
    /// A piece on `from` can go to each square of `to`.
    fn piece(&mut self, from: Square, to: Bitboard);

    /// A pawn can go to each square of `to` from the square `step` lower; no pawn promotes.
    fn pawns(&mut self, to: Bitboard, step: i8, kind: MoveKind);

    /// A pawn can go to each square of `to` from the square `step` lower, and promotes there.
    fn promotions(&mut self, to: Bitboard, step: i8);

    /// A single move of another kind.
    fn single(&mut self, mv: Move);

    /// Whether nothing more needs to be known.
    #[inline(always)]
    fn is_done(&self) -> bool {
        false
    }
}

impl Receiver for MoveList {
    #[inline(always)]
    fn piece(&mut self, from: Square, to: Bitboard) {
        for to in to {
            self.push(Move::new(from, to, MoveKind::Ordinary));
        }
    }

    #[inline(always)]
    fn pawns(&mut self, to: Bitboard, step: i8, kind: MoveKind) {
        for to in to {
            self.push(Move::new(behind(to, step), to, kind));
        }
    }

    #[inline(always)]
    fn promotions(&mut self, to: Bitboard, step: i8) {
        for to in to {
            for role in Role::PROMOTIONS {
                self.push(Move::new(behind(to, step), to, MoveKind::Promotion(role)));
            }
        }
    }

    #[inline(always)]
    fn single(&mut self, mv: Move) {
        self.push(mv);
    }
}

#[inline(always)]
fn behind(to: Square, step: i8) -> Square {
    Square::from_low_bits((to.index() as u8).wrapping_sub(step as u8))
}

/// Counts moves without listing them.
struct Counter(u32);

impl Receiver for Counter {
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
    fn single(&mut self, _mv: Move) {
        self.0 += 1;
    }
}

/// Finds out whether there is any move, and stops at the first.
struct Finder(bool);

impl Receiver for Finder {
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
    fn single(&mut self, _mv: Move) {
        self.0 = true;
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.0
    }
}

/// The moves of one position, of the pieces on `from` only.
struct Generation<'a, R> {
    position: &'a Position,
    from: Bitboard,
    receiver: &'a mut R,
}

impl<R: Receiver> WithSliders for Generation<'_, R> {
    type Output = ();

    #[inline]
    fn run<S: Sliders>(self, sliders: S) {
        match self.position.turn() {
            Color::White => {
                Generator::<S, true>::new(self.position, sliders, self.from).run(self.receiver);
            }
            Color::Black => {
                Generator::<S, false>::new(self.position, sliders, self.from).run(self.receiver);
            }
        }
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
            self.knights(receiver);
            self.bishops_and_rooks(receiver);
            if !receiver.is_done() {
                self.pawns(receiver);
            }
        }
        if self.from.contains(self.king) && !receiver.is_done() {
            self.king_steps(receiver);
            if self.position.checkers().is_empty() {
                self.castles(receiver);
            }
        }
    }

    /// The pieces of a kind that may move.
    #[inline(always)]
    fn ours(&self, role: Role) -> Bitboard {
        self.position.board().pieces(Self::US, role) & self.from
    }

    #[inline(always)]
    fn knights<R: Receiver>(&self, receiver: &mut R) {
        // A pinned knight never stays on the line of its pin.
        for from in self.ours(Role::Knight) - self.position.pinned() {
            receiver.piece(from, knight_attacks(from) & self.goal);
        }
    }

    #[inline(always)]
    fn bishops_and_rooks<R: Receiver>(&self, receiver: &mut R) {
        let pinned = self.position.pinned();
        let queens = self.ours(Role::Queen);
        for from in self.ours(Role::Bishop) | queens {
            let to = self.sliders.bishop(from, self.occupied) & self.goal;
            receiver.piece(from, self.on_pin_line(pinned, from, to));
        }
        for from in self.ours(Role::Rook) | queens {
            let to = self.sliders.rook(from, self.occupied) & self.goal;
            receiver.piece(from, self.on_pin_line(pinned, from, to));
        }
    }

    #[inline(always)]
    fn on_pin_line(&self, pinned: Bitboard, from: Square, to: Bitboard) -> Bitboard {
        if pinned.contains(from) {
            to & line(self.king, from)
        } else {
            to
        }
    }

    #[inline(always)]
    fn pawns<R: Receiver>(&self, receiver: &mut R) {
        let pawns = self.ours(Role::Pawn);
        let pinned = self.position.pinned();
        self.pawn_set(pawns - pinned, self.goal, receiver);
        for from in pawns & pinned {
            self.pawn_set(
                Bitboard::of(from),
                self.goal & line(self.king, from),
                receiver,
            );
        }
        if let Some(to) = self.position.en_passant() {
            self.en_passant(pawns, to, receiver);
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

    #[cold]
    fn en_passant<R: Receiver>(&self, pawns: Bitboard, to: Square, receiver: &mut R) {
        for from in pawn_attacks(Self::THEM, to) & pawns {
            if self.position.is_en_passant_safe(self.sliders, from, to) {
                receiver.single(Move::new(from, to, MoveKind::EnPassant));
            }
        }
    }

    #[inline(always)]
    fn king_steps<R: Receiver>(&self, receiver: &mut R) {
        let board = self.position.board();
        // The king itself shields no square behind it from a slider.
        let occupied = self.occupied ^ Bitboard::of(self.king);
        let mut safe = Bitboard::EMPTY;
        for to in king_attacks(self.king) - board.color(Self::US) {
            if board
                .attackers(self.sliders, to, Self::THEM, occupied)
                .is_empty()
            {
                safe |= Bitboard::of(to);
            }
        }
        receiver.piece(self.king, safe);
    }

    #[inline(always)]
    fn castles<R: Receiver>(&self, receiver: &mut R) {
        for rook in self.position.castling_rooks() & self.position.board().color(Self::US) {
            if self.can_castle(rook) {
                receiver.single(Move::new(self.king, rook, MoveKind::Castle));
            }
        }
    }

    /// Whether nothing bars castling for now (FIDE Laws 3.8.2.2, guidelines II.3.2.7).
    fn can_castle(&self, rook: Square) -> bool {
        let (king_to, rook_to) = castle_targets(self.king, rook);
        let movers = Bitboard::of(self.king) | Bitboard::of(rook);
        let king_path = between(self.king, king_to) | Bitboard::of(king_to);
        let rook_path = between(rook, rook_to) | Bitboard::of(rook_to);
        let others = self.occupied ^ movers;
        if ((king_path | rook_path) & others).any() {
            return false;
        }
        let board = self.position.board();
        let is_safe = |square: Square, occupied: Bitboard| {
            board
                .attackers(self.sliders, square, Self::THEM, occupied)
                .is_empty()
        };
        // The rook may have shielded the square of arrival, which happens in Chess960 only.
        king_path
            .into_iter()
            .all(|square| is_safe(square, self.occupied - Bitboard::of(self.king)))
            && is_safe(king_to, others | Bitboard::of(rook_to))
    }
}

/// Returns where king and rook end when they castle: on the c- and d-file, or on the g- and
/// f-file (FIDE Laws 3.8.2, guidelines II.3.2).
#[inline]
#[must_use]
pub(crate) fn castle_targets(king: Square, rook: Square) -> (Square, Square) {
    use crate::File;
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
        with_sliders(Generation {
            position: self,
            from: Bitboard::FULL,
            receiver: &mut moves,
        });
        moves
    }

    /// Lists the legal moves with the portable sliders, whatever the processor can do. For tests
    /// and comparison; the moves are those of [`legal_moves`](Self::legal_moves).
    #[must_use]
    pub fn legal_moves_portable(&self) -> MoveList {
        let mut moves = MoveList::new();
        Generation {
            position: self,
            from: Bitboard::FULL,
            receiver: &mut moves,
        }
        .run(crate::sliders::Portable);
        moves
    }

    /// Lists the legal moves of the pieces on some squares.
    #[must_use]
    pub fn legal_moves_from(&self, squares: Bitboard) -> MoveList {
        let mut moves = MoveList::new();
        with_sliders(Generation {
            position: self,
            from: squares,
            receiver: &mut moves,
        });
        moves
    }

    /// Counts the legal moves without listing them.
    #[inline]
    #[must_use]
    pub fn count_legal_moves(&self) -> u32 {
        let mut counter = Counter(0);
        with_sliders(Generation {
            position: self,
            from: Bitboard::FULL,
            receiver: &mut counter,
        });
        counter.0
    }

    /// Returns whether the side to move has a legal move.
    #[must_use]
    pub fn has_legal_moves(&self) -> bool {
        let mut finder = Finder(false);
        with_sliders(Generation {
            position: self,
            from: Bitboard::FULL,
            receiver: &mut finder,
        });
        finder.0
    }

    /// Returns whether a move is legal here.
    #[must_use]
    pub fn is_legal(&self, mv: Move) -> bool {
        self.legal_moves_from(Bitboard::of(mv.from())).contains(&mv)
    }
}
