//! Mates that minor pieces can give, as pictures that both sides work towards.
//!
//! Knights and bishops mate only in few ways, and a search that looks for any of them goes astray
//! for long. So the mate whose men have the fewest steps to go is chosen beforehand.

use referee_chess::{Bitboard, Board, Color, Move, Position, Role, Square};

use Role::{Bishop, Knight, Rook};

/// Kings and other men, each with its square.
struct Picture {
    winner_king: u8,
    winner: &'static [(Role, u8)],
    loser_king: u8,
    loser: &'static [(Role, u8)],
}

/// Returns a mate of the king in the corner a8.
const fn mate(
    winner_king: u8,
    winner: &'static [(Role, u8)],
    loser: &'static [(Role, u8)],
) -> Picture {
    Picture {
        winner_king,
        winner,
        loser_king: A8,
        loser,
    }
}

/// Returns a position with the king on b8 in check by the first of two knights: it goes to the
/// corner, and the second one mates it on c7. With the king in the corner beforehand, it would be
/// stalemated now and then.
const fn check_before_mate(knights: &'static [(Role, u8)]) -> Picture {
    Picture {
        winner_king: B6,
        winner: knights,
        loser_king: B8,
        loser: &[],
    }
}

const fn square(name: &[u8; 2]) -> u8 {
    8 * (name[1] - b'1') + name[0] - b'a'
}

const A6: u8 = square(b"a6");
const A7: u8 = square(b"a7");
const A8: u8 = square(b"a8");
const B5: u8 = square(b"b5");
const B6: u8 = square(b"b6");
const B7: u8 = square(b"b7");
const B8: u8 = square(b"b8");
const C6: u8 = square(b"c6");
const C7: u8 = square(b"c7");
const C8: u8 = square(b"c8");
const D5: u8 = square(b"d5");
const D7: u8 = square(b"d7");
const E4: u8 = square(b"e4");
const E5: u8 = square(b"e5");
const E6: u8 = square(b"e6");
const E8: u8 = square(b"e8");

/// What the winner works towards, for each set of its men and of those that bar the king.
const PICTURES: [Picture; 23] = [
    mate(C8, &[(Knight, B6)], &[(Rook, A7)]),
    mate(C8, &[(Knight, C7)], &[(Bishop, A7)]),
    mate(C7, &[(Knight, B6)], &[(Knight, A7)]),
    mate(B6, &[(Bishop, B7)], &[(Knight, B8)]),
    mate(C7, &[(Bishop, E4)], &[(Bishop, A7)]),
    mate(C7, &[(Bishop, B7)], &[(Bishop, A7)]),
    mate(C8, &[(Bishop, E4)], &[(Bishop, A7)]),
    mate(B6, &[(Bishop, E4), (Bishop, E5)], &[]),
    mate(B6, &[(Bishop, E4), (Knight, A6)], &[]),
    mate(B6, &[(Bishop, E4), (Knight, D7)], &[]),
    mate(A6, &[(Bishop, E4), (Knight, D7)], &[]),
    check_before_mate(&[(Knight, A6), (Knight, E6)]),
    check_before_mate(&[(Knight, A6), (Knight, D5)]),
    check_before_mate(&[(Knight, A6), (Knight, B5)]),
    check_before_mate(&[(Knight, A6), (Knight, E8)]),
    check_before_mate(&[(Knight, D7), (Knight, E6)]),
    check_before_mate(&[(Knight, D7), (Knight, D5)]),
    check_before_mate(&[(Knight, D7), (Knight, B5)]),
    check_before_mate(&[(Knight, D7), (Knight, E8)]),
    check_before_mate(&[(Knight, C6), (Knight, E6)]),
    check_before_mate(&[(Knight, C6), (Knight, D5)]),
    check_before_mate(&[(Knight, C6), (Knight, B5)]),
    check_before_mate(&[(Knight, C6), (Knight, E8)]),
];

/// The most men of a picture.
const MEN: usize = 4;

