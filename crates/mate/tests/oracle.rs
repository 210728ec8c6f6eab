//! No contradiction with chasolver, and none with searches that visit everything.

mod common;

use std::collections::{HashMap, VecDeque};

use referee_chess::{CastlingMode, Color, Position, PositionKey, Tolerance, chess960};
use referee_mate::{Budget, CanMate, can_mate, quick};

use common::Chance;

fn check(position: &Position, winner: Color) {
    let answer = can_mate(position, winner, Budget::of(20_000), &|| false);
    match &answer {
        CanMate::Yes(line) => {
            // A line that another generator replays needs no oracle.
            assert!(
                common::is_mating_line(position, line, winner),
                "{winner} {position} {line:?}"
            );
            assert!(!quick(position, winner).is_no(), "{winner} {position}");
        }
        CanMate::No(proof) => assert_ne!(
            common::chasolver(position, winner),
            Some(true),
            "{winner} {position}: {proof}"
        ),
        CanMate::Unknown { .. } => {}
    }
    if quick(position, winner).is_no() {
        assert!(!answer.is_yes(), "{winner} {position}");
    }
}

#[test]
fn random_play_agrees_with_chasolver() {
    let mut chance = Chance::new(1);
    for _ in 0..4_000 {
        let position = common::random_play(&mut chance);
        for winner in Color::ALL {
            check(&position, winner);
        }
    }
}

#[test]
fn blocked_structures_agree_with_chasolver() {
    let mut chance = Chance::new(2);
    for _ in 0..2_000 {
        let position = common::random_blocked(&mut chance);
        for winner in Color::ALL {
            check(&position, winner);
        }
    }
}

#[test]
fn fortresses_agree_with_chasolver() {
    let mut chance = Chance::new(5);
    for _ in 0..1_000 {
        let position = common::random_fortress(&mut chance);
        for winner in Color::ALL {
            check(&position, winner);
        }
    }
}

/// chasolver 3.0.0 denies both mates, and the mailbox board replays them.
#[test]
fn a_king_that_walks_round_the_wall_mates() {
    let position = common::read("8/8/8/2p5/p1P1p1p1/P1K1P1P1/8/2k5 b - - 0 1");
    for winner in Color::ALL {
        let answer = can_mate(&position, winner, Budget::FULL, &|| false);
        let CanMate::Yes(line) = answer else {
            panic!("{winner}: {answer:?}");
        };
        assert!(
            common::is_mating_line(&position, &line, winner),
            "{winner} {line:?}"
        );
    }
}

#[test]
fn chess960_lines_are_legal_and_mate() {
    let mut chance = Chance::new(6);
    let mut castles = 0;
    for number in (0..960).step_by(3) {
        let start = chess960::startpos(number, CastlingMode::Chess960);
        let mut position = start.expect("there are 960");
        for _ in 0..chance.below(60) {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            let castling = moves.into_iter().find(|mv| mv.is_castle());
            let any = moves[chance.below(moves.len())];
            let mv = castling.unwrap_or(any);
            castles += usize::from(castling.is_some());
            position.play_unchecked(mv);
        }
        for winner in Color::ALL {
            let answer = can_mate(&position, winner, Budget::of(20_000), &|| false);
            if let CanMate::Yes(line) = &answer {
                assert!(
                    common::is_mating_line(&position, line, winner),
                    "{winner} {position} {line:?}"
                );
            } else {
                // No game of so few moves at random has left a side without material to mate.
                assert!(
                    !position.has_legal_moves(),
                    "{winner} {position} {answer:?}"
                );
            }
        }
    }
    assert!(castles > 50, "{castles}");
}

