//! Where every man can ever go: a closure under all moves that forgets about time.
//!
//! Each man has a set of squares, its *reach*, that it can never leave, and the two kings have a
//! set of pairs of squares with the side to move. They start with what is on the board, and grow
//! until no move leads out of them. What only shrinks meanwhile (men that never move and are never
//! taken, squares that are never entered, squares that are attacked for ever) may be used to rule
//! moves out: at the end all of it holds together, and by induction over the moves of any line no
//! man is ever outside of its reach. A line is followed only as long as the winner can still mate,
//! so a move that leaves it nothing to mate with, or ends the game without its mate, is no move
//! here.

use core::cell::Cell;

use referee_chess::rays::{between, king_attacks, knight_attacks, line, pawn_attacks};
use referee_chess::sliders::{Sliders, WithSliders, with_sliders};
use referee_chess::{Bitboard, Board, Color, Position, Rank, Role, Square};

use crate::mating;

/// A man that is not a king.
#[derive(Clone, Copy)]
pub(crate) struct Man {
    pub(crate) role: Role,
    pub(crate) color: Color,
    pub(crate) home: Square,
    /// Squares on which it can ever stand.
    pub(crate) reach: Bitboard,
    /// Squares to which it can ever move.
    entered: Bitboard,
    /// Squares on which it can ever capture.
    strikes: Bitboard,
    /// Whether it can ever be taken.
    pub(crate) is_capturable: bool,
}

impl Man {
    fn is_certain(&self) -> bool {
        !self.is_capturable && self.entered.is_empty()
    }
}

/// The greatest number of squares of a man that moves, but is minded as an obstacle.
const TETHER_MAX: u32 = 6;

/// The greatest number of men beside the kings; a position with more is not analyzed.
const MEN_MAX: usize = 30;

pub(crate) struct Saturation {
    pub(crate) winner: Color,
    pub(crate) men: [Man; MEN_MAX],
    pub(crate) count: usize,
    /// By side to move, the winner first, and by the square of its king: the squares that the
    /// king of the loser can have.
    pub(crate) pairs: [[Bitboard; 64]; 2],
    /// Kings that the winner's king, by moving, can leave in a check that it uncovers; by its
    /// square after the move.
    pub(crate) uncovered: [Bitboard; 64],
    winner_king_entered: Bitboard,
    loser_king_entered: Bitboard,
    /// Whether a side, the winner first, can ever move something else than its king.
    pub(crate) can_wait: [bool; 2],
    /// The winner has one man beside its king, which must not be taken.
    has_last_man: bool,
    /// What the analysis may still cost, in attacks that are looked up.
    steps: Cell<u32>,
    derived: Derived,
}

/// What follows from the sets of one round.
#[derive(Clone, Copy, Default)]
struct Derived {
    /// Squares of men that never move and are never taken, by color.
    certain: [Bitboard; 2],
    /// Squares that bar every line: those of such men, and of kings that can never move.
    barred: Bitboard,
    /// Squares of kings that can never move.
    stuck: Bitboard,
    /// The squares of kings that move, but stay on few squares; full for others.
    roamed: [Bitboard; 2],
    /// Squares on which men that are no kings can stand, by color.
    haunts: [Bitboard; 2],
    /// Squares attacked for ever, by color.
    guarded: [Bitboard; 2],
    /// Numbers of the men that move, but are never taken and stay on few squares.
    tethered: u32,
}

/// What an analysis of the structure found.
#[derive(Clone, Copy)]
pub(crate) struct Analysis {
    /// The side can never mate. `false` says nothing.
    pub(crate) is_unwinnable: bool,
    /// What it cost, in positions that a search could have visited meanwhile.
    pub(crate) nodes: u64,
}

/// Steps that count as one position of the search. They take longer, but save more.
const STEPS_PER_NODE: u32 = 32;

