//! What pieces attack on an empty board, and the lines of the board, as tables.

use crate::{Bitboard, Color, Square};

/// The eight steps of a king, as files and ranks.
const KING_STEPS: [(i8, i8); 8] = [
    (1, 0),
    (1, 1),
    (0, 1),
    (-1, 1),
    (-1, 0),
    (-1, -1),
    (0, -1),
    (1, -1),
];

/// The eight jumps of a knight, as files and ranks.
const KNIGHT_STEPS: [(i8, i8); 8] = [
    (1, 2),
    (2, 1),
    (2, -1),
    (1, -2),
    (-1, -2),
    (-2, -1),
    (-2, 1),
    (-1, 2),
];

const fn step_table(steps: &[(i8, i8)]) -> [Bitboard; 64] {
    let mut table = [Bitboard::EMPTY; 64];
    let mut index = 0;
    while index < 64 {
        let mut step = 0;
        while step < steps.len() {
            let square = Square::from_low_bits(index as u8);
            if let Some(to) = square.offset(steps[step].0, steps[step].1) {
                table[index].0 |= 1 << to.index();
            }
            step += 1;
        }
        index += 1;
    }
    table
}

static KING: [Bitboard; 64] = step_table(&KING_STEPS);
static KNIGHT: [Bitboard; 64] = step_table(&KNIGHT_STEPS);
static PAWN: [[Bitboard; 64]; 2] = [
    step_table(&[(-1, 1), (1, 1)]),
    step_table(&[(-1, -1), (1, -1)]),
];

/// The squares strictly between two squares of one line, and the whole line through them.
struct Lines {
    between: [[Bitboard; 64]; 64],
    line: [[Bitboard; 64]; 64],
}

const fn build_lines() -> Lines {
    let mut lines = Lines {
        between: [[Bitboard::EMPTY; 64]; 64],
        line: [[Bitboard::EMPTY; 64]; 64],
    };
    let mut from = 0;
    while from < 64 {
        let mut direction = 0;
        while direction < 8 {
            let (files, ranks) = KING_STEPS[direction];
            let start = Square::from_low_bits(from as u8);
            let mut whole = Bitboard::of(start).0 | ray(start, files, ranks).0;
            whole |= ray(start, -files, -ranks).0;
            let mut passed = 0;
            let mut square = start;
            while let Some(next) = square.offset(files, ranks) {
                lines.between[from][next.index()] = Bitboard(passed);
                lines.line[from][next.index()] = Bitboard(whole);
                passed |= 1 << next.index();
                square = next;
            }
            direction += 1;
        }
        from += 1;
    }
    lines
}

const fn ray(start: Square, files: i8, ranks: i8) -> Bitboard {
    let mut set = 0;
    let mut square = start;
    while let Some(next) = square.offset(files, ranks) {
        set |= 1 << next.index();
        square = next;
    }
    Bitboard(set)
}

static LINES: Lines = build_lines();

const fn cross_table(directions: [(i8, i8); 4]) -> [Bitboard; 64] {
    let mut table = [Bitboard::EMPTY; 64];
    let mut index = 0;
    while index < 64 {
        let mut direction = 0;
        while direction < 4 {
            let (files, ranks) = directions[direction];
            table[index].0 |= ray(Square::from_low_bits(index as u8), files, ranks).0;
            direction += 1;
        }
        index += 1;
    }
    table
}

static ROOK_RAYS: [Bitboard; 64] = cross_table([(1, 0), (0, 1), (-1, 0), (0, -1)]);
static BISHOP_RAYS: [Bitboard; 64] = cross_table([(1, 1), (-1, 1), (-1, -1), (1, -1)]);

/// Returns the squares that a king attacks (FIDE Laws 3.8.1).
#[inline]
#[must_use]
pub fn king_attacks(square: Square) -> Bitboard {
    KING[square.index()]
}

/// Returns the squares that a knight attacks (FIDE Laws 3.6).
#[inline]
#[must_use]
pub fn knight_attacks(square: Square) -> Bitboard {
    KNIGHT[square.index()]
}

/// Returns the squares that a pawn of a side attacks (FIDE Laws 3.7.3).
#[inline]
#[must_use]
pub fn pawn_attacks(color: Color, square: Square) -> Bitboard {
    PAWN[color.index()][square.index()]
}

/// Returns the squares that a rook attacks on an empty board (FIDE Laws 3.3).
#[inline]
#[must_use]
pub fn rook_rays(square: Square) -> Bitboard {
    ROOK_RAYS[square.index()]
}

/// Returns the squares that a bishop attacks on an empty board (FIDE Laws 3.2).
#[inline]
#[must_use]
pub fn bishop_rays(square: Square) -> Bitboard {
    BISHOP_RAYS[square.index()]
}

/// Returns the squares strictly between two squares of a rank, file or diagonal; empty for two
/// squares that share none, and for neighbors.
#[inline]
#[must_use]
pub fn between(a: Square, b: Square) -> Bitboard {
    LINES.between[a.index()][b.index()]
}

/// Returns the whole rank, file or diagonal through two squares, both included; empty where they
/// share none or are the same.
#[inline]
#[must_use]
pub fn line(a: Square, b: Square) -> Bitboard {
    LINES.line[a.index()][b.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(name: &str) -> Square {
        name.parse().expect("the test names a square")
    }

    fn set(names: &str) -> Bitboard {
        names.split_whitespace().map(square).collect()
    }

    #[test]
    fn leapers_stay_on_the_board() {
        assert_eq!(king_attacks(square("a1")), set("a2 b1 b2"));
        assert_eq!(knight_attacks(square("h8")), set("f7 g6"));
        assert_eq!(pawn_attacks(Color::White, square("a2")), set("b3"));
        assert_eq!(pawn_attacks(Color::Black, square("e5")), set("d4 f4"));
    }

    #[test]
    fn lines_join_only_squares_that_share_one() {
        assert_eq!(between(square("a1"), square("d4")), set("b2 c3"));
        assert_eq!(between(square("a1"), square("b3")), Bitboard::EMPTY);
        assert_eq!(between(square("e4"), square("e5")), Bitboard::EMPTY);
        assert_eq!(
            line(square("b3"), square("b5")),
            Bitboard(0x0202_0202_0202_0202)
        );
        assert_eq!(line(square("b3"), square("b3")), Bitboard::EMPTY);
    }
}
