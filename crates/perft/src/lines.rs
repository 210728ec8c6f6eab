//! Tables of lines and surroundings that only counting needs.

use referee_chess::Square;
use referee_chess::rays::{bishop_rays, rook_rays};

use crate::board::Squares;

/// The directions of rooks, then those of bishops, as files and ranks.
const DIRECTIONS: [(i8, i8); 8] = [
    (1, 0),
    (0, 1),
    (-1, 0),
    (0, -1),
    (1, 1),
    (-1, 1),
    (-1, -1),
    (1, -1),
];

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

/// Squares from which a bishop or a rook might attack something if the board were empty.
#[derive(Clone, Copy, Default)]
pub(crate) struct Zone {
    pub(crate) bishops: u64,
    pub(crate) rooks: u64,
}

impl Zone {
    /// Adds the squares from which one square might be attacked.
    #[inline(always)]
    pub(crate) fn add(&mut self, square: Square) {
        self.bishops |= bishop_rays(square).0;
        self.rooks |= rook_rays(square).0;
    }

    /// The zone of some squares.
    #[inline(always)]
    pub(crate) fn of(squares: u64) -> Zone {
        let mut zone = Zone::default();
        for square in Squares(squares) {
            zone.add(square);
        }
        zone
    }

    /// The zone of some steps of a king, which are given as bits: the first for the lowest square
    /// that it attacks, and so on.
    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn of_steps(king: Square, steps: u64) -> Zone {
        ZONES[king.index()][(steps & 255) as usize]
    }
}

/// The squares that a king crosses when it castles from the e-file with a rook in a corner, on
/// the first rank, and what might attack them: first towards the a-file, then towards the h-file.
pub(crate) const CROSSED: [u64; 2] = [0x0c, 0x60];
/// The squares between that king and that rook.
pub(crate) const CASTLING_PATHS: [u64; 2] = [0x0e, 0x60];

/// From where the squares of [`CROSSED`] might be attacked, for White and for Black.
pub(crate) static CASTLING_ZONES: [[Zone; 2]; 2] = build_castling_zones();

/// The squares behind another one, seen from a first; none where no line joins them.
#[inline(always)]
pub(crate) fn beyond(from: Square, over: Square) -> u64 {
    BEYOND[from.index()][over.index()]
}

/// The squares from which a knight attacks a square beside a king.
#[inline(always)]
pub(crate) fn knights_near(king: Square) -> u64 {
    KNIGHTS_NEAR[king.index()]
}

static BEYOND: [[u64; 64]; 64] = build_beyond();
static KNIGHTS_NEAR: [u64; 64] = build_knights_near();
#[cfg(target_arch = "x86_64")]
static ZONES: [[Zone; 256]; 64] = build_zones();

const fn ray(from: Square, direction: (i8, i8)) -> u64 {
    let mut set = 0;
    let mut at = from;
    while let Some(next) = at.offset(direction.0, direction.1) {
        set |= 1 << next.index();
        at = next;
    }
    set
}

const fn build_beyond() -> [[u64; 64]; 64] {
    let mut table = [[0; 64]; 64];
    let mut index = 0;
    while index < 64 {
        let mut direction = 0;
        while direction < 8 {
            let mut at = Square::from_low_bits(index as u8);
            while let Some(next) = at.offset(DIRECTIONS[direction].0, DIRECTIONS[direction].1) {
                table[index][next.index()] = ray(next, DIRECTIONS[direction]);
                at = next;
            }
            direction += 1;
        }
        index += 1;
    }
    table
}

const fn build_castling_zones() -> [[Zone; 2]; 2] {
    let mut table = [[Zone {
        bishops: 0,
        rooks: 0,
    }; 2]; 2];
    let mut index = 0;
    while index < 64 {
        let square = Square::from_low_bits(index as u8);
        let mut direction = 0;
        while direction < 4 {
            let rooks = ray(square, DIRECTIONS[direction]);
            let bishops = ray(square, DIRECTIONS[direction + 4]);
            let mut side = 0;
            while side < 2 {
                if CROSSED[side] >> (index & 7) & 1 != 0 && (index < 8 || index >= 56) {
                    let color = index / 56;
                    table[color][side].rooks |= rooks;
                    table[color][side].bishops |= bishops;
                }
                side += 1;
            }
            direction += 1;
        }
        index += 1;
    }
    table
}