/// Looks for a proof that a side can never mate. None is found, too, where `steps` do not suffice;
/// a step takes some 30 nanoseconds.
///
/// The position must not be mate or stalemate already.
pub(crate) fn analyze(position: &Position, winner: Color, steps: u32) -> Analysis {
    struct Work<'a>(&'a Position, Color, u32);
    impl WithSliders for Work<'_> {
        type Output = Analysis;
        fn run<S: Sliders>(self, sliders: S) -> Analysis {
            let Some(mut saturation) = Saturation::new(self.0, self.1, self.2) else {
                return Analysis {
                    is_unwinnable: false,
                    nodes: 1,
                };
            };
            let is_unwinnable =
                saturation.saturate(sliders) && !mating::is_possible(&saturation, sliders);
            let used = self.2 - saturation.steps.get();
            Analysis {
                is_unwinnable,
                nodes: u64::from(used / STEPS_PER_NODE) + 1,
            }
        }
    }
    with_sliders(Work(position, winner, steps))
}

impl Saturation {
    /// Returns the closure before it has grown, or `None` for positions that it does not treat:
    /// those where castling or a capture en passant may come next.
    fn new(position: &Position, winner: Color, steps: u32) -> Option<Saturation> {
        let board = position.board();
        if position.castling_rooks().any()
            || position.en_passant().is_some()
            || board.occupied().count() as usize > MEN_MAX + 2
            || Color::ALL
                .into_iter()
                .any(|color| has_free_pawn(board, color))
        {
            return None;
        }
        let blank = Man {
            role: Role::Pawn,
            color: Color::White,
            home: Square::from_low_bits(0),
            reach: Bitboard::EMPTY,
            entered: Bitboard::EMPTY,
            strikes: Bitboard::EMPTY,
            is_capturable: false,
        };
        let mut men = [blank; MEN_MAX];
        let mut count = 0;
        for color in Color::ALL {
            for role in Role::ALL.into_iter().take(5) {
                for home in board.pieces(color, role) {
                    men[count] = Man {
                        role,
                        color,
                        home,
                        reach: Bitboard::of(home),
                        ..blank
                    };
                    count += 1;
                }
            }
        }
        let mut pairs = [[Bitboard::EMPTY; 64]; 2];
        let turn = usize::from(position.turn() != winner);
        let king = position.king(winner);
        pairs[turn][king.index()] = Bitboard::of(position.king(!winner));
        Some(Saturation {
            winner,
            men,
            count,
            pairs,
            uncovered: [Bitboard::EMPTY; 64],
            winner_king_entered: Bitboard::EMPTY,
            loser_king_entered: Bitboard::EMPTY,
            can_wait: [false; 2],
            has_last_man: board.color(winner).count() == 2,
            steps: Cell::new(steps),
            derived: Derived::default(),
        })
    }

    /// Pays for some steps, and returns whether there were enough of them.
    pub(crate) fn pay(&self, steps: u32) -> bool {
        let left = self.steps.get().saturating_sub(steps);
        self.steps.set(left);
        left > 0
    }

    pub(crate) fn men(&self) -> &[Man] {
        &self.men[..self.count]
    }

    /// Returns the squares of men that never move and are never taken, of either color.
    pub(crate) fn certain(&self) -> Bitboard {
        self.derived.certain[0] | self.derived.certain[1]
    }

