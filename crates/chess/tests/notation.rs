//! What holds for notations and reasons, whatever the position and whatever the text.

mod arbitrary;

use std::collections::HashSet;

use arbitrary::{anything, played, with_kings};
use proptest::prelude::*;
use referee_chess::{
    Bitboard, CastlingMode, Color, Epd, FEN_LENGTH_MAX, Fen, File, IllegalReason, MoveError,
    MoveKind, Position, Rank, Role, San, Setup, ShredderFen, Square, Tolerance, UciMove,
};

/// Every way to write a legal move as two squares and a promotion.
fn spellings(position: &Position) -> HashSet<UciMove> {
    let mut set = HashSet::new();
    for mv in &position.legal_moves() {
        let uci = UciMove {
            from: mv.from(),
            to: mv.to(),
            promotion: mv.promotion(),
        };
        set.insert(uci);
        if mv.is_castle() {
            let file = if mv.to() > mv.from() {
                File::G
            } else {
                File::C
            };
            let to = Square::at(file, mv.from().rank());
            if file.index().abs_diff(mv.from().file().index()) >= 2 {
                set.insert(UciMove { to, ..uci });
            }
        }
    }
    set
}

/// A move has a reason against it exactly if it is not legal.
fn check_reasons(position: &Position) {
    let legal = spellings(position);
    let promotions = Role::ALL.map(Some).into_iter().chain([None]);
    for promotion in promotions {
        for from in Square::all() {
            for to in Square::all() {
                let uci = UciMove {
                    from,
                    to,
                    promotion,
                };
                let reason = position.explain(uci);
                assert_eq!(
                    reason.is_none(),
                    legal.contains(&uci),
                    "{uci} in {position:?}: {reason:?}"
                );
                assert_eq!(
                    position.find_uci(uci).is_some(),
                    legal.contains(&uci),
                    "{uci} in {position:?}"
                );
            }
        }
    }
}

/// What a reason rests on is named with it, and belongs to the right side.
fn check_evidence(position: &Position) {
    for from in position.board().occupied() {
        for to in Square::all() {
            let uci = UciMove {
                from,
                to,
                promotion: None,
            };
            let Some(illegal) = position.explain(uci) else {
                continue;
            };
            let them = !position.turn();
            let by_them = illegal.pieces.iter().all(|(_, piece)| piece.color == them);
            let is_named = !illegal.pieces.is_empty();
            let fits = match illegal.reason {
                IllegalReason::EmptySquare => false,
                IllegalReason::PieceMovement
                | IllegalReason::CastlingRightLost
                | IllegalReason::PromotionMissing => !is_named,
                IllegalReason::PromotionInvalid => false,
                IllegalReason::OwnPiece => is_named && !by_them,
                IllegalReason::PathBlocked => is_named && illegal.squares.any(),
                IllegalReason::CheckRemains | IllegalReason::CastlingInCheck => {
                    is_named && by_them && position.is_check()
                }
                IllegalReason::CastlingThroughCheck => {
                    is_named && by_them && illegal.squares.any() && !position.is_check()
                }
                IllegalReason::KingExposed => {
                    let is_pinned = position.pinned().contains(from);
                    let changes_file = from.file() != to.file();
                    is_named && by_them && (is_pinned || changes_file)
                }
                IllegalReason::OpponentPiece
                | IllegalReason::NoEnPassant
                | IllegalReason::KingIntoCheck => is_named && by_them,
            };
            assert!(fits, "{uci} in {position:?}: {illegal:?}");
            assert!(illegal.article().starts_with(['1', '3']));
            assert!(!illegal.to_string().is_empty());
        }
    }
}

