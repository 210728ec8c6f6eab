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

use referee_chess::rays::{between, king_attacks, knight_attacks, pawn_attacks};
use referee_chess::sliders::Sliders;
use referee_chess::{Bitboard, Board, Color, Position, Rank, Role, Square};

use crate::guards::guarded_by;

/// A man that is not a king.
#[derive(Clone, Copy)]
pub(crate) struct Man {
    pub(crate) role: Role,
    pub(crate) color: Color,
    pub(crate) home: Square,
    /// Whether it has captured nothing yet, so that the pawns of its file have not passed it.
    pub(crate) is_at_home: bool,
    /// Squares on which it can stand at the beginning.
    pub(crate) start: Bitboard,
    /// Squares on which it can ever stand.
    pub(crate) reach: Bitboard,
    /// Squares to which it can ever move.
    pub(crate) entered: Bitboard,
    /// Squares on which it can ever capture.
    pub(crate) strikes: Bitboard,
    /// Whether it can ever be taken.
    pub(crate) is_capturable: bool,
    /// A pawn of the loser that can promote: from then on it is taken to be anything, anywhere.
    pub(crate) is_promoted: bool,
}

impl Man {
    /// Returns whether it stands where it is for ever.
    pub(crate) fn is_certain(&self) -> bool {
        !self.is_capturable && !self.reach.more_than_one()
    }
}

/// The greatest number of squares of a man that moves, but is minded as an obstacle.
const TETHER_MAX: u32 = 6;

/// The greatest number of men beside the kings; a position with more is not analyzed.
const MEN_MAX: usize = 30;

#[derive(Clone)]
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
    pub(crate) winner_king_entered: Bitboard,
    pub(crate) loser_king_entered: Bitboard,
    /// Whether a side, the winner first, can ever move something else than its king.
    pub(crate) can_wait: [bool; 2],
    /// The winner has one man beside its king, which must not be taken.
    pub(crate) has_last_man: bool,
    /// Nothing is captured: captures are only noted. Each ends what is looked at.
    pub(crate) is_quiet: bool,
    /// What the analysis may still cost, in attacks that are looked up.
    pub(crate) steps: Cell<u32>,
    pub(crate) derived: Derived,
}

/// What follows from the sets of one round.
#[derive(Clone, Copy, Default)]
pub(crate) struct Derived {
    /// Squares of men that never move and are never taken, by color.
    pub(crate) certain: [Bitboard; 2],
    /// Where the king of the winner, and of the loser, can ever stand.
    pub(crate) kings: [Bitboard; 2],
    /// Squares on which anything can ever stand.
    pub(crate) stood: Bitboard,
    /// Squares that bar every line: those of such men, and of kings that can never move.
    pub(crate) barred: Bitboard,
    /// Squares of kings that can never move.
    pub(crate) stuck: Bitboard,
    /// The squares of kings that move, but stay on few squares; full for others.
    pub(crate) roamed: [Bitboard; 2],
    /// Squares on which men that are no kings can stand, by color.
    pub(crate) haunts: [Bitboard; 2],
    /// Squares attacked for ever, by color.
    pub(crate) guarded: [Bitboard; 2],
    /// Numbers of the men that move, but are never taken and stay on few squares.
    pub(crate) tethered: u32,
}

