//! Reads a FEN and moves in algebraic notation. A text that reads as a move reads as a legal one;
//! what is written for a legal move, short and long, reads back as that move and is written for
//! no other; and no square of origin is written that could be left out.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use referee_chess::{
    CheckSign, Move, MoveError, MoveKind, Position, Role, San, SanAction, Tolerance,
};
use referee_fuzz::{CASTLING_MODES, fen_and_words};

fuzz_target!(|data: &[u8]| {
    for mode in CASTLING_MODES {
        let Some((fen, words)) = fen_and_words(data) else {
            return;
        };
        let Ok(mut position) = Position::from_fen_with(fen, mode, Tolerance::LENIENT) else {
            continue;
        };
        check_written(&position);
        for word in words {
            let Some(mv) = read(&position, word) else {
                continue;
            };
            position.play(mv).expect("it was legal a moment ago");
            check_written(&position);
        }
    }
});

/// Reads a move; it is legal and is what the text says. A refusal has a reason that can be
/// printed, and where the text fits several moves, those are legal ones.
fn read(position: &Position, word: &str) -> Option<Move> {
    let either = position.read_move(word);
    match position.read_san(word) {
        Ok(mv) => {
            assert!(
                position.is_legal(mv),
                "{word} reads as {mv:?} in {position}"
            );
            assert_eq!(either, Ok(mv), "{word} in {position}");
            let san: San = word.parse().expect("it was read a moment ago");
            check_meaning(position, word, &san, mv);
            Some(mv)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            if let MoveError::Ambiguous { candidates } = error {
                assert!(candidates.len() > 1, "{word} in {position}");
                for uci in candidates {
                    assert!(position.find_uci(uci).is_some(), "{word} in {position}");
                }
            }
            None
        }
    }
}

/// Whatever the text says about a move is so, but for the signs of check and, for a piece, of
/// capture.
fn check_meaning(position: &Position, word: &str, san: &San, mv: Move) {
    let origin = mv.from();
    match san.action {
        SanAction::CastleKingside | SanAction::CastleQueenside => {
            assert_eq!(mv.kind(), MoveKind::Castle, "{word} in {position}");
            let is_kingside = san.action == SanAction::CastleKingside;
            assert_eq!(mv.to() > origin, is_kingside, "{word} in {position}");
        }
        SanAction::Go {
            role,
            from_file,
            from_rank,
            to,
            promotion,
            en_passant,
            capture,
        } => {
            assert_ne!(mv.kind(), MoveKind::Castle, "{word} in {position}");
            assert_eq!(
                position.board().role_at(origin),
                Some(role),
                "{word} in {position}"
            );
            assert!(
                from_file.is_none_or(|file| file == origin.file()),
                "{word} in {position}"
            );
            assert!(
                from_rank.is_none_or(|rank| rank == origin.rank()),
                "{word} in {position}"
            );
            assert_eq!(mv.to(), to, "{word} in {position}");
            assert_eq!(mv.promotion(), promotion, "{word} in {position}");
            let changes_file = origin.file() != to.file();
            assert!(
                role != Role::Pawn || !capture || changes_file,
                "{word} in {position}"
            );
            assert!(
                !en_passant || mv.kind() == MoveKind::EnPassant,
                "{word} in {position}"
            );
        }
    }
}

/// What is written for each legal move is read as that move, and no two are written alike.
fn check_written(position: &Position) {
    let moves = position.legal_moves();
    let mut texts = BTreeSet::new();
    for &mv in moves.as_slice() {
        let san = position.san(mv);
        let text = san.to_string();
        assert_eq!(text.parse(), Ok(san), "{text} in {position}");
        assert_eq!(read(position, &text), Some(mv), "{text} in {position}");
        let bare = text.trim_end_matches(['+', '#']);
        assert_eq!(read(position, bare), Some(mv), "{bare} in {position}");
        if !mv.is_castle() {
            let long = position.lan(mv).to_string();
            assert_eq!(read(position, &long), Some(mv), "{long} in {position}");
        }
        let after = position.after_unchecked(mv);
        let sign = match (after.is_check(), after.is_checkmate()) {
            (_, true) => Some(CheckSign::Mate),
            (true, false) => Some(CheckSign::Check),
            (false, false) => None,
        };
        assert_eq!(san.check, sign, "{text} in {position}");
        check_origin(position, &san);
        texts.insert(text);
    }
    assert_eq!(
        texts.len(),
        moves.len(),
        "two moves are written alike in {position}"
    );
}

/// A piece is written with as little of its origin as the standard asks for: with less, or with
/// the rank where the file would do, the text fits several moves.
fn check_origin(position: &Position, san: &San) {
    let SanAction::Go {
        role,
        from_file,
        from_rank,
        capture,
        to,
        promotion,
        en_passant,
    } = san.action
    else {
        return;
    };
    if role == Role::Pawn {
        // A pawn is written with its file when it captures, and with nothing when it does not.
        assert_eq!(from_file.is_some(), capture, "{san} in {position}");
        assert_eq!(from_rank, None, "{san} in {position}");
        return;
    }
    let fits_several = |from_file, from_rank| {
        let action = SanAction::Go {
            role,
            from_file,
            from_rank,
            capture,
            to,
            promotion,
            en_passant,
        };
        let shorter = San {
            action,
            check: san.check,
        };
        matches!(
            position.find_san(&shorter),
            Err(MoveError::Ambiguous { .. })
        )
    };
    if from_file.is_none() && from_rank.is_none() {
        return;
    }
    assert!(
        fits_several(None, None),
        "{san} says too much in {position}"
    );
    if let Some(rank) = from_rank {
        let Some(mv) = position.find_san(san).ok() else {
            panic!("{san} is not found in {position}");
        };
        let file = Some(mv.from().file());
        assert!(
            fits_several(file, None),
            "the file would do for {san} in {position}"
        );
        assert!(
            from_file.is_none() || fits_several(None, Some(rank)),
            "the rank would do for {san} in {position}"
        );
    }
}
