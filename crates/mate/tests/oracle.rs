//! No contradiction with chasolver, and none with searches that visit everything.

mod common;

use std::collections::{HashMap, VecDeque};

use referee_chess::{Color, Position, PositionKey};
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

#[test]
fn small_worlds_agree_with_full_enumeration() {
    let mut chance = Chance::new(3);
    let (mut worlds, mut asked) = (0, 0);
    for _ in 0..1_500 {
        let root = common::random_wall(&mut chance);
        let Some(world) = closure(&root, 30_000) else {
            continue;
        };
        worlds += 1;
        let stride = 1 + world.len() / 40;
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
    assert!(worlds > 100);
}