/// A picture, turned or mirrored.
#[derive(Clone, Copy)]
pub(crate) struct Goal {
    men: [(Color, Role, Square); MEN],
    count: usize,
}

/// What is missing to the goal in one position.
pub(crate) struct Way {
    /// The number of steps.
    base: i32,
    /// By man of the goal, where it stands now.
    at: [Option<Square>; MEN],
    goal: Goal,
}

/// What a man that the goal needs counts once it is gone.
const GONE: i32 = 200;

/// What a step counts.
const STEP: i32 = 4;

impl Goal {
    /// Returns the mates whose men have the fewest steps to go, the nearest first. There are none
    /// where the winner has other men than minor pieces, or no picture fits.
    pub(crate) fn nearest(position: &Position, winner: Color) -> impl Iterator<Item = Goal> {
        let board = position.board();
        let men = board.color(winner) - board.role(Role::King);
        let is_minor = (men - board.role(Knight) - board.role(Bishop)).is_empty();
        let fitting = PICTURES
            .iter()
            .filter(|it| is_minor && it.fits(board, winner));
        let goals = fitting.flat_map(|it| (0..8).map(|symmetry| it.seen_by(symmetry, winner)));
        let goals = goals.map(|goal| (goal.way(position).base, goal));
        let mut goals: Vec<(i32, Goal)> = goals.filter(|&(base, _)| base < GONE).collect();
        goals.sort_by_key(|&(base, _)| base);
        goals.into_iter().map(|(_, goal)| goal)
    }

    pub(crate) fn way(&self, position: &Position) -> Way {
        let board = position.board();
        let mut at = [None; MEN];
        let mut base = 0;
        let mut taken = Bitboard::EMPTY;
        for (&(color, role, to), at) in self.men[..self.count].iter().zip(&mut at) {
            let men = board.pieces(color, role) - taken;
            let nearest = men.into_iter().min_by_key(|&from| steps(role, from, to));
            base += match nearest {
                Some(from) => steps(role, from, to),
                None => GONE,
            };
            taken |= nearest.map_or(Bitboard::EMPTY, Bitboard::of);
            *at = nearest;
        }
        Way {
            base,
            at,
            goal: *self,
        }
    }
}

impl Picture {
    fn fits(&self, board: &Board, winner: Color) -> bool {
        let has = |color, men: &[(Role, u8)]| {
            men.iter().all(|&(role, _)| {
                let needed = men.iter().filter(|&&(other, _)| other == role).count();
                board.pieces(color, role).count() as usize >= needed
            })
        };
        has(winner, self.winner) && has(!winner, self.loser)
    }

    fn seen_by(&self, symmetry: u8, winner: Color) -> Goal {
        let turn = |mut index: u8| {
            if symmetry & 1 != 0 {
                index ^= 7;
            }
            if symmetry & 2 != 0 {
                index ^= 56;
            }
            if symmetry & 4 != 0 {
                index = index >> 3 | (index & 7) << 3;
            }
            Square::from_low_bits(index)
        };
        let kings = [
            (winner, Role::King, turn(self.winner_king)),
            (!winner, Role::King, turn(self.loser_king)),
        ];
        let own = self
            .winner
            .iter()
            .map(|&(role, at)| (winner, role, turn(at)));
        let foes = self
            .loser
            .iter()
            .map(|&(role, at)| (!winner, role, turn(at)));
        let mut goal = Goal {
            men: [kings[0]; MEN],
            count: 0,
        };
        for man in kings.into_iter().chain(own).chain(foes) {
            goal.men[goal.count] = man;
            goal.count += 1;
        }
        goal
    }
}

impl Way {
    /// Returns how far the goal is after a move.
    #[inline]
    pub(crate) fn priority(&self, mv: Move) -> i32 {
        let (from, to) = (mv.from(), mv.to());
        let mut priority = self.base;
        for (at, &(_, role, goal)) in self.at.iter().zip(&self.goal.men[..self.goal.count]) {
            if *at == Some(from) {
                priority += steps(role, to, goal) - steps(role, from, goal);
            } else if *at == Some(to) {
                priority += GONE;
            }
        }
        priority
    }
}