/// Every legal move is read back from all that is written for it.
fn check_moves(position: &Position) {
    let mut exact = HashSet::new();
    for mv in &position.legal_moves() {
        let uci = position.uci(mv);
        let san = position.san(mv);
        let (text, lan) = (san.to_string(), position.lan(mv).to_string());
        assert_eq!(position.read_uci(&uci.to_string()), Ok(mv), "{position:?}");
        assert_eq!(text.parse(), Ok::<San, _>(san), "{position:?}");
        for text in [&uci.to_string(), &text, &lan, &format!("{text}!?")] {
            assert_eq!(position.read_move(text), Ok(mv), "{text}: {position:?}");
        }
        assert!(exact.insert(text), "{san} twice: {position:?}");
    }
}

/// Notations of shakmaty for the same position are the same.
fn check_with_shakmaty(position: &Position) {
    use shakmaty::{EnPassantMode, Position as _};
    let setup = position.to_setup();
    let mode = match position.castling_mode() {
        CastlingMode::Standard => shakmaty::CastlingMode::Standard,
        CastlingMode::Chess960 => shakmaty::CastlingMode::Chess960,
    };
    for text in [Fen(&setup).to_string(), ShredderFen(&setup).to_string()] {
        let fen: shakmaty::fen::Fen = text.parse().expect("shakmaty reads our FEN");
        let theirs: shakmaty::Chess = fen
            .into_position(mode)
            .expect("shakmaty takes our position");
        let fen = shakmaty::fen::Fen::from_position(&theirs, EnPassantMode::Legal);
        assert_eq!(fen.to_string(), position.to_string());
        let notations = |list: Vec<(String, String)>| {
            let mut list = list;
            list.sort_unstable();
            list
        };
        let list = position.legal_moves();
        let found = list.into_iter().map(|mv| {
            let san = position.san(mv).to_string();
            (position.uci(mv).to_string(), san)
        });
        let expected = theirs.legal_moves().into_iter().map(|mv| {
            let san = shakmaty::san::SanPlus::from_move(theirs.clone(), mv);
            (mv.to_uci(mode).to_string(), san.to_string())
        });
        assert_eq!(
            notations(found.collect()),
            notations(expected.collect()),
            "{position:?}"
        );
    }
}

/// What a FEN says of a position that can be played from is read back whole.
fn check_fen(position: &Position, tolerance: Tolerance) {
    let setup = position.to_setup();
    let mode = position.castling_mode();
    for text in [Fen(&setup).to_string(), ShredderFen(&setup).to_string()] {
        assert!(text.len() <= FEN_LENGTH_MAX, "{text}");
        let read = Position::from_fen_with(&text, mode, tolerance);
        let read = read.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.to_setup(), setup, "{text}");
        assert_eq!(read.to_string(), Fen(&setup).to_string());
    }
    let epd = Epd(&setup).to_string();
    let read = Position::from_fen_with(&epd, mode, Tolerance::PERFT);
    assert_eq!(read.as_ref(), Ok(position), "{epd}");
}

/// Texts that come near to notations, so that readers get beyond the first character.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-h1-8KQRBNPOx0+#=qrbnp!?.() -]{0,18}",
        "[KQRBNP]?[a-h]?[1-8]?[x:-]?[a-h][1-8](=?[QRBNKqrbnkp])?[+#!?]{0,3}( ?e\\.p\\.)?",
        "([pnbrqkPNBRQK1-9]{1,9}/){6,8}[pnbrqk1-8]{1,8} [wb] [KQkqA-Ha-h-]{0,5} [a-h3-6-]{1,2} \
         [0-9]{1,6} -?[0-9]{1,3}",
        proptest::collection::vec(any::<u8>(), 0..140)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

/// A FEN of a game with one character put in place of another.
fn damaged_fen() -> impl Strategy<Value = (String, CastlingMode)> {
    (
        played(),
        any::<prop::sample::Index>(),
        any::<char>(),
        any::<u8>(),
    )
        .prop_map(|(position, index, any_char, ascii)| {
            let mut chars: Vec<char> = position.to_string().chars().collect();
            let index = index.index(chars.len());
            chars[index] = match ascii {
                0..=127 => ascii as char,
                _ => any_char,
            };
            (chars.into_iter().collect(), position.castling_mode())
        })
}

