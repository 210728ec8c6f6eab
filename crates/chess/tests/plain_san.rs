//! The fast path for algebraic notation against the reader that lists moves: on every text of its
//! form, in positions from random games, both find the same move or none.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use referee_chess::{CastlingMode, Position, Square, Tolerance, chess960};

/// Some positions have more rooks than captures can explain.
const MANY_ROOKS: Tolerance = Tolerance {
    too_much_material: true,
    ..Tolerance::STRICT
};

/// Every text of the plain form of one kind of piece.
fn piece_texts(letter: char) -> Vec<String> {
    let mut origins = vec![String::new()];
    origins.extend("abcdefgh12345678".chars().map(String::from));
    origins.extend(Square::all().map(|square| square.to_string()));
    let mut texts = Vec::new();
    for origin in &origins {
        for sign in ["", "x"] {
            texts.extend(Square::all().map(|to| format!("{letter}{origin}{sign}{to}")));
        }
    }
    texts
}

fn pawn_texts() -> Vec<String> {
    let mut texts = Vec::new();
    for to in Square::all() {
        for promotion in ["", "=Q", "=R", "=B", "=N", "=K", "=P"] {
            texts.push(format!("{to}{promotion}"));
            texts.extend(
                "abcdefgh"
                    .chars()
                    .map(|file| format!("{file}x{to}{promotion}")),
            );
        }
    }
    texts
}

fn texts() -> Vec<String> {
    let mut texts = pawn_texts();
    for letter in "NBRQK".chars() {
        texts.extend(piece_texts(letter));
    }
    texts.extend(["O-O", "O-O-O"].map(String::from));
    let signed: Vec<String> = texts
        .iter()
        .step_by(7)
        .map(|text| format!("{text}+"))
        .collect();
    texts.extend(signed);
    texts
}

/// Plays a random game and returns its positions.
fn positions(start: Position, choices: &[u16]) -> Vec<Position> {
    let mut positions = vec![start];
    for &choice in choices {
        let last = &positions[positions.len() - 1];
        let moves = last.legal_moves();
        if moves.is_empty() {
            break;
        }
        let next = last.after_unchecked(moves[usize::from(choice) % moves.len()]);
        positions.push(next);
    }
    positions
}

fn starts() -> impl Strategy<Value = Position> {
    let standard = Just(Position::startpos());
    let chess960 = (0..960u32).prop_map(|number| {
        chess960::startpos(number, CastlingMode::Chess960).expect("there are 960 positions")
    });
    // Positions near promotion, en passant and castling, which random games seldom reach.
    let sharp = proptest::sample::select(vec![
        "r3k2r/pP2P1pp/8/2pP4/8/8/PPP3pP/R3K2R w KQkq c6 0 1",
        "4k3/P1P1P1P1/8/8/8/K7/1p1p1p1p/8 w - - 0 1",
        "8/8/8/K2pP2q/8/8/8/4k3 w - d6 0 1",
        "4k3/4r3/8/8/1b6/2N1N3/3B4/4K2R w K - 0 1",
        "RRR5/R1R5/RRR5/8/7k/8/8/K7 w - - 0 1",
        "Q1Q5/8/7k/8/Q7/8/8/K7 w - - 0 1",
        "N1N5/8/N1N4k/8/8/8/8/K7 w - - 0 1",
    ]);
    let sharp = sharp.prop_map(|fen| {
        Position::from_fen_with(fen, CastlingMode::Standard, MANY_ROOKS)
            .expect("the test has good FENs")
    });
    prop_oneof![standard, chess960, sharp]
}

#[test]
fn the_fast_path_finds_what_the_other_finds() {
    let texts = texts();
    let config = Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = (starts(), proptest::collection::vec(any::<u16>(), 0..120));
    let outcome = TestRunner::new(config).run(&strategy, |(start, choices)| {
        let positions = positions(start, &choices);
        for position in positions.iter().step_by(40) {
            for text in &texts {
                let plain = position.find_plain_san(text.as_bytes());
                let listed = position.read_san(text).ok();
                prop_assert_eq!(plain, listed, "{} in {}", text, position);
            }
        }
        // What is written is found in every position.
        for position in &positions {
            for mv in &position.legal_moves() {
                let text = position.san(mv).to_string();
                let found = position.find_plain_san(text.as_bytes());
                prop_assert_eq!(found, Some(mv), "{} in {}", text, position);
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_bytes_are_no_harm() {
    let config = Config {
        cases: 2_000,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = (starts(), "[NBRQKOa-h1-8x=+#-]{0,8}");
    let outcome = TestRunner::new(config).run(&strategy, |(position, text)| {
        if let Some(mv) = position.find_plain_san(text.as_bytes()) {
            prop_assert_eq!(
                position.read_san(&text).ok(),
                Some(mv),
                "{} in {}",
                text,
                position
            );
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let start = Position::startpos();
    for length in 0..=3 {
        assert_eq!(start.find_plain_san(&vec![0xff; length]), None);
    }
}
