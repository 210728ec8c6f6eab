//! Texts of moves: what they are read as, how they are written, and what is said of moves that
//! are not legal. The cases are in tests/data/chess.

use std::fs;
use std::path::Path;

use referee_chess::{Bitboard, CastlingMode, MoveError, MoveKind, Position, Role, San, Square};
use serde_json::Value;

fn cases(file: &str) -> Vec<Value> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/chess");
    let text = fs::read_to_string(place.join(file)).expect("the cases are among the test data");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is a case in JSON"))
        .collect()
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_default()
}

fn position(case: &Value) -> Position {
    let mode = match case["x960"].as_bool() {
        Some(true) => CastlingMode::Chess960,
        _ => CastlingMode::Standard,
    };
    let mut position = Position::from_fen(text(case, "fen"), mode)
        .unwrap_or_else(|error| panic!("{error}: {}", case["fen"]));
    for uci in text(case, "moves").split_whitespace() {
        let mv = position
            .read_uci(uci)
            .unwrap_or_else(|error| panic!("{error}: {case}"));
        position.play_unchecked(mv);
    }
    position
}

fn squares(names: &str) -> Bitboard {
    names
        .split_whitespace()
        .map(|name| name.parse::<Square>().expect("the case names a square"))
        .collect()
}

#[test]
fn the_reason_against_a_move_is_named_with_its_article_pieces_and_squares() {
    for case in cases("illegal.jsonl") {
        let position = position(&case);
        let illegal = match position.read_move(text(&case, "move")) {
            Err(MoveError::Illegal(illegal)) => illegal,
            other => panic!("{other:?}: {case}"),
        };
        assert_eq!(illegal.to_string(), text(&case, "text"), "{case}");
        assert_eq!(
            format!("{:?}", illegal.reason),
            text(&case, "reason"),
            "{case}"
        );
        assert_eq!(illegal.article(), text(&case, "article"), "{case}");
        let from = illegal.from.map(|square| square.to_string());
        assert_eq!(from.as_deref(), case["from"].as_str(), "{case}");
        assert_eq!(illegal.squares, squares(text(&case, "squares")), "{case}");
        let pieces: Bitboard = illegal.pieces.iter().map(|(square, _)| *square).collect();
        assert_eq!(pieces, squares(text(&case, "pieces")), "{case}");
        for (square, piece) in illegal.pieces {
            assert_eq!(position.board().piece_at(square), Some(piece), "{case}");
        }
    }
}

/// T2-78: where a sentence says that a side has no such piece that can reach a square, no legal
/// move of such a piece goes there.
#[test]
fn what_is_said_of_reaching_a_square_is_so() {
    let files = std::iter::once(String::new()).chain(('a'..='h').map(String::from));
    let files: Vec<String> = files.collect();
    let mut said = 0;
    for case in [cases("illegal.jsonl"), cases("moves.jsonl")].concat() {
        let position = position(&case);
        let board = position.board();
        let moves = position.legal_moves();
        let goes: Vec<(Role, Square, Square)> = moves
            .into_iter()
            .filter(|mv| mv.kind() != MoveKind::Castle)
            .filter_map(|mv| Some((board.piece_at(mv.from())?.role, mv.from(), mv.to())))
            .collect();
        for (letter, file, capture) in ["", "N", "B", "R", "Q", "K"]
            .iter()
            .flat_map(|letter| files.iter().map(move |file| (letter, file)))
            .flat_map(|(letter, file)| ["", "x"].map(|capture| (letter, file, capture)))
        {
            for to in Bitboard::FULL {
                let text = format!("{letter}{file}{capture}{to}");
                let Err(MoveError::Illegal(illegal)) = position.read_move(&text) else {
                    continue;
                };
                let sentence = illegal.to_string();
                let Some(piece) = illegal
                    .piece
                    .filter(|_| sentence.contains("that can reach"))
                else {
                    continue;
                };
                said += 1;
                let is_meant = |from: Square| {
                    let on_file = format!(" on the {}-file ", from.file().to_char());
                    !sentence.contains("-file") || sentence.contains(&on_file)
                };
                let reaches = goes
                    .iter()
                    .any(|&(role, from, at)| role == piece.role && at == to && is_meant(from));
                assert!(!reaches, "{text}: {sentence}: {case}");
            }
        }
    }
    assert!(said > 10_000, "only {said} sentences");
}

#[test]
fn texts_of_moves_are_read_and_written() {
    for case in cases("moves.jsonl") {
        let position = position(&case);
        let written = |mv| position.uci(mv).to_string();
        let read = position.read_move(text(&case, "text"));
        match (read, text(&case, "error")) {
            (Ok(mv), "") => {
                assert_eq!(written(mv), text(&case, "uci"), "{case}");
                let exact = position.san(mv);
                assert_eq!(exact.to_string(), text(&case, "exact"), "{case}");
                assert_eq!(exact.to_string().parse(), Ok::<San, _>(exact), "{case}");
                let long = position.lan(mv).to_string();
                assert_eq!(position.read_san(&long), Ok(mv), "{long}: {case}");
            }
            (Err(MoveError::Ambiguous { candidates }), "ambiguous") => {
                let mut candidates: Vec<String> =
                    candidates.iter().map(|uci| uci.to_string()).collect();
                candidates.sort_unstable();
                assert_eq!(candidates.join(" "), text(&case, "candidates"), "{case}");
            }
            (Err(MoveError::Unreadable(_)), "unreadable")
            | (Err(MoveError::Illegal(_)), "illegal") => {}
            (other, _) => panic!("{other:?}: {case}"),
        }
    }
}