/// A rook that castling brings to the file of the king mates: the line must have the castling as
/// the generator of Chess960 plays it.
#[test]
fn castling_can_be_the_mate() {
    let mode = CastlingMode::Chess960;
    let fen = "5k2/4ppp1/8/8/8/8/8/1R3K1R w HB - 0 1";
    let position = Position::from_fen_with(fen, mode, Tolerance::PERFT);
    let position = position.expect("a king on f1 with two rooks may castle");
    assert!(position.castling_rooks().any());
    let answer = can_mate(&position, Color::White, Budget::FULL, &|| false);
    let CanMate::Yes(line) = answer else {
        panic!("{answer:?}");
    };
    assert!(common::is_mating_line(&position, &line, Color::White));
}

#[test]
fn a_caller_who_cancels_gets_no_verdict() {
    // It takes far more than the positions between two looks at the wish.
    let fen = "k6B/1b4B1/2b2B2/4B3/3B4/1pB1B3/pP1B4/K7 w - - 0 1";
    let position = common::read(fen);
    let answer = can_mate(&position, Color::White, Budget::FULL, &|| true);
    let CanMate::Unknown { nodes } = answer else {
        panic!("{answer:?}");
    };
    assert!(nodes < 1_000, "{nodes}");
    let answer = can_mate(&position, Color::White, Budget::of(1_000), &|| false);
    let CanMate::Unknown { nodes } = answer else {
        panic!("{answer:?}");
    };
    assert!((1_000..10_000).contains(&nodes), "{nodes}");
}

/// Visits all positions that can arise, and returns for each whether White and Black can mate;
/// `None` where there are more than `limit`.
fn closure(root: &Position, limit: usize) -> Option<Vec<(Position, [bool; 2])>> {
    let mut numbers: HashMap<PositionKey, usize> = HashMap::from([(root.exact_key(), 0)]);
    let mut positions = vec![root.clone()];
    let mut before: Vec<Vec<usize>> = vec![vec![]];
    let mut at = 0;
    while at < positions.len() {
        for mv in &positions[at].legal_moves() {
            let after = positions[at].after_unchecked(mv);
            let number = *numbers.entry(after.exact_key()).or_insert_with(|| {
                positions.push(after);
                before.push(vec![]);
                positions.len() - 1
            });
            before[number].push(at);
        }
        if positions.len() > limit {
            return None;
        }
        at += 1;
    }
    let mut can = vec![[false; 2]; positions.len()];
    for winner in Color::ALL {
        let mates = (0..positions.len())
            .filter(|&n| positions[n].is_checkmate() && positions[n].turn() != winner);
        let mut queue: VecDeque<usize> = mates.collect();
        while let Some(number) = queue.pop_front() {
            if !can[number][winner.index()] {
                can[number][winner.index()] = true;
                queue.extend(&before[number]);
            }
        }
    }
    Some(positions.into_iter().zip(can).collect())
}

/// Positions from which few others can arise: all of them are visited, and from the mates moves are
/// taken back. `REFEREE_MATE_WORLDS` tries so many, and asks about every position of each.
#[test]
fn small_worlds_agree_with_full_enumeration() {
    let wanted = std::env::var("REFEREE_MATE_WORLDS").ok();
    let wanted = wanted.and_then(|text| text.parse::<u32>().ok());
    let mut chance = Chance::new(3);
    let (mut worlds, mut asked) = (0, 0);
    for _ in 0..wanted.unwrap_or(700) {
        let root = common::random_wall(&mut chance);
        let Some(world) = closure(&root, 30_000) else {
            continue;
        };
        worlds += 1;
        let stride = match wanted {
            Some(_) => 1,
            None => 1 + world.len() / 40,
        };
        for (position, can) in world.iter().step_by(stride) {
            for winner in Color::ALL {
                asked += 1;
                let expected = can[winner.index()];
                let answer = can_mate(position, winner, Budget::of(200_000), &|| false);
                let is_right = if expected {
                    answer.is_yes()
                } else {
                    answer.is_no()
                };
                assert!(is_right, "{winner} {position}: {answer:?}, not {expected}");
                assert!(
                    !(expected && quick(position, winner).is_no()),
                    "{winner} {position}"
                );
            }
        }
    }
    println!("{worlds} worlds, {asked} questions");
    assert!(worlds > 30, "{worlds}");
}
