//! Attacks of bishops, rooks and queens: by PEXT where the processor has a fast one, by a
//! portable method elsewhere; chosen at run time.
//!
//! Both ways are tokens of one trait, [`Sliders`], so that code that counts can be compiled once
//! for each and choose once at its top. [`with_sliders`] does the choosing.

use crate::{Bitboard, Square};

/// A way to look up the attacks of sliding pieces.
pub trait Sliders: Copy {
    /// Returns the squares that a rook attacks among occupied squares (FIDE Laws 3.3); the first
    /// occupied square of each line is attacked, too.
    fn rook(self, square: Square, occupied: Bitboard) -> Bitboard;

    /// Returns the squares that a bishop attacks among occupied squares (FIDE Laws 3.2).
    fn bishop(self, square: Square, occupied: Bitboard) -> Bitboard;

    /// Returns the squares that a queen attacks among occupied squares (FIDE Laws 3.4).
    #[inline]
    fn queen(self, square: Square, occupied: Bitboard) -> Bitboard {
        self.rook(square, occupied) | self.bishop(square, occupied)
    }
}

/// Something that is to be done with the best [`Sliders`] of this machine.
pub trait WithSliders {
    /// What it returns.
    type Output;

    /// Does it.
    fn run<S: Sliders>(self, sliders: S) -> Self::Output;
}

/// Does something with PEXT where this machine has a fast one, portably elsewhere.
///
/// With PEXT, [`run`](WithSliders::run) may use the other instructions for bits that all such
/// processors have, too, as far as it is inlined: mark it and what it calls `#[inline(always)]`
/// where that pays.
#[inline]
pub fn with_sliders<W: WithSliders>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(pext) = Pext::detect() {
        // SAFETY: a `Pext` exists only where the processor has these features (see `detect`).
        return unsafe { run_with_pext(work, pext) };
    }
    work.run(Portable)
}

/// Does something with code for processors that have PEXT.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
fn run_with_pext<W: WithSliders>(work: W, pext: Pext) -> W::Output {
    work.run(pext)
}

const ROOK_DIRECTIONS: [(i8, i8); 4] = [(1, 0), (0, 1), (-1, 0), (0, -1)];
const BISHOP_DIRECTIONS: [(i8, i8); 4] = [(1, 1), (-1, 1), (-1, -1), (1, -1)];

/// Walks the four lines of a slider step by step. Slow; the tables are made from it.
const fn walk(square: Square, occupied: u64, directions: [(i8, i8); 4]) -> u64 {
    let mut set = 0;
    let mut direction = 0;
    while direction < 4 {
        let (files, ranks) = directions[direction];
        let mut at = square;
        while let Some(next) = at.offset(files, ranks) {
            set |= 1 << next.index();
            if occupied >> next.index() & 1 != 0 {
                break;
            }
            at = next;
        }
        direction += 1;
    }
    set
}

/// Attacks by hyperbola quintessence: subtracting a slider from the occupied squares of its line
/// borrows up to the first of them. Needs no table but for ranks, and no special instruction.
#[derive(Clone, Copy, Debug)]
pub struct Portable;

#[derive(Clone, Copy)]
struct Masks {
    file: u64,
    diagonal: u64,
    antidiagonal: u64,
}

const fn build_masks() -> [Masks; 64] {
    let mut masks = [Masks {
        file: 0,
        diagonal: 0,
        antidiagonal: 0,
    }; 64];
    let mut index = 0;
    while index < 64 {
        let square = Square::from_low_bits(index as u8);
        masks[index].file = walk(square, 0, [(0, 1), (0, -1), (0, 1), (0, -1)]);
        masks[index].diagonal = walk(square, 0, [(1, 1), (-1, -1), (1, 1), (-1, -1)]);
        masks[index].antidiagonal = walk(square, 0, [(-1, 1), (1, -1), (-1, 1), (1, -1)]);
        index += 1;
    }
    masks
}

/// The attacks along a rank: by the file of the slider and the six inner squares of the rank.
const fn build_rank_attacks() -> [[u8; 64]; 8] {
    let mut table = [[0; 64]; 8];
    let mut file = 0;
    while file < 8 {
        let mut inner = 0;
        while inner < 64 {
            let square = Square::from_low_bits(file as u8);
            let horizontal = [(1, 0), (-1, 0), (1, 0), (-1, 0)];
            table[file][inner] = walk(square, (inner as u64) << 1, horizontal) as u8;
            inner += 1;
        }
        file += 1;
    }
    table
}