    /// Lets the sets grow until no move leads out of them. Returns `false` as soon as a pawn can
    /// promote or the men of the winner go everywhere: then there is nothing to prove.
    fn saturate<S: Sliders>(&mut self, sliders: S) -> bool {
        loop {
            self.derive(sliders);
            let mut grown = false;
            for number in 0..self.count {
                let lines = 1 + 4 * self.derived.tethered.count_ones();
                if !self.pay(self.men[number].reach.count() * lines) {
                    return false;
                }
                let targets = if self.men[number].role == Role::Pawn {
                    self.pawn_moves(number)
                } else {
                    self.moves_of(number, sliders)
                };
                let man = &mut self.men[number];
                if man.role == Role::Pawn && (targets & Bitboard::BACK_RANKS).any() {
                    return false;
                }
                if (targets - man.entered).any() {
                    grown = true;
                    man.entered |= targets;
                    man.reach |= targets;
                    self.can_wait[usize::from(man.color != self.winner)] = true;
                    let is_free = man.color == self.winner && man.reach.count() > 40;
                    if is_free && matches!(man.role, Role::Queen | Role::Rook) {
                        return false;
                    }
                }
            }
            grown |= self.move_kings(sliders);
            grown |= self.mark_captures();
            if !grown {
                return true;
            }
        }
    }

    fn derive<S: Sliders>(&mut self, sliders: S) {
        let mut derived = Derived::default();
        let kings = [self.king_squares(0), self.king_squares(1)];
        let mut stood = kings[0] | kings[1];
        for (squares, roamed) in kings.into_iter().zip(&mut derived.roamed) {
            *roamed = Bitboard::FULL;
            if !squares.more_than_one() {
                derived.stuck |= squares;
            } else if squares.count() <= TETHER_MAX {
                *roamed = squares;
            }
        }
        for (number, man) in self.men[..self.count].iter().enumerate() {
            stood |= man.reach;
            derived.haunts[man.color.index()] |= man.reach;
            if man.is_certain() {
                derived.certain[man.color.index()] |= man.reach;
            } else if !man.is_capturable && man.reach.count() <= TETHER_MAX {
                derived.tethered |= 1 << number;
            }
        }
        derived.barred = derived.certain[0] | derived.certain[1] | derived.stuck;
        for man in &self.men[..self.count] {
            if man.is_capturable || man.reach.count() > 8 {
                continue;
            }
            let mut common = Bitboard::FULL;
            for from in man.reach {
                common &= attacks(man.role, man.color, from, stood, sliders);
            }
            derived.guarded[man.color.index()] |= common;
        }
        self.derived = derived;
    }

    /// Returns where the king of the winner (0) or of the loser (1) can ever stand.
    pub(crate) fn king_squares(&self, side: usize) -> Bitboard {
        let mut set = Bitboard::EMPTY;
        for index in 0..64 {
            let others = self.pairs[0][index] | self.pairs[1][index];
            if side == 1 {
                set |= others;
            } else if others.any() {
                set |= Bitboard(1 << index);
            }
        }
        set
    }

    /// Returns the squares to which a man can move from those of its reach, and on from there, and
    /// notes those on which it can capture.
    fn moves_of<S: Sliders>(&mut self, number: usize, sliders: S) -> Bitboard {
        let man = self.men[number];
        let mut barred = self.derived.certain[man.color.index()] | self.derived.stuck;
        if self.has_last_man && man.color != self.winner {
            barred |= self.derived.certain[self.winner.index()];
        }
        let minds_tethered = man.role != Role::Knight && self.has_tethered();
        let mut targets = Bitboard::EMPTY;
        let mut sources = man.reach;
        while sources.any() {
            let mut next = Bitboard::EMPTY;
            for from in sources {
                let to = attacks(man.role, man.color, from, self.derived.barred, sliders) - barred;
                let new = to - targets - next;
                if minds_tethered {
                    next |= self.pass_tethered(number, from, new);
                } else {
                    next |= new;
                }
            }
            targets |= next;
            sources = next - man.reach;
        }
        self.men[number].strikes |= targets;
        targets
    }

    fn has_tethered(&self) -> bool {
        self.derived.tethered != 0 || self.derived.roamed != [Bitboard::FULL; 2]
    }