const fn build_knights_near() -> [u64; 64] {
    let mut table = [0; 64];
    let mut index = 0;
    while index < 64 {
        let king = Square::from_low_bits(index as u8);
        let mut direction = 0;
        while direction < 8 {
            let (files, ranks) = DIRECTIONS[direction];
            if let Some(beside) = king.offset(files, ranks) {
                let mut step = 0;
                while step < 8 {
                    let (files, ranks) = KNIGHT_STEPS[step];
                    if let Some(from) = beside.offset(files, ranks) {
                        table[index] |= 1 << from.index();
                    }
                    step += 1;
                }
            }
            direction += 1;
        }
        index += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
const fn build_zones() -> [[Zone; 256]; 64] {
    let mut table = [[Zone {
        bishops: 0,
        rooks: 0,
    }; 256]; 64];
    let mut index = 0;
    while index < 64 {
        let king = Square::from_low_bits(index as u8);
        // The squares beside the king, lowest first, and what is attacked from each.
        let mut beside = [Zone {
            bishops: 0,
            rooks: 0,
        }; 8];
        let mut length = 0;
        let mut square = 0;
        while square < 64 {
            let target = Square::from_low_bits(square as u8);
            let mut direction = 0;
            while direction < 8 {
                let (files, ranks) = DIRECTIONS[direction];
                if let Some(next) = king.offset(files, ranks)
                    && next.index() == target.index()
                {
                    let mut ray_of = 0;
                    while ray_of < 4 {
                        beside[length].rooks |= ray(target, DIRECTIONS[ray_of]);
                        beside[length].bishops |= ray(target, DIRECTIONS[ray_of + 4]);
                        ray_of += 1;
                    }
                    length += 1;
                }
                direction += 1;
            }
            square += 1;
        }
        let mut steps = 1;
        while steps < 256 {
            let lowest = beside[(steps as u32).trailing_zeros() as usize];
            let others = table[index][steps & (steps - 1)];
            table[index][steps] = Zone {
                bishops: lowest.bishops | others.bishops,
                rooks: lowest.rooks | others.rooks,
            };
            steps += 1;
        }
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use referee_chess::rays::{between, king_attacks, knight_attacks, line};

    use super::*;
    use crate::board::bit;

    #[test]
    fn beyond_is_the_rest_of_a_line() {
        for from in Square::all() {
            for over in Square::all() {
                let mut expected = 0;
                for square in Square::all() {
                    if between(from, square).0 & bit(over) != 0 {
                        expected |= bit(square);
                    }
                }
                assert_eq!(beyond(from, over), expected, "{from} {over}");
                assert_eq!(beyond(from, over) & !line(from, over).0, 0);
            }
        }
    }

    #[test]
    fn castling_crosses_what_it_crosses() {
        for (color, rank) in [(0, 0), (1, 56)] {
            for side in 0..2 {
                let king = Square::from_low_bits(rank + 4);
                let castler = Square::from_low_bits(rank + if side == 0 { 0 } else { 7 });
                let (king_to, _) = crate::board::castle_targets(king, castler);
                let crossed = between(king, king_to).0 | bit(king_to);
                assert_eq!(CROSSED[side] << rank, crossed);
                assert_eq!(CASTLING_PATHS[side] << rank, between(king, castler).0);
                let (found, expected) = (CASTLING_ZONES[color][side], Zone::of(crossed));
                assert_eq!(found.bishops, expected.bishops);
                assert_eq!(found.rooks, expected.rooks);
            }
        }
    }

    #[test]
    fn zones_are_what_rays_reach() {
        for king in Square::all() {
            let beside = king_attacks(king).0;
            let mut near = 0;
            for square in Squares(beside) {
                near |= knight_attacks(square).0;
            }
            assert_eq!(knights_near(king), near, "{king}");
            #[cfg(target_arch = "x86_64")]
            for number in 0..1u64 << beside.count_ones() {
                let steps = Squares(beside).enumerate();
                let chosen = steps.filter(|(index, _)| number >> index & 1 != 0);
                let set = chosen.fold(0, |set, (_, square)| set | bit(square));
                let (found, expected) = (Zone::of_steps(king, number), Zone::of(set));
                assert_eq!(found.bishops, expected.bishops, "{king} {number}");
                assert_eq!(found.rooks, expected.rooks, "{king} {number}");
            }
        }
    }
}