static MASKS: [Masks; 64] = build_masks();
static RANK_ATTACKS: [[u8; 64]; 8] = build_rank_attacks();

impl Portable {
    #[inline]
    fn along(slider: u64, occupied: u64, mask: u64) -> u64 {
        let forward = occupied & mask;
        let reverse = forward
            .swap_bytes()
            .wrapping_sub(slider.swap_bytes())
            .swap_bytes();
        (forward.wrapping_sub(slider) ^ reverse) & mask
    }
}

impl Sliders for Portable {
    #[inline]
    fn rook(self, square: Square, occupied: Bitboard) -> Bitboard {
        let file = Self::along(1 << square.index(), occupied.0, MASKS[square.index()].file);
        let shift = square.index() & 56;
        let inner = (occupied.0 >> shift >> 1 & 63) as usize;
        let rank = u64::from(RANK_ATTACKS[square.index() & 7][inner]) << shift;
        Bitboard(file | rank)
    }

    #[inline]
    fn bishop(self, square: Square, occupied: Bitboard) -> Bitboard {
        let slider = 1 << square.index();
        let masks = &MASKS[square.index()];
        Bitboard(
            Self::along(slider, occupied.0, masks.diagonal)
                | Self::along(slider, occupied.0, masks.antidiagonal),
        )
    }
}

#[cfg(target_arch = "x86_64")]
pub use pext::Pext;

#[cfg(target_arch = "x86_64")]
mod pext {
    //! Attacks by one table look-up, the index being the occupied squares that matter, which the
    //! instruction PEXT gathers.

    use core::arch::x86_64::__cpuid;
    use std::sync::OnceLock;

    use super::{BISHOP_DIRECTIONS, ROOK_DIRECTIONS, Sliders, walk};
    use crate::{Bitboard, Square};

