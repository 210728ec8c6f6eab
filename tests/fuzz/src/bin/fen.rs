//! Reads a text as a FEN. What is read can be written and read again, as plain FEN, X-FEN and
//! Shredder-FEN, and is the same; strict reading takes nothing that lenient reading refuses or
//! sees otherwise; and a position that strict reading takes leads only to such positions.
#![no_main]

use libfuzzer_sys::fuzz_target;
use referee_chess::{COUNTER_MAX, CastlingMode, Fen, Position, Setup, ShredderFen, Tolerance};
use referee_fuzz::{CASTLING_MODES, check_position};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    for mode in CASTLING_MODES {
        check_setup(text, mode);
        let strict = read(text, mode, Tolerance::STRICT);
        let lenient = read(text, mode, Tolerance::LENIENT);
        let perft = read(text, mode, Tolerance::PERFT);
        if let Some(strict) = strict {
            let lenient = lenient
                .as_ref()
                .expect("lenient reading takes what strict takes");
            assert_eq!(strict.to_setup(), lenient.to_setup());
            check_next(&strict);
        }
        if let Some(lenient) = lenient {
            let perft = perft
                .as_ref()
                .expect("perft takes what lenient reading takes");
            // Perft believes a check that cannot be, and then the en passant square beside it.
            assert_eq!(lenient.board(), perft.board());
            assert_eq!(lenient.castling_rooks(), perft.castling_rooks());
            check_again(&lenient, Tolerance::LENIENT);
        }
        if let Some(perft) = perft {
            check_again(&perft, Tolerance::PERFT);
        }
    }
});

/// A setup that was read has not been judged, and still can be written and read again.
fn check_setup(text: &str, mode: CastlingMode) {
    let Ok(setup) = Setup::from_fen(text, mode) else {
        return;
    };
    let written = ShredderFen(&setup).to_string();
    let again = Setup::from_fen(&written, mode);
    assert_eq!(again.as_ref(), Ok(&setup), "{text:?} was written {written}");
}

/// Reads a position; where it is refused there is a reason that can be printed.
fn read(text: &str, mode: CastlingMode, tolerance: Tolerance) -> Option<Position> {
    match Position::from_fen_with(text, mode, tolerance) {
        Ok(position) => {
            check_position(&position);
            Some(position)
        }
        Err(error) => {
            assert!(
                !error.issues.is_empty(),
                "{text:?} is refused without a reason"
            );
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// A position that was read, and so set right, is read again from what it writes.
fn check_again(position: &Position, tolerance: Tolerance) {
    let setup = position.to_setup();
    for written in [Fen(&setup).to_string(), ShredderFen(&setup).to_string()] {
        match Position::from_fen_with(&written, position.castling_mode(), tolerance) {
            Ok(again) => {
                assert_eq!(again.to_setup(), setup, "{written}");
                assert_eq!(again, *position, "{written}");
                assert_eq!(again.exact_key(), position.exact_key(), "{written}");
            }
            Err(error) => panic!("{written} is refused: {error}"),
        }
    }
}

/// Strict reading takes every position that can follow one that it takes, as long as there are
/// numbers for the moves.
fn check_next(position: &Position) {
    if position.halfmove_clock().max(position.fullmove_number()) >= COUNTER_MAX {
        return;
    }
    for mv in position.legal_moves().as_slice() {
        let mut next = position.clone();
        next.play_unchecked(*mv);
        check_again(&next, Tolerance::STRICT);
    }
}