impl Saturation {
    /// Returns the closure before it has grown, or `None` for positions that it does not treat:
    /// those where castling or a capture en passant may come next, or a pawn soon promotes that has
    /// an influence on what the winner needs.
    pub(crate) fn new(position: &Position, winner: Color, steps: u32) -> Option<Saturation> {
        let board = position.board();
        let has_last_man = board.color(winner).count() == 2;
        if position.castling_rooks().any()
            || position.en_passant().is_some()
            || board.occupied().count() as usize > MEN_MAX + 2
            || has_free_pawn(board, winner)
            || (has_free_pawn(board, !winner) && !has_last_man)
        {
            return None;
        }
        let blank = Man {
            role: Role::Pawn,
            color: Color::White,
            home: Square::from_low_bits(0),
            is_at_home: true,
            start: Bitboard::EMPTY,
            reach: Bitboard::EMPTY,
            entered: Bitboard::EMPTY,
            strikes: Bitboard::EMPTY,
            is_capturable: false,
            is_promoted: false,
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
                        start: Bitboard::of(home),
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
            has_last_man,
            is_quiet: false,
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
    /// promote or the men of the winner go everywhere: then there is nothing to prove, unless the
    /// winner has one man that never comes near the king.
    pub(crate) fn saturate<S: Sliders>(&mut self, sliders: S) -> bool {
        loop {
            self.derive(sliders);
            let has_stuck_foe = !self.derived.kings[1].more_than_one();
            let mut grown = false;
            for number in 0..self.count {
                let lines = 1 + 4 * self.derived.tethered.count_ones();
                if !self.pay(self.men[number].reach.count() * lines) {
                    return false;
                }
                let mut targets = if self.men[number].is_promoted {
                    self.moves_of_promoted(number)
                } else if self.men[number].role == Role::Pawn {
                    self.pawn_moves(number)
                } else {
                    self.moves_of(number, sliders)
                };
                let man = &self.men[number];
                if man.role == Role::Pawn && (targets & Bitboard::BACK_RANKS).any() {
                    if man.color == self.winner || !self.has_last_man {
                        return false;
                    }
                    targets |= self.moves_of_promoted(number);
                }
                let man = &mut self.men[number];
                if (targets - man.entered).any() {
                    grown = true;
                    man.entered |= targets;
                    man.reach |= targets;
                    self.can_wait[usize::from(man.color != self.winner)] = true;
                    let is_free = man.color == self.winner && man.reach.count() > 40;
                    let is_heavy = matches!(man.role, Role::Queen | Role::Rook);
                    if is_free && is_heavy && !(self.has_last_man && has_stuck_foe) {
                        return false;
                    }
                }
            }
            grown |= self.move_kings(sliders);
            grown |= if self.is_quiet {
                self.mark_waiting()
            } else {
                self.mark_captures()
            };
            if !grown {
                return true;
            }
        }
    }

    fn derive<S: Sliders>(&mut self, sliders: S) {
        let mut derived = Derived::default();
        let kings = [self.king_squares(0), self.king_squares(1)];
        let mut stood = kings[0] | kings[1];
        derived.kings = kings;
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
        derived.stood = stood;
        for man in &self.men[..self.count] {
            derived.guarded[man.color.index()] |= guarded_by(man, stood, sliders);
        }
        if derived.tethered.count_ones() > 1 {
            let by_pairs = self.guarded_by_pairs(kings[0] | kings[1], sliders);
            derived.guarded[0] |= by_pairs[0];
            derived.guarded[1] |= by_pairs[1];
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
        // Squares on which it can only come by a capture that is not to be.
        let taken = if self.is_quiet {
            self.derived.certain[(!man.color).index()]
        } else {
            Bitboard::EMPTY
        };
        let minds_tethered = man.role != Role::Knight && self.has_tethered();
        let mut targets = Bitboard::EMPTY;
        let mut sources = man.reach;
        while sources.any() {
            let mut next = Bitboard::EMPTY;
            for from in sources {
                let to = attacks(man.role, man.color, from, self.derived.barred, sliders) - barred;
                let new = self.drop_last_moves(number, from, to - targets - next, sliders);
                if minds_tethered {
                    next |= self.pass_tethered(number, from, new);
                } else {
                    next |= new;
                }
            }
            targets |= next;
            sources = next - man.reach - taken;
        }
        self.men[number].strikes |= targets;
        targets - taken
    }

    /// Drops moves after which the winner is mated, or has nothing left to mate with.
    fn drop_last_moves<S: Sliders>(
        &self,
        number: usize,
        from: Square,
        targets: Bitboard,
        sliders: S,
    ) -> Bitboard {
        let is_foe = self.men[number].color != self.winner;
        let is_pointless = |to| {
            if is_foe {
                self.mates_winner(number, from, to, sliders)
            } else {
                self.loses_last_man(number, to, sliders)
            }
        };
        let king = self.derived.kings[usize::from(is_foe) ^ 1];
        if king.more_than_one() || !(is_foe || self.has_last_man) || !self.pay(targets.count()) {
            return targets;
        }
        targets
            .into_iter()
            .filter(|&to| !is_pointless(to))
            .collect()
    }

    /// Returns the squares to which a promoted pawn can go, which may be any piece.
    fn moves_of_promoted(&mut self, number: usize) -> Bitboard {
        let man = &mut self.men[number];
        man.is_promoted = true;
        man.strikes = Bitboard::FULL;
        Bitboard::FULL - self.derived.certain[man.color.index()] - self.derived.stuck
    }

    fn has_tethered(&self) -> bool {
        self.derived.tethered != 0 || self.derived.roamed != [Bitboard::FULL; 2]
    }

    /// Drops the squares that a slider cannot reach because some man always stands in between,
    /// as it does not stand where the slider comes from.
    fn pass_tethered(&self, number: usize, from: Square, targets: Bitboard) -> Bitboard {
        let mut open = targets;
        let color = self.men[number].color;
        for to in targets {
            let path = between(from, to);
            let left = Bitboard::of(from);
            let (path, whole) = (path | left, path | left | Bitboard::of(to));
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
                    || !is_ahead(&man, other)
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
        if self.is_quiet {
            steps
        } else {
            steps | captures
        }
    }

    /// Notes which sides can capture something, so that they are not out of moves.
    fn mark_waiting(&mut self) -> bool {
        let before = self.can_wait;
        for man in &self.men[..self.count] {
            if (man.strikes & self.derived.haunts[(!man.color).index()]).any() {
                self.can_wait[usize::from(man.color != self.winner)] = true;
            }
        }
        self.can_wait != before
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

/// Returns whether a pawn has another one of its file before it from the beginning.
fn is_ahead(man: &Man, other: &Man) -> bool {
    if man.is_at_home && other.is_at_home {
        return !behind(man.color, man.home).contains(other.home);
    }
    let mut squares = man.start.into_iter();
    squares.all(|square| {
        let passed = behind(man.color, square) | Bitboard::rank(square.rank());
        (other.start & passed).is_empty()
    })
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
