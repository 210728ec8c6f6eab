//! Mates that must come before seventy-five moves or the fifth appearance end the game, against
//! tables and against all lines one by one.

mod common;

use std::collections::HashMap;

use referee_chess::mailbox::Mailbox;
use referee_chess::{CastlingMode, Color, Piece, Position, PositionKey, Role, Tolerance};
use referee_mate::{AutomaticDraws, Budget, CanMate, Proof, can_mate, can_mate_before_draws};

use common::retrograde::Tables;
use common::{Chance, is_mating_line};

/// Halfmoves after which seventy-five moves of each side are made (9.6.2).
const LAST: u32 = 150;

/// Appearances that end the game (9.6.1).
const FIFTH: u32 = 5;

fn with_clock(position: &Position, clock: u32) -> Position {
    let mut setup = position.to_setup();
    setup.halfmove_clock = clock;
    setup.fullmove_number = 200;
    Position::from_setup_with(&setup, Tolerance::PERFT).expect("only the clock has changed")
}

fn ask(position: &Position, winner: Color, history: &[PositionKey]) -> CanMate {
    let draws = AutomaticDraws { history };
    can_mate_before_draws(position, winner, &draws, Budget::FULL, &|| false)
}

/// A mate that needs as many halfmoves as are left is in time, and one more is too late.
#[test]
fn the_last_halfmove_may_mate() {
    let mut tables = Tables::default();
    let mut asked = 0;
    for role in [Role::Queen, Role::Rook] {
        for color in Color::ALL {
            let table = tables.get(vec![Piece { color, role }], color);
            for index in (0..table.size()).step_by(24_989) {
                let Some(position) = table.position(index) else {
                    continue;
                };
                let Some(plies) = table.plies(index) else {
                    assert!(ask(&position, color, &[]).is_no());
                    continue;
                };
                let in_time = with_clock(&position, LAST - plies);
                let CanMate::Yes(line) = ask(&in_time, color, &[]) else {
                    panic!("{color} {in_time}: a mate in {plies} halfmoves is in time");
                };
                assert!(is_mating_line(&in_time, &line, color), "{in_time} {line:?}");
                assert!(line.len() as u32 <= plies, "{in_time} {line:?}");
                if plies == 0 {
                    continue;
                }
                let late = with_clock(&position, LAST - plies + 1);
                let answer = ask(&late, color, &[]);
                assert_eq!(answer, CanMate::No(Proof::MoveCount), "{color} {late}");
                assert!(can_mate(&late, color, Budget::FULL, &|| false).is_yes());
                asked += 1;
            }
        }
    }
    assert!(asked > 20, "{asked}");
}

/// Returns whether any line mates before the game is drawn, by trying all of them on the mailbox
/// board.
fn can_mate_in_time(at: &Mailbox, winner: Color, seen: &mut HashMap<PositionKey, u32>) -> bool {
    if at.is_checkmate() {
        return at.turn() != winner;
    }
    let setup = at.to_setup();
    if setup.board.occupied().count() == 2 {
        // The piece was taken, which begins the count anew, but nothing can mate.
        return false;
    }
    let key = Position::from_setup_with(&setup, Tolerance::PERFT)
        .expect("the mailbox board plays legal moves")
        .exact_key();
    let count = seen.entry(key).or_default();
    *count += 1;
    let is_drawn = *count >= FIFTH || setup.halfmove_clock >= LAST;
    let moves = if is_drawn { vec![] } else { at.legal_moves() };
    let can = moves
        .into_iter()
        .any(|mv| can_mate_in_time(&at.after_unchecked(mv), winner, seen));
    *seen.entry(key).or_default() -= 1;
    can
}