    /// Attacks by PEXT. A value is proof that the processor has BMI1, BMI2, LZCNT and POPCNT,
    /// and leads to the table.
    #[derive(Clone, Copy, Debug)]
    pub struct Pext(&'static [u64; TABLE_LENGTH]);

    /// The table, or that this processor is not to use it. Filling it takes a millisecond once;
    /// as a constant it would take the compiler twenty seconds.
    static TABLE: OnceLock<Option<Box<[u64; TABLE_LENGTH]>>> = OnceLock::new();

    impl Pext {
        /// Returns the token where this processor has PEXT and is fast at it, and has the other
        /// instructions for bits that came with it or before.
        ///
        /// AMD processors before family 19h (Zen 3) have PEXT in microcode, slower than the
        /// portable way, so they are turned away.
        #[inline]
        #[must_use]
        pub fn detect() -> Option<Pext> {
            TABLE.get_or_init(build_table).as_deref().map(Pext)
        }
    }

    fn has_slow_pext() -> bool {
        let vendor = __cpuid(0);
        let vendor = [vendor.ebx, vendor.edx, vendor.ecx]
            .map(u32::to_le_bytes)
            .concat();
        let version = __cpuid(1).eax;
        let base_family = version >> 8 & 15;
        let family = if base_family == 15 {
            base_family + (version >> 20 & 255)
        } else {
            base_family
        };
        (vendor == *b"AuthenticAMD" || vendor == *b"HygonGenuine") && family < 0x19
    }

    /// The squares that matter for a slider: its lines without their last squares, and where its
    /// attacks begin in the table.
    #[derive(Clone, Copy)]
    struct Entry {
        mask: u64,
        offset: usize,
    }

    const TABLE_LENGTH: usize = 107_648;

    const fn inner_mask(square: Square, directions: [(i8, i8); 4]) -> u64 {
        let mut set = 0;
        let mut direction = 0;
        while direction < 4 {
            let (files, ranks) = directions[direction];
            let mut at = square;
            while let Some(next) = at.offset(files, ranks) {
                if next.offset(files, ranks).is_some() {
                    set |= 1 << next.index();
                }
                at = next;
            }
            direction += 1;
        }
        set
    }

    const fn build_entries(directions: [(i8, i8); 4], start: usize) -> [Entry; 64] {
        let mut entries = [Entry { mask: 0, offset: 0 }; 64];
        let mut offset = start;
        let mut index = 0;
        while index < 64 {
            let mask = inner_mask(Square::from_low_bits(index as u8), directions);
            entries[index] = Entry { mask, offset };
            offset += 1 << mask.count_ones();
            index += 1;
        }
        entries
    }

    const ROOK_LENGTH: usize = 102_400;
    static ROOKS: [Entry; 64] = build_entries(ROOK_DIRECTIONS, 0);
    static BISHOPS: [Entry; 64] = build_entries(BISHOP_DIRECTIONS, ROOK_LENGTH);

    fn fill(table: &mut [u64; TABLE_LENGTH], entries: &[Entry; 64], directions: [(i8, i8); 4]) {
        for (square, &Entry { mask, offset }) in Square::all().zip(entries) {
            // Subsets come in rising order, and so do the numbers that PEXT makes of them.
            for (number, subset) in Bitboard(mask).subsets().enumerate() {
                table[offset + number] = walk(square, subset.0, directions);
            }
        }
    }

    #[cold]
    fn build_table() -> Option<Box<[u64; TABLE_LENGTH]>> {
        let has_features = std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("lzcnt")
            && std::is_x86_feature_detected!("popcnt");
        if !has_features || has_slow_pext() {
            return None;
        }
        let mut table: Box<[u64; TABLE_LENGTH]> =
            vec![0; TABLE_LENGTH].into_boxed_slice().try_into().ok()?;
        fill(&mut table, &ROOKS, ROOK_DIRECTIONS);
        fill(&mut table, &BISHOPS, BISHOP_DIRECTIONS);
        Some(table)
    }

    #[inline(always)]
    fn pext(_proof: Pext, value: u64, mask: u64) -> u64 {
        let gathered: u64;
        // SAFETY: a `Pext` exists only where the processor has BMI2. The instruction reads two
        // registers and writes one; it touches neither memory nor flags. Inline assembly rather
        // than the intrinsic, since the intrinsic is not inlined into functions compiled for
        // every x86-64 processor.
        unsafe {
            core::arch::asm!(
                "pext {gathered}, {value}, {mask}",
                gathered = lateout(reg) gathered,
                value = in(reg) value,
                mask = in(reg) mask,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        gathered
    }

    #[inline(always)]
    fn look_up(proof: Pext, entry: Entry, occupied: Bitboard) -> Bitboard {
        let index = entry.offset + pext(proof, occupied.0, entry.mask) as usize;
        debug_assert!(index < TABLE_LENGTH);
        // SAFETY: PEXT under a mask of n bits gives less than 2 to the power of n, and the
        // entries are laid out with that much room each; the last one ends the table.
        Bitboard(unsafe { *proof.0.get_unchecked(index) })
    }

    impl Sliders for Pext {
        #[inline(always)]
        fn rook(self, square: Square, occupied: Bitboard) -> Bitboard {
            look_up(self, ROOKS[square.index()], occupied)
        }

        #[inline(always)]
        fn bishop(self, square: Square, occupied: Bitboard) -> Bitboard {
            look_up(self, BISHOPS[square.index()], occupied)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cheap generator of occupied squares, the same ones in every run.
    fn next_random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    fn check<S: Sliders>(sliders: S) {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for round in 0..2_000 {
            let dense = next_random(&mut state);
            let occupied = if round % 2 == 0 {
                dense
            } else {
                dense & next_random(&mut state)
            };
            for square in Square::all() {
                let rook = walk(square, occupied, ROOK_DIRECTIONS);
                let bishop = walk(square, occupied, BISHOP_DIRECTIONS);
                assert_eq!(sliders.rook(square, Bitboard(occupied)), Bitboard(rook));
                assert_eq!(sliders.bishop(square, Bitboard(occupied)), Bitboard(bishop));
                assert_eq!(
                    sliders.queen(square, Bitboard(occupied)),
                    Bitboard(rook | bishop)
                );
            }
        }
    }

    #[test]
    fn portable_attacks_are_those_of_a_walk() {
        check(Portable);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn pext_attacks_are_those_of_a_walk() {
        match Pext::detect() {
            Some(pext) => check(pext),
            None => println!("skipped: this processor has no fast PEXT"),
        }
    }
}
