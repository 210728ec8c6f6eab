//! Random numbers from which the hash of a position is put together.
//!
//! A position hashes to the exclusive or of the numbers of what is in it (A. L. Zobrist, "A New
//! Hashing Method with Application for Game Playing", 1970), so a move changes few of them.

use crate::{Color, File, Role, Square};

/// The numbers, made by splitmix64 from a fixed seed, so that every build hashes alike.
struct Numbers {
    pieces: [[[u64; 64]; 6]; 2],
    castling: [u64; 64],
    en_passant: [u64; 8],
    black_to_move: u64,
}

const fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const fn build() -> Numbers {
    let mut state = 0x0052_6566_6572_6565;
    let mut numbers = Numbers {
        pieces: [[[0; 64]; 6]; 2],
        castling: [0; 64],
        en_passant: [0; 8],
        black_to_move: next(&mut state),
    };
    let mut square = 0;
    while square < 64 {
        let mut role = 0;
        while role < 6 {
            numbers.pieces[0][role][square] = next(&mut state);
            numbers.pieces[1][role][square] = next(&mut state);
            role += 1;
        }
        numbers.castling[square] = next(&mut state);
        if square < 8 {
            numbers.en_passant[square] = next(&mut state);
        }
        square += 1;
    }
    numbers
}

static NUMBERS: Numbers = build();

#[inline]
pub(crate) fn piece(color: Color, role: Role, square: Square) -> u64 {
    NUMBERS.pieces[color.index()][role.index()][square.index()]
}

/// The number of a right to castle with the rook on a square.
#[inline]
pub(crate) fn castling(rook: Square) -> u64 {
    NUMBERS.castling[rook.index()]
}

#[inline]
pub(crate) fn en_passant(file: File) -> u64 {
    NUMBERS.en_passant[file.index() as usize & 7]
}

#[inline]
pub(crate) fn black_to_move() -> u64 {
    NUMBERS.black_to_move
}
