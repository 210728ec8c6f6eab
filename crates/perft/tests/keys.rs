//! Keys come back as the positions that have them, and nothing else is taken for one.

mod random;

use std::fs;
use std::path::Path;

use referee_chess::{CastlingMode, Position, PositionKey};
use referee_perft::{KeyError, key_from_bytes, key_to_bytes, read_key, read_suite};

use random::Chance;

fn check(position: &Position) {
    let key = position.exact_key();
    assert_eq!(key_from_bytes(key_to_bytes(key)), key);
    let mode = position.castling_mode();
    let found = read_key(key, mode).unwrap_or_else(|error| panic!("{position}: {error}"));
    assert_eq!(&found, position);
    assert_eq!(found.exact_key(), key, "{position}");
    assert_eq!(found.castling_mode(), mode);
    assert_eq!(
        found.legal_moves().as_slice(),
        position.legal_moves().as_slice()
    );
}

#[test]
fn keys_of_suites_come_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/perft");
    let mut checked = 0;
    for name in ["standard.epd", "chess960.epd", "odd_positions.epd"] {
        let text = fs::read_to_string(folder.join(name)).expect("the suite is there");
        for case in read_suite(&text).expect("the suite can be read") {
            check(&case.position);
            for mv in &case.position.legal_moves() {
                check(&case.position.after_unchecked(mv));
            }
            checked += 1;
        }
    }
    assert!(checked > 4_000, "{checked}");
}

#[test]
fn keys_of_positions_by_chance_come_back() {
    let mut chance = Chance(0x0123_4567_89ab_cdef);
    for _ in 0..100 {
        random::play(&mut chance, 120, check);
    }
    let mut checked = 0;
    while checked < 20_000 {
        if let Some(position) = random::setup(&mut chance) {
            check(&position);
            checked += 1;
        }
    }
}

#[test]
fn bytes_have_the_order_of_keys() {
    let mut chance = Chance(0x5555_5555_5555_5555);
    let mut keys: Vec<PositionKey> = Vec::new();
    random::play(&mut chance, 150, |position| keys.push(position.exact_key()));
    for a in &keys {
        for b in &keys {
            assert_eq!(key_to_bytes(*a).cmp(&key_to_bytes(*b)), a.cmp(b));
        }
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let start = Position::startpos().exact_key();
    let standard = |key| read_key(PositionKey(key), CastlingMode::Standard);
    // No pieces at all, and a board full of them.
    assert!(matches!(standard([0; 4]), Err(KeyError::Position(_))));
    assert!(matches!(
        standard([u64::MAX; 4]),
        Err(KeyError::Position(_))
    ));
    // Empty squares of which some tell that Black is to move.
    let mut key = start.0;
    key[3] |= 1 << 35;
    assert_eq!(standard(key), Err(KeyError::NotExact));
    // A mark on a pawn that has not moved two squares, and on a knight.
    for square in [8, 1] {
        let mut key = start.0;
        key.iter_mut()
            .take(3)
            .for_each(|plane| *plane |= 1 << square);
        assert!(standard(key).is_err());
    }
    // In standard chess a king on b1 does not castle.
    let chess960 = "rk5r/8/8/8/8/8/8/RK5R w AHah - 0 1";
    let position = Position::from_fen(chess960, CastlingMode::Chess960).expect("it is sound");
    assert_eq!(standard(position.exact_key().0), Err(KeyError::NotExact));
    check(&position);
}

#[test]
fn bytes_by_chance_do_no_harm() {
    let mut chance = Chance(0x7777_1234_7777_1234);
    let start = Position::startpos().exact_key();
    for _ in 0..20_000 {
        let mut bytes = key_to_bytes(start);
        for _ in 0..=chance.below(3) {
            bytes[chance.below(32)] ^= 1 << chance.below(8);
        }
        let key = key_from_bytes(bytes);
        if let Ok(position) = read_key(key, CastlingMode::Chess960) {
            assert_eq!(position.exact_key(), key);
        }
    }
}