/// Positions a few halfmoves before the end, with a history in which some of those to come have
/// appeared already.
#[test]
fn all_lines_one_by_one_agree() {
    let mut chance = Chance::new(4);
    let [mut yes, mut late] = [0, 0];
    let pieces = |color, roles: &[Role]| -> Vec<Piece> {
        roles.iter().map(|&role| Piece { color, role }).collect()
    };
    let mut tables = Tables::default();
    let classes = [[Role::Queen], [Role::Rook]].map(|roles| pieces(Color::White, &roles));
    for class in classes {
        let table = tables.get(class, Color::White);
        for _ in 0..4_000 {
            let index = chance.below(table.size());
            // Three halfmoves to the mate leave lines that are few enough to be tried.
            let (Some(3), Some(position)) = (table.plies(index), table.position(index)) else {
                continue;
            };
            let position = with_clock(&position, LAST - 3);
            // The positions after the first move have appeared four times, but for a few.
            let mut history = Vec::new();
            for mv in &position.legal_moves() {
                let key = position.after_unchecked(mv).exact_key();
                let times = if chance.below(12) == 0 { 3 } else { 4 };
                history.extend([key].repeat(times));
            }
            history.push(position.exact_key());
            let mut seen = HashMap::new();
            for &key in &history[..history.len() - 1] {
                *seen.entry(key).or_default() += 1;
            }
            let board = Mailbox::from(&position.to_setup());
            let expected = can_mate_in_time(&board, Color::White, &mut seen);
            match ask(&position, Color::White, &history) {
                CanMate::Yes(line) => {
                    assert!(expected, "{position} {line:?}");
                    assert!(is_mating_line(&position, &line, Color::White));
                    yes += 1;
                }
                answer => {
                    assert_eq!(answer, CanMate::No(Proof::MoveCount), "{position}");
                    assert!(!expected, "{position}");
                    late += 1;
                }
            }
        }
    }
    println!("{yes} in time, {late} late");
    assert!(yes > 2 && late > 2, "{yes} in time, {late} late");
}

#[test]
fn a_game_that_is_drawn_already_has_no_mate_to_come() {
    let fen = "7k/5Q2/6K1/8/8/8/8/8 w - - 150 200";
    let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
    assert!(can_mate(&position, Color::White, Budget::FULL, &|| false).is_yes());
    let answer = ask(&position, Color::White, &[]);
    assert_eq!(answer, CanMate::No(Proof::MoveCount));
    let fresh = with_clock(&position, 0);
    let history = [fresh.exact_key()].repeat(5);
    assert!(ask(&fresh, Color::White, &history[..4]).is_yes());
    let answer = ask(&fresh, Color::White, &history);
    assert_eq!(answer, CanMate::No(Proof::MoveCount));
}

/// A mate that is on the board came before the draw (9.6.2), and one that no moves reach is not a
/// matter of their count.
#[test]
fn what_does_not_depend_on_the_count_keeps_its_answer() {
    let mate = "7k/6Q1/6K1/8/8/8/8/8 b - - 150 200";
    let mate = Position::from_fen(mate, CastlingMode::Standard).expect("the FEN is right");
    assert_eq!(ask(&mate, Color::White, &[]), CanMate::Yes(vec![]));
    assert_eq!(ask(&mate, Color::Black, &[]), CanMate::No(Proof::GameOver));
    let bare = "7k/8/6K1/8/8/8/8/8 b - - 149 200";
    let bare = Position::from_fen(bare, CastlingMode::Standard).expect("the FEN is right");
    assert_eq!(ask(&bare, Color::White, &[]), CanMate::No(Proof::Material));
}

#[test]
fn a_capture_sets_the_count_back() {
    // The rook is far from any mate, but can take a pawn with the last halfmove.
    let fen = "8/8/8/3k4/8/8/p7/R3K3 w - - 149 200";
    let position = Position::from_fen(fen, CastlingMode::Standard).expect("the FEN is right");
    let CanMate::Yes(line) = ask(&position, Color::White, &[]) else {
        panic!("the capture begins the count anew");
    };
    assert!(is_mating_line(&position, &line, Color::White));
    let mut at = position;
    for (number, mv) in line.into_iter().enumerate() {
        assert!(at.halfmove_clock() < LAST, "drawn before move {number}");
        at.play_unchecked(mv);
    }
}