    /// Drops the squares that a slider cannot reach because some man always stands in between.
    fn pass_tethered(&self, number: usize, from: Square, targets: Bitboard) -> Bitboard {
        let mut open = targets;
        let color = self.men[number].color;
        for to in targets {
            let path = between(from, to);
            let whole = path | Bitboard::of(to);
            if self
                .derived
                .roamed
                .iter()
                .any(|&king| (king - whole).is_empty())
            {
                open = open - Bitboard::of(to);
                continue;
            }
            let mut rest = self.derived.tethered & !(1 << number);
            while rest != 0 {
                let other = &self.men[rest.trailing_zeros() as usize];
                rest &= rest - 1;
                let bars = if other.color == color { whole } else { path };
                if (other.reach - bars).is_empty() {
                    open = open - Bitboard::of(to);
                    break;
                }
            }
        }
        open
    }

    fn pawn_moves(&mut self, number: usize) -> Bitboard {
        let man = self.men[number];
        let file = Bitboard::file(man.home.file());
        let mut steps = man.reach.forward(man.color) - self.derived.barred;
        if (man.reach - file).is_empty() {
            // Pawns that stay on one file, and are never taken, never pass each other.
            for (index, other) in self.men[..self.count].iter().enumerate() {
                if index == number
                    || other.role != Role::Pawn
                    || other.is_capturable
                    || (other.reach - file).any()
                    || !is_ahead(man.color, man.home, other.home)
                {
                    continue;
                }
                let mut allowed = Bitboard::EMPTY;
                for square in other.reach {
                    allowed |= behind(man.color, square);
                }
                steps &= allowed;
            }
        }
        let mut captures = Bitboard::EMPTY;
        if !(self.has_last_man && man.color != self.winner) {
            for from in man.reach {
                captures |= pawn_attacks(man.color, from);
            }
            captures &= self.derived.haunts[(!man.color).index()];
        }
        self.men[number].strikes |= captures;
        steps | captures
    }

    fn mark_captures(&mut self) -> bool {
        let mut strikes = [Bitboard::EMPTY; 2];
        strikes[self.winner.index()] = self.winner_king_entered;
        strikes[(!self.winner).index()] = self.loser_king_entered;
        for man in &self.men[..self.count] {
            strikes[man.color.index()] |= man.strikes;
        }
        let mut grown = false;
        for man in &mut self.men[..self.count] {
            let is_last = self.has_last_man && man.color == self.winner;
            if !man.is_capturable && !is_last && (strikes[(!man.color).index()] & man.reach).any() {
                man.is_capturable = true;
                grown = true;
            }
        }
        grown
    }

    /// Lets the kings move, and the other men in between.
    fn move_kings<S: Sliders>(&mut self, sliders: S) -> bool {
        let mut grown = false;
        loop {
            let before = self.pairs;
            self.move_winner_king(sliders);
            self.move_loser_king();
            if self.pairs == before {
                return grown;
            }
            grown = true;
        }
    }

    fn move_winner_king<S: Sliders>(&mut self, sliders: S) {
        let loser = !self.winner;
        let closed =
            self.derived.guarded[loser.index()] | self.derived.certain[self.winner.index()];
        for index in 0..64u8 {
            let from = Square::from_low_bits(index);
            let kings = self.pairs[0][from.index()];
            if kings.is_empty() {
                continue;
            }
            if self.can_wait[0] {
                self.pairs[1][from.index()] |= kings;
            }
            for to in king_attacks(from) - closed {
                let mut left = kings - king_attacks(to) - Bitboard::of(to);
                if left.is_empty() {
                    continue;
                }
                let uncovered = self.uncovered_by(from, left, sliders);
                self.uncovered[to.index()] |= uncovered;
                if !self.can_wait[1] {
                    left = self.drop_stalemates(to, left, uncovered);
                }
                if left.any() {
                    self.pairs[1][to.index()] |= left;
                    self.winner_king_entered |= Bitboard::of(to);
                }
            }
        }
    }