proptest! {
    #[test]
    fn a_move_of_a_game_has_a_reason_against_it_exactly_if_it_is_not_legal(position in played()) {
        check_reasons(&position);
        check_evidence(&position);
    }

    #[test]
    fn a_move_on_any_board_has_a_reason_against_it_exactly_if_it_is_not_legal(
        setup in with_kings(),
    ) {
        if let Ok(position) = Position::from_setup_with(&setup, Tolerance::PERFT) {
            check_reasons(&position);
            check_evidence(&position);
        }
    }

    #[test]
    fn positions_of_games_and_their_moves_are_read_back(position in played()) {
        check_fen(&position, Tolerance::STRICT);
        check_moves(&position);
        check_with_shakmaty(&position);
    }

    #[test]
    fn positions_on_any_board_and_their_moves_are_read_back(setup in with_kings()) {
        if let Ok(position) = Position::from_setup_with(&setup, Tolerance::PERFT) {
            check_fen(&position, Tolerance::PERFT);
            check_moves(&position);
        }
    }

    #[test]
    fn setups_are_read_back_as_they_were(mut setup in anything()) {
        let first = Bitboard::rank(Rank::relative(Color::White, 0));
        let eighth = Bitboard::rank(Rank::relative(Color::Black, 0));
        setup.castling_rooks &= first | eighth;
        for text in [Fen(&setup).to_string(), ShredderFen(&setup).to_string()] {
            let read = Setup::from_fen(&text, setup.castling_mode);
            prop_assert_eq!(read.as_ref(), Ok(&setup), "{}", text);
        }
    }

    #[test]
    fn no_text_is_too_odd(text in any_text(), position in played()) {
        for mode in [CastlingMode::Standard, CastlingMode::Chess960] {
            for tolerance in [Tolerance::STRICT, Tolerance::LENIENT, Tolerance::PERFT] {
                match Position::from_fen_with(&text, mode, tolerance) {
                    Ok(position) => check_fen(&position, tolerance),
                    Err(error) => {
                        prop_assert!(!error.issues.is_empty());
                        prop_assert!(!error.to_string().is_empty());
                    }
                }
            }
        }
        let readings = [
            position.read_uci(&text),
            position.read_san(&text),
            position.read_move(&text),
        ];
        for reading in readings {
            match reading {
                Ok(mv) => prop_assert!(position.is_legal(mv), "{}: {:?}", text, position),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn a_damaged_fen_is_refused_or_means_what_it_says((text, mode) in damaged_fen()) {
        match Position::from_fen(&text, mode) {
            Ok(position) => check_fen(&position, Tolerance::STRICT),
            Err(error) => prop_assert!(!error.issues.is_empty()),
        }
    }

    #[test]
    fn an_illegal_move_in_algebraic_notation_is_refused_for_what_it_is(
        position in played(),
        other in played(),
    ) {
        // The moves of one game, tried in another.
        for mv in &other.legal_moves() {
            let san = other.san(mv).to_string();
            match position.read_san(&san) {
                Ok(found) => {
                    let same_role = position.board().role_at(found.from())
                        == other.board().role_at(mv.from());
                    prop_assert!(same_role, "{}: {:?}", san, position);
                    let same_kind = (found.kind() == MoveKind::Castle) == mv.is_castle();
                    prop_assert!(same_kind && found.promotion() == mv.promotion());
                    prop_assert!(mv.is_castle() || found.to() == mv.to());
                }
                Err(MoveError::Illegal(illegal)) => prop_assert!(!illegal.to_string().is_empty()),
                Err(MoveError::Ambiguous { candidates }) => {
                    prop_assert!(candidates.len() > 1);
                    let legal = candidates.iter().all(|uci| position.find_uci(*uci).is_some());
                    prop_assert!(legal, "{}: {:?}", san, position);
                }
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
    }
}
