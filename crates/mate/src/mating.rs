//! Whether the closure of all moves leaves room for any mate.

use referee_chess::rays::king_attacks;
use referee_chess::sliders::Sliders;
use referee_chess::{Bitboard, Role, Square};

use crate::saturate::{Saturation, attacks};

/// Combinations of attacks that are tried for one square of the king; where there are more, the
/// men of the winner are taken to attack everything they can at once.
const COMBINATIONS_MAX: usize = 4_096;

/// Returns whether a mate cannot be ruled out: some pair of squares of the kings where the king of
/// the loser can be attacked, and each square around it can be attacked, too, or be barred by a
/// man of its own.
pub(crate) fn is_possible<S: Sliders>(reached: &Saturation, sliders: S) -> bool {
    let regions = reached.king_squares(1);
    let total = union_of_attacks(reached, sliders);
    for king in regions & total {
        let mut partners = Bitboard::EMPTY;
        for index in 0..64 {
            let waits = reached.can_wait[0] && reached.pairs[0][index].contains(king);
            if waits || reached.uncovered[index].contains(king) {
                partners |= Bitboard(1 << index);
            }
        }
        if partners.any() && is_mate_possible_on(reached, king, partners, sliders) {
            return true;
        }
    }
    false
}

/// Returns the squares that bar every line of the winner's men. The loser's king is none of them:
/// in check it does not shield the squares behind it.
fn bars(reached: &Saturation) -> Bitboard {
    let winner_king = reached.king_squares(0);
    if winner_king.more_than_one() {
        reached.certain()
    } else {
        reached.certain() | winner_king
    }
}

/// Returns the squares that any man of the winner but its king can ever attack.
fn union_of_attacks<S: Sliders>(reached: &Saturation, sliders: S) -> Bitboard {
    let bars = bars(reached);
    let mut total = Bitboard::EMPTY;
    for man in reached.men() {
        if man.color == reached.winner {
            for from in man.reach {
                total |= attacks(man.role, man.color, from, bars, sliders);
            }
        }
    }
    total
}

fn is_mate_possible_on<S: Sliders>(
    reached: &Saturation,
    king: Square,
    partners: Bitboard,
    sliders: S,
) -> bool {
    let around = king_attacks(king);
    let zone = around | Bitboard::of(king);
    let mut patterns: Vec<Vec<Bitboard>> = Vec::new();
    let mut combinations = 1usize;
    let bars = bars(reached);
    for man in reached.men() {
        if man.color != reached.winner {
            continue;
        }
        if !reached.pay(2 * man.reach.count()) {
            return true;
        }
        let mut own = vec![];
        for from in man.reach {
            if from == king {
                continue;
            }
            let seen = attacks(man.role, man.color, from, bars, sliders) & zone;
            if !own.contains(&seen) {
                own.push(seen);
            }
        }
        if man.is_capturable {
            own.push(Bitboard::EMPTY);
        }
        // What attacks a part of what another square attacks helps no more.
        let all = own.clone();
        own.retain(|&seen| {
            !all.iter()
                .any(|&other| other != seen && (seen - other).is_empty())
        });
        own.dedup();
        if own.iter().any(|seen| seen.any()) {
            combinations = combinations.saturating_mul(own.len());
            patterns.push(own);
        }
    }
    if combinations > COMBINATIONS_MAX {
        let all = patterns
            .iter()
            .flatten()
            .fold(Bitboard::EMPTY, |set, &seen| set | seen);
        return is_covered(reached, king, partners, all);
    }
    (0..combinations).any(|mut choice| {
        if !reached.pay(2 + 4 * partners.count()) {
            return true;
        }
        let mut seen = Bitboard::EMPTY;
        for own in &patterns {
            seen |= own[choice % own.len()];
            choice /= own.len();
        }
        is_covered(reached, king, partners, seen)
    })
}

/// Returns whether the king may be mated while the men of the winner attack some squares.
fn is_covered(reached: &Saturation, king: Square, partners: Bitboard, seen: Bitboard) -> bool {
    if !seen.contains(king) {
        return false;
    }
    let open = king_attacks(king) - seen;
    if open.is_empty() {
        return true;
    }
    partners
        .into_iter()
        .any(|partner| can_be_barred(reached, open - king_attacks(partner)))
}

/// Returns whether men of the loser can stand on all of some squares at once.
fn can_be_barred(reached: &Saturation, squares: Bitboard) -> bool {
    let mut owner = [usize::MAX; 64];
    let mut taken = [Square::from_low_bits(0); 32];
    squares.into_iter().all(|square| {
        let mut tried = 0u32;
        assign(reached, square, &mut owner, &mut taken, &mut tried)
    })
}

/// Finds a man for a square, and another square for the man that it takes away: one step of
/// bipartite matching along an augmenting path.
fn assign(
    reached: &Saturation,
    square: Square,
    owner: &mut [usize; 64],
    taken: &mut [Square; 32],
    tried: &mut u32,
) -> bool {
    for (number, man) in reached.men().iter().enumerate() {
        if man.color == reached.winner || *tried >> number & 1 != 0 || !man.reach.contains(square) {
            continue;
        }
        debug_assert!(man.role != Role::King);
        *tried |= 1 << number;
        let is_free = !owner.contains(&number);
        if is_free || assign(reached, taken[number], owner, taken, tried) {
            owner[square.index()] = number;
            taken[number] = square;
            return true;
        }
    }
    false
}