    /// Returns those squares of the loser's king on which it may come into check when the
    /// winner's king leaves a square.
    fn uncovered_by<S: Sliders>(&self, from: Square, kings: Bitboard, sliders: S) -> Bitboard {
        let certain = self.certain();
        let mut set = Bitboard::EMPTY;
        for man in &self.men[..self.count] {
            if man.color != self.winner || matches!(man.role, Role::Pawn | Role::Knight) {
                continue;
            }
            let lines = attacks(man.role, man.color, from, certain, sliders);
            let sources = man.reach & lines;
            if sources.any() {
                for king in kings & lines {
                    if (sources & line(king, from)).any() {
                        set |= Bitboard::of(king);
                    }
                }
            }
        }
        set
    }

    /// Drops the squares of the loser's king on which it is stalemated, now that the winner's
    /// king has come to `at`, and no other man of the loser can ever move.
    fn drop_stalemates(&self, at: Square, kings: Bitboard, uncovered: Bitboard) -> Bitboard {
        let closed = self.derived.guarded[self.winner.index()]
            | self.derived.certain[(!self.winner).index()]
            | king_attacks(at);
        let mut left = kings;
        for king in kings - uncovered {
            if (king_attacks(king) - closed).is_empty() {
                left = left - Bitboard::of(king);
            }
        }
        left
    }

    fn move_loser_king(&mut self) {
        let loser = !self.winner;
        let mut closed =
            self.derived.guarded[self.winner.index()] | self.derived.certain[loser.index()];
        if self.has_last_man {
            closed |= self.derived.certain[self.winner.index()];
        }
        let jailed =
            self.derived.guarded[loser.index()] | self.derived.certain[self.winner.index()];
        for index in 0..64u8 {
            let at = Square::from_low_bits(index);
            let kings = self.pairs[1][at.index()];
            if kings.is_empty() {
                continue;
            }
            if self.can_wait[1] {
                self.pairs[0][at.index()] |= kings;
            }
            let beside = kings.left() | kings.right();
            let row = kings | beside;
            let near = beside | row.up() | row.down();
            let mut to = near - closed - king_attacks(at) - Bitboard::of(at);
            if !self.can_wait[0] {
                // The winner could not move at all, so the game would end without its mate.
                for king in to {
                    if (king_attacks(at) - jailed - king_attacks(king)).is_empty() {
                        to = to - Bitboard::of(king);
                    }
                }
            }
            self.pairs[0][at.index()] |= to;
            self.loser_king_entered |= to;
        }
    }
}

/// Returns whether a pawn of a side has nothing before it all the way to the last rank.
fn has_free_pawn(board: &Board, color: Color) -> bool {
    let mut barred = board.occupied();
    for _ in 0..6 {
        barred |= barred.forward(!color);
    }
    (board.pieces(color, Role::Pawn).forward(color) - barred).any()
}

/// Returns the squares that a man attacks; a king is no man here.
#[inline]
pub(crate) fn attacks<S: Sliders>(
    role: Role,
    color: Color,
    from: Square,
    occupied: Bitboard,
    sliders: S,
) -> Bitboard {
    match role {
        Role::Pawn => pawn_attacks(color, from),
        Role::Knight => knight_attacks(from),
        Role::Bishop => sliders.bishop(from, occupied),
        Role::Rook => sliders.rook(from, occupied),
        Role::Queen => sliders.queen(from, occupied),
        Role::King => king_attacks(from),
    }
}

/// Returns whether a square lies further on for a side than another.
fn is_ahead(color: Color, square: Square, other: Square) -> bool {
    match color {
        Color::White => other.rank() > square.rank(),
        Color::Black => other.rank() < square.rank(),
    }
}

/// Returns the squares of all ranks that a side leaves behind before it comes to a square.
fn behind(color: Color, square: Square) -> Bitboard {
    let below = Bitboard((1 << (8 * square.rank().index())) - 1);
    match color {
        Color::White => below,
        Color::Black => {
            !below - Bitboard::rank(Rank::relative(Color::White, square.rank().index()))
        }
    }
}
