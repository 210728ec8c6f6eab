//! Reads a FEN and moves in UCI notation. A text that finds a move finds a legal one, by the
//! judgment of both generators; every legal move is found by what is written for it; and playing
//! keeps the boards alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use referee_chess::{Position, Square, Tolerance, UciMove};
use referee_fuzz::{CASTLING_MODES, check_position, fen_and_words, plain_moves, play};

fuzz_target!(|data: &[u8]| {
    for mode in CASTLING_MODES {
        let Some((fen, words)) = fen_and_words(data) else {
            return;
        };
        let Ok(mut position) = Position::from_fen_with(fen, mode, Tolerance::LENIENT) else {
            continue;
        };
        check_position(&position);
        check_written(&position);
        for word in words {
            let Ok(uci) = word.parse::<UciMove>() else {
                check_refused(&position, word);
                continue;
            };
            assert_eq!(
                uci.to_string(),
                word,
                "{word} is not written as it was read"
            );
            check_explained(&position, uci);
            let Some(mv) = position.find_uci(uci) else {
                check_refused(&position, word);
                continue;
            };
            assert_eq!(position.read_uci(word), Ok(mv), "{word} in {position}");
            assert!(
                plain_moves(&position).contains(&mv.into()),
                "{word} finds {mv:?} in {position}, which is not legal"
            );
            assert_eq!(mv.from(), uci.from, "{word} in {position}");
            assert_eq!(mv.promotion(), uci.promotion, "{word} in {position}");
            play(&mut position, mv);
            check_written(&position);
        }
    }
});

/// A text that is refused is refused with a reason that can be printed. Capital letters of
/// promotion and blanks are read by `read_uci` alone; what it then finds is legal.
fn check_refused(position: &Position, word: &str) {
    match position.read_uci(word) {
        Ok(mv) => {
            assert!(position.is_legal(mv), "{word} in {position}");
            let written = position.uci(mv).to_string();
            assert!(
                word.trim().parse::<UciMove>().is_err() || word.trim() != word,
                "{word} is read as {written} in {position}, but not found"
            );
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// From the square of a move to every other square: a move is refused exactly if it is none, and
/// then there is a reason that can be printed.
fn check_explained(position: &Position, uci: UciMove) {
    for to in Square::all() {
        let uci = UciMove { to, ..uci };
        let found = position.find_uci(uci);
        match position.resolve_uci(uci) {
            Ok(mv) => assert_eq!(Some(mv), found, "{uci} in {position}"),
            Err(error) => {
                assert_eq!(found, None, "{uci} is refused in {position}: {error}");
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// What is written for a legal move is read as that move, and as no other.
fn check_written(position: &Position) {
    for mv in position.legal_moves().as_slice() {
        let uci = position.uci(*mv);
        let text = uci.to_string();
        assert_eq!(text.parse(), Ok(uci), "{text} in {position}");
        assert_eq!(position.find_uci(uci), Some(*mv), "{text} in {position}");
    }
}