/// Returns what a man counts that is some moves away from a square on an empty board.
#[inline]
fn steps(role: Role, from: Square, to: Square) -> i32 {
    let (files, ranks) = (
        (from.file().index() as i32 - to.file().index() as i32).abs(),
        (from.rank().index() as i32 - to.rank().index() as i32).abs(),
    );
    let steps = match role {
        Role::Knight => i32::from(KNIGHT_STEPS[from.index()][to.index()]),
        _ if from == to => 0,
        Role::Bishop if from.is_light() != to.is_light() => GONE,
        Role::Bishop => 1 + i32::from(files != ranks),
        Role::Rook => 1 + i32::from(files != 0 && ranks != 0),
        _ => files.max(ranks),
    };
    STEP * steps
}

/// By two squares, how many jumps lie between them.
static KNIGHT_STEPS: [[u8; 64]; 64] = knight_steps();

const fn knight_steps() -> [[u8; 64]; 64] {
    let mut table = [[u8::MAX; 64]; 64];
    let mut from = 0;
    while from < 64 {
        table[from][from] = 0;
        let mut steps = 0;
        while steps < 6 {
            let mut at = 0;
            while at < 64 {
                if table[from][at] == steps {
                    let mut to = 0;
                    while to < 64 {
                        let files = (at as i32 % 8 - to as i32 % 8).abs();
                        let ranks = (at as i32 / 8 - to as i32 / 8).abs();
                        if files * ranks == 2 && table[from][to] == u8::MAX {
                            table[from][to] = steps + 1;
                        }
                        to += 1;
                    }
                }
                at += 1;
            }
            steps += 1;
        }
        from += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use referee_chess::{CastlingMode, Piece, Setup, Tolerance};

    use super::*;

    fn position(goal: &Goal, winner: Color) -> Position {
        let mut setup = Setup::empty(CastlingMode::Standard);
        for &(color, role, square) in &goal.men[..goal.count] {
            assert!(setup.board.piece_at(square).is_none());
            setup.board.put(square, Piece { color, role });
        }
        setup.turn = !winner;
        Position::from_setup_with(&setup, Tolerance::PERFT).expect("the kings are apart")
    }

    #[test]
    fn every_picture_is_a_mate_or_one_move_before_it() {
        for picture in &PICTURES {
            for winner in Color::ALL {
                for symmetry in 0..8 {
                    let goal = picture.seen_by(symmetry, winner);
                    let position = position(&goal, winner);
                    assert!(position.is_check(), "{position}");
                    assert_eq!(goal.way(&position).base, 0, "{position}");
                    if picture.loser_king == A8 {
                        assert!(position.is_checkmate(), "{position}");
                        continue;
                    }
                    let corner = Picture {
                        loser_king: A8,
                        ..*picture
                    };
                    let corner = corner.seen_by(symmetry, winner).men[1].2;
                    let replies = position.legal_moves();
                    let reply = replies.into_iter().find(|mv| mv.to() == corner);
                    let after = position.after_unchecked(reply.expect("the corner is free"));
                    let moves = after.legal_moves();
                    let mates = |mv| after.after_unchecked(mv).is_checkmate();
                    assert!(moves.into_iter().any(mates), "{position}");
                }
            }
        }
    }

    #[test]
    fn the_nearest_picture_comes_first_and_loses_its_sense_with_a_man() {
        let fen = "k7/n1K5/8/8/2N5/8/8/8 w - - 0 1";
        let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
        let goal = Goal::nearest(&position, Color::White).next();
        let way = goal.expect("a knight bars the king").way(&position);
        assert_eq!(way.base, STEP);
        let fen = "k7/2K5/8/8/2N5/8/8/8 w - - 0 1";
        let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
        assert!(Goal::nearest(&position, Color::White).next().is_none());
    }
}
